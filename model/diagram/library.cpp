#include "model/diagram/library.hpp"

#include "model/base/library.hpp"
#include "model/diagram/text.hpp"

namespace napkin::internal {
namespace {

std::string_view diagram_name(std::string_view path) { return stem_in(path, "model/diagram/algorithms/"); }

}  // namespace

std::vector<std::string> builtin_diagrams() { return embedded_names(diagram_name); }

Diagram load_diagram(const std::string& name_or_path) {
  if (const auto found = find_named(name_or_path, diagram_name)) return read_diagram(found->root());
  throw Error(name_or_path, "no such algorithm",
              one_of(name_or_path, builtin_diagrams()) + ", or the path of a diagram's .yaml");
}

}  // namespace napkin::internal
