#pragma once
// A Step gets from one loop nest to the next by name, such as privatise: it gives a new nest and says why.
// (model/README.md, "Dependences")

#include <string>
#include <vector>

#include "model/dependence/graph.hpp"

namespace napkin::dependence {

/// One step. `nest` is what it leaves.
struct Step {
  std::string name;       ///< "privatise", "hoist out of d", "replace S10"
  std::string text;       ///< what was done and why it may be done, or what it changes
  bool preserves = true;  ///< every output keeps its value
  Nest nest;
};

/// Gives each temporary a cell of its own in every iteration of the loops in which all statements that use it stand,
/// wherever each read takes what the same iteration wrote before it (scalar expansion). Its WAR and WAW dependences and
/// the RAW ones that carry no value disappear; no output changes.
[[nodiscard]] Step privatise(const Nest& nest);

/// Takes statements out of a loop and puts them before the others of that loop, in their old order. They run once
/// instead of once an iteration: what they compute must not depend on the loop, apart from temporaries that they alone
/// write. Where one reads back what another of them wrote in an earlier iteration of the loop (l = l + ...), the step
/// changes the result: `preserves` is false. Throws Error that names the reference to the loop, or the dependence from
/// a statement that stays to one that goes.
[[nodiscard]] Step hoist(const Nest& nest, const std::vector<std::string>& statements, const std::string& loop);

/// All statements whose innermost loop this is and that may be hoisted out of it together, in order. `meant_once`: even
/// where that changes the result, because the author meant them to run once. Never all statements of the loop.
[[nodiscard]] std::vector<std::string> hoistable(const Nest& nest, const std::string& loop, bool meant_once);

/// Puts another assignment in place of a statement: "S10(i,j,d) o = ...". Throws Error for an unknown name or a bad
/// text.
[[nodiscard]] Step replace(const Nest& nest, const std::string& statement, const std::string& why);

/// privatise, then what can be hoisted, from the innermost loop outward; steps that would change nothing are left out.
/// A loop that the nest claims to be parallel is taken at its word: statements that do not depend on it are meant once.
[[nodiscard]] std::vector<Step> improve(const Nest& nest);

}  // namespace napkin::dependence
