#pragma once
// A Replay predicts recorded rows again with today's model: 781 us for a row that took 753 us. Needs no GPU. Internal
// to apps/.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "apps/library/judge/validation.hpp"
#include "apps/library/question/question.hpp"
#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {

/// A change to the machine before a prediction, such as the removal of a constant or of all fitted numbers.
using Edit = std::function<void(Machine& machine)>;

/// Removes every number that was fitted to whole kernels.
void leave_out_fitted(Machine& machine);

/// A question and the one kernel that was measured for it.
struct Measurable {
  Question question;
  const Setup* setup = nullptr;    ///< setup of the question
  std::unique_ptr<Placer> placer;  ///< placer of the setup and the question
};

/// Resolves the question. Throws Error for an unknown machine, kernel or size. Ignores the ask's tile.
[[nodiscard]] std::unique_ptr<Measurable> measurable_of(const Ask& ask, const Edit& edit = {});

/// Turns values by name into knobs. For a knob that the kernel got after the tile was recorded, takes its `before`.
/// Throws Error at "tile" for a missing or unknown knob, or for a value that is none of its words.
[[nodiscard]] Tile tile_of(const Mapping& mapping, const TileValues& values);

/// The prediction of a tile before it runs.
struct TilePrediction {
  PredictedAnswer predicted;
  std::vector<LevelAnswer> levels;
  bool legal = true;
  Count into_blocks = {};  ///< result of bytes_into_blocks()
  PredictionKind kind = {};
};
[[nodiscard]] TilePrediction predict_tile(const Measurable& measurable, const Tile& tile, Rereads rereads);

class Replay {
 public:
  explicit Replay(Edit edit = {}) : edit_(std::move(edit)) {}
  /// Scores a row, to which the result keeps a pointer.
  [[nodiscard]] ScoredRow operator()(const ValidationRow& row);

 private:
  Edit edit_;
  std::map<std::string, std::unique_ptr<Measurable>> questions_;
};

}  // namespace napkin::internal
