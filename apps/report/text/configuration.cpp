#include "apps/report/text/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/report/units.hpp"
#include "model/base/error.hpp"

namespace napkin::internal::report {
namespace {

std::string amount(Bytes bytes) { return bytes.value == Count(0) ? "" : count_text(bytes.value.get()); }

std::string total_note(const TableTotal& total) {
  std::string text = fmt::format("{} B excess an agent", count_text(total.excess_per_agent.value.get()));
  if (total.excess_per_thread) text += fmt::format(", {} B a thread", total.excess_per_thread->get());
  if (total.excess_allocatable) text += fmt::format(" ({} B in whole granules)", total.excess_allocatable->get());
  return text;
}

std::string memory_table(const Configuration& configuration, const Style& style) {
  const std::vector<ConfigurationRow>& rows = configuration.memory.rows;
  const bool placed =
      std::any_of(rows.begin(), rows.end(), [](const ConfigurationRow& row) { return row.offset.has_value(); });
  std::vector<std::string> head = {"<variable", "<of",    "<level",    "<axes",     "<type",
                                   "copies",    "values", "B a block", "B an agent"};
  const bool reused =
      std::any_of(rows.begin(), rows.end(), [](const ConfigurationRow& row) { return !row.reuses.empty(); });
  if (placed) head.emplace_back("at byte");
  if (reused) head.emplace_back("<in the place of");
  Table table(head);
  for (const ConfigurationRow& row : rows) {
    std::vector<std::string> cells = {row.variable,
                                      row.array == row.variable ? "" : row.array,
                                      configuration.levels[static_cast<std::size_t>(row.level)],
                                      row.axes,
                                      std::string(name_of(row.type)),
                                      std::to_string(row.copies.get()),
                                      count_text(row.elements.get()),
                                      amount(row.block_bytes),
                                      amount(row.agent_bytes)};
    if (placed) cells.push_back(row.offset ? count_text(row.offset->value.get()) : "");
    if (reused) cells.push_back(row.reuses);
    table.add(cells);
  }
  Table totals({"<level", "limit B", "M_TB", "M_WG", "N_max", "excess B", "<"});
  for (const TableTotal& total : configuration.memory.totals) {
    totals.add({configuration.levels[static_cast<std::size_t>(total.level)], count_text(total.limit.value.get()),
                count_text(total.block_bytes.value.get()), count_text(total.agent_bytes.value.get()),
                total.most_agents ? fmt::format("{:.3g}", *total.most_agents) : "-",
                count_text(total.excess.value.get()), total_note(total)});
  }
  return table.text(style, "  ") + "\n" + totals.text(style, "  ") +
         fmt::format("\n  N = {} agents of {} threads fit\n", configuration.memory.agents.get(),
                     configuration.memory.agent_threads.get());
}

std::string throughput_table(const Configuration& configuration, const Style& style) {
  if (configuration.throughput.rows.empty()) return "";
  Table table({"<operation", "<unit", "operations a thread", "a clock and SM", "clocks a thread"});
  for (const ThroughputRow& row : configuration.throughput.rows) {
    table.add({row.operation, row.unit, number_text(row.operations), number_text(row.rate),
               fmt::format("{:.4g}", row.clocks)});
  }
  std::string text = "\n" + table.text(style, "  ");
  if (configuration.ideal_rate)
    text += fmt::format("\n  tensor units always busy, {:.4g} clocks a thread (k_TC): {}\n",
                        configuration.throughput.tensor_clocks, tflops_text(*configuration.ideal_rate / 1e12));
  if (configuration.least_rows) {
    text += fmt::format("  without a cache, device memory does not bind above {:.1f} rows a block\n",
                        *configuration.least_rows);
  }
  return text;
}

Json rows_json(const Configuration& configuration) {
  Json rows = Json::array();
  for (const ConfigurationRow& row : configuration.memory.rows) {
    rows.push_back({{"variable", row.variable},
                    {"of", row.array},
                    {"reuses", row.reuses.empty() ? Json(nullptr) : Json(row.reuses)},
                    {"level", configuration.levels[static_cast<std::size_t>(row.level)]},
                    {"axes", row.axes},
                    {"type", std::string(name_of(row.type))},
                    {"copies", row.copies.get()},
                    {"values", row.elements.get()},
                    {"block", row.block_bytes.value.get()},
                    {"agent", row.agent_bytes.value.get()},
                    {"offset", row.offset ? Json(row.offset->value.get()) : Json(nullptr)}});
  }
  return rows;
}

Json totals_json(const Configuration& configuration) {
  Json totals = Json::array();
  for (const TableTotal& total : configuration.memory.totals) {
    totals.push_back(
        {{"level", configuration.levels[static_cast<std::size_t>(total.level)]},
         {"limit", total.limit.value.get()},
         {"block", total.block_bytes.value.get()},
         {"agent", total.agent_bytes.value.get()},
         {"most_agents", total.most_agents ? json_of(*total.most_agents) : Json(nullptr)},
         {"excess", total.excess.value.get()},
         {"excess_per_agent", total.excess_per_agent.value.get()},
         {"excess_per_thread", total.excess_per_thread ? Json(total.excess_per_thread->get()) : Json(nullptr)}});
  }
  return totals;
}

/// Returns `value()`; nothing if the machine lacks a number for it, or if it is not finite and above 0.
template <class F>
std::optional<double> known(F&& value) {
  try {
    const std::optional<double> number = value();
    return number && std::isfinite(*number) && *number > 0 ? number : std::nullopt;
  } catch (const Error&) {  // the profile lacks a rate
    return std::nullopt;
  }
}

}  // namespace

Configuration configuration_of(const PlacedDiagram& placed) {
  Configuration configuration{configuration_table(placed), {}, {}, std::nullopt, std::nullopt, detail_of(placed)};
  for (const Level& level : placed.machine->levels) configuration.levels.push_back(level.name);
  if (placed.machine->tensor.empty()) return configuration;
  configuration.throughput = throughput_table(placed);
  configuration.least_rows = known([&] { return bandwidth_threshold(placed); });
  configuration.ideal_rate = known([&] { return ideal_tensor_rate(placed); });
  return configuration;
}

Json json_of(const Configuration& configuration) {
  Json throughput = Json::array();
  for (const ThroughputRow& row : configuration.throughput.rows) {
    throughput.push_back({{"operation", row.operation},
                          {"unit", row.unit},
                          {"operations", json_of(row.operations)},
                          {"rate", json_of(row.rate)},
                          {"clocks", json_of(row.clocks)}});
  }
  return {{"variables", rows_json(configuration)},
          {"totals", totals_json(configuration)},
          {"agents", configuration.memory.agents.get()},
          {"agent_threads", configuration.memory.agent_threads.get()},
          {"throughput", throughput},
          {"tensor_clocks", json_of(configuration.throughput.tensor_clocks)},
          {"least_rows", configuration.least_rows ? json_of(*configuration.least_rows) : Json(nullptr)},
          {"ideal_rate", configuration.ideal_rate ? json_of(*configuration.ideal_rate) : Json(nullptr)},
          {"detail", json_of(configuration.detail)}};
}

std::string text_of(const Configuration& configuration, const Style& style) {
  return memory_table(configuration, style) + throughput_table(configuration, style) + text_of(configuration.detail);
}

}  // namespace napkin::internal::report
