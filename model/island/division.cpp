#include "model/island/division.hpp"

#include <algorithm>
#include <map>

namespace napkin::internal {
namespace {

std::string name_of_axis(const Division& division, AxisId axis) { return division.split.diagram.axes[at(axis)].name; }

/// Returns the sizes with one axis divided among the GPUs.
Sizes divided(Sizes sizes, const Division& division, std::optional<AxisId> axis) {
  if (axis) sizes[at(*axis)] = sizes[at(*axis)] / Count(division.gpus);
  return sizes;
}

Bytes stored(const Division& division, ArrayId id, const Sizes& sizes) {
  const Array& array = division.split.diagram.arrays[at(id)];
  return bytes_of(volume(array, sizes).value, array.type.value_or(division.problem.dtype));
}

/// The extents of an array that a GPU holds at home, that its work touches, and that are both. (eq. 20.1)
struct Extents {
  Bytes home, work, both;
};

Extents extents_of(const Division& division, ArrayId id) {
  const Sizes& sizes = division.problem.sizes;
  const Array& array = division.split.diagram.arrays[at(id)];
  const AxisId group = division.split.group;
  const auto home = division.split.home(id);
  const std::optional<AxisId> work = array.has(group) ? std::optional(group) : std::nullopt;
  Sizes both = divided(sizes, division, home);
  if (work != home) both = divided(both, division, work);
  return {stored(division, id, divided(sizes, division, home)), stored(division, id, divided(sizes, division, work)),
          stored(division, id, both)};
}

Moved moved_input(const Division& division, ArrayId id) {
  const Array& array = division.split.diagram.arrays[at(id)];
  const Extents extents = extents_of(division, id);
  Moved out{id, Carrier::none, false, extents.home, extents.work - extents.both, {}};
  if (out.received.value > Count(0)) {
    const bool round = division.split.stream && array.has(*division.split.stream);
    out.by = round ? Carrier::ring : array.has(division.split.group) ? Carrier::all_to_all : Carrier::all_gather;
  }
  out.all = out.received * Count(division.gpus);
  return out;
}

/// Returns the move of an output; without the grouped axis it is a partial result on every GPU. (eq. 20.3, 20.4)
Moved moved_output(const Division& division, ArrayId id) {
  const Array& array = division.split.diagram.arrays[at(id)];
  const Extents extents = extents_of(division, id);
  const Count p = division.gpus;
  Moved out{id, Carrier::none, true, extents.home, {}, {}};
  if (array.has(division.split.group)) {
    out.received = extents.home - extents.both;
    if (out.received.value > Count(0)) out.by = division.split.home(id) ? Carrier::all_to_all : Carrier::all_gather;
    out.all = out.received * p;
    return out;
  }
  const bool scattered = division.split.home(id).has_value();
  out.by = p == Count(1) ? Carrier::none : scattered ? Carrier::reduce_scatter : Carrier::all_reduce;
  const Bytes whole = stored(division, id, division.problem.sizes);
  out.all = whole * ((scattered ? Count(1) : Count(2)) * (p - Count(1)));
  out.received = Bytes(ceil_div(out.all.value, p));
  return out;
}

/// The parts of one launch: parts of rows that see all of the same parts of columns, or (`diagonal`) rows and columns
/// at equal places, which the mask's diagonal crosses.
struct Seen {
  std::int64_t rows = 0, columns = 0;
  bool diagonal = false;
};

std::vector<Seen> seen_of(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns) {
  if (rows == columns) return {{std::ssize(rows), std::ssize(columns), true}};
  // number of parts of rows, by the number of parts of columns that they see
  std::map<std::int64_t, std::int64_t> alike;
  for (const std::int64_t row : rows)
    ++alike[std::count_if(columns.begin(), columns.end(), [&](std::int64_t column) { return column < row; })];
  std::vector<Seen> out;
  for (const auto& [before, count] : alike) {
    if (before > 0) out.push_back({count, before, false});
  }
  return out;
}

}  // namespace

std::string_view name_of(PartOrder order) { return order == PartOrder::zigzag ? "zigzag" : "contiguous"; }

std::string_view name_of(Carrier carrier) {
  constexpr std::array<std::string_view, 6> names = {"none",       "ring",           "all_to_all",
                                                     "all_gather", "reduce_scatter", "all_reduce"};
  return names[static_cast<std::size_t>(carrier)];
}

std::vector<std::int64_t> Division::parts_of(std::int64_t gpu) const {
  if (order == PartOrder::contiguous) return {gpu};
  return {gpu, 2 * gpus - 1 - gpu};
}

void check(const Division& division, const std::string& where) {
  const Split& split = division.split;
  const auto masks = mask_axes(split.diagram);
  const bool cut_by_mask = division.masked() && std::any_of(masks.begin(), masks.end(), [&](const auto& axes) {
                             return axes[0] == split.group || axes[1] == split.group || axes[1] == split.stream;
                           });
  if (cut_by_mask) {
    if (!split.stream || division.problem.mask.kind != Mask::Kind::causal) {
      const std::string kind = division.problem.mask.kind == Mask::Kind::prefix ? "prefix" : "window";
      throw Error("--" + kind,
                  split.name + " takes no " + kind + ": blocks that a GPU sees under it are no whole parts",
                  "--causal, or --split all_to_all_heads");
    }
    const Count rows = division.problem.sizes[at(masks.front()[0])];
    const Count columns = division.problem.sizes[at(masks.front()[1])];
    if (rows != columns)
      throw Error(where,
                  "a causal mask over " + std::to_string(rows.get()) + " rows and " + std::to_string(columns.get()) +
                      " columns, whose parts meet no diagonal of each other",
                  name_of_axis(division, masks.front()[0]) + " = " + name_of_axis(division, masks.front()[1]) +
                      ", or --split all_to_all_heads");
  }
  if (division.order == PartOrder::zigzag && !cut_by_mask)
    throw Error("--split", "zigzag balances a causal mask along a streamed axis, and there is none",
                "order=contiguous, or --causal with ring_attention");
  std::vector<AxisId> axes{split.group};
  if (split.stream) axes.push_back(*split.stream);
  for (const auto& home : split.homes) {
    if (home && std::find(axes.begin(), axes.end(), *home) == axes.end()) axes.push_back(*home);
  }
  for (const AxisId axis : axes) {
    const Count size = division.problem.sizes[at(axis)];
    if (size % Count(division.cuts()) == Count(0)) continue;
    throw Error(
        where,
        name_of_axis(division, axis) + "=" + std::to_string(size.get()) + " does not divide into " +
            std::to_string(division.cuts()) + " parts (" + split.name + ", " + std::to_string(division.gpus) + " GPUs" +
            (division.order == PartOrder::zigzag ? ", zigzag)" : ")"),
        "a multiple of " + std::to_string(division.cuts()) + ", or fewer GPUs: --split " + split.name + ",gpus=N");
  }
}

std::vector<Moved> moved(const Division& division) {
  std::vector<Moved> out;
  for (const ArrayId id : division.split.diagram.inputs) out.push_back(moved_input(division, id));
  for (const ArrayId id : division.split.diagram.outputs) out.push_back(moved_output(division, id));
  return out;
}

Bytes held(const Division& division, int buffers) {
  Bytes sum;
  for (const Moved& one : moved(division)) {
    const Extents extents = extents_of(division, one.array);
    sum += extents.home;
    if (one.by == Carrier::ring) {
      sum += extents.home * Count(buffers);
    } else if (one.by != Carrier::none) {
      sum += extents.work;
    }
    if (one.after && division.split.parts && division.gpus > 1) {
      const Array& array = division.split.diagram.arrays[at(one.array)];
      const Sizes sizes = divided(division.problem.sizes, division, division.split.group);
      sum += bytes_of(volume(array, sizes).value, *division.split.parts);
    }
  }
  return sum;
}

std::vector<std::vector<DeviceLaunch>> steps_of(const Division& division, std::int64_t gpu) {
  const Split& split = division.split;
  Problem problem = division.problem;
  const Count p = division.gpus;
  problem.sizes[at(split.group)] = problem.sizes[at(split.group)] / p;
  if (!split.stream) return {{{problem}}};
  const Count part_rows = problem.sizes[at(split.group)] * p / Count(division.cuts());
  const Count part_columns = problem.sizes[at(*split.stream)] / Count(division.cuts());
  problem.sizes[at(*split.stream)] = problem.sizes[at(*split.stream)] / p;
  std::vector<std::vector<DeviceLaunch>> steps;
  for (std::int64_t t = 0; t < division.gpus; ++t) {
    if (!division.masked()) {
      steps.push_back({{problem}});
      continue;
    }
    steps.emplace_back();
    const std::int64_t from = (gpu - t + division.gpus) % division.gpus;
    for (const Seen& seen : seen_of(division.parts_of(gpu), division.parts_of(from))) {
      Problem one = problem;
      one.sizes[at(split.group)] = part_rows * Count(seen.rows);
      one.sizes[at(*split.stream)] = part_columns * Count(seen.columns);
      if (!seen.diagonal) one.mask = {};
      steps.back().push_back({one});
    }
  }
  return steps;
}

Count pairs_of(const Division& division, const std::vector<std::vector<DeviceLaunch>>& steps) {
  Count pairs;
  const auto masks = mask_axes(division.split.diagram);
  for (const auto& step : steps) {
    for (const DeviceLaunch& launch : step) {
      for (const auto& [rows, columns] : masks)
        pairs += visible_pairs(launch.problem.mask, launch.problem.sizes[at(rows)].get(),
                               launch.problem.sizes[at(columns)].get());
    }
  }
  return pairs;
}

}  // namespace napkin::internal
