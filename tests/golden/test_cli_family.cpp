// napkin select along a range of sizes: its pieces compared with a selection at every size.

#include <algorithm>
#include <map>

#include "napkin/napkin.hpp"
#include "tests/golden/cli.hpp"

namespace test_cli_family {

using cli::check_refused;
using cli::Json;

namespace {

std::string question(const std::string& q, const std::string& x) {
  return "select attention --gpu h200-sxm --shape h=16,q=" + q + ",x=" + x + ",d=128 --bundled --json";
}

}  // namespace

TEST_CASE("each piece's tile is within 1 % of the best at each of its sizes, and loses what it says") {
  const auto run = cli::napkin(question("1000..2304:256", "1000..2304:256"));
  REQUIRE(run.code == 0);
  CHECK(run.err.empty());
  const Json family = run.json();
  const std::vector<std::int64_t> grid{1000, 1024, 1280, 1536, 1792, 2048, 2304};
  CHECK(family["points"] == grid.size());
  CHECK(family["shape"]["q"] == Json({{"from", 1000}, {"to", 2304}, {"step", 256}}));
  const auto time_of = [](std::int64_t size, const Json& tile) {
    const std::string shape = std::to_string(size);
    const Json one = cli::napkin("query attention --gpu h200-sxm --shape h=16,q=" + shape + ",x=" + shape +
                                 ",d=128 --kernel attention_sm90 --json --tile " + cli::pairs(tile))
                         .json();
    CHECK(one["legal"] == true);
    return one["predicted"]["time"].get<double>();
  };
  std::map<std::int64_t, double> best;
  for (const std::int64_t size : grid) {
    const Json one = cli::napkin(question(std::to_string(size), std::to_string(size))).json();
    best[size] = one["predicted"]["time"];
  }
  std::size_t at = 0;
  for (const Json& piece : family["breakpoints"]) {
    REQUIRE(at < grid.size());
    CHECK(piece["shape"] == Json({{"q", grid[at]}, {"x", grid[at]}}));
    const std::int64_t until = piece["until"]["q"];
    double loss = 0;
    for (; at < grid.size() && grid[at] <= until; ++at) {
      CAPTURE(grid[at]);
      const double time = time_of(grid[at], piece["tile"]);
      loss = std::max(loss, time / best[grid[at]] - 1);
      if (piece["shape"]["q"] == grid[at]) CHECK(piece["predicted"]["time"] == doctest::Approx(time).epsilon(1e-12));
      if (until == grid[at]) CHECK(piece["predicted_until"]["time"] == doctest::Approx(time).epsilon(1e-12));
    }
    CHECK(loss <= 0.01);
    CHECK(piece["loss"].get<double>() == doctest::Approx(loss).epsilon(1e-9));
  }
  CHECK(at == grid.size());
  // A single tile for the whole range, and the few tiles that lose less.
  const Json& whole = family["default"];
  REQUIRE(whole.is_object());
  double worst = 0, mean = 0;
  for (const std::int64_t size : grid) {
    const double lost = time_of(size, whole["tile"]) / best[size] - 1;
    worst = std::max(worst, lost);
    mean += lost / static_cast<double>(grid.size());
  }
  CHECK(whole["loss"].get<double>() == doctest::Approx(worst).epsilon(1e-9));
  CHECK(whole["mean_loss"].get<double>() == doctest::Approx(mean).epsilon(1e-9));
  std::size_t before = family["breakpoints"].size();
  CHECK(family["pieces"][0] == Json({{"within", 0.01}, {"pieces", before}}));
  for (const Json& one : family["pieces"]) {
    CHECK(one["pieces"] <= before);
    before = one["pieces"];
  }
}

TEST_CASE("ranges end at once where no size of them can be") {
  cli::check_refused(cli::napkin("select attention --gpu h200-sxm --shape q=1..9223372036854775807,x=1,d=64"),
                     "64 bits");
  CHECK(napkin::parse_family("q=1..9223372036854775807,x=1").range.points().size() < 40);
  CHECK(napkin::parse_family("q=9223372036854775806..9223372036854775807:2,x=1").range.points() ==
        std::vector<std::int64_t>{9223372036854775806, 9223372036854775807});
}

TEST_CASE("a family by the library: every size of the grid once, where sizes choose the kernel too") {
  const napkin::ShapeFamily family = napkin::parse_family("h=4,q=512,x=512,d=64..128:32");
  CHECK(family.range.points() == std::vector<std::int64_t>{64, 96, 128});
  CHECK(family.at(96) == napkin::NamedSizes{{"h", 4}, {"q", 512}, {"x", 512}, {"d", 96}});
  napkin::Ask ask;
  ask.algorithm = "attention";
  ask.gpu = "h200-sxm";
  ask.bundled = true;
  const napkin::FamilyAnswer answer = napkin::select_family(ask, family);
  CHECK(answer.points == 3);
  REQUIRE(!answer.picks.empty());
  CHECK(answer.picks.front().from == 64);
  CHECK(answer.picks.back().to == 128);
  for (const napkin::FamilyPick& pick : answer.picks) {
    ask.shape = family.at(pick.from);
    const auto one = napkin::select(ask, 1);
    CHECK(pick.predicted_from->time <= one->predicted->time * 1.01);
  }
  CHECK(napkin::parse_family("q=512..16384,x=1").range.step == 512);
  CHECK(napkin::parse_family("q=1..1").range.points() == std::vector<std::int64_t>{1});
}

TEST_CASE("text: the grid, the first tile in full, then what changes") {
  const auto run = cli::napkin("select attention --gpu h200-sxm --shape h=16,q=1024..2048,x=1024..2048,d=128 --causal");
  REQUIRE(run.code == 0);
  for (const char* part : {"q=1024..2048", "17 sizes", "multiples of 64", "causal", "q,x from",
                           "warpgroups=", "within 1 % of the", "one tile", "loses"}) {
    CAPTURE(std::string(part));
    CHECK(run.out.find(part) != std::string::npos);
  }
}

TEST_CASE("a range that cannot be is refused in one message, and so is one where a single shape is asked for") {
  const std::string select = "select attention --gpu h200-sxm --shape h=16,d=128,";
  struct Bad {
    std::string line;
    const char* says;
  };
  for (const Bad& bad :
       {Bad{select + "x=64,q=16384..512", "runs backward: 512..16384"},
        {select + "x=64,q=1..", "LOW..HIGH"},
        {select + "x=64,q=..1", "LOW..HIGH"},
        {select + "x=64,q=1..8:", "LOW..HIGH:STEP"},
        {select + "x=64,q=1..8:0", "q's step is 0"},
        {select + "x=64,q=0..8", "q's lower end is 0"},
        {select + "x=64,q=1..b", "q's upper end is 'b'"},
        {select + "q=1..8,x=1..9", "q and x have different ranges"},
        {select + "x=64,q=1..100000:1", "more than 4096 sizes"},
        {select + "x=64,q=1..8,q=3", "given twice"},
        {select + "x=64,z=1..8,q=3", "no axis 'z'"},
        {select + "x=64,q=64..128 --top 3", "--top: stands beside a range"},
        {select + "x=64,q=64..128 --emit json", "--emit: stands beside a range"},
        {"query attention --gpu h200-sxm --shape q=64..128,x=64,d=64", "napkin select alone takes a range"},
        {"timeline attention --gpu h200-sxm --shape q=64..128,x=64,d=64", "napkin select alone"},
        {"compare attention --gpus h200-sxm --shape q=64..128,x=64,d=64", "napkin select alone"}}) {
    CAPTURE(bad.line);
    check_refused(cli::napkin(bad.line), bad.says);
  }
}

}  // namespace test_cli_family
