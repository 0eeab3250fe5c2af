#pragma once
// Known keeps what requests with one diagram, machine and mapping share: the solver's tables, placers, periods of
// graphs and least transfers, such as attention's on an H200. Internal to apps/.

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "apps/library/question/kept_placers.hpp"
#include "apps/library/question/latest.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/run/period.hpp"
#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"
#include "napkin/answers.hpp"
#include "solver/select/select.hpp"

namespace napkin {

/// The key of a least transfer, which does not depend on the knobs that the user fixed.
struct LeastTransferKey {
  const Streamed* streamed = nullptr;
  const Machine* machine = nullptr;
  Sizes sizes;
  Mask mask;
  DType dtype = DType::bf16;
  bool operator==(const LeastTransferKey&) const = default;

  struct Hash {
    std::size_t operator()(const LeastTransferKey& key) const;
  };
};
using LeastTransfers = Latest<LeastTransferKey, std::optional<OptimumAnswer::Integer>, LeastTransferKey::Hash>;

/// The workspace that requests with the same parts share, keyed by the parts' addresses. Lock `mutex` to read or write
/// it.
struct Known {
  std::mutex mutex;  ///< guards least_transfers and periods
  LeastTransfers least_transfers{256};
  std::vector<std::unique_ptr<Periods>> periods;  ///< pool for the periods of tiles that threads ask about in parallel
  Tables tables;                                  ///< locked by itself
  KeptPlacers placers;                            ///< locked by itself
  /// Predicts by a run of the tile's graph, using the periods of known graphs.
  [[nodiscard]] Prediction predicted(const PlacedDiagram& placed, const Plan& plan);
};
[[nodiscard]] std::shared_ptr<Known> make_known();

}  // namespace napkin
