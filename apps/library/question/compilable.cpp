#include "apps/library/question/compilable.hpp"

#include <algorithm>
#include <string>

#include "kernels/reference/bundled.hpp"

namespace napkin {
namespace {

bool compilable(const Layout& layout) { return !layout.ideal && find_bundled(layout.mapping->name) != nullptr; }

}  // namespace

void check_compilable(const Request& request) {
  if (request.abstract())
    throw Error("--compile", "has no meaning with --memory", "leave it out: no kernel runs on the abstract machine");
  if (std::any_of(request.layouts.begin(), request.layouts.end(), compilable)) return;
  const Layout& first = request.layouts.front();
  const std::string what =
      first.ideal ? "no bundled kernel computes this" : first.mapping->name + " has no kernel here";
  throw Error("--compile", what, "a question for one of " + joined(bundled_names()));
}

}  // namespace napkin
