// One list of fields writes a value and reads it back; what was damaged is refused.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "model/base/byte_fields.hpp"

namespace test_byte_fields {

namespace {

using namespace napkin;

struct Inner {
  int count = 0;
  std::string name;
};
struct Outer {
  double real = 0;
  bool flag = false;
  std::uint64_t large = 0;
  std::vector<std::uint32_t> plain;
  std::vector<Inner> inner;
};

template <class Archive>
void fields(Archive& archive, Outer& outer) {
  archive.plain(outer.real);
  archive.count(outer.flag);
  archive.count(outer.large);
  archive.plain(outer.plain);
  archive.each(outer.inner, [&](Inner& one) {
    archive.count(one.count);
    archive.text(one.name);
  });
}

std::string bytes_of(Outer outer) {
  FieldWriter out;
  fields(out, outer);
  return out.take();
}

const Outer sample{-0.1, true, std::numeric_limits<std::uint64_t>::max(), {7, 8}, {{300, "a b"}, {0, ""}}};

}  // namespace

TEST_CASE("what is written is read back, to the last byte") {
  const std::string bytes = bytes_of(sample);
  FieldReader in(bytes);
  Outer out;
  fields(in, out);
  CHECK(in.at_end());
  CHECK(out.real == sample.real);
  CHECK(out.flag);
  CHECK(out.large == sample.large);
  CHECK(out.plain == sample.plain);
  REQUIRE(out.inner.size() == 2);
  CHECK(out.inner[0].count == 300);
  CHECK(out.inner[0].name == "a b");
  CHECK(bytes_of(out) == bytes);
}

TEST_CASE("bytes that end too early are refused wherever they end") {
  const std::string bytes = bytes_of(sample);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    FieldReader in(std::string_view(bytes).substr(0, size));
    Outer out;
    CHECK_THROWS_AS(fields(in, out), Error);
  }
}

TEST_CASE("a number that its field cannot hold is refused") {
  FieldWriter out;
  out.count(std::uint64_t{1} << 31U);
  const std::string bytes = out.take();
  FieldReader as_int(bytes), as_long(bytes), as_bool(bytes);
  int narrow = 0;
  std::int64_t wide = 0;
  bool flag = false;
  CHECK_THROWS_AS(as_int.count(narrow), Error);
  CHECK_THROWS_AS(as_bool.count(flag), Error);
  as_long.count(wide);
  CHECK(wide == std::int64_t{1} << 31);
}

}  // namespace test_byte_fields
