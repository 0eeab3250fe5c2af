// The model's errors at the published rows, over all, by GPU and by regime, are within bounds.json. No constant of the
// model is fitted to them.

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apps/report/record/published.hpp"
#include "tests/golden/cli.hpp"
#include "tests/published/published_rows.hpp"

namespace test_published_errors {

namespace {

using namespace napkin;
using namespace napkin::internal;
using cli::Json;
using published::answers;
using published::row_of;
using published::rows;

}  // namespace

TEST_CASE("every row is asked or has a reason, and none is counted twice") {
  const PublishedSummary summary = summarise(answers());
  const std::size_t asked = summary.all.rows + summary.backward.rows;
  std::size_t counted = asked;
  for (const NotAsked& one : summary.not_asked) {
    std::size_t groups = 0;
    for (const NotAsked::Group& group : one.of) groups += group.rows;
    CHECK(groups == one.rows);
    counted += one.rows;
  }
  CHECK(counted == rows().size());
  CHECK(summary.seen.rows + summary.aside.rows == summary.all.rows);
  std::size_t by_gpu = 0, by_kernel = 0, by_class = 0, both = 0;
  for (const PublishedGroup& one : summary.gpus) by_gpu += one.errors.rows;
  for (const PublishedGroup& one : summary.kernels) by_kernel += one.errors.rows;
  for (const PublishedClass& one : summary.classes) by_class += one.errors.rows;
  CHECK(by_gpu == summary.all.rows);
  for (const PublishedAnswer& answer : answers()) both += answer.asked() && answer.row().direction == "fwd+bwd" ? 1 : 0;
  CHECK(by_kernel == asked);
  CHECK(by_class == asked - both);  // an error of two kernels is of neither's class
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked()) continue;
    CAPTURE(answer.row().where);
    CHECK(answer.tflops > 0);
    CHECK(answer.roofline > 0);
    CHECK(answer.question.ask.gpu == answer.gpu);
  }
}

TEST_CASE("every asked row is of one regime, by its sizes") {
  const PublishedSummary summary = summarise(answers());
  std::size_t counted = 0;
  for (const PublishedRegime& regime : summary.regimes) {
    CAPTURE(regime.name);
    CHECK(regime.errors.rows > 0);
    CHECK(regime.repeated <= regime.errors.rows);
    std::size_t of_gpus = 0;
    for (const PublishedGroup& one : regime.gpus) of_gpus += one.errors.rows;
    CHECK(of_gpus == regime.errors.rows);
    counted += regime.errors.rows;
  }
  CHECK(counted == summary.all.rows + summary.backward.rows);
  CHECK(summary.regimes.back().errors.rows == summary.backward.rows);
  CHECK(summary.regimes.back().errors.mean == summary.backward.mean);
}

TEST_CASE("rows of two frameworks that ask one question say how far such times lie apart") {
  const auto asked = [](const std::string& second) {
    std::string text = row_of(R"("b": 4)");
    std::string other = text.substr(1, text.size() - 2);
    other.replace(other.find("62"), 2, "31"), other.replace(other.find("mine"), 4, second);
    text.insert(text.size() - 1, ", " + other);
    const std::vector<PublishedRow> two = report::parse_published(text, "two.json");
    const auto said = summarise(ask_published(two)).regimes;
    CHECK(said[2].name == "attention");
    CHECK(said[2].errors.rows == 2);
    return std::pair(said[2].repeated, said[2].noise);
  };
  CHECK(asked("mine") == std::pair<std::size_t, double>(0, 0));  // one source's own two rows
  const auto [rows, noise] = asked("another's");
  CHECK(rows == 2);
  const double apart = std::sqrt(2.0);  // error of two times whose ratio is two
  CHECK(noise == doctest::Approx((apart - 1 + 1 - 1 / apart) / 2));
}

TEST_CASE("the errors are those of bounds.json, which script/accuracy writes: none worse, none fewer") {
  const Json bounds = cli::parse(cli::contents(NAPKIN_SOURCE_DIR "/tests/published/bounds.json"));
  const PublishedSummary summary = summarise(answers());
  constexpr double slack = 0.001;  // tolerance, since machines differ in their arithmetic
  const auto hold = [&](const PublishedErrors& errors, const Json& bound) {
    CHECK(errors.rows >= bound["rows"].get<std::size_t>());
    CHECK(errors.mean <= bound["mean"].get<double>() + slack);
    CHECK(errors.median <= bound["median"].get<double>() + slack);
    CHECK(std::abs(errors.bias) <= std::abs(bound["bias"].get<double>()) + slack);
  };
  hold(summary.all, bounds["all"]);
  hold(summary.aside, bounds["aside"]);
  hold(summary.backward, bounds["backward"]);
  CHECK(summary.regimes.size() == bounds["regimes"].size());
  for (const PublishedRegime& regime : summary.regimes) {
    CAPTURE(regime.name);
    hold(regime.errors, bounds["regimes"].at(regime.name));
  }
  CHECK(summary.all.gpus >= bounds["all"]["gpus"].get<std::size_t>());
  std::map<std::string, PublishedErrors> gpus;
  for (const PublishedGroup& one : summary.gpus) gpus[one.gpu] = one.errors;
  for (const auto& bound : bounds["gpus"].items()) {
    CAPTURE(bound.key());
    REQUIRE(gpus.count(bound.key()) == 1);
    hold(gpus[bound.key()], bound.value());
  }
}

}  // namespace test_published_errors
