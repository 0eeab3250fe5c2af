// The section of a report that sets the tile and its runners-up under the machine's roofs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "apps/report/html/html.hpp"
#include "apps/report/html/report_parts.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr double flop_a_tera = 1e12, near_enough = 1.03;
constexpr std::size_t slope_colours = 5;

/// Levels with equal numbers, named together: "L2 -> L1, UB" and "L1, UB".
struct Named {
  std::string name, targets;
  double value = 0;
};

constexpr std::string_view arrow = " -> ";

/// Returns "shared" of "L2 -> shared"
std::string target_of(const std::string& route) {
  const std::size_t at = route.rfind(arrow);
  return at == std::string::npos ? route : route.substr(at + arrow.size());
}

/// Writes a route that follows another one: by its target alone if both begin at one level.
std::string beside(const std::string& routes, const std::string& route) {
  const std::size_t at = route.find(arrow);
  return at != std::string::npos && routes.starts_with(route.substr(0, at + arrow.size())) ? target_of(route) : route;
}

/// Merges levels with equal numbers, named by the routes of their pipes.
template <class Each, class Value>
std::vector<Named> merged(const Vocabulary& terms, const std::vector<Each>& all, const Value& value) {
  std::vector<Named> out;
  for (const Each& one : all) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const Named& other) {
      return std::max(other.value, value(one)) < near_enough * std::min(other.value, value(one));
    });
    const std::string route = terms.route(one.level);
    if (same == out.end()) {
      out.push_back({route, target_of(route), value(one)});
    } else {
      same->name += ", " + beside(same->name, route);
      same->targets += ", " + target_of(route);
    }
  }
  return out;
}

/// Returns the roofline without levels that pass on all bytes that they receive.
RooflineAnswer shown(const ReportAnswer& answer) {
  const std::vector<LevelAnswer>& levels = answer.query.levels;
  const auto handed = [&](const auto& one) {
    const auto at =
        std::find_if(levels.begin(), levels.end(), [&](const auto& level) { return level.name == one.level; });
    return at != levels.end() && hands_on(levels, static_cast<std::size_t>(at - levels.begin()));
  };
  RooflineAnswer out = *answer.roofline;
  std::erase_if(out.slopes, handed);
  for (RooflineTile& tile : out.tiles) std::erase_if(tile.points, handed);
  return out;
}

class Roofline {
 public:
  Roofline(const RooflineAnswer& answer, const Vocabulary& terms)
      : a_(answer),
        terms_(terms),
        slopes_(merged(terms, answer.slopes, [](const RooflineSlope& s) { return s.bandwidth; })),
        points_(merged(terms, answer.tiles.front().points, [](const RooflinePoint& p) { return p.intensity; })) {
    const double rate = answer.tiles.front().rate;
    const double peak = answer.peak.value_or(2 * rate);
    x0_ = x1_ = points_.front().value;
    for (const RooflineTile& tile : answer.tiles) {
      for (const RooflinePoint& p : tile.points) x0_ = std::min(x0_, p.intensity), x1_ = std::max(x1_, p.intensity);
    }
    for (const Named& slope : slopes_) x0_ = std::min(x0_, peak / slope.value), x1_ = std::max(x1_, peak / slope.value);
    x0_ /= 4, x1_ *= 4;
    y1_ = std::max(peak, rate), y0_ = std::min(peak, rate) / 24;
  }

  [[nodiscard]] std::string svg() const {
    std::string out =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\">\n", chart_width, chart_height);
    out += grid();
    const std::vector<std::size_t> order = by_end();
    for (std::size_t row = 0; row < order.size(); ++row) out += slope(order[row], row);
    if (a_.peak) out += roof();
    out += names();
    for (std::size_t t = a_.tiles.size(); t-- > 1;) out += runner(a_.tiles[t]);
    for (std::size_t i = 0; i < points_.size(); ++i) out += point(i);
    return out + "</svg>\n";
  }

 private:
  static constexpr double chart_width = 760, chart_height = 460, left = 78, right = 24, top = 26, bottom = 54;
  static constexpr double name_row = 17;

  /// Returns the rate at which slopes end: the roof, or without one the top of the picture.
  [[nodiscard]] double ceiling_rate() const { return a_.peak ? *a_.peak : y1_; }
  /// Returns the top of the rates' axis: below the rows of names.
  [[nodiscard]] double rates_top() const { return top + name_row * (static_cast<double>(slopes_.size()) + 1.6); }

  [[nodiscard]] double x(double intensity) const {
    return left + (chart_width - left - right) * std::log(intensity / x0_) / std::log(x1_ / x0_);
  }
  [[nodiscard]] double y(double rate) const {
    return chart_height - bottom - (chart_height - rates_top() - bottom) * std::log(rate / y0_) / std::log(y1_ / y0_);
  }
  [[nodiscard]] double ceiling(double intensity, double bandwidth) const {
    return a_.peak ? std::min(*a_.peak, intensity * bandwidth) : intensity * bandwidth;
  }

  [[nodiscard]] std::string grid() const {
    std::string out;
    const double floor = chart_height - bottom;
    for (int e = static_cast<int>(std::ceil(std::log10(x0_))); std::pow(10.0, e) <= x1_; ++e) {
      const double at = std::pow(10.0, e);
      out += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n", x(at),
                         rates_top(), floor);
      out += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(at),
                         floor + 18, e < 0 ? fmt::format("{:g}", at) : count_text(static_cast<std::int64_t>(at)));
    }
    for (int e = static_cast<int>(std::floor(std::log10(y0_))); std::pow(10.0, e) <= y1_; ++e) {
      for (const int step : {1, 2, 5}) {
        const double at = step * std::pow(10.0, e);
        if (at < y0_ || at > y1_) continue;
        out += fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n", left,
                           chart_width - right, y(at));
        out += fmt::format("<text class=\"soft\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n", left - 8,
                           y(at) + 4, at / flop_a_tera);
      }
    }
    out += fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>\n", left,
                       chart_width - right, floor);
    out +=
        fmt::format("<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\n", left, rates_top(), floor);
    out += fmt::format(
        "<text class=\"soft\" x=\"{:.0f}\" y=\"{}\" text-anchor=\"middle\">FLOP for each byte that crosses into the "
        "level</text>\n",
        (left + chart_width - right) / 2, chart_height - 12);
    return out + fmt::format("<text class=\"soft\" x=\"10\" y=\"{:.1f}\">TFLOP/s</text>\n", rates_top() - 12);
  }

  /// Returns the slopes by the intensity at which they end at the roof, so by falling bandwidth.
  [[nodiscard]] std::vector<std::size_t> by_end() const {
    std::vector<std::size_t> order(slopes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return slopes_[a].value > slopes_[b].value; });
    return order;
  }

  /// Draws a slope up to the roof, and its name at that end: names are in rows above the roof, lower to the right, so
  /// that no name crosses another slope's line.
  [[nodiscard]] std::string slope(std::size_t i, std::size_t row) const {
    const double bandwidth = slopes_[i].value;
    const double from = std::max(x0_, y0_ / bandwidth), to = std::min(x1_, ceiling_rate() / bandwidth);
    if (from >= to) return "";
    const double name_y = top + name_row * (static_cast<double>(row) + 0.75);
    return fmt::format("<line class=\"slope s{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                       i % slope_colours, x(from), y(from * bandwidth), x(to), y(to * bandwidth)) +
           fmt::format("<line class=\"lead s{0}\" x1=\"{1:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" y2=\"{3:.1f}\"/>\n",
                       i % slope_colours, x(to), y(to * bandwidth), name_y - 9) +
           fmt::format("<text class=\"end halo p{}\" x=\"{:.1f}\" y=\"{:.1f}\">{} {}</text>\n", i % slope_colours,
                       x(to) + 4, name_y, html::text(slopes_[i].name), html::text(rate_text(bandwidth)));
  }

  [[nodiscard]] std::string roof() const {
    double ridge = x1_;
    for (const Named& slope : slopes_) ridge = std::min(ridge, *a_.peak / slope.value);
    return fmt::format("<line class=\"roof\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n",
                       x(std::max(ridge, x0_)), x(x1_), y(*a_.peak)) +
           fmt::format("<text class=\"halo\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{} {} at {}</text>\n",
                       x(x1_) - 4, y(*a_.peak) - 9, html::text(a_.instruction),
                       html::text(tflops_text(*a_.peak / flop_a_tera)), html::text(clock_text(a_.clock)));
  }

  [[nodiscard]] std::string runner(const RooflineTile& tile) const {
    std::string out;
    for (const RooflinePoint& p : tile.points)
      out += fmt::format(
          "<path class=\"other axis\" d=\"M{0:.1f} {1:.1f}l5 5m0 -5l-5 5\"><title>{2}, at {3}</title></path>\n",
          x(p.intensity) - 2.5, y(tile.rate) - 2.5, html::text(text_of(tile.tile)), html::text(terms_.route(p.level)));
    return out;
  }

  /// Draws the tile's point at a level, with the room up to that level's roof.
  [[nodiscard]] std::string point(std::size_t i) const {
    const double rate = a_.tiles.front().rate, at = points_[i].value;
    const auto slope = slope_of(i);
    const std::size_t colour = colour_of(i);
    std::string out;
    if (slope != slopes_.end())
      out += fmt::format("<line class=\"room s{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{3:.1f}\"/>\n",
                         colour, x(at), y(rate), y(ceiling(at, slope->value)));
    return out + fmt::format(
                     "<circle class=\"dot p{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6.5\"><title>{}: {:.4g} FLOP a "
                     "byte</title></circle>\n",
                     colour, x(at), y(rate), html::text(points_[i].name), at);
  }

  /// Writes the points' names at the foot, each at the end of a thin line, as runners-up are drawn right below a point.
  [[nodiscard]] std::string names() const {
    constexpr double character = 7.4, row = 16;
    std::vector<std::size_t> order(points_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return points_[a].value < points_[b].value; });
    std::vector<double> ends;  // right end of the last name of each row
    std::string out;
    for (const std::size_t i : order) {
      const double at = x(points_[i].value), half = character * static_cast<double>(points_[i].targets.size()) / 2;
      std::size_t r = 0;
      while (r < ends.size() && ends[r] + character > at - half) ++r;
      if (r == ends.size()) ends.push_back(0);
      ends[r] = at + half;
      const double name_y = chart_height - bottom - 10 - row * static_cast<double>(r);
      out += fmt::format("<line class=\"guide s{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{3:.1f}\"/>\n",
                         colour_of(i), at, y(a_.tiles.front().rate), name_y - 12);
      out += fmt::format("<text class=\"halo p{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                         colour_of(i), at, name_y, html::text(points_[i].targets));
    }
    return out;
  }

  /// Returns the slope under which a point stands; the end if none is known.
  [[nodiscard]] std::vector<Named>::const_iterator slope_of(std::size_t i) const {
    return std::find_if(slopes_.begin(), slopes_.end(), [&](const Named& s) {
      return s.name.starts_with(points_[i].name.substr(0, points_[i].name.find(',')));
    });
  }
  [[nodiscard]] std::size_t colour_of(std::size_t i) const {
    return static_cast<std::size_t>(slope_of(i) - slopes_.begin()) % slope_colours;
  }

  RooflineAnswer a_;
  const Vocabulary& terms_;
  std::vector<Named> slopes_, points_;
  double x0_ = 1, x1_ = 10, y0_ = 1, y1_ = 10;
};

std::string tiles_table(const ReportAnswer& answer) {
  const RooflineAnswer& roofline = *answer.roofline;
  html::Table table{"The tile, and the model's best tiles of other sizes",
                    {{"tile"}, {"time", true}, {"TFLOP/s", true}, {"of the peak", true}},
                    {}};
  for (const RooflinePoint& point : roofline.tiles.front().points)
    table.columns.push_back({"FLOP a byte, " + answer.query.head.terms.route(point.level), true});
  for (std::size_t t = 0; t < roofline.tiles.size(); ++t) {
    const RooflineTile& tile = roofline.tiles[t];
    const TileValues& first = roofline.tiles.front().tile;
    const std::string knobs = t == 0 ? std::string("this tile") : html::code(differences(tile.tile, first));
    const double time = static_cast<double>(answer.query.work.flops) / tile.rate;
    std::vector<std::string> row{knobs, html::time(time), tflops_cell(tile.rate / flop_a_tera),
                                 roofline.peak ? html::share(tile.rate / *roofline.peak, 1) : ""};
    for (const RooflinePoint& point : tile.points) row.push_back(fmt::format("{:.4g}", point.intensity));
    table.rows.push_back(std::move(row));
  }
  table.marked = {0};
  return html::table(table);
}

std::string roof_words(const ReportAnswer& answer) {
  const RooflineAnswer& roofline = *answer.roofline;
  if (!roofline.peak) return "The profile has no tensor instruction of this type, so there is no roof, only slopes.";
  return fmt::format(
      "At the clock that the card holds, {} can do {}; this tile reaches {} of it. A dot stands under each level's "
      "slope: the dotted line is the room that is left before that level's bandwidth binds.",
      html::text(roofline.instruction), html::number(tflops_text(*roofline.peak / flop_a_tera)),
      html::share(roofline.tiles.front().rate / *roofline.peak, 1));
}

}  // namespace

std::string roofline_section(const ReportAnswer& answer) {
  if (!answer.roofline || answer.roofline->tiles.front().points.empty()) return "";
  const bool runners = answer.roofline->tiles.size() > 1;
  return html::section(
      "roofline", "Under the roofline", roof_words(answer),
      html::figure(
          Roofline(shown(answer), answer.query.head.terms).svg(),
          "Roofline: speed over FLOP for each byte, with the tile at each level. The table below has the numbers.",
          std::string("Both axes are logarithmic.") + (runners ? " Crosses are the runners-up." : "") +
              " A slope's bandwidth is of bytes that one node reads alone; copies that several read at once pass "
              "faster, so a dot may stand above its slope.",
          "chart") +
          tiles_table(answer));
}

}  // namespace napkin::internal::report
