#include "apps/report/diagram/places.hpp"

#include <algorithm>

#include "model/base/error.hpp"
#include "model/fusion/partition.hpp"
#include "model/mapping/compile/ways.hpp"
#include "model/resource/columns.hpp"
#include "model/resource/table.hpp"

namespace napkin::internal::report {

Places::Places(const Streamed& streamed) : s_(streamed) {
  levels_ = {{0, "high", LevelKind::ordinary, true}, {1, "low", LevelKind::ordinary, true}};
  for (const TransferTerm& term : transfer_terms(streamed)) {
    Trip trip;
    trip.array = term.array;
    trip.name = streamed.diagram.arrays[at(term.array)].name;
    trip.from = term.store ? 1 : 0;
    trip.to = term.store ? 0 : 1;
    trip.store = term.store;
    trip.into = 1;
    trip.size = size_of(streamed.diagram.arrays[at(term.array)].axes);
    trips_.push_back(trip);
  }
}

Places::Places(const PlacedDiagram& placed, const std::vector<Granularity>& divisors)
    : s_(*placed.streamed), p_(&placed), divisors_(divisors) {
  add_levels();
  const std::vector<Bytes> moved = moved_by_crossings(placed);
  for (std::size_t i = 0; i < placed.crossings.size(); ++i) add_trip(i, moved[i]);
  add_cut_tiles();
}

/// Adds the parts of results that node shares leave within tiles.
void Places::add_cut_tiles() {
  Trip trip;
  trip.bytes = cut_bytes(*p_).value.get();
  if (*trip.bytes == 0) return;
  trip.name = "parts of cut tiles";
  trip.from = trip.to = -1;
  trip.into = p_->block().level;
  if (!goes_ways(*p_)) trips_.push_back(trip);
  for (const Crossing& c : p_->crossings) {
    if (!goes_ways(*p_) || !c.store || c.phase != Phase::tail || c.variable < 0) continue;
    trip.into = c.into;
    break;
  }
  trip.store = true;
  trips_.push_back(trip);
}

void Places::add_levels() {
  for (const Level& level : p_->machine->levels)
    levels_.push_back({static_cast<LevelId>(levels_.size()), level.name, level.kind});
  levels_[0].used = true;
  for (const LevelTransfer& moved : transfers(*p_)) {
    DiagramLevel& level = levels_[at(moved.level)];
    level.used = level.kind != LevelKind::cross_transfer || p_->cluster > Count(1);
    level.groups = moved.groups.get();
    level.load = moved.load.value.get();
    level.store = moved.store.value.get();
    level.per_group = moved.transfer_per_group.value.get();
  }
  for (const LevelMemory& memory : memories(*p_)) {
    DiagramLevel& level = levels_[at(memory.level)];
    level.drawn = memory.lower_bound.value.get();
    level.live = memory.live.value.get();
    level.allocated = memory.allocated.value.get();
    if (memory.limit) level.limit = memory.limit->value.get();
  }
}

void Places::add_trip(std::size_t crossing, Bytes bytes) {
  const Crossing& c = p_->crossings[crossing];
  const Level& into = p_->machine->levels[at(c.into)];
  LevelId other = into.parent;
  if (c.pipe >= 0) {
    const Pipe& pipe = p_->machine->pipes[at(c.pipe)];
    other = pipe.from == c.into ? pipe.to : pipe.from;
  } else if (is_beside(*p_, c.into)) {
    other = deepest();
  }
  Trip trip;
  trip.array = c.array;
  trip.name = c.array >= 0 ? s_.diagram.arrays[at(c.array)].name : s_.auxiliaries[at(c.auxiliary)].name;
  trip.from = c.store ? c.into : other;
  trip.to = c.store ? other : c.into;
  trip.store = c.store;
  trip.into = c.into;
  trip.read = !c.store && !c.fills && c.variable >= 0;
  trip.variable = c.variable;
  trip.bytes = bytes.value.get();
  if (into.kind == LevelKind::cross_transfer) {
    if (p_->cluster == Count(1)) return;  // a cluster of one block exchanges nothing
    // an exchange is drawn at the level above its network
    trip.from = trip.to = into.parent;
    trip.linked = p_->cluster.get();
  }
  trips_.push_back(trip);
}

bool Places::alone(AxisId axis) const {
  return p_ != nullptr && s_.stream != axis && s_.grouped(axis) && p_->block().extent[at(axis)] == Count(1);
}

std::vector<std::string> Places::left_out() const {
  std::string ones;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < s_.diagram.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    if (drawn(axis)) continue;
    const std::int64_t size = p_ == nullptr ? 1 : p_->problem->sizes[i].get();
    if (size > 1) out.push_back(name(axis) + ": " + std::to_string(size) + ", one a group");
    if (size <= 1) ones += (ones.empty() ? "" : ", ") + name(axis);
  }
  if (!ones.empty()) out.push_back("of size 1: " + ones);
  return out;
}

std::vector<Bundle::Joined> Places::joined_of(ArrayId array, const std::vector<AxisId>& drawn) const {
  std::vector<Bundle::Joined> out;
  const Array& a = s_.diagram.arrays[at(array)];
  for (const Reindex& dimension : a.reindexed) {
    if (dimension.table) continue;
    Bundle::Joined one;
    one.label = name(dimension.of) + ":";
    one.count = 0;
    for (std::size_t i = 0; i < dimension.strides.size(); ++i) {
      const AxisId axis = a.axes[dimension.first + i];
      const std::int64_t stride = dimension.strides[i];
      one.label += (i == 0 ? " " : "+") + (stride == 1 ? "" : std::to_string(stride)) + name(axis);
      const auto here = std::find(drawn.begin(), drawn.end(), axis);
      if (here == drawn.end()) continue;
      if (one.count++ == 0) one.first = static_cast<std::size_t>(here - drawn.begin());
    }
    if (dimension.offset != 0) one.label += (dimension.offset > 0 ? "+" : "") + std::to_string(dimension.offset);
    if (one.count > 0) out.push_back(one);
  }
  return out;
}

bool Places::drawn(AxisId axis) const {
  if (p_ != nullptr) return p_->problem->sizes[at(axis)] > Count(1) && !alone(axis);
  const auto* size = std::get_if<std::int64_t>(&s_.diagram.axes[at(axis)].fallback);
  return size == nullptr || *size != 1;
}

std::vector<AxisId> Places::drawn(const std::vector<AxisId>& axes) const {
  std::vector<AxisId> out;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(out), [&](AxisId axis) { return drawn(axis); });
  return out;
}

LevelId Places::deepest() const {
  if (p_ == nullptr) return 1;
  LevelId out = p_->block().level;
  for (const PlacedLevel& level : p_->levels) {
    if (!is_beside(*p_, level.level)) out = level.level;
  }
  return out;
}

int Places::variable_at(ArrayId array, LevelId level, bool staging) const {
  if (p_ == nullptr || array < 0) return -1;
  int part = -1;
  for (std::size_t i = 0; i < p_->variables.size(); ++i) {
    const Variable& v = p_->variables[i];
    if (v.level != level || v.output_staging != staging) continue;
    if (std::find(v.arrays.begin(), v.arrays.end(), array) == v.arrays.end()) continue;
    if (!v.part) return static_cast<int>(i);
    part = static_cast<int>(i);
  }
  return part;
}

int Places::part_apart(ArrayId array) const {
  if (p_ == nullptr) return -1;
  int part = -1;
  bool sum = false;
  for (std::size_t i = 0; i < p_->variables.size(); ++i) {
    const Variable& v = p_->variables[i];
    if (v.output_staging || std::find(v.arrays.begin(), v.arrays.end(), array) == v.arrays.end()) continue;
    if (!v.part) sum = true;
    if (v.part && part < 0) part = static_cast<int>(i);
  }
  return sum ? part : -1;
}

LevelId Places::made_at(ArrayId array) const {
  if (p_ == nullptr) return 1;
  LevelId out = -1;
  for (const Variable& v : p_->variables) {
    if (v.output_staging || v.part || std::find(v.arrays.begin(), v.arrays.end(), array) == v.arrays.end()) continue;
    out = std::max(out, v.level);
  }
  if (part_apart(array) >= 0) return out;
  for (const Trip& trip : trips_) {  // an array that leaves where it was made
    if (trip.array == array && trip.store) return trip.from;
  }
  return out < 0 ? deepest() : out;
}

const PlacedOperation* Places::operation(OpId id) const {
  if (p_ == nullptr) return nullptr;
  const auto found = std::find_if(p_->operations.begin(), p_->operations.end(),
                                  [&](const PlacedOperation& op) { return op.operation == id; });
  return found == p_->operations.end() ? nullptr : &*found;
}

std::string Places::size_of(const std::vector<AxisId>& axes) const {
  std::vector<std::string> words;
  for (const AxisId axis : axes) {
    if (drawn(axis)) words.push_back((s_.grouped(axis) ? "g_" : "") + name(axis));
  }
  return words.empty() ? "1" : joined(words, " ");
}

AxisTag Places::tag_in(AxisId axis, const Variable& v) const {
  AxisTag tag{axis, axis_label(*p_, v, axis), std::nullopt};
  const VariableMapping& mapping = p_->mapping->variables[at(v.mapping)];
  const std::string& axis_name = s_.diagram.axes[at(axis)].name;
  for (const auto& [sized, value] : mapping.sizes) {
    if (sized != axis_name) continue;
    if (value.kind == Value::Kind::literal) tag.size = value.literal;
    if (value.kind == Value::Kind::knob) tag.size = p_->tile.values[at(value.knob)] + value.more;
    return tag;
  }
  const PlacedLevel* level = p_->find_level(v.level);
  if (s_.stream == axis) {
    tag.size = (level != nullptr ? level->chunk : p_->block().chunk).get();
  } else if (tag.label.starts_with("w_") && level != nullptr) {
    tag.size = level->extent[at(axis)].get();
  } else if (!tag.label.starts_with("t_")) {
    tag.size = p_->block().extent[at(axis)].get();
  }
  return tag;
}

AxisTag Places::tag(AxisId axis, LevelId level, int variable) const {
  if (variable >= 0) return tag_in(axis, p_->variables[at(variable)]);
  if (p_ == nullptr) {
    std::string label = level == 0 ? "" : s_.stream == axis ? "s_" : s_.grouped(axis) ? "g_" : "";
    return {axis, label + name(axis), std::nullopt};
  }
  const Count whole = p_->problem->sizes[at(axis)];
  const PlacedLevel* here = p_->find_level(level);
  if (level == 0 || here == nullptr) return {axis, name(axis), whole.get()};
  if (s_.stream == axis && here->chunk < whole) return {axis, "s_" + name(axis), here->chunk.get()};
  const Count part = here->extent[at(axis)];
  return {axis, (s_.grouped(axis) && part < whole ? "g_" : "") + name(axis), part.get()};
}

Stretch Places::stretch(int bundle, const std::vector<AxisId>& axes, LevelId level, int variable) const {
  Stretch out;
  out.bundle = bundle;
  out.level = level;
  out.cached = levels_[at(level)].kind == LevelKind::cache;
  if (variable >= 0) {
    const Variable& v = p_->variables[at(variable)];
    out.name = p_->mapping->variables[at(v.mapping)].name;
    if (v.type != DType::value) out.type = name_of(v.type);
    out.copies = v.copies.get();
  }
  for (const AxisId axis : axes) {
    AxisTag tag = this->tag(axis, level, variable);
    const auto found =
        std::find_if(divisors_.begin(), divisors_.end(), [&](const Granularity& one) { return one.axis == axis; });
    if (found != divisors_.end() && level == p_->block().level) {
      tag.divisor = found->divisor.get();
      for (const RequiredFactor& cause : found->causes)
        tag.because += (tag.because.empty() ? "" : ", ") + cause.cause + " " + std::to_string(cause.divisor.get());
    }
    out.axes.push_back(tag);
  }
  return out;
}

}  // namespace napkin::internal::report
