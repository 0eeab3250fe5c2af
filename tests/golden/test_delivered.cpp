// The bytes that the L2 -> SM counter read on an H200 inside FlashAttention-3 are predicted from the kernels' tiles
// alone: 8,657,043,456 into shared memory at 8192 keys.

#include <doctest/doctest.h>

#include "model/resource/resources.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_delivered {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Given;
using napkin::internal::testing::Mapped;
using napkin::internal::testing::Text;

LevelTransfer at_level(const PlacedDiagram& placed, const char* name) {
  for (const LevelTransfer& t : transfers(placed)) {
    if (t.level == placed.machine->level(name)) return t;
  }
  return {};
}

struct Row {
  const char* kernel;
  DType dtype;
  Mask mask;
  std::int64_t heads, d;
  Text tile;
  std::int64_t delivered, clipped;  // bytes
  const char* delivered_text;       // GB as printed
  const char* clipped_text;
};

std::string gigabytes(Bytes bytes) {
  const std::int64_t thousandths = (bytes.value.get() + 500'000) / 1'000'000;
  std::string text = std::to_string(thousandths % 1000);
  return std::to_string(thousandths / 1000) + "." + std::string(3 - text.size(), '0') + text;
}

}  // namespace

TEST_CASE("the headline: attention of 8192 keys moves 8,657,043,456 bytes into shared memory") {
  const Mapped m("attention", "attention_sm90", "h200-sxm",
                 {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}});
  const PlacedDiagram placed = m.place({{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}});
  const LevelTransfer shared = at_level(placed, "shared");
  CHECK(shared.load.value == Count(8'657'043'456));
  CHECK(shared.store.value == Count(67'108'864));
  CHECK(shared.groups == Count(2048));
  CHECK(shared.delivered == shared.load);
  CHECK(shared.transfer_per_group.value == Count(2 * 128 * 128 * 2 + 2 * 8192 * 128 * 2));
  const LevelTransfer l2 = at_level(placed, "l2");
  CHECK(l2.load.value == Count(201'326'592));  // compulsory: 201.3 MB
  CHECK(l2.groups == Count(1));
  CHECK(at_level(placed, "registers").groups == Count(4096));
}

TEST_CASE("multicast halves what crosses into a cluster, not what a block receives") {
  const Mapped m("attention", "attention_sm90", "h200-sxm",
                 {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}});
  const PlacedDiagram placed = m.place({{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"cluster", "2"}});
  const LevelTransfer cluster = at_level(placed, "cluster"), shared = at_level(placed, "shared");
  CHECK(shared.load.value == Count(8'657'043'456));
  CHECK(cluster.groups == Count(1024));
  const Count queries = Count(67'108'864);
  CHECK(cluster.load.value == queries + (shared.load.value - queries) / Count(2));
  const PlacedDiagram single = m.place({{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"cluster", "1"}});
  CHECK(at_level(single, "cluster").groups == Count(2048));
  CHECK(at_level(single, "cluster").load == shared.load);
}

TEST_CASE("delivered bytes of five FlashAttention-3 kernels, to all printed digits") {
  const Mask none, causal{Mask::Kind::causal, 0, 0};
  const std::vector<Row> rows = {
      {"flash_attention_3",
       DType::bf16,
       none,
       32,
       64,
       {{"q", "192"}, {"x", "192"}, {"warpgroups", "3"}, {"p_in", "shared"}},
       5'884'084'224,
       5'838'471'168,
       "5.884",
       "5.838"},
      {"flash_attention_3",
       DType::bf16,
       none,
       16,
       128,
       {{"q", "128"}, {"x", "176"}, {"warpgroups", "2"}},
       8'740'929'536,
       8'657'043'456,
       "8.741",
       "8.657"},
      {"flash_attention_3",
       DType::bf16,
       none,
       8,
       256,
       {{"q", "128"}, {"x", "80"}, {"warpgroups", "2"}},
       8'707'375'104,
       8'657'043'456,
       "8.707",
       "8.657"},
      {"flash_attention_3_fp8",
       DType::e4m3,
       none,
       16,
       128,
       {{"q", "128"}, {"x", "224"}, {"warpgroups", "2"}},
       4'378'853'376,
       4'328'521'728,
       "4.379",
       "4.329"},
      {"flash_attention_3",
       DType::bf16,
       causal,
       16,
       128,
       {{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}},
       4'429'185'024,
       4'429'185'024,
       "4.429",
       "4.429"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.delivered_text);
    const Mapped m("attention", row.kernel, "h200-sxm",
                   {{"b", 2}, {"h", row.heads}, {"q", 8192}, {"x", 8192}, {"d", row.d}}, row.mask, row.dtype);
    const LevelTransfer shared = at_level(m.place(row.tile), "shared");
    CHECK(gigabytes(shared.delivered) == row.delivered_text);
    CHECK(gigabytes(shared.load) == row.clipped_text);
    CHECK(shared.delivered.value.get() == row.delivered);
    CHECK(shared.load.value.get() == row.clipped);
  }
}

TEST_CASE("FlashAttention-2's counter: rows clipped, 8.66 GB") {
  const Mapped m("attention", "flash_attention_2", "h200-sxm",
                 {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}});
  const LevelTransfer shared = at_level(m.place({{"q", "128"}, {"x", "64"}, {"warps", "4"}}), "shared");
  CHECK(shared.delivered.value == Count(8'657'043'456));
  const LevelTransfer ragged = at_level(m.place({{"q", "128"}, {"x", "176"}, {"warps", "4"}}), "shared");
  CHECK(ragged.delivered == ragged.load);  // 8192 = 46 x 176 + 96 rows of 256 bytes: no padding crosses
}

}  // namespace test_delivered
