#include "model/diagram/packing.hpp"

#include <algorithm>
#include <map>

namespace napkin::internal {

Packing packing_axes(const Diagram& diagram, const std::string& where) {
  const std::string right = "leave it out: lengths are of sequences of attention, along b and the axes of its mask";
  const auto batch = diagram.find_axis("b");
  const auto planes = mask_axes(diagram);
  if (planes.size() != 1)
    throw Error(where, diagram.name + " has no operation with a mask over rows and columns", right);
  if (!batch) throw Error(where, diagram.name + " has no axis b to count sequences by", right);
  for (const auto* arrays : {&diagram.inputs, &diagram.outputs}) {
    for (const ArrayId id : *arrays) {
      const Array& array = diagram.arrays[static_cast<std::size_t>(id)];
      if (!array.has(*batch)) throw Error(where, "all sequences share " + array.name + " of " + diagram.name, right);
    }
  }
  return {*batch, planes.front()[0], planes.front()[1], {}};
}

SequenceLengths longest_of(const std::vector<SequenceLengths>& sequences, const std::string& where) {
  const std::string right = "lengths from 0, at least one sequence with queries and keys";
  if (sequences.empty()) throw Error(where, "has no sequence", right);
  SequenceLengths longest;
  bool any = false;
  for (const SequenceLengths& one : sequences) {
    if (one.q < 0 || one.x < 0) throw Error(where, "a length is " + std::to_string(std::min(one.q, one.x)), right);
    longest = {std::max(longest.q, one.q), std::max(longest.x, one.x)};
    any = any || (one.q > 0 && one.x > 0);
  }
  if (!any) throw Error(where, "no sequence has queries and keys", right);
  return longest;
}

std::vector<EqualSequences> by_length(const std::vector<SequenceLengths>& sequences) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> places;
  std::vector<std::int64_t>* latest = nullptr;  // sizes of the sequence before
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].q <= 0) continue;
    if (latest == nullptr || !(sequences[i] == sequences[i - 1])) latest = &places[{sequences[i].q, sequences[i].x}];
    latest->push_back(static_cast<std::int64_t>(i));
  }
  std::vector<EqualSequences> out;
  for (auto& [lengths, which] : places) out.push_back({{lengths.first, lengths.second}, std::move(which)});
  return out;
}

Problem problem_of(const Problem& whole, const EqualSequences& equal) {
  Problem out{whole.sizes, whole.mask, whole.dtype};
  const auto size = [&](AxisId axis) -> Count& { return out.sizes[static_cast<std::size_t>(axis)]; };
  size(whole.packing.batch) = Count(std::ssize(equal.which));
  size(whole.packing.rows) = Count(equal.lengths.q);
  size(whole.packing.columns) = Count(std::max<std::int64_t>(equal.lengths.x, 1));
  return out;
}

Problem launch_problem(const Problem& whole) { return {whole.sizes, whole.mask, whole.dtype}; }

namespace {

/// Returns the number of pairs of queries and keys; 1 for a query without keys.
double weight_of(const SequenceLengths& one) { return static_cast<double>(one.q) * static_cast<double>(one.x + 1); }

/// Replaces the lengths of [first, last) by their means.
void flatten(std::vector<SequenceLengths>& sequences, const std::vector<std::size_t>& order, std::size_t first,
             std::size_t last) {
  Count q, x;
  for (std::size_t i = first; i < last; ++i) {
    q += sequences[order[i]].q;
    x += sequences[order[i]].x;
  }
  const SequenceLengths mean{ceil_div(q, Count(last - first)).get(), ceil_div(x, Count(last - first)).get()};
  for (std::size_t i = first; i < last; ++i) sequences[order[i]] = mean;
}

}  // namespace

std::vector<SequenceLengths> coarsened(const std::vector<SequenceLengths>& sequences, std::size_t most) {
  std::vector<SequenceLengths> out = sequences;
  std::vector<std::size_t> order;
  double left = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].q == 0) continue;
    order.push_back(i);
    left += weight_of(out[i]);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weight_of(sequences[a]) > weight_of(sequences[b]); });
  for (std::size_t first = 0, last = 0, shares = most; first < order.size(); first = last, --shares) {
    const double share = left / static_cast<double>(shares);
    double taken = 0;
    while (last < order.size() && (last == first || shares == 1 || taken + weight_of(sequences[order[last]]) <= share))
      taken += weight_of(sequences[order[last++]]);
    left -= taken;
    flatten(out, order, first, last);
  }
  return out;
}

std::string text_of(const std::vector<SequenceLengths>& sequences) {
  std::string text;
  for (std::size_t i = 0, next = 0; i < sequences.size(); i = next) {
    const SequenceLengths& one = sequences[i];
    while (next < sequences.size() && sequences[next] == one) ++next;
    text += text.empty() ? "" : ",";
    if (next - i > 1) text += std::to_string(next - i) + "*";
    text += std::to_string(one.q);
    if (one.x != one.q) text += "x" + std::to_string(one.x);
  }
  return text;
}

}  // namespace napkin::internal
