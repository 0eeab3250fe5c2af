// napkin need compared with changed profiles: one with the needed number reaches the target, and one with a hundredth
// less does not.
#include <algorithm>
#include <cstddef>
#include <regex>
#include <string>

#include "tests/golden/cli.hpp"

namespace test_cli_need {

using cli::check_refused;
using cli::Folder;
using cli::Json;
using cli::napkin;

namespace {

const Json& row_of(const Json& json, const std::string& name) {
  for (const Json& row : json["needs"]) {
    if (row["name"] == name) return row;
  }
  FAIL("no row " << name);
  return json;
}

/// Returns the time of the kernel's fastest tile on an H200 in whose profile the number at the pattern is replaced.
double time_with(const std::string& question, const std::string& kernel, const std::string& pattern,
                 const std::string& value) {
  const Folder folder;
  const std::string own = std::string(NAPKIN_SOURCE_DIR) + "/hardware_profiles/h200-sxm.yaml";
  const std::string profile = cli::contents(own);
  const std::string changed = std::regex_replace(profile, std::regex(pattern), "$01" + value + "$02");
  REQUIRE(changed != profile);
  const std::string path =
      folder.file("h200-changed.yaml", std::regex_replace(changed, std::regex("name: h200-sxm"), "name: h200-changed"));
  return cli::answer("query " + question + " --gpu " + path + " --kernel " + kernel)["predicted"]["time"];
}

}  // namespace

TEST_CASE("what is needed reaches the target, and a hundredth less does not") {
  struct Case {
    std::string question, name, pattern;
    double faster;
    bool whole;
  };
  const std::string prefill = "attention --shape h=16,q=4096,x=4096,d=128";
  const std::string decode = "attention --shape b=32,h=8,g=4,q=1,x=4096,d=128";
  const Case cases[] = {
      {prefill, "power.limit", "(limit: \\{value: )700(,)", 0.95, false},
      {decode, "pipes.device.bandwidth", "(measured: \\{value: )[0-9.]+(, unit: GB/s)", 0.98, false},
      {prefill, "levels.shared.per_parent", "(per_parent: \\{value: )132(,)", 0.97, true},
  };
  for (const Case& one : cases) {
    CAPTURE(one.name);
    const Json today = cli::answer("query " + one.question + " --gpu h200-sxm");
    const double target = one.faster * today["predicted"]["time"].get<double>();
    const Json json = cli::answer("need " + one.question + " --gpu h200-sxm --time " + std::to_string(1e6 * target) +
                                  "us --of " + one.name);
    CHECK(json["met"] == false);
    const Json& row = row_of(json, one.name);
    REQUIRE(row["reached"] == true);
    CHECK(row["upward"] == true);
    CHECK(row["got"].get<double>() <= target);
    const double needed = row["needed"];
    CHECK(needed > row["value"].get<double>());
    const double less = one.whole ? needed - 1 : needed * 0.99;
    const auto text = [&](double value) {
      return one.whole ? std::to_string(static_cast<int>(value)) : std::to_string(value);
    };
    const std::string kernel = json["kernel"];
    CHECK(time_with(one.question, kernel, one.pattern, text(needed * (one.whole ? 1 : 1 + 1e-5))) <=
          target * (1 + 1e-6));
    CHECK(time_with(one.question, kernel, one.pattern, text(less)) > target);
  }
}

TEST_CASE("a harder target needs no less, an easy one is met and says with how little") {
  const std::string question =
      "need attention --gpu h200-sxm --shape h=16,q=4096,x=4096,d=128 --of power.limit --tflops ";
  double before = 0;
  for (const int tflops : {600, 640, 680, 720}) {
    const Json json = cli::answer(question + std::to_string(tflops));
    const Json& row = row_of(json, "power.limit");
    REQUIRE(row["reached"] == true);
    CHECK(row["needed"].get<double>() > before);
    before = row["needed"];
    CHECK(row["got"].get<double>() >= 1e12 * tflops);
    CHECK(json["met"].get<bool>() == (row["needed"].get<double>() <= 700));
  }
}

TEST_CASE("what nothing alone reaches is said, with exit 1; several together along a line") {
  const auto run = napkin(
      "need matmul --gpu h200-sxm --shape a=4096,b=4096,c=4096 --time 1us --of power.limit,levels.shared.per_parent");
  CHECK(run.code == 1);
  CHECK(run.err == "no number alone reaches it\n");
  CHECK(run.out.find("not reached") != std::string::npos);
  const Json json = cli::answer(
      "need attention --gpu h200-sxm --shape h=16,q=4096,x=4096,d=128 --tflops 700 --of power.limit --line "
      "power.limit,levels.shared.per_parent");
  const Json& points = json["line"]["points"];
  REQUIRE(points.size() == 5);
  CHECK(points[2]["need"]["needed"] == row_of(json, "power.limit")["needed"]);
  CHECK(points[4]["along"] == 264);
  if (points[4]["need"]["reached"].get<bool>())
    CHECK(points[4]["need"]["needed"].get<double>() < points[2]["need"]["needed"].get<double>());
}

TEST_CASE("an energy that neither a high nor a low limit reaches is found between them, and said so") {
  const std::string question = " matmul --gpu h200-sxm --shape a=4096,b=4096,c=4096";
  const Json json = cli::answer("need" + question + " --joules 0.11 --of power.limit");
  const Json& row = row_of(json, "power.limit");
  REQUIRE(row["reached"] == true);
  CHECK(row["upward"] == false);
  CHECK(row["needed"].get<double>() < 700);
  CHECK(row["got"].get<double>() == doctest::Approx(0.11).epsilon(1e-4));
  CHECK(row["why"].get<std::string>().find("not monotone") == 0);
}

TEST_CASE("the first lines answer: the target, today, and what reaches it") {
  const std::string asked = "need attention --gpu h200-sxm --shape h=16,q=4096,x=4096,d=128 --of power.limit ";
  const std::string text = cli::napkin(asked + "--tflops 700").out;
  const std::string needed = text.substr(text.find("\nneeded") + 1);
  CHECK(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("\nneeded")), '\n') == 2);
  CHECK(needed.starts_with("needed     power.limit at least "));
  CHECK(text.find("\nkernel") > text.find("\nneeded"));
  CHECK(cli::napkin(asked + "--time 1us").out.find("needed     no number alone reaches it") != std::string::npos);
}

TEST_CASE("bad input of needs") {
  const std::string need = "need matmul --gpu h200-sxm --shape a=512,b=512,c=512 ";
  check_refused(napkin(need), "--time: is missing");
  check_refused(napkin(need + "--time 5us --tflops 3"), "stands beside another target");
  check_refused(napkin(need + "--time 5"), "a time with its unit");
  check_refused(napkin(need + "--time us"), "--time");
  check_refused(napkin(need + "--time -5us"), "--time");
  check_refused(napkin(need + "--tflops 0"), "--tflops");
  check_refused(napkin(need + "--time 5us --of power.limits"), "did you mean 'power.limit'");
  check_refused(napkin(need + "--time 5us --line power.limit"), "--line: names 1 numbers");
  check_refused(napkin(need + "--time 5us --of power.limit --line power.limit,power.limit"), "twice");
  check_refused(napkin(need + "--time 5us --line power.limit,nothing"), "is no number");
  check_refused(napkin("need matmul --shape a=512,b=512,c=512 --time 5us"), "--gpu");
  check_refused(napkin("need matmul --gpu ascend-950pr --dtype f16 --shape a=512,b=512,c=512 --joules 1"),
                "no energies");
}

}  // namespace test_cli_need
