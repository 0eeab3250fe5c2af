// napkin validate --published: the model held to what others measured, on GPUs that nobody here has.

#include "apps/napkin/progress.hpp"
#include "apps/napkin/validate.hpp"
#include "apps/report/record/published.hpp"
#include "model/base/yaml.hpp"

namespace napkin::internal::cli {

Reply published(const std::vector<std::string>& files, bool json, const report::Style& style) {
  std::vector<PublishedRow> rows;
  if (files.empty()) rows = report::parse_published(published_rows_text(), std::string(published_rows_path));
  for (const std::string& file : files) {
    for (PublishedRow& row : report::parse_published(yaml::read_file(file), file)) rows.push_back(std::move(row));
  }
  const std::vector<PublishedAnswer> answers = ask_published(rows);
  const PublishedSummary summary = summarise(answers);
  const int code = summary.all.rows > 0 ? 0 : 1;
  if (!json) return {report::text_of(summary, style), "", code};
  report::Json object = {{"command", "validate"}, {"published", report::json_of(summary)}};
  report::Json list = report::Json::array();
  for (const PublishedAnswer& answer : answers) list.push_back(report::json_of(answer));
  object["rows"] = std::move(list);
  return {report::line_of(object), "", code};
}

}  // namespace napkin::internal::cli
