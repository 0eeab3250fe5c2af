// Products whose last row or column of tiles reaches beyond the array, a tile's launches compared with those of whole
// tiles (edges/products_beyond_the_array.jsonl): the copy engine fills rows outside with zeros, more slowly than it
// loads rows; columns outside cost nothing.
#include <map>
#include <string>
#include <tuple>

#include "tests/measured/row.hpp"

namespace test_edges {

using cli::Json;
using measured::number;

namespace {

struct Cycles {
  double measured = 0, predicted = 0;
};

/// Returns cycles by "TILE ROWS x COLUMNS".
std::map<std::string, Cycles> cycles() {
  std::map<std::string, Cycles> out;
  for (const Json& row : measured::rows_of("edges/products_beyond_the_array.jsonl")) {
    const std::string name = row["tile"]["a"].dump() + "x" + row["tile"]["c"].dump() + " " + row["shape"]["a"].dump() +
                             "x" + row["shape"]["c"].dump();
    out[name] = {number(row["measured"], "cycles"), number(measured::predicted(row), "cycles")};
  }
  return out;
}

}  // namespace

TEST_CASE("rows of tiles beyond the array cost a launch as much as is predicted; columns nothing") {
  const auto all = cycles();
  CHECK(all.size() == 13);
  for (const auto& [name, one] : all) {
    CAPTURE(name);
    CHECK(one.predicted == doctest::Approx(one.measured).epsilon(0.15));
  }
  // Cycles over those of whole tiles, with 64 and 128 rows of 192 outside, and 192 and 128 of 256.
  const auto over = [&](const std::string& ragged, const std::string& whole) {
    return Cycles{all.at(ragged).measured / all.at(whole).measured, all.at(ragged).predicted / all.at(whole).predicted};
  };
  for (const auto& [ragged, whole, least] : {std::tuple{"192x64 1088x1024", "192x64 960x1024", 1.1},
                                             {"192x64 1024x1024", "192x64 960x1024", 1.25},
                                             {"256x64 1152x1024", "256x64 1024x1024", 1.15},
                                             {"256x64 1088x1024", "256x64 1024x1024", 1.3}}) {
    CAPTURE(ragged);
    const Cycles more = over(ragged, whole);
    CHECK(more.measured > least);
    CHECK(more.predicted == doctest::Approx(more.measured).epsilon(0.08));
  }
  for (const char* columns : {"1024", "1088", "1152"}) {
    const Cycles more = over(std::string("64x192 1024x") + columns, "64x192 1024x960");
    CHECK(more.measured == doctest::Approx(1).epsilon(0.01));
    CHECK(more.predicted == doctest::Approx(1).epsilon(0.01));
  }
}

// The cost of a row of zeros is no constant of the SM: a few SMs fill rows while they wait anyway, many share a unit
// that fills 7 to 14 rows a clock for all of them. tma_row_outside was read from launches with 16 such SMs.
TEST_CASE("rows beyond the array cost nothing on 16 SMs, and 4 to 6 clocks each where 64 or more fill them") {
  // clocks of an iteration by columns of a tile, blocks and rows inside
  std::map<std::tuple<int, int, int>, double> clocks;
  for (const Json& row : measured::rows_of("edges_h100/zeros_by_sms.jsonl")) {
    const int c = row["tile"]["c"], b = row["tile"]["b"];
    clocks[{c, row["shape"]["c"].get<int>() / c, row["shape"]["a"]}] = number(row["measured"], "cycles") * b / 4096;
  }
  CHECK(clocks.size() == 56);
  for (const auto& [columns, boxes] : {std::pair{32, 2}, {64, 1}}) {  // boxes of A in an iteration
    CAPTURE(columns);
    for (const int sms : {1, 8, 16}) CHECK(clocks.at({columns, sms, 8}) < 1.02 * clocks.at({columns, sms, 64}));
    for (const int sms : {64, 96, 128}) {
      CAPTURE(sms);
      const double a_row = (clocks.at({columns, sms, 8}) - clocks.at({columns, sms, 40})) / (32 * boxes);
      CHECK(a_row > 3);
      CHECK(a_row < 6.5);
      const double filled = sms * 56 * boxes / clocks.at({columns, sms, 8});  // rows that all SMs fill a clock
      CHECK(filled > 7);
      CHECK(filled < 14);
    }
  }
}

}  // namespace test_edges
