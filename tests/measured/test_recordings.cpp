// Every folder of recorded rows that has a bounds.json is predicted with today's model, and its errors are within these
// bounds: "sweeps: the time of attention_sm90's held-out rows is at most 3.1 % off in the mean".

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "tests/measured/manifest.hpp"

namespace test_recordings {

namespace {

using cli::Json;
using measured::Manifest;

/// Returns true if larger is better: such a number may not fall below its bound, every other one may not exceed it.
bool is_floor(const std::string& key) {
  return key == "rows" || key == "sweeps" || key == "spearman" || key == "best_in_top3";
}

/// Returns the names of the numbers of `found` outside their bounds. A bound has the form of validate's --replay
/// --json.
std::vector<std::string> misses(const Json& bound, const Json& found, const std::string& name) {
  std::vector<std::string> out;
  for (const auto& [key, value] : bound.items()) {
    const std::string path = name + "." + key;
    if (!found.is_object() || !found.contains(key)) {
      out.push_back(path + " is missing");
    } else if (value.is_object()) {
      for (std::string& miss : misses(value, found[key], path)) out.push_back(std::move(miss));
    } else if (!found[key].is_number()) {
      out.push_back(path + " is no number");
    } else {
      const double is = found[key].get<double>(), limit = value.get<double>();
      if (is_floor(key) ? is < limit : is > limit)
        out.push_back(fmt::format("{} is {}, at {} {}", path, is, is_floor(key) ? "least" : "most", limit));
    }
  }
  return out;
}

Json replayed(const Manifest& manifest) {
  std::vector<std::string> words{"validate", "--json", "--replay"};
  for (const measured::Recording& one : manifest.files) words.push_back((measured::root / one.file).string());
  const auto run = cli::napkin(words);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return run.json();
}

}  // namespace

TEST_CASE("recorded rows hold their bounds") {
  int published = 0;
  for (const Manifest& manifest : measured::manifests()) {
    CAPTURE(manifest.folder);
    const auto path = measured::root / manifest.folder / "bounds.json";
    CHECK_MESSAGE((!manifest.published || exists(path)), "its replay is published, and nothing bounds it");
    if (!exists(path)) continue;
    published += manifest.published ? 1 : 0;
    const Json bounds = cli::parse(cli::contents(path.string()));
    CHECK_FALSE(bounds.empty());
    for (const std::string& miss : misses(bounds, replayed(manifest), manifest.folder)) FAIL_CHECK(miss);
  }
  CHECK(published == 2);
}

TEST_CASE("a replayed row has the time that query says, to the last digit") {
  const cli::Folder folder;
  std::string lines;
  int rows = 0;
  for (const char* file :
       {"sweeps/attention_sm90_rarely.jsonl", "sweeps/matmul_sm90.jsonl", "sweeps_sm80/attention_sm80.jsonl"}) {
    const std::vector<Json> recorded = measured::rows_of(file);
    for (std::size_t i = 0; i < recorded.size(); i += recorded.size() / 8) {
      Json row = recorded[i];
      row["measured"]["time"] = measured::predicted(row)["time"];
      row["measured"]["cycles"] = nullptr;
      row["sweep"] = nullptr;
      lines += row.dump() + "\n";
      ++rows;
    }
  }
  CHECK(rows >= 24);
  const auto run = cli::napkin({"validate", "--json", "--replay", folder.file("rows.jsonl", lines)});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  for (const auto& [kernel, splits] : run.json()["kernels"].items()) {
    for (const auto& [split, summary] : splits.items()) {
      CAPTURE(kernel);
      CHECK(summary["time_error"]["worst"].get<double>() == 0);
    }
  }
}

TEST_CASE("a number that misses its bound is seen") {
  const Json found = {{"regret", {{"mean", 0.02}, {"best_in_top3", 0.9}, {"worst", nullptr}}}};
  const auto of = [&](const Json& regret) { return misses({{"regret", regret}}, found, "replay"); };
  using Misses = std::vector<std::string>;
  CHECK(of({{"mean", 0.02}, {"best_in_top3", 0.9}}).empty());
  CHECK(of({{"mean", 0.019}}) == Misses{"replay.regret.mean is 0.02, at most 0.019"});
  CHECK(of({{"best_in_top3", 0.91}}) == Misses{"replay.regret.best_in_top3 is 0.9, at least 0.91"});
  CHECK(of({{"worst", 0.1}}) == Misses{"replay.regret.worst is no number"});
  CHECK(of({{"sweeps", 1}}) == Misses{"replay.regret.sweeps is missing"});
  CHECK(misses({{"kernels", {{"a", {{"rows", 1}}}}}}, found, "replay") == Misses{"replay.kernels is missing"});
}

}  // namespace test_recordings
