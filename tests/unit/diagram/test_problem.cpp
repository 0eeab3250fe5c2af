#include <doctest/doctest.h>

#include "model/diagram/library.hpp"
#include "model/diagram/problem.hpp"
#include "model/diagram/text.hpp"
#include "tests/support/mistakes.hpp"

namespace test_problem {

namespace {

using namespace napkin;
using namespace napkin::internal;

std::string error_of(const std::vector<std::pair<std::string, std::int64_t>>& given) {
  return test::refusal_of([&] { return resolve_sizes(load_diagram("attention"), given, "--shape"); });
}

TEST_CASE("sizes: given ones, defaults, and defaults that follow another axis") {
  const Diagram d = load_diagram("attention");
  const Sizes sizes = resolve_sizes(d, {{"q", 7}, {"x", 9}, {"d", 16}, {"h", 3}}, "--shape");
  const auto of = [&](const char* axis) { return sizes[static_cast<std::size_t>(d.axis(axis))]; };
  CHECK(of("b") == Count(1));
  CHECK(of("h") == Count(3));
  CHECK(of("dv") == Count(16));
  CHECK(volume(d.arrays[static_cast<std::size_t>(d.array("Q"))], sizes) == Values(3 * 7 * 16));
  CHECK(value_of(d.operations[1].scale, sizes) == doctest::Approx(0.25));
}

TEST_CASE("sizes that are wrong say where, what and what would be right") {
  CHECK(error_of({{"q", 1}, {"x", 1}}) == "--shape: axis d of attention has no size: give d=N");
  CHECK(error_of({}) == "--shape: axes q, x, d of attention have no sizes: give q=N,x=N,d=N");
  CHECK(error_of({{"y", 1}}).starts_with("--shape: no axis 'y' in attention: one of b, "));
  CHECK(error_of({{"q", 0}}) == "--shape: q=0: a whole number of at least 1");
  CHECK(error_of({{"q", -3}}) == "--shape: q=-3: a whole number of at least 1");
  CHECK(error_of({{"q", 2}, {"q", 2}}) == "--shape: axis 'q' stands twice: each axis once");
}

TEST_CASE("a volume beyond 64 bits is refused by the array's name") {
  const Diagram d = load_diagram("attention");
  const std::int64_t huge = std::int64_t{1} << 62;
  const Sizes sizes = resolve_sizes(d, {{"q", huge}, {"x", huge}, {"d", huge}}, "--shape");
  CHECK_THROWS_WITH_AS((void)volume(d.arrays[0], sizes),
                       "the number of values of array Q does not fit 64 bits: use smaller sizes (the largest count is "
                       "9223372036854775807)",
                       Overflow);
}

TEST_CASE("causal is bottom-right aligned; a window is a band around that diagonal") {
  const Mask causal{Mask::Kind::causal, 0, 0};
  CHECK(visible(causal, 0, 1, 4, 6).last == 3);  // row 0 sees j <= 0 + 6 - 4
  CHECK(visible(causal, 3, 4, 4, 6).last == 6);
  CHECK(visible(causal, 0, 1, 6, 4).size() == 0);  // more queries than keys: the first rows see nothing
  const Mask window{Mask::Kind::window, 1, 0};
  CHECK(visible(window, 2, 3, 4, 6).first == 3);
  CHECK(visible(window, 2, 3, 4, 6).last == 5);
  CHECK(text_of(window) == "window 1,0");
  CHECK(text_of(causal) == "causal");
  CHECK(text_of(Mask{}) == "none");
}

TEST_CASE("what rows see does not depend on how wide the sums are taken") {
  const std::int64_t far = std::int64_t{1} << 60;  // a size above the largest that is accepted
  for (const std::int64_t rows : {7, 9, 12}) {
    const std::int64_t columns = 19 - rows;
    for (std::int64_t first = 0; first < rows; ++first) {
      const Span wide = visible({Mask::Kind::window, far, 0}, first, first + 2, rows, columns);
      const Span causal = visible({Mask::Kind::causal, 0, 0}, first, first + 2, rows, columns);
      CHECK(wide.first == causal.first);
      CHECK(wide.last == causal.last);
      const Span after =
          visible_rows({Mask::Kind::window, far, 0}, first % columns, first % columns + 1, rows, columns);
      const Span below = visible_rows({Mask::Kind::causal, 0, 0}, first % columns, first % columns + 1, rows, columns);
      CHECK(after.first == below.first);
      CHECK(after.last == below.last);
    }
  }
}

TEST_CASE("mask axes: each pair once") {
  const Diagram d = load_diagram("attention");
  REQUIRE(mask_axes(d).size() == 1);
  CHECK(mask_axes(d)[0] == std::array<AxisId, 2>{d.axis("q"), d.axis("x")});
  CHECK(mask_axes(load_diagram("matmul")).empty());
}

}  // namespace

}  // namespace test_problem
