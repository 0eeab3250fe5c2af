// links: model/base
// The strict reader on any bytes: only napkin::Error may escape, and every accessor keeps to it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/base/yaml.hpp"

namespace {

void visit(const napkin::internal::yaml::Node& node) {
  try {
    (void)node.number();
    (void)node.integer(0, 1000);
  } catch (const napkin::Error&) {
  }
  if (node.is_sequence()) {
    for (const auto& item : node.items()) visit(item);
  }
  if (node.is_map()) {
    for (const auto& [key, value] : node.entries()) visit(value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    visit(napkin::internal::yaml::parse({reinterpret_cast<const char*>(data), size}, "fuzz").root());
  } catch (const napkin::Error&) {
  }
  return 0;
}
