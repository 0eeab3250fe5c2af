#include "model/diagram/mask.hpp"

namespace napkin {

std::string text_of(const Mask& mask) {
  switch (mask.kind) {
    case Mask::Kind::none: return "none";
    case Mask::Kind::causal: return "causal";
    case Mask::Kind::window: return "window " + std::to_string(mask.left) + "," + std::to_string(mask.right);
    case Mask::Kind::prefix: return "prefix " + std::to_string(mask.left);
  }
  return {};
}

}  // namespace napkin
