#pragma once
// Each function here makes one section of a report's page, in the page's order, such as levels_section: a table of
// bytes by level. A section is empty where the answer has nothing for it. Internal to apps/report.

#include <string>
#include <string_view>

#include "apps/library/judge/report.hpp"
#include "apps/report/diagram/columns.hpp"

namespace napkin::internal::report {

/// Writes the answer as a sentence of HTML: "781.4 µs at 703.5 TFLOP/s ...".
[[nodiscard]] std::string sentence_of(const ReportAnswer& answer);
/// Writes "attention on h200-sxm, bf16, causal".
[[nodiscard]] std::string title_of(const Head& head);
/// Writes "b=2 h=16 q=8192 ...", or the number of sequences.
[[nodiscard]] std::string sizes_of(const Head& head);

/// Returns the explanation of an identifier; "" if there is none.
[[nodiscard]] std::string_view about(const ReportAnswer& answer, const std::string& name);
/// Writes an identifier as code, with its explanation.
[[nodiscard]] std::string term(const ReportAnswer& answer, const std::string& name);
/// Writes a sentence whose identifiers have their explanations.
[[nodiscard]] std::string with_terms(const ReportAnswer& answer, std::string_view sentence);
/// Writes a pipe or unit by the machine's words, with its explanation.
[[nodiscard]] std::string pipe_term(const ReportAnswer& answer, const std::string& name);

[[nodiscard]] std::string answer_section(const ReportAnswer& answer);
[[nodiscard]] std::string sure_section(const ReportAnswer& answer);
[[nodiscard]] std::string diagram_section(const ReportAnswer& answer, const ColumnDiagram& columns);
[[nodiscard]] std::string levels_section(const ReportAnswer& answer);
[[nodiscard]] std::string roofline_section(const ReportAnswer& answer);
/// Draws when each part of the block works, and how busy each pipe is: beside the answer.
[[nodiscard]] std::string timeline_part(const ReportAnswer& answer);
[[nodiscard]] std::string glossary_section(const ReportAnswer& answer);
[[nodiscard]] std::string landscape_section(const ReportAnswer& answer);
[[nodiscard]] std::string sensitivity_section(const ReportAnswer& answer);
[[nodiscard]] std::string measured_section(const ReportAnswer& answer);

}  // namespace napkin::internal::report
