// Operations, exponentials and conversions, compared with counts by hand.

#include <doctest/doctest.h>

#include "model/resource/resources.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_work {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Mapped;

}  // namespace

TEST_CASE("attention: 4 b h g q x d, one exponential a score and a rescale a row and chunk") {
  const Mapped m("attention", "attention_sm90", "h200-sxm",
                 {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}});
  const Work w = work(m.place({{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"overlap", "on"}}));
  CHECK(w.flops == Flops(std::int64_t{1} << 40));
  CHECK(w.executed_flops == w.flops);
  CHECK(w.exponentials == Count(std::int64_t{32} * 8192 * 8192 + std::int64_t{32} * 8192 * 64));
  CHECK(w.conversions ==
        Count(std::int64_t{32} * 8192 * 8192 + std::int64_t{32} * 8192 * 128));  // P, and O on its way out
}

TEST_CASE("causal: the pairs that are seen, and the tiles that are visited") {
  const Mapped m("attention", "attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}},
                 Mask{Mask::Kind::causal, 0, 0});
  const Work w = work(m.place({{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}}));
  CHECK(w.flops == Flops(std::int64_t{4} * 32 * 128 * (std::int64_t{8192} * 8193 / 2)));
  CHECK(w.executed_flops == Flops(std::int64_t{4} * 32 * 128 * 128 * 128 * (64 * 65 / 2)));
}

TEST_CASE("ragged tiles are executed in full") {
  const Mapped m("matmul", "matmul_sm90", "h200-sxm", {{"a", 100}, {"b", 70}, {"c", 50}});
  const Work w = work(m.place({{"a", "64"}, {"b", "32"}, {"c", "48"}, {"warpgroups", "1"}}));
  CHECK(w.flops == Flops(2 * 100 * 70 * 50));
  CHECK(w.executed_flops == Flops(std::int64_t{2} * 128 * 96 * 96));
  CHECK(w.exponentials == Count(0));
  CHECK(w.conversions == Count(2 * 64 * 2 * 48));
}

}  // namespace test_work
