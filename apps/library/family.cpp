#include "apps/library/evaluate.hpp"
#include "apps/library/select_kernel.hpp"
#include "apps/library/session.hpp"

namespace napkin {
namespace {

FamilyPick pick_of(const Request& request, std::int64_t size) {
  const Ranking ranking = select_kernel(request, 1);
  FamilyPick pick;
  pick.from = pick.to = size;
  if (ranking.empty()) return pick;
  Head head = head_of(request, ranking.layout(), &ranking.best().tile);
  pick.found = !ranking.layout().ideal;
  pick.kernel = std::move(head.kernel);
  pick.tile = std::move(head.tile);
  pick.predicted_from = pick.predicted_to = answer_of(ranking.best().prediction);
  return pick;
}

bool picks_equal(const FamilyPick& a, const FamilyPick& b) {
  return a.kernel == b.kernel && a.tile == b.tile && a.found == b.found;
}

}  // namespace

FamilyAnswer Session::select_family(const Ask& ask, const ShapeFamily& family) const {
  FamilyAnswer answer;
  answer.family = family;
  Ask asked = ask;
  for (const std::int64_t size : family.range.points()) {
    asked.shape = family.at(size);
    const Request request = this->request(asked);
    if (size == family.range.from) answer.head = head_of(request, request.layouts.front(), nullptr);
    FamilyPick pick = at_shape([&] { return pick_of(request, size); });
    ++answer.points;
    if (answer.picks.empty() || !picks_equal(answer.picks.back(), pick)) {
      answer.picks.push_back(std::move(pick));
      continue;
    }
    answer.picks.back().to = size;
    answer.picks.back().predicted_to = std::move(pick.predicted_to);
  }
  return answer;
}

}  // namespace napkin
