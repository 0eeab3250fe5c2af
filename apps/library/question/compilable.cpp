#include "apps/library/question/compilable.hpp"

#include <algorithm>
#include <string>

#include "kernels/reference/bundled.hpp"

namespace napkin::internal {
namespace {

bool compilable(const Setup& setup) { return !setup.ideal && find_bundled(setup.mapping->name) != nullptr; }

}  // namespace

void check_compilable(const Question& question) {
  if (question.abstract())
    throw Error("--compile", "has no meaning with --memory", "leave it out: no kernel runs on the abstract machine");
  if (std::any_of(question.setups.begin(), question.setups.end(), compilable)) return;
  const Setup& first = question.setups.front();
  const std::string what =
      first.ideal ? "no bundled kernel computes this" : first.mapping->name + " has no kernel here";
  throw Error("--compile", what, "a question for one of " + joined(bundled_names()));
}

}  // namespace napkin::internal
