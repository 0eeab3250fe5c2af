#pragma once
// laid_out_packed lays packed batches out for tests: lengths 512, 4096 and 1.

#include <memory>
#include <utility>
#include <vector>

#include "model/diagram/packing.hpp"
#include "tests/support/layout.hpp"

namespace napkin::internal::test {

/// Lays out a packed batch; `shape` has neither b nor the axes of lengths.
inline std::unique_ptr<LaidOut> laid_out_packed(const std::string& kernel, Shape shape,
                                                const std::vector<SequenceLengths>& lengths, Mask mask = {},
                                                const std::string& gpu = "h200-sxm") {
  const SequenceLengths longest = longest_of(lengths, "lengths");
  for (const auto& [axis, size] : Shape{{"b", std::ssize(lengths)}, {"q", longest.q}, {"x", longest.x}})
    shape.emplace_back(axis, size);
  auto out = std::make_unique<LaidOut>(kernel, gpu, shape, DType::bf16, mask);
  out->problem.packing = packing_axes(out->streamed.diagram, "lengths");
  out->problem.packing.sequences = lengths;
  out->placer = std::make_unique<Placer>(out->streamed, out->mapping, out->machine, out->problem);
  return out;
}

}  // namespace napkin::internal::test
