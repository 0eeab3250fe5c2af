#pragma once
// GlobalMemory is the memory above the first level: whole inputs and outputs, and the partial results of split axes
// with their combine launch. Internal to the folder.

#include "model/interpret/node.hpp"

namespace napkin::internal::interpret {

template <class T>
class GlobalMemory final : public Memory<T> {
 public:
  /// Makes the memory. `inputs` by ArrayId are empty for arrays that are no inputs.
  GlobalMemory(const Streamed& streamed, const Sizes& sizes, const Partition& partition, std::vector<Block<T>> inputs);

  std::int64_t read(ArrayId array, Block<T>& block) override { return copy_common(inputs_[index(array)], block); }
  std::int64_t write(ArrayId array, const Block<T>& block, const Box& box) override;

  /// Combines all partial results, one split axis after the other, and counts the bytes that the launch moves. (eq.
  /// 19.1)
  void combine(LevelCounts& counts);
  /// Returns the whole output; call combine() first.
  [[nodiscard]] const Block<T>& output(ArrayId array) const { return results_[index(array)].parts[0]; }

 private:
  /// An output: a partial result for each group of the axes that are split.
  struct Result {
    std::vector<AxisId> axes;     ///< split axes
    std::vector<Block<T>> parts;  ///< partial results, row-major over the axes' groups; a single one without split axes
  };
  using Coordinates = std::vector<std::int64_t>;  ///< number of the group, by AxisId

  [[nodiscard]] std::int64_t groups_of(AxisId axis) const;
  [[nodiscard]] Block<T>& part(Result& result, const Coordinates& at) const;
  [[nodiscard]] Result combined(const Combine& how);
  void combine_parts(const Combine& how, Coordinates at, Block<T>& target);
  [[nodiscard]] Block<T> combined_log_sum_exp(ArrayId array, Coordinates at, AxisId axis);

  const Streamed& streamed_;
  const Sizes& sizes_;
  const Partition& partition_;
  std::vector<Block<T>> inputs_;
  std::vector<Result> results_;  ///< result by ArrayId
};

}  // namespace napkin::internal::interpret
