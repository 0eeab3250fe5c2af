// Tiles that experts ship compared with the model's choice, for GPUs that were not measured here: FlashAttention-2's
// 128 x 64 with 4 warps on an A100 at d = 128 takes 2 % longer than the pick, 128 x 96. A shipped tile is tuned on the
// card, so it is hardly slower than the best there; the model has to see that.
#include <string>
#include <vector>

#include "tests/golden/cli.hpp"

namespace test_picks {

namespace {

using cli::Json;
using cli::napkin;

/// One shipped tile: its kernel's own source or tutorial names it.
struct Shipped {
  const char *gpu, *kernel, *dtype;
  int d;
  bool causal;
  const char* tile;
  double most = 1.05;  ///< largest ratio of its predicted time to the choice's
};

std::string question(const Shipped& one) {
  return std::string(" attention --gpu ") + one.gpu + " --kernel " + one.kernel + " --dtype " + one.dtype +
         " --shape b=4,h=" + std::to_string(2048 / one.d) + ",q=4096,x=4096,d=" + std::to_string(one.d) +
         (one.causal ? " --causal" : "");
}

void check(const std::vector<Shipped>& tiles) {
  for (const Shipped& one : tiles) {
    const Json pick = cli::answer("select" + question(one)),
               own = cli::answer("query" + question(one) + " --tile " + one.tile);
    CAPTURE(question(one));
    CAPTURE(one.tile);
    CHECK(own["legal"].get<bool>());
    CHECK(own["predicted"]["time"].get<double>() <= one.most * pick["predicted"]["time"].get<double>());
    // No library ships a tile of sixteen keys an iteration with one buffer.
    CHECK(pick["tile"]["x"].get<int>() >= 32);
  }
}

}  // namespace

TEST_CASE("FlashAttention-2's tiles are within 5 % of the pick") {
  // csrc/flash_attn/src/flash_fwd_launch_template.h
  const char *wide = "q=128,x=128,warps=4", *narrow = "q=128,x=64,warps=4";
  std::vector<Shipped> tiles;
  for (const bool causal : {false, true}) {
    for (const char* gpu : {"a100-sxm-80", "h100-sxm"}) {
      tiles.push_back({gpu, "flash_attention_2", "f16", 64, causal, wide});
      tiles.push_back({gpu, "flash_attention_2", "f16", 128, causal, narrow});
    }
    tiles.push_back({"a100-sxm-80", "flash_attention_2", "f16", 96, causal, narrow});
    tiles.push_back({"rtx-4090", "flash_attention_2", "f16", 64, causal, wide});
  }
  tiles.push_back({"rtx-4090", "flash_attention_2", "f16", 128, false, "q=128,x=32,warps=4"});
  // 64 rows were chosen for GPUs of 99 KB a block; the pick has 128 rows of 32 keys in two buffers.
  tiles.push_back({"rtx-4090", "flash_attention_2", "f16", 128, true, "q=64,x=64,warps=4", 1.07});
  check(tiles);
}

TEST_CASE("FlashAttention-3's tiles are within 5 % of the pick") {
  // hopper/flash_fwd_launch_template.h, 2024
  std::vector<Shipped> tiles;
  for (const bool causal : {false, true}) {
    tiles.push_back({"h100-sxm", "flash_attention_3", "bf16", 64, causal, "warpgroups=3,q=192,x=128"});
    tiles.push_back({"h100-sxm", "flash_attention_3", "bf16", 128, causal,
                     causal ? "warpgroups=2,q=128,x=128" : "warpgroups=2,q=128,x=176"});
    tiles.push_back({"h100-sxm", "flash_attention_3", "bf16", 256, causal, "warpgroups=2,q=128,x=80"});
  }
  check(tiles);
}

TEST_CASE("tiles of Triton's tutorial and of Composable Kernel are within 5 % of the pick") {
  std::vector<Shipped> tiles;
  for (const bool causal : {false, true}) {
    // triton-lang/triton, python/tutorials/06-fused-attention.py: 8 warps on Hopper from 128 x 128 on
    tiles.push_back({"h100-sxm", "triton", "bf16", 64, causal, "q=128,x=64,warps=4"});
    tiles.push_back({"h100-sxm", "triton", "bf16", 128, causal, "q=128,x=128,warps=8"});
    for (const char* gpu : {"a100-sxm-80", "rtx-4090"}) {
      for (const int d : {64, 128}) {
        // On an A100 the pick has 32 keys at d = 128 under a mask, whose loop spills and stalls less.
        const bool fewer_keys = gpu == std::string("a100-sxm-80") && d == 128 && causal;
        tiles.push_back({gpu, "triton_sm80", "f16", d, causal, "q=128,x=64,warps=4", fewer_keys ? 1.08 : 1.05});
      }
    }
    // ROCm/composable_kernel, example/ck_tile/01_fmha/codegen/ops/fmha_fwd.py. Two waves at d = 64, the pick, are none
    // of its tiles.
    tiles.push_back({"mi300x", "ck_tile", "bf16", 64, causal, "q=128,x=64,warps=4", 1.1});
    tiles.push_back({"mi300x", "ck_tile", "bf16", 128, causal, "q=128,x=128,warps=4"});
  }
  check(tiles);
}

}  // namespace test_picks
