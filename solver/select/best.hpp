#pragma once
// Best keeps the results of a search so far: of attention at 8192 the five best tiles of different sizes.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "solver/select/table.hpp"

namespace napkin::internal {

/// The best timed tiles: the best tile of each size, for a limited number of sizes.
class Best {
 public:
  struct Found {
    double time = 0;
    std::int64_t size = 0;
    TablePart* part = nullptr;
    const PartRow* row = nullptr;
    double predicted = 0;  ///< time by the model; breaks ties of time and bytes, for the ideal mapping without re-reads
    mutable std::optional<Count> into_blocks =
        {};  ///< bytes_into_blocks(), computed if another tile takes the same time
  };
  using BytesOf = std::function<Count(const PartRow&)>;
  /// Collects the `most` best sizes among tiles that take longer than `above` seconds; one that takes longer than
  /// `limit` may be missing.
  Best(std::size_t most, BytesOf bytes_of, double limit, double above = -std::numeric_limits<double>::infinity())
      : most_(most), bytes_of_(std::move(bytes_of)), limit_(limit), above_(above) {}
  /// Returns the time beyond which no tile of that size changes the result.
  [[nodiscard]] double enough(std::int64_t size) const;
  /// Returns the time beyond which no tile of any other size changes the result.
  [[nodiscard]] double enough() const;
  /// Returns false if the tile changes nothing, even if it takes no longer than its bound.
  [[nodiscard]] bool may_take(const Found& found) const;
  void take(const Found& found);
  [[nodiscard]] const std::vector<Found>& best() const { return best_; }

 private:
  [[nodiscard]] std::vector<Found>::const_iterator of_size(std::int64_t size) const;
  [[nodiscard]] bool is_before(const Found& a, const Found& b) const;
  [[nodiscard]] Count moved(const Found& found) const;

  std::size_t most_;
  BytesOf bytes_of_;
  double limit_, above_;
  std::vector<Found> best_;
};

}  // namespace napkin::internal
