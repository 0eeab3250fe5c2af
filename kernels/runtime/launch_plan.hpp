#pragma once
// A LaunchPlan is one launch as a plain value, made without a GPU: the variant of attention_sm90 by name, its grid, its
// arguments and its boxes. Pure functions make it (kernels/plans), run.hpp runs it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device/tensor_map.cuh"
#include "model/base/dtype.hpp"
#include "model/machine/machine.hpp"

namespace napkin::internal {

/// An array as the copy engine sees it; innermost axis first. (the arguments of cuTensorMapEncodeTiled)
struct TensorBox {
  std::size_t offset = 0;     ///< offset of its TensorMap in LaunchPlan::arguments
  std::uint64_t address = 0;  ///< address on the device
  DType type = DType::bf16;
  std::vector<std::uint64_t> sizes;    ///< elements
  std::vector<std::uint64_t> strides;  ///< bytes; the innermost axis, which is dense, left out
  std::vector<std::uint32_t> box;      ///< elements
  int swizzle = 0;                     ///< bytes: 0, 32, 64, 128
};

struct LaunchPlan {
  std::string source;        ///< "kernels/attention/sm90/attention_sm90.cuh"
  std::string expression;    ///< the variant by name (jit/source.hpp)
  std::string architecture;  ///< "sm_90a"
  unsigned grid = 1, threads = 1, cluster = 1;
  unsigned shared = 0;               ///< dynamic bytes a block
  std::uint64_t workspace = 0;       ///< bytes of device memory that it needs besides its arrays
  std::vector<std::byte> arguments;  ///< the kernel's only parameter; its tensor maps are still to be encoded
  std::vector<TensorBox> boxes;
  Count counters;  ///< number of i32 that are zero before the first launch; each launch resets them
  Bytes scratch;   ///< memory that it needs for as long as a launch runs
};

/// The memory that a launch needs besides its arrays: LaunchPlan::counters and scratch.
struct LaunchScratch {
  Count counters;
  Bytes bytes;
};

/// Serialises a plan; read_plan() reads it, and returns nothing for bytes of another version.
[[nodiscard]] std::string content_of(const LaunchPlan& plan);
[[nodiscard]] std::optional<LaunchPlan> read_plan(std::string_view content);

/// The properties of the GPU that a launch depends on.
struct LaunchDevice {
  int sms = 0;
  Bytes l2;
};
[[nodiscard]] LaunchDevice launch_device(const Machine& machine);

/// Prepares division on the device. Throws Error for values below 1.
[[nodiscard]] Divisor divisor(std::int64_t value);

/// Converts a count to an int of the kernel's. Throws Overflow naming `what`.
[[nodiscard]] int to_int(Count count, const std::string& what);

}  // namespace napkin::internal
