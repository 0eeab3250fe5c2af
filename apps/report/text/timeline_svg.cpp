// The timeline as a picture. A bar is one run of an operation and bears its name; its hue says to which stage of the
// algorithm it belongs, S or P or O, and copies are grey; an outline marks the longest chain of waits. In a page it
// takes the page's colours of paper and ink, by itself black on white.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "apps/report/escaped.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/text/timeline_lanes.hpp"
#include "apps/report/text/timeline_waits.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr int lane_label = 104, lane_height = 30, bar_height = 22, right_edge = 16, clocks_row = 34, key_row = 24,
              ruler_height = 5;
constexpr double narrowest = 7;    // least width of a ruler's block, pixels
constexpr double character = 6.4;  // width of one in a bar's label, at most
constexpr double label_inset = 4;  // distance of a label from the bar's left edge, where a barrier may be drawn

/// Red, green and blue from 0 to 1.
struct Colour {
  double r = 0, g = 0, b = 0;
  [[nodiscard]] std::string text() const {
    const auto byte = [](double v) { return static_cast<int>(std::lround(255 * v)); };
    return fmt::format("#{:02x}{:02x}{:02x}", byte(r), byte(g), byte(b));
  }
};

/// Converts hue, saturation and lightness to a colour.
Colour colour_of(double hue, double saturation, double lightness) {
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue / 30, 12);
    return lightness - saturation * std::min(lightness, 1 - lightness) * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
  };
  return {channel(0), channel(8), channel(4)};
}

bool copies(const EventNode& node) { return node.kind == NodeKind::copy || node.kind == NodeKind::store; }

/// Returns the stage of a node: "P" of "P.exp"; copies are one stage.
std::string stage_of(const EventNode& node) {
  return copies(node) ? "copies" : node.name.substr(0, node.name.find('.'));
}

/// Returns the step of a stage: "exp" of "P.exp", "K" of "load K", "S" of itself.
std::string step_of(const std::string& node) { return node.substr(node.find_last_of(". ") + 1); }

/// Light colours, hues apart, on which black is read in a light and in a dark page.
using Colours = std::vector<std::pair<std::string, std::string>>;

/// Returns a colour by stage, in the order of the algorithm's text, copies last.
Colours colours_of(const EventGraph& graph) {
  std::vector<std::string> stages;
  for (const EventNode& node : graph.nodes) {
    if (!copies(node) && std::find(stages.begin(), stages.end(), stage_of(node)) == stages.end())
      stages.push_back(stage_of(node));
  }
  Colours out;
  for (std::size_t i = 0; i < stages.size(); ++i)
    out.emplace_back(
        stages[i],
        colour_of(std::fmod(205 + 360.0 * static_cast<double>(i) / static_cast<double>(stages.size()), 360), 0.62, 0.70)
            .text());
  out.emplace_back("copies", "#c3c8cf");
  return out;
}

/// Returns the lanes with anything that takes time; the copies of the paper's machine take none.
std::vector<Lane> drawn_lanes(const TimelineAnswer& report) {
  std::vector<Lane> lanes = lanes_of(report);
  std::erase_if(lanes, [&](const Lane& lane) {
    return std::none_of(report.run.spans.begin(), report.run.spans.end(),
                        [&](const TimelineSpan& s) { return s.end > s.start && lane.has(report, s); });
  });
  return lanes;
}

class Chart {
 public:
  Chart(const TimelineAnswer& report, const TimelinePicture& picture)
      : r_(report),
        picture_(picture),
        lanes_(drawn_lanes(report)),
        waits_(waits_of(report)),
        colours_(colours_of(report.graph)),
        critical_(report.period.cycle.nodes.begin(), report.period.cycle.nodes.end()),
        scale_((picture.width - lane_label - right_edge) / std::max(report.run.clocks, 1.0)),
        key_(key_of()),
        lanes_top_(key_top() + key_row * key_.rows + 4) {}

  [[nodiscard]] std::string svg() const {
    const int bottom = lanes_top_ + static_cast<int>(lanes_.size()) * lane_height;
    const int height = bottom + clocks_row + 6 + (ruled() ? ruler_height + 4 : 0);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif\" font-size=\"13\" {2}>\n",
        picture_.width, height, ink("ink", "#191c20"));
    if (picture_.titled)
      out += fmt::format("<rect width=\"{}\" height=\"{}\" {}/>\n", picture_.width, height, ink("paper", "#fff")) +
             title();
    out += hatching() + key_.svg + ruler(bottom) + grid(bottom + (ruled() ? ruler_height + 4 : 0));
    for (std::size_t l = 0; l < lanes_.size(); ++l)
      out += lane(lanes_[l], lanes_top_ + static_cast<int>(l) * lane_height);
    out += barriers();
    for (std::size_t l = 0; l < lanes_.size(); ++l)
      out += labels(lanes_[l], lanes_top_ + static_cast<int>(l) * lane_height);
    return out + "</svg>\n";
  }

 private:
  /// Returns true if blocks of one clock and thread are wide enough to be seen.
  [[nodiscard]] bool ruled() const {
    return r_.agent_threads > 0 && static_cast<double>(r_.agent_threads) * scale_ >= narrowest;
  }

  /// Draws a ruler whose blocks are one clock of each of an agent's threads.
  [[nodiscard]] std::string ruler(int bottom) const {
    if (!ruled()) return "";
    const double block = static_cast<double>(r_.agent_threads) * scale_;
    std::string out;
    for (int i = 0; i * static_cast<double>(r_.agent_threads) < r_.run.clocks; i += 2) {
      const double wide = std::min(block, r_.run.clocks * scale_ - i * block);
      out += fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" {}/>\n", lane_label + i * block,
                         bottom + 1, wide, ruler_height, ink("soft", "#555"));
    }
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"none\" {}/>\n", lane_label,
                       bottom + 1, r_.run.clocks * scale_, ruler_height, ink("soft", "#555", "stroke-width:.6;stroke"));
    return out + fmt::format("<text x=\"12\" y=\"{}\" font-size=\"11\" {}>{} clk a block</text>\n",
                             bottom + ruler_height + 2, ink("soft", "#555"), r_.agent_threads);
  }

  /// Draws barriers as thick dotted lines between the work that was waited for and the threads that waited.
  [[nodiscard]] std::string barriers() const {
    std::string out;
    const auto row = [&](const TimelineSpan& s, int other) {
      for (std::size_t l = 0; l < lanes_.size(); ++l) {
        if (lanes_[l].has(r_, s)) return lanes_top_ + static_cast<int>(l) * lane_height;
      }
      return other;
    };
    for (const Wait& wait : waits_) {
      const TimelineSpan &s = r_.run.spans[wait.span], &on = r_.run.spans[wait.on];
      const int own = row(s, lanes_top_), other = row(on, own);
      const int from = std::min(own, other), to = std::max(own, other) + bar_height;
      out += fmt::format(
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" class=\"barrier\" stroke-dasharray=\"2 4\" "
          "stroke-linecap=\"round\" {3}><title>{4} waits for {5}</title></line>\n",
          left(s), from, to, ink("ink", "#000", "stroke-width:2.4;stroke"), escaped(label_of(r_, s)),
          escaped(label_of(r_, on)));
    }
    return out;
  }

  /// Returns a colour of the page, or the given one if the picture is on its own: as an attribute too, for programs
  /// that do not know CSS variables.
  static std::string ink(std::string_view name, std::string_view alone, std::string_view property = "fill") {
    return fmt::format("{}=\"{}\" style=\"{}:var(--{},{})\"", property.substr(property.find_last_of(';') + 1), alone,
                       property, name, alone);
  }

  [[nodiscard]] std::string title() const {
    const auto line = [](int y, const std::string& style, const std::string& text) {
      return fmt::format("<text x=\"12\" y=\"{}\" {}>{}</text>\n", y, style, escaped(text));
    };
    return line(24, "font-size=\"16\" font-weight=\"bold\"",
                fmt::format("{} of {} on {}: the first {} iterations of a block", r_.head.kernel.value_or("ideal"),
                            r_.head.algorithm, r_.head.gpu.value_or(""), r_.iterations)) +
           line(45, ink("soft", "#444"), text_of(r_.head.tile)) +
           line(65, ink("soft", "#444"),
                fmt::format(
                    "an iteration takes {:.0f} clk; busiest pipe: {}, {:.0f} clk; longest chain of waits: {:.0f} "
                    "clk",
                    r_.period.clocks, pipe_words(r_), r_.period.pipe.clocks, r_.period.cycle.clocks));
  }

  /// The drawn key, and its rows.
  struct Key {
    std::string svg;
    int rows = 1;
  };
  [[nodiscard]] int key_top() const { return picture_.titled ? 76 : 6; }

  /// Draws the stages' colours, and what an outline says, in as many rows as the width asks for.
  [[nodiscard]] Key key_of() const {
    Key key;
    double x = 12;
    const auto item = [&](const std::string& fill, const std::string& edge, const std::string& name) {
      const double wide = 34 + static_cast<double>(name.size()) * 7;
      if (x + wide > picture_.width && x > 12) x = 12, ++key.rows;
      const int y = key_top() + key_row * key.rows - 8;
      key.svg += fmt::format(
          "<rect x=\"{0:.0f}\" y=\"{1}\" width=\"13\" height=\"13\" fill=\"{2}\" {3}/><text x=\"{4:.0f}\" y=\"{5}\" "
          "font-size=\"12\">{6}</text>\n",
          x, y - 11, fill, edge, x + 18, y, escaped(name));
      x += wide;
    };
    for (const auto& [stage, colour] : colours_) {
      if (is_drawn(stage)) item(colour, "", stage);
    }
    if (!critical_.empty())
      item("none", ink("ink", "#000", "stroke-width:1.8;stroke"), "on the longest chain of waits");
    if (!waits_.empty())
      item("none", ink("ink", "#000", "stroke-width:2.4;stroke-dasharray:2 4;stroke-linecap:round;stroke"),
           "threads wait for other work");
    if (has_room()) item("url(#room)", "", "room before the tensor unit waits");
    return key;
  }

  /// Returns true if any bar has the stage's colour.
  [[nodiscard]] bool is_drawn(const std::string& stage) const {
    return std::any_of(r_.run.spans.begin(), r_.run.spans.end(), [&](const TimelineSpan& s) {
      return s.end > s.start && stage_of(r_.graph.node(s.node)) == stage;
    });
  }

  /// Returns true if a room is hatched.
  [[nodiscard]] bool has_room() const {
    return std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
      return std::any_of(r_.run.spans.begin(), r_.run.spans.end(),
                         [&](const TimelineSpan& s) { return lane.has(r_, s) && !room(s, lane, 0).empty(); });
    });
  }

  /// Draws a line for each steady iteration's length; under it its clocks, and its microseconds at the predicted clock.
  [[nodiscard]] std::string grid(int bottom) const {
    std::string out;
    for (int i = 0; i * r_.period.clocks <= r_.run.clocks; ++i) {
      const double clocks = i * r_.period.clocks, x = lane_label + clocks * scale_;
      out += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" {3} stroke-dasharray=\"2 3\"/>\n",
                         x, lanes_top_ - 6, bottom + 4, ink("soft", "#999", "stroke"));
      if (x + 44 > picture_.width) continue;
      out += fmt::format(
          "<text x=\"{0:.1f}\" y=\"{1}\" font-size=\"11\" {4}>{2}</text><text x=\"{0:.1f}\" y=\"{3}\" "
          "font-size=\"11\" {4}>{5}</text>\n",
          x + 2, bottom + 14, count_text(std::llround(clocks)), bottom + 28, ink("soft", "#555"), microseconds(clocks));
    }
    return out + fmt::format(
                     "<text x=\"12\" y=\"{0}\" font-size=\"11\" {2}>{3} clocks</text><text x=\"12\" y=\"{1}\" "
                     "font-size=\"11\" {2}>µs</text>\n",
                     bottom + 14, bottom + 28, ink("soft", "#555"), escaped(r_.words.node));
  }

  [[nodiscard]] std::string microseconds(double clocks) const {
    return r_.predicted.clock.value > 0 ? fmt::format("{:.2f}", 1e6 * clocks / r_.predicted.clock.value) : "";
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
    const std::string& name = r_.graph.node(s.node).name;
    for (const std::string& text : {label_of(r_, s), name, step_of(name), name.substr(0, name.find('.'))}) {
      if (static_cast<double>(text.size()) * character + label_inset + 1.5 <= width) return text;
    }
    return "";
  }

  [[nodiscard]] std::string lane(const Lane& lane, int y) const {
    std::string out = fmt::format("<text x=\"12\" y=\"{}\">{}</text>\n", y + 16, escaped(lane.name));
    std::string outlined;  // drawn last, since neighbours would hide half of an outline
    for (const TimelineSpan& s : r_.run.spans) {
      if (!lane.has(r_, s)) continue;
      out += room(s, lane, y);
      (critical(s) ? outlined : out) += bar(s, y);
    }
    return out + outlined;
  }

  /// Writes the names of a lane's bars, over the barriers that pass there.
  [[nodiscard]] std::string labels(const Lane& lane, int y) const {
    std::string out;
    for (const TimelineSpan& s : r_.run.spans) {
      if (lane.has(r_, s)) out += label(s, y);
    }
    return out;
  }

  [[nodiscard]] const std::string& colour(const std::string& stage) const {
    return std::find_if(colours_.begin(), colours_.end(), [&](const auto& one) { return one.first == stage; })->second;
  }
  [[nodiscard]] double left(const TimelineSpan& s) const { return lane_label + s.start * scale_; }
  [[nodiscard]] double width(const TimelineSpan& s) const { return std::max((s.end - s.start) * scale_, 0.5); }

  [[nodiscard]] std::string bar(const TimelineSpan& s, int y) const {
    const std::string edge =
        critical(s) ? ink("ink", "#000", "stroke-width:1.8;stroke") : ink("paper", "#fff", "stroke-width:.6;stroke");
    return fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\" {}><title>{}: {:.0f} to {:.0f} clk, {} "
        "to {} µs</title></rect>\n",
        left(s), y, width(s), bar_height, colour(stage_of(r_.graph.node(s.node))), edge, escaped(label_of(r_, s)),
        s.start, s.end, microseconds(s.start), microseconds(s.end));
  }

  /// Hatches the time by which the span's operation may be longer before the tensor unit waits, up to the next span.
  [[nodiscard]] std::string room(const TimelineSpan& s, const Lane& lane, int y) const {
    const std::string& name = r_.graph.node(s.node).name;
    const auto budget = std::find_if(r_.budgets.begin(), r_.budgets.end(), [&](const auto& one) {
      return name == one.first || name.starts_with(one.first + ".");
    });
    if (budget == r_.budgets.end() || !(budget->second > 0)) return "";
    double end = std::min(s.end + budget->second * (s.end - s.start), r_.run.clocks);
    for (const TimelineSpan& other : r_.run.spans) {
      if (lane.has(r_, other) && other.start >= s.end) end = std::min(end, other.start);
    }
    const double wide = (end - s.end) * scale_;
    if (wide < 1) return "";
    return fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"url(#room)\"><title>{} may take {:.0f} % "
        "longer before the tensor unit waits</title></rect>\n",
        lane_label + s.end * scale_, y, wide, bar_height, escaped(budget->first), 100 * budget->second);
  }
  /// Defines the hatching, if a room is drawn.
  [[nodiscard]] std::string hatching() const {
    if (!has_room()) return "";
    return "<pattern id=\"room\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
           "patternTransform=\"rotate(45)\"><line x1=\"0\" x2=\"0\" y1=\"0\" y2=\"5\" stroke-width=\"1.2\" " +
           ink("soft", "#777", "stroke") + "/></pattern>\n";
  }

  [[nodiscard]] std::string label(const TimelineSpan& s, int y) const {
    const std::string text = shown(s, width(s));
    if (text.empty()) return "";
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{}\" fill=\"#111\" stroke=\"{}\" stroke-width=\"3\" paint-order=\"stroke\" "
        "font-size=\"11\" pointer-events=\"none\">{}</text>\n",
        left(s) + label_inset, y + 15, colour(stage_of(r_.graph.node(s.node))), escaped(text));
  }

  const TimelineAnswer& r_;
  TimelinePicture picture_;
  std::vector<Lane> lanes_;
  std::vector<Wait> waits_;
  Colours colours_;
  std::set<std::string> critical_;
  double scale_;
  Key key_;
  int lanes_top_;
};

}  // namespace

std::string svg_of(const TimelineAnswer& report, const TimelinePicture& picture) {
  return Chart(report, picture).svg();
}

}  // namespace napkin::internal::report
