// Writes outside an array, and into rows that belong to no sequence, are found; without a GPU.
#include <doctest/doctest.h>

#include <vector>

#include "kernels/reference/attention_data.hpp"
#include "kernels/runtime/banded_memory.hpp"

namespace test_banded_memory {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("the first byte that was changed is named as an element of the array") {
  constexpr unsigned char untouched = 0xA5;
  std::vector<unsigned char> band(64, untouched);
  const auto ahead = [&] { return first_changed("O", band.data(), band.size(), untouched, -64, 4); };
  const auto behind = [&] { return first_changed("O", band.data(), band.size(), untouched, 1024, 4); };
  CHECK(ahead() == "");
  band[63] = 0;  // the byte before the array is part of its element -1
  CHECK(ahead() == "O[-1]");
  band[60] = 0;
  CHECK(ahead() == "O[-1]");
  band[59] = 0;
  CHECK(ahead() == "O[-2]");
  CHECK(behind() == "O[270]");  // 1024 + 59 bytes
  band[0] = 0;
  CHECK(behind() == "O[256]");
  CHECK(first_of({"", "O[4]", "K[1]"}) == "O[4]");
  CHECK(first_of({"", ""}) == "");
}

TEST_CASE("rows with gaps have a row and a head behind them that belong to nobody") {
  AttentionLayout layout;
  for (const bool heads_first : {false, true}) {
    CAPTURE(heads_first);
    layout.heads_first = heads_first;
    layout.gap = 0;
    const TensorView dense = strided(layout, 5, 3, 64);
    CHECK(dense.batch == 5 * 3 * 64);
    layout.gap = 8;
    const TensorView gapped = strided(layout, 5, 3, 64);
    const std::int64_t outer = heads_first ? gapped.head : gapped.row, inner = heads_first ? gapped.row : gapped.head;
    CHECK(gapped.batch == (heads_first ? 4 : 6) * outer);
    CHECK(outer == (heads_first ? 6 : 4) * inner + (heads_first ? 0 : 8));
    CHECK(inner == 64 + (heads_first ? 8 : 0));
  }
}

}  // namespace test_banded_memory
