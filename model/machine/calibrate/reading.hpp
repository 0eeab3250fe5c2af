#pragma once
// A Reading is a raw measurement of a micro-kernel: a row of `napkin calibrate --record`.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::internal {

struct Reading {
  std::string experiment;                                ///< "tensor_time"
  std::map<std::string, std::string, std::less<>> with;  ///< conditions of the measurement: {a: shared, n: 128}
  std::string quantity;                                  ///< "product"
  std::string unit;            ///< "clk", "B/clk", "instructions/clk", "s", "Hz", "W", "B/s", "1/s"
  std::vector<double> values;  ///< values, one for each repetition

  [[nodiscard]] std::string_view parameter(std::string_view name) const;  ///< Returns the parameter's value; "" if the
                                                                          ///< reading has none.
};

using Readings = std::vector<Reading>;
using Conditions = std::map<std::string, std::string, std::less<>>;

/// Returns the readings of that experiment and quantity that have all of the given parameters.
[[nodiscard]] std::vector<const Reading*> matching(const Readings& readings, std::string_view experiment,
                                                   std::string_view quantity, const Conditions& with = {});

}  // namespace napkin::internal
