// The selection along a family of shapes.
#include <algorithm>

#include "apps/library/choose.hpp"
#include "apps/library/measure.hpp"
#include "apps/library/napkin.hpp"

namespace napkin {
namespace {

/// Whether the kernels and their fixed knobs are the same at every size of these axes.
bool same_layouts(const Ask& ask, const Layouts& layouts, const std::vector<std::string>& axes) {
  if (!ask.tile.empty()) return false;
  return std::none_of(layouts.begin(), layouts.end(), [&](const auto& layout) {
    const auto named = [&](const auto& rule) { return std::find(axes.begin(), axes.end(), rule.first) != axes.end(); };
    const auto& rules = layout->mapping.head_sizes;
    return layout->ideal || std::any_of(rules.begin(), rules.end(), named);
  });
}

FamilyPick pick_of(const Subject& subject, const Choice& choice, std::int64_t size) {
  FamilyPick pick;
  pick.from = pick.to = size;
  if (choice.selection.ranked.empty()) return pick;
  const Ranked& best = choice.selection.ranked.front();
  const Head head = head_of(subject, *choice.layout, &best.tile);
  pick.found = !choice.layout->ideal;
  pick.kernel = head.kernel;
  pick.tile = head.tile;
  pick.predicted_from = pick.predicted_to = answer_of(best.prediction);
  return pick;
}

}  // namespace

FamilyAnswer select_family(const Ask& ask, const ShapeFamily& family) {
  FamilyAnswer answer;
  answer.family = family;
  Ask asked = ask;
  asked.shape = family.at(family.range.from);
  Subject subject = load_subject(asked);
  Layouts layouts = layouts_of(subject);
  answer.head = head_of(subject, *layouts.front(), nullptr);
  for (const std::int64_t size : family.range.points()) {
    turn_to(subject, family.at(size));
    if (size != family.range.from && !same_layouts(ask, layouts, family.axes)) layouts = layouts_of(subject);
    FamilyPick pick = at_shape([&] { return pick_of(subject, choose(subject, layouts, 1), size); });
    ++answer.points;
    const bool same = !answer.picks.empty() && answer.picks.back().kernel == pick.kernel &&
                      answer.picks.back().tile == pick.tile && answer.picks.back().found == pick.found;
    if (!same) {
      answer.picks.push_back(std::move(pick));
      continue;
    }
    answer.picks.back().to = size;
    answer.picks.back().predicted_to = std::move(pick.predicted_to);
  }
  return answer;
}

}  // namespace napkin
