#pragma once
// These functions print numbers as people read them: time_text(7.81e-4) is "781 us". JSON does not use
// them: it has SI units and plain numbers.

#include <cstdint>
#include <string>

namespace napkin::internal::report {

[[nodiscard]] std::string count_text(std::int64_t count);      ///< writes "8,657,043,456"
[[nodiscard]] std::string transfer_text(std::int64_t bytes);   ///< writes "8.657 GB", in powers of 1000 as bandwidths
                                                               ///< are
[[nodiscard]] std::string memory_text(std::int64_t bytes);     ///< writes "96.0 KiB", in powers of 1024 as memories are
[[nodiscard]] std::string time_text(double seconds);           ///< writes "1.040 ms"
[[nodiscard]] std::string rate_text(double bytes_per_second);  ///< writes "4.80 TB/s"
[[nodiscard]] std::string clock_text(double hertz);            ///< writes "1.755 GHz"
[[nodiscard]] std::string work_text(std::int64_t flop);        ///< writes "2.20 TFLOP"
[[nodiscard]] std::string tflops_cell(double tflops);          ///< writes "661.0", "0.938", for a heading with the unit
[[nodiscard]] std::string tflops_text(double tflops);          ///< writes "661 TFLOP/s"
[[nodiscard]] std::string percent_text(double fraction);       ///< writes "93%"
[[nodiscard]] std::string number_text(double number);          ///< writes "1.5", "232,448": a whole number without a
                                                               ///< fraction

}  // namespace napkin::internal::report
