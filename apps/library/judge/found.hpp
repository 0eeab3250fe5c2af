#pragma once
// FoundErrors holds the errors of predictions, by kind and source. It is stored in data/errors.json, and bands of
// predictions are computed from it. Internal to apps/.

#include <string>
#include <vector>

#include "apps/library/judge/published.hpp"
#include "apps/library/judge/validation.hpp"
#include "napkin/bands.hpp"

namespace napkin::internal {

class FoundErrors {
 public:
  void add(const PredictionKind& kind, bool recorded, const std::string& source, double found_over_predicted);
  /// Adds published rows that have a prediction, except calls of two passes, whose error belongs to no single kernel.
  void add(const std::vector<PublishedAnswer>& answers);
  /// Adds replayed rows that are the newest, are held out, have right results, and are near the best of their question.
  void add(const std::vector<ScoredRow>& rows, const std::string& source);

  [[nodiscard]] const std::vector<KnownErrors>& all() const { return all_; }
  /// Writes data/errors.json: sorted, logarithms in thousandths.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<KnownErrors> all_;
};

}  // namespace napkin::internal
