// Products whose last row or column of tiles reaches beyond the array, one tile's launches beside others of whole tiles
// (edges/products_beyond_the_array.jsonl): the copy engine fills rows outside with zeros, slower than it brings rows; columns outside cost
// nothing.
#include <map>
#include <sstream>
#include <string>
#include <tuple>

#include "tests/golden/cli.hpp"

namespace test_edges {

using namespace napkin;
using cli::Json;
using cli::pairs;

namespace {

const std::string file = NAPKIN_SOURCE_DIR "/tests/measured/edges/products_beyond_the_array.jsonl";

struct Cycles {
  double measured = 0, predicted = 0;
};

/// By "TILE ROWS x COLUMNS".
std::map<std::string, Cycles> cycles() {
  std::map<std::string, Cycles> out;
  std::istringstream lines(cli::contents(file));
  for (std::string line; std::getline(lines, line);) {
    const Json row = cli::parse(line);
    const auto run = cli::napkin({"query", "matmul", "--gpu", "h200-sxm", "--kernel", "matmul_sm90", "--json",
                                  "--shape", pairs(row["shape"]), "--tile", pairs(row["tile"])});
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const std::string name = row["tile"]["a"].dump() + "x" + row["tile"]["c"].dump() + " " + row["shape"]["a"].dump() +
                             "x" + row["shape"]["c"].dump();
    out[name] = {row["measured"]["cycles"].get<double>(), run.json()["predicted"]["cycles"].get<double>()};
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
  // Over whole tiles: the same, 64 and 128 rows of 192 outside; 192 and 128 of 256.
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

}  // namespace test_edges
