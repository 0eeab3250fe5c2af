#pragma once
// These functions make the launch plans of the micro-kernels: agents_plan lets warpgroups multiply, loop on a vector
// instruction and copy at the same time on each SM. Internal to kernels/micro.

#include <cstring>
#include <string>

#include "kernels/micro/bench.hpp"
#include "kernels/micro/micro_arguments.cuh"
#include "kernels/runtime/launch_plan.hpp"
#include "model/machine/calibrate/reading.hpp"

namespace napkin::internal::micro {

inline constexpr int repetitions = 5;

[[nodiscard]] std::string written(const AgentsConfig& config);
[[nodiscard]] std::string written(const ProductsConfig& config);
[[nodiscard]] std::string written(const BoxesConfig& config);
[[nodiscard]] std::string written(const AsyncCopiesConfig& config);
[[nodiscard]] std::string written(const TilesConfig& config);
[[nodiscard]] std::string written(const MeetConfig& config);
[[nodiscard]] std::string written(ChaseSpace space);
[[nodiscard]] std::string written(StreamWay way);

/// Returns the name by which recorded readings know the work: "ex2", "load_matrix".
[[nodiscard]] std::string_view name_of(VectorWork work);

/// Makes a launch's plan: kernel file, variant, geometry and argument. A caller whose kernel uses the copy engine adds
/// the plan's `boxes`.
template <class Arguments>
[[nodiscard]] LaunchPlan plan_of(const std::string& file, std::string expression, unsigned grid, unsigned threads,
                                 unsigned shared, const Arguments& arguments) {
  LaunchPlan out;
  out.source = "kernels/micro/" + file;
  out.expression = std::move(expression);
  out.architecture = "sm_90a";
  out.grid = grid;
  out.threads = threads;
  out.shared = shared;
  out.arguments.resize(sizeof arguments);
  std::memcpy(out.arguments.data(), &arguments, sizeof arguments);
  return out;
}

/// Describes rows of 128 bytes at `address` to the copy engine, which moves `box_rows` of them at a time. `offset` is
/// the place of the tensor map in the kernel's argument.
[[nodiscard]] TensorBox rows_box(std::size_t offset, std::uint64_t address, std::int64_t rows, int box_rows);

/// The agents that work in a launch of agents.cuh, on every SM, and for how long.
struct AgentsAtWork {
  int tensor_groups = 0, vector_groups = 0;
  bool copies = false;
  int batches = 0;       ///< batches of products that each tensor warpgroup issues
  long long window = 0;  ///< clocks after which vector work and copies stop
  bool same = false;     ///< true if all SMs copy the same boxes, else each its own
};
[[nodiscard]] LaunchPlan agents_plan(Bench& bench, const AgentsConfig& config, const AgentsAtWork& at_work);

/// The rates of the agents in a launch, mean over the SMs.
struct AgentsRates {
  double product = 0;  ///< clocks a product of one SM, all tensor warpgroups together; 0: none
  double vector = 0;   ///< vector instructions' results a clock and SM, in the units of VectorWork
  double copied = 0;   ///< bytes a clock and SM
};
[[nodiscard]] AgentsRates run_agents(Bench& bench, const AgentsConfig& config, const AgentsAtWork& at_work);

[[nodiscard]] double mean(const std::vector<std::uint64_t>& values);

template <class T>
[[nodiscard]] T* pointer(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace napkin::internal::micro
