#pragma once
// A Request is a question with every name in it resolved: "attention" has become a diagram, "h200-sxm" a machine, the
// empty kernel name the mappings of all bundled kernels that fit. Making it raises every error of the input.
//
//   text -> Request -> candidates (solver) -> answer -> text
//
// The parts are shared with the Catalog that they come from: two requests for one kernel point to one mapping. Internal
// to apps/.

#include <memory>
#include <utility>
#include <vector>

#include "model/base/error.hpp"
#include "model/diagram/diagram.hpp"
#include "model/fusion/streamed.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/mapping.hpp"
#include "napkin/answers.hpp"
#include "napkin/ask.hpp"
#include "solver/space/question.hpp"

namespace napkin {

class Catalog;
class TableMemory;
class Workspace;

/// A way to lay the algorithm on the machine. Owns its parts.
struct Layout {
  std::shared_ptr<const Mapping> mapping;
  std::shared_ptr<const Streamed> streamed;  ///< the diagram as this mapping streams it
  std::shared_ptr<const Machine> machine;
  std::shared_ptr<Workspace> workspace;                ///< memory that questions of these three share
  bool ideal = false;                                  ///< no kernel: "kernel": null
  std::vector<std::pair<KnobId, std::int64_t>> fixed;  ///< the user's --tile
  Problem problem = {};  ///< problem of this kernel: the request's, with heads as queries if it packs them

  /// Returns true for a kernel of this repository, which can be launched; a peer's is only a mapping.
  [[nodiscard]] bool bundled() const { return !ideal && !mapping->source.empty(); }
  /// Returns the question to the solver. Points into this layout's parts.
  [[nodiscard]] Question question() const;
  /// Returns this layout on another machine, with a workspace of its own.
  [[nodiscard]] Layout on(std::shared_ptr<const Machine> other) const;
};

struct Request {
  Ask ask;
  std::shared_ptr<const Diagram> diagram;
  std::shared_ptr<const Machine> machine;
  Problem problem;
  /// The kernel that the user names ("ideal": the ideal mapping). By default all kernels that can compute it there,
  /// bundled ones first, or bundled ones alone if asked for or if they have the user's knobs; else the ideal mapping.
  /// Never empty.
  std::vector<Layout> layouts;
  /// Kernels of that very architecture without a legal tile, each with the reason: "flash_attention_4 takes d up to
  /// ...".
  std::vector<std::string> left_out;

  std::shared_ptr<TableMemory> tables = nullptr;  ///< memory of the session's tables; nullptr: each layout has its own

  [[nodiscard]] bool abstract() const { return ask.memory.has_value(); }
};

/// Resolves the question. Throws Error: for an unknown name, a malformed file, a wrong size, type or mask, a kernel
/// that does not compute the algorithm, a knob that no layout has, options that exclude each other.
[[nodiscard]] Request make_request(const Ask& ask, Catalog& catalog);

/// Resolves the question without its layouts, for a machine that cannot have the kernel or the type.
[[nodiscard]] Request resolve_problem(const Ask& ask, Catalog& catalog);

/// Makes the common head of an answer; `tile` may be nullptr.
[[nodiscard]] Head head_of(const Request& request, const Layout& layout, const Tile* tile);
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

}  // namespace napkin
