// The levels of a mapping, from names to ids: their order, which axes they size, and by which knobs.
#include <algorithm>

#include "model/diagram/reindex.hpp"
#include "model/mapping/compile/compiled.hpp"
#include "model/mapping/read/load.hpp"

namespace napkin::internal {
namespace {

const LevelMapping* find_level(const Mapping& mapping, const std::string& name) {
  for (const LevelMapping& level : mapping.levels) {
    if (level.level == name) return &level;
  }
  return nullptr;
}

}  // namespace

/// Throws Error if a word of the order knob cuts tiles into even shares whose parts cannot be added up.
void Placer::Compiled::check_order() const {
  const auto knob = mapping_->order_knob();
  if (!knob) return;
  const Knob& order = mapping_->knobs[at(*knob)];
  const auto cuts = [](const OrderWord& word) { return word.tiles == OrderWord::Tiles::even; };
  if (std::none_of(order.orders.begin(), order.orders.end(), cuts)) return;
  for (const ArrayId output : streamed_->diagram.outputs) {
    if (streamed_->stream && streamed_->diagram.arrays[at(output)].has(*streamed_->stream)) continue;  // whole chunks
    const auto op = streamed_->diagram.producer(output);
    if (op && streamed_->operations[at(*op)].accumulator == AccumulatorKind::sum &&
        !streamed_->operations[at(*op)].rescaled_by)
      continue;
    throw Error(order.location, "knobs." + order.name + ".words",
                "parts of '" + streamed_->diagram.arrays[at(output)].name + "' cannot be added up",
                "no tiles in even shares");
  }
}

/// Compiles the chain of levels from below device memory to the deepest that the mapping names, and the cluster beside
/// it.
void Placer::Compiled::compile_levels() {
  const auto depth = [&](LevelId id) {
    int d = 0;
    for (; id > 0; id = machine_->levels[at(id)].parent) ++d;
    return d;
  };
  LevelId deepest = 0;
  std::optional<LevelId> cluster;
  for (const LevelMapping& level : mapping_->levels) {
    const auto id = machine_->find_level(level.level);
    if (!id) continue;  // a cluster level that the machine lacks: check() allows it
    if (level.nodes)
      cluster = id;
    else if (depth(*id) > depth(deepest))
      deepest = *id;
  }
  for (const VariableMapping& v : mapping_->variables) {
    if (const LevelId id = machine_->level(v.level); depth(id) > depth(deepest)) deepest = id;
  }
  if (deepest == 0) throw Error(mapping_->file, "no level below device memory", "levels: {shared: ...}");
  std::vector<LevelId> chain;
  for (LevelId id = deepest; id > 0; id = machine_->levels[at(id)].parent) chain.push_back(id);
  std::reverse(chain.begin(), chain.end());
  const auto in_chain = [&](LevelId id) { return std::find(chain.begin(), chain.end(), id) - chain.begin(); };
  if (cluster && in_chain(*cluster) == std::ssize(chain)) {
    const auto parent = in_chain(machine_->levels[at(*cluster)].parent);
    chain.insert(chain.begin() + std::min<std::ptrdiff_t>(parent + 1, std::ssize(chain)), *cluster);
  }
  // The block's level: the execution units' own, or the nearest that the mapping sizes.
  LevelId block = machine_->compute;
  while (block > 0 && find_level(*mapping_, machine_->levels[at(block)].name) == nullptr)
    block = machine_->levels[at(block)].parent;
  if (block == 0)
    block = in_chain(machine_->compute) < std::ssize(chain) && machine_->compute > 0 ? machine_->compute : chain.back();
  for (const LevelId id : chain) {
    levels_.emplace_back();
    if (id == block) block_ = static_cast<int>(levels_.size()) - 1;
    if (cluster == id) cluster_ = static_cast<int>(levels_.size()) - 1;
    levels_.back().id = id;
  }
  deepest_ = static_cast<int>(levels_.size()) - 1;
  compile_beside();
  for (std::size_t i = 0; i < levels_.size(); ++i) compile_level(levels_[i].id);
  for (const VariableMapping& v : mapping_->variables) {
    if (!position_of(v.level))
      throw Error(v.location, "arrays." + v.name + ".level",
                  "'" + v.level + "' is not on the way from device memory to the lowest level",
                  "a level above it, or agents that are cores of the machine");
  }
}

namespace {

/// Returns the size that a knob gives an axis, as a number of the tile.
Number64 size_by(const Mapping& mapping, KnobId id) {
  const Knob& knob = mapping.knobs[at(id)];
  if (std::count(knob.domain.begin(), knob.domain.end(), 0) > 0)
    throw Error(knob.location, "knobs." + knob.name + ".domain", "0 of an axis", "a domain from 1");
  return Number64{id, 1};
}

}  // namespace

std::optional<Number64> Placer::Compiled::size_at(const LevelMapping& level, bool is_block, AxisId axis) const {
  const std::string& name = streamed_->diagram.axes[at(axis)].name;
  for (const auto& [sized, value] : level.sizes) {
    if (sized == name) return number(value);
  }
  std::optional<KnobId> knob = mapping_->find_knob(level.level + "." + name);
  if (!knob && is_block) knob = mapping_->find_knob(name);
  if (knob) return size_by(*mapping_, *knob);
  return is_block && lists(level.group, name) ? std::optional(Number64{}) : std::nullopt;
}

void Placer::Compiled::compile_level(LevelId id) {
  const auto position = *position_of(machine_->levels[at(id)].name);
  CompiledLevel& out = levels_[at(position)];
  const LevelMapping* level = find_level(*mapping_, machine_->levels[at(id)].name);
  out.cluster = position == cluster_;
  if (level == nullptr) return;
  if (out.cluster) {
    out.nodes = number(*level->nodes);
    out.along = streamed_->diagram.axis(level->group[0]);
    out.rounds_up = level->rounds_up;
    out.together = level->together;
    return;
  }
  for (std::size_t i = 0; i < streamed_->diagram.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    const std::string& name = streamed_->diagram.axes[i].name;
    if (stream_ == axis && !streamed_->grouped(axis)) continue;
    if (stream_ == axis) {  // an axis that is split too: `LEVEL.axis` sizes the part, `axis` the chunk
      if (const auto knob = mapping_->find_knob(level->level + "." + name); knob && position <= block_)
        out.sizes.emplace_back(axis, size_by(*mapping_, *knob));
      if (!level->parts.empty()) out.parts = number(level->parts.front().second);
      if (level->own_parts) out.own_parts = &*level->own_parts;
      continue;
    }
    if (position == block_ && lists(mapping_->padded, name)) {  // an axis that a block holds whole, padded with zeros
      out.sizes.emplace_back(axis, number(Value{Value::Kind::axis, 0, -1, name}));
      continue;
    }
    if (!lists(level->group, name) && position <= block_) continue;
    if (const auto size = size_at(*level, position == block_, axis)) out.sizes.emplace_back(axis, *size);
    out.staged |= lists(level->group, name);
  }
  if (!streamed_->stream) return;
  const std::string& stream = streamed_->diagram.axes[at(*streamed_->stream)].name;
  if (!lists(level->stream, stream)) return;
  out.staged = true;
  for (const auto& [sized, value] : level->sizes) {
    if (sized == stream) out.chunk = number(value);
  }
  const auto knob = mapping_->find_knob(
      position == block_ || streamed_->grouped(*streamed_->stream) ? stream : level->level + "." + stream);
  const auto exact = mapping_->find_knob(level->level + "." + stream);
  if (!out.chunk && exact && !streamed_->grouped(*streamed_->stream)) out.chunk = size_by(*mapping_, *exact);
  if (!out.chunk && knob) out.chunk = size_by(*mapping_, *knob);
  if (!out.chunk && position == block_) {
    throw Error(level->location, "levels." + level->level + ".stream",
                "nothing says how large a chunk of '" + stream + "' is",
                "a knob '" + stream + "', or sizes: {" + stream + ": ...}");
  }
}

}  // namespace napkin::internal
