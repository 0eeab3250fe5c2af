// The section of a report that says what its identifiers mean, and the titles of those identifiers.

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/html/html.hpp"
#include "apps/report/html/report_parts.hpp"

namespace napkin::internal::report {

std::string_view about(const ReportAnswer& answer, const std::string& name) {
  const auto at = answer.about.find(name);
  return at == answer.about.end() ? std::string_view() : at->second;
}

std::string term(const ReportAnswer& answer, const std::string& name) {
  return html::explained("<code>" + html::breakable(name) + "</code>", about(answer, name));
}

std::string with_terms(const ReportAnswer& answer, std::string_view sentence) {
  std::string out;
  for (std::size_t from = 0; from < sentence.size();) {
    const std::size_t end = std::min(sentence.find_first_of(" ,;", from), sentence.size());
    const std::string word(sentence.substr(from, end - from));
    out += word.find('.') != std::string::npos && answer.about.contains(word) ? term(answer, word) : html::text(word);
    if (end < sentence.size()) out += sentence[end];
    from = end + 1;
  }
  return out;
}

std::string pipe_term(const ReportAnswer& answer, const std::string& name) {
  return html::explained(html::text(answer.query.head.terms.pipe(name)), about(answer, name));
}

std::string glossary_section(const ReportAnswer& answer) {
  if (answer.about.empty()) return "";
  std::string lines;
  for (const auto& [name, line] : answer.about)
    lines += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html::code(name), html::text(line));
  return html::section("glossary", "What the names mean", "",
                       html::details(fmt::format("{} names of this page", answer.about.size()),
                                     "<dl class=\"glossary\">\n" + lines + "</dl>\n"));
}

}  // namespace napkin::internal::report
