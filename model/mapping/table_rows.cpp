#include "model/mapping/table_rows.hpp"

#include <algorithm>

namespace napkin::internal {
namespace {

bool is_of_domain(const Mapping& mapping, const Tile& tile, KnobId knob) {
  const auto k = static_cast<std::size_t>(knob);
  const std::vector<std::int64_t>& domain = mapping.knobs[k].domain;
  return std::find(domain.begin(), domain.end(), tile.values[k]) != domain.end();
}

/// Calls visit(table) for every table that a number of the mapping comes from.
template <class Visit>
void visit_tables(const Mapping& mapping, const Visit& visit) {
  const auto visit_value = [&](const Value& value) {
    if (value.table != nullptr) visit(*value.table);
  };
  for (const Agent& agent : mapping.agents) {
    if (agent.overhead.table != nullptr) visit(*agent.overhead.table);
    for (const auto& [guard, value] : agent.registers) visit_value(value);
  }
  for (const OperationMapping& op : mapping.operations) {
    if (op.waits) visit_value(*op.waits);
    for (const WorkMapping& work : op.work) {
      if (work.counted) visit_value(*work.counted);
    }
  }
}

}  // namespace

bool has_row(const RegisterTable& table, const Mapping& mapping, const Tile& tile) {
  return std::all_of(table.knobs().begin(), table.knobs().end(),
                     [&](KnobId knob) { return is_of_domain(mapping, tile, knob); });
}

std::vector<std::string> settings_without_row(const Mapping& mapping, const Tile& tile) {
  std::vector<KnobId> knobs;
  visit_tables(mapping, [&](const RegisterTable& table) {
    for (const KnobId knob : table.knobs()) {
      if (!is_of_domain(mapping, tile, knob) && std::find(knobs.begin(), knobs.end(), knob) == knobs.end())
        knobs.push_back(knob);
    }
  });
  std::vector<std::string> out;
  for (const KnobId knob : knobs) {
    const auto k = static_cast<std::size_t>(knob);
    out.push_back(mapping.knobs[k].name + "=" + std::to_string(tile.values[k]));
  }
  return out;
}

}  // namespace napkin::internal
