#pragma once
// A Question is an Ask with every name in it resolved: "attention" has become a diagram, "h200-sxm" a machine, the
// empty kernel name a Setup for each kernel that may answer. Making it raises every error of the input.
//
//   text -> Ask -> Question, with its Setups -> Selection (solver) -> answer -> text
//
// The parts are shared with the Catalog that they come from: two questions about one kernel point to one mapping.
// Internal to apps/.

#include <memory>
#include <utility>
#include <vector>

#include "model/base/error.hpp"
#include "model/diagram/diagram.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/mapping.hpp"
#include "napkin/answers.hpp"
#include "napkin/ask.hpp"
#include "solver/space/setup.hpp"

namespace napkin {
class Session;
}

namespace napkin::internal {

class Catalog;
class TableMemory;

/// A question with its names resolved, and each kernel that may answer it.
struct Question {
  Ask ask;
  std::shared_ptr<const Diagram> diagram;
  std::shared_ptr<const Machine> machine;
  Problem problem;
  /// Setups of the kernel that the user names ("ideal": the ideal mapping). Without a name, of all kernels that can
  /// compute the question there, bundled ones first; of bundled ones alone if asked for, or if they have the user's
  /// knobs; else of the ideal mapping. Never empty.
  std::vector<Setup> setups;
  /// Kernels made for that architecture that have no legal tile, with the reason: "flash_attention_4 takes d up to
  /// ...".
  std::vector<std::string> left_out;

  std::shared_ptr<TableMemory> tables = nullptr;  ///< memory of the session's tables; nullptr: each setup has its own

  [[nodiscard]] bool abstract() const { return ask.memory.has_value(); }
};

/// Resolves the question. Throws Error: for an unknown name, a malformed file, a wrong size, type or mask, a kernel
/// that does not compute the algorithm, a knob that no setup has, options that exclude each other.
[[nodiscard]] Question make_question(const Ask& ask, Catalog& catalog);

/// Resolves the question with what a session keeps. Throws Error as make_question().
[[nodiscard]] Question question_of(const Session& session, const Ask& ask);

/// Resolves the question without its setups, for a machine that cannot have the kernel or the type.
[[nodiscard]] Question resolve_problem(const Ask& ask, Catalog& catalog);

/// Makes the common head of an answer; `tile` may be nullptr.
[[nodiscard]] Head head_of(const Question& question, const Setup& setup, const Tile* tile);
[[nodiscard]] TileValues values_of(const Mapping& mapping, const Tile& tile);

/// Calls `work`, and reports an overflow at its place in the question.
template <class Work>
auto at_shape(Work&& work) {
  try {
    return work();
  } catch (const Overflow& error) {
    throw Error("--shape", error.problem(), error.right());
  }
}

}  // namespace napkin::internal
