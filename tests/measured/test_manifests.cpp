// Every recorded file is listed in its folder's manifest, manifests agree with the rows, README.md's index is made from
// the manifests, and recordings whose kernel has changed since are listed.

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "apps/report/record/shared.hpp"
#include "kernels/jit/source.hpp"
#include "model/base/error.hpp"
#include "tests/measured/manifest.hpp"

namespace test_manifests {

namespace {

using cli::Json;
using measured::Manifest;
using measured::Recording;

using Problems = std::vector<std::string>;
using Values = std::set<std::string>;

Values values(const std::vector<Json>& rows, const char* key) {
  Values out;
  for (const Json& row : rows) {
    if (row.contains(key)) out.insert(row[key].is_string() ? row[key].get<std::string>() : row[key].dump());
  }
  return out;
}

/// Returns the numbers with which sweeps' names end: "... seed=61".
Values seeds_of(const std::vector<Json>& rows) {
  Values out;
  for (const std::string& sweep : values(rows, "sweep")) {
    const std::size_t at = sweep.rfind("seed=");
    if (at != std::string::npos) out.insert(sweep.substr(at + 5));
  }
  return out;
}

Values set_of(const std::vector<std::string>& words) { return {words.begin(), words.end()}; }

void compare(Problems& out, const std::string& what, const Values& said, const Values& found) {
  if (said != found)
    out.push_back(
        fmt::format("{}: the manifest says '{}', the rows '{}'", what, fmt::join(said, ", "), fmt::join(found, ", ")));
}

/// Returns the statements of the manifest that the rows contradict. Keys that no row has are not checked.
Problems problems_of(const Manifest& manifest, const Recording& recording, const std::vector<Json>& rows) {
  Problems out;
  if (rows.size() != recording.rows)
    out.push_back(fmt::format("rows: the manifest says {}, the file has {}", recording.rows, rows.size()));
  for (const auto& [key, value] : manifest.every_row) {
    const Values found = values(rows, key.c_str());
    if (!found.empty()) compare(out, key, {value}, found);
  }
  const Values dates = values(rows, "date");
  // A row shares the date of the first one of its kind: the last date of the manifest may be that of a later row.
  if (!dates.empty() && (*dates.begin() != recording.when.front() || *dates.rbegin() > recording.when.back()))
    out.push_back(fmt::format("when: the manifest says {}, the rows {} to {}", fmt::join(recording.when, " to "),
                              *dates.begin(), *dates.rbegin()));
  const Values revisions = values(rows, "revision");
  if (!revisions.empty()) compare(out, "revision", set_of(recording.revision), revisions);
  compare(out, "seed", set_of(recording.seed), seeds_of(rows));
  compare(out, "split", set_of(recording.split), values(rows, "split"));
  const bool ran_kernels = !values(rows, "kernel").empty() && values(rows, "compiler").empty();
  if (ran_kernels && recording.sources.empty()) out.emplace_back("sources: rows name a kernel, the manifest none");
  for (const Json& row : rows) {
    if (!row.contains("source_hash")) continue;
    const auto ran = [&](const measured::RecordedSources& one) {
      return (!row.contains("kernel") || row["kernel"] == one.kernel) &&
             std::find(one.hashes.begin(), one.hashes.end(), row["source_hash"].get<std::string>()) != one.hashes.end();
    };
    if (std::none_of(recording.sources.begin(), recording.sources.end(), ran))
      out.emplace_back("sources: the manifest does not say the source_hash that a row has");
  }
  std::size_t with_prediction = 0;
  for (const Json& row : rows) {
    if (row.contains("levels")) out.emplace_back("levels: a replay computes them (strip.py)");
    with_prediction += row.contains("predicted") ? 1 : 0;
  }
  if (with_prediction != (manifest.predicted_before_run ? rows.size() : 0))
    out.push_back(fmt::format("predicted: {} of {} rows have one", with_prediction, rows.size()));
  return out;
}

using SameCode = std::map<std::string, std::vector<std::string>>;

/// Returns true if only kernels of that hash, or with the same machine code, ran.
bool is_todays(const measured::RecordedSources& recorded, const std::string& today, const SameCode& same) {
  const auto found = same.find(recorded.kernel);
  const auto has = [&](const std::string& one) {
    return found != same.end() && std::find(found->second.begin(), found->second.end(), one) != found->second.end();
  };
  const auto equals = [&](const std::string& hash) { return hash == today || (has(hash) && has(today)); };
  return !recorded.hashes.empty() && std::all_of(recorded.hashes.begin(), recorded.hashes.end(), equals);
}

/// Writes the index: a line for each folder and for each file.
std::string index_of(const std::vector<Manifest>& all) {
  std::string out = "| file | rows | when | split | what |\n|---|---|---|---|---|\n";
  for (const Manifest& manifest : all) {
    out += fmt::format("| **{}** | | | | {}{} |\n", manifest.folder, manifest.what,
                       manifest.published ? " `replay: published`" : "");
    for (const Recording& one : manifest.files) {
      const std::string day = one.when.front().substr(0, 10), last = one.when.back().substr(0, 10);
      out += fmt::format("| {} | {} | {} | {} | {} |\n", one.file.substr(one.file.find('/') + 1), one.rows,
                         day == last ? day : day + " to " + last.substr(8), fmt::join(one.split, ", "), one.what);
    }
  }
  return out;
}

const std::string begin_mark =
                      "<!-- index of the manifests: NAPKIN_WRITE_INDEX=1 build/tests/napkin_measured writes it -->\n",
                  end_mark = "<!-- end of the index -->\n";

}  // namespace

TEST_CASE("every recorded file stands in the manifest of its folder, and nothing else does") {
  std::set<std::string> found, said;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(measured::root)) {
    if (entry.path().extension() == ".jsonl") found.insert(relative(entry.path(), measured::root).string());
  }
  for (const Manifest& manifest : measured::manifests()) {
    for (const Recording& one : manifest.files) said.insert(one.file);
  }
  CHECK(said == found);
}

TEST_CASE("a folder is read by the tests that its manifest names") {
  for (const Manifest& manifest : measured::manifests()) {
    CAPTURE(manifest.folder);
    CHECK_FALSE(manifest.tests.empty());
    for (const std::string& test : manifest.tests) {
      const std::string text = cli::contents((measured::root / test).string());
      const bool by_name = text.find("\"" + manifest.folder + "/") != std::string::npos ||
                           text.find("/measured/" + manifest.folder) != std::string::npos,
                 by_bounds = test == "test_recordings.cpp" && exists(measured::root / manifest.folder / "bounds.json");
      CHECK_MESSAGE((by_name || by_bounds), test);
    }
  }
}

// strip.py moves what rows share into the manifest: a row that still has a card, a driver or a revision is in a file
// that was not stripped.
TEST_CASE("no row says for itself where it comes from") {
  for (const Manifest& manifest : measured::manifests()) {
    for (const Recording& one : manifest.files) {
      std::istringstream lines(cli::contents((measured::root / one.file).string()));
      for (std::string line; std::getline(lines, line);) {
        for (const char* key : {"device", "driver", "cuda", "compiler", "date", "revision", "source_hash"}) {
          const Json row = cli::parse(line);
          if (row.contains(key) && !row[key].is_null()) FAIL_CHECK(one.file << ": " << key << " in " << line);
        }
      }
    }
  }
}

TEST_CASE("a shared member is a row's until another is said, and its own wins") {
  Json shared;
  const auto whole = [&](const char* line) {
    Json row = cli::parse(line);
    return napkin::internal::report::complete_row(row, shared, "rows.jsonl:1") ? row : Json();
  };
  CHECK(whole(R"({"shared": {"device": "a", "sweep": "s", "shape": {"q": 1, "x": 2}}})").is_null());
  CHECK(whole(R"({"time": 1})") ==
        cli::parse(R"({"device": "a", "sweep": "s", "shape": {"q": 1, "x": 2}, "time": 1})"));
  CHECK(whole(R"({"time": 1, "sweep": null})")["sweep"].is_null());
  CHECK(whole(R"({"shared": {"device": "b", "sweep": null, "shape": {"q": 3}}})").is_null());
  CHECK(whole(R"({"time": 2})") == cli::parse(R"({"device": "b", "shape": {"q": 3}, "time": 2})"));
  CHECK_THROWS_AS(whole(R"({"shared": {}, "time": 2})"), napkin::Error);
  CHECK_THROWS_AS(whole(R"({"shared": 3})"), napkin::Error);
  CHECK_THROWS_AS(whole("[]"), napkin::Error);
}

TEST_CASE("what the manifests say agrees with every row") {
  for (const Manifest& manifest : measured::manifests()) {
    for (const Recording& one : manifest.files) {
      for (const std::string& problem : problems_of(manifest, one, measured::rows_of(one.file)))
        FAIL_CHECK(one.file << ": " << problem);
    }
  }
}

// Only a GPU can make a new recording: a stale one is reported, and is a failure only if its manifest claims that it is
// fresh.
TEST_CASE("a recording whose kernel has changed since is named, and none claims to be fresh that is not") {
  const SameCode same = measured::same_machine_code();
  for (const Manifest& manifest : measured::manifests()) {
    for (const Recording& one : manifest.files) {
      CAPTURE(one.file);
      if (Values{"correctness", "counters", "speed"}.contains(manifest.folder)) CHECK_FALSE(one.sources.empty());
      for (const measured::RecordedSources& recorded : one.sources) {
        const bool todays = is_todays(recorded, napkin::internal::kernel_source_hash(recorded.kernel), same);
        CHECK_MESSAGE((todays || !recorded.fresh),
                      recorded.kernel << " has changed since " << recorded.revision
                                      << ": record anew, say fresh: false, or show that the machine code is the same "
                                         "(machine_code/manifest.yaml)");
        if (todays) continue;
        const std::string then = recorded.hashes.empty() ? recorded.revision + ", its source is not known"
                                                         : "at " + recorded.revision + ", the kernel has changed since";
        std::printf("STALE: tests/measured/%s: %s was recorded %s\n", one.file.c_str(), recorded.kernel.c_str(),
                    then.c_str());
      }
    }
  }
}

TEST_CASE("a changed kernel is seen") {
  const SameCode same{{"attention_sm90", {"one", "formatted"}}};
  measured::RecordedSources recorded{"attention_sm90", {"one"}, "2453d1a", true};
  CHECK(is_todays(recorded, "one", {}));
  CHECK_FALSE(is_todays(recorded, "two", same));
  CHECK_FALSE(is_todays(recorded, "formatted", {}));
  CHECK(is_todays(recorded, "formatted", same));
  recorded.kernel = "attention_sm80";
  CHECK_FALSE(is_todays(recorded, "formatted", same));
  recorded.hashes = {"one", "two"};
  CHECK_FALSE(is_todays(recorded, "one", same));
  recorded.hashes.clear();
  CHECK_FALSE(is_todays(recorded, "one", same));
}

TEST_CASE("a row that the manifest contradicts is seen") {
  const Manifest manifest = measured::read_manifest(measured::root / "sweeps");
  const Recording& one = manifest.files.front();
  const std::vector<Json> rows = measured::rows_of(one.file);
  REQUIRE(problems_of(manifest, one, rows).empty());
  for (const auto& [key, value] : std::map<std::string, Json>{{"driver", "581.00"},
                                                              {"device", "NVIDIA H100"},
                                                              {"cuda", "12.9"},
                                                              {"date", "2027-01-01T00:00:00Z"},
                                                              {"revision", "0000000"},
                                                              {"sweep", "of another day seed=7"},
                                                              {"split", "some"},
                                                              {"source_hash", "0000"},
                                                              {"levels", Json::array()},
                                                              {"predicted", Json::object()}}) {
    CAPTURE(key);
    std::vector<Json> spoiled = rows;
    spoiled[spoiled.size() / 2][key] = value;
    CHECK(problems_of(manifest, one, spoiled).size() == 1);
  }
  CHECK(problems_of(manifest, one, {rows.begin(), rows.end() - 1}).size() >= 1);
}

TEST_CASE("README's index is what the manifests say") {
  const std::string path = (measured::root / "README.md").string(), readme = cli::contents(path);
  const std::size_t begin = readme.find(begin_mark), end = readme.find(end_mark);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end > begin);
  const std::string index = index_of(measured::manifests());
  const std::size_t from = begin + begin_mark.size();
  if (std::getenv("NAPKIN_WRITE_INDEX") != nullptr)
    std::ofstream(path, std::ios::binary) << readme.substr(0, from) << index << readme.substr(end);
  else
    CHECK_MESSAGE(readme.substr(from, end - from) == index, "run NAPKIN_WRITE_INDEX=1 build/tests/napkin_measured");
}

}  // namespace test_manifests
