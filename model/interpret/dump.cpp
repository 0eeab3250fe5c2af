#include "model/interpret/dump.hpp"

#include <algorithm>
#include <cctype>

namespace napkin::internal {

std::string dump_name(const Observation& observation) {
  std::string name(observation.name);
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-'; }, '_');
  for (std::size_t i = 0; i < observation.group.size(); ++i) {
    name += (i == 0 ? ".g" : "_") + std::to_string(observation.group[i]);
  }
  switch (observation.phase) {
    case Phase::head: name += ".head"; break;
    case Phase::loop: name += ".i" + std::to_string(observation.iteration); break;
    case Phase::tail: name += ".tail"; break;
  }
  return name + ".npy";
}

Observer dump_into(std::string folder, NpyType type) {
  return [folder = std::move(folder), type](const Observation& observation) {
    save_npy(folder + "/" + dump_name(observation), observation.tensor, type);
  };
}

}  // namespace napkin::internal
