#pragma once
// recorded_beside finds what was measured near a question, to stand beside what the model says of it: "attention_sm90
// at q = x = 8192 on an H200 took 753 us; predicted are 781 us". Recorded rows are this project's own, published ones
// other people's. Internal to apps/.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "apps/library/judge/published.hpp"
#include "napkin/answers.hpp"

namespace napkin {

/// One measured call and its prediction today.
struct BesideAnswer {
  Head head;              ///< of what was measured
  bool recorded = false;  ///< by this project; else published by others
  bool same = false;      ///< the question of the report itself, though maybe with another tile
  double measured = 0;    ///< TFLOP/s, as the source counts FLOP
  double predicted = 0;   ///< TFLOP/s, counted in that way too
  std::string source;     ///< the file of the row, or the publication
  std::string date;       ///< of a recorded one
  bool held_out = true;   ///< no constant was fitted to it
  std::string doubt;      ///< why a published source is doubtful; empty: it is not

  /// Predicted over measured time, minus one: +0.05 is 5 % too slow.
  [[nodiscard]] double error() const { return measured / predicted - 1; }
};

/// One line of fastest.json: of a question the fastest tile that was recorded.
struct RecordedBest {
  Head head;
  double time = 0;
  std::string split, date, file;
};
/// Those that the program carries. (tests/measured/fastest.py)
[[nodiscard]] const std::vector<RecordedBest>& recorded_bests();

/// How far the question of one head is from another's in powers of two, all axes together; kernels, types and masks
/// that differ count as some. Infinite between algorithms and GPUs.
[[nodiscard]] double distance_of(const Head& a, const Head& b);

/// The nearest recorded ones on that GPU, nearest first, at most so many; none where nobody measured there.
[[nodiscard]] std::vector<BesideAnswer> recorded_beside(const Head& head, std::size_t most);
/// The nearest published ones. `rows` are read by report::parse_published.
[[nodiscard]] std::vector<BesideAnswer> published_beside(const Head& head, const std::vector<PublishedRow>& rows,
                                                         std::size_t most);

}  // namespace napkin
