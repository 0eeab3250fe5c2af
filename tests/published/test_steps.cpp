// Steps of models compared with published times: the table of docs/steps.md, line by line.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "napkin/napkin.hpp"

namespace test_published_steps {

using namespace napkin;

namespace {

std::string contents(const std::string& path) {
  std::ifstream in(std::string(NAPKIN_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

StepAnswer asked(const nlohmann::json& row) {
  StepAsk ask;
  ask.step = row["step"];
  ask.gpu = row["gpu"];
  ask.shape = parse_shape(row["shape"].get<std::string>());
  ask.dtype = row["dtype"];
  ask.issue = row["issue"] == "graph" ? Issue::graph : Issue::stream;
  if (row.contains("power")) ask.conditions.limit = row["power"].get<double>();
  return napkin::step(ask);
}

}  // namespace

TEST_CASE("docs/steps.md has every published step with today's prediction and its error") {
  const nlohmann::json file = nlohmann::json::parse(contents("tests/published/steps.json"));
  const std::string page = contents("docs/steps.md");
  std::string table = "| source | ran | GPU | tokens/s | predicted | error |\n|---|---|---|---|---|---|\n";
  double sum = 0;
  for (const auto& row : file["rows"]) {
    REQUIRE(file["sources"].contains(row["source"].get<std::string>()));
    const StepAnswer answer = asked(row);
    REQUIRE(answer.found);
    const double measured = row["tokens_per_second"], error = answer.tokens_per_second / measured - 1;
    sum += std::abs(error);
    table += fmt::format("| {} | {} | {} | {:.1f} | {:.1f} | {:+.0f} % |\n", row["source"].get<std::string>(),
                         row["run"].get<std::string>(), row["gpu"].get<std::string>(), measured,
                         answer.tokens_per_second, 100 * error);
    CHECK(std::abs(error) < 0.52);
  }
  table +=
      fmt::format("\nMean of the errors' sizes: {:.0f} %.\n", 100 * sum / static_cast<double>(file["rows"].size()));
  CHECK_MESSAGE(page.find("<!-- steps -->\n" + table + "<!-- /steps -->") != std::string::npos,
                "docs/steps.md should have\n"
                    << table);
}

}  // namespace test_published_steps
