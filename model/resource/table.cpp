#include "model/resource/table.hpp"

#include <algorithm>
#include <cmath>

#include "model/base/error.hpp"
#include "model/mapping/compile/ways.hpp"

namespace napkin::internal {
namespace {

const VariableMapping& mapping_of(const PlacedDiagram& placed, const Variable& v) {
  return placed.mapping->variables[at(v.mapping)];
}

/// Returns the agent that the table counts: the one that divides the group among its instances, else the last.
const PlacedAgent* counted_agent(const PlacedDiagram& placed) {
  for (const PlacedAgent& a : placed.agents) {
    if (!placed.mapping->agents[at(a.mapping)].splits.empty()) return &a;
  }
  return placed.agents.empty() ? nullptr : &placed.agents.back();
}

/// Returns the letter of a grouped axis: g, w or t for a block's, an agent's or a thread's part.
std::string part(const PlacedDiagram& placed, const Variable& v) {
  const std::string& by = mapping_of(placed, v).by;
  if (by == "group") return "g_";
  if (by == "thread") return "t_";
  return by.empty() && v.scope == Scope::block ? "g_" : "w_";
}

/// Writes the axes: "w_q x s_x". Grouped axes of which the group holds one are left out, as in the paper (heads,
/// batches).
std::string axes_text(const PlacedDiagram& placed, const Variable& v) {
  std::vector<std::string> words;
  const auto add = [&](AxisId axis) {
    const bool one = placed.streamed->grouped(axis) && placed.block().extent[at(axis)] == Count(1);
    if (!one) words.push_back(axis_label(placed, v, axis));
  };
  if (!v.arrays.empty()) {
    for (const AxisId axis : placed.streamed->diagram.arrays[at(v.arrays.front())].axes) add(axis);
  } else if (!placed.streamed->auxiliaries.empty()) {
    for (const AxisId axis : placed.streamed->auxiliaries.front().axes) add(axis);
  }
  if (v.auxiliaries > 0) words.push_back(std::to_string(v.auxiliaries));
  return joined(words, " x ");
}

ConfigurationRow row_of(const PlacedDiagram& placed, const Variable& v) {
  ConfigurationRow row;
  row.variable = mapping_of(placed, v).name;
  row.array = joined(mapping_of(placed, v).of);
  if (v.alias >= 0) row.reuses = mapping_of(placed, placed.variables[at(v.alias)]).name;
  row.axes = axes_text(placed, v);
  row.type = v.type;
  row.level = v.level;
  row.scope = v.scope;
  row.copies = v.copies;
  row.elements = v.elements;
  (v.scope == Scope::block ? row.block_bytes : row.agent_bytes) = v.bytes();
  return row;
}

/// Assigns offsets to the storages of a core's memory in the mapping's order; an alias has its owner's.
void add_offsets(const PlacedDiagram& placed, std::vector<ConfigurationRow>& rows) {
  const auto owner = [&](std::size_t v) {
    while (placed.variables[v].alias >= 0) v = at(placed.variables[v].alias);
    return v;
  };
  std::vector<Bytes> storage(rows.size());
  for (std::size_t v = 0; v < rows.size(); ++v)
    storage[owner(v)] = std::max(storage[owner(v)], placed.variables[v].bytes());
  std::vector<Bytes> end(placed.machine->levels.size());
  for (std::size_t v = 0; v < rows.size(); ++v) {
    if (owner(v) != v || placed.machine->core_of(rows[v].level) == nullptr) continue;
    Bytes& here = end[at(rows[v].level)];
    rows[v].offset = here;
    here += storage[v];
  }
  for (std::size_t v = 0; v < rows.size(); ++v) rows[v].offset = rows[owner(v)].offset;
}

Bytes limit_of(const Level& level) {
  const Number* number = level.per_block          ? &*level.per_block
                         : level.capacity.known() ? &level.capacity.best()
                                                  : nullptr;
  return Bytes(number == nullptr ? Count(0) : Count(static_cast<std::int64_t>(number->value)));
}

/// Returns the sums of one level; `placed` for limits. Storage shared by an alias counts once, at its larger size.
TableTotal total_of(const PlacedDiagram& placed, LevelId level) {
  TableTotal total;
  total.level = level;
  total.limit = limit_of(placed.machine->levels[at(level)]);
  for (std::size_t i = 0; i < placed.variables.size(); ++i) {
    const Variable& owner = placed.variables[i];
    if (owner.level != level || owner.alias >= 0) continue;
    Bytes most = owner.bytes();
    for (const Variable& other : placed.variables) {
      if (other.alias == static_cast<int>(i)) most = std::max(most, other.bytes());
    }
    (owner.scope == Scope::block ? total.block_bytes : total.agent_bytes) += most;
  }
  if (total.agent_bytes > Bytes(0)) {
    total.most_agents = real((total.limit - total.block_bytes).value) / real(total.agent_bytes.value);
  }
  return total;
}

/// Adds the bytes left over with N agents, and a thread's registers as a plain share and in whole granules (erratum
/// P5).
void add_excess(const PlacedDiagram& placed, const ConfigurationTable& table, TableTotal& total) {
  const Count n = table.agents;
  total.excess = total.limit - total.block_bytes - total.agent_bytes * n;
  if (n < Count(1)) return;
  total.excess_per_agent = Bytes(total.excess.value / n);
  const Count threads = table.agent_threads * n;
  if (placed.machine->levels[at(total.level)].name != "registers" || threads < Count(1)) return;
  const Limits& limits = placed.machine->limits;
  const Count taken = ceil_div(total.block_bytes.value + total.agent_bytes.value * n, threads);
  const Count registers =
      limits.registers_per_block / threads / limits.register_granule_per_thread * limits.register_granule_per_thread;
  total.excess_per_thread = Count(static_cast<std::int64_t>(std::llround(real(total.excess.value) / real(threads))));
  total.excess_allocatable = std::min(registers, limits.registers_per_thread) * Count(4) - taken;
}

const Operation& operation_of(const PlacedDiagram& placed, const PlacedOperation& op) {
  return placed.streamed->diagram.operations[at(op.operation)];
}

const std::string& output_name(const PlacedDiagram& placed, const PlacedOperation& op) {
  return placed.streamed->diagram.arrays[at(operation_of(placed, op).outputs.front())].name;
}

/// Returns the threads that compute: all instances of the counted agent.
double working_threads(const PlacedDiagram& placed) {
  const PlacedAgent* agent = counted_agent(placed);
  return agent == nullptr ? std::max(real(placed.threads), 1.0) : real(agent->threads * agent->instances);
}

/// Returns the threads, or cores, that divide an operation among them; only those cores that do it.
double dividing(const PlacedDiagram& placed, const PlacedOperation& op, const PlacedWork* work = nullptr) {
  if (!goes_ways(placed)) return working_threads(placed);
  const PlacedAgent* agent = &placed.agents[at(op.agent)];
  for (const PlacedAgent& other : placed.agents) {
    if (work != nullptr && placed.mapping->agents[at(other.mapping)].name == work->mapping->agent) agent = &other;
  }
  return real(agent->threads * agent->instances);
}

ThroughputRow tensor_row(const PlacedDiagram& placed, const PlacedOperation& op) {
  ThroughputRow row;
  row.operation = output_name(placed, op);
  row.unit = "tensor " + std::string(name_of(op.instruction->type));
  row.operations = 2 * real(op.m) * real(op.n) * real(op.k) / dividing(placed, op);
  row.rate = op.instruction->flop_per_clock;
  row.clocks = row.rate > 0 ? row.operations / row.rate : 0;
  return row;
}

/// Adds a row for each operation and unit; work on one unit shares a row within its operation.
void add_vector_rows(const PlacedDiagram& placed, const PlacedOperation& op, std::vector<ThroughputRow>& rows) {
  for (const PlacedWork& work : op.work) {
    if (work.unit < 0) continue;
    const Unit& unit = placed.machine->units[at(work.unit)];
    if (!unit.per_clock.known()) continue;
    const std::string name = output_name(placed, op) + "." + work.mapping->name;
    const double each = (unit.counts == Counted::flop ? 2 : 1) * work.amount / dividing(placed, op, &work);
    ThroughputRow row{name, unit.name, each, unit.per_clock.best().value, 0};
    row.clocks = row.operations / row.rate;
    rows.push_back(std::move(row));
  }
}

/// The FLOP of an iteration's products, and their clocks on the node's tensor units at peak.
struct Products {
  double flops = 0, clocks = 0;
};

Products products_of(const PlacedDiagram& placed) {
  Products out;
  for (const PlacedOperation& op : placed.operations) {
    if (!op.tensor || op.phase != Phase::loop) continue;
    const double flops = 2 * real(op.m) * real(op.n) * real(op.k);
    out.flops += flops;
    if (op.instruction != nullptr && op.instruction->flop_per_clock > 0)
      out.clocks += flops / op.instruction->flop_per_clock;
  }
  return out;
}

Hertz tensor_clock(const PlacedDiagram& placed) {
  const Clocks& clocks = placed.machine->clocks;
  const auto& known = clocks.tensor ? clocks.tensor : clocks.maximum;
  return Hertz(known ? known->value : 0);
}

/// Returns the rows of a block: the product of the axes that the counted agent's instances divide.
double split_rows(const PlacedDiagram& placed) {
  const PlacedAgent* agent = counted_agent(placed);
  double rows = 1;
  if (agent == nullptr) return rows;
  for (const std::string& axis : placed.mapping->agents[at(agent->mapping)].splits) {
    rows *= real(placed.block().extent[at(placed.streamed->diagram.axis(axis))]);
  }
  return rows;
}

/// The bytes that an iteration of a block loads: a constant part, and a part for each row.
struct StreamedBytes {
  double shared = 0, a_row = 0;
};

StreamedBytes streamed_bytes(const PlacedDiagram& placed, double rows) {
  const PlacedAgent* agent = counted_agent(placed);
  StreamedBytes out;
  for (const Crossing& c : placed.crossings) {
    if (c.into != placed.block().level || c.phase != Phase::loop || c.store) continue;
    bool carries_rows = false;
    double elements = 1;
    for (const AxisId axis : placed.streamed->diagram.arrays[at(c.array)].axes) {
      elements *= real(placed.streamed->stream == axis ? placed.block().chunk : placed.block().extent[at(axis)]);
      if (agent == nullptr) continue;
      const auto& splits = placed.mapping->agents[at(agent->mapping)].splits;
      carries_rows |=
          std::find(splits.begin(), splits.end(), placed.streamed->diagram.axes[at(axis)].name) != splits.end();
    }
    const double bytes = elements * bits(c.type) / 8;
    (carries_rows ? out.a_row : out.shared) += carries_rows ? bytes / rows : bytes;
  }
  return out;
}

}  // namespace

std::string axis_label(const PlacedDiagram& placed, const Variable& v, AxisId axis) {
  const std::string& name = placed.streamed->diagram.axes[at(axis)].name;
  for (const auto& [sized, value] : mapping_of(placed, v).sizes) {
    if (sized != name) continue;
    if (value.kind == Value::Kind::knob) return placed.mapping->knobs[at(value.knob)].name;
    return value.kind == Value::Kind::axis ? value.axis : std::to_string(value.literal);
  }
  if (placed.streamed->stream == axis) return "s_" + name;
  if (placed.streamed->grouped(axis)) return part(placed, v) + name;
  return name;
}

ConfigurationTable configuration_table(const PlacedDiagram& placed) {
  ConfigurationTable table;
  std::vector<LevelId> levels;
  for (const Variable& v : placed.variables) {
    table.rows.push_back(row_of(placed, v));
    if (std::find(levels.begin(), levels.end(), v.level) == levels.end()) levels.push_back(v.level);
  }
  if (goes_ways(placed)) add_offsets(placed, table.rows);
  std::sort(levels.begin(), levels.end());
  if (const PlacedAgent* agent = counted_agent(placed)) {
    table.agent_threads = agent->threads;
    table.agents = agent->instances;
  }
  std::optional<double> least;
  for (const LevelId level : levels) {
    table.totals.push_back(total_of(placed, level));
    const auto& most = table.totals.back().most_agents;
    if (most && (!least || *most < *least)) least = most;
  }
  if (least) table.agents = static_cast<std::int64_t>(std::floor(std::max(*least, 0.0)));
  for (TableTotal& total : table.totals) add_excess(placed, table, total);
  return table;
}

ThroughputTable throughput_table(const PlacedDiagram& placed) {
  ThroughputTable table;
  for (const PlacedOperation& op : placed.operations) {
    if (op.phase != Phase::loop) continue;
    if (op.tensor && op.instruction != nullptr) {
      table.rows.push_back(tensor_row(placed, op));
      table.tensor_clocks += table.rows.back().clocks;
    }
    add_vector_rows(placed, op, table.rows);
  }
  return table;
}

std::optional<double> bandwidth_threshold(const PlacedDiagram& placed) {
  const double rows = split_rows(placed);
  const StreamedBytes bytes = streamed_bytes(placed, rows);
  const Hertz clock = tensor_clock(placed);
  const Pipe* device = placed.machine->pipe_into(placed.levels.empty() ? 0 : placed.levels.front().level);
  if (device == nullptr) return std::nullopt;
  const double rate =
      bytes_per_second(*placed.machine, *device, clock) / std::max(real(placed.machine->compute_nodes()), 1.0);
  const double of_row = products_of(placed).clocks / rows;  // k_TC
  if (!(rate > 0) || !(clock.value > 0)) return std::nullopt;
  // seconds that one more row adds to computing, minus those it adds to loading
  const double gain = of_row / clock.value - bytes.a_row / rate;
  if (!(gain > 0)) return std::nullopt;
  return bytes.shared / rate / gain;
}

double ideal_tensor_rate(const PlacedDiagram& placed) {
  const Products products = products_of(placed);
  if (!(products.clocks > 0)) return 0;
  return products.flops / products.clocks * real(placed.machine->compute_nodes()) * tensor_clock(placed).value;
}

}  // namespace napkin::internal
