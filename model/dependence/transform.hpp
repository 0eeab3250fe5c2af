#pragma once
// A Step transforms a loop nest, such as privatise: it returns a new nest and the reason. (model/README.md,
// "Dependences")

#include <string>
#include <vector>

#include "model/dependence/graph.hpp"

namespace napkin::internal::dependence {

/// A step of a transformation; `nest` is the result.
struct Step {
  std::string name;       ///< "privatise", "hoist out of d", "replace S10"
  std::string text;       ///< the action, and the reason why it is allowed, or what it changes
  bool preserves = true;  ///< true if every output keeps its value
  Nest nest;
};

/// Gives each temporary a cell for every iteration of the loops around all its statements, if each read takes a value
/// that the same iteration wrote (scalar expansion). Removes WAR and WAW dependences, and RAW ones that carry no value;
/// no output changes.
[[nodiscard]] Step privatise(const Nest& nest);

/// Moves statements out of a loop, before its others, in their old order. Only temporaries that they alone write may
/// depend on the loop. `preserves` is false if the result changes: a statement reads what another wrote an iteration
/// before (l = l + ...). Throws Error that names the reference or the dependence that forbids it.
[[nodiscard]] Step hoist(const Nest& nest, const std::vector<std::string>& statements, const std::string& loop);

/// Returns all statements directly in this loop that may be hoisted together, in order; never all of them. `meant_once`
/// allows it even if the result changes, since the author meant them to run once.
[[nodiscard]] std::vector<std::string> hoistable(const Nest& nest, const std::string& loop, bool meant_once);

/// Replaces a statement's assignment: "S10(i,j,d) o = ...". Throws Error for an unknown name or a bad text.
[[nodiscard]] Step replace(const Nest& nest, const std::string& statement, const std::string& why);

/// Applies privatise, then hoists from the innermost loop outward, leaving out steps without effect. Trusts a loop that
/// the nest claims to be parallel: its independent statements are meant to run once.
[[nodiscard]] std::vector<Step> improve(const Nest& nest);

}  // namespace napkin::internal::dependence
