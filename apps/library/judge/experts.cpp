// Tiles that other kernels ship, as knobs of ours. (FlashAttention-3 hopper/tile_size.h, FlashInfer hopper prefill,
// FlashAttention-2 and FlashAttention-3's sm80 path, fast.cu, ThunderKittens; tests/golden/test_experts.cpp holds them
// to the peers' own mappings)

#include <algorithm>

#include "apps/library/judge/sweep.hpp"

namespace napkin::internal {
namespace {

enum class Masked { no, yes, either };

struct Expert {
  const char* kernel;
  std::int64_t d;  ///< head size; 0: any
  Masked masked;
  TileText knobs;
  const char* source;
};

TileText hopper(const char* warpgroups, const char* x, const char* p_in, const char* overlap = "on") {
  return {{"warpgroups", warpgroups}, {"x", x},        {"p_in", p_in},
          {"overlap", overlap},       {"stages", "2"}, {"cluster", "1"}};
}

TileText ampere(const char* q, const char* x, const char* warps, const char* stages = "1",
                const char* q_in = "shared") {
  return {{"q", q}, {"x", x}, {"warps", warps}, {"stages", stages}, {"q_in", q_in}};
}

TileText product(const char* stages, const char* cluster) {
  return {{"a", "128"}, {"c", "256"}, {"b", "64"}, {"warpgroups", "2"}, {"stages", stages}, {"cluster", cluster}};
}

const std::vector<Expert>& experts() {
  const char* fa3 = "FlashAttention-3";
  const char* sm90 = "attention_sm90";
  const char* sm80 = "attention_sm80";
  static const std::vector<Expert> all{
      {sm90, 64, Masked::no, hopper("3", "192", "shared"), fa3},
      {sm90, 64, Masked::either, hopper("3", "128", "registers"), fa3},
      {sm90, 96, Masked::either, hopper("3", "144", "shared"), fa3},
      {sm90, 96, Masked::yes, hopper("3", "128", "shared"), fa3},
      {sm90, 128, Masked::no, hopper("2", "176", "registers"), fa3},
      {sm90, 128, Masked::either, hopper("2", "128", "registers"), fa3},
      {sm90, 128, Masked::either, hopper("2", "192", "registers", "off"), "FlashInfer"},
      {sm90, 192, Masked::either, hopper("2", "112", "registers"), fa3},
      {sm90, 192, Masked::yes, hopper("2", "96", "registers"), fa3},
      {sm90, 256, Masked::either, hopper("2", "80", "registers"), fa3},
      {sm90, 256, Masked::either, hopper("2", "64", "registers"), "FlashInfer"},
      {sm80, 64, Masked::either, ampere("128", "128", "4"), "FlashAttention-2"},
      {sm80, 64, Masked::either, ampere("128", "112", "4"), fa3},
      {sm80, 96, Masked::either, ampere("128", "64", "4"), "FlashAttention-2"},
      {sm80, 128, Masked::either, ampere("128", "64", "4"), "FlashAttention-2"},
      {sm80, 128, Masked::either, ampere("128", "32", "4"), "FlashAttention-2"},
      {sm80, 128, Masked::either, ampere("128", "112", "8", "1", "registers"), fa3},
      {sm80, 192, Masked::either, ampere("128", "64", "8"), "FlashAttention-2"},
      {sm80, 192, Masked::either, ampere("128", "96", "8", "2", "registers"), fa3},
      {sm80, 256, Masked::either, ampere("128", "64", "8"), "FlashAttention-2"},
      {sm80, 256, Masked::either, ampere("64", "64", "4"), "FlashAttention-2"},
      {"matmul_sm90", 0, Masked::either, product("3", "2"), "fast.cu"},
      {"matmul_sm90", 0, Masked::either, product("4", "1"), "ThunderKittens"},
  };
  return all;
}

bool applies(const Expert& expert, const Question& question, const Setup& setup) {
  if (expert.kernel != setup.mapping->name) return false;
  const bool masked = question.problem.mask.kind != Mask::Kind::none;
  if (expert.masked != Masked::either && masked != (expert.masked == Masked::yes)) return false;
  if (expert.d == 0) return true;
  const auto d = question.diagram->find_axis("d");
  return d && question.problem.sizes[static_cast<std::size_t>(*d)].get() == expert.d;
}

/// Returns the setup with the user's fixed knobs and the expert's; nothing if they contradict each other, or if a knob
/// does not have the value.
std::optional<Setup> layout_of(const Expert& expert, const Setup& setup) {
  Setup out = setup;
  for (const auto& [name, text] : expert.knobs) {
    const auto knob = setup.mapping->find_knob(name);
    if (!knob) return std::nullopt;
    std::int64_t value = 0;
    try {
      value = parse_knob(setup.mapping->knobs[static_cast<std::size_t>(*knob)], text, name);
    } catch (const Error&) {
      return std::nullopt;
    }
    const auto fixed =
        std::find_if(setup.fixed.begin(), setup.fixed.end(), [&](const auto& f) { return f.first == *knob; });
    if (fixed == setup.fixed.end()) {
      out.fixed.emplace_back(*knob, value);
    } else if (fixed->second != value) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

std::vector<SweepTile> expert_tiles(const Question& question, const Setup& setup) {
  std::vector<SweepTile> out;
  for (const Expert& expert : experts()) {
    if (!applies(expert, question, setup)) continue;
    const auto fixed = layout_of(expert, setup);
    if (!fixed) continue;
    if (auto tile = best_tile(*fixed)) out.push_back({std::move(*tile), TileRole::expert, expert.source});
  }
  return out;
}

}  // namespace napkin::internal
