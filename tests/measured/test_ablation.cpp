// Each term of the clock can be switched off alone and changes a prediction, in a sample of the recorded rows.
// run_ablation prints the whole table (docs/ablation.md).

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apps/library/judge/ablation.hpp"
#include "apps/report/record/record.hpp"
#include "model/machine/load.hpp"

namespace test_ablation {

namespace {

using namespace napkin;
using namespace napkin::internal;

const std::string folder = NAPKIN_SOURCE_DIR "/tests/measured/";

Machine h200() { return load_machine("h200-sxm", "gpu"); }

/// Returns rows of every recording, at equal distances.
const std::vector<report::RecordedRow>& sample() {
  static const std::vector<report::RecordedRow> rows = [] {
    constexpr std::size_t apart = 11;
    std::vector<report::RecordedRow> out;
    for (const char* file :
         {"sweeps/attention_sm90_always.jsonl", "sweeps/attention_sm90_rarely.jsonl", "sweeps/matmul_sm90.jsonl",
          "sweeps_sm80/attention_sm80.jsonl", "edges/products_beyond_the_array.jsonl"}) {
      const std::vector<report::RecordedRow> all = report::read_rows(folder + file, "");
      for (std::size_t i = 0; i < all.size(); i += apart) out.push_back(all[i]);
    }
    return out;
  }();
  return rows;
}

std::vector<double> times(Edit edit = {}) {
  Replay again(std::move(edit));
  std::vector<double> out;
  for (const report::RecordedRow& row : sample()) out.push_back(again(row.row).predicted.time);
  return out;
}

}  // namespace

TEST_CASE("every constant and every fitted number is a term") {
  const Machine machine = h200();
  std::set<std::string> names;
  for (const AblationTerm& term : terms_of(machine)) {
    CHECK_MESSAGE(names.insert(term.name).second, term.name << " stands twice");
  }
  for (const auto& each : machine.fitted) CHECK_MESSAGE(names.contains("fitted." + each.first), each.first);
  for (const auto& each : machine.constants)
    CHECK_MESSAGE((names.contains("constants." + each.first) || machine.fitted.contains(each.first)), each.first);
}

TEST_CASE("each term can be switched off: predictions stay finite, of clusters and of single blocks") {
  std::map<std::string, report::RecordedRow> rows;  // one for each kernel and number of blocks in a cluster
  for (const report::RecordedRow& row : sample()) {
    std::string name = row.row.head.kernel.value_or("");
    for (const auto& knob : row.row.head.tile) {
      if (knob.name == "cluster") name += std::to_string(knob.number);
    }
    rows.emplace(name, row);
  }
  CHECK(rows.size() >= 5);
  for (const AblationTerm& term : terms_of(h200())) {
    CAPTURE(term.name);
    Replay without(term.edit);
    for (const auto& each : rows) {
      CAPTURE(each.first);
      const PredictedAnswer predicted = without(each.second.row).predicted;
      CHECK(std::isfinite(predicted.time));
      CHECK(predicted.time > 0);
      CHECK(predicted.cycles > 0);
    }
  }
}

TEST_CASE("a fitted term that is switched off moves a prediction; all of them together are what replay leaves out") {
  const std::vector<double> with = times();
  const std::vector<AblationTerm> terms = terms_of(h200());
  std::vector<Edit> fitted;
  for (const AblationTerm& term : terms) {
    if (term.name.find("fitted.") == std::string::npos) continue;
    fitted.push_back(term.edit);
    // The energy is of e4m3, which the sampled kernels lack.
    if (term.name == "fitted.energy_tensor_8bit") continue;
    CHECK_MESSAGE(times(term.edit) != with, term.name);
  }
  REQUIRE(fitted.size() > 10);
  const auto all = [&](Machine& machine) {
    for (const Edit& edit : fitted) edit(machine);
    leave_out_fitted(machine);  // a term that gets a neutral value, as it cannot be left out
  };
  CHECK(times(all) == times(leave_out_fitted));
}

}  // namespace test_ablation
