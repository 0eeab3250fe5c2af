#include "model/resource/plan.hpp"

#include <algorithm>

#include "model/mapping/compile/compiled.hpp"
#include "model/resource/storage.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t barrier_bytes = 8;
constexpr std::int64_t register_bytes = 4;

Count total_of(const PlacedDiagram& placed, const SharedLayout& layout) {
  return slack(layout) + layout.end + barrier_count(placed) * barrier_bytes;
}

Count floor_to(Count value, Count granule) { return value / granule * granule; }

bool agents_ask(const PlacedDiagram& placed) {
  return std::any_of(placed.agents.begin(), placed.agents.end(),
                     [](const PlacedAgent& a) { return a.registers.has_value(); });
}

}  // namespace

Count barrier_count(const PlacedDiagram& placed) {
  Count count = placed.mapping->barriers;
  for (const Variable& v : placed.variables) {
    if (v.engine == CopyEngine::tma && !v.output_staging) count += Count(2) * v.copies * instances(placed, v);
  }
  return count;
}

Bytes shared_bytes(const PlacedDiagram& placed) { return Bytes(total_of(placed, layout_of(placed))); }

namespace {

/// Returns the registers that a thread may have: those it asks for, else its share of the node's.
Count limit_of(const PlacedDiagram& placed, const PlacedAgent& a) {
  const Limits& limits = placed.machine->limits;
  const Count share =
      floor_to(limits.registers_per_block / std::max(placed.threads, Count(1)), limits.register_granule_per_thread);
  return std::min(a.registers ? *a.registers : share, limits.registers_per_thread);
}

Count arrays_of(const PlacedAgent& a, Count bytes) {
  return ceil_div(bytes, std::max(a.threads, Count(1)) * register_bytes);
}

/// Returns the part of the overhead that the compiler keeps in registers when they run out: the second of two numbers
/// without a guard, else all of it.
Count kept_overhead(const PlacedDiagram& placed, const PlacedAgent& a) {
  const auto& numbers = placed.mapping->agents[static_cast<std::size_t>(a.mapping)].overhead.numbers;
  const auto is_plain = [](const Guard& guard) {
    return guard.all.empty() && guard.masks.empty() && guard.axes.empty();
  };
  if (numbers.size() < 2 || !is_plain(numbers.front().first)) return a.overhead;
  return std::min(a.overhead, Count(numbers.back().second.literal));
}

/// Returns the registers that a thread needs: its part of the variables and of the overhead, some of which may be
/// spilled; or the compiler's count, which keeps arrays that find no room in local memory.
Count needed(const PlacedDiagram& placed, const PlacedAgent& a, Count bytes) {
  if (a.compiled) return *a.registers;
  const Count arrays = arrays_of(a, bytes), all = arrays + a.overhead, limit = limit_of(placed, a);
  if (all <= limit) return all;
  const Count kept = kept_overhead(placed, a);
  return kept == a.overhead ? all : std::max(arrays + kept, limit);
}

/// Returns the bytes of the variables in an agent's registers.
Count register_bytes_of(const PlacedDiagram& placed, int agent) {
  const PlacedAgent& a = placed.agents[static_cast<std::size_t>(agent)];
  const auto level = placed.machine->find_level("registers");
  Count bytes;
  for (std::size_t v = 0; v < placed.variables.size() && level; ++v) {
    const Variable& variable = variable_at(placed, v);
    if (variable.level != *level || owner(placed, v) != v || agent_of(placed, variable) != agent) continue;
    Count most;
    for (std::size_t w = 0; w < placed.variables.size(); ++w) {
      if (owner(placed, w) == v) most = std::max(most, variable_at(placed, w).bytes().value);
    }
    bytes += variable.scope == Scope::block ? ceil_div(most, std::max(a.instances, Count(1))) : most;
  }
  return bytes;
}

}  // namespace

RegisterNeed register_need(const PlacedDiagram& placed, int agent) {
  const PlacedAgent& a = placed.agents[static_cast<std::size_t>(agent)];
  return {agent, needed(placed, a, register_bytes_of(placed, agent)), limit_of(placed, a)};
}

Bytes spilled_bytes(const PlacedDiagram& placed) {
  Count most;
  for (std::size_t i = 0; i < placed.agents.size(); ++i) {
    const PlacedAgent& a = placed.agents[i];
    const Count arrays = arrays_of(a, register_bytes_of(placed, static_cast<int>(i))), limit = limit_of(placed, a);
    const bool spills = !a.compiled && arrays + kept_overhead(placed, a) <= limit && arrays + a.overhead > limit;
    if (spills) most = std::max(most, arrays + a.overhead - limit);
  }
  return Bytes(most * register_bytes);
}

RegisterNeed register_need(const PlacedDiagram& placed) {
  RegisterNeed worst;
  for (std::size_t a = 0; a < placed.agents.size(); ++a) {
    const RegisterNeed one = register_need(placed, static_cast<int>(a));
    if (worst.agent < 0 || one.need * worst.limit > worst.need * one.limit) worst = one;
  }
  return worst;
}

namespace {

/// Returns the least launch registers that hold all agents' requests; need(agent) is the number for an agent that makes
/// none.
template <class Need>
Count registers_asked_for(const PlacedDiagram& placed, const Need& need) {
  Count total;
  for (std::size_t a = 0; a < placed.agents.size(); ++a) {
    const PlacedAgent& agent = placed.agents[a];
    total += (agent.registers ? *agent.registers : need(a)) * agent.threads * agent.instances;
  }
  return ceil_div(total, std::max(placed.threads, Count(1)));
}

}  // namespace

Count launch_registers(const PlacedDiagram& placed) {
  const Count granule = placed.machine->limits.register_granule_per_thread;
  if (!agents_ask(placed)) {
    const RegisterNeed worst = register_need(placed);
    return round_up(std::min(worst.need, worst.limit), granule);
  }
  const auto need = [&](std::size_t a) { return register_need(placed, static_cast<int>(a)).need; };
  return round_up(registers_asked_for(placed, need), granule);
}

Footprint::Footprint(const PlacedDiagram& placed) {
  const SharedLayout layout = layout_of(placed);
  const auto registers = placed.machine->find_level("registers");
  for (std::size_t v = 0; v < placed.variables.size(); ++v) {
    const Variable& variable = variable_at(placed, v);
    const int agent = variable.scope == Scope::block ? -1 : agent_of(placed, variable);
    const bool barriers = variable.engine == CopyEngine::tma && !variable.output_staging;
    if (layout.of[v] >= 0) {
      const SharedStorage& storage = layout.storages[static_cast<std::size_t>(layout.of[v])];
      const Count align = alignment(placed, variable);
      in_shared_.push_back({v, layout.of[v], storage.align, align, Count(bits(variable.type)), agent, barriers});
    } else if (barriers) {
      in_shared_.push_back({v, -1, 0, 1, 0, agent, barriers});
    }
    const std::size_t own = owner(placed, v);
    if (!registers || variable.level != *registers || variable_at(placed, own).level != *registers) continue;
    in_registers_.push_back(
        {v, own, agent_of(placed, variable_at(placed, own)), variable_at(placed, own).scope == Scope::block});
  }
  slack_ = slack(layout);
  std::stable_sort(in_shared_.begin(), in_shared_.end(), [](const InShared& a, const InShared& b) {
    return a.storage_align != b.storage_align ? a.storage_align > b.storage_align : a.storage < b.storage;
  });
  std::stable_sort(in_registers_.begin(), in_registers_.end(),
                   [](const InRegisters& a, const InRegisters& b) { return a.owner < b.owner; });
}

Bytes Footprint::shared_bytes(const PlacedDiagram& placed) const {
  Count barriers = placed.mapping->barriers, end;
  for (std::size_t u = 0; u < in_shared_.size();) {
    const InShared& first = in_shared_[u];
    Count largest;  // size of the largest variable of the storage
    for (; u < in_shared_.size() && in_shared_[u].storage == first.storage; ++u) {
      const InShared& use = in_shared_[u];
      const Variable& variable = variable_at(placed, use.variable);
      Count copies = variable.copies;
      if (use.agent >= 0) copies *= placed.agents[static_cast<std::size_t>(use.agent)].instances;
      if (use.barriers) barriers += Count(2) * copies;
      // Whole bytes in whole alignments: one division rounds both.
      largest = std::max(largest, ceil_div(variable.elements * use.bits, use.align * 8) * use.align * copies);
    }
    if (first.storage >= 0) end = round_up(end + largest, first.storage_align);
  }
  return Bytes(slack_ + end + barriers * barrier_bytes);
}

Count Footprint::register_bytes_of(const PlacedDiagram& placed, std::size_t agent) const {
  Count bytes;
  for (std::size_t u = 0; u < in_registers_.size();) {
    const InRegisters& first = in_registers_[u];
    Count most;  // bytes of the largest variable of the storage
    for (; u < in_registers_.size() && in_registers_[u].owner == first.owner; ++u) {
      if (first.agent != static_cast<int>(agent)) continue;
      most = std::max(most, variable_at(placed, in_registers_[u].variable).bytes().value);
    }
    bytes += first.of_block ? ceil_div(most, std::max(placed.agents[agent].instances, Count(1))) : most;
  }
  return bytes;
}

RegisterNeed Footprint::register_need(const PlacedDiagram& placed) const {
  RegisterNeed worst;
  for (std::size_t i = 0; i < placed.agents.size(); ++i) {
    const PlacedAgent& a = placed.agents[i];
    const RegisterNeed one{static_cast<int>(i), needed(placed, a, register_bytes_of(placed, i)), limit_of(placed, a)};
    if (worst.agent < 0 || one.need * worst.limit > worst.need * one.limit) worst = one;
  }
  return worst;
}

namespace {

/// Makes all of a plan but its slots.
Plan plan_of(const PlacedDiagram& placed, Count barriers, Bytes shared, const RegisterNeed& worst, Count launch) {
  Plan out;
  out.barriers = barriers;
  out.shared_total = shared;
  out.shared_limit = shared_limit(placed);
  out.registers_per_thread = worst.need;
  out.registers_limit = worst.limit;
  out.registers_launch = launch;
  out.threads = placed.threads;
  const Occupancy resident = occupancy(placed, launch, shared);
  out.blocks_per_sm = resident.blocks;
  out.limited_by = std::string(resident.limited_by);
  return out;
}

}  // namespace

Plan Footprint::plan(const PlacedDiagram& placed) const {
  const RegisterNeed worst = register_need(placed);
  const auto need = [&](std::size_t a) { return needed(placed, placed.agents[a], register_bytes_of(placed, a)); };
  const Count launch = agents_ask(placed) ? registers_asked_for(placed, need) : std::min(worst.need, worst.limit);
  return plan_of(placed, barrier_count(placed), shared_bytes(placed), worst,
                 round_up(launch, placed.machine->limits.register_granule_per_thread));
}

const Footprint& Footprints::of(const PlacedDiagram& placed) {
  return known_.try_emplace({placed.variant, software_pipelined(placed)}, placed).first->second;
}

Plan plan(const PlacedDiagram& placed) {
  const SharedLayout layout = layout_of(placed);
  Plan out = plan_of(placed, barrier_count(placed), Bytes(total_of(placed, layout)), register_need(placed),
                     launch_registers(placed));
  for (std::size_t v = 0; v < placed.variables.size(); ++v) {
    if (layout.of[v] < 0) continue;
    const Variable& variable = variable_at(placed, v);
    const Count copy = round_up(bytes_of(variable.elements, variable.type).value, alignment(placed, variable));
    const Bytes size(copy * variable.copies * instances(placed, variable));
    out.shared.push_back(
        {static_cast<int>(v), Bytes(layout.storages[static_cast<std::size_t>(layout.of[v])].offset), size});
  }
  std::stable_sort(out.shared.begin(), out.shared.end(),
                   [](const Slot& a, const Slot& b) { return a.offset < b.offset; });
  return out;
}

}  // namespace napkin::internal
