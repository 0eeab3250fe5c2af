#include "model/resource/order.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "model/diagram/packing.hpp"
#include "model/resource/block_ids.hpp"

namespace napkin::internal {
namespace {

std::size_t at_axis(AxisId id) { return static_cast<std::size_t>(id); }

const OrderWord& order_word(const PlacedDiagram& placed) {
  static const OrderWord none;
  const auto knob = placed.mapping->order_knob();
  if (!knob) return none;
  const std::vector<OrderWord>& orders = placed.mapping->knobs[static_cast<std::size_t>(*knob)].orders;
  const auto value = static_cast<std::size_t>(placed.tile.values[static_cast<std::size_t>(*knob)]);
  return value < orders.size() ? orders[value] : none;
}

/// Returns the axes that the mapping groups at the block's level, as it lists them.
const std::vector<std::string>& mapped_axes(const PlacedDiagram& placed) {
  static const std::vector<std::string> none;
  const std::string& block = placed.machine->levels[static_cast<std::size_t>(placed.block().level)].name;
  for (const LevelMapping& level : placed.mapping->levels) {
    if (level.level == block && !level.group.empty()) return level.group;
  }
  return none;
}

/// Returns the block's grouped axes, slowest first, in the order of `names`; unlisted axes come first. A streamed axis
/// that `parts` leave whole is not grouped.
std::vector<AxisId> listed_axes(const PlacedDiagram& placed, const std::vector<std::string>& names) {
  const Diagram& diagram = placed.streamed->diagram;
  std::vector<AxisId> listed, out;
  listed.reserve(names.size());
  out.reserve(placed.block().groups_of.size());
  for (const std::string& name : names) {
    if (const auto axis = diagram.find_axis(name)) listed.push_back(*axis);
  }
  for (std::size_t a = 0; a < placed.block().groups_of.size(); ++a) {
    const auto axis = static_cast<AxisId>(a);
    const bool unlisted = std::find(listed.begin(), listed.end(), axis) == listed.end();
    if (unlisted && placed.block().groups_of[a] > Count(1)) out.push_back(axis);
  }
  for (const AxisId axis : listed) {
    if (!placed.whole() || axis != *placed.streamed->stream) out.push_back(axis);
  }
  return out;
}

/// Returns the block's grouped axes in the order of the tile's word, or else of the mapping.
std::vector<AxisId> listed_axes(const PlacedDiagram& placed) {
  const std::vector<std::string>& own = order_word(placed).axes;
  return listed_axes(placed, own.empty() ? mapped_axes(placed) : own);
}

/// Returns the bytes that a plane streams: what all its blocks load in their loops, each byte counted once.
Count plane_bytes(const PlacedDiagram& placed) {
  Bytes sum;
  for (const Crossing& c : placed.crossings) {
    if (c.into != placed.block().level || c.store || c.phase != Phase::loop || c.auxiliary >= 0) continue;
    Count elements = 1;
    for (const AxisId axis : placed.axes_of(c)) {
      const bool streams = placed.streamed->stream == axis;
      const Count size = placed.problem->sizes[at_axis(axis)];
      elements *= streams ? size : std::min(placed.block().extent[at_axis(axis)], size);
    }
    sum += bytes_of(elements, c.type);
  }
  return std::max(sum.value, Count(1));
}

/// Returns the capacity of the cache between device memory and the blocks.
Bytes cache_capacity(const PlacedDiagram& placed) {
  const auto level_of = [&](LevelId id) -> const Level& {
    return placed.machine->levels[static_cast<std::size_t>(id)];
  };
  LevelId id = placed.block().level;
  while (id > 0 && level_of(id).parent > 0) id = level_of(id).parent;
  if (level_of(id).kind != LevelKind::cache || !level_of(id).capacity.known()) return {};
  return Bytes(count_of(level_of(id).capacity.best()));
}

/// Returns the number of planes in a section of order longest_first: by section_planes() for bundled kernels, by the
/// mapping's `section_bytes` for others.
Count longest_first_section(const PlacedDiagram& placed, Count planes) {
  const Count streamed = plane_bytes(placed);
  if (placed.mapping->section_bytes > 0) {
    const Count fit = std::clamp(Count(placed.mapping->section_bytes) / streamed, Count(1), planes);
    return Count(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(fit.get()))));
  }
  return section_planes(planes, streamed, cache_capacity(placed), placed.problem->mask.kind != Mask::Kind::none);
}

}  // namespace

bool always_rows_first(const Mapping& mapping) {
  const auto knob = mapping.order_knob();
  if (!knob) return true;
  const std::vector<OrderWord>& orders = mapping.knobs[static_cast<std::size_t>(*knob)].orders;
  return std::none_of(orders.begin(), orders.end(), [](const OrderWord& order) {
    return order.path == OrderWord::Path::grouped || order.path == OrderWord::Path::hilbert || !order.axes.empty();
  });
}

BlockOrder block_order(const PlacedDiagram& placed) {
  const OrderWord& order = order_word(placed);
  switch (order.path) {
    case OrderWord::Path::longest_first: return BlockOrder::longest_first;
    case OrderWord::Path::grouped: return BlockOrder::grouped;
    case OrderWord::Path::hilbert: return BlockOrder::hilbert;
    default: break;
  }
  if (order.tiles == OrderWord::Tiles::even) return BlockOrder::even;
  return order.tiles == OrderWord::Tiles::dealt ? BlockOrder::persistent : BlockOrder::grid;
}

Count cut_tiles(const PlacedDiagram& placed) {
  if (block_order(placed) != BlockOrder::even) return 0;
  const BlockIds ids(placed);
  const Count all = ids.size();
  const Count nodes = std::max(placed.machine->compute_nodes() / std::max(placed.cluster, Count(1)), Count(1));
  const Count share = ceil_div(all, nodes * std::max(placed.cluster, Count(1)));
  Count cuts;
  for (Count end = share; end < all; end += share) cuts += ids.at(end.get()).iteration > 0 ? 1 : 0;
  return cuts;
}

bool permutes_axes(const PlacedDiagram& placed) {
  const std::vector<std::string>& own = order_word(placed).axes;
  if (own.empty()) return false;
  std::vector<AxisId> as_word = listed_axes(placed, own), as_mapped = listed_axes(placed, mapped_axes(placed));
  const auto one_group = [&](AxisId axis) { return placed.block().groups_of[at_axis(axis)] <= Count(1); };
  for (std::vector<AxisId>* axes : {&as_word, &as_mapped}) std::erase_if(*axes, one_group);
  return as_word != as_mapped;
}

bool blocks_persist(const PlacedDiagram& placed) { return order_word(placed).tiles != OrderWord::Tiles::launched; }

Count section_planes(Count planes, Count plane_bytes, Bytes l2, bool masked) {
  // Each partition of the L2 keeps its own copy of what its SMs read, and other data pass through it too. So a section
  // may stream a quarter of its size: on an H200 with 60 MiB of L2, blocks read 16 MiB from device memory once, but
  // 30 MiB again in every wave (tests/measured/README.md). A last section much shorter than the others would leave its
  // longest tiles to few SMs.
  if (!masked) return 1;
  Count section = std::clamp((l2.value / 4 + plane_bytes / 2) / plane_bytes, Count(1), planes);
  while (planes % section != Count(0) && planes % section * 4 < section * 3) section -= 1;
  return section;
}

Count grouped_rows(Count rows, Count resident, Count tile_height, Count tile_width) {
  const double square =
      std::sqrt(static_cast<double>(resident) * static_cast<double>(tile_width) / static_cast<double>(tile_height));
  return std::clamp(Count(std::llround(square)), Count(1), rows);
}

BlockSequence::BlockSequence(const PlacedDiagram& placed, std::optional<Count> section)
    : order_(block_order(placed)), axes_(listed_axes(placed)) {
  const PlacedLevel& block = placed.block();
  groups_.reserve(block.groups_of.size());
  for (const Count groups : block.groups_of) groups_.push_back(groups.get());
  for (std::size_t i = 0; i < axes_.size(); ++i)
    (i + 1 == axes_.size() ? rows_ : planes_) *= block.groups_of[at_axis(axes_[i])].get();
  cluster_ = std::max<std::int64_t>(placed.cluster.get(), 1);
  rows_ = (rows_ + cluster_ - 1) / cluster_;
  if (section) {
    section_ = std::max<std::int64_t>(section->get(), 1);
  } else if (order_ == BlockOrder::longest_first) {
    section_ = longest_first_section(placed, planes_).get();
  } else if (order_ == BlockOrder::grouped && axes_.size() > 1) {
    const Count clusters = std::max(placed.machine->compute_nodes() / Count(cluster_), Count(1));
    const Count height = block.extent[at_axis(axes_.back())] * Count(cluster_),
                width = block.extent[at_axis(axes_[axes_.size() - 2])];
    section_ = grouped_rows(rows_, clusters, height, width).get();
  }
}

BlockPlace BlockSequence::at(std::int64_t index) const {
  if (cluster_ == 1) return of_clusters(index);
  BlockPlace place = of_clusters(index / cluster_);
  place.row = place.row * cluster_ + index % cluster_;
  return place;
}

void BlockSequence::coordinates(const BlockPlace& place, std::vector<std::int64_t>& into) const {
  into.assign(groups_.size(), 0);
  std::int64_t plane = place.plane;
  for (std::size_t i = axes_.size(); i-- > 0;) {
    const bool row = i + 1 == axes_.size();
    const std::int64_t groups = groups_[at_axis(axes_[i])];
    into[at_axis(axes_[i])] = row ? place.row : plane % groups;
    if (!row) plane /= groups;
  }
}

bool takes_one_sequence(const PlacedDiagram& launch) {
  const AxisId batch = launch.problem->packing.batch;
  const std::vector<AxisId> axes = listed_axes(launch);
  return launch.block().groups_of[at_axis(batch)] == launch.problem->sizes[at_axis(batch)] &&
         (axes.empty() || axes.back() != batch);
}

PackedBlocks::PackedBlocks(const PlacedDiagram& launch, const BlockSequence& sequence)
    : parts_(launch.problem->packing.sequences.size(), -1) {
  const Packing& packing = launch.problem->packing;
  const std::vector<EqualSequences> sequences = by_length(packing.sequences);
  const auto groups = [&](std::size_t part, AxisId axis) {
    return launch.packed[part].placed.block().groups_of[at_axis(axis)].get();
  };
  for (std::size_t p = 0; p < sequences.size(); ++p) {
    for (const std::int64_t which : sequences[p].which) parts_[static_cast<std::size_t>(which)] = static_cast<int>(p);
    rows_.push_back(groups(p, sequence.axes().back()));
  }
  Digit digit;
  for (std::size_t i = sequence.axes().size() - 1; i-- > 0; digit.stride *= digit.size) {
    const AxisId axis = sequence.axes()[i];
    digit.size = launch.block().groups_of[at_axis(axis)].get();
    if (axis == packing.batch) sequence_ = digit;
    if (axis != packing.rows && axis != packing.columns) continue;
    Split split{digit, {}};
    for (std::size_t p = 0; p < sequences.size(); ++p) split.groups.push_back(groups(p, axis));
    splits_.push_back(std::move(split));
  }
  for (std::int64_t plane = 0; plane < sequence.planes();) {
    const int part = part_of_plane(plane);
    if (runs_.empty() || runs_.back().part != part) runs_.push_back({plane, plane, part});
    runs_.back().last = plane = std::min(next_part(plane), sequence.planes());
  }
}

/// Returns the next plane whose part may be another.
std::int64_t PackedBlocks::next_part(std::int64_t plane) const {
  const int part = parts_[static_cast<std::size_t>(sequence_.of(plane))];
  std::int64_t next = (plane / sequence_.stride + 1) * sequence_.stride;
  for (const Split& split : splits_) {
    const std::int64_t all = split.digit.stride * split.digit.size, first = plane / all * all;
    const std::int64_t end =
        part < 0 ? first : first + split.digit.stride * split.groups[static_cast<std::size_t>(part)];
    next = std::min({next, first + all, plane < end ? end : first + all});
  }
  return next;
}

BlockPlace BlockSequence::of_clusters(std::int64_t index) const {
  switch (order_) {
    case BlockOrder::longest_first: {
      const std::int64_t first = index / (section_ * rows_) * section_, planes = std::min(section_, planes_ - first);
      const std::int64_t within = index - first * rows_;
      return {rows_ - 1 - within / planes, first + within % planes};
    }
    case BlockOrder::grouped: {
      const std::int64_t first = index / (section_ * planes_) * section_, height = std::min(section_, rows_ - first);
      const std::int64_t within = index - first * planes_;
      return {first + within % height, within / height};
    }
    case BlockOrder::hilbert: return along_hilbert(index);
    default: return {index % rows_, index / rows_};
  }
}

/// Returns cell `index` of the Hilbert curve over a square, counting only cells in rows x columns: from the whole
/// square down to a cell, it skips the quadrants before the one that holds it.
BlockPlace BlockSequence::along_hilbert(std::int64_t index) const {
  auto side = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(rows_, planes_))));
  BlockPlace at;
  bool flip = false,
       // orientation of the curve in the current square: rotated by 180 degrees, mirrored at the diagonal
      swap = false;
  for (side /= 2; side > 0; side /= 2) {
    for (int quadrant = 0; quadrant < 4; ++quadrant) {
      const bool lower = quadrant >= 2, right = quadrant == 1 || quadrant == 2;
      const std::int64_t u = lower != flip ? side : 0, v = right != flip ? side : 0;
      const BlockPlace corner{at.row + (swap ? v : u), at.plane + (swap ? u : v)};
      const std::int64_t inside = std::clamp<std::int64_t>(rows_ - corner.row, 0, side) *
                                  std::clamp<std::int64_t>(planes_ - corner.plane, 0, side);
      if (index >= inside) {
        index -= inside;
        continue;
      }
      at = corner;
      swap = swap != (quadrant == 0 || quadrant == 3);
      flip = flip != (quadrant == 3);
      break;
    }
  }
  return at;
}

}  // namespace napkin::internal
