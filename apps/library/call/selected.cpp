#include "apps/library/call/selected.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "apps/library/question/here.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "kernels/plans/attention.hpp"
#include "model/diagram/packing.hpp"
#include "model/mapping/read/load.hpp"
#include "model/mapping/tile.hpp"
#include "model/resource/plan.hpp"
#include "napkin/napkin.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"

namespace napkin::internal {
namespace {

constexpr int tiles_tried = 8;  // best tiles that are compiled in turn, until the compiler accepts one
/// Lengths between a power of two and the next for which tiles are ranked.
constexpr std::uint64_t lengths_of_an_octave = 8;

/// Returns the question resolved for the kernels that meet the call's needs, all of them if none does.
Question request_for(const Ask& ask, const CallNeeds& needs) {
  Question question = question_of(default_session(), ask);
  const auto unfit = [&](const Setup& setup) {
    return (needs.packed && !takes_packed(*setup.mapping)) || (needs.cached && !takes_pages(*setup.mapping));
  };
  if (!std::all_of(question.setups.begin(), question.setups.end(), unfit)) std::erase_if(question.setups, unfit);
  for (Setup& setup : question.setups) {
    for (const auto& [name, text] : needs.knobs) {
      const auto knob = setup.mapping->find_knob(name);
      if (knob)
        setup.fixed.emplace_back(*knob, parse_knob(setup.mapping->knobs[static_cast<std::size_t>(*knob)], text, name));
    }
  }
  return question;
}

/// Explains why no tile of a question fits, by the nearest tile, which breaks the fewest rules, then needs the fewest
/// registers: "takes d of 64, 96 or 128 only, not 256; needs 448 registers a thread, there are 240".
std::string refusal_of(const Ask& ask) {
  constexpr std::int64_t most_tiles = 4096;  // tiles looked at
  const Question question = question_of(default_session(), ask);
  const Setup& setup = question.setups.front();
  const Space space = space_of(setup);
  const Placer placer = placer_of(setup);
  std::optional<Placement> best;
  Tile tile;
  for (std::int64_t rank = 0; rank < std::min(space.candidates.get(), most_tiles); ++rank) {
    space.tile(rank, tile);
    Placement placement = place(placer, tile);
    const auto worse = [](const Placement& one) {
      return std::pair(one.violations.size(), one.plan.registers_per_thread);
    };
    if (!best || worse(placement) < worse(*best)) best = std::move(placement);
  }
  std::vector<std::string> reasons;
  if (best) {
    for (const ViolationAnswer& one : answer_of(best->violations, question, *setup.mapping))
      reasons.push_back(one.text);
  }
  return joined(reasons, "; ");
}

std::int64_t size_of(const NamedSizes& shape, std::string_view axis) {
  const auto found = std::find_if(shape.begin(), shape.end(), [&](const auto& one) { return one.first == axis; });
  return found == shape.end() ? 0 : found->second;
}

}  // namespace

Ask ranked_for(const Ask& ask) {
  Ask out = ask;
  const std::int64_t queries = size_of(ask.shape, "q");
  for (auto& [axis, size] : out.shape) {
    if (axis != "x" || !ask.lengths.empty()) continue;
    size = ranked_keys(queries, size);
  }
  return out;
}

std::int64_t ranked_keys(std::int64_t queries, std::int64_t keys) {
  if (keys <= queries) return keys;
  const auto whole = static_cast<std::uint64_t>(keys);
  const std::uint64_t step = std::max<std::uint64_t>(std::bit_floor(whole) / lengths_of_an_octave, 1);
  return static_cast<std::int64_t>((whole + step - 1) / step * step);
}

std::string no_kernel(const Ask& asked) {
  std::vector<std::string> reasons;
  for (const std::string& name : bundled_mappings(asked.algorithm)) {
    Ask ask = asked;
    ask.kernel = name;
    try {
      reasons.push_back(name + " " + refusal_of(ask));
    } catch (const Error& error) {  // the machine lacks what the mapping names
      reasons.push_back(name + ": " + error.problem());
    }
  }
  return reasons.empty() ? "no bundled kernel computes it" : joined(reasons, ". ");
}

Selected::Selected(const Ask& ask, const CallNeeds& needs)
    : question_(request_for(ask, needs)), ranking_(select_kernel(question_, 1)) {
  if (!ranking_.setup().bundled()) throw Error(ask.algorithm, no_kernel(ask), "other sizes or another type");
  if (ranking_.empty()) throw Error(ask.algorithm, ranking_.nothing_fits(), "other sizes");
  const Setup& setup = ranking_.setup();
  for (const auto& [axis, size] : question_.ask.shape) axes_.push_back(setup.streamed->diagram.axis(axis));
  placer_.emplace(placer_of(setup));
  rules_.emplace(*setup.streamed, *setup.mapping, *setup.machine, setup.problem);
}

const PlacedDiagram* Selected::at(const CallSizes& sizes) {
  Problem problem = ranking_.setup().problem;
  for (std::size_t i = 0; i < axes_.size(); ++i) problem.sizes[static_cast<std::size_t>(axes_[i])] = Count(sizes[i]);
  const bool placed = placed_.tile == tile() && problem.sizes == problem_.sizes;
  if (placed) return legal_ ? &placed_ : nullptr;
  problem_ = std::move(problem);
  placer_->rebind(problem_);
  placer_->place(tile(), placed_);
  legal_ = is_legal();
  return legal_ ? &placed_ : nullptr;
}

/// Returns true if placed_ keeps the rules. If a block holds as much as in an earlier, legal placement, only the rules
/// that depend on lengths are checked.
bool Selected::is_legal() const {
  const Setup& setup = ranking_.setup();
  if (problem_.sizes == setup.problem.sizes) return true;
  if (form_ && form_->holds_as(placed_))
    return rules_->hold(*setup.streamed, *setup.mapping, *setup.machine, problem_, tile());
  return violations(placed_, plan(placed_)).empty();
}

bool Selected::advance() {
  const auto is_last = [&] { return at_ + 1 >= ranking_.selection().ranked.size(); };
  if (is_last() && at_ == 0) ranking_.rank(tiles_tried);  // few calls need more than the best tile
  if (is_last()) return false;
  ++at_;
  return true;
}

}  // namespace napkin::internal
