#include "model/machine/vocabulary.hpp"

namespace napkin {

std::string Vocabulary::pipe(const std::string& name) const {
  if (name == "tensor") return matrix;
  const auto at = routes.find(name);
  return at == routes.end() ? name : at->second;
}

std::string Vocabulary::route(const std::string& level) const {
  const auto at = into.find(level);
  return at == into.end() ? level : at->second;
}

}  // namespace napkin
