#include "apps/library/question/here.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <vector>

#include "kernels/jit/failure.hpp"
#include "kernels/runtime/card.hpp"
#include "model/base/error.hpp"
#include "model/machine/load.hpp"

namespace napkin::internal {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Counts the words of the profile's name ("h200-sxm") that are in the device's name; 0 if the first is not.
int agreement(const std::string& profile, const std::string& device) {
  std::istringstream words(profile);
  int agreed = 0;
  for (std::string word; std::getline(words, word, '-');) {
    if (device.find(word) != std::string::npos) {
      ++agreed;
    } else if (agreed == 0 && word != "rtx") {
      return 0;
    }
  }
  return agreed;
}

/// Returns the first word of a profile's name that has a digit: "h200" of "h200-sxm", "a6000" of "rtx-a6000"; "" if
/// none has.
std::string telling_word(const std::string& profile) {
  std::istringstream words(profile);
  for (std::string word; std::getline(words, word, '-');) {
    if (word.find_first_of("0123456789") != std::string::npos) return word;
  }
  return "";
}

}  // namespace

bool may_be(const Machine& product, const std::string& device) {
  std::string words = lower(device);
  std::replace(words.begin(), words.end(), '-', ' ');
  std::vector<std::string> known_as = product.aliases;
  known_as.push_back(product.name);
  return std::any_of(known_as.begin(), known_as.end(), [&](const std::string& name) {
    const std::string word = telling_word(name);
    return word.empty() || (" " + words + " ").find(" " + word + " ") != std::string::npos;
  });
}

std::string product_of(const DeviceProperties& device) {
  const std::string name = lower(device.name);
  std::string best;
  int most = 0;
  std::vector<std::pair<std::string, std::string>> names = builtin_aliases();
  for (const std::string& profile : builtin_machines()) names.emplace_back(profile, profile);
  for (const auto& [known_as, profile] : names) {
    const int agreed = agreement(known_as, name);
    if (agreed <= most) continue;  // before the profile is read: reading all of them takes ten milliseconds
    const Machine machine = load_machine(profile, "--gpu");
    if (machine.architecture != device.architecture || machine.compute_nodes() != Count(device.sms)) continue;
    most = agreed;
    best = profile;
  }
  if (best.empty()) {
    throw Error("--gpu",
                "no profile describes the GPU here (" + device.name + ", " + device.architecture + ", " +
                    std::to_string(device.sms) + " SMs)",
                "the nearest of " + joined(builtin_machines()) + ", or a path to a profile of your own");
  }
  return best;
}

std::string card_file(const DeviceProperties& device) {
  const std::string card = card_of(device.ordinal);
  const std::filesystem::path folder = cards_folder();
  return card.empty() || folder.empty() ? "" : (folder / (card + ".yaml")).string();
}

std::string profile_of(const DeviceProperties& device) {
  std::string own = card_file(device);
  return !own.empty() && std::filesystem::exists(own) ? own : product_of(device);
}

std::string profile_here() {
  try {
    return profile_of(Device().properties());
  } catch (const CudaFailure& failure) {
    throw CudaFailure(std::string("--gpu: no GPU here: ") + failure.what() + ": name one (napkin list gpus)");
  }
}

}  // namespace napkin::internal
