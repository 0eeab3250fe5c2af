#pragma once
// Recorded rows are JSON lines: one object a line, exactly the keys that json_of() writes; `levels` and `predicted` may
// be missing, since a replay computes them.

#include <string>
#include <string_view>
#include <vector>

#include "apps/library/judge/validation.hpp"
#include "apps/report/json/json.hpp"

namespace napkin::internal::report {

[[nodiscard]] Json json_of(const ValidationRow& row);

struct RecordedRow {
  ValidationRow row;
  std::string where;  ///< file:line
};
/// Reads each row of a text, completed by shared members (record/shared.hpp); empty lines are skipped. Missing, unknown
/// and repeated keys, wrong types and numbers that cannot be are an Error at file:line.
[[nodiscard]] std::vector<RecordedRow> parse_rows(std::string_view text, const std::string& file);
/// Reads the rows of a file. Throws Error at `where` if it cannot be read.
[[nodiscard]] std::vector<RecordedRow> read_rows(const std::string& file, const std::string& where);

/// A file that grows by whole lines, each on disk before the next is written. Opening it drops a partial last line that
/// a crash left.
class RowFile {
 public:
  /// Opens the file. Throws Error at `where`.
  RowFile(std::string path, std::string where);
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;
  void append(const Json& row);

 private:
  std::string path_, where_;
  int file_ = -1;
};

}  // namespace napkin::internal::report
