#pragma once
// CardConditions are the conditions under which a card runs a kernel: sustained, in a burst after idling, or for a
// fraction of the time; at a clock that the driver holds; with cold caches or warm ones. under() returns the machine
// under these conditions. (model/README.md, Time: power)

#include <optional>
#include <string>
#include <string_view>

#include "model/base/quantity.hpp"

namespace napkin {

/// The share of the time for which a card runs a kernel. It decides which power limit binds.
struct CardLoad {
  enum class Kind {
    sustained,  ///< launches for seconds without a pause: the board's limit applies to the mean power
    burst,      ///< launches for tens of milliseconds after a rest: the fast limit alone
    fraction    ///< busy for a fraction of the time, idle for the rest: both limits apply
  };
  Kind kind = Kind::sustained;
  double fraction = 1;  ///< busy fraction: above 0, at most 1
  bool operator==(const CardLoad&) const = default;
};

/// Reads "sustained", "burst" or a fraction such as "0.3". Throws Error at `where`.
[[nodiscard]] CardLoad parse_card_load(std::string_view text, const std::string& where);
/// Returns "sustained", "burst" or the fraction, as parse_card_load() reads it.
[[nodiscard]] std::string text_of(const CardLoad& load);

/// Reads "cold" or "warm"; returns true for cold. Throws Error at `where`.
[[nodiscard]] bool parse_l2(std::string_view text, const std::string& where);

struct CardConditions {
  CardLoad load;
  std::optional<double> clock;  ///< hertz that the driver is told to hold; none: the maximum
  std::optional<double> limit;  ///< watts that the driver is told to keep; none: the profile's limit
  bool cold = false;            ///< true if the caches hold nothing of the previous call: another call cleared them
  std::optional<double> held;   ///< hertz that the SMs were read to have beside products; no power limit then applies
  bool operator==(const CardConditions&) const = default;
};

/// Writes the conditions as a text that differs if they do: "load burst, clock 1.5e+09".
[[nodiscard]] std::string text_of(const CardConditions& conditions);

}  // namespace napkin
