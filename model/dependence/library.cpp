#include "model/dependence/library.hpp"

#include "model/base/library.hpp"
#include "model/dependence/text.hpp"

namespace napkin::internal::dependence {
namespace {

std::string_view nest_name(std::string_view path) { return stem_in(path, "model/dependence/nests/"); }

}  // namespace

std::vector<std::string> builtin_nests() { return embedded_names(nest_name); }

Nest load_nest(const std::string& name_or_path) {
  if (const auto found = find_named(name_or_path, nest_name)) return read_nest(found->root());
  throw Error(name_or_path, "no such nest", one_of(name_or_path, builtin_nests()) + ", or the path of a nest's .yaml");
}

}  // namespace napkin::internal::dependence
