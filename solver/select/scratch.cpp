#include <algorithm>

#include "solver/select/legality.hpp"

namespace napkin {
namespace {

/// What is kept apart: the guards of variables, multicast, operands and work, and the cluster.
KnobSet guard_knobs(const Mapping& mapping) {
  KnobSet set = 0;
  for (const VariableMapping& v : mapping.variables) {
    set |= knobs_of(v.when);
    if (v.multicast) set |= knobs_of(*v.multicast);
  }
  for (const OperationMapping& op : mapping.operations) {
    for (const auto& [array, alternatives] : op.operands) set |= guards_of(alternatives);
    for (const WorkMapping& work : op.work) set |= knobs_of(work.when);
  }
  for (const LevelMapping& level : mapping.levels) {
    if (level.nodes) set |= knobs_of(*level.nodes);
  }
  for (const EdgeMapping& edge :
       mapping.edges) {  // software pipelining keeps lifetimes from ending early: a footprint's business
    if (edge.distance < 0) set |= knobs_of(edge.when);
  }
  return set;
}

}  // namespace

Scratch::Scratch(const Mapping& mapping, const Placer& placer, const Space& space) : placer_(placer) {
  std::size_t slots = 1;
  const KnobSet guards = guard_knobs(mapping);
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    const std::size_t values = space.domains[static_cast<std::size_t>(k)].size();
    if ((guards & knob_bit(k)) == 0 || values * slots > 256) continue;
    guards_.emplace_back(k, slots);
    slots *= values;
  }
  slots_.resize(slots);
}

Scratch::Slot& Scratch::place(const Point& point) {
  std::size_t at = 0;
  for (const auto& [knob, stride] : guards_) at += stride * point.index[static_cast<std::size_t>(knob)];
  if (!slots_[at]) slots_[at] = std::make_unique<Slot>();
  placer_.place(point.tile, slots_[at]->placed);
  return *slots_[at];
}

const Footprint& Scratch::footprint(Slot& slot) const {
  if (!slot.footprint || slot.variant != slot.placed.variant.get()) {
    slot.footprint.emplace(slot.placed);
    slot.variant = slot.placed.variant.get();
  }
  return *slot.footprint;
}

}  // namespace napkin
