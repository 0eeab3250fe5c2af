#include "apps/report/html/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "apps/report/units.hpp"

namespace napkin::internal::report::html {
namespace {

constexpr std::string_view no_break = "\u00a0";

/// Writes a fraction's magnitude as digits of a percentage, without a sign.
std::string percent_digits(double fraction, int digits) {
  std::string out = fmt::format("{:.{}f}", std::abs(100 * fraction), digits);
  return out;
}

bool is_zero(const std::string& digits) { return digits.find_first_not_of("0.") == std::string::npos; }

std::string base64(std::string_view bytes) {
  static constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(bytes.size() * 4 / 3 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned word = 0;
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t b = 0; b < 3; ++b) word = word << 8U | (b < n ? static_cast<unsigned char>(bytes[i + b]) : 0U);
    for (std::size_t b = 0; b < 4; ++b) out += b <= n ? letters[word >> (18U - 6U * b) & 63U] : '=';
  }
  return out;
}

/// Returns the width that a picture gives itself.
std::string_view width_of(std::string_view svg) {
  constexpr std::string_view before = "width=\"";
  const std::size_t from = svg.find(before) + before.size();
  return svg.substr(from, svg.find_first_not_of("0123456789.", from) - from);
}

std::string figure_around(std::string_view inside, std::string_view said, std::string_view caption,
                          std::string_view kind) {
  return fmt::format(
      "<figure{}>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{}</div>\n"
      "<figcaption>{}</figcaption>\n</figure>\n",
      kind.empty() ? std::string() : fmt::format(" class=\"{}\"", kind), text(said), inside, caption);
}

}  // namespace

std::string text(std::string_view words) {
  std::string out;
  for (const char c : words) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>' && out.ends_with('-')) {
      out.back() = '\xe2', out += "\x86\x92";  // an arrow of one character, which is not broken across lines
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string number(std::string_view with_unit) {
  std::string out;
  for (const char c : text(with_unit)) out += c == ' ' ? std::string(no_break) : std::string(1, c);
  const std::string plain = std::string(no_break) + "us";
  if (out.ends_with(plain)) out.replace(out.size() - plain.size(), plain.size(), std::string(no_break) + "µs");
  return out;
}

std::string time(double seconds) { return number(time_text(seconds)); }

std::string micro(std::string html) {
  for (std::size_t at = html.find(" us"); at != std::string::npos; at = html.find(" us", at + 1)) {
    const bool word = at + 3 < html.size() && std::isalnum(static_cast<unsigned char>(html[at + 3])) != 0;
    if (at > 0 && std::isdigit(static_cast<unsigned char>(html[at - 1])) != 0 && !word)
      html.replace(at, 3, std::string(no_break) + "µs");
  }
  return html;
}

std::string percent(double fraction, int digits) {
  const std::string size = percent_digits(fraction, digits);
  const char* sign = is_zero(size) ? "" : fraction < 0 ? "−" : "+";
  return fmt::format("{}{}{}%", sign, size, no_break);
}

std::string share(double fraction, int digits) {
  return fmt::format("{}{}%", percent_digits(fraction, digits), no_break);
}

std::string code(std::string_view words) { return fmt::format("<code>{}</code>", text(words)); }

std::string explained(std::string_view html, std::string_view about) {
  return about.empty() ? std::string(html)
                       : fmt::format("<span class=\"term\" title=\"{}\">{}</span>", text(about), html);
}

std::string breakable(std::string_view path) {
  std::string out;
  for (const char c : path) {
    out += text(std::string_view(&c, 1));
    if (c == '/' || c == '_' || c == '.') out += "<wbr>";
  }
  return out;
}

std::string spoken(std::string_view words) { return fmt::format("<span class=\"spoken\">{}</span>", text(words)); }

std::string table(const Table& table) {
  std::string out = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
      "aria-label=\"{}\">\n<table>\n<caption><span>{}</span></caption>\n"
      "<thead><tr>",
      text(table.caption), text(table.caption));
  for (const Column& column : table.columns)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"n\"" : "", text(column.name));
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const bool marked = std::find(table.marked.begin(), table.marked.end(), r) != table.marked.end();
    out += marked ? "<tr class=\"marked\">" : "<tr>";
    for (std::size_t c = 0; c < table.rows[r].size(); ++c) {
      const Column column = c < table.columns.size() ? table.columns[c] : Column{};
      const char* kind = column.number ? " class=\"n\"" : column.words ? " class=\"w\"" : "";
      out += c == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", kind, table.rows[r][c])
                    : fmt::format("<td{}>{}</td>", kind, table.rows[r][c]);
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

std::string bar(double fraction, std::string_view kind) {
  const bool over = fraction > 1;
  const double width = std::clamp(std::isfinite(fraction) ? fraction : 0.0, 0.0, 1.0);
  return fmt::format(
      "<span class=\"bar\" aria-hidden=\"true\"><span class=\"fill {}{}\" style=\"width:{:.1f}%\"></span></span>", kind,
      over ? " over" : "", 100 * width);
}

std::string diverging(double fraction) {
  const double size = 50 * std::clamp(std::abs(fraction), 0.0, 1.0);
  return fmt::format(
      "<span class=\"both\" aria-hidden=\"true\"><span class=\"{}\" "
      "style=\"left:{:.1f}%;width:{:.1f}%\"></span></span>",
      fraction < 0 ? "less" : "more", fraction < 0 ? 50 - size : 50, size);
}

std::string section(std::string_view id, std::string_view title, std::string_view lead, std::string_view body) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}{3}</section>\n", id,
      text(title), lead.empty() ? std::string() : paragraph(lead), body);
}

std::string paragraph(std::string_view html) { return fmt::format("<p>{}</p>\n", html); }

std::string details(std::string_view summary, std::string_view body) {
  return fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n", summary, body);
}

std::string figure(std::string_view svg, std::string_view said, std::string_view caption, std::string_view kind) {
  const std::string inside =
      fmt::format("<svg role=\"img\" aria-label=\"{}\" {}", text(said), svg.substr(std::string_view("<svg ").size()));
  return figure_around(inside, said, caption, kind);
}

std::string picture(std::string_view svg, std::string_view said, std::string_view caption) {
  const std::string inside =
      fmt::format("<img class=\"drawn\" style=\"--drawn: {}px\" alt=\"{}\" src=\"data:image/svg+xml;base64,{}\">\n",
                  width_of(svg), text(said), base64(svg));
  return figure_around(inside, said, caption, "");
}

std::string mask(const Mask& mask) {
  switch (mask.kind) {
    case Mask::Kind::none: return "no mask";
    case Mask::Kind::causal: return "causal";
    case Mask::Kind::window:
    case Mask::Kind::prefix: return napkin::text_of(mask);
  }
  return "";
}

std::string page(const Page& page) {
  std::string links;
  for (const Part& part : page.parts)
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", part.id, text(part.title));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n"
      "<style>\n{}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n"
      "<header>\n<p class=\"kicker\">{}</p>\n<h1>{}</h1>\n{}</header>\n"
      "<nav aria-label=\"Parts of this page\">\n<ul>\n{}</ul>\n</nav>\n<main id=\"content\" "
      "tabindex=\"-1\">\n{}</main>\n"
      "<footer>\n{}</footer>\n</body>\n</html>\n",
      text(page.title), style_sheet(), text(page.kicker), text(page.heading), page.lead, links, page.body, page.footer);
}

}  // namespace napkin::internal::report::html
