#pragma once
// A question with everything that it names loaded, and the kernels that can answer it. Internal to apps/.

#include <memory>
#include <vector>

#include "apps/library/napkin.hpp"
#include "model/diagram/diagram.hpp"
#include "model/fusion/streamed.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/mapping.hpp"
#include "solver/space/question.hpp"

namespace napkin {

/// What is asked, without a kernel.
struct Subject {
  Ask ask;
  Diagram diagram;
  Machine machine;
  Problem problem;

  [[nodiscard]] bool abstract() const { return ask.memory.has_value(); }
};

/// One way to lay the subject on its machine. Stays where it is: questions point into it.
struct Layout {
  Mapping mapping;
  Streamed streamed;
  bool ideal = false;                                  ///< no kernel: "kernel": null
  std::vector<std::pair<KnobId, std::int64_t>> fixed;  ///< the user's --tile
};
using Layouts = std::vector<std::unique_ptr<Layout>>;

/// Loads the algorithm and the machine, and checks shape, type and mask. Throws Error.
[[nodiscard]] Subject load_subject(const Ask& ask);
/// The same subject at other sizes, with the lengths that were asked for. Throws Error.
void turn_to(Subject& subject, const NamedSizes& shape);

/// The kernel that the user names; else all bundled ones that fit; else the ideal mapping. Throws Error where the named
/// one does not fit, and where --tile names a knob that no layout has.
[[nodiscard]] Layouts layouts_of(const Subject& subject);

/// The question to the solver. Points into both.
[[nodiscard]] Question question_of(const Subject& subject, const Layout& layout);

/// The common head of an answer.
[[nodiscard]] Head head_of(const Subject& subject, const Layout& layout, const Tile* tile);
[[nodiscard]] TileValues values_of(const Mapping& mapping, const Tile& tile);

}  // namespace napkin
