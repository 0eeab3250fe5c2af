#pragma once
// A PlacementReader reads from a placed diagram what launch plans need, and describes arrays to the copy engine: K's
// box is 128 rows of 64 columns.

#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/runtime/launch_plan.hpp"
#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {

constexpr int element_bytes = 2;  // bytes of an element of bf16 or f16, or of two of e4m3

/// The placement's numbers by name.
class PlacementReader {
 public:
  explicit PlacementReader(const PlacedDiagram& placed) : placed_(placed), plan_(plan(placed)) {}

  [[nodiscard]] int size(std::string_view axis) const;
  /// Returns the size of an axis as the kernel holds it: padded with zeros, if its mapping says so.
  [[nodiscard]] int held(std::string_view axis) const;
  [[nodiscard]] int knob(std::string_view name) const;
  [[nodiscard]] std::string_view word(std::string_view name) const;
  /// Returns a variable's offset in shared memory. Throws Error if it is not there.
  [[nodiscard]] int offset(std::string_view variable) const;
  /// Returns the number of parts of a variable's row, each filled by boxes of its own.
  [[nodiscard]] int column_parts(std::string_view variable) const;
  /// Returns the end of the last variable, at which barriers begin.
  [[nodiscard]] int end() const;
  /// Returns the registers of a thread of that agent, as the mapping sets them. Throws Error if it does not.
  [[nodiscard]] int registers(std::string_view agent) const;
  [[nodiscard]] int shared_total() const { return to_int(plan_.shared_total.value, "shared memory"); }
  [[nodiscard]] const Plan& resources() const { return plan_; }

  /// Checks that the placement has the kernel's mapping and a type that it takes, and that it fits. Throws Error.
  void check(std::string_view kernel, const std::vector<DType>& types = {DType::bf16, DType::f16}) const;

 private:
  [[nodiscard]] const Slot* find(std::string_view variable) const;

  const PlacedDiagram& placed_;
  Plan plan_;
};

/// Checks a condition. Throws Error if `holds` is false.
void require(bool holds, std::string_view where, const std::string& what, const std::string& right);

/// Returns the elements of a swizzle span: the widest of 64, 32 and 16 that divides `columns`.
[[nodiscard]] std::uint32_t span_of(int columns);

/// Makes a box; the plan's binding sets its address. `sizes` and `box` are in elements, innermost axis first, `strides`
/// too, without the innermost. Throws Error for strides that are not multiples of 16 bytes, except along an axis of one
/// element.
[[nodiscard]] TensorBox box_of(std::size_t offset, const std::string& name, DType type,
                               const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides,
                               std::vector<std::uint32_t> box);

/// Returns the array's address. Throws Error if it is not a multiple of 16 bytes.
[[nodiscard]] std::uint64_t aligned(const std::string& name, std::uint64_t address);

/// Sets the addresses of the plan's boxes: arrays by name, in the boxes' order.
void bind_boxes(LaunchPlan& plan, std::initializer_list<std::pair<const char*, std::uint64_t>> arrays);

/// Changes the parameter of a plan's kernel. Throws Error if it is another kernel's.
template <class Arguments, class Change>
void change_arguments(LaunchPlan& plan, const Change& change) {
  Arguments arguments;
  require(plan.arguments.size() == sizeof arguments, plan.source, "has no parameter of that size",
          "a plan of this program");
  std::memcpy(static_cast<void*>(&arguments), plan.arguments.data(), sizeof arguments);
  change(arguments);
  std::memcpy(plan.arguments.data(), &arguments, sizeof arguments);
}

/// Returns the kernel's parameter as bytes.
template <class Arguments>
[[nodiscard]] std::vector<std::byte> bytes_of_arguments(const Arguments& arguments) {
  const auto* first = reinterpret_cast<const std::byte*>(&arguments);
  return {first, first + sizeof arguments};
}

}  // namespace napkin::internal
