// The section of a report that sets measurements beside predictions.

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/html/html.hpp"
#include "apps/report/html/report_parts.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr double whole_bar = 0.25;  // an error that fills half of a bar

/// Lists the differences from the question: sizes, type, mask.
std::string difference_of(const BesideAnswer& row, const Head& head) {
  std::string sizes;
  for (const auto& [axis, size] : row.head.shape) {
    const bool known = std::find(head.shape.begin(), head.shape.end(), std::pair(axis, size)) != head.shape.end();
    if (!known) sizes += fmt::format("{}{}={}", sizes.empty() ? "" : " ", axis, size);
  }
  std::string out = sizes.empty() ? "" : html::code(sizes);
  const auto add = [&](const std::string& words) { out += (out.empty() ? "" : ", ") + html::text(words); };
  if (row.head.dtype != head.dtype) add(row.head.dtype);
  if (row.head.mask != head.mask) add(html::mask(row.head.mask));
  return out.empty() ? "nothing: this very question" : out;
}

std::string error_cell(const BesideAnswer& row) {
  // Speeds are compared: above 0 the prediction is too fast.
  const double error = row.predicted / row.measured - 1;
  return html::percent(error);
}

/// The numbers of doubts: rows that share a doubt refer to it by number.
class Doubts {
 public:
  [[nodiscard]] std::string reference(const std::string& doubt) {
    const auto at = std::find(said_.begin(), said_.end(), doubt);
    const auto number = at - said_.begin() + 1;
    if (at == said_.end()) said_.push_back(doubt);
    return fmt::format("doubt {}", number);
  }
  [[nodiscard]] std::string list() const {
    std::string out;
    for (const std::string& doubt : said_) out += "<li>" + html::text(doubt) + "</li>\n";
    return out.empty() ? "" : "<p>Doubts:</p>\n<ol class=\"reasons\">\n" + out + "</ol>\n";
  }

 private:
  std::vector<std::string> said_;
};

std::string rows_table(const std::vector<BesideAnswer>& rows, const Head& head, const std::string& caption,
                       Doubts& doubts) {
  html::Table table{caption,
                    {{"kernel, and what differs from the question"},
                     {"prediction is off by", true},
                     {"too slow | too fast"},
                     {"measured TFLOP/s", true},
                     {"predicted TFLOP/s", true},
                     {"source", false, true}},
                    {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const BesideAnswer& row = rows[i];
    std::string source = html::breakable(row.source);
    if (!row.date.empty()) source += html::text(", " + row.date);
    if (!row.held_out) source += ", of the rows that constants were fitted to";
    if (!row.doubt.empty()) source += "; " + doubts.reference(row.doubt);
    const std::string what =
        "<code>" + html::breakable(row.head.kernel.value_or("")) + "</code><br>" + difference_of(row, head);
    table.rows.push_back({what, error_cell(row), html::diverging((row.predicted / row.measured - 1) / whole_bar),
                          tflops_cell(row.measured), tflops_cell(row.predicted), source});
    if (row.same) table.marked.push_back(i);
  }
  return html::table(table);
}

std::string lead_of(const ReportAnswer& answer) {
  const bool same =
      std::any_of(answer.recorded.begin(), answer.recorded.end(), [](const BesideAnswer& row) { return row.same; });
  if (answer.recorded.empty() && answer.published.empty())
    return "Nobody has recorded or published a run near this question on this GPU, as far as this program knows. The "
           "prediction stands alone.";
  if (answer.recorded.empty())
    return "This project has recorded nothing on this GPU. Below is what others published nearby, each predicted anew.";
  return std::string(same ? "This very question was measured, with the tile that was fastest then."
                          : "The question itself was not measured; below are the nearest that were.") +
         " Each is predicted anew with its own tile.";
}

}  // namespace

std::string measured_section(const ReportAnswer& answer) {
  if (!answer.query.predicted || !answer.query.launches.empty()) return "";
  const Head& head = answer.query.head;
  std::string body;
  Doubts doubts;  // doubts of both tables, which share one numbering
  if (!answer.recorded.empty())
    body += rows_table(answer.recorded, head, "Recorded by this project: the fastest tile of each question", doubts);
  if (!answer.published.empty())
    body += rows_table(answer.published, head, "Published by others; no constant is ever fitted to these", doubts);
  return html::section("measured", "Measured beside predicted", lead_of(answer), body + doubts.list());
}

}  // namespace napkin::internal::report
