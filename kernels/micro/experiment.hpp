#pragma once
// An Experiment runs micro-kernels and returns readings: tensor_time reads how many clocks a product takes.
// model/machine/calibrate/calibration.hpp derives a machine's numbers from them. A new experiment is a function and its
// row in experiments.cpp.

#include <string_view>
#include <vector>

#include "kernels/micro/bench.hpp"
#include "model/machine/calibrate/reading.hpp"

namespace napkin::internal {

struct Experiment {
  std::string_view name, about;
  Readings (*run)(Bench& bench);
  bool of_card = false;  ///< true if cards of one product differ in it (--power)
};

/// Lists all experiments, in the order in which they run. For GPUs of architecture sm_90.
[[nodiscard]] const std::vector<Experiment>& experiments();

/// The architecture that the micro-kernels are compiled for, and that a GPU must have.
inline constexpr std::string_view micro_architecture = "sm_90a", micro_gpu = "sm_90";

// One function a row.

[[nodiscard]] Readings device_query(Bench& bench);
[[nodiscard]] Readings tensor_time(Bench& bench);
[[nodiscard]] Readings tensor_latency(Bench& bench);
[[nodiscard]] Readings tensor_together(Bench& bench);
[[nodiscard]] Readings vector_alone(Bench& bench);
[[nodiscard]] Readings vector_beside(Bench& bench);
[[nodiscard]] Readings copies_beside(Bench& bench);
[[nodiscard]] Readings mma_alone(Bench& bench);
[[nodiscard]] Readings mma_among(Bench& bench);
[[nodiscard]] Readings mma_attention(Bench& bench);
[[nodiscard]] Readings mma_beside(Bench& bench);
[[nodiscard]] Readings latency(Bench& bench);
[[nodiscard]] Readings l2_bandwidth(Bench& bench);
[[nodiscard]] Readings device_bandwidth(Bench& bench);
[[nodiscard]] Readings copy_engine(Bench& bench);
[[nodiscard]] Readings async_copies(Bench& bench);
[[nodiscard]] Readings shared_tiles(Bench& bench);
[[nodiscard]] Readings tiles(Bench& bench);
[[nodiscard]] Readings cluster_network(Bench& bench);
[[nodiscard]] Readings waiting(Bench& bench);
[[nodiscard]] Readings launching(Bench& bench);
[[nodiscard]] Readings power(Bench& bench);
[[nodiscard]] Readings e4m3_time(Bench& bench);
[[nodiscard]] Readings e4m3_beside(Bench& bench);
[[nodiscard]] Readings power_e4m3(Bench& bench);
[[nodiscard]] Readings power_card(Bench& bench);

}  // namespace napkin::internal
