#pragma once
// A Workspace keeps what questions of one Layout have in common: the solver's tables, placers, periods of graphs and
// least transfers of attention_sm90 on an H200, say. It goes with its Layout. Internal to apps/.

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "apps/library/question/latest.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/run/period.hpp"
#include "model/diagram/problem.hpp"
#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"
#include "napkin/answers.hpp"
#include "solver/select/select.hpp"

namespace napkin {

/// Key of a least transfer, which does not depend on the knobs that the user fixed.
struct LeastTransferKey {
  Sizes sizes;
  Mask mask;
  DType dtype = DType::bf16;
  bool operator==(const LeastTransferKey&) const = default;

  struct Hash {
    std::size_t operator()(const LeastTransferKey& key) const;
  };
};
using LeastTransfers = Latest<LeastTransferKey, std::optional<OptimumAnswer::Integer>, LeastTransferKey::Hash>;

/// A placer and the copy of a problem that it is bound to.
struct BoundPlacer {
  Problem problem;
  std::optional<Placer> placer;
};

/// Safe from several threads.
class Workspace {
 public:
  explicit Workspace(std::shared_ptr<TableMemory> memory) : tables(std::move(memory)) {}
  Tables tables;  ///< locked by itself

  /// Returns the prediction of a run of the tile's graph. Uses the periods of graphs met before.
  [[nodiscard]] Prediction predicted(const PlacedDiagram& placed);
  /// Returns the least transfer that is kept for the key, else what `find` finds.
  template <class Find>
  std::optional<OptimumAnswer::Integer> least_transfer(const LeastTransferKey& key, const Find& find) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto* found = least_transfers_.find(key)) return *found;
    }
    auto found = find();
    const std::lock_guard lock(mutex_);
    return least_transfers_.put(key, std::move(found));
  }
  /// Returns a placer that can be bound to another problem of that type and mask in a tenth of the time that a new one
  /// takes; nullptr where none is there.
  [[nodiscard]] std::unique_ptr<BoundPlacer> take_placer(const Problem& problem);
  void give_back(std::unique_ptr<BoundPlacer> placer);

 private:
  std::mutex mutex_;
  LeastTransfers least_transfers_{256};
  std::vector<std::unique_ptr<Periods>> periods_;    // a set for each caller at a time
  std::list<std::unique_ptr<BoundPlacer>> placers_;  // latest first
};
/// Makes a workspace whose tables share that memory; nullptr: they have their own.
[[nodiscard]] std::shared_ptr<Workspace> make_workspace(std::shared_ptr<TableMemory> memory = nullptr);

/// A placer bound to a problem, of which it has a copy; given back at its end: what it placed must not outlive it.
class KeptPlacer {
 public:
  KeptPlacer(std::shared_ptr<Workspace> from, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
             const Problem& problem);
  ~KeptPlacer() {
    if (bound_ != nullptr) from_->give_back(std::move(bound_));
  }
  KeptPlacer(const KeptPlacer&) = delete;
  KeptPlacer& operator=(const KeptPlacer&) = delete;
  operator const Placer&() const { return *bound_->placer; }
  const Placer* operator->() const { return &*bound_->placer; }

 private:
  std::shared_ptr<Workspace> from_;
  std::unique_ptr<BoundPlacer> bound_;
};

}  // namespace napkin
