#pragma once
// FoundErrors holds how far predictions were off, by kind and source: data/errors.json is its text, and bands are made
// of it. Internal to apps/.

#include <string>
#include <vector>

#include "apps/library/judge/published.hpp"
#include "apps/library/judge/validation.hpp"
#include "napkin/bands.hpp"

namespace napkin {

class FoundErrors {
 public:
  void add(const PredictionKind& kind, bool recorded, const std::string& source, double found_over_predicted);
  /// The rows that were asked, but for calls of two passes: their errors are of neither kernel.
  void add(const std::vector<PublishedAnswer>& answers);
  /// Adds replayed rows: the newest, held out, with right results, near the best of their question.
  void add(const std::vector<ScoredRow>& rows, const std::string& source);

  [[nodiscard]] const std::vector<KnownErrors>& all() const { return all_; }
  /// As data/errors.json has them: sorted, logarithms in thousandths.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<KnownErrors> all_;
};

}  // namespace napkin
