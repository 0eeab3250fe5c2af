#pragma once
// A Workspace keeps what is worth keeping between the problems of one diagram, mapping and machine: tables of tiles,
// placers, periods of graphs and least transfers. Setups of these three share it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/base/latest.hpp"
#include "model/base/pool.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/run/period.hpp"
#include "model/diagram/problem.hpp"
#include "model/mapping/placed.hpp"
#include "solver/space/setup.hpp"

namespace napkin::internal {

class Tables;

/// The least transfer of any legal tile into the block's level, and the sizes of the axes in that tile.
struct LeastTransfer {
  std::int64_t transfer = 0;  ///< bytes
  std::vector<std::pair<std::string, std::int64_t>> group;
};

/// A placer and the copy of a problem that it is bound to; placed tiles must not outlive it.
struct KeptPlacer {
  Problem problem;
  std::optional<Placer> placer;
  std::vector<PlacedDiagram> placed;  ///< memory for placed tiles

  /// Places a tile in the memory of the latest tile with that number: tiles of one variant then allocate nothing.
  const PlacedDiagram& place(const Tile& tile, std::size_t number);
};
/// Lends a placer of the problem, which returns to the setup's workspace at its end, if there is one.
[[nodiscard]] std::shared_ptr<KeptPlacer> kept_placer(const Setup& setup, const Problem& problem);

/// Safe from several threads.
class Workspace {
 public:
  explicit Workspace(std::shared_ptr<Tables> own) : tables(std::move(own)) {}
  std::shared_ptr<Tables> tables;  ///< tables, which have their own lock
  Pool<KeptPlacer> placers{64};    ///< placers, bound to another problem in a tenth of the time that a new one takes

  /// Returns the prediction of a run of the tile's graph. Uses the periods of graphs met before.
  [[nodiscard]] Prediction predicted(const PlacedDiagram& placed);
  /// Returns the least transfer that is kept for the problem, whatever knobs the user fixed; else calls `find`, and
  /// keeps its result.
  template <class Find>
  std::optional<LeastTransfer> least_transfer(const Problem& problem, const Find& find) {
    std::string key = key_of(problem);
    {
      const std::lock_guard lock(mutex_);
      if (const auto* found = least_transfers_.find(key)) return *found;
    }
    auto found = find();
    const std::lock_guard lock(mutex_);
    return least_transfers_.put(std::move(key), std::move(found));
  }

 private:
  [[nodiscard]] static std::string key_of(const Problem& problem);

  std::mutex mutex_;
  Latest<std::string, std::optional<LeastTransfer>> least_transfers_{256};
  Pool<Periods> periods_{64};
};

}  // namespace napkin::internal
