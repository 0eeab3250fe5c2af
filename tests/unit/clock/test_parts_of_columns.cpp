// A product whose accumulators hold a part of its columns is made part by part (variables `by: agent`).
#include <doctest/doctest.h>

#include "model/clock/roofline/load.hpp"
#include "tests/support/layout.hpp"

namespace test_parts_of_columns {

using namespace napkin;
using namespace napkin::internal;

const PlacedOperation& product_of(const PlacedDiagram& placed, std::string_view output) {
  const Diagram& diagram = placed.streamed->diagram;
  for (const PlacedOperation& op : placed.operations) {
    const ArrayId made = diagram.operations[static_cast<std::size_t>(op.operation)].outputs.front();
    if (diagram.arrays[static_cast<std::size_t>(made)].name == output) return op;
  }
  throw Error(std::string(output), "is no operation's");
}

TEST_CASE("each part fetches A by itself, and takes the clocks of its few columns; S is one product") {
  const test::LaidOut question("napkin_fp8", "h200-sxm", {{"h", 16}, {"q", 384}, {"x", 4096}, {"d", 128}}, DType::e4m3);
  constexpr double rows = 384 / 64, steps = 64 / 16, columns = 128;
  // clocks of an instruction by n, with A in shared memory
  const std::map<int, double> clocks{{16, 20}, {32, 24}, {64, 32}, {128, 64}};
  for (const auto& [part, own] : clocks) {
    const int columns_of_part = part;
    CAPTURE(columns_of_part);
    const PlacedDiagram placed = question.place({{"warpgroups", "3"},
                                                 {"q", "384"},
                                                 {"x", "64"},
                                                 {"u_x", "64"},
                                                 {"d_block", std::to_string(part)},
                                                 {"d_step", "8"},
                                                 {"accumulate", "f16"}});
    const TensorLoad outputs = tensor_load(placed, product_of(placed, "O")),
                     scores = tensor_load(placed, product_of(placed, "S"));
    const double products = rows * steps * columns / part;
    CHECK(outputs.products == products);
    CHECK(outputs.clocks == products * own);
    CHECK(outputs.port_bytes == products * 64 * 16 * 2 + rows * steps * columns * 16 * 2);
    CHECK(outputs.flops == 2 * 384. * 64 * columns);
    CHECK(scores.products == rows * 128 / 32);
    CHECK(scores.clocks == scores.products * 32);
  }
}

}  // namespace test_parts_of_columns
