#pragma once
// CardConditions say under what a card runs a kernel: sustained, in a burst behind a rest, or for a fraction of the
// time, and at which clock the driver holds it. under() gives the machine as it is then. (model/README.md, Time: power)

#include <optional>
#include <string>
#include <string_view>

#include "model/base/quantity.hpp"

namespace napkin {

struct Machine;

/// The share of the time for which a card runs a kernel. It decides which power limit binds.
struct CardLoad {
  enum class Kind {
    sustained,  ///< launch behind launch for seconds: the board's limit, on the mean
    burst,      ///< some tens of milliseconds behind a rest: the fast limit alone
    fraction    ///< that fraction of the time, idle for the rest of it: both limits
  };
  Kind kind = Kind::sustained;
  double fraction = 1;  ///< of `fraction`: above 0, at most 1
  bool operator==(const CardLoad&) const = default;
};

/// Reads "sustained", "burst" or a fraction such as "0.3". Throws Error at `where`.
[[nodiscard]] CardLoad parse_card_load(std::string_view text, const std::string& where);
/// Returns "sustained", "burst" or the fraction, as parse_card_load() reads it.
[[nodiscard]] std::string text_of(const CardLoad& load);

struct CardConditions {
  CardLoad load;
  std::optional<double> clock;  ///< hertz that the driver is told to hold; none: up to the maximum
  std::optional<double> limit;  ///< watts that the driver is told to keep to; none: the profile's
  std::optional<double> held;   ///< hertz that the SMs were read to have beside products; no power limit binds then
  bool operator==(const CardConditions&) const = default;
};

/// Returns the conditions as one text, which differs where they do: "load burst, clock 1.5e+09".
[[nodiscard]] std::string text_of(const CardConditions& conditions);

/// Returns the watts that may be held under the load (eq. 16.3): those of a load that runs for a fraction of the time
/// may exceed the board's limit by what the rests leave, up to the burst limit. Throws Error at `where` where the
/// machine has no limit, or no burst limit and the load needs it.
[[nodiscard]] Watts power_limit(const Machine& machine, const CardLoad& load, const std::string& where);

/// Returns the machine under the conditions. Throws Error at `where` for a clock above the maximum, and as
/// power_limit().
[[nodiscard]] Machine under(Machine machine, const CardConditions& conditions, const std::string& where = "--load");

}  // namespace napkin
