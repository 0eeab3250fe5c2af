#pragma once
// An AttentionForm holds the part of one tile's plans that is the same at all lengths: attention_sm90's variant by
// name, its threads and its shared memory. A plan for 4097 keys after one for 4096 then computes only the numbers that
// differ.

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/plans/attention.hpp"

namespace napkin::internal {

/// The two functions of a kernel's plan: one makes the constant part, one the part that depends on lengths and the
/// call.
struct FormHalves {
  using Fill = std::function<void(LaunchPlan&, const PlacedDiagram&, const AttentionCall&, const LaunchDevice&)>;
  LaunchPlan constant;  ///< plan without grid, arguments, boxes and memory
  Fill fill;

  [[nodiscard]] LaunchPlan plan(const PlacedDiagram& placed, const AttentionCall& call,
                                const LaunchDevice& device) const;
};

/// Makes the halves of the placement's kernel. Throws Error as the kernels' plans do.
[[nodiscard]] FormHalves attention_sm90_form(const PlacedDiagram& placed, const AttentionCall& call);
[[nodiscard]] FormHalves attention_sm80_form(const PlacedDiagram& placed, const AttentionCall& call);
[[nodiscard]] FormHalves attention_decode_sm90_form(const PlacedDiagram& placed, const AttentionCall& call);
[[nodiscard]] FormHalves attention_fp8_sm90_form(const PlacedDiagram& placed, const AttentionCall& call);
[[nodiscard]] FormHalves napkin_fp8_sm90_form(const PlacedDiagram& placed, const AttentionCall& call);

class AttentionForm {
 public:
  AttentionForm(const PlacedDiagram& placed, const AttentionCall& call);

  /// Returns true if plan() equals attention_plan() at these lengths: the tile, the sizes of a block, the heads'
  /// columns and the call's options are as in the first call.
  [[nodiscard]] bool serves(const PlacedDiagram& placed, const AttentionCall& call) const;
  /// Returns true if a block has the sizes, and so the resources, that it had in the first call.
  [[nodiscard]] bool holds_as(const PlacedDiagram& placed) const;
  /// Makes the plan at lengths that the form serves. Throws Error for arrays that the kernel does not take, Overflow.
  [[nodiscard]] LaunchPlan plan(const PlacedDiagram& placed, const AttentionCall& call,
                                const LaunchDevice& device) const {
    return halves_.plan(placed, call, device);
  }

 private:
  /// The share of a node that an agent has.
  struct Agent {
    Count instances, threads, overhead;
    std::optional<Count> registers;
    bool operator==(const Agent&) const = default;
  };

  FormHalves halves_;
  std::shared_ptr<const void> variant_;
  Tile tile_;
  std::vector<std::pair<Count, Count>> variables_;  ///< elements and copies
  std::vector<Agent> agents_;
  std::vector<int> columns_;  ///< d and dv
  DType dtype_;
  Mask::Kind mask_;
  bool packed_, log_sum_exp_, cycles_, dump_;
};

}  // namespace napkin::internal
