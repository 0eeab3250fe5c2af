#include "kernels/plans/add_part.hpp"

#include <cstring>
#include <string_view>

#include "kernels/jit/source.hpp"
#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

/// launch of as many threads as the SMs hold, so that many loads are in flight
constexpr unsigned threads_of_a_block = 256, blocks_an_sm = 8;

LaunchPlan plan_of_parts(std::string_view kernel, const AddPartArguments& arguments, DType type, bool first,
                         const DeviceProperties& device) {
  if (type != DType::bf16 && type != DType::f16)
    throw Error("dtype", "parts of " + std::string(name_of(type)) + " are not added", "bf16 or f16");
  if (arguments.d % 4 != 0) throw Error("dv", "is " + std::to_string(arguments.d), "a multiple of 4");
  LaunchPlan out;
  out.source = "kernels/attention/common/add_part.cuh";
  out.expression = name_expression(
      kernel, Initialiser("napkin::AddPartConfig").set("bf16", type == DType::bf16).set("first", first));
  out.architecture = device.architecture;
  out.grid = blocks_an_sm * static_cast<unsigned>(device.sms);
  out.threads = threads_of_a_block;
  out.arguments.resize(sizeof arguments);
  std::memcpy(out.arguments.data(), &arguments, sizeof arguments);
  return out;
}

}  // namespace

LaunchPlan add_part_plan(const AddPartArguments& arguments, DType type, bool first, const DeviceProperties& device) {
  return plan_of_parts("add_part", arguments, type, first, device);
}

LaunchPlan finish_plan(const AddPartArguments& arguments, DType type, const DeviceProperties& device) {
  return plan_of_parts("finish_parts", arguments, type, false, device);
}

}  // namespace napkin::internal
