#pragma once
// The tile to answer about: the user's knobs, and the rest as select chooses. Internal to apps/.

#include "apps/library/subject.hpp"
#include "solver/select/select.hpp"

namespace napkin {

/// The best layout of the subject and its ranking. `ranked` is empty where nothing fits in any of them.
struct Choice {
  const Layout* layout = nullptr;
  Selection selection;
  Objective objective = {};  ///< what it was ranked by, with what it has met
};

/// Selects in every layout and keeps the one whose best tile is the fastest, of those that one clock predicts.
[[nodiscard]] Choice choose(const Subject& subject, const Layouts& layouts, int top);

/// The one tile to answer about, legal or not.
struct Chosen {
  const Layout* layout = nullptr;
  Tile tile;
};
[[nodiscard]] Chosen choose_tile(const Subject& subject, const Layouts& layouts);

/// A tile with the user's knobs for a question that no legal tile answers: of the others, values that violate the
/// fewest constraints, found knob by knob from the preferred ones.
[[nodiscard]] Tile least_illegal(const Subject& subject, const Layout& layout);

/// On the abstract machine: the user's sizes; axes of size 1 by default have groups of 1, the stream chunks of 1, and
/// the others the exact optimum given the rest.
[[nodiscard]] Tile abstract_tile(const Subject& subject, const Layout& layout);

}  // namespace napkin
