#pragma once
// card_of returns the identity of one card, such as GPU-5d2f..., and EnergyCounter reads the joules that a card has
// taken.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace napkin::internal {

/// Returns the driver's identity of a GPU, "GPU-" and 32 digits; "" if the driver does not say.
[[nodiscard]] std::string card_of(int ordinal);

/// Returns the folder of profiles of single cards: $XDG_CONFIG_HOME/napkin/cards, else ~/.config/napkin/cards; empty
/// without a home.
[[nodiscard]] std::filesystem::path cards_folder();

/// The counter of the energy that a card has taken since its driver was loaded.
class EnergyCounter {
 public:
  /// Opens the counter of a device; nothing without NVML, or on a card that does not count.
  [[nodiscard]] static std::optional<EnergyCounter> open(const std::string& bus_id);
  /// Returns joules, which the card updates every 20 to 100 ms.
  [[nodiscard]] double joules() const;

 private:
  struct Api;
  std::shared_ptr<const Api> api_;
  void* device_ = nullptr;
};

}  // namespace napkin::internal
