// A Drawing as TikZ, so that a paper can print it in its own fonts.
#include <fmt/format.h>

#include <map>

#include "apps/report/diagram/drawing.hpp"

namespace napkin::internal::report {
namespace {

constexpr double scale = 0.02;  // centimetres a unit; a label of 12 units is a letter of \footnotesize

std::string tex_point(Point p) { return fmt::format("({:.3f},{:.3f})", p.x * scale, -p.y * scale); }

/// Escapes a label's text for TeX.
std::string escaped_tex(const std::string& text) {
  static const std::map<std::string, std::string, std::less<>> signs = {
      {"·", "$\\cdot$"},           {"Σ", "$\\Sigma$"}, {"×", "$\\times$"}, {"÷", "$\\div$"}, {"−", "$-$"},
      {"∞", "$\\infty$"},          {"δ", "$\\delta$"}, {"μ", "$\\mu$"},    {"\u00A0", "~"},  {"→", "$\\to$"},
      {"⇄", "$\\leftrightarrow$"}, {"≥", "$\\ge$"},    {"≤", "$\\le$"},    {"…", "\\dots{}"}};
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    const std::string letter = text.substr(i, length);
    i += length;
    if (const auto sign = signs.find(letter); sign != signs.end()) {
      out += sign->second;
    } else if (length > 1) {
      out += "?";
    } else if (letter == "\\") {
      out += "\\textbackslash{}";
    } else if (letter == "^" || letter == "~") {
      out += "\\" + letter + "{}";
    } else if (letter == "<" || letter == ">" || letter == "|") {
      out += "$" + letter + "$";
    } else {
      out += std::string("#$%&_{}").find(letter) != std::string::npos ? "\\" + letter : letter;
    }
  }
  return out;
}

std::string colour_name(const std::string& colour) { return "napkin" + colour.substr(1); }

void add_colour(std::map<std::string, std::string>& colours, const std::string& colour) {
  if (!colour.empty()) colours[colour] = colour_name(colour);
}

std::string tex_of(const Path& path) {
  std::string way;
  for (const Path::Piece& piece : path.pieces) {
    if (piece.kind == 'C') {
      way +=
          " .. controls " + tex_point(piece.first) + " and " + tex_point(piece.second) + " .. " + tex_point(piece.to);
    } else {
      way += (piece.kind == 'L' ? " -- " : " ") + tex_point(piece.to);
    }
  }
  if (path.closed) way += " -- cycle";
  std::string out;
  if (path.halo) out += fmt::format("\\draw[white,line width={:.2f}pt]{};\n", (path.width + 4) * 0.57, way);
  std::string options;
  if (!path.fill.empty()) options += "fill=" + colour_name(path.fill) + ",";
  if (!path.colour.empty())
    options += fmt::format("draw={},line width={:.2f}pt,", colour_name(path.colour), path.width * 0.57);
  if (path.dash == Dash::dashed) options += "dash pattern=on 3pt off 2pt,";
  if (path.dash == Dash::dotted) options += "dash pattern=on 1pt off 1.5pt,";
  if (!options.empty()) options.pop_back();
  return out + fmt::format("\\path[{}]{};\n", options, way);
}

std::string tex_of(const Label& label) {
  static constexpr const char* anchors[] = {"base west", "base", "base east"};
  std::string text;
  for (const Span& span : label.spans) {
    const std::string tex = escaped_tex(span.text);
    if (span.shift == Span::Shift::none) text += tex;
    if (span.shift == Span::Shift::below) text += "\\textsubscript{" + tex + "}";
    if (span.shift == Span::Shift::above) text += "\\textsuperscript{" + tex + "}";
  }
  return fmt::format(
      "\\node[anchor={},inner sep=0pt,text={},font=\\sffamily{}\\fontsize{{{:.1f}}}{{{:.1f}}}\\selectfont] at {} "
      "{{{}}};\n",
      anchors[static_cast<std::size_t>(label.anchor)], colour_name(label.colour), label.bold ? "\\bfseries" : "",
      label.size * 0.55, label.size * 0.66, tex_point(label.at), text);
}

}  // namespace

std::string tikz_of(const Drawing& drawing, bool whole) {
  std::map<std::string, std::string> colours;
  for (const Path& path : drawing.paths) add_colour(colours, path.colour), add_colour(colours, path.fill);
  for (const Label& label : drawing.labels) add_colour(colours, label.colour);
  std::string out = "% " + drawing.title + ", drawn by napkin. Needs \\usepackage{tikz}.\n";
  if (whole)
    out += fmt::format(
        "\\documentclass{{article}}\n\\usepackage{{tikz}}\n\\usepackage[paperwidth={:.1f}cm,paperheight={:.1f}cm,"
        "margin=0.2cm]"
        "{{geometry}}\n\\pagestyle{{empty}}\n\\setlength{{\\parindent}}{{0pt}}\n\\begin{{document}}\n",
        drawing.width * scale + 1, drawing.height * scale + 1);
  out += "\\begin{tikzpicture}\n";
  for (const auto& [colour, name] : colours) {
    std::string six = colour.substr(1);
    if (six.size() == 3) six = {six[0], six[0], six[1], six[1], six[2], six[2]};
    for (char& c : six) c = static_cast<char>(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
    out += "\\definecolor{" + name + "}{HTML}{" + six + "}\n";
  }
  for (const Path& path : drawing.paths) out += tex_of(path);
  for (const Label& label : drawing.labels) out += tex_of(label);
  out += "\\end{tikzpicture}\n";
  return whole ? out + "\\end{document}\n" : out;
}

}  // namespace napkin::internal::report
