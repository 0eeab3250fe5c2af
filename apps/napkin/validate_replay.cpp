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

ValidationSummary replayed(const std::vector<report::RecordedRow>& rows, Edit edit = {}) {
  Replay again(std::move(edit));
  std::vector<ScoredRow> scored;
  scored.reserve(rows.size());
  for (const report::RecordedRow& row : rows) scored.push_back(score(again, row));
  return summarise(scored);
}

}  // namespace

Reply replay(const std::vector<std::string>& files, bool json, const report::Style& style) {
  std::vector<report::RecordedRow> rows;
  for (const std::string& file : files) {
    for (report::RecordedRow& row : report::read_rows(file, "--replay")) rows.push_back(std::move(row));
  }
  const ValidationSummary summary = replayed(rows), measured = replayed(rows, leave_out_fitted);
  if (json) {
    report::Json object = report::json_of(summary);
    object["without_fitted"] = report::json_of(measured);
    return {report::line_of(object), "", 0};
  }
  return {report::text_of(summary, style, &measured), rows.empty() ? "no rows\n" : "", 0};
}

}  // namespace napkin::cli
