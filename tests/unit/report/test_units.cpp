#include "apps/report/units.hpp"

#include <doctest/doctest.h>

#include "apps/report/table.hpp"

namespace test_units {

using namespace napkin::internal::report;

TEST_CASE("numbers as people read them") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1,000");
  CHECK(count_text(8657043456) == "8,657,043,456");
  CHECK(count_text(-1234567) == "-1,234,567");
  CHECK(count_text(INT64_MIN) == "-9,223,372,036,854,775,808");
  CHECK(transfer_text(999) == "999 B");
  CHECK(transfer_text(8657043456) == "8.657 GB");
  CHECK(transfer_text(INT64_MAX) == "9.223 EB");
  CHECK(memory_text(1023) == "1023 B");
  CHECK(memory_text(232448) == "227.0 KiB");
  CHECK(time_text(1.04e-3) == "1.040 ms");
  CHECK(time_text(12.345e-6) == "12.35 us");
  CHECK(time_text(3e-9) == "3.000 ns");
  CHECK(time_text(120) == "120.0 s");
  CHECK(rate_text(4.8e12) == "4.800 TB/s");
  CHECK(clock_text(1.755e9) == "1.755 GHz");
  CHECK(percent_text(0.934) == "93%");
  CHECK(number_text(232448) == "232,448");
  CHECK(number_text(0.5) == "0.5");
}

TEST_CASE("tables") {
  Table table({"<name", "size", "<empty", "<note"});
  table.add({"a", "1", "", "x"});
  table.add({"long name", "1,000", "", ""});
  CHECK(table.text({}) ==
        "name        size  note\n"
        "a              1  x\n"
        "long name  1,000\n");
  CHECK(table.text({}, "  ").starts_with("  name"));
  CHECK(table.text({true}).starts_with("\033[2mname"));
}

TEST_CASE("columns are as wide as characters, not bytes") {
  Table table({"<a", "b"});
  table.add({"é", "1"});
  table.add({"e", "2"});
  CHECK(table.text({}) == "a  b\né  1\ne  2\n");
}

TEST_CASE("long lines break at blanks") {
  CHECK(wrapped("one two three", 7, "  ") == "one two\n  three");
  CHECK(wrapped("unbreakable", 3, "") == "unbreakable");
  CHECK(wrapped("", 3, "") == "");
}

}  // namespace test_units
