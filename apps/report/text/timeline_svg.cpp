// The timeline as a picture. A bar is one run of an operation; its hue says to which operation of the diagram it
// belongs, its shade which step of it; a dark outline marks the critical cycle.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "apps/report/escaped.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/text/timeline_lanes.hpp"

namespace napkin::report {
namespace {

constexpr int lane_label = 110, picture_width = 1600, lane_height = 30, bar_height = 22, lanes_top = 96,
              legend_row = 20;
constexpr double character = 6.3;  // width of one in a bar's label, at most

/// Red, green and blue from 0 to 1.
struct Colour {
  double r = 0, g = 0, b = 0;
  [[nodiscard]] std::string text() const {
    const auto byte = [](double v) { return static_cast<int>(std::lround(255 * v)); };
    return fmt::format("#{:02x}{:02x}{:02x}", byte(r), byte(g), byte(b));
  }
  /// Returns the relative luminance (WCAG 2.1, section "relative luminance").
  [[nodiscard]] double luminance() const {
    const auto linear = [](double v) { return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  }
  /// Returns black or white, whichever has the larger contrast (L1 + 0.05) / (L2 + 0.05).
  [[nodiscard]] const char* ink() const { return luminance() > 0.179 ? "#111" : "#fff"; }
};

/// Converts hue, saturation and lightness to a colour.
Colour colour_of(double hue, double saturation, double lightness) {
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue / 30, 12);
    return lightness - saturation * std::min(lightness, 1 - lightness) * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
  };
  return {channel(0), channel(8), channel(4)};
}

/// Returns the operation of a node: "P" for "P.exp", "load K" for itself.
std::string operation_of(const std::string& node) { return node.substr(0, node.find('.')); }

/// Returns a colour for each node: hues apart for operations, shades apart for an operation's steps. Operations of a
/// single step, such as copies, alternate between dark and light, so that many are still distinct.
std::vector<Colour> colours_of(const EventGraph& graph) {
  std::map<std::string, std::vector<std::size_t>> steps;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) steps[operation_of(graph.nodes[n].name)].push_back(n);
  std::vector<Colour> out(graph.nodes.size());
  double hue = 210;
  bool light = false;
  for (const auto& [operation, nodes] : steps) {
    light = !light;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const double shade =
          nodes.size() == 1 ? (light ? 0.75 : 0.25) : static_cast<double>(i) / static_cast<double>(nodes.size() - 1);
      out[nodes[i]] = colour_of(hue, 0.55, 0.30 + 0.48 * shade);
    }
    hue = std::fmod(hue + 360.0 / static_cast<double>(steps.size()), 360);
  }
  return out;
}

class Chart {
 public:
  explicit Chart(const TimelineAnswer& report)
      : r_(report),
        lanes_(lanes_of(report)),
        colours_(colours_of(report.graph)),
        critical_(report.period.cycle.nodes.begin(), report.period.cycle.nodes.end()),
        scale_((picture_width - lane_label - 24) / std::max(report.run.clocks, 1.0)) {}

  [[nodiscard]] std::string svg() const {
    const int bottom = lanes_top + static_cast<int>(lanes_.size()) * lane_height;
    int height = 0;
    const std::string keys = legend(bottom + 56, height);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
        picture_width, height);
    out += title() + grid(bottom);
    for (std::size_t l = 0; l < lanes_.size(); ++l)
      out += lane(lanes_[l], lanes_top + static_cast<int>(l) * lane_height);
    return out + keys + "</svg>\n";
  }

 private:
  [[nodiscard]] std::string title() const {
    const auto line = [](int y, const char* style, const std::string& text) {
      return fmt::format("<text x=\"12\" y=\"{}\" {}>{}</text>\n", y, style, escaped(text));
    };
    return line(24, "font-size=\"16\" font-weight=\"bold\"",
                fmt::format("{} of {} on {}: the first {} iterations of a block", r_.head.kernel.value_or("ideal"),
                            r_.head.algorithm, r_.head.gpu.value_or(""), r_.iterations)) +
           line(45, "fill=\"#444\"", text_of(r_.head.tile)) +
           line(
               65, "fill=\"#444\"",
               fmt::format("an iteration takes {:.0f} clk; busiest pipe: {}, {:.0f} clk; critical cycle: {:.0f} clk",
                           r_.period.clocks, pipe_name(r_.period.pipe), r_.period.pipe.clocks, r_.period.cycle.clocks));
  }

  /// Draws a line for each steady iteration's length, and the axis with its unit.
  [[nodiscard]] std::string grid(int bottom) const {
    std::string out;
    for (int i = 0; i * r_.period.clocks <= r_.run.clocks; ++i) {
      const double x = lane_label + i * r_.period.clocks * scale_;
      out += fmt::format(
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#999\" stroke-dasharray=\"2 3\"/>\n"
          "<text x=\"{3:.1f}\" y=\"{4}\" font-size=\"11\" fill=\"#555\">{5:.0f}</text>\n",
          x, lanes_top - 6, bottom + 4, x + 3, bottom + 16, i * r_.period.clocks);
    }
    return out + fmt::format("<text x=\"12\" y=\"{}\" font-size=\"11\" fill=\"#555\">{} clocks</text>\n", bottom + 16,
                             escaped(r_.words.node));
  }

  /// Returns true if the span is on the critical cycle, which names the instance only of nodes with several:
  /// "P.exp[0]", "load K".
  [[nodiscard]] bool critical(const TimelineSpan& s) const {
    const std::string& name = r_.graph.node(s.node).name;
    const bool several = r_.graph.instances[static_cast<std::size_t>(s.node)] > 1;
    return critical_.contains(several ? fmt::format("{}[{}]", name, s.instance) : name);
  }

  /// Returns the longest label that fits in the bar, or none.
  [[nodiscard]] std::string shown(const TimelineSpan& s, double width) const {
    for (const std::string& text : {label_of(r_, s), r_.graph.node(s.node).name}) {
      if (static_cast<double>(text.size()) * character + 6 <= width) return text;
    }
    return "";
  }

  [[nodiscard]] std::string lane(const Lane& lane, int y) const {
    std::string out = fmt::format("<text x=\"12\" y=\"{}\">{}</text>\n", y + 16, escaped(lane.name));
    std::string outlined, labels;  // over their neighbours, which would hide a half of an outline or of a name
    for (const TimelineSpan& s : r_.run.spans) {
      if (!lane.has(r_, s)) continue;
      (critical(s) ? outlined : out) += bar(s, y);
      labels += label(s, y);
    }
    return out + outlined + labels;
  }

  [[nodiscard]] double left(const TimelineSpan& s) const { return lane_label + s.start * scale_; }
  [[nodiscard]] double width(const TimelineSpan& s) const { return std::max((s.end - s.start) * scale_, 0.5); }
  [[nodiscard]] const Colour& colour(const TimelineSpan& s) const { return colours_[static_cast<std::size_t>(s.node)]; }

  [[nodiscard]] std::string bar(const TimelineSpan& s, int y) const {
    return fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"{}><title>{}: {:.0f} to {:.0f} "
        "clk</title>"
        "</rect>\n",
        left(s), y, width(s), bar_height, colour(s).text(),
        critical(s) ? " stroke=\"#000\" stroke-width=\"1.6\"" : " stroke=\"#fff\" stroke-width=\"0.6\"",
        escaped(label_of(r_, s)), s.start, s.end);
  }

  [[nodiscard]] std::string label(const TimelineSpan& s, int y) const {
    const std::string text = shown(s, width(s));
    if (text.empty()) return "";
    return fmt::format("<text x=\"{:.1f}\" y=\"{}\" fill=\"{}\" font-size=\"11\">{}</text>\n", left(s) + 3, y + 15,
                       colour(s).ink(), escaped(text));
  }

  /// Returns true where a bar of the node has room for its name.
  [[nodiscard]] bool named(std::size_t node) const {
    return std::any_of(r_.run.spans.begin(), r_.run.spans.end(), [&](const TimelineSpan& s) {
      return static_cast<std::size_t>(s.node) == node && !shown(s, width(s)).empty();
    });
  }

  /// Draws the legend: colours of operations whose bars have no room for a name. `height` is set to the picture's end.
  [[nodiscard]] std::string legend(int y, int& height) const {
    std::string out;
    int x = 12;
    for (std::size_t n = 0; n < r_.graph.nodes.size(); ++n) {
      if (named(n)) continue;
      const std::string& name = r_.graph.nodes[n].name;
      const int width = 40 + static_cast<int>(static_cast<double>(name.size()) * 7.4);
      if (x + width > picture_width - 12) {
        x = 12;
        y += legend_row;
      }
      out += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"14\" fill=\"{}\"/><text x=\"{}\" y=\"{}\" "
          "font-size=\"12\">{}</text>\n",
          x, y - 11, colours_[n].text(), x + 19, y, escaped(name));
      x += width;
    }
    y += x == 12 ? 0 : legend_row + 4;
    if (!critical_.empty())
      out += fmt::format(
          "<rect x=\"12\" y=\"{}\" width=\"14\" height=\"14\" fill=\"#eee\" stroke=\"#000\" stroke-width=\"1.6\"/>"
          "<text x=\"31\" y=\"{}\" font-size=\"12\">on the critical cycle: what an iteration waits for when no pipe is "
          "full</text>\n",
          y - 11, y);
    height = y + 20;
    return out;
  }

  const TimelineAnswer& r_;
  std::vector<Lane> lanes_;
  std::vector<Colour> colours_;
  std::set<std::string> critical_;
  double scale_;
};

}  // namespace

std::string svg_of(const TimelineAnswer& report) { return Chart(report).svg(); }

}  // namespace napkin::report
