#include "solver/space/constraints.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/diagram/reindex.hpp"
#include "model/mapping/compile/ways.hpp"
#include "model/mapping/read/load.hpp"
#include "model/resource/resources.hpp"
#include "solver/space/granularity.hpp"
#include "solver/space/length_rules.hpp"
#include "solver/space/rule_terms.hpp"

namespace napkin::internal {
namespace {

/// Returns a rule that no knob changes.
TileRule constant(std::string name, std::optional<Excess> excess) {
  return {std::move(name), 0, [excess](const Tile&) { return excess; }};
}

/// Returns the sizes of an agent's split axes in a tile, with the knobs that they depend on. An axis that no knob sizes
/// counts whole.
std::vector<Value> split_sizes(const Mapping& mapping, const Agent& agent) {
  const LevelMapping* block = block_level_of(mapping);
  std::vector<Value> out;
  for (const std::string& axis : agent.splits) {
    const auto size = block ? size_of_axis(mapping, *block, axis) : std::nullopt;
    out.push_back(size.value_or(Value{Value::Kind::axis, 0, -1, axis}));
  }
  return out;
}

}  // namespace

void add_architecture(std::vector<TileRule>& rules, const Mapping& mapping, const Machine& machine) {
  if (mapping.runs_on.empty()) return;
  rules.push_back(constant("architecture", runs_on(mapping, machine) ? std::nullopt : std::optional(Excess{1, 0})));
}

void add_dtype(std::vector<TileRule>& rules, const Mapping& mapping, const Problem& problem) {
  if (mapping.dtypes.empty()) return;
  const bool taken = std::any_of(mapping.dtypes.begin(), mapping.dtypes.end(), [&](const std::string& name) {
    return parse_dtype(name, mapping.name) == problem.dtype;
  });
  rules.push_back(constant("dtype", taken ? std::nullopt : std::optional(Excess{1, 0})));
}

void add_masks(std::vector<TileRule>& rules, const Mapping& mapping, const Problem& problem) {
  const bool taken = takes_mask(mapping, problem.mask.kind);
  if (mapping.masks.empty() && taken) return;
  rules.push_back(constant("mask", taken ? std::nullopt : std::optional(Excess{1, 0})));
}

namespace {

/// Returns the values of an array; for packed sequences the sum over sequences.
double values_of(const Array& array, const Problem& problem) {
  const Packing& packing = problem.packing;
  double values = 1;
  const std::vector<AxisId> reindexed = array.reindexed.empty() ? std::vector<AxisId>() : stored_axes(array);
  for (const AxisId axis : array.reindexed.empty() ? array.axes : reindexed)
    values *= real(problem.sizes[static_cast<std::size_t>(axis)]);
  const bool rows = array.has(packing.rows), columns = array.has(packing.columns);
  if (packing.sequences.empty() || rows == columns) return values;
  double tokens = 0;
  for (const SequenceLengths& one : packing.sequences) tokens += static_cast<double>(rows ? one.q : one.x);
  const AxisId along = rows ? packing.rows : packing.columns;
  values /= real(problem.sizes[static_cast<std::size_t>(along)]);
  if (array.has(packing.batch)) values /= real(problem.sizes[static_cast<std::size_t>(packing.batch)]);
  return values * tokens;
}

}  // namespace

void add_device_memory(std::vector<TileRule>& rules, const Streamed& streamed, const Machine& machine,
                       const Problem& problem) {
  const Stated& capacity = machine.levels.front().capacity;
  if (!capacity.known()) return;
  double bytes = 0;
  for (const std::vector<ArrayId>* arrays : {&streamed.diagram.inputs, &streamed.diagram.outputs}) {
    for (const ArrayId id : *arrays) {
      const Array& array = streamed.diagram.arrays[static_cast<std::size_t>(id)];
      bytes += values_of(array, problem) * bytes_per_value(array.type.value_or(problem.dtype));
    }
  }
  const double limit = capacity.best().value;
  TileRule rule = constant("device memory", bytes <= limit ? std::nullopt : std::optional(Excess{bytes, limit}));
  rule.lengths = true;
  rules.push_back(std::move(rule));
}

void add_supported_sizes(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                         const Problem& problem) {
  for (const auto& [axis, supported] : mapping.head_sizes) {
    if (supported.empty()) continue;
    const Resolver resolve(streamed, mapping, problem);
    const std::int64_t size = resolve.size(axis).get();
    const std::int64_t nearest = *std::min_element(
        supported.begin(), supported.end(), [&](auto a, auto b) { return std::abs(a - size) < std::abs(b - size); });
    const bool taken = mapping.size_for(axis, size).has_value();
    rules.push_back(
        constant("size of " + axis, taken ? std::nullopt : std::optional(Excess{real(size), real(nearest)})));
    rules.back().lengths = resolve.read_lengths();  // true for an axis that blocks divide, such as g of grouped heads
  }
}

/// Adds the rules of axes that are packed into an instruction's rows. Axes with a step each are rows and columns of a
/// product, which an instruction fills apart: all of them are padded.
void add_packing(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                 const Problem& problem) {
  const Resolver resolve(streamed, mapping, problem);
  std::vector<std::string> done;
  for (const Agent& agent : mapping.agents) {
    if (!agent.split_steps.empty()) continue;
    const std::vector<Value> sizes = split_sizes(mapping, agent);
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      const std::string& axis = agent.splits[i];
      if (sizes[i].kind == Value::Kind::axis || std::find(done.begin(), done.end(), axis) != done.end()) continue;
      done.push_back(axis);
      rules.push_back({"packing of " + axis, internal::knobs_of(sizes[i]),
                       [packed = resolve.term(sizes[i]), whole = resolve.size(axis)](const Tile& tile) {
                         return compare(Relation::Kind::at_most, packed.in(tile), whole);
                       },
                       resolve.read_lengths()});
    }
  }
}

bool is_meant(const Guard& guard, const Mapping& mapping, const Diagram& diagram, const Problem& problem) {
  const auto& masks = guard.masks;
  if (!masks.empty() && std::find(masks.begin(), masks.end(), problem.mask.kind) == masks.end()) return false;
  return std::all_of(guard.axes.begin(), guard.axes.end(), [&](const auto& term) {
    const std::int64_t size = held_size(mapping, diagram, problem, diagram.axis(term.first)).get();
    return std::find(term.second.begin(), term.second.end(), size) != term.second.end();
  });
}

void add_relations(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                   const Problem& problem) {
  const Resolver resolve(streamed, mapping, problem);
  for (const Relation& relation : mapping.relations) {
    if (!is_meant(relation.when, mapping, streamed.diagram, problem)) continue;
    const KnobSet knobs = knobs_of(relation.left) | knobs_of(relation.right) | internal::knobs_of(relation.when);
    rules.push_back({relation.name, knobs,
                     [left = resolve.terms(relation.left), right = resolve.terms(relation.right), when = relation.when,
                      kind = relation.kind](const Tile& tile) -> std::optional<Excess> {
                       if (!holds(when, tile)) return std::nullopt;
                       return compare(kind, product(left, tile), product(right, tile));
                     },
                     resolve.read_lengths()});
  }
}

void add_granularity(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                     const Machine& machine, const Problem& problem) {
  const LevelMapping* block = block_level_of(mapping);
  if (!block) return;
  const Resolver resolve(streamed, mapping, problem);
  for (const Granularity& granularity : granularities(streamed, mapping, machine, problem)) {
    const std::string& axis = streamed.diagram.axes[static_cast<std::size_t>(granularity.axis)].name;
    const auto size = size_of_axis(mapping, *block, axis);
    // the block holds the axis whole: the kernel pads it, and its mapping lists the supported sizes
    if (!size) continue;
    rules.push_back({"granularity of " + axis, internal::knobs_of(*size),
                     [extent = resolve.term(*size), divisor = granularity.divisor](const Tile& tile) {
                       return compare(Relation::Kind::multiple, extent.in(tile), divisor);
                     },
                     resolve.read_lengths()});
  }
}

void add_agent_rows(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping,
                    const Problem& problem) {
  const Resolver resolve(streamed, mapping, problem);
  for (const Agent& agent : mapping.agents) {
    if (agent.splits.empty()) continue;
    const std::vector<Value> sizes = split_sizes(mapping, agent);
    const std::optional<Value> most = agent.row_most;
    KnobSet knobs = knobs_of(sizes) | internal::knobs_of(agent.count) | internal::knobs_of(agent.row_step);
    if (most) knobs |= internal::knobs_of(*most);
    rules.push_back(
        {"rows of " + agent.name, knobs,
         [rows = resolve.terms(sizes), count = resolve.alternatives(agent.count), step = resolve.term(agent.row_step),
          repeats = agent.repeats,
          limit = most ? resolve.term(*most) : Term{INT64_MAX, -1}](const Tile& tile) -> std::optional<Excess> {
           const Count all = product(rows, tile), instances = chosen(count, tile), each = instances * step.in(tile);
           if (repeats && all < each && each % std::max(all, Count(1)) == Count(0))
             return compare(Relation::Kind::multiple, all, step.in(tile));
           if (const auto bad = compare(Relation::Kind::multiple, all, each)) return bad;
           return compare(Relation::Kind::at_most, ceil_div(all, std::max(instances, Count(1))), limit.in(tile));
         },
         resolve.read_lengths()});
  }
}

void add_threads(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                 const Problem& problem) {
  if (!machine.limits.known || mapping.agents.empty()) return;
  const Resolver resolve(streamed, mapping, problem);
  std::vector<std::pair<Guarded<Term>, Term>> agents;
  KnobSet knobs = 0;
  for (const Agent& agent : mapping.agents) {
    agents.emplace_back(resolve.alternatives(agent.count), resolve.term(agent.threads));
    knobs |= internal::knobs_of(agent.count) | internal::knobs_of(agent.threads);
  }
  rules.push_back({"threads", knobs,
                   [agents, limit = machine.limits.threads_per_block](const Tile& tile) {
                     Count threads;
                     for (const auto& [count, each] : agents) threads += chosen(count, tile) * each.in(tile);
                     return compare(Relation::Kind::at_most, threads, limit);
                   },
                   resolve.read_lengths()});
}

namespace {

/// Returns true if adjacent blocks along that axis visit different chunks and share an array by multicast: a block
/// would wait for chunks that the other never loads.
bool visits_differ(const Streamed& streamed, const Mapping& mapping, const Problem& problem, const std::string& axis) {
  const AxisId along = streamed.diagram.axis(axis);
  const auto among = [along](const std::array<AxisId, 2>& axes) {
    return std::find(axes.begin(), axes.end(), along) != axes.end();
  };
  const bool masked = problem.mask.kind != Mask::Kind::none && streamed.skips && among(*streamed.skips);
  const bool packed = !problem.packing.sequences.empty() && among({problem.packing.rows, problem.packing.columns});
  if (!masked && !packed) return false;
  return std::any_of(mapping.variables.begin(), mapping.variables.end(),
                     [](const VariableMapping& variable) { return variable.multicast || variable.divided; });
}

}  // namespace

void add_cluster(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                 const Problem& problem) {
  const Resolver resolve(streamed, mapping, problem);
  const LevelMapping* block = block_level_of(mapping);
  for (const LevelMapping& level : mapping.levels) {
    if (!level.nodes) continue;
    const Term nodes = resolve.term(*level.nodes);
    const auto id = machine.find_level(level.level);
    const Count most = id ? machine.levels[static_cast<std::size_t>(*id)].per_parent : Count(1);
    rules.push_back({level.level + " size", internal::knobs_of(*level.nodes),
                     [nodes, most](const Tile& tile) { return compare(Relation::Kind::at_most, nodes.in(tile), most); },
                     resolve.read_lengths()});
    if (!block || level.group.empty()) continue;
    // Clusters that round up do so in each sequence, so that none has blocks of two.
    const bool covers = level.together && (problem.packing.sequences.empty() || level.rounds_up);
    if (!covers && visits_differ(streamed, mapping, problem, level.group.front())) {
      rules.push_back({level.level + (problem.mask.kind != Mask::Kind::none ? " mask" : " lengths"),
                       internal::knobs_of(*level.nodes), [nodes](const Tile& tile) {
                         return compare(Relation::Kind::at_most, nodes.in(tile), Count(1));
                       }});
    }
    const auto extent = size_of_axis(mapping, *block, level.group.front());
    if (!extent || level.rounds_up) continue;
    rules.push_back(
        {level.level, internal::knobs_of(*level.nodes) | internal::knobs_of(*extent),
         [nodes, size = resolve.size(level.group.front()), extent = resolve.term(*extent)](const Tile& tile) {
           const Count blocks = ceil_div(size, std::max(extent.in(tile), Count(1)));
           return compare(Relation::Kind::multiple, blocks, nodes.in(tile));
         },
         true});
  }
}

void add_combine(std::vector<TileRule>& rules, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                 const Problem& problem) {
  const LevelMapping* block = block_level_of(mapping);
  if (!mapping.combine || !block || streamed.combines.empty()) return;
  const auto met = std::find_if(mapping.levels.begin(), mapping.levels.end(), [&](const LevelMapping& level) {
    return level.level == mapping.combine->at && level.nodes;
  });
  const bool in_cluster = met != mapping.levels.end();
  if (!in_cluster && mapping.combine->by != CombineMapping::By::barriers) return;
  struct Cut {
    Count size;
    Term extent, nodes;
  };
  const Resolver resolve(streamed, mapping, problem);
  const Term one{1, -1};
  std::vector<Cut> cuts;
  KnobSet knobs = 0;
  for (std::size_t a = 0; a < streamed.roles.size(); ++a) {
    const std::string& axis = streamed.diagram.axes[a].name;
    if (!streamed.grouped(static_cast<AxisId>(a)) || (in_cluster && streamed.roles[a] != AxisRole::split)) continue;
    const auto extent = size_of_axis(mapping, *block, axis);
    const bool along = in_cluster && met->group.front() == axis;
    cuts.push_back({problem.sizes[a], extent ? resolve.term(*extent) : one, along ? resolve.term(*met->nodes) : one});
    knobs |= (extent ? internal::knobs_of(*extent) : 0) | (along ? internal::knobs_of(*met->nodes) : 0);
  }
  const Count most = in_cluster ? Count(1) : machine.compute_nodes();
  rules.push_back({in_cluster ? "parts" : "resident blocks", knobs,
                   [cuts, most](const Tile& tile) {
                     Count groups = 1;
                     for (const Cut& cut : cuts)
                       groups *= ceil_div(cut.size, std::max(cut.extent.in(tile)*cut.nodes.in(tile), Count(1)));
                     return compare(Relation::Kind::at_most, groups, most);
                   },
                   true});
}

Rules::Rules(const Streamed& streamed, const Mapping& mapping, const Machine& machine, const Problem& problem) {
  tile.reserve(16 + mapping.relations.size());
  for (const LengthRules::Add add : tile_rule_adders()) add(tile, streamed, mapping, machine, problem);
  const KnobSet registers = knobs_of_registers(streamed, mapping), shared = knobs_of_shared(streamed, mapping);
  plan = {{"registers", registers, check_registers},
          {"register file", registers, check_register_file},
          {"shared memory", shared, check_shared_memory}};
  const auto is_core = [](const Agent& agent) { return !agent.core.empty(); };
  if (std::any_of(mapping.agents.begin(), mapping.agents.end(), is_core))
    plan.push_back({"core memory", shared, check_core_memory});
  else if (uses_side_memory(mapping, machine))
    plan.push_back({"side memory", shared, check_side_memory});
}

std::vector<Violation> violations(const Rules& rules, const PlacedDiagram& placed, const Plan& plan) {
  std::vector<Violation> out;
  for (const TileRule& rule : rules.tile) {
    if (const auto excess = rule.check(placed.tile)) out.push_back({rule.name, excess->needed, excess->available});
  }
  for (const PlanRule& rule : rules.plan) {
    if (const auto excess = rule.check(placed, plan)) out.push_back({rule.name, excess->needed, excess->available});
  }
  return out;
}

std::vector<Violation> violations(const PlacedDiagram& placed, const Plan& plan) {
  return violations(Rules(*placed.streamed, *placed.mapping, *placed.machine, *placed.problem), placed, plan);
}

}  // namespace napkin::internal
