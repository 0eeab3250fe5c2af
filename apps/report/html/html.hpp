#pragma once
// These functions build a page that needs nothing but itself: escaped text, numbers with units, tables, bars, sections.
// Example: table({"Tiles", {{"tile"}, {"time", true}}, {{"q=128", "781 µs"}}}). Internal to apps/report.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/answers.hpp"

namespace napkin::report::html {

/// Text that stands for itself.
[[nodiscard]] std::string text(std::string_view words);
/// A number with its unit on one line; "us" becomes "µs".
[[nodiscard]] std::string number(std::string_view with_unit);
[[nodiscard]] std::string time(double seconds);
/// "20.9 us" within HTML as "20.9 µs".
[[nodiscard]] std::string micro(std::string html);
/// "+3.2 %", with a true minus sign.
[[nodiscard]] std::string percent(double fraction, int digits = 1);
/// "3.2 %" without a sign.
[[nodiscard]] std::string share(double fraction, int digits = 0);
[[nodiscard]] std::string code(std::string_view words);
/// HTML whose meaning a reader sees who points at it; without `about` the HTML alone.
[[nodiscard]] std::string explained(std::string_view html, std::string_view about);
/// A path, which may be broken behind its slashes and underscores.
[[nodiscard]] std::string breakable(std::string_view path);
/// What a screen reader says and nobody sees.
[[nodiscard]] std::string spoken(std::string_view words);

struct Column {
  std::string name;     ///< text
  bool number = false;  ///< aligned to the right
  bool words = false;   ///< long text, kept wide where the page is narrow
};
struct Table {
  std::string caption;  ///< text; says what the rows are
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  ///< HTML; the first cell of each is its heading
  std::vector<std::size_t> marked = {};        ///< rows that stand out
};
/// In a frame that scrolls by itself where the page is narrow.
[[nodiscard]] std::string table(const Table& table);

/// A bar from the left, `fraction` of its cell's width long; above 1 it is full and marked as over the limit.
[[nodiscard]] std::string bar(double fraction, std::string_view kind = "");
/// A bar from the middle: to the left below 0, to the right above; 1 is the whole half.
[[nodiscard]] std::string diverging(double fraction);

/// A part of the page with its heading. `lead` and `body` are HTML.
[[nodiscard]] std::string section(std::string_view id, std::string_view title, std::string_view lead,
                                  std::string_view body);
[[nodiscard]] std::string paragraph(std::string_view html);
/// What opens when it is clicked; `open`: it is open at first. Of those with one name only one is open.
[[nodiscard]] std::string details(std::string_view summary, std::string_view body, bool open = false,
                                  std::string_view name = "");
/// A drawing in a frame that scrolls by itself, with words under it. `svg` begins with "<svg ".
[[nodiscard]] std::string figure(std::string_view svg, std::string_view said, std::string_view caption,
                                 std::string_view kind = "");
/// A finished drawing whose styles must not reach the page: as an image within it.
[[nodiscard]] std::string picture(std::string_view svg, std::string_view said, std::string_view caption);

/// "no mask", "causal", "window 128,0"
[[nodiscard]] std::string mask(const Mask& mask);

struct Part {
  std::string id, title;
};
/// The whole page around its parts.
struct Page {
  std::string title;                  ///< text, of the window
  std::string kicker, heading, lead;  ///< text, text, HTML
  std::vector<Part> parts;
  std::string body, footer;  ///< HTML
};
[[nodiscard]] std::string page(const Page& page);

/// The style sheet of every page.
[[nodiscard]] std::string_view style_sheet();

}  // namespace napkin::report::html
