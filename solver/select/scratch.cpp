#include <algorithm>

#include "solver/select/legality.hpp"

namespace napkin {
namespace {

/// The guards of variables, multicast and operands, and of software pipelining, which keeps lifetimes from ending
/// early: a footprint's business.
template <class Visit>
void each_structural_guard(const Mapping& mapping, const Visit& visit) {
  for (const VariableMapping& v : mapping.variables) {
    visit(v.when);
    if (v.multicast) visit(*v.multicast);
    if (v.unpermuted) visit(*v.unpermuted);
  }
  for (const OperationMapping& op : mapping.operations) {
    for (const auto& [array, alternatives] : op.operands) {
      for (const auto& [guard, variable] : alternatives) visit(guard);
    }
  }
  for (const EdgeMapping& edge : mapping.edges) {
    if (edge.distance < 0) visit(edge.when);
  }
}

/// By position in a knob's domain: the first value that no guard tells from it.
std::vector<std::uint16_t> told_apart(const std::vector<std::int64_t>& domain, const std::vector<std::int64_t>& named) {
  std::vector<std::uint16_t> out;
  std::optional<std::uint16_t> other;  // the first that no guard names
  for (std::size_t i = 0; i < domain.size(); ++i) {
    const auto here = static_cast<std::uint16_t>(i);
    const bool is_named = std::find(named.begin(), named.end(), domain[i]) != named.end();
    if (!is_named && !other) other = here;
    out.push_back(is_named ? here : *other);
  }
  return out;
}

}  // namespace

Scratch::Scratch(const Mapping& mapping, const Placer& placer, const Space& space)
    : mapping_(mapping), placer_(placer) {
  std::vector<std::vector<std::int64_t>> named(space.domains.size());
  KnobSet knobs = 0;
  const auto name = [&](const Guard& guard) {
    knobs |= knobs_of(guard);
    for (const auto& [knob, values] : guard.all) {
      auto& all = named[static_cast<std::size_t>(knob)];
      all.insert(all.end(), values.begin(), values.end());
    }
  };
  each_structural_guard(mapping, name);
  for (const LevelMapping& level : mapping.levels) {
    if (!level.nodes || level.nodes->kind != Value::Kind::knob) continue;
    knobs |= knobs_of(*level.nodes);
    named[static_cast<std::size_t>(level.nodes->knob)] = space.domains[static_cast<std::size_t>(level.nodes->knob)];
  }
  const KnobSet structural = knobs;
  for (const OperationMapping& op : mapping.operations) {
    for (const WorkMapping& work : op.work) name(work.when);
  }
  std::size_t slots = 1;
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    const auto& domain = space.domains[static_cast<std::size_t>(k)];
    if ((knobs & knob_bit(k)) == 0) continue;
    const bool apart = domain.size() * slots <= 256;
    guards_.push_back({k, apart ? slots : 0, told_apart(domain, named[static_cast<std::size_t>(k)]),
                       (structural & knob_bit(k)) != 0});
    if (apart) slots *= domain.size();
  }
  slots_.resize(slots);
}

Scratch::Slot& Scratch::slot_of(const Point& point) {
  std::size_t at = 0;
  for (const Told& told : guards_) at += told.stride * told.first[point.index[static_cast<std::size_t>(told.knob)]];
  if (!slots_[at]) slots_[at] = std::make_unique<Slot>();
  return *slots_[at];
}

Scratch::Slot& Scratch::place(const Point& point) {
  Slot& slot = slot_of(point);
  placer_.place(point.tile, slot.placed);
  return slot;
}

const PlacedDiagram& Scratch::alternatives(const Point& point) {
  Slot& slot = slot_of(point);
  placer_.place_alternatives(point.tile, slot.placed);
  return slot.placed;
}

std::uint64_t Scratch::case_of(const Point& point) const {
  std::uint64_t out = 0;
  for (const Told& told : guards_)
    out = out * told.first.size() + told.first[point.index[static_cast<std::size_t>(told.knob)]];
  return out;
}

std::uint64_t Scratch::structure_of(const Point& point) const {
  std::uint64_t out = 0;
  for (const Told& told : guards_) {
    if (told.structural) out = out * told.first.size() + told.first[point.index[static_cast<std::size_t>(told.knob)]];
  }
  return out;
}

bool Scratch::adds_work(const Point& a, const Point& b) const {
  bool more = false;
  for (const OperationMapping& op : mapping_.operations) {
    for (const WorkMapping& work : op.work) {
      if (work.when.all.empty()) continue;
      const bool of_a = guard_holds(work.when, a.tile), of_b = guard_holds(work.when, b.tile);
      if (of_a && !of_b) return false;
      more = more || (of_b && !of_a);
    }
  }
  return more;
}

const Footprint& Scratch::footprint(Slot& slot) const {
  if (!slot.footprint || slot.variant != slot.placed.variant.get()) {
    slot.footprint.emplace(slot.placed);
    slot.variant = slot.placed.variant.get();
  }
  return *slot.footprint;
}

}  // namespace napkin
