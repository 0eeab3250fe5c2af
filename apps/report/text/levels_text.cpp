// The tables of an answer's levels: what each moves, and what each holds.
#include <fmt/format.h>

#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

std::string values_table(const std::vector<LevelAnswer>& levels, const Style& style) {
  Table table({"<level", "groups", "load", "store", "H per group", "M as drawn", "M live", "of"});
  for (const LevelAnswer& level : levels) {
    table.add({level.name, count_text(level.groups), count_text(level.load), count_text(level.store),
               count_text(level.transfer_per_group), count_text(level.memory_lower_bound),
               count_text(level.memory_live), level.memory_limit ? count_text(*level.memory_limit) : ""});
  }
  return table.text(style, "  ");
}

/// Writes the hit rate: "98.4%", or "21.3 to 89.6%" if blocks out of step hit less.
std::string hits_text(const LevelAnswer& level) {
  const std::optional<double>&together = level.hit_rate, &apart = level.hit_rate_apart;
  if (!together) return "";
  const std::string most = fmt::format("{:.1f}%", 100 * *together);
  const std::string least = fmt::format("{:.1f}", 100 * apart.value_or(*together));
  return least + "%" == most ? most : least + " to " + most;
}

std::string moves_table(const Head& head, const std::vector<LevelAnswer>& levels, const Style& style) {
  Table table({"<moves over", "groups", "load", "store", "a group", "delivered", "hits", "bandwidth", "time"});
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const LevelAnswer& level = levels[l];
    if (hands_on(levels, l)) continue;
    table.add({head.terms.route(level.name), count_text(level.groups), transfer_text(level.load),
               transfer_text(level.store), transfer_text(level.transfer_per_group),
               level.delivered ? transfer_text(*level.delivered) : "-", hits_text(level),
               level.bandwidth ? rate_text(*level.bandwidth) : "-", level.time ? time_text(*level.time) : "-"});
  }
  return table.text(style, "  ");
}

std::string holds_table(const std::vector<LevelAnswer>& levels, const Style& style) {
  Table table({"<holds", "as drawn", "live", "allocated", "of"});
  for (const LevelAnswer& level : levels) {
    if (level.memory == 0 && level.memory_live == 0) continue;
    table.add({level.name, memory_text(level.memory_lower_bound), memory_text(level.memory_live),
               memory_text(level.memory), level.memory_limit ? memory_text(*level.memory_limit) : "-"});
  }
  return table.text(style, "  ");
}

}  // namespace

bool hands_on(const std::vector<LevelAnswer>& levels, std::size_t level) {
  if (level + 1 >= levels.size()) return false;
  const LevelAnswer &one = levels[level], &next = levels[level + 1];
  return one.memory == 0 && !one.memory_limit && one.groups == next.groups && one.load == next.load &&
         one.store == next.store;
}

std::string table_of(const Head& head, const std::vector<LevelAnswer>& levels, const Style& style) {
  return head.gpu ? moves_table(head, levels, style) + "\n" + holds_table(levels, style) : values_table(levels, style);
}

}  // namespace napkin::internal::report
