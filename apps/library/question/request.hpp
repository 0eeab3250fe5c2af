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
class Workspace;

/// One way to lay the algorithm on the machine. Owns what it points to.
struct Layout {
  std::shared_ptr<const Mapping> mapping;
  std::shared_ptr<const Streamed> streamed;  ///< the diagram as this mapping streams it
  std::shared_ptr<const Machine> machine;
  std::shared_ptr<Workspace> workspace;                ///< of these three: what their questions have in common
  bool ideal = false;                                  ///< no kernel: "kernel": null
  std::vector<std::pair<KnobId, std::int64_t>> fixed;  ///< the user's --tile
  Problem problem = {};  ///< what this kernel is asked: the request's, with heads as queries where it packs them

  /// A kernel of this repository, which can be launched; else a peer's, of which there is the mapping alone.
  [[nodiscard]] bool bundled() const { return !ideal && !mapping->source.empty(); }
  /// The question to the solver. Points into this layout's parts.
  [[nodiscard]] Question question() const;
  /// Returns this layout on another machine, with a workspace of its own.
  [[nodiscard]] Layout on(std::shared_ptr<const Machine> other) const;
};

struct Request {
  Ask ask;
  std::shared_ptr<const Diagram> diagram;
  std::shared_ptr<const Machine> machine;
  Problem problem;
  /// The kernel that the user names ("ideal": the ideal mapping); else all that can compute it there, the bundled ones
  /// first, or those alone where they are asked for or have the user's knobs; else the ideal mapping. Never empty.
  std::vector<Layout> layouts;
  /// Kernels made for that very architecture that no tile of fits, each with why: "flash_attention_4 takes d up to
  /// ...".
  std::vector<std::string> left_out;

  [[nodiscard]] bool abstract() const { return ask.memory.has_value(); }
};

/// Resolves the question. Throws Error: for an unknown name, a malformed file, a wrong size, type or mask, a kernel
/// that does not compute the algorithm, a knob that no layout has, options that exclude each other.
[[nodiscard]] Request make_request(const Ask& ask, Catalog& catalog);

/// The first half: without layouts. What a machine is asked for that cannot have the kernel or the type.
[[nodiscard]] Request resolve_problem(const Ask& ask, Catalog& catalog);

/// Every array at the lowest level that holds it; with the user's knobs.
[[nodiscard]] Layout ideal_layout(const Request& request);

/// All layouts of the question, bundled kernels' and peers', those made for the machine's architecture first. A kernel
/// that lacks a knob of the user's is left out; where only that keeps all of them out, the first one's Error is thrown.
[[nodiscard]] std::vector<Layout> kernel_layouts(const Request& request, Catalog& catalog, bool bundled);

/// Both, the bundled kernels' first. Where the user's knobs keep all of them out, the first one's Error is thrown.
[[nodiscard]] std::vector<Layout> all_layouts(const Request& request, Catalog& catalog);

/// Whether the kernel multiplies by the machine's fastest instruction of each type, under some of its knobs: mma.sync
/// is that on an A100, and not on an H100.
[[nodiscard]] bool by_fastest_instruction(const Request& request, const Layout& layout);

/// The common head of an answer; no tile: nullptr.
[[nodiscard]] Head head_of(const Request& request, const Layout& layout, const Tile* tile);
[[nodiscard]] TileValues values_of(const Mapping& mapping, const Tile& tile);

/// Calls `work` and gives an overflow its place in the question.
template <class Work>
auto at_shape(Work&& work) {
  try {
    return work();
  } catch (const Overflow& error) {
    throw Error("--shape", error.problem(), error.right());
  }
}

}  // namespace napkin
