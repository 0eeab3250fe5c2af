// Built-in mappings that extend another one, and those of latent attention and of Turing: new parts are in their
// places, and bytes agree with counts by hand.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/resource/block_ids.hpp"
#include "model/resource/plan.hpp"
#include "model/resource/resources.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_extended {

namespace {

using namespace napkin;
using namespace napkin::internal;
using testing::Mapped;

std::vector<std::string> outputs_of(const Mapping& mapping) {
  std::vector<std::string> out;
  for (const OperationMapping& op : mapping.operations) out.push_back(op.output);
  return out;
}

LevelTransfer into(const PlacedDiagram& placed, const char* level) {
  const auto all = transfers(placed);
  const LevelId id = placed.machine->level(level);
  return *std::find_if(all.begin(), all.end(), [&](const LevelTransfer& one) { return one.level == id; });
}

}  // namespace

TEST_CASE("capped scores are one operation more, between scores and softmax, and move no byte more") {
  const testing::Given shape{{"h", 4}, {"q", 1024}, {"x", 1024}, {"d", 128}};
  for (const std::string base : {"flash_attention_2", "flash_attention_3"}) {
    CAPTURE(base);
    const std::string gpu = base == "flash_attention_2" ? "a100-sxm-80" : "h100-sxm";
    const Mapped plain("attention", base, gpu, shape), capped("soft_capped_attention", base + "_softcap", gpu, shape);
    CHECK(outputs_of(plain.mapping) == std::vector<std::string>{"S", "P", "O"});
    CHECK(outputs_of(capped.mapping) == std::vector<std::string>{"S", "T", "P", "O"});
    const testing::Text tile{{"q", "128"}, {"x", "64"}};
    const PlacedDiagram a = plain.place(tile), b = capped.place(tile);
    for (const char* level : {"l2", "shared"}) {
      CHECK(into(a, level).load.value == into(b, level).load.value);
      CHECK(into(a, level).store.value == into(b, level).store.value);
    }
    REQUIRE(b.operations.size() == 4);
    REQUIRE(b.operations[1].work.size() == 2);
    for (const PlacedWork& work : b.operations[1].work) CHECK(work.amount == 128 * 64);  // once a score
  }
}

TEST_CASE("a sink for each head is one word more from device memory, and Y leaves where O does") {
  const testing::Given shape{{"h", 4}, {"g", 2}, {"q", 1024}, {"x", 1024}, {"d", 128}};
  for (const std::string base : {"flash_attention_3", "flash_attention_4"}) {
    CAPTURE(base);
    const std::string gpu = base == "flash_attention_3" ? "h100-sxm" : "b200";
    const Mapped plain("attention", base, gpu, shape), sink("sink_attention", base + "_sink", gpu, shape);
    CHECK(outputs_of(sink.mapping) == std::vector<std::string>{"S", "P", "O", "D", "F", "Y"});
    const testing::Text tile{{"x", "128"}, {"warpgroups", "2"}};
    const PlacedDiagram a = plain.place(tile), b = sink.place(tile);
    CHECK(into(b, "l2").load.value - into(a, "l2").load.value == Count(4 * 2 * 4));
    for (const char* level : {"l2", "shared"}) CHECK(into(b, level).store.value == into(a, level).store.value);
    CHECK(shared_bytes(a) == shared_bytes(b));
  }
}

TEST_CASE("a sink where parts become whole moves what parts without sinks do, and one part leaves as it is") {
  const testing::Given shape{{"h", 4}, {"g", 8}, {"q", 1}, {"x", 8192}, {"d", 64}};
  for (const auto& [base, sinks, gpu] :
       {std::tuple{"flash_attention_3_split", "flash_attention_3_split_sink", "h100-sxm"},
        {"flash_attention_4_split", "flash_attention_4_split_sink", "b200"},
        {"trtllm_decode", "trtllm_decode_sink", "a100-sxm-80"},
        {"ck_tile_split", "ck_tile_split_sink", "mi300x"}}) {
    const std::string kernel = sinks;
    CAPTURE(kernel);
    const Mapped plain("attention", base, gpu, shape), sink("sink_attention", kernel, gpu, shape);
    for (const char* splits : {"1", "4"}) {
      const PlacedDiagram a = plain.place({{"num_splits", splits}}), b = sink.place({{"num_splits", splits}});
      CHECK(into(a, "l2").load.value == into(b, "l2").load.value);
      CHECK(into(a, "l2").store.value == into(b, "l2").store.value);
      const CombineMoved parts = combine_moved(a).value(), whole = combine_moved(b).value();
      CHECK(parts.loaded.value == whole.loaded.value);
      CHECK(parts.whole.value == whole.whole.value);
      CHECK((whole.loaded.value > Count(0)) == (std::string(splits) == "4"));
    }
  }
}

TEST_CASE("FlashAttention-2's blocks of split and of paged keys hold Q, K and V, and their rows leave from there") {
  const testing::Given shape{{"h", 4}, {"q", 1024}, {"x", 4096}, {"d", 128}};
  const Mapped split("attention", "flash_attention_2_split", "a100-sxm-80", shape),
      paged("attention", "flash_attention_2_paged", "a100-sxm-80", shape);
  const testing::Text tile{{"q", "64"}, {"x", "128"}};
  testing::Text parts = tile;
  parts.emplace_back("num_splits", "4");
  const PlacedDiagram a = split.place(parts), b = paged.place(tile);
  for (const PlacedDiagram* placed : {&a, &b}) {
    CHECK(shared_bytes(*placed).value == Count((64 + 2 * 128) * 128 * 2));
    CHECK(occupancy(*placed).blocks == Count(2));  // of 164 KiB
  }
  const Count whole(4 * 1024 * 128);
  CHECK(into(b, "l2").store.value == whole * Count(2));             // 16 bits
  CHECK(into(a, "l2").store.value >= whole * Count(4) * Count(4));  // four parts of 32
}

TEST_CASE("keys in pages come by cp.async: the same bytes and tile, more registers for the threads that copy") {
  const testing::Given shape{{"h", 4}, {"q", 1024}, {"x", 1024}, {"d", 128}};
  const Mapped plain("attention", "flash_attention_3", "h100-sxm", shape),
      paged("attention", "flash_attention_3_paged", "h100-sxm", shape);
  const testing::Text tile{{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}};
  const PlacedDiagram a = plain.place(tile), b = paged.place(tile);
  for (const char* level : {"l2", "shared"}) CHECK(into(a, level).load.value == into(b, level).load.value);
  std::size_t copies = 0;
  for (const VariableMapping& variable : paged.mapping.variables)
    copies += variable.engine == CopyEngine::cp_async ? 1 : 0;
  CHECK(copies == 3);  // Q too: a group's heads are rows of one tile, which no box has
  const auto pages = [](const PlacedDiagram& placed) {
    double amount = 0;
    for (const PlacedWork& work : placed.operations[0].work)
      amount += work.mapping->name.starts_with("pages") ? work.amount : 0;
    return amount;
  };
  CHECK(pages(a) == 0);
  CHECK(pages(b) == 128 * 128 / 4 * 2);
}

TEST_CASE("FlashMLA reads a latent once for 64 heads, as keys and as values") {
  const Mapped m("latent_attention", "flash_mla", "h100-sxm", {{"b", 3}, {"h", 128}, {"q", 1}, {"x", 1024}});
  const PlacedDiagram placed = m.place({{"num_splits", "1"}});
  CHECK(placed.blocks == Count(3 * 2));
  const std::int64_t block = 64 * 576 + 1024 * 576;  // queries; latent and rotary key
  CHECK(into(placed, "shared").load.value == Count(2 * 3 * 2 * block));
  CHECK(into(placed, "l2").load.value == Count(2 * (3 * 128 * 576 + 3 * 1024 * 576)));
}

TEST_CASE("latent decoding of others: a latent once for 64 heads or 16, on Blackwell twice for 128 of two SMs") {
  const std::int64_t b = 3, h = 128, x = 1024, queries = b * h * 576, latent = b * x * 576;
  struct Reads {
    const char *kernel, *gpu;
    std::int64_t blocks, values;  // blocks in all; values into all blocks
  };
  for (const Reads& of : {Reads{"flashinfer_mla_sm80", "a100-sxm-80", b * 2, queries + 2 * latent},
                          Reads{"flashinfer_mla", "l40s", b * 2, queries + 2 * latent},
                          Reads{"triton_mla", "a100-sxm-80", b * 8, queries + 8 * latent},
                          Reads{"triton_mla_gfx942", "mi300x", b * 8, queries + 8 * latent},
                          Reads{"triton_mla_gfx950", "mi355x", b * 8, queries + 8 * latent},
                          // each SM of a pair has half of the keys, and half of the values
                          Reads{"cutlass_mla_sm100", "b200", b * 2, queries + latent + b * x * 512}}) {
    CAPTURE(of.kernel);
    const Mapped m("latent_attention", of.kernel, of.gpu, {{"b", b}, {"h", h}, {"q", 1}, {"x", x}});
    const PlacedDiagram placed = m.place({{"num_splits", "1"}});
    CHECK(placed.blocks == Count(of.blocks));
    const bool several = std::string(of.gpu).starts_with("mi");  // each of eight L2s reads what its own blocks do
    CHECK(into(placed, several ? "lds" : "shared").load.value == Count(2 * of.values));
    if (!several) CHECK(into(placed, "l2").load.value == Count(2 * (queries + latent)));
  }
  // flashinfer's shared memory: Q, two or one buffers of the latent and the rotary keys (SharedStorageQKVO of its
  // header)
  const Mapped wide("latent_attention", "flashinfer_mla_sm80", "a100-sxm-80", {{"h", 64}, {"q", 1}, {"x", x}}),
      narrow("latent_attention", "flashinfer_mla", "l40s", {{"h", 64}, {"q", 1}, {"x", x}});
  CHECK(shared_bytes(wide.place({{"num_splits", "1"}})) == Bytes(2 * 576 * (64 + 2 * 32)));
  CHECK(shared_bytes(narrow.place({{"num_splits", "1"}})) == Bytes(2 * 576 * (64 + 16)));
}

TEST_CASE("a cache of 8 bits: half of the bytes of keys and values, also where the heads' scales come to each block") {
  struct Cached {
    const char *plain, *algorithm, *cached, *gpu;
  };
  for (const Cached& of :
       {Cached{"flashinfer_decode_rows16", "fp8_cache_attention", "flashinfer_decode_fp8_cache", "a100-sxm-80"},
        Cached{"flashinfer_fa2", "fp8_cache_attention", "flashinfer_fa2_fp8_cache", "l40s"},
        Cached{"trtllm_decode", "int8_cache_attention", "trtllm_decode_int8_cache", "a100-sxm-80"},
        Cached{"aiter_paged_attention", "fp8_cache_attention", "aiter_paged_attention_fp8_cache", "mi300x"}}) {
    CAPTURE(of.cached);
    const std::int64_t h = 2, x = 8192, d = 128;
    const testing::Given shape{{"h", h}, {"g", 8}, {"q", 1}, {"x", x}, {"d", d}};
    const Mapped plain("attention", of.plain, of.gpu, shape), cached(of.algorithm, of.cached, of.gpu, shape);
    const bool cdna = std::string(of.gpu).starts_with("mi");
    const testing::Text tile = cdna ? testing::Text{{"g", "8"}} : testing::Text{{"num_splits", "1"}, {"x", "64"}};
    const PlacedDiagram a = plain.place(tile), b = cached.place(tile);
    const char* blocks = cdna ? "lds" : "shared";
    const Count scales = b.blocks * Count(2 * 4);
    const std::int64_t readers = cdna ? 1 : 8;  // heads of a group that are not packed here
    CHECK(into(a, blocks).load.value - (into(b, blocks).load.value - scales) == Count(h * readers * 2 * x * d));
    CHECK(into(a, blocks).store.value == into(b, blocks).store.value);
  }
}

TEST_CASE("AITER's workgroup takes 256 keys of a group's heads and all queries at once") {
  Mask causal;
  causal.kind = Mask::Kind::causal;
  const std::int64_t b = 3, h = 2, g = 8, q = 4, x = 4096, d = 128;
  const Mapped m("attention", "aiter_paged_attention", "mi300x",
                 {{"b", b}, {"h", h}, {"g", g}, {"q", q}, {"x", x}, {"d", d}}, causal);
  const PlacedDiagram placed = m.place({{"g", "8"}, {"q", "4"}});
  CHECK(placed.blocks == Count(b * h * x / 256));
  CHECK(into(placed, "lds").load.value == Count(2 * (b * h * 2 * x * d + b * h * (x / 256) * g * q * d)));
}

TEST_CASE("gradients of grouped heads: dK and dV of each query head leave, in the sum's type") {
  struct Base {
    const char *mapping, *gpu;
    std::int64_t bytes;  // bytes of an element that leaves
  };
  const std::int64_t heads = 8, x = 1024, d = 128;
  for (const Base& base :
       {Base{"flash_attention_2_backward", "a100-sxm-80", 2}, Base{"flash_attention_3_backward", "h100-sxm", 4},
        Base{"flash_attention_4_backward", "b200", 4}, Base{"flash_attention_4_backward_pair", "b200", 4}}) {
    CAPTURE(base.mapping);
    const auto placed = [&](const std::string& name, std::int64_t h, std::int64_t g) {
      const Mapped m("attention_backward", name, base.gpu, {{"h", h}, {"g", g}, {"q", x}, {"x", x}, {"d", d}});
      return into(m.place({{"x", "128"}}), "shared");
    };
    const LevelTransfer one = placed(base.mapping, heads, 1),
                        grouped = placed(base.mapping + std::string("_grouped"), 2, 4);
    CHECK(one.load.value == grouped.load.value);  // each query head counts as a head of its own
    CHECK(grouped.store.value - one.store.value == Count(2 * heads * x * d * (base.bytes - 2)));
  }
}

TEST_CASE("gradients of wide heads on Hopper hold what flash_bwd_sm90.py's shared memory has") {
  const auto holds = [](std::int64_t d, std::int64_t dv, const char* x, std::int64_t arrays) {
    for (const std::int64_t g : {1, 4}) {
      const std::string name = std::string("flash_attention_3_backward_wide") + (g > 1 ? "_grouped" : "");
      const Mapped m("attention_backward", name, "h200-sxm",
                     {{"h", 2}, {"g", g}, {"q", 1024}, {"x", 1024}, {"d", d}, {"dv", dv}});
      const Bytes bytes =
          shared_bytes(m.place({{"x", x}, {"stages", d == 192 ? "2" : "1"}, {"o_stages", dv == 128 ? "2" : "1"}}));
      CHECK(bytes >= Bytes(arrays * 1024));
      CHECK(bytes <= Bytes(arrays * 1024 + 4096));
    }
  };
  holds(192, 128, "96", 48 + 32 + 36 + 24 + 2 * 12 + 48);  // Q, dO, K, V, P and dS, dQ's way out
  holds(256, 256, "64", 32 + 32 + 32 + 32 + 2 * 8 + 64);
}

TEST_CASE("gradients by two SMs: Q and dO come in halves twice, K twice, and half of dQ leaves from each") {
  const std::int64_t h = 4, s = 1024, d = 128;
  const testing::Given shape{{"h", h}, {"q", s}, {"x", s}, {"d", d}};
  const Mapped plain("attention_backward", "flash_attention_4_backward", "b200", shape),
      pair("attention_backward", "flash_attention_4_backward_pair", "b200", shape),
      wide("attention_backward", "flash_attention_4_backward_wide", "b200",
           {{"h", h}, {"q", s}, {"x", s}, {"d", 192}, {"dv", 128}});
  const PlacedDiagram by_one = plain.place({{"x", "128"}}), by_two = pair.place({{"turns", "ahead"}});
  const LevelTransfer one = into(by_one, "shared"), two = into(by_two, "shared");
  CHECK(two.load.value - one.load.value == Count(h * s * d * 2));
  CHECK(one.store.value - two.store.value == Count(h * (s / 128) * s * d * 4 / 2));
  // SharedStorage in KiB (Dao-AILab/flash-attention, flash_attn/cute/flash_bwd_sm100.py): halves of Q, dO, dQ's way out
  // and dS' way to the other SM; K twice, V, dS.
  const auto holds = [](const PlacedDiagram& placed, std::int64_t arrays) {
    CHECK(shared_bytes(placed) >= Bytes(arrays * 1024));
    CHECK(shared_bytes(placed) <= Bytes(227 * 1024));
  };
  holds(by_two, 4 * 16 + 16 + 16 + 2 * 32 + 32 + 32);
  holds(wide.place({{"turns", "in_turn"}}), 24 + 16 + 24 + 2 * 48 + 32 + 32);
}

TEST_CASE("FlashAttention-4's heads of 256: Q and a ring of four pieces in shared memory, all of tensor memory") {
  const Mapped m("attention", "flash_attention_4_wide", "b200", {{"h", 4}, {"q", 1024}, {"x", 1024}, {"d", 256}});
  const PlacedDiagram placed = m.place({{"sms", "2"}});
  CHECK(shared_bytes(placed) >= Bytes((64 + 4 * 16) * 1024));
  CHECK(shared_bytes(placed) <= Bytes((64 + 4 * 16 + 2) * 1024));
  const std::int64_t h = 4, s = 1024, d = 256;
  CHECK(into(placed, "shared").load.value ==
        Count(2 * h * s * d + 2 * 2 * h * (s / 256) * s * d));  // Q; K and V a pair
}

TEST_CASE("under a mask two SMs visit what either sees: chunks by hand, and of a last block without a partner") {
  const auto holds = [](std::int64_t s, std::int64_t chunks, std::int64_t longest) {
    Mask mask;
    mask.kind = Mask::Kind::causal;
    const Mapped m("attention_backward", "flash_attention_4_backward_pair", "b200",
                   {{"h", 2}, {"q", s}, {"x", s}, {"d", 128}}, mask);
    const PlacedDiagram placed = m.place({{"turns", "ahead"}});
    CHECK(placed.walk.total.chunks == Count(chunks));
    CHECK(placed.walk.total.longest == Count(longest));
    Count visited, blocks;
    for (const EqualBlocks& run : block_runs(placed)) {
      visited += Count(static_cast<std::int64_t>(run.iterations)) * Count(run.blocks);
      blocks += Count(run.blocks);
    }
    CHECK(visited == placed.walk.total.chunks);
    CHECK(blocks == placed.walk.total.row_groups);
  };
  holds(1024, 2 * (8 + 6 + 4 + 2), 8);
  holds(1152, 2 * (9 + 7 + 5 + 3) + 1, 9);
  holds(128, 1, 1);
}

TEST_CASE("TensorRT-LLM's and ThunderKittens' blocks on Hopper hold what their sources say") {
  const auto bytes = [](const char* mapping, std::int64_t d, const testing::Text& tile) {
    const Mapped m("attention", mapping, "h100-sxm", {{"h", 4}, {"q", 1024}, {"x", 1024}, {"d", d}});
    return shared_bytes(m.place(tile));
  };
  const auto holds = [&](Bytes all, std::int64_t arrays) {  // barriers beside the arrays, which begin at 1024
    CHECK(all >= Bytes(arrays));
    CHECK(all < Bytes(arrays + 2048));
  };
  const std::int64_t trt[][2] = {{64, 256}, {128, 128}, {256, 64}};
  for (const auto& [d, x] : trt)  // two tiles of 64 queries, two buffers of K and of V
    holds(bytes("trtllm_fmha", d, {{"x", std::to_string(x)}}), 2 * d * (128 + 4 * x));
  holds(bytes("thunderkittens_attention", 64, {{"stages", "4"}}), 2LL * 64 * (192 + 8 * 128));
  holds(bytes("thunderkittens_attention", 128, {{"stages", "2"}}), 2LL * 128 * (192 + 4 * 128));
}

TEST_CASE("FlashAttention-4 in FP8 reads half and writes as much as in 16 bits, and takes P in a quarter of S' words") {
  const testing::Given shape{{"h", 4}, {"q", 1024}, {"x", 1024}, {"d", 128}};
  const Mapped wide("attention", "flash_attention_4", "b200", shape),
      narrow("attention", "flash_attention_4_fp8", "b200", shape, {}, DType::e4m3);
  const testing::Text tile{{"q", "256"}, {"x", "128"}, {"warpgroups", "2"}, {"sms", "1"}};
  const LevelTransfer a = into(wide.place(tile), "shared"), b = into(narrow.place(tile), "shared");
  CHECK(a.load.value == b.load.value * Count(2));
  CHECK(a.store.value == b.store.value);
  double words = 0;
  const PlacedDiagram placed = narrow.place(tile);
  for (const PlacedWork& work : placed.operations[1].work)
    words += work.mapping->name.starts_with("put") ? work.amount : 0;
  CHECK(words == 256.0 * 128 / 4);
}

TEST_CASE("attention on Turing keeps K and V in one buffer beside Q: one block of eight warps on an SM") {
  const std::vector<std::pair<std::int64_t, const char*>> tiles{{64, "128"}, {128, "64"}};
  for (const auto& tile : tiles) {
    const std::int64_t d = tile.first, x = std::stoll(tile.second);
    CAPTURE(d);
    const Mapped m("attention", "flash_attention_turing", "t4", {{"h", 4}, {"q", 1024}, {"x", 1024}, {"d", d}}, {},
                   DType::f16);
    const PlacedDiagram placed = m.place({{"x", tile.second}});
    CHECK(shared_bytes(placed) == Bytes(2 * d * (128 + x)));
    CHECK(occupancy(placed).blocks == Count(1));
    CHECK(into(placed, "shared").load.value == Count(2 * 4 * d * (1024 + 8 * 2 * 1024)));
  }
}

TEST_CASE("a product on CDNA 4 keeps two buffers of its largest tile in the LDS, which CDNA 3 has no room for") {
  const testing::Given shape{{"a", 4096}, {"b", 4096}, {"c", 4096}};
  const testing::Text tile{{"a", "256"}, {"c", "256"}, {"b", "64"}, {"wave_rows", "128"}, {"stages", "2"}};
  const Bytes buffers(2LL * 2 * (256 + 256) * 64);
  const Mapped newer("matmul", "vendor_matmul_gfx950", "mi355x", shape),
      older("matmul", "vendor_matmul_gfx942", "mi300x", shape);
  CHECK(shared_bytes(newer.place(tile)) == buffers);
  CHECK(occupancy(newer.place(tile)).blocks == Count(1));
  CHECK(shared_bytes(older.place(tile)) == buffers);
  CHECK(occupancy(older.place(tile)).blocks == Count(0));
}

}  // namespace test_extended
