// A Placer places one tile after the other: what two tiles have in common is kept, and only what a changed knob turns
// is placed again (place.cpp).
#include <algorithm>

#include "model/diagram/packing.hpp"
#include "model/mapping/compile/compiled.hpp"

namespace napkin::internal {

Count number_of(const GuardedNumber& alternatives, const Tile& tile, Count otherwise) {
  for (const auto& [guard, number] : alternatives) {
    if (holds(*guard, tile)) return number.of(tile);
  }
  return otherwise;
}

const PlacedLevel* PlacedDiagram::find_level(LevelId id) const {
  for (const PlacedLevel& level : levels) {
    if (level.level == id) return &level;
  }
  return nullptr;
}

Count PlacedDiagram::parts() const {
  Count out = 1;
  for (std::size_t a = 0; combine && a < streamed->roles.size(); ++a) {
    if (streamed->roles[a] != AxisRole::split) continue;
    out *= ceil_div(block().groups_of[a], combine->at < 0 ? Count(1) : levels[at(combine->at)].groups_of[a]);
  }
  return out;
}

struct Placer::Part {
  std::shared_ptr<const Problem> problem;
  std::unique_ptr<Compiled> compiled;
  bool blank = false;
};

Placer::Placer(const Streamed& streamed, const Mapping& mapping, const Machine& machine, const Problem& problem)
    : compiled_(std::make_unique<Compiled>(streamed, mapping, machine, problem)) {
  find_parts(problem);
}
Placer::~Placer() = default;
Placer::Placer(Placer&&) noexcept = default;
Placer& Placer::operator=(Placer&&) noexcept = default;

PlacedDiagram Placer::place(const Tile& tile) const {
  PlacedDiagram out;
  place(tile, out);
  return out;
}

void Placer::place(const Tile& tile, PlacedDiagram& into) const {
  compiled_->place(tile, into);
  if (parts_.empty()) return;
  into.packed.resize(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    PackedPart& part = into.packed[i];
    part.problem = parts_[i].problem;
    part.blank = parts_[i].blank;
    // Every sequence is cut into as many parts as the launch is: the kernel's rule sees the whole batch.
    parts_[i].compiled->place(compiled_->with_parts(tile, into.own_parts), part.placed);
  }
}

Tile Placer::Compiled::with_parts(const Tile& tile, Count parts) const {
  Tile out = tile;
  if (parts > Count(0)) out.values[at(levels_[at(block_)].parts->knob)] = parts.get();
  return out;
}

void Placer::place_alternatives(const Tile& tile, PlacedDiagram& into) const {
  compiled_->place_alternatives(tile, into);
}

void Placer::rebind(const Problem& problem) {
  if (compiled_->is_of_one_kind(problem))
    compiled_->rebind(problem);
  else
    compiled_ = compiled_->of(problem);
  find_parts(problem);
}

void Placer::find_parts(const Problem& problem) {
  parts_.clear();
  const std::vector<EqualSequences> sequences = by_length(problem.packing.sequences);
  if (sequences.size() == 1 && sequences.front().which.size() == problem.packing.sequences.size())
    return;  // sizes alone decide, so there is nothing to do
  for (const EqualSequences& one : sequences) {
    auto part = std::make_shared<const Problem>(problem_of(problem, one));
    auto compiled = compiled_->of(*part);
    parts_.push_back({std::move(part), std::move(compiled), one.lengths.x == 0});
  }
}

const std::shared_ptr<const Variant>& Placer::Compiled::variant_of(const Tile& tile) const {
  std::size_t index = 0;
  for (const Told& t : told_) {
    const auto value = std::find(t.values.begin(), t.values.end(), tile.values[at(t.knob)]);
    index += t.stride * static_cast<std::size_t>(value - t.values.begin());
  }
  if (!made_[index].load(std::memory_order_acquire)) make(index, tile);
  return variants_[index];
}

/// Returns the knobs in which two tiles differ; all of them if the first is no tile of this mapping.
KnobSet Placer::Compiled::different(const Tile& a, const Tile& b) {
  if (a.values.size() != b.values.size()) return ~KnobSet{0};
  KnobSet knobs = 0;
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    if (a.values[k] != b.values[k]) knobs |= knob_bit(static_cast<KnobId>(k));
  }
  return knobs;
}

void Placer::Compiled::check_tile(const Tile& tile) const {
  if (tile.values.size() == mapping_->knobs.size()) return;
  throw Error(mapping_->name, "a tile of " + std::to_string(tile.values.size()) + " values",
              std::to_string(mapping_->knobs.size()) + ", one for each knob");
}

bool Placer::Compiled::started(const PlacedDiagram& into, const std::shared_ptr<const Variant>& variant) const {
  return into.variant == variant && into.binding == binding_;
}

void Placer::Compiled::place_alternatives(const Tile& tile, PlacedDiagram& into) const {
  check_tile(tile);
  const std::shared_ptr<const Variant>& variant = variant_of(tile);
  into.tile.values.clear();  // empty: no tile is placed
  if (!started(into, variant)) start(into, variant);
  into.cluster = cluster_ >= 0 ? levels_[at(cluster_)].nodes.of(tile) : Count(1);
  place_copies(tile, into);
}

void Placer::Compiled::place(const Tile& tile, PlacedDiagram& into) const {
  check_tile(tile);
  const std::shared_ptr<const Variant>& variant = variant_of(tile);
  const bool continued = started(into, variant);
  const KnobSet changed = continued ? different(into.tile, tile) : ~KnobSet{0};
  if (changed == 0) return;
  into.tile.values.clear();  // empty until all is placed, as placing may throw
  if (!continued) start(into, variant);
  const auto turned = [&](KnobSet knobs) { return changed == ~KnobSet{0} || (changed & knobs) != 0; };
  if (turned(depends_.levels)) {
    place_levels(tile, into);
  } else if (turned(depends_.chunks)) {
    place_chunks(tile, into);
    for (PlacedAgent& agent : into.agents) {
      if (stream_ >= 0) agent.extent[at(stream_)] = into.block().chunk;
    }
  }
  const bool chunks_alone = !turned(depends_.levels | depends_.parts);
  if (turned(depends_.levels | depends_.chunks)) place_operations(tile, into, *variant, chunks_alone);
  if (turned(depends_.levels | depends_.chunks | depends_.parts)) place_variables(tile, into, chunks_alone);
  if (turned(depends_.copies)) place_copies(tile, into);
  into.tile.values.assign(tile.values.begin(), tile.values.end());
}

/// Sets everything that the tiles of one variant have in common.
void Placer::Compiled::start(PlacedDiagram& into, const std::shared_ptr<const Variant>& variant) const {
  into.streamed = streamed_;
  into.machine = machine_;
  into.mapping = mapping_;
  into.problem = problem_;
  into.block_level = block_;
  into.combine = combine_;
  into.cuts = levels_[at(block_)].parts.has_value();
  into.across = across_;
  into.variables = variant->variables;
  into.crossings = variant->crossings;
  into.operations = variant->operations;
  into.levels.resize(levels_.size());
  into.agents.resize(agents_.size());
  into.variant = variant;
  into.binding = binding_;
  into.packed.clear();
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    PlacedLevel& level = into.levels[i];
    level.level = levels_[i].id;
    level.staged = levels_[i].staged;
    level.extent.assign(problem_->sizes.begin(), problem_->sizes.end());
    level.groups_of.assign(problem_->sizes.size(), 1);
  }
}

}  // namespace napkin::internal
