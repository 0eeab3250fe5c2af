// A chunk that a relation fixes stays in the space even with few keys; other chunks longer than the keys are left out
// as wasteful.

#include <doctest/doctest.h>

#include <algorithm>

#include "solver/space/enumerate.hpp"
#include "tests/support/setup.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_pinned {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("FlashAttention's tile of split keys stays the library's for short keys") {
  for (const std::int64_t keys : {1, 65, 4096}) {
    CAPTURE(keys);
    const testing::Mapped m("attention", "flash_attention_2_split", "a100-sxm-80", {{"q", 7}, {"x", keys}, {"d", 64}});
    const Space space = space_of(test::setup_of(m));
    const auto& chunks = space.domains[static_cast<std::size_t>(*m.mapping.find_knob("x"))];
    CHECK(std::count(chunks.begin(), chunks.end(), 256) == 1);
  }
  const testing::Mapped free("attention", "flash_attention_2", "a100-sxm-80", {{"q", 7}, {"x", 65}, {"d", 64}});
  const Space space = space_of(test::setup_of(free));
  const auto& chunks = space.domains[static_cast<std::size_t>(*free.mapping.find_knob("x"))];
  CHECK(*std::max_element(chunks.begin(), chunks.end()) == 80);
}

}  // namespace test_pinned
