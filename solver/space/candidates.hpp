#pragma once
// Candidates are the tiles of one kind of question, each with the results of the rules: of 276,480 tiles of
// attention_sm90 at d = 128 the knobs' rules leave 9,216, of which 4,869 fit an SM.
//
// A kind is everything of a question but its lengths: the sizes of the axes that blocks and chunks divide, and how wide
// the window of a mask is. Rules that read lengths are evaluated for every question.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"
#include "solver/space/length_rules.hpp"

namespace napkin::internal {

/// Numbers of tiles by the constraint that rejects them.
struct Rejections {
  Count legal;
  std::vector<std::pair<std::string, Count>> rejected;  ///< each tile under the first constraint that it violates
};

/// Returns the constraint that rejected the last tiles, whose limit has to rise first; "" if none did.
[[nodiscard]] std::string nearest_constraint(const Rejections& rejections);

/// Returns the knobs that size an axis or count an agent's instances. Tiles with equal values of them are of one size.
[[nodiscard]] KnobSet size_knobs(const Setup& setup);

/// Counts rejections by visiting every tile, for questions that the kind's Candidates cannot count.
[[nodiscard]] Rejections count_each(const Setup& setup, const Placer& placer);

class Allowed;

class Candidates {
 public:
  /// Takes a legal tile's rank and its placement, while the candidates after it are still to be found.
  using Take = std::function<void(const Candidates& so_far, std::int64_t rank, const PlacedDiagram& placed)>;
  /// Finds the candidates of every question of `like`'s kind, and gives the legal ones to `take`, in ascending order.
  /// Throws Error for a space of more than 2^26 tiles.
  Candidates(const Setup& like, const Placer& placer, const Take& take);

  [[nodiscard]] const Space& space() const { return space_; }
  /// Returns the ranks of the tiles that no rule of the kind rejects, ascending.
  [[nodiscard]] const std::vector<std::uint32_t>& legal() const { return legal_; }

  /// A tile that a rule of the plan rejects.
  struct Misfit {
    std::uint32_t rank = 0;
    std::uint16_t worst = 0;  ///< index into Rules::plan of the rule that is exceeded by the largest part
    std::uint16_t violated = 0;
    Excess excess;  ///< numbers of the worst violation
  };
  [[nodiscard]] const std::vector<Misfit>& misfits() const { return misfits_; }

  /// Returns the knobs whose choice depends on lengths: those read by rules of lengths, cut by lengths, or that round a
  /// grid up.
  [[nodiscard]] KnobSet length_knobs() const { return length_knobs_; }

  /// Returns the cuts of domains that depend on lengths.
  [[nodiscard]] const std::vector<AxisCut>& cuts() const { return cuts_; }
  [[nodiscard]] const Rules& rules() const { return rules_; }  ///< returns the rules of the question it was made for
  [[nodiscard]] const LengthRules& length_rules() const { return length_rules_; }

  /// Counts rejections for a question whose fixed knobs are all length knobs (Allowed::can_count).
  [[nodiscard]] Rejections count(const Allowed& allowed) const;
  [[nodiscard]] std::size_t bytes() const {
    return legal_.capacity() * sizeof legal_[0] + misfits_.capacity() * sizeof misfits_[0] +
           cells_.capacity() * sizeof cells_[0] + counts_.capacity() * sizeof counts_[0];
  }

 private:
  /// Tiles with one verdict: the index of a rule (tile rules, then plan rules), or their number for legal tiles.
  struct Tiles {
    std::uint32_t verdict = 0, tiles = 0;
  };
  /// The tiles of given length knobs, by verdict.
  struct Cell {
    std::uint32_t rank = 0;             ///< rank of the tile whose other knobs have their first values
    std::uint32_t first = 0, last = 0;  ///< range in counts_
  };
  void judge(const Placer& placer, const Take& take);
  void keep(const std::vector<std::uint32_t>& counts, std::size_t verdicts);

  Space space_;
  std::vector<AxisCut> cuts_;
  Rules rules_;
  LengthRules length_rules_;
  KnobSet length_knobs_ = 0;
  std::vector<std::uint32_t> legal_;
  std::vector<Misfit> misfits_;
  std::vector<Cell> cells_;
  std::vector<Tiles> counts_;
};

/// The candidates that a question's lengths and fixed knobs allow.
class Allowed {
 public:
  Allowed(const Setup& setup, const Candidates& candidates);

  /// Returns true if the tile's length knobs are in the question's domains and its rules of lengths hold.
  [[nodiscard]] bool lengths_hold(const Tile& tile) const;
  /// Returns true if the tile has the values of the fixed knobs.
  [[nodiscard]] bool is_as_fixed(std::int64_t rank) const;
  [[nodiscard]] bool operator()(std::int64_t rank) const;
  /// Returns the number of tiles in the question's space, legal or not.
  [[nodiscard]] Count candidates() const { return candidates_; }
  /// Returns the values of a knob that the question leaves open.
  [[nodiscard]] const std::vector<std::int64_t>& domain(std::size_t knob) const {
    return own_[knob].empty() ? all_.space().domains[knob] : own_[knob];
  }
  /// Returns true if count() applies: every fixed knob is a length knob.
  [[nodiscard]] bool can_count() const { return fixed_.empty(); }
  /// Returns true if the tile's values of all knobs, or of some, are in the question's domains.
  [[nodiscard]] bool in_domains(const Tile& tile) const { return in_domains(tile, cut_); }
  [[nodiscard]] bool in_domains(const Tile& tile, KnobSet knobs) const;
  /// Returns the first rule of lengths that the tile violates, as an index into Rules::tile; their number if it
  /// violates none.
  [[nodiscard]] std::size_t first_broken(const Tile& tile) const;

 private:
  const Candidates& all_;
  Count candidates_;
  std::vector<std::vector<std::int64_t>> own_;  ///< domains that are a part of the kind's, by KnobId; empty: the kind's
  std::vector<LengthRules::Placed> length_rules_;
  std::vector<std::pair<std::size_t, std::int64_t>> fixed_;  ///< knobs that lengths do not concern, by position
  KnobSet cut_ = 0;                                          ///< knobs whose own domain is a part of the kind's
};

}  // namespace napkin::internal
