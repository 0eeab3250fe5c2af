#pragma once
// read_number reads one number of a profile, {value: 700, unit: W, source: ...}: value, unit and where it comes from,
// checked and converted to SI. (schema: docs/own-gpu.md, "Numbers")

#include <string>
#include <vector>

#include "model/base/yaml.hpp"
#include "model/machine/machine.hpp"

namespace napkin::profile {

/// What a number measures. Each has its own units; a unit of another one is an error.
enum class Dimension {
  bytes,                   // B, KB, KiB, ...
  bytes_per_second,        // GB/s, ...
  bytes_per_clock,         // B/clk
  clocks,                  // clk
  seconds,                 // us, ...
  frequency,               // GHz, ...
  power,                   // W
  energy_per_byte,         // pJ/B, ...
  energy_per_flop,         // pJ/FLOP
  energy_per_instruction,  // nJ/instruction
  flop_per_clock,          // FLOP/clk
  results_per_clock,       // results/clk
  instructions_per_clock,  // instructions/clk
  nodes,
  threads,
  warps,
  blocks,
  registers,
  schedulers,
  instructions,
  results,
  ratio,
  ways,           // lines of a cache's set
  bytes_per_row,  // B/row
};

/// "a bandwidth", "a frequency", ...: for messages.
[[nodiscard]] std::string name_of(Dimension dimension);

/// What a number in that unit is multiplied by to be in SI units (or a clock): 1e9 for "GB/s". Throws Error for no
/// unit.
[[nodiscard]] double factor_of(std::string_view unit);

[[nodiscard]] Dimension dimension_of(std::string_view unit);

/// {value, unit, source} or {value, unit, measured: {tool, date, driver}}, note optional, in one of `dimensions`.
/// The result is in SI units, positive, finite, within what the dimension can plausibly be, and whole for sizes in
/// bytes and for counts.
[[nodiscard]] Number read_number(const yaml::Node& node, const std::vector<Dimension>& dimensions);
[[nodiscard]] Number read_number(const yaml::Node& node, Dimension dimension);

/// A number as above, or both at once: {datasheet: {value, unit, source}, measured: {value, unit, tool, date, driver}}.
[[nodiscard]] Stated read_stated(const yaml::Node& node, const std::vector<Dimension>& dimensions);
[[nodiscard]] Stated read_stated(const yaml::Node& node, Dimension dimension);

/// As positive numbers are read, where 0 is a value too.
[[nodiscard]] Number read_number_or_zero(const yaml::Node& node, Dimension dimension);

/// The provenance of a table whose rows share it: the keys `source` or `measured`, and `note`, of the map `node`.
[[nodiscard]] Provenance read_provenance(const yaml::Node& node);

/// The dimension that a number of the map `node` is written in, or an error that lists the units of `dimensions`.
[[nodiscard]] Dimension dimension_of(const yaml::Node& unit, const std::vector<Dimension>& dimensions);

}  // namespace napkin::profile
