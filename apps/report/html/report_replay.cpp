// The report of a replay: predicted against measured times, errors by kernel, regret by sweep.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apps/library/question/revision.hpp"
#include "apps/report/html/html.hpp"
#include "apps/report/html/report.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

using Rows = std::vector<const ScoredRow*>;

/// Returns the newest rows with right results, as the summary counts them.
Rows shown_rows(const std::vector<ScoredRow>& newest_rows) {
  Rows out;
  for (const ScoredRow& row : newest_rows) {
    if (is_right(row.row->measured)) out.push_back(&row);
  }
  return out;
}

class Scatter {
 public:
  explicit Scatter(const Rows& rows) : rows_(rows) {
    least_ = most_ = rows.front()->row->measured.time;
    for (const ScoredRow* row : rows) {
      for (const double time : {row->row->measured.time, row->predicted.time})
        least_ = std::min(least_, time), most_ = std::max(most_, time);
      const std::string kernel = row->row->head.kernel.value_or("");
      if (std::find(kernels_.begin(), kernels_.end(), kernel) == kernels_.end()) kernels_.push_back(kernel);
    }
    least_ /= 1.3, most_ *= 1.3;
  }

  [[nodiscard]] std::string svg() const {
    std::string out = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\">\n", width, height);
    out += band() + grid();
    const std::size_t step = (rows_.size() + most_dots - 1) / most_dots;
    for (std::size_t i = 0; i < rows_.size(); i += step) out += dot(*rows_[i]);
    return out + "</svg>\n";
  }

  [[nodiscard]] std::string legend() const {
    std::string out;
    for (std::size_t k = 0; k < kernels_.size(); ++k)
      out += fmt::format("{}{}: {}", k == 0 ? "" : "; ", mark_names[k % marks], html::code(kernels_[k]));
    return out;
  }

 private:
  static constexpr double width = 640, height = 560, left = 76, right = 20, top = 20, bottom = 52;
  static constexpr double within = 0.10;  // half width of the shaded band around the diagonal, fraction
  // dots of the picture at most; of more rows, every other one is left out
  static constexpr std::size_t most_dots = 3000;
  static constexpr std::size_t marks = 5;
  static constexpr const char* mark_names[marks] = {"circles", "squares", "triangles", "diamonds", "bars"};

  [[nodiscard]] double part(double time) const { return std::log(time / least_) / std::log(most_ / least_); }
  [[nodiscard]] double x(double time) const { return left + (width - left - right) * part(time); }
  [[nodiscard]] double y(double time) const { return height - bottom - (height - top - bottom) * part(time); }

  [[nodiscard]] std::string band() const {
    const double up = 1 + within, down = 1 - within;
    return fmt::format(
               "<path class=\"band\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} "
               "{:.1f}Z\"/>\n",
               x(least_), y(least_), x(least_), y(least_ * up), x(most_ / up), y(most_), x(most_), y(most_), x(most_),
               y(most_ * down), x(least_ / down), y(least_)) +
           fmt::format("<line class=\"axis\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x(least_),
                       y(least_), x(most_), y(most_));
  }

  /// Draws a line for a time on both axes, if it lies within them.
  [[nodiscard]] std::string line_at(double at) const {
    if (at < least_ || at > most_) return "";
    const std::string name = at < 9.99e-4 ? fmt::format("{:g} µs", at * 1e6)
                             : at < 0.999 ? fmt::format("{:g} ms", at * 1e3)
                                          : fmt::format("{:g} s", at);
    return fmt::format(
               "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n<text class=\"soft\" "
               "x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
               x(at), top, height - bottom, height - bottom + 18, name) +
           fmt::format(
               "<line class=\"grid\" x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>\n<text class=\"soft\" "
               "x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
               y(at), left, width - right, left - 6, y(at) + 4, name);
  }

  [[nodiscard]] std::string grid() const {
    std::string out;
    for (int e = static_cast<int>(std::floor(std::log10(least_))); std::pow(10.0, e) <= most_; ++e) {
      for (const int step : {1, 2, 5}) out += line_at(step * std::pow(10.0, e));
    }
    out += fmt::format("<text class=\"soft\" x=\"{:.0f}\" y=\"{}\" text-anchor=\"middle\">measured</text>\n",
                       (left + width - right) / 2, height - 12);
    return out + fmt::format(
                     "<text class=\"soft\" transform=\"translate(16 {:.0f}) rotate(-90)\" "
                     "text-anchor=\"middle\">predicted</text>\n",
                     (top + height - bottom) / 2);
  }

  [[nodiscard]] std::string dot(const ScoredRow& row) const {
    const std::size_t kernel =
        static_cast<std::size_t>(std::find(kernels_.begin(), kernels_.end(), row.row->head.kernel.value_or("")) -
                                 kernels_.begin()) %
        marks;
    const double cx = x(row.row->measured.time), cy = y(row.predicted.time);
    if (kernel == 0) return fmt::format("<circle class=\"dots p0\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n", cx, cy);
    static constexpr const char* paths[marks] = {"", "m-3 -3h6v6h-6z", "m0 -4l4 7h-8z", "m0 -4l4 4l-4 4l-4 -4z",
                                                 "m-4 -1.5h8v3h-8z"};
    return fmt::format("<path class=\"dots p{}\" d=\"M{:.1f} {:.1f}{}\"/>\n", kernel, cx, cy, paths[kernel]);
  }

  const Rows& rows_;
  std::vector<std::string> kernels_;
  double least_ = 1, most_ = 1;
};

std::string part_of(const std::optional<double>& fraction) { return fraction ? html::share(*fraction, 1) : ""; }

std::string errors_section(const ReplayReport& replay) {
  html::Table table{
      "Mean, median and worst of |predicted / measured - 1|, over the rows within 1.5 times of the best of their "
      "question",
      {{"kernel"},
       {"split"},
       {"rows", true},
       {"time: mean", true},
       {"median", true},
       {"worst", true},
       {"cycles: mean", true},
       {"clock: mean", true},
       {"power: mean", true},
       {"unfitted: time", true},
       {"rank correlation", true}},
      {}};
  const auto mean = [](const std::optional<ErrorSummary>& errors) {
    return errors ? html::share(errors->mean, 1) : std::string();
  };
  for (const auto& [kernel, splits] : replay.summary.kernels) {
    for (const auto& [name, split] : splits) {
      const SplitSummary& unfitted = replay.measured.kernels.at(kernel).at(name);
      table.rows.push_back({html::code(kernel), html::text(name), count_text(static_cast<std::int64_t>(split.rows)),
                            mean(split.time), split.time ? html::share(split.time->median, 1) : "",
                            split.time ? html::share(split.time->worst, 1) : "", mean(split.cycles), mean(split.clock),
                            mean(split.power), mean(unfitted.time),
                            split.spearman ? fmt::format("{:.3f}", *split.spearman) : ""});
    }
  }
  return html::section("errors", "Error by kernel",
                       "<b>Held-out</b> rows judge the model: no constant was fitted to them. <b>Unfitted</b> leaves "
                       "out every constant that was fitted to runs of whole kernels.",
                       html::table(table));
}

struct Sweep {
  const ScoredRow* first = nullptr;
  std::vector<ScoredRow> rows;
};

std::string regret_section(const ReplayReport& replay, const Rows& rows) {
  std::map<std::string, Sweep> sweeps;
  for (const ScoredRow* row : rows) {
    if (!row->row->sweep) continue;
    Sweep& sweep = sweeps[*row->row->sweep];
    if (sweep.first == nullptr) sweep.first = row;
    sweep.rows.push_back(*row);
  }
  html::Table table{
      "What the pick of each sweep loses to the best tile measured in it",
      {{"kernel"}, {"question"}, {"split"}, {"tiles", true}, {"regret", true}, {""}, {"best of three", true}},
      {}};
  std::vector<std::pair<double, std::vector<std::string>>> lines;
  for (const auto& [id, sweep] : sweeps) {
    if (sweep.rows.size() < 2) continue;
    const Regret regret = regret_of(sweep.rows);
    const Head& head = sweep.first->row->head;
    lines.push_back({regret.regret,
                     {html::code(head.kernel.value_or("")),
                      html::code(text_of(head.shape)) + ", " + html::text(html::mask(head.mask)),
                      html::text(sweep.first->row->split), count_text(static_cast<std::int64_t>(sweep.rows.size())),
                      html::share(regret.regret, 2), html::bar(regret.regret / 0.1), html::share(regret.top3, 2)}});
  }
  if (lines.empty()) return "";
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [regret, line] : lines) table.rows.push_back(std::move(line));
  const RegretSummary& all = replay.summary.regret;
  const std::string lead =
      all.sweeps == 0
          ? std::string("No held-out sweep is among the rows.")
          : fmt::format(
                "Over {} held-out sweep{} the pick is {} behind the best measured tile in the mean and {} at worst. A "
                "full bar is 10\u00a0%. <b>Best of three</b>: the fastest of the three best predicted.",
                all.sweeps, all.sweeps == 1 ? "" : "s", part_of(all.mean), part_of(all.worst));
  return html::section("regret", "Regret by sweep", lead, html::table(table));
}

std::string replay_lead(const ReplayReport& replay, const Rows& rows) {
  std::string out;
  for (const auto& [kernel, splits] : replay.summary.kernels) {
    const auto held = splits.find("held-out");
    if (held == splits.end() || !held->second.time) continue;
    out += fmt::format(
        "{}{} the predicted time is {} off in the mean and {} at worst, over the {} held-out rows within 1.5 "
        "times of the best of their question",
        out.empty() ? "For " : "; for ", html::code(kernel), html::share(held->second.time->mean, 1),
        html::share(held->second.time->worst, 1), count_text(static_cast<std::int64_t>(held->second.time->rows)));
  }
  return out.empty()
             ? fmt::format("{} measured rows, predicted anew.", count_text(static_cast<std::int64_t>(rows.size())))
             : out + ".";
}

}  // namespace

std::string html_of(const ReplayReport& replay, std::string_view command) {
  const std::vector<ScoredRow> newest_rows = newest(replay.rows);
  const Rows rows = shown_rows(newest_rows);
  html::Page page;
  page.kicker = "Napkin report";
  page.heading = "Predicted against measured";
  page.title = page.heading + " - Napkin";
  page.lead = fmt::format("<p class=\"lead\">{}</p>\n", replay_lead(replay, rows));
  if (!rows.empty()) {
    const Scatter scatter(rows);
    page.body += html::section(
        "scatter", "Every row",
        fmt::format("Each of the {} marks is one measured tile. On the line the prediction is the measurement; the "
                    "band is 10\u00a0% to "
                    "either side.",
                    count_text(static_cast<std::int64_t>(rows.size()))),
        html::figure(scatter.svg(), "Predicted over measured time, both logarithmic. The tables below have the errors.",
                     "Marks: " + scatter.legend() + ".", "chart square"));
    page.parts.push_back({"scatter", "Every row"});
  }
  page.body += errors_section(replay);
  page.parts.push_back({"errors", "Error by kernel"});
  if (const std::string regret = regret_section(replay, rows); !regret.empty()) {
    page.body += regret;
    page.parts.push_back({"regret", "Regret by sweep"});
  }
  std::string files;
  for (const std::string& file : replay.files) files += fmt::format("<li>{}</li>\n", html::code(file));
  page.footer = html::paragraph(fmt::format("Made by {}, sources {}, from:", html::code("napkin " NAPKIN_VERSION),
                                            html::code(source_revision()))) +
                "<ul>\n" + files + "</ul>\n<pre>" + html::text(command) + "</pre>\n";
  return html::page(page);
}

}  // namespace napkin::internal::report
