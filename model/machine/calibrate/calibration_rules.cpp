#include "model/machine/calibrate/calibration_rules.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace napkin::internal {
namespace {

constexpr double lanes = 32;     // results of a warp instruction
constexpr double plateau = 0.9;  // share of the L2's full rate down to which a working set counts as held by it

/// Pools the values of those readings; the spread includes the spread between conditions.
std::optional<Estimate> pooled(const std::vector<const Reading*>& readings, double factor = 1) {
  std::vector<double> all;
  for (const Reading* reading : readings) {
    for (const double value : reading->values) all.push_back(factor * value);
  }
  if (all.empty()) return std::nullopt;
  return estimate(std::move(all));
}

/// A rule for a number that is a reading times a factor, as most are.
struct Rule {
  const char* name;
  const char* unit;
  const char* experiment;
  const char* quantity;
  Conditions with;
  double factor;
  const char* note;
};

/// Makes the rule for a rate: two warpgroups execute one kind of instruction, alone or beside products.
Rule rate(const char* name, const char* unit, const char* work, double factor, const char* note) {
  return {name, unit, "vector_alone", "rate", {{"work", work}, {"groups", "2"}}, factor, note};
}
Rule beside(const char* name, const char* unit, const char* work, double factor, const char* note) {
  return {name, unit, "vector_beside", "rate", {{"work", work}, {"groups", "2"}}, factor, note};
}

std::vector<Rule> unit_rules() {
  return {
      rate("units.special.rate", "results/clk", "ex2", lanes, "EX2, two warpgroups"),
      beside("units.special.beside_tensor", "results/clk", "ex2", lanes,
             "EX2 beside wgmma, all n and operands together"),
      rate("units.fp32.rate", "results/clk", "fma", lanes, "FFMA, two warpgroups"),
      rate("units.fp16.rate", "results/clk", "fma16", 2 * lanes, "HFMA2.bf16, two results a lane"),
      beside("units.fp16.beside_tensor", "results/clk", "fma16", 2 * lanes, "HFMA2.bf16 beside wgmma"),
      rate("units.alu.rate", "results/clk", "maximum", lanes, "FMNMX, two warpgroups"),
      beside("units.alu.beside_tensor", "results/clk", "maximum", lanes,
             "FMNMX beside wgmma, all n and operands together"),
      rate("units.conversion.rate", "results/clk", "convert", 2 * lanes, "to bf16x2, two values a lane"),
      rate("units.conversion_fp8.rate", "results/clk", "convert_fp8", 2 * lanes,
           "to e4m3x2, two values a lane and instruction"),
      rate("units.shared_port.rate", "B/clk", "load", 1, "ld.shared.v4, two warpgroups"),
      rate("units.shuffle.rate", "results/clk", "shuffle", lanes, "SHFL, two warpgroups"),
      beside("units.shuffle.beside_tensor", "results/clk", "shuffle", lanes,
             "SHFL beside wgmma, all n and operands together"),
  };
}

/// Makes the rules for one, two and three warpgroups at work together.
std::vector<Rule> co_use_rules() {
  return {
      beside("units.issue.co_use.beside.2", "instructions/clk", "mix", 1,
             "the same beside wgmma, two warpgroups, all n and operands together"),
      {"units.issue.co_use.beside.1",
       "instructions/clk",
       "vector_beside",
       "rate",
       {{"work", "mix"}, {"groups", "1"}},
       1,
       "of one warpgroup"},
      {"units.issue.co_use.beside.3",
       "instructions/clk",
       "vector_beside",
       "rate",
       {{"work", "mix"}, {"groups", "3"}},
       1,
       "of three warpgroups"},
      rate("units.special.co_use.alone.2", "results/clk", "softmax_steps", 1,
           "kept maximum, steps of three, two warpgroups"),
      {"units.special.co_use.alone.3",
       "results/clk",
       "vector_alone",
       "rate",
       {{"work", "softmax_steps"}, {"groups", "3"}},
       1,
       "of three warpgroups"},
      beside("units.special.co_use.beside.2", "results/clk", "softmax_steps", 1,
             "two warpgroups beside wgmma, all n and operands together"),
      {"units.special.co_use.beside.3",
       "results/clk",
       "vector_beside",
       "rate",
       {{"work", "softmax_steps"}, {"groups", "3"}},
       1,
       "of three warpgroups"},
  };
}

std::vector<Rule> port_rules() {
  return {
      {"constants.shared_port_least",
       "B/clk",
       "vector_beside",
       "rate",
       {{"work", "load"}, {"groups", "2"}, {"n", "64"}, {"a", "shared"}},
       1,
       "ld.shared.v4 beside wgmma n = 64, A and B in shared memory"},
      {"pipes.shared.bandwidth_per_node",
       "B/clk",
       "vector_alone",
       "rate",
       {{"work", "load"}, {"groups", "2"}},
       1,
       "ld.shared.v4, two warpgroups"},
  };
}

std::vector<Rule> memory_rules() {
  return {
      {"pipes.shared.latency", "clk", "latency", "load", {{"of", "shared"}}, 1, "ld.u32, dependent addresses"},
      {"pipes.cluster.latency", "clk", "latency", "load", {{"of", "cluster"}, {"size", "2"}}, 1, "cluster of 2"},
      {"pipes.l2.latency",
       "clk",
       "latency",
       "load",
       {{"of", "l2"}, {"mib", "4"}, {"read_before", "yes"}},
       1,
       "pointer chase, a set of 4 MiB that this SM has read before"},
      {"pipes.cluster.bandwidth_per_node",
       "B/clk",
       "cluster_network",
       "rate",
       {{"way", "load"}, {"size", "2"}, {"clusters", "all"}},
       1,
       "loads, cluster of 2, all SMs"},
      {"pipes.device.bandwidth", "GB/s", "device_bandwidth", "rate", {{"way", "read"}}, 1, "reads"},
      {"constants.l2_bandwidth_shared_tile",
       "B/clk",
       "copy_engine",
       "delivered",
       {{"cluster", "1"}, {"tile", "same"}},
       1,
       "boxes of 16 KiB, 8 in flight"},
      {"constants.l2_bandwidth_one_sm", "B/clk", "l2_bandwidth", "rate", {{"way", "read"}, {"tile", "alone"}}, 1, ""},
      {"constants.multicast_delivered_bandwidth",
       "B/clk",
       "copy_engine",
       "delivered",
       {{"cluster", "2"}, {"tile", "own"}},
       1,
       "boxes of 16 KiB, 8 in flight, cluster of 2"},
  };
}

std::vector<Rule> box_rules() {
  const auto box = [](const char* name, const char* from, const char* kib) {
    return Rule{name,
                "clk",
                "copy_engine",
                "latency",
                {{"from", from}, {"kib", kib}, {"sms", "one"}, {"wait", "try_wait"}},
                1,
                "one box at a time, one SM, mbarrier.try_wait"};
  };
  return {box("constants.tma_l2_latency_16kib", "l2", "16"), box("constants.tma_device_latency_16kib", "device", "16")};
}

std::vector<Rule> wait_rules() {
  return {
      {"constants.handover_mbarrier",
       "clk",
       "waiting",
       "round",
       {{"for", "mbarrier_round"}},
       1,
       "a round trip between two warpgroups"},
      {"constants.store_fence_barrier",
       "clk",
       "waiting",
       "round",
       {{"for", "store_fence_barrier"}, {"threads", "128"}},
       1,
       "128 threads"},
      {"constants.launch_overhead", "us", "launching", "launch", {}, 1, "back to back in a stream, a block an SM"},
      {"constants.block_handover",
       "clk",
       "launching",
       "handover",
       {},
       1,
       "from a block's end to its successor's start"},
      {"constants.block_overhead", "clk", "launching", "block", {}, 1, "blocks of 384 threads that do nothing"},
      {"clocks.maximum",
       "MHz",
       "power",
       "nvml_clock",
       {{"load", "spin"}},
       1,
       "with one warpgroup an SM that reads clocks"},
      {"power.idle", "W", "power", "power", {{"load", "rest"}}, 1, "with a context, nothing running"},
  };
}

/// Adds the L2's rate to SMs against the working set: the rate of the plateau, and its end.
void add_working_sets(const Readings& readings, std::vector<MeasuredNumber>& out) {
  std::map<double, const Reading*> by_size;
  for (const Reading* reading : matching(readings, "l2_bandwidth", "rate", {{"way", "read"}, {"tile", "own"}})) {
    by_size.emplace(std::stod(std::string(reading->parameter("bytes"))), reading);
  }
  if (by_size.size() < 3) return;
  std::vector<double> sizes, rates;
  for (const auto& [size, reading] : by_size) {
    sizes.push_back(size);
    rates.push_back(estimate(reading->values).value);
  }
  const double end = knee(sizes, rates, plateau);
  std::vector<const Reading*> held;
  for (const auto& [size, reading] : by_size) {
    if (size <= end) held.push_back(reading);
  }
  out.push_back(
      {"pipes.l2.bandwidth_per_node", "B/clk", *pooled(held), "all SMs on distinct lines, sets up to the working set"});
  out.push_back({"constants.l2_working_set",
                 "MB",
                 {end, 0, static_cast<int>(by_size.size())},
                 "the largest set read at 0.9 of the smallest one's rate"});
}

void add_device_latency(const Readings& readings, std::vector<MeasuredNumber>& out) {
  const auto device = pooled(matching(readings, "latency", "load", {{"of", "device"}})),
             l2 = pooled(matching(readings, "latency", "load", {{"of", "l2"}, {"mib", "4"}, {"read_before", "yes"}}));
  if (!device || !l2 || device->value <= l2->value) return;
  const double value = device->value - l2->value;
  const double spread = std::hypot(device->spread * device->value, l2->spread * l2->value) / value;
  out.push_back({"pipes.device.latency",
                 "clk",
                 {value, spread, std::min(device->runs, l2->runs)},
                 "device memory's pointer chase less the L2's"});
}

}  // namespace

std::vector<MeasuredNumber> measured_numbers(const Readings& readings, double exponent) {
  std::vector<MeasuredNumber> out;
  for (const auto& rules : {unit_rules(), co_use_rules(), port_rules(), memory_rules(), box_rules(), wait_rules()}) {
    for (const Rule& rule : rules) {
      const auto found = pooled(matching(readings, rule.experiment, rule.quantity, rule.with), rule.factor);
      if (found) out.push_back({rule.name, rule.unit, *found, rule.note});
    }
  }
  for (MeasuredNumber& number : measured_synchronous(readings)) out.push_back(std::move(number));
  add_working_sets(readings, out);
  add_device_latency(readings, out);
  for (MeasuredNumber& energy : measured_energies(readings, exponent)) out.push_back(std::move(energy));
  return out;
}

MeasuredTiming measured_timing(const Readings& readings) {
  MeasuredTiming out;
  std::map<int, InstructionTiming> rows;
  const auto clocks = [&](std::string_view experiment, std::string_view quantity, Conditions with, auto field) {
    for (const Reading* reading : matching(readings, experiment, quantity, with)) {
      const Estimate found = estimate(reading->values);
      const int n = std::stoi(std::string(reading->parameter("n")));
      InstructionTiming& row = rows[n];
      row.n = n;
      row.*field = std::round(found.value * 100) / 100;
      if (experiment == "tensor_time") out.spread = std::max(out.spread, found.spread);
    }
  };
  clocks("tensor_time", "product", {{"a", "shared"}, {"groups", "1"}}, &InstructionTiming::clocks_shared);
  clocks("tensor_time", "product", {{"a", "registers"}, {"groups", "1"}}, &InstructionTiming::clocks_registers);
  if (rows.size() < 3) return out;
  clocks("tensor_latency", "wait", {{"a", "shared"}, {"batch", "1"}}, &InstructionTiming::latency_shared);
  clocks("tensor_latency", "wait", {{"a", "registers"}, {"batch", "1"}}, &InstructionTiming::latency_registers);

  std::vector<double> n, shared;
  for (auto at = rows.begin(); n.size() < 3; ++at) {
    n.push_back(at->first);
    shared.push_back(at->second.clocks_shared);
  }
  constexpr int least = 8;
  if (rows.begin()->first > least) {
    const double line = std::round(line_through(n, shared).at(least) * 100) / 100,
                 registers = rows.begin()->second.clocks_registers;
    rows[least] = {least, line, registers, 0, 0};
  }
  for (const auto& [each, row] : rows) {
    if (row.clocks_shared > 0 || row.clocks_registers > 0) out.rows.push_back(row);
  }
  out.instruction = "wgmma";
  out.types = {DType::bf16, DType::f16};
  out.note = "back to back, one warpgroup, bf16; n = 8 by the line through the three next; f16 taken as equal";
  return out;
}

namespace {

const std::vector<std::string> kinds_of_work = {"flops", "instructions", "l2_bytes", "device_bytes"};
constexpr const char* flops_8bit = "flops_8bit";

}  // namespace

std::map<std::string, SteadyReading> steady_loads(const Readings& readings, const std::string& experiment,
                                                  const std::vector<std::string>& kinds) {
  std::map<std::string, SteadyReading> out;
  for (const Reading* reading : matching(readings, experiment, "power")) {
    const std::string name(reading->parameter("load"));
    const auto value = [&](const std::string& quantity) {
      const auto found = pooled(matching(readings, experiment, quantity, {{"load", name}}));
      return found ? found->value : 0;
    };
    SteadyReading load{{value("clock"), value("power"), {}}, value("nvml_clock")};
    for (const std::string& kind : kinds) load.point.rates.push_back(value(kind));
    if (load.point.power > 0) out.emplace(name, load);
  }
  return out;
}

std::optional<MeasuredNumber> clock_beside_tensor(const std::map<std::string, SteadyReading>& loads) {
  std::vector<double> clocks;
  double highest = 0;
  for (const auto& [name, load] : loads) highest = std::max(highest, load.nvml_clock);
  for (const auto& [name, load] : loads) {
    if (load.point.rates.front() > 0 && load.nvml_clock > 0)
      clocks.push_back(load.point.clock / load.nvml_clock * highest);
  }
  if (clocks.empty()) return std::nullopt;
  return MeasuredNumber{"constants.clock_beside_tensor", "MHz", estimate(std::move(clocks)),
                        "the highest clock times what the SMs count of NVML's reading under steady loads of products"};
}

namespace {

/// Measures the energy of 8-bit products from loads of products alone, each by eq. 16.1, with idle power and clock tree
/// known.
std::optional<MeasuredNumber> energy_8bit(const Readings& readings, double exponent, double tree) {
  const std::map<std::string, SteadyReading> named =
      steady_loads(readings, "power_e4m3", {flops_8bit, "instructions", "l2_bytes", "device_bytes"});
  const auto rest = named.find("rest");
  if (rest == named.end()) return std::nullopt;
  std::vector<double> energies;
  for (const auto& [name, load] : named) {
    const std::vector<double>& rates = load.point.rates;
    if (rates[0] <= 0 || rates[1] > 0) continue;
    const double ratio = load.point.clock / energy_clock, raised = std::pow(ratio, exponent);
    energies.push_back((load.point.power - rest->second.point.power - tree * ratio * raised) / (raised * rates[0]));
  }
  if (energies.empty()) return std::nullopt;
  return MeasuredNumber{"constants.energy_tensor_8bit", "pJ/FLOP", estimate(std::move(energies)),
                        "steady loads, at 1.5 GHz: normal numbers, A from shared memory or, as P is, from registers"};
}

}  // namespace

std::vector<MeasuredNumber> measured_energies(const Readings& readings, double exponent) {
  std::map<std::string, SteadyReading> named = steady_loads(readings, "power", kinds_of_work);
  const auto rest = named.find("rest");
  if (rest == named.end()) return {};
  const double idle = rest->second.point.power;
  named.erase(rest);
  std::vector<PowerPoint> loads;
  for (const auto& [name, load] : named) loads.push_back(load.point);
  if (loads.size() <= kinds_of_work.size() + 1) return {};
  const PowerFit fit = fit_power(loads, idle, {true, true, true, false}, exponent);
  const int runs = static_cast<int>(loads.size());
  const double spread = fit.rms / idle;
  std::vector<MeasuredNumber> out = {
      {"constants.clock_tree",
       "W",
       {fit.tree, spread, runs},
       "fitted with the energies to the power of steady loads, at 1.5 GHz"},
      {"constants.energy_tensor_16bit",
       "pJ/FLOP",
       {fit.energies[0], spread, runs},
       "steady loads, at 1.5 GHz; spread: what the fit leaves, over idle power"},
      {"constants.energy_instruction", "nJ/instruction", {fit.energies[1], spread, runs}, "steady loads, at 1.5 GHz"},
      {"constants.energy_l2", "pJ/B", {fit.energies[2], spread, runs}, "steady loads, at 1.5 GHz"},
      {"constants.energy_device",
       "pJ/B",
       {fit.energies[3], spread, runs},
       "steady loads; beyond what the L2's bytes take"}};
  if (auto energy = energy_8bit(readings, exponent, fit.tree)) out.push_back(std::move(*energy));
  if (auto clock = clock_beside_tensor(named)) out.push_back(std::move(*clock));
  return out;
}

}  // namespace napkin::internal
