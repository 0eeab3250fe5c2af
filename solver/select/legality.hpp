#pragma once
// Which tiles of a space are legal: a constraint is decided once for all tiles that agree on the knobs that it depends
// on.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/resource/plan.hpp"
#include "solver/select/select.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"

namespace napkin {

/// Values of all knobs by their positions in the domains, and as a tile.
struct Point {
  std::array<std::uint16_t, 64> index{};
  Tile tile;
};

/// Placements of one placer, kept apart by what its guards tell apart, so that each is made once and then only resized.
/// Finds their footprints.
class Scratch {
 public:
  Scratch(const Mapping& mapping, const Placer& placer, const Space& space);
  struct Slot {
    PlacedDiagram placed;
    std::optional<Footprint> footprint;
    const void* variant = nullptr;  ///< what the footprint was made of
  };
  /// The point's tile placed. What a caller changes in the slot it must put back.
  [[nodiscard]] Slot& place(const Point& point);
  /// The point's alternatives placed without its sizes (Placer::place_alternatives).
  [[nodiscard]] const PlacedDiagram& alternatives(const Point& point);
  /// Points of one case are told apart by no guard, and their clusters are as large: of equal sizes they do the same
  /// work.
  [[nodiscard]] std::uint64_t case_of(const Point& point) const;
  /// Points of one structure are told apart by guards of work alone.
  [[nodiscard]] std::uint64_t structure_of(const Point& point) const;
  /// Whether b does all the work that a does, and more: of points of one structure.
  [[nodiscard]] bool adds_work(const Point& a, const Point& b) const;
  /// The footprint of what the slot holds now.
  [[nodiscard]] const Footprint& footprint(Slot& slot) const;

 private:
  struct Told {
    KnobId knob;
    std::size_t stride;                ///< in slots_; 0: too many to keep apart
    std::vector<std::uint16_t> first;  ///< by position in the domain: the first value that is not told from it
    bool structural;                   ///< not by guards of work alone
  };
  [[nodiscard]] Slot& slot_of(const Point& point);

  const Mapping& mapping_;
  const Placer& placer_;
  std::vector<Told> guards_;  ///< knobs that guards name
  std::vector<std::unique_ptr<Slot>> slots_;
};

/// The values of one knob (the lane) that are left to all else fixed: bit i is its i-th value.
using Lanes = std::uint64_t;

/// Decides the rules of a question over a space.
class Legality {
 public:
  Legality(const Question& question, const Space& space, const Rules& rules, Scratch& scratch);

  /// Nothing is decided: the question has other sizes.
  void forget();

  /// Counts the space without visiting each tile.
  [[nodiscard]] Tally count();

  /// Whether a plan rule holds, by its index: decided once, also for what follows from it along the lane.
  [[nodiscard]] bool plan_rule_holds(std::size_t rule, const Point& point);

  [[nodiscard]] KnobId lane() const { return lane_; }
  void set(Point& point, KnobId knob, std::size_t index) const {
    point.index[static_cast<std::size_t>(knob)] = static_cast<std::uint16_t>(index);
    point.tile.values[static_cast<std::size_t>(knob)] = space_.domains[static_cast<std::size_t>(knob)][index];
  }
  /// Every knob at its first value.
  [[nodiscard]] Point origin() const;

 private:
  struct State {
    std::int64_t rank = 0;    ///< of the assigned knobs that still matter
    std::int64_t weight = 1;  ///< tiles' worth of merged states
    Lanes lanes = 0;
  };
  struct Memo {
    std::vector<std::pair<KnobId, std::size_t>> strides;  ///< the rule's knobs but the lane
    std::vector<Lanes> lanes, known;                      ///< that hold; that are decided
    [[nodiscard]] std::size_t index(const Point& point) const;
  };

  void choose_lane();
  void prepare_memos();
  void load(const State& state, KnobSet assigned, Point& point) const;
  void assign(std::vector<State>& states, KnobId knob) const;
  void forget(std::vector<State>& states, KnobSet dead) const;
  [[nodiscard]] Lanes tile_rule_lanes(const TileRule& rule, Point& point, Lanes lanes) const;
  [[nodiscard]] Lanes lane_of(const Point& point) const;
  void decide(std::size_t rule, const Point& point, std::size_t index);
  [[nodiscard]] Lanes plan_rule_lanes(std::size_t rule, Point& point);
  void find_lanes(std::size_t rule, Point& point, std::size_t index);
  [[nodiscard]] Lanes last_lane_that_holds(const PlanRule& rule, Scratch::Slot& slot);
  [[nodiscard]] bool plan_rule_holds(const PlanRule& rule, Scratch::Slot& slot);
  void find_growing(Scratch::Slot& slot, std::int64_t lane);
  void resize(std::int64_t lane) const;

  const Question& question_;
  const Space& space_;
  const Rules& rules_;
  Scratch& scratch_;
  KnobId lane_ = -1;
  Lanes all_lanes_ = 1;
  bool scales_ = false;                 ///< every variable is constant or proportional in the lane's value
  std::vector<std::size_t> ascending_;  ///< the lane's positions by value
  std::vector<Lanes> up_to_;            ///< by position: the lanes of at most its value
  std::vector<bool> has_lane_;          ///< by index of Mapping::variables: proportional
  std::vector<std::pair<Variable*, Count>> growing_;  ///< of the slot at hand, with their elements for a lane of 1
  std::vector<Memo> memos_;                           ///< by plan rule; those of equal knobs are filled together
  std::size_t guess_ = 0;                             ///< how many lanes held the last time
  Plan numbers_;                                      ///< what the plan rules read
};

/// Rules' names with their counts, zeros left out, equal names added up.
[[nodiscard]] std::vector<std::pair<std::string, Count>> named_counts(const Rules& rules,
                                                                      const std::vector<Count>& counts);

}  // namespace napkin
