// The experts' tiles (forward attention and matrix product) are legal under the mapping of the kernel that ships them:
// rows, shared memory, registers, threads. One of FlashAttention-3's FP8 tiles needs 4 registers more than the rule
// allows; it ships all the same, and is marked. The test also prints each tile's rank among the legal tiles of that
// mapping.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "model/clock/prediction.hpp"
#include "model/resource/plan.hpp"
#include "solver/search/exhaustive.hpp"
#include "solver/select/selector.hpp"
#include "solver/space/constraints.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/setup.hpp"

namespace test_experts {

using namespace napkin;
using namespace napkin::internal;

namespace {

struct Expert {
  std::string kernel, gpu;
  DType dtype = DType::bf16;
  std::int64_t d = 128, dv = 128;
  test::Knobs knobs;
  std::string source;
  std::int64_t registers_over = 0;  ///< registers beyond the rule's limit of a tile that is shipped all the same
};

test::Knobs hopper(int warpgroups, int x, const char* p_in) {
  test::Knobs out = {{"warpgroups", std::to_string(warpgroups)},
                     {"q", std::to_string(64 * warpgroups)},
                     {"x", std::to_string(x)},
                     {"overlap", "on"},
                     {"stages", "2"}};
  if (p_in != nullptr) out.emplace_back("p_in", p_in);
  return out;
}

test::Knobs ampere(int q, int x, int warps, int stages = 1, const char* q_in = "shared") {
  return {{"q", std::to_string(q)},
          {"x", std::to_string(x)},
          {"warps", std::to_string(warps)},
          {"stages", std::to_string(stages)},
          {"q_in", q_in}};
}

test::Knobs triton(int q, int x, int stages, int warps) {
  return {{"q", std::to_string(q)},
          {"x", std::to_string(x)},
          {"stages", std::to_string(stages)},
          {"warps", std::to_string(warps)}};
}

std::vector<Expert> hopper_rows() {
  const DType bf16 = DType::bf16, e4m3 = DType::e4m3;
  const std::string fa3 = "flash_attention_3", fp8 = "flash_attention_3_fp8", gpu = "h200-sxm";
  return {
      {fa3, gpu, bf16, 64, 64, hopper(3, 192, "shared"), "FA3 d=64"},
      {fa3, gpu, bf16, 64, 64, hopper(3, 128, "registers"), "FA3 d=64 causal, CuTe"},
      {fa3, gpu, bf16, 96, 96, hopper(3, 144, "shared"), "FA3, CuTe d=96"},
      {fa3, gpu, bf16, 96, 96, hopper(3, 128, "shared"), "FA3 local, CuTe causal d=96"},
      {fa3, gpu, bf16, 128, 128, hopper(2, 176, "registers"), "FA3 d=128"},
      {fa3, gpu, bf16, 128, 128, hopper(2, 128, "registers"), "FA3 d=128 causal, CuTe, TLX"},
      {fa3, gpu, bf16, 192, 192, hopper(2, 112, "registers"), "FA3 d=192"},
      {fa3, gpu, bf16, 192, 192, hopper(2, 96, "registers"), "FA3 d=192 local"},
      {fa3, gpu, bf16, 192, 128, hopper(2, 128, "registers"), "FA3 d=192/128"},
      {fa3, gpu, bf16, 256, 256, hopper(2, 80, "registers"), "FA3, CuTe d=256"},
      {fa3, gpu, bf16, 256, 256, hopper(2, 64, "registers"), "FA3 d=256 local"},
      {fp8, gpu, e4m3, 64, 64, hopper(3, 160, "registers"), "FA3 e4m3 d=64"},
      {fp8, gpu, e4m3, 96, 96, hopper(3, 128, "registers"), "FA3 e4m3 d=96"},
      {fp8, gpu, e4m3, 128, 128, hopper(2, 224, "registers"), "FA3 e4m3 d=128"},
      {fp8, gpu, e4m3, 192, 192, hopper(2, 160, "registers"), "FA3 e4m3 d=192"},
      {fp8, gpu, e4m3, 256, 256, hopper(2, 128, "registers"), "FA3 e4m3 d=256"},
      {"flashinfer", gpu, bf16, 64, 64, hopper(3, 128, nullptr), "FlashInfer d=64"},
      {"flashinfer", gpu, bf16, 128, 128, hopper(2, 192, nullptr), "FlashInfer d=128"},
      {"flashinfer", gpu, bf16, 128, 128, hopper(2, 128, nullptr), "FlashInfer d=128 causal"},
      {"flashinfer", gpu, bf16, 256, 256, hopper(2, 64, nullptr), "FlashInfer d=256"},
      {"flashinfer", gpu, bf16, 192, 128, hopper(2, 128, nullptr), "FlashInfer d=192/128"},
      {"triton", gpu, bf16, 64, 64, triton(128, 128, 3, 4), "FlexAttention d=64"},
      {"triton", gpu, bf16, 128, 128, triton(128, 64, 3, 8), "FlexAttention d=128"},
      {"triton", gpu, bf16, 256, 256, triton(64, 32, 3, 4), "FlexAttention d=256"},
      {"flash_attention_2", gpu, bf16, 128, 128, ampere(128, 64, 4), "FA2 on H100 d=128"},
      {"flash_attention_2", gpu, bf16, 256, 256, ampere(64, 64, 4), "FA2 on H100 d=256"},
  };
}

std::vector<Expert> ampere_rows() {
  const DType bf16 = DType::bf16;
  const std::string fa2 = "flash_attention_2", a100 = "a100-sxm-80", ga102 = "rtx-3090";
  return {
      {fa2, a100, bf16, 64, 64, ampere(128, 128, 4), "FA2 d=64"},
      {fa2, a100, bf16, 64, 64, ampere(128, 112, 4), "FA3 sm80 d=64"},
      {fa2, a100, bf16, 96, 96, ampere(128, 64, 4), "FA2, FA3 sm80 d=96"},
      {fa2, a100, bf16, 128, 128, ampere(128, 64, 4), "FA2, FA3 sm80 d=128"},
      {fa2, a100, bf16, 128, 128, ampere(128, 112, 8, 1, "registers"), "FA3 sm80 varlen d=128"},
      {fa2, a100, bf16, 192, 192, ampere(128, 64, 8), "FA2 d=192"},
      {fa2, a100, bf16, 192, 192, ampere(128, 96, 8, 2, "registers"), "FA3 sm80 d=192"},
      {fa2, a100, bf16, 256, 256, ampere(128, 64, 8), "FA2 d=256"},
      {fa2, a100, bf16, 256, 256, ampere(128, 96, 8), "FA3 sm80 d=256"},
      {fa2, ga102, bf16, 96, 96, ampere(64, 64, 4), "FA2 sm86 d=96 causal"},
      {fa2, ga102, bf16, 128, 128, ampere(128, 32, 4), "FA2 sm86 d=128"},
      {fa2, ga102, bf16, 128, 128, ampere(64, 64, 4), "FA2 sm86 d=128 causal"},
      {fa2, ga102, bf16, 128, 128, ampere(128, 128, 8, 1, "registers"), "FA3 sm86 d=128"},
      {fa2, ga102, bf16, 192, 192, ampere(128, 96, 8, 1, "registers"), "FA3 sm86 d=192"},
      {fa2, ga102, bf16, 256, 256, ampere(64, 64, 4), "FA2 sm86 d=256"},
      {fa2, ga102, bf16, 256, 256, ampere(128, 64, 8, 1, "registers"), "FA3 sm86 d=256", 32},
  };
}

std::vector<Expert> product_rows() {
  const test::Knobs tile = {{"a", "128"}, {"c", "256"}, {"b", "64"}, {"warpgroups", "2"}};
  test::Knobs fast = tile, kittens = tile;
  fast.insert(fast.end(), {{"stages", "3"}, {"cluster", "2"}});
  kittens.emplace_back("stages", "4");
  return {{"matmul_sm90", "h100-sxm", DType::bf16, 0, 0, fast, "fast.cu, 3 stages, cluster 2"},
          {"thunderkittens_gemm", "h100-sxm", DType::bf16, 0, 0, kittens, "ThunderKittens, 4 stages"}};
}

/// Returns the knobs of a tile that the mapping leaves open: "q=128 x=176 stages=2".
std::string sizes_of(const Mapping& mapping, const Tile& tile) {
  std::string out;
  for (std::size_t k = 0; k < mapping.knobs.size(); ++k) {
    const Knob& knob = mapping.knobs[k];
    if (knob.domain.size() < 2) continue;
    const auto word = static_cast<std::size_t>(tile.values[k]);
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", knob.name,
                       knob.words.empty() ? std::to_string(tile.values[k]) : knob.words[word]);
  }
  return out;
}

std::string text_of(const std::vector<Violation>& found) {
  std::string out;
  for (const Violation& v : found)
    out += v.constraint + " " + std::to_string(v.needed) + " > " + std::to_string(v.available) + "; ";
  return out;
}

void check_row(const Expert& e, const test::Shape& shape) {
  const test::LaidOut setup(e.kernel, e.gpu, shape, e.dtype);
  const PlacedDiagram placed = setup.place(e.knobs);
  const Plan p = plan(placed);
  const std::vector<Violation> found = violations(placed, p);
  CAPTURE(e.source);
  CAPTURE(p.shared_total.value.get());
  CAPTURE(p.registers_per_thread.get());
  const std::string broken = text_of(found);
  CAPTURE(broken);
  CHECK(p.shared_total <= p.shared_limit);
  CHECK(p.registers_per_thread - p.registers_limit <= Count(e.registers_over));
  CHECK(p.blocks_per_sm >= Count(1));
  if (e.registers_over == 0) {
    CHECK(found.empty());
  } else {
    CHECK(p.registers_per_thread - p.registers_limit == Count(e.registers_over));
    REQUIRE(found.size() == 1);
    CHECK(found[0].constraint == "registers");
  }
  const Prediction predicted = predict(placed);
  CHECK(predicted.time.value > 0);
  CHECK(predicted.tflops > 0);
  MESSAGE(e.source << ": " << e.kernel << " on " << e.gpu << ", " << p.shared_total.value.get() << " B, "
                   << p.registers_per_thread.get() << "/" << p.registers_limit.get() << " registers, "
                   << predicted.tflops << " TFLOP/s, " << predicted.bound);
}

/// Returns the mask that a row is meant for. Local attention: each row sees itself and 1024 keys before it.
Mask mask_of(const Expert& e) {
  if (e.source.find("causal") != std::string::npos) return {Mask::Kind::causal, 0, 0};
  if (e.source.find("local") != std::string::npos) return {Mask::Kind::window, 1024, 0};
  return {};
}

void rank_row(const Expert& e, const test::Shape& shape) {
  const Mask mask = mask_of(e);
  const test::LaidOut laid(e.kernel, e.gpu, shape, e.dtype, mask);
  const Setup setup = test::setup_of(laid);
  const Exhausted found = select_exhaustively(setup);
  const Placer placer(laid.streamed, laid.mapping, laid.machine, laid.problem);
  const PlacedDiagram placed = placer.place(laid.tile(e.knobs));
  const double own = predict(placed).time.value, least = found.all.front().prediction.time.value;
  const auto faster = std::count_if(found.all.begin(), found.all.end(),
                                    [&](const Ranked& one) { return one.prediction.time.value < own; });
  Tables tables;
  Selector selector(setup, tables);
  const Selection best = selector.rank(1);
  CAPTURE(e.source);
  REQUIRE(!best.ranked.empty());
  CHECK(selector.count_rejections().legal == Count(std::ssize(found.all)));
  CHECK(best.ranked.front().prediction.time.value == least);
  CHECK(own >= least);
  const char* name = mask.kind == Mask::Kind::none ? "none" : mask.kind == Mask::Kind::causal ? "causal" : "window";
  fmt::print("{:<30}{:<22}{:<13}{:<8}{:>6} of {:>5} {:>8.3f}  {}\n", e.source, e.kernel, e.gpu, name, faster + 1,
             found.all.size(), own / least, sizes_of(laid.mapping, best.ranked.front().tile));
}

void rank_attention(const Expert& e) {
  rank_row(e, {{"b", 2}, {"h", 2048 / e.d}, {"q", 8192}, {"x", 8192}, {"d", e.d}, {"dv", e.dv}});
}

}  // namespace

TEST_CASE("experts' attention tiles on Hopper are legal") {
  for (const Expert& e : hopper_rows())
    check_row(e, {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", e.d}, {"dv", e.dv}});
}

TEST_CASE("experts' attention tiles on Ampere are legal") {
  for (const Expert& e : ampere_rows())
    check_row(e, {{"b", 2}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", e.d}, {"dv", e.dv}});
}

TEST_CASE("experts' matrix-product tiles are legal: fast.cu, ThunderKittens") {
  for (const Expert& e : product_rows()) check_row(e, {{"a", 8192}, {"b", 8192}, {"c", 8192}});
}

TEST_CASE("where select ranks the experts' tiles: s = n = 8192, h d = 2048, b s = 16384") {
  fmt::print("{:<30}{:<22}{:<13}{:<8}{:>15} {:>8}  {}\n", "tile of", "mapping", "machine", "mask", "rank of legal",
             "x best", "best");
  for (const Expert& e : hopper_rows()) rank_attention(e);
  for (const Expert& e : ampere_rows()) rank_attention(e);
  for (const Expert& e : product_rows()) rank_row(e, {{"a", 8192}, {"b", 8192}, {"c", 8192}});
  std::fflush(stdout);
}

}  // namespace test_experts
