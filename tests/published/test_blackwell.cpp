// Blackwell of data centres: one SM's products against published clocks, selected tiles, and contents of tensor memory.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "apps/library/judge/published_names.hpp"
#include "apps/report/record/published.hpp"
#include "tests/golden/cli.hpp"

namespace test_blackwell {

namespace {

using namespace napkin;
using namespace napkin::internal;
using cli::Json;

/// The clock against which the source of the one-SM rows plots its peak. It does not state the clock of its runs.
constexpr double plotted_clock = 1.3e9;

/// Returns the predicted time of a row's tile on one SM over the published one, minus one. The rows' notes begin with
/// milliseconds.
double error_of(const PublishedRow& row) {
  const std::size_t comma = row.tile.find(','), first = row.tile.find('x'), second = row.tile.find('x', first + 1);
  const std::string a = row.tile.substr(0, first), c = row.tile.substr(first + 1, second - first - 1),
                    b = row.tile.substr(second + 1, comma - second - 1),
                    stages = std::to_string(std::atoi(row.tile.c_str() + comma + 1));
  const std::string line = "query matmul --gpu b200 --kernel vendor_matmul_sm100 --json --dtype " +
                           std::string(row.dtype == "fp8" ? "e4m3" : "bf16") + " --shape a=" + std::to_string(*row.m) +
                           ",b=" + std::to_string(*row.k) + ",c=" + std::to_string(*row.n) + " --tile a=" + a +
                           ",c=" + c + ",b=" + b + ",stages=" + stages +
                           ",sms=1,split=1,accumulators=2,order=grouped,layout=" + (row.dtype == "fp8" ? "tn" : "nn");
  const double clocks = std::strtod(row.note.c_str(), nullptr) * 1e-3 * plotted_clock;
  return cli::napkin(line).json()["predicted"]["cycles"].get<double>() / clocks - 1;
}

/// Returns true if both operands fit the part of the L2 on the SM's own die, and a row of columns has 128 bytes.
bool is_plain(const PublishedRow& row) {
  const std::int64_t value = row.dtype == "fp8" ? 1 : 2, half = 132644864 / 2;
  return (*row.m + *row.n) * *row.k * value <= half && *row.n * value >= 128;
}

Json selected(const std::string& question) {
  const cli::Run run = cli::napkin("select " + question + " --json");
  CHECK(run.code == 0);
  return run.json();
}

Json queried(const std::string& question) { return cli::napkin("query " + question + " --json").json(); }

double level(const Json& answer, const std::string& name, const std::string& key) {
  for (const Json& one : answer["levels"]) {
    if (one["name"] == name) return one[key].get<double>();
  }
  FAIL("no level " << name);
  return 0;
}

}  // namespace

TEST_CASE("one SM's products: the clocks of CUTLASS' mainloop by tile, depth and stages") {
  const std::vector<PublishedRow> rows = report::parse_published(published_rows_text(), "published.json");
  int plain = 0, all = 0;
  double sum = 0;
  for (const PublishedRow& row : rows) {
    if (row.gpu != "B200 (1 SM)") continue;
    const double error = error_of(row);
    CAPTURE(row.dtype);
    CAPTURE(row.tile);
    CHECK(std::abs(error) < 0.27);
    if (is_plain(row)) CHECK(std::abs(error) < 0.05);
    if (row.dtype == "fp8") CHECK(std::abs(error) < 0.065);  // rows of fp8, whose B lies along the contracted axis
    plain += is_plain(row) ? 1 : 0;
    ++all;
    sum += std::abs(error);
  }
  CHECK(all == 46);
  CHECK(plain == 27);
  CHECK(sum / all < 0.0395);
}

TEST_CASE("the answers on Blackwell are of its own kernels, with the tile that FlashAttention-4 has") {
  for (const char* gpu : {"b200", "gb200", "b300", "gb300"}) {
    for (const char* mask : {"", " --causal"}) {
      CAPTURE(gpu);
      CAPTURE(mask);
      const Json pick =
          selected("attention --gpu " + std::string(gpu) + " --shape b=4,h=16,q=8192,x=8192,d=128" + mask);
      CHECK(pick["kernel"] == "flash_attention_4");
      CHECK(pick["tile"]["warpgroups"] == 2);
      CHECK(pick["tile"]["q"] == 256);
      CHECK(pick["tile"]["x"] == 128);
      CHECK(pick["tile"]["sms"] == (*mask == 0 ? 2 : 1));
      // Exponentials of sm_103 are twice as fast.
      CHECK((pick["tile"]["emulated"] == 0) == (std::string(gpu).find("300") != std::string::npos));
    }
    const Json product = selected("matmul --gpu " + std::string(gpu) + " --shape a=8192,b=8192,c=8192");
    CHECK(product["kernel"] == "vendor_matmul_sm100");
    CHECK(product["tile"]["sms"] == 2);
    CHECK(product["tile"]["c"] == 256);
  }
}

TEST_CASE("what the kernel does not take, the older instruction's still does") {
  CHECK(selected("attention --gpu b200 --shape b=4,h=16,q=8192,x=8192,d=224")["kernel"] == "attention_sm80");
  CHECK(selected("attention --gpu b200 --shape b=4,h=16,q=8192,x=8192,d=256")["kernel"] == "flash_attention_4_wide");
  CHECK(selected("attention --gpu h200-sxm --shape b=4,h=16,q=8192,x=8192,d=128")["kernel"] == "attention_sm90");
  CHECK(selected("attention --gpu rtx-5090 --shape b=4,h=16,q=8192,x=8192,d=128")["kernel"] == "attention_sm80");
}

TEST_CASE("scores and output fill tensor memory, and no more fits") {
  const std::string question =
      "attention --gpu b200 --kernel flash_attention_4 --shape h=16,q=8192,x=8192,d=128 --tile q=256,sms=2,x=";
  const Json whole = queried(question + "128");
  CHECK(whole["legal"] == true);
  CHECK(level(whole, "tensor_memory", "memory") == 512 * 128 * 4);
  CHECK(level(whole, "tensor_memory", "memory_limit") == 512 * 128 * 4);
  // Scores up and probabilities down once, the output up once.
  const double scores = 16.0 * 8192 * 8192, output = 16.0 * 8192 * 128;
  CHECK(level(whole, "tensor_memory", "load") == 2 * scores);
  CHECK(level(whole, "tensor_memory", "store") == 4 * scores + 4 * output);
  const Json more = queried(question + "192");
  CHECK(more["legal"] == false);
  bool said = false;
  for (const Json& violation : more["violations"]) said = said || violation["constraint"] == "side memory";
  CHECK(said);
}

TEST_CASE("two SMs that multiply together each bring half of the columns' operand") {
  const std::string question =
      "matmul --gpu b200 --kernel vendor_matmul_sm100 --shape a=8192,b=8192,c=8192 --tile "
      "a=128,c=256,b=64,stages=4,split=1,order=grouped,sms=";
  const Json one = queried(question + "1"), two = queried(question + "2");
  const double rows = 2.0 * 8192 * 8192 * 32, columns = 2.0 * 8192 * 8192 * 64;
  CHECK(level(one, "shared", "load") == rows + columns);
  CHECK(level(two, "shared", "load") == rows + columns / 2);
  const double operands = 4 * 2.0 * 64 * 128;
  CHECK(level(one, "shared", "memory") - level(two, "shared", "memory") == operands);
  // The port lets the operands of one SM through more slowly than the unit multiplies.
  CHECK(one["predicted"]["cycles"].get<double>() > two["predicted"]["cycles"].get<double>());
}

TEST_CASE("a tile that says more than sizes") {
  PublishedRow row;
  row.gpu = "GB300", row.kernel = "FlashAttention-4 (after)", row.direction = "fwd", row.dtype = "bf16", row.d = 128;
  row.causal = false, row.tile = "128x128 per softmax warpgroup, 2 Q tiles (256x128)";
  const auto knobs = [&] {
    const PublishedKernel* kernel = published_names().kernel(row, "attention");
    REQUIRE(kernel != nullptr);
    const auto tiles = published_tiles(*kernel, "sm_100", row);
    REQUIRE(tiles.size() == 1);
    return std::map<std::string, std::string>(tiles.front().begin(), tiles.front().end());
  };
  CHECK(knobs().at("q") == "256");
  CHECK(knobs().at("warpgroups") == "2");
  CHECK(knobs().at("sms") == "2");
  CHECK(knobs().at("emulated") == "0");
  row.gpu = "B200";
  CHECK(knobs().at("emulated") == "24");
  row.causal = true;
  CHECK(knobs().at("sms") == "1");
  CHECK(knobs().at("order") == "longest_first");
}

}  // namespace test_blackwell
