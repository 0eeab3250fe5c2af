#pragma once
// The values of the knobs that only switch between alternatives (an operand's home, a shared copy), all combinations of
// them; which of these the objective cannot tell apart, and which can be no slower than others.

#include <vector>

#include "solver/select/legality.hpp"

namespace napkin {

/// Which knobs the objective depends on, by what they do. Read off the mapping's structure; nothing here names a knob.
struct Roles {
  KnobSet sizes = 0;     ///< they size axes, chunks or agents
  KnobSet switches = 0;  ///< they choose between alternatives
};
[[nodiscard]] Roles roles_of(const Question& question, const Objective& objective, const Space& space);

class Alternatives {
 public:
  /// Of the combinations that the rules of these knobs alone allow.
  Alternatives(const Objective& objective, const Space& space, const Rules& rules, Legality& legality, Scratch& scratch,
               KnobSet switches);
  /// Whether other rules allow the same combinations.
  [[nodiscard]] bool serves(const Rules& rules) const { return allowed_by(rules) == allowed_; }

  struct Class {
    std::size_t first = 0;                ///< its combination of least rank: stands for all of them
    bool least = true;                    ///< no other class is known to be never slower than it
    std::vector<std::size_t> under = {};  ///< some of those that are, itself not among them
    int depth = 0;                        ///< of a chain of such classes down to a least one
  };
  [[nodiscard]] const std::vector<Class>& classes() const { return classes_; }
  [[nodiscard]] const std::vector<KnobId>& knobs() const { return knobs_; }
  [[nodiscard]] std::size_t size() const { return combinations_.size(); }
  [[nodiscard]] bool allowed(std::size_t combination) const { return allowed_[combination]; }
  [[nodiscard]] std::size_t class_of(const Point& point) const;
  [[nodiscard]] std::size_t combination_of(const Point& point) const;
  /// Whether a class has a combination that agrees with the point in knobs() up to and including that one.
  [[nodiscard]] bool may_be_in(std::size_t which, const Point& point, KnobId last) const;
  void set(Point& point, std::size_t combination) const;

 private:
  [[nodiscard]] std::vector<bool> allowed_by(const Rules& rules) const;
  void classify(Scratch& scratch, const Objective& objective);
  void compare(const std::vector<const PlacedDiagram*>& samples);
  [[nodiscard]] bool neighbours(const Class& a, const Class& b) const;

  const Space& space_;
  const Legality& legality_;
  std::vector<KnobId> knobs_;
  std::vector<std::vector<std::uint16_t>> combinations_;  ///< positions of knobs_' values, by rank
  std::vector<bool> allowed_;                             ///< by combination
  std::vector<Class> classes_;
  std::vector<std::size_t> class_;  ///< by combination; of those that are not allowed: none
};

/// Whether a's work is a part of b's or clearly less, operand by operand, crossing by crossing and unit by unit: then,
/// of any sizes, a is never slower than b under a monotone objective. False where it cannot be seen.
[[nodiscard]] bool never_more_work(const PlacedDiagram& a, const PlacedDiagram& b);

}  // namespace napkin
