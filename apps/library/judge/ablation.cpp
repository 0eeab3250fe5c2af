#include "apps/library/judge/ablation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/machine/number.hpp"
#include "model/machine/numbers.hpp"

namespace napkin::internal {
namespace {

/// The neutral values of constants whose absence is not a plain zero.
const std::map<std::string, double, std::less<>> neutral_values = {
    {"l2_working_set", 1e18},  // everything stays in the L2
    {"multicast_delivered_bandwidth", 1e18},
    {"mma_sync_ports", 1},  // a product takes its registers as long as another instruction
};

std::string text_of(const Number& number) {
  return fmt::format("{:.6g} {}", number.value / profile::factor_of(number.unit),
                     number.unit == "1" ? "" : number.unit);
}

void add_constant(const Machine& machine, const std::string& name, bool fitted, std::vector<AblationTerm>& out) {
  const Number& number = (fitted ? machine.fitted : machine.constants).at(name);
  AblationTerm term{(fitted ? "fitted." : "constants.") + name, text_of(number), "none", {}};
  if (const auto neutral = neutral_values.find(name); neutral != neutral_values.end()) {
    term.off = neutral->second > 1e15 ? "infinite" : fmt::format("{:g}", neutral->second);
    term.edit = [name, fitted, value = neutral->second](Machine& m) {
      auto& numbers = fitted ? m.fitted : m.constants;
      if (const auto found = numbers.find(name); found != numbers.end()) found->second.value = value;
    };
  } else {
    if (const auto measured = machine.constants.find(name); fitted && measured != machine.constants.end())
      term.off = "the measured " + text_of(measured->second);
    term.edit = [name](Machine& m) { switch_off(m, name); };
  }
  out.push_back(std::move(term));
}

std::string joined_values(const std::vector<Number>& numbers) {
  std::string out;
  for (const Number& number : numbers) out += (out.empty() ? "" : ", ") + fmt::format("{:g}", number.value);
  return out + " " + numbers.front().unit;
}

void add_unit(const Unit& unit, std::vector<AblationTerm>& out) {
  const auto with = [name = unit.name](auto change) -> Edit {
    return [name, change](Machine& m) {
      for (Unit& each : m.units) {
        if (each.name == name) change(each);
      }
    };
  };
  if (unit.beside_tensor && unit.beside_tensor->value != unit.per_clock.best().value)
    out.push_back({"units." + unit.name + ".beside_tensor", text_of(*unit.beside_tensor), "the rate alone",
                   with([](Unit& each) { each.beside_tensor.reset(); })});
  if (!unit.co_use.alone.empty())
    out.push_back({"units." + unit.name + ".co_use.alone", joined_values(unit.co_use.alone), "the whole rate",
                   with([](Unit& each) { each.co_use.alone = {each.per_clock.best()}; })});
  if (!unit.co_use.beside.empty())
    out.push_back({"units." + unit.name + ".co_use.beside", joined_values(unit.co_use.beside), "the rates alone",
                   with([](Unit& each) {
                     each.co_use.beside =
                         each.co_use.alone.empty() ? std::vector<Number>{each.per_clock.best()} : each.co_use.alone;
                   })});
}

void add_pipe(const Pipe& pipe, std::vector<AblationTerm>& out) {
  if (!pipe.latency) return;
  out.push_back({"pipes." + pipe.name + ".latency", text_of(*pipe.latency), "none", [name = pipe.name](Machine& m) {
                   for (Pipe& each : m.pipes) {
                     if (each.name == name && each.latency)
                       each.latency->value = 0;  // 0, but known: there is no event graph without a latency
                   }
                 }});
}

void add_latencies(const Machine& machine, std::vector<AblationTerm>& out) {
  const auto known = [](const InstructionTiming& row) { return row.latency_shared > 0 || row.latency_registers > 0; };
  for (const TensorInstruction& each : machine.tensor) {
    if (std::none_of(each.timing.begin(), each.timing.end(), known)) continue;
    const std::string name = "tensor." + each.name + ".latency";
    if (std::any_of(out.begin(), out.end(), [&](const AblationTerm& term) { return term.name == name; })) continue;
    out.push_back({name, "by n", "none", [instruction = each.name](Machine& m) {
                     for (TensorInstruction& other : m.tensor) {
                       if (other.name != instruction) continue;
                       for (InstructionTiming& row : other.timing) row.latency_shared = row.latency_registers = 0;
                     }
                   }});
  }
}

}  // namespace

std::vector<AblationTerm> terms_of(const Machine& machine) {
  std::vector<AblationTerm> out;
  for (const auto& each : machine.fitted) add_constant(machine, each.first, true, out);
  for (const auto& each : machine.constants) {
    if (!machine.fitted.contains(each.first)) add_constant(machine, each.first, false, out);
  }
  for (const Unit& unit : machine.units) add_unit(unit, out);
  for (const Pipe& pipe : machine.pipes) add_pipe(pipe, out);
  add_latencies(machine, out);
  return out;
}

}  // namespace napkin::internal
