#include "solver/select/legality.hpp"

#include <algorithm>

namespace napkin {
namespace {

constexpr std::size_t most_memo = std::size_t{1} << 22;

/// What multiplies a variable's elements.
enum class Growth { constant, proportional, other };

/// How each axis of the block's tile follows a knob, by AxisId.
std::vector<Growth> growth_by_axis(const Streamed& streamed, const Mapping& mapping, KnobId knob) {
  const std::vector<KnobSet> knobs = knobs_by_axis(streamed.diagram, mapping);
  std::vector<Growth> out(knobs.size(), Growth::constant);
  const LevelMapping* block = block_level_of(mapping);
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    if ((knobs[i] & knob_bit(knob)) == 0) continue;
    const std::string& axis = streamed.diagram.axes[i].name;
    const bool divided = std::any_of(mapping.agents.begin(), mapping.agents.end(), [&](const Agent& agent) {
      return std::find(agent.splits.begin(), agent.splits.end(), axis) != agent.splits.end();
    });  // among instances, rounded up
    const bool sized_elsewhere = std::any_of(mapping.levels.begin(), mapping.levels.end(), [&](const auto& level) {
      return &level != block && size_of_axis(mapping, level, axis);
    });
    const bool clipped = (knobs[i] & ~knob_bit(knob)) != 0;  // a chunk is no longer than the part that a group walks
    out[i] = divided || sized_elsewhere || clipped ? Growth::other : Growth::proportional;
  }
  return out;
}

Growth growth_of(const Streamed& streamed, const std::vector<Growth>& by_axis, const VariableMapping& variable,
                 KnobId knob) {
  const auto along = [&](AxisId axis) {
    for (const auto& [part, size] : variable.sizes) {
      if (part != streamed.diagram.axes[at(axis)].name) continue;
      return size.kind == Value::Kind::knob && size.knob == knob ? Growth::proportional : Growth::constant;
    }
    return by_axis[at(axis)];
  };
  std::vector<AxisId> given;
  for (const std::string& axis : variable.axes) given.push_back(streamed.diagram.axis(axis));
  std::optional<Growth> all;
  visit_held(streamed, variable, [&](const std::vector<AxisId>& axes) {
    Growth one = Growth::constant;
    for (const AxisId axis : given.empty() ? axes : given) {
      const Growth next = along(axis);
      if (next != Growth::constant) one = one == Growth::constant ? next : Growth::other;
    }
    all = !all || *all == one ? one : Growth::other;
  });
  return all.value_or(Growth::constant);
}

/// Knobs that decide more than a size: guards, agents, copies.
KnobSet switches_of(const Mapping& mapping) {
  KnobSet set = knobs_of_edges(mapping);
  for (const Agent& agent : mapping.agents) {
    set |= knobs_of(agent.count) | knobs_of(agent.threads) | knobs_of(agent.registers) | knobs_of(agent.overhead);
  }
  for (const VariableMapping& v : mapping.variables) set |= knobs_of(v.when) | knobs_of(v.copies);
  for (const OperationMapping& op : mapping.operations) {
    for (const auto& [array, alternatives] : op.operands) set |= guards_of(alternatives);
  }
  return set;
}

}  // namespace

Legality::Legality(const Question& question, const Space& space, const Rules& rules, Scratch& scratch)
    : question_(question), space_(space), rules_(rules), scratch_(scratch) {
  choose_lane();
  prepare_memos();
}

void Legality::choose_lane() {
  const KnobSet switches = switches_of(*question_.mapping);
  KnobSet wanted = 0;
  for (const PlanRule& rule : rules_.plan) wanted |= rule.knobs;
  std::size_t longest = 1;
  for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) {
    const std::size_t size = space_.domains[at(k)].size();
    if ((wanted & ~switches & knob_bit(k)) == 0 || size <= longest || size > 64) continue;
    longest = size;
    lane_ = k;
  }
  all_lanes_ = longest == 64 ? ~Lanes{0} : (Lanes{1} << longest) - 1;
  if (lane_ < 0) return;
  const std::vector<std::int64_t>& values = space_.domains[at(lane_)];
  for (std::size_t i = 0; i < values.size(); ++i) ascending_.push_back(i);
  std::sort(ascending_.begin(), ascending_.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  up_to_.resize(values.size());
  Lanes below = 0;
  for (const std::size_t i : ascending_) up_to_[i] = below |= Lanes{1} << i;
  scales_ = !question_.mapping->exact_groups;
  const std::vector<Growth> by_axis = growth_by_axis(*question_.streamed, *question_.mapping, lane_);
  for (const VariableMapping& variable : question_.mapping->variables) {
    const Growth growth = growth_of(*question_.streamed, by_axis, variable, lane_);
    has_lane_.push_back(growth == Growth::proportional);
    scales_ = scales_ && growth != Growth::other;
  }
}

void Legality::prepare_memos() {
  for (const PlanRule& rule : rules_.plan) {
    Memo memo;
    std::size_t size = 1;
    for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) {
      if (k == lane_ || (rule.knobs & knob_bit(k)) == 0) continue;
      memo.strides.emplace_back(k, size);
      size *= space_.domains[at(k)].size();
      if (size > most_memo) throw Error(question_.mapping->name, "a tile space too large to search", "fix some knobs");
    }
    memo.lanes.resize(size);
    memo.known.resize(size);
    memos_.push_back(std::move(memo));
  }
}

void Legality::forget() {
  for (Memo& memo : memos_) {
    std::fill(memo.lanes.begin(), memo.lanes.end(), 0);
    std::fill(memo.known.begin(), memo.known.end(), 0);
  }
}

Point Legality::origin() const {
  Point point;
  point.tile.values.resize(space_.domains.size());
  for (KnobId k = 0; k < static_cast<KnobId>(space_.domains.size()); ++k) set(point, k, 0);
  return point;
}

/// The slot's variables that grow with the lane, which is at that value.
void Legality::find_growing(Scratch::Slot& slot, std::int64_t lane) {
  growing_.clear();
  for (Variable& v : slot.placed.variables) {
    if (has_lane_[at(v.mapping)]) growing_.emplace_back(&v, v.elements / lane);
  }
}

void Legality::resize(std::int64_t lane) const {
  for (const auto& [variable, each] : growing_) variable->elements = each * lane;
}

bool Legality::plan_rule_holds(const PlanRule& rule, Scratch::Slot& slot) {
  const PlacedDiagram& placed = slot.placed;
  const Footprint& footprint = scratch_.footprint(slot);
  numbers_.threads = placed.threads;
  if (rule.check == check_shared_memory) {
    numbers_.shared_limit = shared_limit(placed);
    numbers_.shared_total = footprint.shared_bytes(placed);
  } else if (rule.check == check_registers) {
    const RegisterNeed worst = footprint.register_need(placed);
    numbers_.registers_per_thread = worst.need;
    numbers_.registers_limit = worst.limit;
  } else {
    numbers_.registers_launch = launch_registers(placed);
  }
  return !rule.check(placed, numbers_);
}

/// Needs grow with the lane's value: all lanes up to the last that holds.
Lanes Legality::last_lane_that_holds(const PlanRule& rule, Scratch::Slot& slot) {
  const std::vector<std::int64_t>& values = space_.domains[at(lane_)];
  const auto sets_registers = [](const PlacedAgent& agent) { return agent.registers.has_value(); };
  const std::vector<PlacedAgent>& agents = slot.placed.agents;
  if (rule.check == check_register_file && std::all_of(agents.begin(), agents.end(), sets_registers)) {
    return plan_rule_holds(rule, slot) ? all_lanes_ : 0;  // what they ask for at launch, whatever the variables need
  }
  std::size_t low = 0, high = ascending_.size();
  std::size_t next = std::min(guess_, high - 1);  // neighbours are alike: look beside the last answer first
  for (std::size_t step = 1; low < high; step *= 2) {
    resize(values[ascending_[next]]);
    const bool holds = plan_rule_holds(rule, slot);
    (holds ? low : high) = holds ? next + 1 : next;
    if (low >= high) break;
    const std::size_t beside = holds ? next + step : next - std::min(step, next);
    next = step <= 2 ? std::clamp(beside, low, high - 1) : (low + high) / 2;
  }
  guess_ = low;
  Lanes found = 0;
  for (std::size_t i = 0; i < low; ++i) found |= Lanes{1} << ascending_[i];
  return found;
}

/// Fills the memo of the rule, and of the others that depend on the same knobs, from as few placements as possible.
void Legality::find_lanes(std::size_t rule, Point& point, std::size_t index) {
  const std::size_t before = lane_ < 0 ? 0 : point.index[at(lane_)];
  const auto for_each_alike = [&](const auto& fill) {
    for (std::size_t r = 0; r < rules_.plan.size(); ++r) {
      if (rules_.plan[r].knobs != rules_.plan[rule].knobs) continue;
      memos_[r].lanes[index] |= fill(rules_.plan[r]);
      memos_[r].known[index] = all_lanes_;
    }
  };
  if (lane_ < 0 || (rules_.plan[rule].knobs & knob_bit(lane_)) == 0) {
    Scratch::Slot& slot = scratch_.place(point);
    return for_each_alike([&](const PlanRule& r) { return plan_rule_holds(r, slot) ? all_lanes_ : Lanes{0}; });
  }
  if (scales_) {
    set(point, lane_, ascending_.back());
    Scratch::Slot& slot = scratch_.place(point);
    const std::int64_t lane = space_.domains[at(lane_)][ascending_.back()];
    find_growing(slot, lane);
    for_each_alike([&](const PlanRule& r) { return last_lane_that_holds(r, slot); });
    resize(lane);
  } else {
    for (std::size_t i = 0; i < ascending_.size(); ++i) {
      set(point, lane_, i);
      Scratch::Slot& slot = scratch_.place(point);
      for_each_alike([&](const PlanRule& r) { return plan_rule_holds(r, slot) ? Lanes{1} << i : Lanes{0}; });
    }
  }
  set(point, lane_, before);
}

std::size_t Legality::Memo::index(const Point& point) const {
  std::size_t index = 0;
  for (const auto& [knob, stride] : strides) index += stride * point.index[at(knob)];
  return index;
}

Lanes Legality::plan_rule_lanes(std::size_t rule, Point& point) {
  const Memo& memo = memos_[rule];
  const std::size_t index = memo.index(point);
  if (memo.known[index] != all_lanes_) find_lanes(rule, point, index);
  return memo.lanes[index];
}

Lanes Legality::lane_of(const Point& point) const { return lane_ < 0 ? 1 : Lanes{1} << point.index[at(lane_)]; }

/// Decides the rule, and the others that depend on the same knobs, from one placement: for the point's lane, and where
/// needs grow with the lane's value for all below a lane that holds and all above one that does not.
void Legality::decide(std::size_t rule, const Point& point, std::size_t index) {
  Scratch::Slot& slot = scratch_.place(point);
  const bool reads_lane = lane_ >= 0 && (rules_.plan[rule].knobs & knob_bit(lane_)) != 0;
  const Lanes own = lane_of(point);
  for (std::size_t r = 0; r < rules_.plan.size(); ++r) {
    if (rules_.plan[r].knobs != rules_.plan[rule].knobs) continue;
    const bool holds = plan_rule_holds(rules_.plan[r], slot);
    Lanes alike = reads_lane ? own : all_lanes_;
    if (reads_lane && scales_) {
      const Lanes below = up_to_[point.index[at(lane_)]];
      alike = holds ? below : (all_lanes_ & ~below) | own;
    }
    memos_[r].known[index] |= alike;
    if (holds) memos_[r].lanes[index] |= alike;
  }
}

bool Legality::plan_rule_holds(std::size_t rule, const Point& point) {
  const Memo& memo = memos_[rule];
  const std::size_t index = memo.index(point);
  const Lanes own = lane_of(point);
  if ((memo.known[index] & own) == 0) decide(rule, point, index);
  return (memo.lanes[index] & own) != 0;
}

}  // namespace napkin
