#include "apps/report/diagram/drawing.hpp"

#include <algorithm>
#include <utility>

namespace napkin::internal::report {
namespace {

constexpr double small = 0.75;  // size of letters below and above the line, relative to others

/// Counts the letters of a text, not its bytes.
std::size_t letters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::vector<Span> plain(std::string text) { return {{Span::Shift::none, std::move(text)}}; }

std::vector<Span> symbol(std::string_view label, std::string_view above) {
  std::vector<Span> out;
  const std::size_t bar = label.find('_');
  out.push_back({Span::Shift::none, std::string(label.substr(0, bar))});
  if (bar != std::string_view::npos) out.push_back({Span::Shift::below, std::string(label.substr(bar + 1))});
  if (!above.empty()) out.push_back({Span::Shift::above, std::string(above)});
  return out;
}

double width_of(const std::vector<Span>& spans, double size, bool bold) {
  double out = 0;
  for (const Span& span : spans)
    out += static_cast<double>(letters(span.text)) * size * (bold ? 0.66 : 0.6) *
           (span.shift == Span::Shift::none ? 1 : small);
  return out;
}

Rectangle box_of(const Label& label) {
  const double width = width_of(label.spans, label.size, label.bold);
  const double left = label.anchor == Anchor::start    ? label.at.x
                      : label.anchor == Anchor::middle ? label.at.x - width / 2
                                                       : label.at.x - width;
  return {left, label.at.y - 0.75 * label.size, left + width, label.at.y + 0.1 * label.size};
}

Path line(Point from, Point to, std::string role, std::string colour, double width) {
  Path out;
  out.pieces = {{'M', from}, {'L', to}};
  out.role = std::move(role);
  out.colour = std::move(colour);
  out.width = width;
  return out;
}

Path bend(Point from, Point to, std::string role, std::string colour, double width) {
  if (from.y == to.y) return line(from, to, std::move(role), std::move(colour), width);
  const double middle = (from.x + to.x) / 2;
  Path out = line(from, to, std::move(role), std::move(colour), width);
  out.pieces[1] = {'C', to, {middle, from.y}, {middle, to.y}};
  return out;
}

Path rectangle(const Rectangle& box, std::string role, std::string colour, std::string fill) {
  Path out;
  out.pieces = {{'M', {box.left, box.top}},
                {'L', {box.right, box.top}},
                {'L', {box.right, box.bottom}},
                {'L', {box.left, box.bottom}}};
  out.role = std::move(role);
  out.colour = std::move(colour);
  out.fill = std::move(fill);
  out.closed = true;
  return out;
}

}  // namespace napkin::internal::report
