// napkin sensitivity from the command line, compared with profiles in which the number is changed by hand, and checked
// by a law (time scales with the units of all numbers).
#include <cmath>
#include <regex>

#include "tests/golden/cli.hpp"

namespace test_cli_sensitivity {

namespace {

using cli::Folder;
using cli::Json;
using cli::napkin;

const std::string shape = " --shape h=16,q=4096,x=4096,d=128";
const std::string tile =
    " --kernel attention_sm90 --tile warpgroups=2,g=1,q=128,x=128,p_in=registers,overlap=on,stages=2,q_stages=2,"
    "pingpong=on,cluster=1,order=persistent,rescale=rarely";

/// Returns the elasticity of a number by name; 0 if it has no effect.
double elasticity(const Json& json, const std::string& name) {
  for (const Json& row : json["sensitivities"]) {
    if (row["name"] == name) return row["elasticity"];
  }
  return 0;
}

Json sensitivities(const std::string& question) {
  const auto run = napkin("sensitivity attention" + question + " --json");
  REQUIRE(run.code == 0);
  return run.json();
}

}  // namespace

TEST_CASE("the elasticity of a number is what a changed profile says") {
  const Folder folder;
  const Json json = sensitivities(" --gpu h200-sxm" + shape + tile);
  const auto time_with = [&](const std::string& limit) {
    const std::string profile = cli::contents(std::string(NAPKIN_SOURCE_DIR) + "/hardware_profiles/h200-sxm.yaml");
    const std::string path = folder.file(
        "h200-changed.yaml", std::regex_replace(std::regex_replace(profile, std::regex("limit: \\{value: 700,"),
                                                                   "limit: {value: " + limit + ","),
                                                std::regex("name: h200-sxm"), "name: h200-changed"));
    const auto run = napkin("query attention --gpu " + path + shape + tile + " --json");
    REQUIRE(run.code == 0);
    return run.json()["predicted"]["time"].get<double>();
  };
  const double twin = std::log(time_with("707") / time_with("693")) / std::log(707.0 / 693.0);
  CHECK(twin < -0.1);
  CHECK(elasticity(json, "power.limit") == doctest::Approx(twin).epsilon(1e-6));
}

TEST_CASE("rows are sorted, have effects and say what limits next") {
  const Json json = sensitivities(" --gpu h200-sxm" + shape + tile);
  double before = 1e9;
  bool next = false;
  for (const Json& row : json["sensitivities"]) {
    const double size = std::abs(row["elasticity"].get<double>());
    CHECK(size <= before);
    CHECK(size > 0);
    before = size;
    if (row["next"].is_null()) continue;
    next = true;
    CHECK(row["next"]["factor"].get<double>() > 1);
    CHECK(row["next"]["bound"] != json["predicted"]["bound"]);
  }
  CHECK(next);
  CHECK(json["numbers"].get<int>() > 100);
}

TEST_CASE("where one pipe is all that counts, its number has all of the effect") {
  // One query of each head against many keys: the abstract bound is reading K and V from device memory.
  const Json json = sensitivities(" --gpu v100-sxm2 --shape h=2048,q=1,x=16384,d=128 --dtype f16");
  REQUIRE(json["predicted"]["bound"] == "device");
  CHECK(elasticity(json, "pipes.device.bandwidth") == doctest::Approx(-1).epsilon(0.02));
}

TEST_CASE("the chart is written whole; what has no clock is refused") {
  const Folder folder;
  const auto run = napkin("sensitivity attention --gpu h200-sxm" + shape + tile + " --svg " + folder / "s.svg");
  REQUIRE(run.code == 0);
  CHECK(run.out.find("power.limit") != std::string::npos);
  const auto rows = [](const std::string& text) {
    const std::regex one("[+-][0-9]\\.[0-9]{3} +(twice|half) ");
    return std::distance(std::sregex_iterator(text.begin(), text.end(), one), std::sregex_iterator());
  };
  CHECK(rows(run.out) == 10);
  CHECK(run.out.find(" more, with less effect: --explain)") != std::string::npos);
  CHECK(rows(napkin("sensitivity attention --explain --gpu h200-sxm" + shape + tile).out) > 10);
  const std::string svg = cli::contents(folder / "s.svg");
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  cli::check_refused(napkin("sensitivity attention --shape q=64,x=64,d=64"), "--gpu");
}

}  // namespace test_cli_sensitivity
