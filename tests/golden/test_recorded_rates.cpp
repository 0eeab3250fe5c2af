// Recorded forward rates on one H200 (driver 580, warm L2, queued launches, b s = 16384 tokens, h d = 2048), predicted:
// cycles by the event graph, the clock by the card's power limit. FlashAttention-3's 48 (2026-11-20): nothing is fitted
// to them but the energy of an e4m3 FLOP, to rows with s = 1024, 4096 and 16384. attention_sm90's 24 (2026-11-21) are
// all held out.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "model/clock/power/power.hpp"
#include "model/clock/prediction.hpp"
#include "tests/support/layout.hpp"

namespace test_recorded_rates {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

struct Series {
  std::string kernel;
  DType dtype;
  std::int64_t d;
  bool causal;
  Knobs tile;
  std::vector<double> tflops;
};

Knobs tile(const char* q, const char* x, const char* warpgroups, const char* p_in, const char* pingpong,
           const char* cluster, bool causal) {
  return {{"q", q},
          {"x", x},
          {"warpgroups", warpgroups},
          {"p_in", p_in},
          {"pingpong", pingpong},
          {"cluster", cluster},
          {"overlap", "on"},
          {"order", causal ? "longest_first" : "persistent"}};
}

const std::vector<Series>& recorded() {
  static const std::vector<Series> all{
      {"flash_attention_3",
       DType::bf16,
       64,
       false,
       tile("192", "192", "3", "shared", "on", "1", false),
       {332, 365, 457, 479, 506, 518}},
      {"flash_attention_3",
       DType::bf16,
       64,
       true,
       tile("192", "128", "3", "registers", "on", "1", true),
       {209, 288, 392, 443, 469, 500}},
      {"flash_attention_3",
       DType::bf16,
       128,
       false,
       tile("128", "176", "2", "registers", "on", "2", false),
       {494, 568, 601, 616, 651, 663}},
      {"flash_attention_3",
       DType::bf16,
       128,
       true,
       tile("128", "128", "2", "registers", "on", "1", true),
       {307, 453, 515, 576, 614, 632}},
      {"flash_attention_3",
       DType::bf16,
       256,
       false,
       tile("128", "80", "2", "registers", "off", "2", false),
       {466, 610, 644, 680, 691, 713}},
      {"flash_attention_3",
       DType::bf16,
       256,
       true,
       tile("128", "80", "2", "registers", "off", "1", true),
       {307, 440, 528, 600, 656, 680}},
      {"flash_attention_3_fp8",
       DType::e4m3,
       128,
       false,
       tile("128", "224", "2", "registers", "on", "1", false),
       {439, 661, 785, 843, 880, 882}},
      {"flash_attention_3_fp8",
       DType::e4m3,
       128,
       true,
       tile("128", "224", "2", "registers", "on", "1", true),
       {313, 505, 650, 755, 836, 861}},
  };
  return all;
}

double error_of(const Series& s, std::int64_t length, double tflops) {
  Mask mask;
  if (s.causal) mask.kind = Mask::Kind::causal;
  const LaidOut l(s.kernel, "h200-sxm",
                  {{"b", 16384 / length}, {"h", 2048 / s.d}, {"q", length}, {"x", length}, {"d", s.d}}, s.dtype, mask);
  const PlacedDiagram placed = l.place(s.tile);
  const EventGraph graph = event_graph(placed);
  const double time = predict_by_graph(placed, graph, period(graph)).time.value;
  const double pairs = static_cast<double>(16384) * static_cast<double>(length) / (s.causal ? 2 : 1);
  return time / (4 * 2048 * pairs / tflops / 1e12) - 1;  // a causal mask hides half, by the usual convention
}

struct Summary {
  double mean = 0, median = 0, worst = 0;
};

/// Prints the errors of a series and returns them.
std::vector<double> errors_of(const Series& s, const std::vector<std::int64_t>& lengths) {
  std::vector<double> errors;
  std::string row;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    errors.push_back(error_of(s, lengths[i], s.tflops[i]));
    row += fmt::format(" {:+.1f}", 100 * errors.back());
  }
  MESSAGE(s.kernel << " d=" << s.d << std::string(s.causal ? " causal" : " full") << ", time, % by s:" << row);
  return errors;
}

std::string text_of(const Summary& s) {
  return fmt::format("mean {:.1f} %, median {:.1f} %, worst {:.1f} %", 100 * s.mean, 100 * s.median, 100 * s.worst);
}

Summary summary(std::vector<double> errors) {
  for (double& e : errors) e = std::abs(e);
  std::sort(errors.begin(), errors.end());
  const std::size_t n = errors.size();
  return {std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(n),
          (errors[(n - 1) / 2] + errors[n / 2]) / 2, errors.back()};
}

}  // namespace

TEST_CASE("the 48 rates of FlashAttention-3: mean error at most 5 %, held-out rows too") {
  std::vector<double> all, held_out;
  for (const Series& s : recorded()) {
    const std::vector<double> errors = errors_of(s, {512, 1024, 2048, 4096, 8192, 16384});
    all.insert(all.end(), errors.begin(), errors.end());
    for (const std::size_t i : {0U, 2U, 4U}) held_out.push_back(errors[i]);
  }
  MESSAGE("all: " << text_of(summary(all)) << "; held out: " << text_of(summary(held_out)));
  CHECK(summary(all).mean <= 0.05);
  CHECK(summary(held_out).mean <= 0.05);
}

TEST_CASE("24 rates of attention_sm90, none of which anything was fitted to") {
  const auto own = [](const char* q, const char* x, const char* warpgroups, const char* q_stages, bool causal) {
    Knobs knobs = tile(q, x, warpgroups, "registers", "on", "1", causal);
    knobs.emplace_back("q_stages", q_stages);
    knobs.emplace_back("rescale", "always");
    return knobs;
  };
  const std::string kernel = "attention_sm90";
  const std::vector<Series> measured{
      {kernel, DType::bf16, 64, false, own("192", "128", "3", "2", false), {408, 428, 483, 515}},
      {kernel, DType::bf16, 64, true, own("192", "128", "3", "2", true), {208, 279, 410, 479}},
      {kernel, DType::bf16, 128, false, own("128", "128", "2", "2", false), {566, 613, 614, 616}},
      {kernel, DType::bf16, 128, true, own("128", "128", "2", "2", true), {332, 473, 554, 588}},
      {kernel, DType::bf16, 256, false, own("128", "80", "2", "1", false), {535, 658, 734, 689}},
      {kernel, DType::bf16, 256, true, own("128", "80", "2", "1", true), {307, 441, 580, 602}},
  };
  std::vector<double> all, long_rows;
  for (const Series& s : measured) {
    const std::vector<double> errors = errors_of(s, {512, 1024, 4096, 16384});
    all.insert(all.end(), errors.begin(), errors.end());
    long_rows.insert(long_rows.end(), errors.begin() + 2, errors.end());
  }
  MESSAGE("all: " << text_of(summary(all)) << "; s >= 4096: " << text_of(summary(long_rows)));
  CHECK(summary(all).mean <= 0.10);
  CHECK(summary(long_rows).mean <= 0.06);
}

}  // namespace test_recorded_rates
