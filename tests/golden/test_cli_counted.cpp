// TFLOP/s are work over time, and work is counted here pair by pair: 512 causal queries of 8192 keys see 4,063,488.

#include <cmath>

#include "tests/golden/cli.hpp"

namespace test_cli_counted {

namespace {

using cli::Json;
using cli::napkin;

struct Sequence {
  long q = 1, x = 1;
};

/// Counts the pairs that a mask shows, one by one: row i of q sees the columns from i + x - q - left to i + x - q +
/// right.
long pairs_of(const std::vector<Sequence>& sequences, long left, long right) {
  long pairs = 0;
  for (const auto& [q, x] : sequences) {
    for (long i = 0; i < q; ++i) {
      for (long j = 0; j < x; ++j) {
        if (j >= i + x - q - left && j <= i + x - q + right) ++pairs;
      }
    }
  }
  return pairs;
}

struct Counted {
  std::string shape, mask;
  std::vector<Sequence> sequences;
  long d = 128, left = 1L << 40, right = 1L << 40;
};

}  // namespace

TEST_CASE("TFLOP/s are work over time, and work is counted pair by pair, for every mask and shape") {
  const std::string causal = " --causal";
  for (const Counted& one :
       {Counted{"h=16,q=512,x=8192,d=128", causal, {{512, 8192}}, 128, 1L << 40, 0},
        {"h=16,q=8192,x=512,d=128", causal, {{8192, 512}}, 128, 1L << 40, 0},
        {"h=16,q=1,x=8192,d=128", causal, {{1, 8192}}, 128, 1L << 40, 0},
        {"h=16,q=2048,x=2048,d=128", causal, {{2048, 2048}}, 128, 1L << 40, 0},
        {"h=16,q=1000,x=3000,d=64", " --window 100,7", {{1000, 3000}}, 64, 100, 7},
        {"h=16,q=3000,x=1000,d=64", " --window 9,70", {{3000, 1000}}, 64, 9, 70},
        {"h=16,q=300,x=300,d=64", "", {{300, 300}}, 64},
        {"h=16,d=128 --lengths 512,4096,1,0", causal, {{512, 512}, {4096, 4096}, {1, 1}}, 128, 1L << 40, 0},
        {"h=16,d=128 --lengths 700x30,3*5x900",
         " --window 50,0",
         {{700, 30}, {5, 900}, {5, 900}, {5, 900}},
         128,
         50,
         0},
        {"h=16,d=128 --lengths 64*1x8192", "", std::vector<Sequence>(64, {1, 8192})}}) {
    const long flops = 2 * 2 * one.d * 16 * pairs_of(one.sequences, one.left, one.right);  // S and O
    for (const char* kernel : {"", " --kernel ideal", " --kernel flash_attention_2"}) {
      const std::string line = one.shape + one.mask + kernel;
      CAPTURE(line);
      const Json json = cli::answer("query attention --gpu h200-sxm --shape " + line);
      CHECK(json["work"]["flops"] == flops);
      CHECK(json["predicted"]["tflops"].get<double>() * 1e12 * json["predicted"]["time"].get<double>() ==
            doctest::Approx(static_cast<double>(flops)).epsilon(1e-9));
    }
  }
}

}  // namespace test_cli_counted
