#include "kernels/jit/report.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "kernels/jit/failure.hpp"

namespace napkin::internal {
namespace {

/// Returns the number directly before `phrase` in `line`.
std::optional<std::int64_t> number_before(std::string_view line, std::string_view phrase) {
  const std::size_t at = line.find(phrase);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t first = at;
  while (first > 0 && std::isdigit(static_cast<unsigned char>(line[first - 1]))) --first;
  if (first == at || at - first > 15) return std::nullopt;
  return std::stoll(std::string(line.substr(first, at - first)));
}

/// Returns true for "(C7510)" and other numbers of the serialised-wgmma family.
bool serialised(std::string_view line) {
  for (std::size_t at = line.find("C75"); at != std::string_view::npos; at = line.find("C75", at + 1)) {
    const std::string_view digits = line.substr(at + 1, 4);
    if (digits.size() == 4 && digits >= "7504" && digits <= "7517") return true;
  }
  return false;
}

}  // namespace

CompileReport read_report(std::string_view log) {
  CompileReport report;
  report.log = std::string(log);
  bool registers = false;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (const auto n = number_before(line, " registers")) {
      report.registers = std::max(report.registers, static_cast<int>(*n));
      registers = true;
    }
    if (const auto n = number_before(line, " bytes stack frame")) report.stack += Bytes(*n);
    if (const auto n = number_before(line, " bytes spill stores")) report.spill_stores += Bytes(*n);
    if (const auto n = number_before(line, " bytes spill loads")) report.spill_loads += Bytes(*n);
    if (const auto n = number_before(line, " bytes smem")) report.static_shared += Bytes(*n);
    if (serialised(line) || line.find("setmaxnreg ignored") != std::string_view::npos) report.faults.emplace_back(line);
  }
  if (!registers) throw CudaFailure("the compiler's log states no registers: " + report.log);
  return report;
}

std::string CompileReport::objection() const {
  if (!faults.empty()) return faults.front();
  if (!spills()) return "";
  return "registers spill: " + std::to_string(spill_stores.value.get()) + " bytes stored and " +
         std::to_string(spill_loads.value.get()) + " bytes loaded a thread, at " + std::to_string(registers) +
         " registers";
}

}  // namespace napkin::internal
