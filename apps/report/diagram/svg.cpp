// A Drawing as SVG.
#include <fmt/format.h>

#include "apps/report/diagram/drawing.hpp"
#include "apps/report/escaped.hpp"

namespace napkin::internal::report {
namespace {

std::string number(double value) {
  std::string out = fmt::format("{:.1f}", value);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out == "-0" ? "0" : out;
}

std::string point(Point p) { return number(p.x) + " " + number(p.y); }

std::string way_of(const Path& path) {
  std::string out;
  for (const Path::Piece& piece : path.pieces) {
    out += piece.kind;
    if (piece.kind == 'C') out += point(piece.first) + " " + point(piece.second) + " ";
    out += point(piece.to);
  }
  return path.closed ? out + "Z" : out;
}

std::string title_of(const std::string& title) {
  return title.empty() ? "/>\n" : "><title>" + escaped(title) + "</title></path>\n";
}

std::string written(const Path& path) {
  std::string out;
  const std::string way = way_of(path);
  if (path.halo)
    out += fmt::format("<path class=\"halo\" d=\"{}\" stroke-width=\"{}\"/>\n", way, number(path.width + 4));
  out += fmt::format("<path class=\"{}\" d=\"{}\" fill=\"{}\"", path.role, way, path.fill.empty() ? "none" : path.fill);
  if (!path.colour.empty()) out += fmt::format(" stroke=\"{}\" stroke-width=\"{}\"", path.colour, number(path.width));
  if (path.dash == Dash::dashed) out += " stroke-dasharray=\"6 4\"";
  if (path.dash == Dash::dotted) out += " stroke-dasharray=\"2 3\"";
  return out + title_of(path.title);
}

std::string written(const Label& label) {
  static constexpr const char* anchors[] = {"start", "middle", "end"};
  std::string out =
      fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{}>", label.role,
                  number(label.at.x), number(label.at.y), number(label.size), label.colour,
                  anchors[static_cast<std::size_t>(label.anchor)], label.bold ? " font-weight=\"bold\"" : "");
  if (!label.title.empty()) out += "<title>" + escaped(label.title) + "</title>";
  double off = 0;  // shift of the letters before from the line
  for (const Span& span : label.spans) {
    const double to = span.shift == Span::Shift::below   ? label.size * 0.22
                      : span.shift == Span::Shift::above ? -label.size * 0.35
                                                         : 0;
    if (to == off && span.shift == Span::Shift::none) {
      out += escaped(span.text);
      continue;
    }
    const bool space = span.text.starts_with("\u00A0");  // some programs leave it out where a piece begins
    out += fmt::format("<tspan{} dy=\"{}\" font-size=\"{}\">{}</tspan>",
                       space ? fmt::format(" dx=\"{}\"", number(label.size * 0.3)) : std::string(), number(to - off),
                       number(span.shift == Span::Shift::none ? label.size : label.size * 0.75),
                       escaped(space ? span.text.substr(2) : span.text));
    off = to;
  }
  return out + "</text>\n";
}

}  // namespace

std::string svg_of(const Drawing& drawing) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<title>{2}</title>\n<style>text {{ font-family: Helvetica, Arial, sans-serif }} "
      ".halo {{ fill: none; stroke: #fff }} path {{ stroke-linecap: butt; stroke-linejoin: round }}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      number(drawing.width), number(drawing.height), escaped(drawing.title));
  for (const Path& path : drawing.paths) out += written(path);
  for (const Label& label : drawing.labels) out += written(label);
  return out + "</svg>\n";
}

}  // namespace napkin::internal::report
