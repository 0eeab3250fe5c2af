// napkin validate --replay: today's model held to what was recorded.

#include "apps/library/replay.hpp"
#include "apps/napkin/validate.hpp"
#include "apps/report/record.hpp"
#include "apps/report/record_text.hpp"

namespace napkin::cli {
namespace {

/// An error of a row's content gets the row's place.
ScoredRow score(Replay& again, const report::RecordedRow& recorded) {
  try {
    return again(recorded.row);
  } catch (const Error& error) {
    throw Error(recorded.where, error.where() + ": " + error.problem(), error.right());
  }
}

}  // namespace

Reply replay(const std::vector<std::string>& files, bool json, const report::Style& style) {
  std::vector<report::RecordedRow> rows;
  for (const std::string& file : files) {
    for (report::RecordedRow& row : report::read_rows(file, "--replay")) rows.push_back(std::move(row));
  }
  Replay again;
  std::vector<ScoredRow> scored;
  for (const report::RecordedRow& row : rows) scored.push_back(score(again, row));
  const ValidationSummary summary = summarise(scored);
  if (json) return {report::line_of(report::json_of(summary)), "", 0};
  return {report::text_of(summary, style), rows.empty() ? "no rows\n" : "", 0};
}

}  // namespace napkin::cli
