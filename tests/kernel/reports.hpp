#pragma once
// report() writes the results of a card or a compiler into a row of JSON: "max_error" of a comparison, "registers" of a
// kernel, "time" of its launches.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/jit/cache.hpp"
#include "kernels/reference/reference.hpp"
#include "kernels/runtime/measure.hpp"
#include "tests/support/layout.hpp"

namespace napkin::internal::test {

using Row = nlohmann::ordered_json;

/// Writes a comparison; an error that is not a number becomes null.
inline void report(const Comparison& c, Row& out) {
  const auto finite = [](double value) { return std::isfinite(value) ? Row(value) : Row(nullptr); };
  out["max_error"] = finite(c.max_error);
  out["reference_error"] = finite(c.reference_error);
  out["lse_error"] = finite(c.lse_error);
  out["rows"] = c.rows;
  out["unwritten"] = c.unwritten;
  out["strayed"] = c.strayed;
  if (!c.beside.empty()) out["beside"] = c.beside;
  out["good"] = c.good();
}

inline void report(const CompileReport& report, Row& out) {
  out["registers"] = report.registers;
  out["spill_bytes"] = (report.spill_stores + report.spill_loads).value.get();
  if (!report.faults.empty()) out["faults"] = report.faults;
}

inline void report(const LaunchTiming& timing, double flops, Row& out) {
  out["l2"] = name_of(timing.l2);
  out["time"] = timing.time.value;
  out["time_spread"] = timing.spread;
  out["runs"] = timing.runs;
  out["tflops"] = flops / timing.time.value / 1e12;
  if (timing.state.sm_clock) out["clock"] = timing.state.sm_clock->value;
  if (timing.state.power) out["power"] = timing.state.power->value;
  if (const std::string why = throttle_text(timing.state.throttle); !why.empty()) out["throttle"] = why;
}

inline void report(const Shape& shape, const Knobs& tile, Row& out) {
  for (const auto& [axis, size] : shape) out["shape"][axis] = size;
  for (const auto& [knob, value] : tile) out["tile"][knob] = value;
}

}  // namespace napkin::internal::test
