#include "apps/report/diagram/foot.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr double row = 15;

std::string amount(const ColumnDiagram& d, std::int64_t bytes, bool memory) {
  return d.values ? count_text(bytes) : memory ? memory_text(bytes) : transfer_text(bytes);
}

/// Draws the M of each column, a line for each level that holds anything.
double held_rows(const ColumnDiagram& d, const Frame& f, const std::vector<std::string>& colours, Drawing& out,
                 double y) {
  std::vector<LevelId> levels;
  for (const DiagramLevel& level : d.levels) {
    if (level.drawn > 0) levels.push_back(level.level);
  }
  for (const LevelId level : levels) {
    for (std::size_t i = 0; i < d.columns.size(); ++i) {
      for (const LevelHeld& held : d.columns[i].held) {
        if (held.level != level || held.bytes == 0) continue;
        out.labels.push_back({{f.left[i + 1] - 3, y},
                              plain(amount(d, held.bytes, true)),
                              "held",
                              small_size,
                              held.bytes == d.levels[at(level)].drawn,
                              colours[at(level)],
                              Anchor::end,
                              d.levels[at(level)].name + " holds"});
      }
    }
    const DiagramLevel& one = d.levels[at(level)];
    out.labels.push_back({{20, y},
                          plain("M " + one.name + (one.limit ? " of " + amount(d, *one.limit, true) : "")),
                          "row",
                          small_size,
                          true,
                          colours[at(level)],
                          Anchor::start,
                          "what " + one.name + " holds in that column"});
    y += row;
  }
  return y;
}

/// Draws the terms of each column's M below one another, for a diagram without sizes.
double value_rows(const ColumnDiagram& d, const Frame& f, const std::vector<std::string>& colours, Drawing& out,
                  double y) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < d.columns.size(); ++i) {
    const auto& values = d.columns[i].values;
    most = std::max(most, values.size());
    for (std::size_t line = 0; line < values.size(); ++line) {
      const std::vector<Span> spans = product_spans((line > 0 ? "+ " : "") + values[line]);
      out.labels.push_back({{f.left[i + 1] - 3, y + static_cast<double>(line) * row},
                            spans,
                            "held",
                            axis_size,
                            false,
                            colours[1],
                            Anchor::end,
                            "held in this column"});
    }
  }
  return y + static_cast<double>(most) * row;
}

/// Describes a level: "shared loads 1.125 GB, stores 34.60 MB, 3.293 MB a group of 352; holds 112.0 KiB of 227.0 KiB as
/// drawn, ..."
std::string words_of(const ColumnDiagram& d, const DiagramLevel& level) {
  if (level.level == 0 || !d.placed)
    return level.level == 0 ? "where arrays come from and go to" : "where they are used";
  std::string out =
      fmt::format("loads {}, stores {}, {} a group of {}", amount(d, level.load, false), amount(d, level.store, false),
                  amount(d, level.per_group, false), count_text(level.groups));
  if (level.live == 0 && level.drawn == 0) return out;
  out += fmt::format("; holds {} as drawn, {} live, {} allocated", amount(d, level.drawn, true),
                     amount(d, level.live, true), amount(d, level.allocated, true));
  return level.limit ? out + " of " + amount(d, *level.limit, true) : out;
}

}  // namespace

void add_foot(const ColumnDiagram& d, const Frame& f, const std::vector<std::string>& colours, Drawing& out) {
  double y = f.bottom + 26;
  const double begin = y;
  y = d.placed ? held_rows(d, f, colours, out, y) : value_rows(d, f, colours, out, y);
  if (y > begin) {
    out.paths.push_back(line({20, begin - 13}, {f.left.back(), begin - 13}, "rule", "#bbbbbb", 0.8));
    if (!d.placed)
      out.labels.push_back(
          {{20, begin}, plain("M"), "row", small_size, true, grey, Anchor::start, "what a group holds in that column"});
  }
  y += 14;
  double names = 0;
  for (const DiagramLevel& level : d.levels) {
    if (level.used) names = std::max(names, width_of(plain(level.name + "*"), 12, true));
  }
  for (const DiagramLevel& level : d.levels) {
    if (!level.used) continue;
    const std::string& colour = colours[at(level.level)];
    out.paths.push_back(line({20, y - 4}, {44, y - 4}, "swatch", colour, 4));
    out.labels.push_back({{52, y},
                          plain(level.name + (level.kind == LevelKind::cache ? "*" : "")),
                          "level",
                          12,
                          true,
                          colour,
                          Anchor::start,
                          ""});
    out.labels.push_back(
        {{52 + names + 14, y}, plain(words_of(d, level)), "level-text", 11, false, "#222222", Anchor::start, ""});
    out.width = std::max(out.width, 52 + names + 14 + width_of(plain(words_of(d, level)), 11) + 20);
    y += 18;
  }
  for (const std::string& formula : d.formulas) {
    out.labels.push_back({{20, y}, product_spans(formula), "formula", 12, false, dark, Anchor::start, ""});
    out.width = std::max(out.width, box_of(out.labels.back()).right + 20);
    y += 18;
  }
  for (const std::string& note : d.notes) {
    out.labels.push_back({{20, y}, plain(note), "note", small_size, false, grey, Anchor::start, ""});
    out.width = std::max(out.width, 20 + width_of(plain(note), small_size) + 20);
    y += row;
  }
  out.height = y + 8;
}

}  // namespace napkin::internal::report
