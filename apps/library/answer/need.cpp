// The inverse of a prediction: the least of a number with which the kernel's fastest tile reaches a target. Tiles are
// chosen again for a changed machine, since more memory helps only larger tiles.

#include "napkin/need.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "apps/library/answer/answering.hpp"
#include "apps/library/question/on_all_cores.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "model/clock/run/period.hpp"
#include "model/machine/number.hpp"
#include "model/machine/numbers.hpp"
#include "napkin/napkin.hpp"
#include "solver/select/selector.hpp"

namespace napkin::internal {
namespace {

constexpr double farthest = 16;      // largest factor by which a number is raised or lowered
constexpr double beyond = 1.01;      // factor past the answer at which tiles are chosen again
constexpr double resolution = 1e-6;  // relative precision of an answer
constexpr double same_value = 1e-9;  // relative change of the goal that counts as none
constexpr int most_choices = 12;     // most times that tiles are chosen again for one answer
constexpr int steps_a_side = 16;     // values that are tried between today's and the farthest
constexpr int first_tiles = 8;       // best tiles of today's ranking with which a search begins

/// The numbers that change together because they are one quantity: a level's bytes; the highest clock, and the SMs'
/// share of it.
struct Varied {
  std::string name, unit;
  double value = 0;
  bool whole = false;
  std::vector<std::size_t> places;  ///< indices into numbers_of()
};

std::string level_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

std::vector<Varied> varied_numbers(const Machine& machine) {
  using profile::Dimension;
  std::vector<Varied> out;
  std::vector<std::string> stems;  // beginnings of the names of numbers that change together
  const auto numbers = numbers_of(machine);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const MachineNumber& number = numbers[i];
    const Dimension dimension = profile::dimension_of(number.unit);
    std::string stem = number.name;
    if (dimension == Dimension::frequency) {
      if (number.name.starts_with("clocks.") && std::isfinite(number.most)) continue;  // capped in scaled()
      stem = "clocks";
    }
    if (dimension == Dimension::bytes && number.name.starts_with("levels.")) stem = level_of(number.name);
    const auto known = std::find(stems.begin(), stems.end(), stem);
    if (known != stems.end()) {
      out[static_cast<std::size_t>(known - stems.begin())].places.push_back(i);
      continue;
    }
    stems.push_back(std::move(stem));
    out.push_back({number.name, number.unit, number.value, number.whole, {i}});
  }
  return out;
}

Machine scaled(Machine machine, const Varied& number, double factor) {
  for (const std::size_t place : number.places) machine = with_number_times(std::move(machine), place, factor);
  for (auto* clock : {&machine.clocks.tensor, &machine.clocks.base}) {
    if (*clock && machine.clocks.maximum) (*clock)->value = std::min((*clock)->value, machine.clocks.maximum->value);
  }
  return machine;
}

/// Returns true if the card's idle power is below its limit.
bool can_run(const Machine& machine) {
  return !machine.power.limit || !machine.power.idle || machine.power.idle->value < machine.power.limit->value;
}

/// A target, and the number of a prediction that is held to it.
struct Goal {
  std::string name;
  double target = 0;

  [[nodiscard]] double of(const Prediction& prediction) const {
    if (name == "time") return prediction.time.value;
    if (name == "flops") return 1e12 * prediction.tflops;
    return prediction.power->value * prediction.time.value;
  }
  [[nodiscard]] bool better(double a, double b) const { return name == "flops" ? a > b : a < b; }
  [[nodiscard]] bool met(double value) const { return name == "flops" ? value >= target : value <= target; }
};

Goal goal_of(const NeedAsk& ask) {
  const int given = (ask.time ? 1 : 0) + (ask.flops ? 1 : 0) + (ask.joules ? 1 : 0);
  if (given != 1)
    throw Error("--time", given == 0 ? "is missing" : "stands beside another target",
                "one of --time, --tflops and --joules");
  if (ask.time) return {"time", *ask.time};
  return ask.flops ? Goal{"flops", *ask.flops} : Goal{"joules", *ask.joules};
}

/// Today's fastest kernel, timed on other machines. Keeps the tiles that were fastest on one of them.
class Kernel {
 public:
  Kernel(const Setup& setup, const Goal& goal) : setup_(setup), goal_(goal) {}

  /// Returns the fastest of the tiles known so far; nothing where none is legal there.
  [[nodiscard]] std::optional<Prediction> on(const Machine& machine) {
    std::optional<Prediction> best;
    if (!can_run(machine)) return best;
    const Setup other = with(machine);
    const Placer placer = placer_of(other);
    for (const Tile& tile : tiles_) {
      const Placement placement = place(placer, tile);
      if (!setup_.ideal && !placement.violations.empty()) continue;
      const auto one = setup_.ideal ? least_time(placement.placed)
                                    : std::optional(predict(placement.placed, {.periods = &periods_}));
      if (one && (!best || one->time < best->time)) best = *one;
    }
    return best;
  }
  /// Adds the tiles, out of all, that rank first on that machine.
  void choose_on(const Machine& machine, int top = 1) {
    if (setup_.ideal) return;
    const Setup other = with(machine);
    Tables tables;
    Selection selection = Selector(other, tables).rank(top, false);
    for (Ranked& one : selection.ranked) add(std::move(one.tile));
  }
  void add(Tile tile) {
    const auto same = [&](const Tile& other) { return other.values == tile.values; };
    if (std::none_of(tiles_.begin(), tiles_.end(), same)) tiles_.push_back(std::move(tile));
  }
  [[nodiscard]] const Goal& goal() const { return goal_; }

 private:
  [[nodiscard]] Setup with(const Machine& machine) const {
    return on_machine(setup_, std::make_shared<const Machine>(machine));
  }
  const Setup& setup_;
  const Goal& goal_;
  std::vector<Tile> tiles_;
  Periods periods_;
};

/// The search along a number, from a machine.
class Along {
 public:
  Along(Kernel& kernel, const Machine& machine, const Varied& number)
      : kernel_(kernel), machine_(machine), number_(number) {}

  /// Searches along the number; nothing if the number has no effect.
  std::optional<NeedRow> row() {
    NeedRow out;
    out.name = number_.name;
    out.unit = number_.unit;
    out.value = number_.value;
    const double low = grid(1 / farthest), high = grid(farthest);
    if (!has_effect(low, high)) return std::nullopt;
    const bool here = met(1);
    kernel_.choose_on(scaled(machine_, number_, rises(low, high) != here ? high : low));
    const bool below = met(low), above = met(high);
    if (below == above) return level_row(std::move(out), low, below, here);
    out.upward = above;
    out.reached = true;
    double answer = above ? between(here ? low : 1, here ? 1 : high) : between(here ? high : 1, here ? 1 : low);
    for (int i = 0; i < most_choices; ++i) {
      const double past = next_beyond(answer, out.upward);
      kernel_.choose_on(scaled(machine_, number_, past));
      if (!met(past)) break;
      answer = between(out.upward ? low : high, past);
    }
    say(answer, out);
    if (!holds_from(answer, out.upward ? high : low))
      out.why = "not monotone: some values on the side that reaches it do not";
    return out;
  }

 private:
  /// Returns true if more of the number is better, by the tiles known so far, or if they show no difference.
  [[nodiscard]] bool rises(double low, double high) const {
    const auto least = at(low), most = at(high);
    return !least || (most && !kernel_.goal().better(kernel_.goal().of(*least), kernel_.goal().of(*most)));
  }
  /// Rounds a factor to that of the nearest whole value, if the number is whole.
  [[nodiscard]] double grid(double factor) const {
    return number_.whole ? std::max(std::round(number_.value * factor), 1.0) / number_.value : factor;
  }
  [[nodiscard]] std::optional<Prediction> at(double factor) const {
    return kernel_.on(scaled(machine_, number_, factor));
  }
  [[nodiscard]] bool met(double factor) const {
    const auto found = at(factor);
    return found && kernel_.goal().met(kernel_.goal().of(*found));
  }
  /// Returns true if the number matters: bytes and counts may admit other tiles, all others are judged by today's
  /// tiles.
  [[nodiscard]] bool has_effect(double low, double high) const {
    if (number_.whole || profile::dimension_of(number_.unit) == profile::Dimension::bytes) return true;
    const auto today = at(1);
    for (const double factor : {low, high}) {
      const auto there = at(factor);
      if (!today || !there || std::abs(there->time.value / today->time.value - 1) > same_value) return true;
      if (kernel_.goal().name == "joules" && there->power != today->power) return true;
    }
    return false;
  }
  /// Returns the next factor outwards: a hundredth farther, for a count one farther.
  [[nodiscard]] double next_beyond(double factor, bool upward) const {
    if (number_.whole) return factor + (upward ? -1 : 1) / number_.value;
    return upward ? factor / beyond : factor * beyond;
  }
  /// Finds, by bisection, the factor nearest to `out` that reaches the target. `in` reaches it, `out` does not.
  [[nodiscard]] double between(double out, double in) const {
    const double least = number_.whole ? 1.5 / number_.value : 0;
    while (number_.whole ? std::abs(in - out) > least : std::abs(std::log(in / out)) > resolution) {
      const double middle = grid(number_.whole ? (in + out) / 2 : std::sqrt(in * out));
      (met(middle) ? in : out) = middle;
    }
    return in;
  }
  [[nodiscard]] bool holds_from(double from, double to) const {
    constexpr int parts = 6;
    for (int i = 1; i <= parts; ++i) {
      if (!met(grid(from * std::pow(to / from, static_cast<double>(i) / parts)))) return false;
    }
    return true;
  }
  void say(double factor, NeedRow& out) const {
    const auto found = at(factor);
    out.needed = number_.value * factor;
    if (number_.whole) out.needed = std::round(out.needed);
    if (!found) return;
    out.got = kernel_.goal().of(*found);
    out.bound = found->bound;
  }
  /// Fills the row if both ends reach the target or neither does: a value between them may behave otherwise.
  std::optional<NeedRow> level_row(NeedRow out, double low, bool both, bool here) {
    const Goal& goal = kernel_.goal();
    const auto today = at(1);
    double best = 1, best_value = today ? goal.of(*today) : -1;
    bool changes = false;
    for (const double side : {1.0, -1.0}) {
      double before = 1;
      for (int i = 1; i <= steps_a_side; ++i) {
        const double factor = grid(std::pow(farthest, side * i / steps_a_side));
        const auto found = at(factor);
        if (!found || !today) break;
        if (!both && !here && goal.met(goal.of(*found))) {
          out.reached = true;
          out.upward = side > 0;
          say(between(before, factor), out);
          out.why = "not monotone: values farther on that side do not reach it";
          return out;
        }
        changes = changes || std::abs(goal.of(*found) / goal.of(*today) - 1) > same_value;
        if (goal.better(goal.of(*found), best_value)) best = factor, best_value = goal.of(*found);
        before = factor;
      }
    }
    if (!changes) return std::nullopt;
    out.reached = both && here;
    out.upward = best >= 1;
    say(out.reached ? (out.upward ? low : 1 / low) : best, out);
    out.why = fmt::format("no value tried from 1/{0:.0f} to {0:.0f} times reaches it", farthest);
    if (both)
      out.why = here ? "the farthest value that was tried still reaches it" : "not monotone: both ends reach it";
    if (!both && here) out.why = "not monotone: today's value reaches it, and neither end does";
    return out;
  }

  Kernel& kernel_;
  const Machine& machine_;
  const Varied& number_;
};

std::vector<Varied> chosen_numbers(const Machine& machine, const NeedAsk& ask) {
  const std::vector<Varied> all = varied_numbers(machine);
  std::vector<Varied> out;
  if (ask.of.empty()) {
    for (const Varied& one : all) {
      for (const char* section : {"levels.", "pipes.", "clocks.", "power."}) {
        if (one.name.starts_with(section)) out.push_back(one);
      }
    }
    return out;
  }
  std::vector<std::string> names;
  for (const Varied& one : all) names.push_back(one.name);
  for (const std::string& name : ask.of) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw Error("--of", in_quotes(name) + " is no number of " + machine.name, one_of(name, names));
    out.push_back(all[static_cast<std::size_t>(found - names.begin())]);
  }
  return out;
}

const Varied& number_of(const std::vector<Varied>& all, const std::string& name, const Machine& machine) {
  std::vector<std::string> names;
  for (const Varied& one : all) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  throw Error("--line", in_quotes(name) + " is no number of " + machine.name, one_of(name, names));
}

/// Tabulates the need for half to twice the second number, in steps of the root of two.
NeedLine line_of(const Setup& setup, const Goal& goal, const NeedAsk& ask, const std::vector<Tile>& tiles) {
  const Machine& machine = *setup.machine;
  const auto all = varied_numbers(machine);
  const Varied &name = number_of(all, ask.line->first, machine), &along = number_of(all, ask.line->second, machine);
  if (name.name == along.name) throw Error("--line", "names " + name.name + " twice", "two numbers");
  NeedLine out{name.name, name.unit, along.name, along.unit, std::vector<NeedLine::Point>(5)};
  on_all_cores(
      out.points.size(),
      [&](std::size_t i) {
        const double factor = std::pow(2.0, (static_cast<double>(i) - 2) / 2);
        const Machine other = scaled(machine, along, factor);
        const auto numbers = numbers_of(other);
        Kernel kernel(setup, goal);
        for (const Tile& tile : tiles) kernel.add(tile);
        kernel.choose_on(other);
        NeedLine::Point& point = out.points[i];
        point.along = numbers[along.places.front()].value;
        if (auto row = Along(kernel, other, name).row()) {
          point.row = *std::move(row);
        } else {
          point.row = {name.name, name.unit, name.value, false, true, 0, 0, "", name.name + " changes nothing there"};
        }
      },
      1);
  return out;
}

/// Sorts rows by the size of the change, least first.
void sort_rows(std::vector<NeedRow>& rows) {
  const auto change = [](const NeedRow& row) { return row.reached ? std::abs(std::log(row.needed / row.value)) : 1e9; };
  std::stable_sort(rows.begin(), rows.end(), [&](const NeedRow& a, const NeedRow& b) { return change(a) < change(b); });
}

std::vector<Tile> todays_tiles(const Setup& setup, const Tile& first) {
  std::vector<Tile> out{first};
  if (setup.ideal) return out;
  Ranking ranking(setup);
  ranking.rank(first_tiles);
  for (const Ranked& one : ranking.selection().ranked) out.push_back(one.tile);
  return out;
}

}  // namespace

NeedAnswer need_answer(const Question& question, const NeedAsk& ask) {
  return at_shape([&] {
    const Goal goal = goal_of(ask);
    const SelectedTile selected = select_tile(question);
    const Setup& setup = *selected.setup;
    if (!selected.fits && !setup.ideal) throw Error("--gpu", "no tile of " + setup.mapping->name + " fits there", "");
    const std::vector<Varied> numbers = chosen_numbers(*question.machine, ask);
    const std::vector<Tile> tiles = todays_tiles(setup, selected.tile);
    Kernel today(setup, goal);
    for (const Tile& tile : tiles) today.add(tile);
    const auto prediction = today.on(*question.machine);
    if (!prediction)
      throw Error("--gpu", question.machine->name + " lacks the rates of what it computes", "another profile");
    if (goal.name == "joules" && !prediction->power)
      throw Error("--joules", question.machine->name + " has no energies", "--time or --tflops");
    NeedAnswer out;
    out.head = head_of(question, setup, &selected.tile);
    out.predicted = answer_of(*prediction);
    out.goal = goal.name;
    out.target = goal.target;
    out.today = goal.of(*prediction);
    out.met = goal.met(out.today);
    std::vector<std::optional<NeedRow>> rows(numbers.size());
    on_all_cores(
        numbers.size(),
        [&](std::size_t i) {
          Kernel kernel(setup, goal);
          for (const Tile& tile : tiles) kernel.add(tile);
          rows[i] = Along(kernel, *question.machine, numbers[i]).row();
        },
        1);
    for (auto& row : rows) {
      if (row) out.rows.push_back(*std::move(row));
    }
    sort_rows(out.rows);
    if (ask.line) out.line = line_of(setup, goal, ask, tiles);
    return out;
  });
}

}  // namespace napkin::internal
