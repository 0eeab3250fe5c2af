#pragma once
// changed() returns a small correct profile with a mistake in one place.

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace napkin::internal {

inline constexpr std::string_view small_profile = R"(name: small
about: a machine for the tests
vendor: other
architecture: test_1
levels:
  device:
    kind: ordinary
    capacity: {value: 8, unit: GB, source: a datasheet}
  l2:
    kind: cache
    parent: device
    per_parent: {value: 2, unit: nodes, source: a datasheet}
  net:
    kind: cross_transfer
    parent: l2
    per_parent: {value: 4, unit: nodes, source: a datasheet}
  shared:
    kind: ordinary
    parent: l2
    per_parent: {value: 5, unit: nodes, source: a datasheet}
    capacity:
      datasheet: {value: 100, unit: KiB, source: a datasheet}
      measured: {value: 102000, unit: B, tool: a program, date: 2026-11-20, driver: "580", note: less}
    per_block: {value: 99, unit: KB, source: a datasheet}
    transaction: {value: 32, unit: B, source: a datasheet}
compute: shared
pipes:
  device:
    from: device
    to: l2
    bandwidth:
      datasheet: {value: 4800, unit: GB/s, source: a datasheet}
      measured: {value: 4.5, unit: TB/s, tool: a program, date: 2026-11, driver: unknown}
    energy: {value: 5, unit: pJ/B, source: a datasheet}
  l2:
    from: l2
    to: shared
    bandwidth_per_node: {value: 32, unit: B/clk, measured: {tool: a program, date: unknown, driver: unknown}}
    latency: {value: 280, unit: clk, source: a datasheet}
  net:
    from: net
    to: shared
    by_cluster_size:
      - {size: 2, bandwidth: {value: 3, unit: TB/s, source: a datasheet}}
      - {size: 4, bandwidth: {value: 2, unit: TB/s, source: a datasheet}}
tensor:
  - name: matrix
    types: [bf16, f16]
    rate: {value: 4096, unit: FLOP/clk, source: a datasheet}
    shape: {m: 64, n: {from: 8, to: 256, step: 8}, k: 16, source: a manual}
    timing:
      unit: clk
      measured: {tool: a program, date: 2026, driver: "580"}
      rows:
        - {n: 8, a_shared: 20}
        - {n: 64, a_shared: 40, a_registers: 32}
        - {n: 128, a_shared: 80, a_registers: 64, latency_a_shared: 131}
  - name: slow
    types: [bf16]
    rate: {value: 512, unit: FLOP/clk, source: a datasheet}
    shape: {m: 16, n: 8, k: 16, source: a manual}
units:
  special:
    rate: {value: 16, unit: results/clk, source: a datasheet}
    beside_tensor: {value: 12, unit: results/clk, source: a datasheet}
  issue: {role: issue,
    rate: {value: 4, unit: instructions/clk, source: a datasheet}}
clocks:
  maximum: {value: 2, unit: GHz, source: a datasheet}
  tensor: {value: 1500, unit: MHz, source: a datasheet}
power:
  limit: {value: 700, unit: W, source: a datasheet}
  idle: {value: 70, unit: W, source: a datasheet}
constants:
  launch_overhead: {value: 3, unit: us, source: a datasheet}
fitted:
  energy_tensor_16bit: {value: 0.7, unit: pJ/FLOP, source: fitted to the calibration runs}
)";

/// Returns the profile with the only occurrence of `old` replaced.
inline std::string changed(std::string_view old, std::string_view replacement) {
  std::string text(small_profile);
  const auto at = text.find(old);
  REQUIRE_MESSAGE(at != std::string::npos, "not in the profile: ", std::string(old));
  REQUIRE_MESSAGE(text.find(old, at + 1) == std::string::npos, "twice in the profile: ", std::string(old));
  text.replace(at, old.size(), replacement);
  return text;
}

}  // namespace napkin::internal
