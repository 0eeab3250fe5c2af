#pragma once
// A PlantedBug is one that the emulator has to find: a change of a kernel's text, made in a copy when the tests are
// built.

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/backward_cases.hpp"
#include "tests/emulator/cases.hpp"
#include "tests/kernel/decode_cases.hpp"
#include "tests/kernel/fp8_cases.hpp"

namespace napkin::test {

struct PlantedBug {
  std::string name, file, from, to;
  std::string kernel;
  Knobs fixed;            ///< of the variants that show it
  std::string complaint;  ///< words of the emulator's error; "numbers": the result alone is wrong
};

inline const std::vector<PlantedBug>& planted_bugs() {
  static const std::string sm90 = "attention_sm90", sm80 = "attention_sm80", matmul = "matmul_sm90",
                           fp8 = "attention_fp8_sm90", decode = "attention_decode_sm90",
                           backward = "attention_backward_sm90", fp8_matmul = "matmul_fp8_sm90";
  static const std::vector<PlantedBug> all = {
      {"no_fence_before_store",
       "kernels/attention/epilogue_sm90.cuh",
       "    async_fence();\n",
       "",
       sm90,
       {{"order", "persistent"}},
       "fence.proxy.async"},
      {"no_fence_behind_p",
       "kernels/attention/products_sm90.cuh",
       "      async_fence();\n",
       "",
       sm90,
       {{"p_in", "shared"}},
       "fence.proxy.async"},
      {"no_fence_behind_barriers",
       "kernels/attention/block_sm90.cuh",
       "    barrier_init_fence();\n",
       "",
       sm90,
       {},
       "fence.mbarrier_init"},
      {"no_wgmma_fence",
       "kernels/attention/products_sm90.cuh",
       "    wgmma_fence();\n#pragma unroll\n    for (int k = 0; k < C.d",
       "#pragma unroll\n    for (int k = 0; k < C.d",
       sm90,
       {},
       "wgmma.fence"},
      {"p_without_barrier",
       "kernels/attention/products_sm90.cuh",
       "      warpgroup_sync(wg);\n",
       "",
       sm90,
       {{"p_in", "shared"}},
       ""},
      {"one_arrival_too_many",
       "kernels/attention/block_sm90.cuh",
       "C.warpgroups * 4 * C.cluster",
       "C.warpgroups * 4 * C.cluster + 1",
       sm90,
       {},
       "never ends"},
      {"one_arrival_too_few",
       "kernels/attention/block_sm90.cuh",
       "C.warpgroups * 4 * C.cluster",
       "C.warpgroups * 4 * C.cluster - 1",
       sm90,
       {},
       ""},
      {"stage_released_early",
       "kernels/attention/attention_sm90.cuh",
       "    wgmma_wait<0>();\n    Products::outputs_done(o, p, at.stage);\n    Products::issue_scores",
       "    Products::release_v(at.stage);\n    wgmma_wait<0>();\n    pin(o);\n    Products::issue_scores",
       sm90,
       {{"overlap", "off"}},
       "still be read"},
      {"phase_not_flipped", "kernels/device/barrier.cuh", "      parity ^= 1;\n", "", sm90, {}, ""},
      {"too_few_bytes", "kernels/attention/producer_sm90.cuh", "C.x * D * 2);", "C.x * D * 2 - 128);", sm90, {}, ""},
      {"mail_overwritten",
       "kernels/attention/producer_sm90.cuh",
       "    barrier_wait(barrier(Block::mail_empty), parity ^ 1);\n",
       "",
       sm90,
       {{"order", "longest_first"}},
       ""},
      {"q_given_back_early",
       "kernels/attention/epilogue_sm90.cuh",
       "      store_wait_read();\n",
       "",
       sm90,
       {{"order", "persistent"}},
       ""},
      {"wrong_turn",
       "kernels/attention/products_sm90.cuh",
       "named_arrive(NamedBarrier::turn, (wg + 1) % C.warpgroups, 2 * warpgroup_threads)",
       "named_arrive(NamedBarrier::turn, (wg + 1) % C.warpgroups, warpgroup_threads)",
       sm90,
       {{"pingpong", "on"}},
       "named barrier"},
      {"rows_beyond_the_end",
       "kernels/attention/epilogue_sm90.cuh",
       "      if (query >= tile.queries) continue;\n",
       "",
       sm90,
       {{"cluster", "1"}},
       ""},
      {"block_leaves_early",
       "kernels/matmul/matmul_sm90.cuh",
       "  // No block leaves while another may still write to its memory.\n  if constexpr (C.cluster > 1) "
       "cluster_sync();\n",
       "",
       matmul,
       {{"cluster", "2"}},
       ""},
      {"one_product_behind",
       "kernels/matmul/matmul_sm90.cuh",
       "        release(before);",
       "        release(ring.stage);",
       matmul,
       {{"split", "1"}},
       ""},
      {"registers_read_early",
       "kernels/matmul/matmul_sm90.cuh",
       "// beside the last products\n      wgmma_wait<0>();\n",
       "// beside the last products\n      wgmma_wait<1>();\n",
       matmul,
       {{"split", "1"}},
       "under way"},
      {"staging_overwritten",
       "kernels/matmul/matmul_sm90.cuh",
       "        if (count >= buffers && lane == 0) store_wait_read<buffers - 1>();\n",
       "",
       matmul,
       {{"split", "1"}},
       "still be read"},
      {"parts_never_counted_anew",
       "kernels/matmul/matmul_sm90.cuh",
       "    if (last && threadIdx.x % warp_threads == 0) *arrived = 0;\n",
       "",
       matmul,
       {{"split", "4"}},
       "numbers"},
      {"last_but_one_adds",
       "kernels/matmul/matmul_sm90.cuh",
       "== arguments.parts.count - 1;",
       "== arguments.parts.count - 2;",
       matmul,
       {{"split", "4"}},
       "numbers"},
      {"chunk_added_unfinished",
       "kernels/matmul/matmul_sm90.cuh",
       "      wgmma_wait<0>();\n#pragma unroll\n      for (int s = 0; s < steps; ++s) pin(one[s]);\n",
       "",
       fp8_matmul,
       {{"accumulate", "chunk"}},
       ""},
      {"chunk_given_back_early",
       "kernels/matmul/matmul_sm90.cuh",
       "      issue<false>(one, ring.stage);\n      wgmma_wait<0>();\n",
       "      issue<false>(one, ring.stage);\n      release(ring.stage);\n      wgmma_wait<0>();\n",
       fp8_matmul,
       {{"accumulate", "chunk"}},
       ""},
      {"scale_of_a_forgotten",
       "kernels/matmul/matmul_sm90.cuh",
       "arguments.a_scale != nullptr ? *arguments.a_scale : 1.f;",
       "1.f;",
       fp8_matmul,
       {},
       "numbers"},
      {"copies_not_waited_for",
       "kernels/attention/attention_sm80.cuh",
       "      copy_wait<C.stages - 2>();\n",
       "      copy_wait<C.stages - 1>();\n",
       sm80,
       {{"stages", "2"}},
       "arrived"},
      {"no_barrier_behind_copies",
       "kernels/attention/attention_sm80.cuh",
       "      copy_wait<0>();\n      __syncthreads();\n      Block::template load_v",
       "      copy_wait<0>();\n      Block::template load_v",
       sm80,
       {{"stages", "1"}},
       ""},
      {"turned_without_fence",
       "kernels/attention/fp8/producer_fp8.cuh",
       "    async_fence();\n",
       "",
       fp8,
       {},
       "fence.proxy.async"},
      {"turned_by_three_warps",
       "kernels/attention/fp8/block_fp8.cuh",
       "barrier_init(block.barrier(turned_full + s), producer_warps);",
       "barrier_init(block.barrier(turned_full + s), producer_warps - 1);",
       fp8,
       {},
       ""},
      {"turned_v_released_early",
       "kernels/attention/attention_fp8_sm90.cuh",
       "      wgmma_wait<0>();\n      pin(to);\n      pin(p);\n      Base::release_v(at.stage);\n",
       "      Base::release_v(at.stage);\n      wgmma_wait<0>();\n      pin(to);\n      pin(p);\n",
       fp8,
       {},
       ""},
      {"v_overwritten_unread",
       "kernels/attention/fp8/producer_fp8.cuh",
       "    barrier_wait(barrier(Places::raw_empty + at.stage), at.parity ^ 1);\n",
       "",
       fp8,
       {},
       ""},
      {"turned_phase_not_flipped",
       "kernels/attention/fp8/producer_fp8.cuh",
       "barrier_wait(barrier(Block::v_empty + at.stage), at.parity ^ 1);",
       "barrier_wait(barrier(Block::v_empty + at.stage), at.parity);",
       fp8,
       {},
       "never ends"},
      {"tail_cleared_without_fence",
       "kernels/attention/attention_decode_sm90.cuh",
       "    async_fence();\n",
       "",
       decode,
       {},
       "fence.proxy.async"},
      {"tail_cleared_without_barrier",
       "kernels/attention/attention_decode_sm90.cuh",
       "    Combiner::consumers_sync();\n",
       "",
       decode,
       {},
       ""},
      {"tail_cleared_before_it_came",
       "kernels/attention/attention_decode_sm90.cuh",
       "    barrier_wait(barrier(Block::v_full + at.stage), at.parity);\n",
       "",
       decode,
       {},
       ""},
      {"q_of_a_part_not_waited_for",
       "kernels/attention/attention_decode_sm90.cuh",
       "        barrier_wait(barrier(Block::q_full + Block::q_slot(0, Block::wg)), 0);\n",
       "",
       decode,
       {},
       "arrived"},
      {"last_part_told_early",
       "kernels/attention/combine_decode.cuh",
       "    consumers_sync();\n    __threadfence();\n    return",
       "    __threadfence();\n    return",
       decode,
       {},
       ""},
      {"pages_in_one_place",
       "kernels/attention/producer_decode.cuh",
       " + lane * static_cast<u32>(decode.box_keys) * (span * 2)",
       "",
       decode,
       {},
       ""},
      {"chunk_overwritten_unread",
       "kernels/attention/producer_decode.cuh",
       "    barrier_wait(empty, parity ^ 1);\n",
       "",
       decode,
       {{"shared.x", "1024"}},
       ""},
      {"empty_phase_not_flipped",
       "kernels/attention/producer_decode.cuh",
       "barrier_wait(empty, parity ^ 1);",
       "barrier_wait(empty, parity);",
       decode,
       {},
       "never ends"},
      {"ds_without_barrier",
       "kernels/attention/attention_backward_sm90.cuh",
       "    Products::place_ds(ds, at.copy);\n    meet();\n",
       "    Products::place_ds(ds, at.copy);\n",
       backward,
       {{"warpgroups", "2"}, {"s_stages", "2"}, {"overlap", "off"}},
       ""},
      {"ds_without_fence",
       "kernels/attention/backward/products_sm90.cuh",
       "    async_fence();\n",
       "",
       backward,
       {{"warpgroups", "2"}},
       "fence.proxy.async"},
      {"ds_overwritten_unread",
       "kernels/attention/attention_backward_sm90.cuh",
       "    if constexpr (C.s_stages == 1) meet();\n",
       "",
       backward,
       {{"warpgroups", "2"}, {"s_stages", "1"}},
       "still be read"},
      {"q_released_early",
       "kernels/attention/attention_backward_sm90.cuh",
       "    wgmma_wait<Last ? 0 : 1>();\n    pin(sums.dk);\n    pin(ds);\n    release(Block::q_empty + stage);\n",
       "    release(Block::q_empty + stage);\n    wgmma_wait<Last ? 0 : 1>();\n    pin(sums.dk);\n    pin(ds);\n",
       backward,
       {{"stages", "2"}, {"overlap", "on"}},
       "still be read"},
      {"dq_staging_overwritten",
       "kernels/attention/backward/gradients_sm90.cuh",
       "      if (lane == 0) store_wait_read();\n",
       "",
       backward,
       {{"dq", "bulk"}},
       "still be read"},
      {"v_not_waited_for",
       "kernels/attention/attention_backward_sm90.cuh",
       "    barrier_wait(barrier(Block::v_full), 0);\n",
       "",
       backward,
       {},
       "arrived"},
      {"bytes_of_rows_not_expected",
       "kernels/attention/backward/producer_sm90.cuh",
       "C.q * D * 2 + Block::row_bytes);",
       "C.q * D * 2);",
       backward,
       {},
       ""},
      {"late_ds_overwritten_unread",
       "kernels/attention/attention_backward_sm90.cuh",
       "    barrier_wait(barrier(Block::ds_empty + copy_of(at.steps)), parity_of(at.steps) ^ 1);\n",
       "",
       backward,
       {{"warpgroups", "2"}, {"overlap", "on"}},
       "still be read"},
      {"late_dq_without_wait",
       "kernels/attention/attention_backward_sm90.cuh",
       "    barrier_wait(barrier(Block::ds_full + copy_of(n)), parity_of(n));\n",
       "",
       backward,
       {{"warpgroups", "2"}, {"overlap", "on"}},
       ""},
      {"late_ds_phase_of_each_step",
       "kernels/attention/attention_backward_sm90.cuh",
       "parity_of(u32 n) { return n >> 1 & 1; }",
       "parity_of(u32 n) { return n & 1; }",
       backward,
       {{"warpgroups", "2"}, {"overlap", "on"}},
       ""},
      {"section_not_rounded",
       "kernels/attention/backward/aside_sm90.cuh",
       "if (section >= shape.ahead)",
       "if (section > shape.ahead)",
       backward,
       {},
       "numbers"},
      {"zeros_not_counted",
       "kernels/attention/backward/aside_sm90.cuh",
       "end_turn(arguments.zeroed + section);",
       "end_turn(arguments.added + section);",
       backward,
       {},
       "waits for turn"},
  };
  return all;
}

/// Of attention_fp8_sm90's bugs: a variant with chunks enough for its stages to come round.
inline std::vector<Fp8Case> planted_fp8_cases(const PlantedBug& bug) {
  if (bug.kernel != "attention_fp8_sm90") return {};
  Fp8Case one = fp8_case(fp8_configurations().front(), 0);
  one.layout.sizes.q = 200;
  one.layout.sizes.x = 1000;
  return {one};
}

/// Of attention_decode_sm90's bugs: three parts of two chunks and a piece, in pages of a quarter of a chunk; where the
/// bug asks for longer parts, one of chunks enough for its stages to come round.
inline std::vector<DecodeCase> planted_decode_cases(const PlantedBug& bug) {
  if (bug.kernel != "attention_decode_sm90") return {};
  DecodeCase one = decode_case(decode_configurations()[2], 0);
  one.tile.back() = bug.fixed.empty() ? std::pair<std::string, std::string>{"shared.x", "128"} : bug.fixed.front();
  one.sizes.x = bug.fixed.empty() ? 300 : 1000;
  one.lengths = {static_cast<std::int32_t>(one.sizes.x)};
  one.page = 16;
  return {one};
}

/// Of attention_backward_sm90's bugs: the first variant that shows it, with tiles enough for its stages to come round.
inline std::vector<BackwardConfiguration> planted_backward(const PlantedBug& bug) {
  if (bug.kernel != "attention_backward_sm90") return {};
  std::vector<BackwardConfiguration> all = backward_configurations();
  std::erase_if(all, [&](const BackwardConfiguration& c) {
    const auto has = [&](const auto& knob) { return std::find(c.tile.begin(), c.tile.end(), knob) != c.tile.end(); };
    return c.packed || !std::all_of(bug.fixed.begin(), bug.fixed.end(), has);
  });
  all.resize(1);
  return all;
}
inline BackwardCase planted_backward_case(const BackwardConfiguration& c) {
  BackwardCase one = small_case(c, 0);
  one.layout.sizes.q = 500;
  one.layout.sizes.x = 200;
  one.layout.sizes.h = 4;  // more sections of heads than are made zero ahead
  return one;
}

/// Up to three variants that show a bug, each with some chunks and tiles.
inline std::vector<CorrectnessCase> planted_cases(const PlantedBug& bug) {
  std::vector<CorrectnessCase> out;
  for (const auto& variant : variant_cases()) {
    const CorrectnessCase& one = variant.second;
    const bool packed = !one.attention.q_lengths.empty(), wanted = bug.name == "rows_beyond_the_end";
    const auto has = [&](const auto& knob) {
      return std::find(one.tile.begin(), one.tile.end(), knob) != one.tile.end();
    };
    if (one.kernel != bug.kernel || packed != wanted || !std::all_of(bug.fixed.begin(), bug.fixed.end(), has)) continue;
    CorrectnessCase small = one;
    small.attention.sizes.b = packed ? 4 : 1;
    small.attention.sizes.h = 2;
    small.attention.sizes.q = small.attention.sizes.x = 200;
    if (packed) small.attention.q_lengths = small.attention.x_lengths = {100, 200, 33, 7};
    small.matmul.sizes = {200, 528, 200};
    small.shape =
        one.kernel.starts_with("matmul") ? Shape{{"a", 200}, {"b", 528}, {"c", 200}} : shape_of(small.attention.sizes);
    if (!correctness::is_legal(small) || correctness::variant_of(small).expression != variant.first) continue;
    out.push_back(std::move(small));
    if (out.size() == 3) break;
  }
  return out;
}

inline std::set<std::string> planted_variants(const PlantedBug& bug) {
  std::set<std::string> out;
  for (const CorrectnessCase& one : planted_cases(bug)) out.insert(correctness::variant_of(one).expression);
  for (const Fp8Case& one : planted_fp8_cases(bug)) out.insert(variant_of(one).expression);
  for (const DecodeCase& one : planted_decode_cases(bug)) out.insert(variant_of(one).expression);
  for (const BackwardConfiguration& c : planted_backward(bug)) out.merge(expressions_of(c));
  return out;
}

}  // namespace napkin::test
