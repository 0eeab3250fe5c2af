#include "apps/library/judge/found.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace napkin::internal {

void FoundErrors::add(const PredictionKind& kind, bool recorded, const std::string& source,
                      double found_over_predicted) {
  const auto same = [&](const KnownErrors& one) {
    return one.source == source && one.recorded == recorded && one.kind == kind;
  };
  auto found = std::find_if(all_.begin(), all_.end(), same);
  if (found == all_.end()) found = all_.insert(all_.end(), KnownErrors{kind, recorded, source, {}});
  found->errors.push_back(std::log(found_over_predicted));
}

void FoundErrors::add(const std::vector<PublishedAnswer>& answers) {
  for (const PublishedAnswer& answer : answers) {
    if (!answer.asked() || answer.row().algorithms().size() > 1) continue;
    add(answer.kind, false, answer.row().source, answer.tflops / answer.row().tflops);
  }
}

void FoundErrors::add(const std::vector<ScoredRow>& rows, const std::string& source) {
  std::map<std::string, std::vector<ScoredRow>> questions;
  for (const ScoredRow& row : newest(rows)) {
    if (row.row->split == "held-out" && is_right(row.row->measured))
      questions[question_key(row.row->head)].push_back(row);
  }
  for (const auto& [key, question] : questions) {
    for (const ScoredRow& row : near_the_best(question))
      add(row.kind, true, source, row.row->measured.time / row.predicted.time);
  }
}

std::string FoundErrors::text() const {
  std::vector<std::string> lines;
  for (const KnownErrors& one : all_) {
    std::vector<long> thousandths;
    for (const double error : one.errors) thousandths.push_back(std::lround(1000 * error));
    std::sort(thousandths.begin(), thousandths.end());
    const PredictionKind& kind = one.kind;
    const nlohmann::ordered_json json = {{"algorithm", kind.algorithm},
                                         {"architecture", kind.architecture},
                                         {"gpu", kind.gpu},
                                         {"kernel", kind.kernel},
                                         {"clock", kind.by_graph ? "graph" : "bound"},
                                         {"regime", name_of(kind.regime)},
                                         {"burst", kind.burst},
                                         {"counted", kind.counted},
                                         {"recorded", one.recorded},
                                         {"source", one.source},
                                         {"errors", thousandths}};
    lines.push_back(json.dump());
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format("[\n{}\n]\n", fmt::join(lines, ",\n"));
}

}  // namespace napkin::internal
