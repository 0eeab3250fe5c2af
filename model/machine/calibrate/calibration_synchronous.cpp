// The numbers that kernels of mma.sync and cp.async need: clocks of a product, issue slots that it leaves free, and the
// latency of copies.

#include <algorithm>

#include "model/machine/calibrate/calibration_rules.hpp"

namespace napkin::internal {
namespace {

void add_products(const Readings& readings, std::vector<MeasuredNumber>& out) {
  const auto add = [&](const char* name, const char* accumulators, const char* warps, const char* note) {
    const auto found = matching(readings, "mma_alone", "product", {{"accumulators", accumulators}, {"warps", warps}});
    if (!found.empty()) out.push_back({name, "clk", estimate(found.front()->values), note});
  };
  add("constants.mma_sync_product", "8", "2", "m16 n8 k16, bf16, 8 accumulators, two warps a scheduler");
  add("constants.mma_sync_latency", "1", "1", "m16 n8 k16, bf16, one accumulator, one warp");
}

/// Adds the clocks that an mma.sync takes of its scheduler's register ports (eq. 13.5) among an attention kernel's
/// instructions: a product's clocks less those of the mix and the ldmatrix. A lone warp on its scheduler also waits for
/// its own results.
void add_register_ports(const Readings& readings, std::vector<MeasuredNumber>& out) {
  std::vector<double> one, several;
  for (const Reading* reading : matching(readings, "mma_attention", "product")) {
    const auto of = [&](const char* parameter) { return std::stod(std::string(reading->parameter(parameter))); };
    if (of("mixes") == 0 || of("loads") == 0) continue;
    // instructions of a mix of four for every two products
    const double others = 4 * of("mixes") / 2 + of("loads") / 4;
    for (const double value : reading->values) (of("warps") == 1 ? one : several).push_back(value - others);
  }
  const auto add = [&](const char* name, std::vector<double>& values, const char* note) {
    if (!values.empty()) out.push_back({name, "clk", estimate(std::move(values)), note});
  };
  add("constants.mma_sync_ports", several,
      "a product's clocks less the instructions among products (EX2, FFMA, FMNMX, FADD, ldmatrix), two and four warps "
      "a "
      "scheduler");
  add("constants.mma_sync_ports_one", one, "of one warp a scheduler, its waits for itself included");
}

/// Adds cp.async's latency: the start of the line through a chunk's clocks against its bytes, beside warps that
/// multiply and load operands.
void add_loaded_latency(const Readings& readings, std::vector<MeasuredNumber>& out) {
  std::vector<double> kib, clocks;
  double spread = 0;
  int runs = 0;
  for (const Reading* reading : matching(readings, "async_copies", "chunk", {{"busy", "8"}})) {
    const Estimate chunk = estimate(reading->values);
    kib.push_back(std::stod(std::string(reading->parameter("kib"))));
    clocks.push_back(chunk.value);
    spread = std::max(spread, chunk.spread);
    runs = chunk.runs;
  }
  if (kib.size() < 3) return;
  out.push_back(
      {"constants.cp_async_loaded_latency",
       "clk",
       {line_through(kib, clocks).at(0), spread, runs},
       "all SMs copy the same 8 to 32 KiB, beside eight warps of mma.sync and ldmatrix; the line's beginning"});
}

}  // namespace

std::vector<MeasuredNumber> measured_synchronous(const Readings& readings) {
  std::vector<MeasuredNumber> out;
  add_products(readings, out);
  add_register_ports(readings, out);
  add_loaded_latency(readings, out);
  return out;
}

}  // namespace napkin::internal
