// Mappings of Triton's kernels compared with the compiled code of every tile (kernels/*/mappings/*.compiled.csv): legal
// tiles are those that compiled and fit, and shared memory, products and conversions are those of the machine code.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include "model/base/yaml.hpp"
#include "model/clock/graph/event_graph.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/run/period.hpp"
#include "model/resource/plan.hpp"
#include "solver/space/constraints.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_compiled_peers {

namespace {

using namespace napkin;
using namespace napkin::internal;
using testing::Mapped;

using Row = std::map<std::string, std::string>;

std::vector<Row> rows_of(const std::string& file) {
  std::istringstream lines(yaml::read_file(NAPKIN_SOURCE_DIR "/kernels/" + file));
  std::vector<std::string> heading;
  std::vector<Row> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    if (heading.empty()) {
      heading = cells;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < heading.size(); ++i) row[heading[i]] = cells.at(i);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::int64_t number(const Row& row, const char* key) { return std::stoll(row.at(key)); }

struct Peer {
  const char *algorithm, *mapping, *gpu, *table;
  std::size_t rows;
};

const std::vector<Peer> peers = {
    {"attention", "triton", "h200-sxm", "attention/mappings/triton.compiled.csv", 432},
    {"attention", "triton_sm80", "a100-sxm-80", "attention/mappings/triton_sm80.compiled.csv", 144},
    {"attention", "triton_sm80", "rtx-4090", "attention/mappings/triton_sm80.compiled.csv", 144},
    {"attention", "triton_sm100", "b200", "attention/mappings/triton_sm100.compiled.csv", 144},
    {"attention", "triton_sm120", "rtx-5090", "attention/mappings/triton_sm120.compiled.csv", 144},
    {"matmul", "triton_matmul", "h200-sxm", "matmul/mappings/triton_matmul.compiled.csv", 180},
    {"matmul", "triton_matmul_sm80", "a100-sxm-80", "matmul/mappings/triton_matmul_sm80.compiled.csv", 360},
    {"matmul", "triton_matmul_sm80", "rtx-3090", "matmul/mappings/triton_matmul_sm80.compiled.csv", 360},
    {"matmul", "triton_matmul_sm120", "rtx-5090", "matmul/mappings/triton_matmul_sm120.compiled.csv", 360},
    {"matmul", "triton_matmul_few_rows", "h200-sxm", "matmul/mappings/triton_matmul_few_rows.compiled.csv", 180},
};

testing::Text knobs_of(const Row& row) {
  testing::Text out;
  for (const char* name : {"q", "x", "a", "c", "b", "warps", "stages", "release"}) {
    if (const auto found = row.find(name); found != row.end()) out.emplace_back(name, found->second);
  }
  return out;
}

/// Returns true for a row of a kernel whose scores lie in tensor memory.
bool is_tcgen05(const Row& row) { return row.contains("p_words"); }

bool is_old(const Row& row) { return row.contains("release") && row.at("release") == "v3.0"; }

/// Returns the name of the rule by which the mapping rejects a tile that it does not describe: where P takes another
/// path, or the compiler fails. Empty if the mapping describes the tile.
std::string refused_as(const Peer& peer, const Row& row) {
  if (row.at(row.contains("q") ? "q" : "a") != "64") return "";
  const bool of_warps = std::string(peer.mapping) == "triton_sm80" || std::string(peer.mapping) == "triton_sm120";
  if (of_warps && row.at("d") == "128") return "P through shared memory";
  return is_old(row) && row.at("warps") == "8" ? "64 rows with 8 warps" : "";
}

/// Returns the question of a row, with sizes that every tile divides.
std::unique_ptr<Mapped> asked(const Peer& peer, const Row& row) {
  if (std::string(peer.algorithm) == "matmul")
    return std::make_unique<Mapped>(peer.algorithm, peer.mapping, peer.gpu,
                                    testing::Given{{"a", 4096}, {"b", 4096}, {"c", 4096}});
  Mask mask;
  if (row.at("mask") == "causal") mask.kind = Mask::Kind::causal;
  const std::int64_t d = number(row, "d");
  return std::make_unique<Mapped>(peer.algorithm, peer.mapping, peer.gpu,
                                  testing::Given{{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", d}, {"dv", d}}, mask);
}

/// Returns true if the matrix unit reads operands from shared memory itself.
bool reads_shared(const PlacedDiagram& placed) {
  return std::any_of(placed.operations.begin(), placed.operations.end(),
                     [](const PlacedOperation& op) { return op.tensor && op.instruction->asynchronous; });
}

/// Returns the instructions of a warp, or of a warpgroup, for all products of an iteration. On Hopper the compiler
/// makes scores that both warpgroups need in two halves of columns.
double products(const PlacedDiagram& placed) {
  double sum = 0;
  for (const PlacedOperation& op : placed.operations) {
    if (!op.tensor) continue;
    const double halves = op.instruction->asynchronous && op.repeats > Count(1) ? 2 : 1;
    sum += halves * tensor_load(placed, op).products / real(placed.agents[0].instances);
  }
  return sum;
}

}  // namespace

TEST_CASE("every tile: registers, shared memory and products are the compiler's, and what fits is legal") {
  for (const Peer& peer : peers) {
    CAPTURE(peer.mapping);
    CAPTURE(peer.gpu);
    const std::vector<Row> rows = rows_of(peer.table);
    CHECK(rows.size() == peer.rows);
    std::map<std::string, std::unique_ptr<Mapped>> questions;
    for (const Row& row : rows) {
      const std::string key = row.contains("d") ? row.at("d") + row.at("mask") : "";
      std::unique_ptr<Mapped>& mapped = questions[key];
      if (!mapped) mapped = asked(peer, row);
      const PlacedDiagram placed = mapped->place(knobs_of(row));
      const Plan planned = plan(placed);
      CAPTURE(describe(mapped->mapping, placed.tile).front().second);
      CHECK(planned.registers_per_thread == Count(number(row, "registers")));
      if (const std::string name = refused_as(peer, row); !name.empty()) {
        const std::vector<Violation> found = violations(placed, planned);
        CHECK(std::any_of(found.begin(), found.end(), [&](const Violation& one) { return one.constraint == name; }));
        continue;
      }
      // Tiles begin at 1024 where the matrix unit reads them: the compiler places them there without slack.
      const bool aligned = planned.shared_total.value % Count(1024) == Count(0) && reads_shared(placed);
      const Count slack = aligned ? Count(1024) : Count(0);
      // The older compiler counts up to four bytes more, of no array in its code. One buffer of 32 contracted elements
      // is less than C, which mma.sync's code then writes out whole in four tiles.
      const Count more = Count(number(row, "shared")) - (planned.shared_total.value - slack);
      CHECK(more >= Count(0));
      // Shared memory of tcgen05 also holds barriers, the address of tensor memory, and the maxima and sums of a row
      // that two warps share.
      if (!reads_shared(placed) && row.contains("b") && row.at("b") == "32" && row.at("stages") == "2")
        CHECK(number(row, "shared") <=
              std::max(planned.shared_total.value.get(), 2 * number(row, "a") * number(row, "c")));
      else
        CHECK(more <= Count(is_old(row) ? 4 : is_tcgen05(row) ? 1056 : 0));
      CHECK(products(placed) == doctest::Approx(static_cast<double>(number(row, "products"))));
      bool legal = planned.shared_total.value <= planned.shared_limit.value;
      if (row.contains("mask") && row.at("mask") == "causal") legal = legal && number(row, "q") % number(row, "x") == 0;
      CHECK(violations(placed, planned).empty() == legal);
    }
  }
}

namespace {

/// Returns the registers of a thread that a tile's arrays take.
std::int64_t arrays_of(const PlacedDiagram& placed) {
  PlacedDiagram plain = placed;
  plain.agents[0].compiled = false;
  plain.agents[0].registers.reset();
  return (register_need(plain).need - plain.agents[0].overhead).get();
}

}  // namespace

TEST_CASE("a tile without a row: the rule's overhead is what the rows without spills take in the median") {
  for (const Peer& peer : peers) {
    std::vector<std::int64_t> beyond;
    std::map<std::string, std::unique_ptr<Mapped>> questions;
    for (const Row& row : rows_of(peer.table)) {
      if (number(row, "stack") > 0) continue;
      std::unique_ptr<Mapped>& mapped = questions[row.contains("d") ? row.at("d") + row.at("mask") : ""];
      if (!mapped) mapped = asked(peer, row);
      beyond.push_back(number(row, "registers") - arrays_of(mapped->place(knobs_of(row))));
    }
    std::sort(beyond.begin(), beyond.end());
    CAPTURE(peer.mapping);
    CHECK(load_mapping(peer.mapping, "test").agents[0].overhead.numbers.front().second.literal ==
          beyond[beyond.size() / 2]);
  }
}

TEST_CASE("tiles without a row, compiled: the rule refuses all that spill, and else only what is nearly full") {
  const std::vector<Peer> outside = {
      {"attention", "triton", "h200-sxm", "../tests/law/triton_outside.csv", 0},
      {"matmul", "triton_matmul", "h200-sxm", "../tests/law/triton_matmul_outside.csv", 0}};
  for (const Peer& peer : outside) {
    int spilled = 0;
    for (Row row : rows_of(peer.table)) {
      row["mask"] = "none";
      const std::unique_ptr<Mapped> mapped = asked(peer, row);
      const PlacedDiagram placed = mapped->place(knobs_of(row));
      const std::vector<Violation> found = violations(placed, plan(placed));
      const bool refused =
          std::any_of(found.begin(), found.end(), [](const Violation& one) { return one.constraint == "registers"; });
      CAPTURE(peer.mapping);
      CAPTURE(number(row, "registers"));
      spilled += number(row, "stack") > 0 ? 1 : 0;
      if (number(row, "stack") > 0) CHECK(refused);
      if (number(row, "registers") < 240) CHECK_FALSE(refused);
    }
    CHECK(spilled >= 3);
  }
}

TEST_CASE("counts that the mapping has by sizes are those of the table") {
  for (const Peer& peer : peers) {
    if (std::string(peer.algorithm) != "attention") continue;
    for (const Row& row : rows_of(peer.table)) {
      if (!refused_as(peer, row).empty() || is_tcgen05(row)) continue;
      // Two scores an instruction; on Hopper the conversions stand in one section, elsewhere in two.
      const auto count = [&](const char* a, const char* b, const char* c) {
        return static_cast<double>(number(row, a) + number(row, b) + number(row, c));
      };
      const double rows = std::max(static_cast<double>(number(row, "q") / number(row, "warps")), 16.0);
      CHECK(count("s_conversion", "p_conversion", "o_conversion") == rows * static_cast<double>(number(row, "x")) / 64);
      // Maximum and sum over the four threads of a row: two steps each, two rows of every sixteen. Two tiles have two
      // more.
      const double shuffles = count("s_shuffle", "p_shuffle", "o_shuffle");
      CHECK(shuffles >= rows / 2);
      CHECK(shuffles <= rows / 2 + 2);
    }
  }
}

TEST_CASE("words of tensor memory, conversions and columns are those of the table") {
  for (const Row& row : rows_of("attention/mappings/triton_sm100.compiled.csv")) {
    const std::int64_t q = number(row, "q"), x = number(row, "x"), d = number(row, "d"),
                       threads = 32 * number(row, "warps");
    CHECK(number(row, "p_words") * threads == q * x * 3 / 2 + 2 * q * d);
    CHECK(number(row, "p_conversion") * threads == q * x / 2);
    CHECK(number(row, "o_words") == 0);
    // Columns of 128 rows, in powers of two.
    CHECK(number(row, "columns") >= (3 * x / 2 + d) * q / 128);
    CHECK(number(row, "columns") < std::max<std::int64_t>(4 * (3 * x / 2 + d), 256) * q / 128);
  }
}

TEST_CASE("a relation that asks for the mask, and masks that a kernel does not take") {
  const auto broken = [](Mask::Kind kind, const char* q, const char* x) {
    Mask mask;
    mask.kind = kind;
    if (kind == Mask::Kind::window) mask.left = mask.right = 64;
    const Mapped mapped("attention", "triton", "h200-sxm", {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 64}, {"dv", 64}},
                        mask);
    const PlacedDiagram placed = mapped.place({{"q", q}, {"x", x}});
    std::vector<std::string> names;
    for (const Violation& one : violations(placed, plan(placed))) names.push_back(one.constraint);
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(broken(Mask::Kind::causal, "64", "128") == Names{"chunks of the diagonal"});
  CHECK(broken(Mask::Kind::causal, "128", "64") == Names{});
  CHECK(broken(Mask::Kind::none, "64", "128") == Names{});
  CHECK(broken(Mask::Kind::window, "128", "64") == Names{"mask"});
}

TEST_CASE("instances beyond the rows do rows again, and that is counted") {
  const Mapped mapped("attention", "triton", "h200-sxm", {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 64}, {"dv", 64}});
  const PlacedDiagram twice = mapped.place({{"q", "64"}, {"warps", "8"}}),
                      once = mapped.place({{"q", "64"}, {"warps", "4"}});
  const auto flops = [](const PlacedDiagram& placed, std::size_t op) {
    return tensor_load(placed, placed.operations[op]).flops;
  };
  CHECK(flops(twice, 0) == 2 * flops(once, 0));  // S: both warpgroups make all of it
  CHECK(flops(twice, 2) == flops(once, 2));      // O: half of the columns each
  CHECK(twice.operations[1].repeats == Count(2));
  CHECK(once.operations[1].repeats == Count(1));
  const Mapped warps("attention", "triton_sm80", "a100-sxm-80",
                     {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 64}, {"dv", 64}});
  const PlacedDiagram eight = warps.place({{"q", "64"}, {"warps", "8"}}),
                      four = warps.place({{"q", "64"}, {"warps", "4"}});
  for (const std::size_t op : {std::size_t{0}, std::size_t{2}}) CHECK(flops(eight, op) == 2 * flops(four, op));
}

TEST_CASE("stages differ: with two a chunk's latency is exposed, with three it is not") {
  for (const char* warps : {"4", "8"}) {
    const Mapped mapped("attention", "triton", "h200-sxm",
                        {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 64}, {"dv", 64}});
    const auto clocks = [&](const char* stages) {
      return period(event_graph(mapped.place({{"q", "64"}, {"x", "64"}, {"warps", warps}, {"stages", stages}}))).clocks;
    };
    CHECK(clocks("2") > 1.1 * clocks("3"));
    CHECK(clocks("4") <= clocks("3") * 1.02);
  }
}

}  // namespace test_compiled_peers
