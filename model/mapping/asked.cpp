#include "model/mapping/asked.hpp"

#include <algorithm>

namespace napkin::internal {
namespace {

/// Returns true if each of that many rows sees every column.
bool sees_all(const Mask& mask, std::int64_t rows, std::int64_t columns) {
  return mask.kind == Mask::Kind::none || visible_pairs(mask, rows, columns) == Count(rows) * columns;
}

/// Returns true if every row of the problem along that axis sees all keys.
bool hides_nothing(const Diagram& diagram, const Problem& problem, AxisId into) {
  if (problem.mask.kind == Mask::Kind::none) return true;
  for (const auto& [rows, columns] : mask_axes(diagram)) {
    if (rows != into || !sees_all(problem.mask, problem.sizes[at(rows)].get(), problem.sizes[at(columns)].get()))
      return false;
  }
  return std::all_of(problem.packing.sequences.begin(), problem.packing.sequences.end(),
                     [&](const SequenceLengths& one) { return sees_all(problem.mask, one.q, one.x); });
}

/// Makes a call of single queries under a window one of the keys that they see, without a mask: its last ones.
void leave_out_hidden(const Diagram& diagram, Problem& problem) {
  const auto masks = mask_axes(diagram);
  if (problem.mask.kind != Mask::Kind::window || problem.mask.right < 0 || masks.size() != 1) return;
  const auto [rows, columns] = masks.front();
  std::vector<SequenceLengths>& sequences = problem.packing.sequences;
  const bool single = std::all_of(sequences.begin(), sequences.end(), [](const auto& one) { return one.q == 1; });
  if (problem.sizes[at(rows)] != Count(1) || !single) return;
  const std::int64_t seen = problem.mask.left + 1;
  Count& keys = problem.sizes[at(columns)];
  keys = std::min(keys, Count(seen));
  for (SequenceLengths& one : sequences) one.x = std::min(one.x, seen);
  problem.mask = {};
}

void pack(const Diagram& diagram, const Packs& packs, Problem& problem) {
  const AxisId axis = diagram.axis(packs.axis), into = diagram.axis(packs.into);
  const Count heads = problem.sizes[at(axis)];
  const bool many = packs.up_to > 0 && problem.sizes[at(into)] > Count(packs.up_to);
  if (heads == Count(1) || many || !hides_nothing(diagram, problem, into)) return;
  problem.sizes[at(into)] *= heads;
  problem.sizes[at(axis)] = 1;
  problem.mask = {};
  if (problem.packing.rows != into) return;
  for (SequenceLengths& one : problem.packing.sequences) one.q *= heads.get();
}

}  // namespace

Problem asked_of(const Mapping& mapping, const Diagram& diagram, const Problem& problem) {
  Problem out = problem;
  if (mapping.deals_visible) leave_out_hidden(diagram, out);
  for (const Packs& packs : mapping.packs) pack(diagram, packs, out);
  return out;
}

bool takes_mask(const Mapping& mapping, Mask::Kind mask) {
  if (mapping.masks.empty()) return mask != Mask::Kind::prefix;
  return std::find(mapping.masks.begin(), mapping.masks.end(), mask) != mapping.masks.end();
}

Count held_size(const Mapping& mapping, const Diagram& diagram, const Problem& problem, AxisId axis) {
  const Count size = problem.sizes[at(axis)];
  return mapping.padded.empty() ? size : mapping.size_for(diagram.axes[at(axis)].name, size.get()).value_or(size.get());
}

std::optional<std::int64_t> Mapping::size_for(std::string_view axis, std::int64_t size) const {
  const auto rule = std::find_if(head_sizes.begin(), head_sizes.end(), [&](const auto& r) { return r.first == axis; });
  if (rule == head_sizes.end() || rule->second.empty()) return size;
  const bool pads = lists(padded, axis);
  for (const auto& [of, most] : above) {
    if (of == axis && size <= most) return std::nullopt;
  }
  std::optional<std::int64_t> next;
  for (const std::int64_t one : rule->second) {
    if ((pads ? one >= size : one == size) && (!next || one < *next)) next = one;
  }
  return next;
}

void check_packs(const Mapping& mapping, const Diagram& diagram) {
  for (const Packs& packs : mapping.packs) {
    const AxisId axis = diagram.axis(packs.axis), into = diagram.axis(packs.into);
    for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
      const Array& array = diagram.arrays[i];
      const auto id = static_cast<ArrayId>(i);
      const bool used = diagram.is_input(id) || diagram.producer(id);  // else another launch's alone
      if (!used || array.has(axis) == array.has(into)) continue;
      throw Error(packs.location, "packs." + packs.axis,
                  "array '" + array.name + "' has one of " + packs.axis + " and " + packs.into + " without the other",
                  "two axes that every array has both or neither of");
    }
  }
}

}  // namespace napkin::internal
