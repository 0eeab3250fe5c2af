// More work never takes less time at a fixed tile: more rows, keys, heads and sequences, no mask instead of one, every
// head its keys instead of shared ones; and a launch lasts no less than one of its heads alone. Over random kernels,
// GPUs, tiles and lengths. Left out, since hardware does not obey it: rows that make two blocks read data which one
// read alone (they arrive faster), rows within one tile (those outside the array are filled, 13.3), tiles under a mask
// that nodes take in turn.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "model/clock/prediction.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/run/period.hpp"
#include "model/resource/order.hpp"
#include "model/resource/plan.hpp"
#include "solver/space/constraints.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/packed_layout.hpp"

namespace test_launch_time {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

/// One question of attention or of a product, at one tile.
struct Asked {
  std::string kernel, gpu;
  test::Shape shape;
  Mask mask;
  std::vector<SequenceLengths> lengths;
  Tile tile;

  [[nodiscard]] std::int64_t size(const std::string& axis) const {
    return std::find_if(shape.begin(), shape.end(), [&](const auto& one) { return one.first == axis; })->second;
  }
  [[nodiscard]] Asked with(const std::string& axis, std::int64_t value) const {
    Asked out = *this;
    for (auto& [name, own] : out.shape) own = name == axis ? value : own;
    return out;
  }
  [[nodiscard]] Asked under(const Mask& other) const {
    Asked out = *this;
    out.mask = other;
    return out;
  }
  /// Returns true if nodes take tiles in turn, whatever the tiles' lengths.
  [[nodiscard]] bool is_dealt_out() const {
    const Mapping& mapping = test::built_in_mapping(kernel);
    const auto order = mapping.order_knob();
    if (!order) return false;
    const auto& words = mapping.knobs[static_cast<std::size_t>(*order)].orders;
    const auto word = static_cast<std::size_t>(tile.values[static_cast<std::size_t>(*order)]);
    return word < words.size() && words[word].tiles == OrderWord::Tiles::dealt;
  }
  [[nodiscard]] DType dtype() const {
    const Mapping& mapping = test::built_in_mapping(kernel);
    return mapping.dtypes.empty() ? DType::bf16 : parse_dtype(mapping.dtypes.front(), "test");
  }
  [[nodiscard]] std::unique_ptr<LaidOut> laid_out() const {
    if (!lengths.empty()) return test::laid_out_packed(kernel, shape, lengths, mask, gpu);
    return std::make_unique<LaidOut>(kernel, gpu, shape, dtype(), mask);
  }
  [[nodiscard]] std::string text() const {
    std::string out =
        fmt::format("query {} --gpu {} --kernel {} --shape ", test::built_in_mapping(kernel).algorithm, gpu, kernel);
    for (const auto& [name, value] : shape) out += fmt::format("{}={},", name, value);
    out += mask.kind == Mask::Kind::causal ? " --causal" : mask.kind == Mask::Kind::window ? " --window" : "";
    for (const SequenceLengths& one : lengths) out += fmt::format(" {}/{}", one.q, one.x);
    out += " --tile ";
    for (std::size_t k = 0; k < tile.values.size(); ++k) {
      const Knob& knob = test::built_in_mapping(kernel).knobs[k];
      out +=
          knob.name + "=" +
          (knob.words.empty() ? std::to_string(tile.values[k]) : knob.words[static_cast<std::size_t>(tile.values[k])]) +
          ",";
    }
    return out;
  }
};

class Times {
 public:
  /// Predicts a question; nothing if the tile is not legal there.
  std::optional<Prediction> of(const Asked& asked) try {
    const auto laid = asked.laid_out();
    const PlacedDiagram placed = laid->placer->place(asked.tile);
    const Plan needs = plan(placed);
    if (!violations(placed, needs).empty()) return std::nullopt;
    return predict(placed, {.periods = &periods_});
  } catch (const Error&) {  // the machine lacks a level
    return std::nullopt;
  }

  static std::int64_t groups_along(const std::string& axis, const Asked& asked) {
    const auto laid = asked.laid_out();
    const PlacedDiagram placed = laid->placer->place(asked.tile);
    return placed.block().groups_of[static_cast<std::size_t>(laid->streamed.diagram.axis(axis))].get();
  }

  /// Returns true if a block's tile reaches beyond the array.
  static bool cut_along(const std::string& axis, const Asked& asked) {
    const auto laid = asked.laid_out();
    const auto id = static_cast<std::size_t>(laid->streamed.diagram.axis(axis));
    return asked.size(axis) % laid->placer->place(asked.tile).block().extent[id].get() != 0;
  }

 private:
  Periods periods_;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  /// The seed is a text, so that a kernel's questions on a GPU do not depend on other kernels.
  explicit Draw(const std::string& seed) {
    std::seed_seq letters(seed.begin(), seed.end());
    random_.seed(letters);
  }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[random_() % values.size()];
  }
  std::int64_t from(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  std::int64_t length(double bits) {
    return std::llround(std::exp2(std::uniform_real_distribution<double>(0, bits)(random_)));
  }

 private:
  std::mt19937_64 random_;
};

/// Returns GPUs of every architecture with the kernels that run on them.
std::vector<std::pair<std::string, std::string>> kernels_on_gpus() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string gpu : {"a100-sxm-80", "rtx-a6000", "rtx-4090", "l20", "h100-sxm", "h200-sxm", "b200",
                                "rtx-5090", "mi300x", "v100-sxm2-32"}) {
    const auto known = builtin_machines();
    if (std::find(known.begin(), known.end(), gpu) == known.end()) continue;
    for (const std::string& kernel : builtin_mappings()) {
      const Mapping& mapping = test::built_in_mapping(kernel);
      if (mapping.algorithm != "attention" && mapping.algorithm != "matmul") continue;
      if (runs_on(mapping, test::built_in_machine(gpu))) out.emplace_back(gpu, kernel);
    }
  }
  return out;
}

Asked any(Draw& draw, const std::pair<std::string, std::string>& where) {
  const Mapping& mapping = test::built_in_mapping(where.second);
  Asked out{where.second, where.first, {}, {}, {}, {}};
  if (mapping.algorithm == "matmul") {
    out.shape = {{"a", draw.length(13)}, {"b", 64 * draw.from(1, 64)}, {"c", 64 * draw.length(7)}};
  } else {
    const std::int64_t x = draw.length(12), q = draw.from(0, 1) == 0 ? x : draw.length(11);
    out.shape = {{"b", draw.from(1, 4)},
                 {"h", draw.length(5)},
                 {"g", draw.of<std::int64_t>({1, 1, 1, 4})},
                 {"q", q},
                 {"x", x},
                 {"d", draw.of<std::int64_t>({64, 128})}};
    if (draw.from(0, 2) > 0) out.mask.kind = Mask::Kind::causal;
  }
  for (const Knob& knob : mapping.knobs) out.tile.values.push_back(draw.of(knob.domain));
  return out;
}

// Tolerances, as parts of the time, for effects that hardware has too and for the model's means.
constexpr double slack = 0.05;    // blocks of unequal length by their mean, the last wave by its own blocks
constexpr double cut_work = 0.4;  // chunks that a mask cuts have work of their own, and a short launch has few others

class Laws {
 public:
  void less(const char* law, const Asked& a, double time_a, const Asked& b, double time_b, double allowed = slack) {
    ++looked_at;
    if (time_a <= time_b * (1 + allowed)) return;
    ++broken;
    MESSAGE(fmt::format("{}: {:.4g} us: {}\n   beside {:.4g} us: {} ({:+.1f} %)", law, time_a * 1e6, a.text(),
                        time_b * 1e6, b.text(), 100 * (time_a / time_b - 1)));
  }
  int looked_at = 0, broken = 0;
};

}  // namespace

TEST_CASE("more work never takes less time at a fixed tile") {
  const auto where = kernels_on_gpus();
  const int rounds_each = 12;
  Laws laws;
  std::vector<Draw> draws;
  for (const auto& [gpu, kernel] : where) draws.emplace_back("more work on " + gpu + " by " + kernel);
  for (std::size_t round = 0; round < where.size() * static_cast<std::size_t>(test::rounds(rounds_each)); ++round) {
    Draw& draw = draws[round % where.size()];
    const Asked asked = any(draw, where[round % where.size()]);
    Times times;
    const auto base = times.of(asked);
    if (!base) continue;
    const double time = base->time.value;
    const double launch = launch_overhead(test::built_in_machine(asked.gpu)).value;
    const auto no_less = [&](const char* law, const Asked& more, double allowed = slack) {
      if (const auto other = times.of(more)) laws.less(law, asked, time, more, other->time.value, allowed);
    };
    const auto no_more = [&](const char* law, const Asked& less, double allowed = slack) {
      if (const auto other = times.of(less)) laws.less(law, less, other->time.value, asked, time, allowed);
    };
    if (test::built_in_mapping(asked.kernel).algorithm == "matmul") {
      for (const std::string axis : {"a", "c"}) {
        // Rows of a box outside of the array take the copy engine longer than rows that there are (tma_row_outside).
        if (times.groups_along("a", asked) > 1 && times.groups_along("c", asked) > 1)
          no_less("more rows", asked.with(axis, 2 * asked.size(axis)), Times::cut_along("a", asked) ? cut_work : slack);
      }
      continue;
    }
    const bool masked = asked.mask.kind != Mask::Kind::none;
    no_more("one head alone", asked.with("h", 1).with("b", 1));
    no_less("more heads", asked.with("h", asked.size("h") + 1));
    no_less("more heads", asked.with("h", 2 * asked.size("h")));
    no_less("more sequences", asked.with("b", asked.size("b") + 1));
    const std::int64_t more = draw.from(1, 300);
    no_less("more keys", asked.with("x", asked.size("x") + more), masked ? cut_work : slack);
    if (times.groups_along("q", asked) > 1 && !masked) no_less("more rows", asked.with("q", asked.size("q") + more));
    if (times.groups_along("q", asked) > 1 && masked && !asked.is_dealt_out())
      no_less("more rows", asked.with("q", asked.size("q") + more).with("x", asked.size("x") + more), cut_work);
    if (const auto twice = times.of(asked.with("b", 2 * asked.size("b"))))
      laws.less("twice the batch", asked.with("b", 2 * asked.size("b")), twice->time.value - launch, asked, 2 * time,
                masked ? cut_work : slack);
    if (asked.mask.kind != Mask::Kind::none) no_less("no mask", asked.under({}), cut_work);
    if (asked.mask.kind == Mask::Kind::none) {
      const std::int64_t all = asked.size("q") + asked.size("x");
      no_less("a window of all", asked.under({Mask::Kind::window, all, all}));
      no_more("a window of all", asked.under({Mask::Kind::window, all, all}));
    }
    if (asked.size("g") > 1) no_less("its own keys", asked.with("g", 1).with("h", asked.size("h") * asked.size("g")));
  }
  CHECK(laws.broken == 0);
  CHECK(laws.looked_at > test::rounds(1000));
}

// Exception: shares of iterations, which are cut in other places for more nodes.
TEST_CASE("nodes that have no work make a launch no slower: 2 and 8 times as many") {
  Draw draw(20261129);
  const auto where = kernels_on_gpus();
  int looked_at = 0;
  for (int round = 0; round < test::rounds(600); ++round) {
    const Asked asked = any(draw, draw.of(where));
    double before = 0;
    for (const std::int64_t times : {1, 2, 8}) {
      try {
        const auto laid = asked.laid_out();
        const LevelId block = laid->placer->place(asked.tile).block().level;
        laid->machine.levels[static_cast<std::size_t>(block)].per_parent *= Count(times);
        const PlacedDiagram placed = laid->placer->place(asked.tile);
        const Plan needs = plan(placed);
        if (placed.blocks > laid->machine.compute_nodes() || cut_tiles(placed) > Count(0)) break;
        if (!violations(placed, needs).empty()) break;
        Periods periods;
        const double cycles = predict(placed, {.periods = &periods}).cycles.value;
        if (before > 0) CHECK_MESSAGE(cycles <= before * 1.000001, asked.text() << ", nodes times " << times);
        if (before > 0) ++looked_at;
        before = cycles;
      } catch (const Error&) {  // the machine lacks a level
        break;
      }
    }
  }
  CHECK(looked_at > test::rounds(80));
}

TEST_CASE("a further sequence of a packed batch never makes it faster") {
  Draw draw(20261128);
  Laws laws;
  const std::vector<std::pair<std::string, std::string>> where{{"h200-sxm", "attention_sm90"},
                                                               {"rtx-4090", "attention_sm80"},
                                                               {"a100-sxm-80", "flash_attention_2"},
                                                               {"mi300x", "ck_tile"}};
  for (int round = 0; round < test::rounds(200); ++round) {
    Asked asked = any(draw, where[static_cast<std::size_t>(round) % where.size()]);
    std::erase_if(asked.shape,
                  [](const auto& one) { return one.first == "b" || one.first == "q" || one.first == "x"; });
    for (std::int64_t n = draw.from(1, 6); n > 0; --n) {
      const std::int64_t length = draw.length(12);
      asked.lengths.push_back({length, length});
    }
    Times times;
    const auto base = times.of(asked);
    Asked more = asked;
    more.lengths.push_back(asked.lengths.front());
    for (int i = 0; i < 16; ++i)
      more.lengths.push_back({1 + more.lengths.front().q / 4, 1 + more.lengths.front().q / 4});
    const auto other = times.of(more);
    if (base && other) laws.less("further sequences", asked, base->time.value, more, other->time.value);
  }
  CHECK(laws.broken == 0);
  CHECK(laws.looked_at > test::rounds(40));
}

}  // namespace test_launch_time
