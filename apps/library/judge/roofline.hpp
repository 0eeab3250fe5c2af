#pragma once
// A roofline compares a tile's speed with the machine's limits: 703 TFLOP/s at 8.2 kFLOP a byte from device memory,
// under the tensor units' 725 TFLOP/s at the clock that the card holds. Internal to apps/.

#include <optional>
#include <string>
#include <vector>

#include "apps/library/question/question.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal {

/// The speed that one level's pipe allows: bandwidth times FLOP a byte.
struct RooflineSlope {
  std::string level;
  double bandwidth = 0;  ///< bytes a second, whole machine, at the tile's clock
};

/// A tile at one level: its FLOP over the bytes that it moves into that level.
struct RooflinePoint {
  std::string level;
  double intensity = 0;  ///< FLOP a byte
};

struct RooflineTile {
  TileValues tile;
  double rate = 0;  ///< predicted, FLOP/s
  std::vector<RooflinePoint> points;
};

struct RooflineAnswer {
  std::string instruction;     ///< instruction of the peak, such as "wgmma"
  std::optional<double> peak;  ///< FLOP/s of all tensor units at that clock; none: the profile has no such instruction
  double clock = 0;            ///< clock at which the tile runs
  std::vector<RooflineSlope> slopes;
  std::vector<RooflineTile> tiles;  ///< the tile of the report first, then the runners-up
};

/// Makes the roofline of an answer that has a prediction.
[[nodiscard]] RooflineAnswer roofline_of(const Question& question, const Setup& setup, const QueryAnswer& answer,
                                         const std::vector<AlternativeAnswer>& runners);

}  // namespace napkin::internal
