#include "apps/library/rank/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/library/question/words.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/shared_pipe.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t bits_of_a_copy = 128;

/// The rows of an array in device memory, one after another along its last axis of more than one value.
struct Rows {
  Count number = 1, length = 1;
};

Rows rows_of(const PlacedDiagram& placed, const Array& array) {
  Rows out;
  for (auto axis = array.axes.rbegin(); axis != array.axes.rend(); ++axis) {
    const Count size = placed.problem->sizes[static_cast<std::size_t>(*axis)];
    (out.length == Count(1) ? out.length : out.number) *= size;
  }
  return out;
}

/// Returns true for a transfer between a block and the array as it lies, by copies of 16 bytes or boxes.
bool copies_wide(const PlacedDiagram& placed, const Crossing& crossing) {
  const bool wide = crossing.engine == CopyEngine::tma || crossing.engine == CopyEngine::cp_async;
  return crossing.array >= 0 && wide && !crossing.parts && crossing.into == placed.block().level;
}

}  // namespace

std::string row_note(const PlacedDiagram& placed) {
  const Diagram& diagram = placed.streamed->diagram;
  std::vector<std::string> names;
  double seconds = 0;
  for (std::size_t id = 0; id < diagram.arrays.size(); ++id) {
    const bool copied = std::any_of(placed.crossings.begin(), placed.crossings.end(), [&](const Crossing& crossing) {
      return copies_wide(placed, crossing) && static_cast<std::size_t>(crossing.array) == id;
    });
    if (!copied) continue;
    const Array& array = diagram.arrays[id];
    const DType type = array.type.value_or(placed.problem->dtype);
    const Rows rows = rows_of(placed, array);
    const Count row_bits = rows.length * Count(bits(type));
    if (rows.number == Count(1) || row_bits % Count(bits_of_a_copy) == Count(0)) continue;
    const double bytes = real(rows.number * rows.length) * bytes_per_value(type);
    names.push_back(fmt::format("{} ({:.10g} B)", array.name, real(row_bits) / 8));
    seconds += launch_overhead(*placed.machine).value + device_pipe(*placed.machine).seconds(2 * bytes);
  }
  if (names.empty()) return "";
  return fmt::format(
      "16 does not divide the bytes of rows of {}: copies of 16 bytes and boxes cannot take them; padded by "
      "launches of their own, which are not counted, they cost {:.4g} us more",
      listed(names, "and"), 1e6 * seconds);
}

}  // namespace napkin::internal
