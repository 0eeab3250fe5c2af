#include "apps/report/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace napkin::internal::report {
namespace {

/// Writes four digits: 1.234, 12.34, 123.4, 1234.
std::string four_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

/// Writes `value` in the largest of the units (each `step` times the one before) that leaves it at least 1.
template <std::size_t N>
std::string scaled(double value, double step, const std::array<const char*, N>& units) {
  std::size_t at = 0;
  while (at + 1 < N && std::abs(value) >= step) {
    value /= step;
    ++at;
  }
  return four_digits(value) + " " + units[at];
}

}  // namespace

std::string count_text(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string transfer_text(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  return scaled(static_cast<double>(bytes), 1e3, std::array{"B", "kB", "MB", "GB", "TB", "PB", "EB"});
}

std::string memory_text(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t at = 0;
  for (; at + 1 < units.size() && value >= 1024; ++at) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[at]);
}

std::string time_text(double seconds) { return scaled(seconds * 1e9, 1e3, std::array{"ns", "us", "ms", "s"}); }

std::string rate_text(double bytes_per_second) {
  return scaled(bytes_per_second / 1e9, 1e3, std::array{"GB/s", "TB/s", "PB/s"});
}

std::string clock_text(double hertz) { return fmt::format("{:.3f} GHz", hertz / 1e9); }

std::string work_text(std::int64_t flop) {
  return scaled(static_cast<double>(flop), 1e3,
                std::array{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"});
}

std::string tflops_text(double tflops) {
  constexpr double tera = 1e12;
  return scaled(tflops * tera, 1e3, std::array{"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"});
}

std::string tflops_cell(double tflops) { return four_digits(tflops); }

std::string percent_text(double fraction) { return fmt::format("{:.0f}%", fraction * 100); }

std::string number_text(double number) {
  if (std::floor(number) == number && std::abs(number) < 1e15) return count_text(static_cast<std::int64_t>(number));
  return fmt::format("{:.4g}", number);
}

}  // namespace napkin::internal::report
