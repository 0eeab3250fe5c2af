#pragma once
// An InterpretCase is a question for the interpreter: a diagram, its roles, a shape, a mask and a tile; a Tape has the
// numbers from which random ones are made.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "model/diagram/text.hpp"
#include "model/fusion/partition.hpp"
#include "model/fusion/streamed.hpp"

namespace napkin::internal::testing {

/// Numbers for random choices; zeros after the last one.
class Tape {
 public:
  explicit Tape(const std::vector<std::uint16_t>& numbers) : numbers_(numbers) {}
  /// Returns one of 0, ..., n - 1.
  int next(int n) { return at_ < numbers_.size() ? numbers_[at_++] % n : 0; }
  bool chance(int of_eight) { return next(8) > 7 - of_eight; }

 private:
  const std::vector<std::uint16_t>& numbers_;
  std::size_t at_ = 0;
};

struct InterpretCase {
  Streamed streamed;
  Problem problem;
  Partition partition;
  std::optional<Partition> nested;  ///< partition of a second level, whose sizes divide those of the first

  [[nodiscard]] int streamed_operations() const {
    int n = 0;
    for (const StreamedOp& op : streamed.operations) {
      n += op.accumulator && *op.accumulator != AccumulatorKind::concatenate ? 1 : 0;
    }
    return n;
  }
  /// Returns true if there is a grouped head axis that some array lacks: heads that share the array.
  [[nodiscard]] bool grouped_heads() const {
    for (const std::string name : {"h", "g"}) {
      const auto axis = streamed.diagram.find_axis(name);
      if (!axis || !streamed.grouped(*axis) || problem.sizes[static_cast<std::size_t>(*axis)] < 2) continue;
      for (const Array& a : streamed.diagram.arrays) {
        if (!a.has(*axis)) return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool masked() const {
    return problem.mask.kind != Mask::Kind::none && !mask_axes(streamed.diagram).empty();
  }
  [[nodiscard]] bool ragged() const {
    for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
      if (streamed.grouped(static_cast<AxisId>(i)) && problem.sizes[i] % partition.group[i] != 0) return true;
    }
    return false;
  }
  [[nodiscard]] bool split() const { return !streamed.combines.empty(); }

  [[nodiscard]] std::string text() const {
    std::string all = print(streamed.diagram) + "mask: " + text_of(problem.mask) + "\n";
    for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
      const auto axis = static_cast<AxisId>(i);
      const bool streams = streamed.stream == axis;
      all += streamed.diagram.axes[i].name + "=" + std::to_string(problem.sizes[i].get());
      if (streamed.grouped(axis)) {
        all +=
            (streamed.roles[i] == AxisRole::split ? " split " : " group ") + std::to_string(partition.group[i].get());
      }
      if (streams) all += " stream " + std::to_string(partition.chunk.get());
      if (nested && (streams || streamed.grouped(axis))) {
        all += " nested " + std::to_string((streams ? nested->chunk : nested->group[i]).get());
      }
      all += "\n";
    }
    return all;
  }
};

}  // namespace napkin::internal::testing
