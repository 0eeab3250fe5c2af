#include "solver/select/alternatives.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "model/clock/load.hpp"

namespace napkin {
namespace {

constexpr auto none = std::numeric_limits<std::size_t>::max();

/// Instructions that take A from registers are nowhere slower than those that take it from shared memory.
bool registers_no_slower(const TensorInstruction& instruction) {
  return std::all_of(instruction.timing.begin(), instruction.timing.end(),
                     [](const InstructionTiming& row) { return row.clocks_registers <= row.clocks_shared; });
}

bool operation_no_more(const PlacedDiagram& placed, const PlacedOperation& a, const PlacedOperation& b) {
  if (a.operation != b.operation || a.phase != b.phase || a.agent != b.agent || a.tensor != b.tensor) return false;
  if (a.instruction != b.instruction || a.operands.size() != b.operands.size()) return false;
  if (a.a_from_registers != b.a_from_registers) {
    if (!a.a_from_registers || !a.instruction || !registers_no_slower(*a.instruction)) return false;
  }
  const LevelId block = placed.block().level;
  for (std::size_t i = 0; i < a.operands.size(); ++i) {
    if (a.operands[i] == b.operands[i]) continue;
    if (a.operands[i].second == block) return false;  // read through the block's port where b does not
  }
  return true;
}

/// A piece of work, and whether it is done in every iteration.
struct Piece {
  const PlacedWork* work;
  bool loop;
};

/// Work of a that b lacks, operation by operation. Both have theirs in the mapping's order.
std::vector<Piece> beyond(const PlacedDiagram& a, const PlacedDiagram& b) {
  std::vector<Piece> out;
  for (std::size_t i = 0; i < a.operations.size(); ++i) {
    const std::vector<PlacedWork>& others = b.operations[i].work;
    auto other = others.begin();
    for (const PlacedWork& work : a.operations[i].work) {
      while (other != others.end() && std::less<>()(other->mapping, work.mapping)) ++other;
      const bool shared = other != others.end() && other->mapping == work.mapping;
      if (!shared && work.unit >= 0) out.push_back({&work, phase_of(a.operations[i], *work.mapping) == Phase::loop});
    }
  }
  return out;
}

/// Results of a piece's unit over the same extents, in the same phase.
double results_like(const std::vector<Piece>& pieces, const Piece& like) {
  double sum = 0;
  for (const Piece& p : pieces) {
    const bool same = p.loop == like.loop && p.work->unit == like.work->unit && p.work->mapping->per_chunk.empty() &&
                      p.work->mapping->per == like.work->mapping->per &&
                      p.work->mapping->per_thread == like.work->mapping->per_thread &&
                      p.work->mapping->agent == like.work->mapping->agent;
    if (same) sum += p.work->mapping->count;
  }
  return sum;
}

/// Whether what a does and b does not is less, unit by unit and extent by extent, than what b does and a does not.
bool work_no_more(const PlacedDiagram& a, const PlacedDiagram& b) {
  constexpr double clearly_less = 1 - 1e-3;  // whatever the order of a load's sums
  const std::vector<Piece> more = beyond(a, b);
  if (more.empty()) return true;
  const std::vector<Piece> spared = beyond(b, a);
  return std::all_of(more.begin(), more.end(), [&](const Piece& piece) {
    return piece.work->mapping->per_chunk.empty() &&
           results_like(more, piece) <= clearly_less * results_like(spared, piece);
  });
}

/// Whether both do the same work. Most differ in how many pieces it has.
bool equal_work(const PlacedDiagram& a, const PlacedDiagram& b) {
  if (a.cluster != b.cluster || a.operations.size() != b.operations.size()) return false;
  for (std::size_t i = 0; i < a.operations.size(); ++i) {
    if (a.operations[i].work.size() != b.operations[i].work.size()) return false;
  }
  return never_more_work(a, b) && never_more_work(b, a);
}

/// The next crossing into the block's level from `i` on.
std::size_t next_into_block(const PlacedDiagram& placed, std::size_t i) {
  while (i < placed.crossings.size() && placed.crossings[i].into != placed.block().level) ++i;
  return i;
}

bool crossings_no_more(const PlacedDiagram& a, const PlacedDiagram& b) {
  std::size_t i = next_into_block(a, 0), j = next_into_block(b, 0);
  for (; i < a.crossings.size() && j < b.crossings.size();
       i = next_into_block(a, i + 1), j = next_into_block(b, j + 1)) {
    const Crossing &x = a.crossings[i], &y = b.crossings[j];
    if (x.array != y.array || x.auxiliary != y.auxiliary || x.parts != y.parts) return false;
    if (x.store != y.store || x.phase != y.phase || x.reread != y.reread || x.type != y.type) return false;
    if (x.engine != y.engine || x.skips != y.skips || (b.multicast(y) && (!a.multicast(x) || a.cluster < b.cluster)))
      return false;
  }
  return i >= a.crossings.size() && j >= b.crossings.size();
}

/// Variables at the block's level that threads write: every one of a's is one of b's, and read as easily.
bool buffers_no_more(const PlacedDiagram& a, const PlacedDiagram& b) {
  const LevelId block = a.block().level;
  return std::all_of(a.variables.begin(), a.variables.end(), [&](const Variable& v) {
    return v.level != block || std::any_of(b.variables.begin(), b.variables.end(), [&](const Variable& w) {
             return w.mapping == v.mapping && w.level == v.level && (!v.unpermuted || w.unpermuted);
           });
  });
}

/// Whether the blocks of a cluster make a result together: its size decides what leaves it and how fast parts move.
bool meets_in_cluster(const PlacedDiagram& placed) {
  return std::any_of(placed.crossings.begin(), placed.crossings.end(),
                     [](const Crossing& c) { return c.combined_in_cluster; });
}

Count usable_nodes(const PlacedDiagram& placed) {
  const Count cluster = std::max(placed.cluster, Count(1));
  return placed.machine->compute_nodes() / cluster * cluster;
}

/// The level of the variable that an operand's alternatives choose in a tile; "" where none holds.
std::string_view home_of(const Mapping& mapping, const Guarded<std::string>& alternatives, const Tile& tile) {
  const std::string* name = choose(alternatives, tile);
  for (const VariableMapping& v : mapping.variables) {
    if (name && v.name == *name) return v.level;
  }
  return {};
}

/// Whether turning that knob alone, of those that the guards name, can change the level that an operand is read from.
bool moves_operand(const Mapping& mapping, const Space& space, const Guarded<std::string>& alternatives, KnobSet guards,
                   KnobId knob) {
  std::vector<KnobId> named;
  std::size_t cases = 1;
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    if (k == knob || (guards & knob_bit(k)) == 0) continue;
    named.push_back(k);
    cases *= space.domains[at(k)].size();
    if (cases > 64) return true;  // too many to look at: taken for one that does
  }
  Tile tile = space.tile(0);
  for (std::size_t c = 0; c < cases; ++c) {
    std::size_t rest = c;
    for (const KnobId k : named) {
      tile.values[at(k)] = space.domains[at(k)][rest % space.domains[at(k)].size()];
      rest /= space.domains[at(k)].size();
    }
    tile.values[at(knob)] = space.domains[at(knob)].front();
    const std::string_view home = home_of(mapping, alternatives, tile);
    for (const std::int64_t value : space.domains[at(knob)]) {
      tile.values[at(knob)] = value;
      if (home_of(mapping, alternatives, tile) != home) return true;
    }
  }
  return false;
}

KnobSet operand_knobs(const Mapping& mapping, const Space& space, const Guarded<std::string>& alternatives) {
  const KnobSet guards = guards_of(alternatives);
  KnobSet set = 0;
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    if ((guards & knob_bit(k)) != 0 && moves_operand(mapping, space, alternatives, guards, k)) set |= knob_bit(k);
  }
  return set;
}

/// Knobs that choose what work there is: variables above the registers, shared copies, operands' homes, clusters. Which
/// of two register variables holds an array changes what a thread needs, not what it does.
KnobSet switch_knobs(const Mapping& mapping, const Space& space) {
  KnobSet set = 0;
  for (const VariableMapping& v : mapping.variables) {
    if (v.level != "registers") set |= knobs_of(v.when);
    if (v.multicast) set |= knobs_of(*v.multicast);
    if (v.unpermuted) set |= knobs_of(*v.unpermuted);
  }
  for (const OperationMapping& op : mapping.operations) {
    for (const auto& [array, alternatives] : op.operands) set |= operand_knobs(mapping, space, alternatives);
    for (const WorkMapping& work : op.work) set |= knobs_of(work.when);
  }
  for (const LevelMapping& level : mapping.levels) {
    if (level.nodes) set |= knobs_of(*level.nodes);
  }
  return set;
}

KnobSet size_knobs(const Question& question) {
  const Mapping& mapping = *question.mapping;
  KnobSet set = 0;
  for (const Axis& axis : question.streamed->diagram.axes) set |= knobs_of_axis(mapping, axis.name);
  for (const Agent& agent : mapping.agents) set |= knobs_of(agent.count) | knobs_of(agent.threads);
  for (const VariableMapping& v : mapping.variables) {
    for (const auto& [axis, size] : v.sizes) set |= knobs_of(size);
  }
  for (const OperationMapping& op : mapping.operations) {
    for (const WorkMapping& work : op.work) {
      for (const auto& [axis, size] : work.per_chunk) set |= knobs_of(size);
    }
  }
  return set;
}

/// What guards tell apart, with the first combination of it.
struct Case {
  std::uint64_t told, structure;
  std::size_t first;
};

}  // namespace

bool never_more_work(const PlacedDiagram& a, const PlacedDiagram& b) {
  if (meets_in_cluster(b) && a.cluster != b.cluster) return false;
  if (a.operations.size() != b.operations.size() || usable_nodes(a) < usable_nodes(b)) return false;
  if (a.variant == b.variant) return crossings_no_more(a, b);
  for (std::size_t i = 0; i < a.operations.size(); ++i) {
    if (!operation_no_more(a, a.operations[i], b.operations[i])) return false;
  }
  return crossings_no_more(a, b) && buffers_no_more(a, b) && work_no_more(a, b);
}

Roles roles_of(const Question& question, const Objective& objective, const Space& space) {
  Roles roles;
  roles.sizes = size_knobs(question);
  roles.switches = switch_knobs(*question.mapping, space);
  if (objective.reads_edges) {
    roles.switches |= knobs_of_edges(*question.mapping);
    for (const VariableMapping& v : question.mapping->variables) roles.switches |= knobs_of(v.copies);
  }
  roles.switches &= ~roles.sizes;
  std::size_t combinations = 1;
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    if ((roles.switches & knob_bit(k)) == 0) continue;
    combinations *= space.domains[at(k)].size();
    if (combinations <= 256) continue;  // more than can be compared with one another: taken as sizes
    combinations /= space.domains[at(k)].size();
    roles.switches &= ~knob_bit(k);
    roles.sizes |= knob_bit(k);
  }
  return roles;
}

Alternatives::Alternatives(const Objective& objective, const Space& space, const Rules& rules, Legality& legality,
                           Scratch& scratch, KnobSet switches)
    : space_(space), legality_(legality) {
  std::size_t count = 1;
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    if ((switches & knob_bit(k)) == 0) continue;
    knobs_.push_back(k);
    count *= space.domains[at(k)].size();
  }
  for (std::size_t c = 0; c < count; ++c) {
    std::size_t rest = c;
    combinations_.emplace_back(knobs_.size());
    for (std::size_t i = knobs_.size(); i-- > 0;) {
      const std::size_t values = space.domains[at(knobs_[i])].size();
      combinations_.back()[i] = static_cast<std::uint16_t>(rest % values);
      rest /= values;
    }
  }
  allowed_ = allowed_by(rules);
  classify(scratch, objective);
}

std::vector<bool> Alternatives::allowed_by(const Rules& rules) const {
  KnobSet own = 0;
  for (const KnobId knob : knobs_) own |= knob_bit(knob);
  std::vector<bool> allowed(combinations_.size(), true);
  Point point = legality_.origin();
  for (const TileRule& rule : rules.tile) {
    if (rule.knobs == 0 || (rule.knobs & ~own) != 0) continue;
    for (std::size_t c = 0; c < allowed.size(); ++c) {
      set(point, c);
      if (rule.check(point.tile)) allowed[c] = false;
    }
  }
  return allowed;
}

/// Combinations of equal work are of one class, unless the objective reads more than work.
void Alternatives::classify(Scratch& scratch, const Objective& objective) {
  class_.assign(combinations_.size(), none);
  std::vector<const PlacedDiagram*> samples;  // by class; nullptr: none
  std::vector<Case> cases;
  const bool less_is_faster = objective.monotone && !objective.reads_edges;
  Point point = legality_.origin(), other = point;
  for (std::size_t c = 0; c < combinations_.size(); ++c) {
    if (!allowed_[c]) continue;
    set(point, c);
    const Case here{scratch.case_of(point), scratch.structure_of(point), c};
    const auto known = std::find_if(cases.begin(), cases.end(), [&](const Case& one) { return one.told == here.told; });
    if (known != cases.end() && !objective.reads_edges) {
      class_[c] = class_[known->first];
      continue;
    }
    const auto adds_work = [&](const Case& one) {
      if (!less_is_faster || one.structure != here.structure) return false;
      set(other, one.first);
      return scratch.adds_work(other, point);
    };
    const auto base = std::find_if(cases.begin(), cases.end(), adds_work);
    if (base != cases.end()) {
      class_[c] = classes_.size();
      classes_.push_back({c, false, {class_[base->first]}});
      samples.push_back(nullptr);
      cases.push_back(here);
      continue;
    }
    cases.push_back(here);
    const PlacedDiagram* sample = &scratch.alternatives(point);
    std::replace(samples.begin(), samples.end(), sample,
                 static_cast<const PlacedDiagram*>(nullptr));  // one scratch for both
    const auto equals = [&](const PlacedDiagram* first) {
      return !objective.reads_edges && first != nullptr && equal_work(*first, *sample);
    };
    class_[c] = static_cast<std::size_t>(std::find_if(samples.begin(), samples.end(), equals) - samples.begin());
    if (class_[c] < classes_.size()) continue;
    classes_.push_back({c});
    samples.push_back(sample);
  }
  if (less_is_faster) compare(samples);
}

/// Whether they differ in the value of one knob.
bool Alternatives::neighbours(const Class& a, const Class& b) const {
  int different = 0;
  for (std::size_t i = 0; i < knobs_.size(); ++i)
    different += combinations_[a.first][i] != combinations_[b.first][i] ? 1 : 0;
  return different == 1;
}

/// Neighbours first, which leave few classes to compare with all others.
void Alternatives::compare(const std::vector<const PlacedDiagram*>& samples) {
  const auto place_under = [&](std::size_t c, std::size_t k) {
    if (samples[k] == nullptr || samples[c] == nullptr || !never_more_work(*samples[k], *samples[c])) return false;
    classes_[c].under.push_back(k);
    classes_[c].least = false;
    return true;
  };
  for (const bool near : {true, false}) {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      for (std::size_t k = 0; k < c; ++k) {
        const bool asked = near ? neighbours(classes_[c], classes_[k]) : classes_[c].least && classes_[k].least;
        if (asked && !place_under(c, k)) (void)place_under(k, c);
      }
    }
  }
  for (bool deeper = true; deeper;) {
    deeper = false;
    for (Class& one : classes_) {
      for (const std::size_t k : one.under) {
        if (one.depth > classes_[k].depth) continue;
        one.depth = classes_[k].depth + 1;
        deeper = true;
      }
    }
  }
}

std::size_t Alternatives::combination_of(const Point& point) const {
  std::size_t index = 0;
  for (const KnobId knob : knobs_) index = index * space_.domains[at(knob)].size() + point.index[at(knob)];
  return index;
}

std::size_t Alternatives::class_of(const Point& point) const { return class_[combination_of(point)]; }

bool Alternatives::may_be_in(std::size_t which, const Point& point, KnobId last) const {
  std::size_t first = 0, count = 1;  // of the combinations that agree: they lie side by side
  for (const KnobId knob : knobs_) {
    const std::size_t values = space_.domains[at(knob)].size();
    first = first * values + (knob <= last ? point.index[at(knob)] : 0);
    if (knob > last) count *= values;
  }
  const auto begin = class_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  return std::find(begin, end, which) != end;
}

void Alternatives::set(Point& point, std::size_t combination) const {
  for (std::size_t i = 0; i < knobs_.size(); ++i) legality_.set(point, knobs_[i], combinations_[combination][i]);
}

}  // namespace napkin
