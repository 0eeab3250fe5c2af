#pragma once
// read_number reads one number of a profile, {value: 700, unit: W, source: ...}: value, unit and where it comes from,
// checked and converted to SI. (schema: docs/own-gpu.md, "Numbers")

#include <string>
#include <vector>

#include "model/base/yaml.hpp"
#include "model/machine/machine.hpp"

namespace napkin::internal::profile {

/// The quantity that a number measures. Each has its own units; a unit of another quantity is an error.
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

/// Names a dimension for messages: "a bandwidth", "a frequency", ...
[[nodiscard]] std::string name_of(Dimension dimension);

/// Returns the factor of that unit to SI units (or per clock): 1e9 for "GB/s". Throws Error for no unit.
[[nodiscard]] double factor_of(std::string_view unit);

[[nodiscard]] Dimension dimension_of(std::string_view unit);

/// Reads {value, unit, source} or {value, unit, measured: {tool, date, driver}} in one of `dimensions`, with or without
/// note, gpu and disputed. The result is in SI units, positive, finite, plausible for its dimension, and whole for
/// sizes in bytes and for counts.
[[nodiscard]] Number read_number(const yaml::Node& node, const std::vector<Dimension>& dimensions);
[[nodiscard]] Number read_number(const yaml::Node& node, Dimension dimension);

/// Reads a number as above, or both at once: {datasheet: {value, unit, source}, measured: {value, unit, tool, date,
/// driver}}.
[[nodiscard]] Stated read_stated(const yaml::Node& node, const std::vector<Dimension>& dimensions);
[[nodiscard]] Stated read_stated(const yaml::Node& node, Dimension dimension);

/// Reads a number like a positive one, but admits 0.
[[nodiscard]] Number read_number_or_zero(const yaml::Node& node, Dimension dimension);

/// Reads the provenance of a table whose rows share it: the keys `source` or `measured`, and `note`, of the map `node`.
[[nodiscard]] Provenance read_provenance(const yaml::Node& node);

/// Reads the dimension of the number in the map `node`. Throws Error that lists the units of `dimensions`.
[[nodiscard]] Dimension dimension_of(const yaml::Node& unit, const std::vector<Dimension>& dimensions);

}  // namespace napkin::internal::profile
