#include "apps/library/rank/compiled.hpp"

#include "kernels/jit/failure.hpp"
#include "kernels/reference/bundled.hpp"
#include "model/resource/plan.hpp"

namespace napkin::internal {
namespace {

LaunchPlan variant_of(const PlacedDiagram& placed) {
  try {
    return find_bundled(placed.mapping->name)->variant(placed, false, launch_device(*placed.machine));
  } catch (const Overflow&) {
    throw;
  } catch (const Error& error) {
    throw CudaFailure(std::string("--compile: the kernel does not take this tile: ") + error.what());
  }
}

Compilation compilation_of(const LaunchPlan& launch) {
  try {
    return compile(launch, process_environment(), Objections::report);
  } catch (const CudaFailure& failure) {
    throw CudaFailure(std::string("--compile: ") + failure.what());
  }
}

}  // namespace

CompiledAnswer compiled_of(const Placement& placement) {
  const PlacedDiagram& placed = placement.placed;
  const LaunchPlan launch = variant_of(placed);
  const CompileReport report = compilation_of(launch).kernel.report;
  const Bytes shared = report.static_shared + Bytes(launch.shared);
  const Occupancy resident = occupancy(placed, report.registers, shared);
  const Plan& plan = placement.plan;
  CompiledAnswer out;
  out.compiled = {report.registers, shared.value.get(), resident.blocks.get(), std::string(resident.limited_by)};
  out.planned = {plan.registers_launch.get(), plan.shared_total.value.get(), plan.blocks_per_sm.get(), plan.limited_by};
  out.static_shared_memory = report.static_shared.value.get();
  out.spill_stores = report.spill_stores.value.get();
  out.spill_loads = report.spill_loads.value.get();
  out.objection = report.objection();
  return out;
}

}  // namespace napkin::internal
