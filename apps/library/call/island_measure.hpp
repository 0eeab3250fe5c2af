#pragma once
// measure_island runs a question about an island on the GPUs here and sets prediction beside measurement: a ring's time
// with copies and work at once, of copies alone, of work alone. Internal to apps/.

#include <memory>
#include <string>
#include <vector>

#include "apps/library/call/island_gpus.hpp"
#include "apps/library/judge/validation.hpp"
#include "kernels/reference/reference.hpp"
#include "model/machine/calibrate/reading.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal {

/// Seconds of a division, and bytes that calls bring into each GPU.
struct IslandTimes {
  double time = 0, work = 0, copies = 0;  ///< seconds of everything, of the launches alone, of the calls alone
  std::int64_t received = 0;
};

/// A measured division with its prediction.
struct IslandRow {
  Head head;  ///< `gpu` is the island
  std::string split, order;
  std::int64_t gpus = 0;
  IslandTimes predicted, measured;
  Comparison result;  ///< result against float64
  MeasuredBy from;
  std::string nccl;  ///< version of the library
};

struct IslandPace {
  double warm = 1, time = 0.4;  ///< seconds of untimed work before, and of timed work
  std::int64_t rows = 64;       ///< rows that are compared with float64
};

/// The GPUs of this machine that take part, opened when the first question needs them.
class IslandInstrument {
 public:
  /// Predicts, runs and compares. Throws CudaFailure without NCCL or with fewer GPUs than the island has, Error for a
  /// question that cannot run.
  [[nodiscard]] IslandRow measure(const Session& session, const Ask& ask, const IslandPace& pace);
  /// Measures calls of several sizes between that many GPUs: readings of the experiment "links".
  [[nodiscard]] Readings links(int gpus);

 private:
  [[nodiscard]] Gpus& gpus_for(int gpus);

  std::unique_ptr<Gpus> gpus_;
};

}  // namespace napkin::internal
