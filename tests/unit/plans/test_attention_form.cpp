// A form made at some lengths makes plans for others that equal newly made plans byte for byte.
#include "kernels/plans/attention_form.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "tests/support/case_count.hpp"
#include "tests/support/layout.hpp"

namespace test_attention_form {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

constexpr LaunchDevice h200{132, Bytes(62914560)};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t below(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most - 1)(engine_); }
  std::int64_t of(std::initializer_list<std::int64_t> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }
  /// Returns a length from 1 to 2^most, each octave equally likely.
  std::int64_t length(int most) { return (std::int64_t{1} << below(most)) + below(std::int64_t{1} << below(most)); }

 private:
  std::mt19937 engine_;
};

struct Sizes {
  std::int64_t b, h, g, q, x, d, dv;
  [[nodiscard]] test::Shape shape() const {
    return {{"b", b}, {"h", h}, {"g", g}, {"q", q}, {"x", x}, {"d", d}, {"dv", dv}};
  }
};

Sizes sizes_from(Random& random, std::int64_t d, std::int64_t dv) {
  return {random.length(6), random.length(5), random.of({1, 2, 4, 8}), random.length(12), random.length(15), d, dv};
}

AttentionCall call_of(const Sizes& s, bool packed, bool halves) {
  AttentionCall call;
  const auto dense = [&](std::uint64_t at, std::int64_t rows, std::int64_t heads, std::int64_t columns) {
    return TensorView{at, rows * heads * columns, columns, heads * columns};
  };
  call.q = dense(0x10000, s.q, s.h * s.g, s.d);
  call.k = dense(0x20000, s.x, s.h, s.d);
  call.v = dense(0x30000, s.x, s.h, s.dv);
  call.o = dense(0x40000, s.q, s.h * s.g, s.dv);
  call.log_sum_exp = 0x50000;
  call.ticket = 0x60000;
  call.arrived = 0x70000;
  call.parts = 0x80000;
  call.halves = halves;
  if (packed) {
    call.q_starts = 0x90000;
    call.x_starts = 0xa0000;
    call.q_rows = s.b * s.q;
    call.x_rows = s.b * s.x;
  }
  return call;
}

/// Returns a plan's content, or its refusal of the call.
template <class Plan>
std::string said(const Plan& plan) {
  try {
    return content_of(plan());
  } catch (const Error& error) {
    return std::string("refused: ") + error.what();
  }
}

/// Returns a tile with random values of the knobs' domains, if the kernel has a form for it.
std::optional<Tile> tile_from(Random& random, const LaidOut& laid, const AttentionCall& call) {
  for (int tries = 0; tries < 400; ++tries) {
    Tile tile;
    for (const Knob& knob : laid.mapping.knobs)
      tile.values.push_back(knob.domain[static_cast<std::size_t>(random.below(std::ssize(knob.domain)))]);
    try {
      static_cast<void>(AttentionForm(laid.placer->place(tile), call));
      return tile;
    } catch (const Error&) {
    }
  }
  return std::nullopt;
}

struct Kernel {
  std::string name, gpu;
  DType dtype;
};

struct Counts {
  int plans = 0, refused = 0;
};

/// Checks one tile at eight lengths, with one form.
void check_lengths(Random& random, const Kernel& kernel, Counts& counts) {
  const std::int64_t d = random.of({64, 72, 128}), dv = random.below(4) == 0 ? 64 : d;
  const bool packed = random.below(4) == 0;
  Mask mask;
  if (random.below(2) == 0) mask.kind = Mask::Kind::causal;
  const Sizes first = sizes_from(random, d, dv);
  LaidOut laid(kernel.name, kernel.gpu, first.shape(), kernel.dtype, mask);
  const auto call_at = [&](const Sizes& s) { return call_of(s, packed, kernel.name == "napkin_fp8_sm90"); };
  const std::optional<Tile> tile = tile_from(random, laid, call_at(first));
  if (!tile) return;
  PlacedDiagram placed = laid.placer->place(*tile);
  const AttentionForm form(placed, call_at(first));
  for (int i = 0; i < 8; ++i) {
    const Sizes sizes = sizes_from(random, d, dv);
    const LaidOut anew(kernel.name, kernel.gpu, sizes.shape(), kernel.dtype, mask);
    laid.placer->rebind(anew.problem);
    laid.placer->place(*tile, placed);
    const AttentionCall call = call_at(sizes);
    CAPTURE(i);
    REQUIRE(form.serves(placed, call));
    const std::string kept = said([&] { return form.plan(placed, call, h200); });
    CHECK(kept == said([&] { return attention_plan(anew.placer->place(*tile), call, h200); }));
    ++(kept.starts_with("refused: ") ? counts.refused : counts.plans);
  }
}

}  // namespace

TEST_CASE("a form's plans at other lengths are those made anew, byte for byte") {
  for (const Kernel& kernel : {Kernel{"attention_sm90", "h200-sxm", DType::bf16},
                               {"attention_decode_sm90", "h200-sxm", DType::f16},
                               {"attention_fp8_sm90", "h200-sxm", DType::e4m3},
                               {"napkin_fp8_sm90", "h200-sxm", DType::e4m3},
                               {"attention_sm80", "a100-sxm-80", DType::bf16}}) {
    CAPTURE(kernel.name);
    Random random(43);
    Counts counts;
    for (int i = 0; i < test::rounds(40); ++i) check_lengths(random, kernel, counts);
    MESSAGE(kernel.name << ": " << counts.plans << " plans, " << counts.refused << " refused");
    CHECK(counts.plans > 0);
  }
}

TEST_CASE("a form serves neither another tile, nor other columns, nor other options of a call") {
  const Sizes sizes{2, 4, 1, 256, 512, 128, 128};
  Sizes narrow = sizes;
  narrow.d = narrow.dv = 120;  // the kernel holds 128 columns and pads
  const LaidOut laid("attention_sm90", "h200-sxm", sizes.shape(), DType::bf16);
  const AttentionCall call = call_of(sizes, false, false), packed = call_of(sizes, true, false);
  const test::Knobs knobs{{"q", "128"}, {"x", "128"}, {"warpgroups", "2"}, {"stages", "2"}, {"q_stages", "1"}};
  const AttentionForm form(laid.place(knobs), call);
  CHECK(form.serves(laid.place(knobs), call));
  CHECK_FALSE(form.serves(laid.place(knobs), packed));
  AttentionCall without = call;
  without.log_sum_exp = 0;  // attention_fp8_sm90 sums P in another way then
  CHECK_FALSE(form.serves(laid.place(knobs), without));
  test::Knobs other = knobs;
  other[3].second = "1";
  CHECK_FALSE(form.serves(laid.place(other), call));
  const LaidOut there("attention_sm90", "h200-sxm", narrow.shape(), DType::bf16);
  laid.placer->rebind(there.problem);
  CHECK_FALSE(form.serves(laid.place(knobs), call));
}

}  // namespace test_attention_form
