#pragma once
// These functions build a page that needs no other file: escaped text, numbers with units, tables, bars, sections.
// Example: table({"Tiles", {{"tile"}, {"time", true}}, {{"q=128", "781 µs"}}}). Internal to apps/report.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/answers.hpp"

namespace napkin::internal::report::html {

/// Escapes text; "->" becomes an arrow.
[[nodiscard]] std::string text(std::string_view words);
/// Writes a number with its unit on one line; "us" becomes "µs".
[[nodiscard]] std::string number(std::string_view with_unit);
[[nodiscard]] std::string time(double seconds);
/// Replaces "20.9 us" in HTML by "20.9 µs".
[[nodiscard]] std::string micro(std::string html);
/// Writes "+3.2 %", with a true minus sign.
[[nodiscard]] std::string percent(double fraction, int digits = 1);
/// Writes "3.2 %", without a sign.
[[nodiscard]] std::string share(double fraction, int digits = 0);
[[nodiscard]] std::string code(std::string_view words);
/// Writes HTML with an explanation that is shown while a mouse points at it; without `about` the HTML alone.
[[nodiscard]] std::string explained(std::string_view html, std::string_view about);
/// Writes a path or a name that may be broken after its slashes, underscores and dots.
[[nodiscard]] std::string breakable(std::string_view path);
/// Writes text for screen readers alone.
[[nodiscard]] std::string spoken(std::string_view words);

struct Column {
  std::string name;     ///< text
  bool number = false;  ///< true to align to the right
  bool words = false;   ///< true for long text, kept wide where the page is narrow
};
struct Table {
  std::string caption;  ///< text that names what the rows have in common
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  ///< HTML; the first cell of each is its heading
  std::vector<std::size_t> marked = {};        ///< rows that stand out
};
/// Writes a table in a frame that scrolls by itself on narrow pages.
[[nodiscard]] std::string table(const Table& table);

/// Draws a bar from the left, `fraction` of its cell's width long; above 1 it is full and marked as over the limit.
[[nodiscard]] std::string bar(double fraction, std::string_view kind = "");
/// Draws a bar from the middle: to the left below 0, to the right above; 1 fills the half.
[[nodiscard]] std::string diverging(double fraction);

/// Writes a section of the page with its heading. `lead` and `body` are HTML.
[[nodiscard]] std::string section(std::string_view id, std::string_view title, std::string_view lead,
                                  std::string_view body);
[[nodiscard]] std::string paragraph(std::string_view html);
/// Writes a part that opens on a click.
[[nodiscard]] std::string details(std::string_view summary, std::string_view body);
/// Writes a drawing in a frame that scrolls by itself, with a caption. `svg` begins with "<svg ".
[[nodiscard]] std::string figure(std::string_view svg, std::string_view said, std::string_view caption,
                                 std::string_view kind = "");
/// Writes a finished drawing as an image, so that its styles do not reach the page.
[[nodiscard]] std::string picture(std::string_view svg, std::string_view said, std::string_view caption);

/// Writes a mask: "no mask", "causal", "window 128,0".
[[nodiscard]] std::string mask(const Mask& mask);

struct Part {
  std::string id, title;
};
/// A page: its parts, and the text around them.
struct Page {
  std::string title;                  ///< title of the window, text
  std::string kicker, heading, lead;  ///< kicker and heading are text, lead is HTML
  std::vector<Part> parts;
  std::string body, footer;  ///< HTML
};
[[nodiscard]] std::string page(const Page& page);

/// Returns the style sheet of every page.
[[nodiscard]] std::string_view style_sheet();

}  // namespace napkin::internal::report::html
