#pragma once
// recorded_beside finds measured calls near a question, to print beside the prediction: "attention_sm90
// at q = x = 8192 on an H200 took 753 us; predicted are 781 us". Recorded rows are this project's own, published ones
// other people's. Internal to apps/.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "apps/library/judge/published.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal {

/// A measured call and its prediction today.
struct BesideAnswer {
  Head head;              ///< head of the measured call
  bool recorded = false;  ///< true if measured by this project; else published by others
  bool same = false;      ///< true if it is the report's own question, maybe with another tile
  double measured = 0;    ///< TFLOP/s, as the source counts FLOP
  double predicted = 0;   ///< TFLOP/s, counted in that way too
  std::string source;     ///< the file of the row, or the publication
  std::string date;       ///< date of a recorded row
  bool held_out = true;   ///< true if no constant was fitted to it
  std::string doubt;      ///< the reason why a published source is doubtful; empty: it is not

  /// Returns predicted over measured time, minus one: +0.05 is 5 % too slow.
  [[nodiscard]] double error() const { return measured / predicted - 1; }
};

/// A line of fastest.json: the fastest recorded tile of a question.
struct RecordedBest {
  Head head;
  double time = 0;
  std::string split, date, file;
};
/// Returns the recorded bests that the program carries. (tests/measured/fastest.py)
[[nodiscard]] const std::vector<RecordedBest>& recorded_bests();

/// Returns the distance between two questions, in powers of two over all axes; kernels, types and masks that differ add
/// to it. Infinite between algorithms or GPUs, and for packed sequences.
[[nodiscard]] double distance_of(const Head& a, const Head& b);

/// Returns up to `most` recorded calls on that GPU, nearest first; none at a distance above 12.
[[nodiscard]] std::vector<BesideAnswer> recorded_beside(const Head& head, std::size_t most);
/// Returns up to `most` published calls that the model can predict, chosen like recorded_beside()'s. `rows` come from
/// report::parse_published.
[[nodiscard]] std::vector<BesideAnswer> published_beside(const Head& head, const std::vector<PublishedRow>& rows,
                                                         std::size_t most);

}  // namespace napkin::internal
