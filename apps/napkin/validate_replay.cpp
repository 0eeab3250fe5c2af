// napkin validate --replay: today's model held to what was recorded.

#include <algorithm>
#include <iterator>

#include "apps/library/judge/replay.hpp"
#include "apps/napkin/replay.hpp"
#include "apps/napkin/validate.hpp"
#include "apps/report/record/record.hpp"
#include "apps/report/record/record_text.hpp"
#include "model/base/error.hpp"

namespace napkin::internal::cli {
namespace {

/// Scores a row, and reports an error in its content at the row's place.
ScoredRow score(Replay& again, const report::RecordedRow& recorded) {
  try {
    return again(recorded.row);
  } catch (const Error& error) {
    throw Error(recorded.where, error.where() + ": " + error.problem(), error.right());
  }
}

std::vector<ScoredRow> scored(const std::vector<report::RecordedRow>& rows, Edit edit = {}) {
  Replay again(std::move(edit));
  std::vector<ScoredRow> out;
  out.reserve(rows.size());
  for (const report::RecordedRow& row : rows) out.push_back(score(again, row));
  return out;
}

}  // namespace

ReplayedFiles replay_files(const std::vector<std::string>& files) {
  ReplayedFiles out;
  std::vector<report::RecordedRow>& rows = out.rows;
  for (const std::string& file : files) {
    std::vector<report::RecordedRow> read = report::read_rows(file, "--replay");
    if (read.empty())
      throw Error("--replay", in_quotes(file) + " has no rows", "a file that napkin validate --out wrote");
    std::move(read.begin(), read.end(), std::back_inserter(rows));
  }
  out.scored = scored(rows);
  out.summary = summarise(out.scored);
  out.unfitted = summarise(scored(rows, leave_out_fitted));
  return out;
}

Reply replay(const std::vector<std::string>& files, bool json, const report::Style& style) {
  const ReplayedFiles replayed = replay_files(files);
  if (json) {
    report::Json object = report::json_of(replayed.summary);
    object["without_fitted"] = report::json_of(replayed.unfitted);
    return {report::line_of(object), "", 0};
  }
  return {report::text_of(replayed.summary, style, &replayed.unfitted), "", 0};
}

}  // namespace napkin::internal::cli
