// The breakpoints of a family of shapes: as few as a tile within 1 % of the best at every size of the grid allows.
//
// The best tiles of each size are the candidates. From the first size on, the candidate that stays within the tolerance
// for the longest is taken, and the next one begins after it: no other choice among them has fewer breakpoints.

#include <algorithm>
#include <limits>
#include <map>

#include "apps/library/answer/session.hpp"
#include "apps/library/question/many_sizes.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_kernel.hpp"

namespace napkin::internal {
namespace {

constexpr double tolerance = 0.01, wider[] = {0.02, 0.05, 0.1};
constexpr int candidates_of_a_size = 5;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A kernel and a tile that are the best at some size.
struct Candidate {
  std::string mapping;
  Tile tile;
  bool operator==(const Candidate&) const = default;
};

/// A size of the family: its question and the best answer there.
struct Point {
  std::int64_t size = 0;
  std::unique_ptr<Question> question;  // rankings and candidates point into it
  std::unique_ptr<Ranking> ranking;
  std::optional<Candidate> best;
  double time = infinity;
};

class Grid {
 public:
  void add(std::int64_t size, Question question) {
    Point point{size, std::make_unique<Question>(std::move(question)), nullptr, std::nullopt, infinity};
    point.ranking = std::make_unique<Ranking>(select_kernel(*point.question, candidates_of_a_size));
    const Ranking& ranking = *point.ranking;
    for (const Ranked& ranked : ranking.selection().ranked) {
      Candidate one{ranking.setup().mapping->name, ranked.tile};
      if (!point.best) point.best = one;
      if (std::find(candidates_.begin(), candidates_.end(), one) == candidates_.end())
        candidates_.push_back(std::move(one));
    }
    points_.push_back(std::move(point));
    const std::size_t i = points_.size() - 1;
    if (points_[i].best) points_[i].time = time_of(i, *points_[i].best);
  }

  /// Picks a tile for each piece of the range: as few pieces as tiles within `most` of the best allow.
  [[nodiscard]] std::vector<FamilyPick> picks(double most) {
    std::vector<FamilyPick> out;
    for (std::size_t first = 0; first < points_.size();) {
      const Candidate* longest = nullptr;
      std::size_t end = first + 1;
      for (const Candidate& candidate : candidates_) {
        std::size_t reached = first;
        while (reached < points_.size() && loss(reached, candidate) <= most) ++reached;
        if (reached < end || (reached == end && longest != nullptr)) continue;
        longest = &candidate;
        end = reached;
      }
      while (longest == nullptr && end < points_.size() && !points_[end].best) ++end;  // sizes at which no tile fits
      out.push_back(pick(longest, first, end - 1));
      first = end;
    }
    return out;
  }

  /// Returns the pick with the least worst loss over the whole range; nothing if each fails at some size.
  [[nodiscard]] std::optional<FamilyDefault> whole(const std::vector<FamilyPick>& picks) {
    std::optional<FamilyDefault> least;
    for (const Candidate& candidate : candidates_) {
      if (std::none_of(picks.begin(), picks.end(), [&](const FamilyPick& p) { return is_of(candidate, p); })) continue;
      FamilyDefault one{pick(&candidate, 0, points_.size() - 1), 0, points_.front().size};
      for (std::size_t i = 0; i < points_.size(); ++i) {
        const double lost = loss(i, candidate);
        one.mean += lost / static_cast<double>(points_.size());
        if (lost >= one.pick.loss) one.worst_at = points_[i].size;
      }
      if (one.pick.loss < infinity && (!least || one.pick.loss < least->pick.loss)) least = std::move(one);
    }
    return least;
  }

 private:
  [[nodiscard]] const Setup* layout_of(std::size_t i, const Candidate& candidate) const {
    for (const Setup& setup : points_[i].question->setups) {
      if (setup.mapping->name == candidate.mapping) return &setup;
    }
    return nullptr;
  }
  [[nodiscard]] std::optional<PredictedAnswer> predicted(std::size_t i, const Candidate& candidate) {
    const Setup* setup = layout_of(i, candidate);
    if (setup == nullptr) return std::nullopt;
    const Placement placement = place(placer_of(*setup), candidate.tile);
    if (!placement.violations.empty()) return std::nullopt;
    if (setup->ideal) return bound_of(placement.placed);
    return answer_of(setup->workspace->predicted(placement.placed));
  }
  /// Returns seconds; infinite where the tile does not fit.
  [[nodiscard]] double time_of(std::size_t i, const Candidate& candidate) {
    const auto at = std::find(candidates_.begin(), candidates_.end(), candidate) - candidates_.begin();
    const auto [known, is_new] = times_.try_emplace({i, at}, infinity);
    if (!is_new) return known->second;
    const auto answer = predicted(i, candidate);
    return known->second = answer ? answer->time : infinity;
  }
  /// Returns the candidate's excess over the best time at a size, as a fraction.
  [[nodiscard]] double loss(std::size_t i, const Candidate& candidate) {
    return points_[i].best ? time_of(i, candidate) / points_[i].time - 1 : infinity;
  }
  [[nodiscard]] bool is_of(const Candidate& candidate, const FamilyPick& pick) const {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const Setup* setup = layout_of(i, candidate);
      if (setup != nullptr && pick.kernel.value_or("ideal") == candidate.mapping)
        return values_of(*setup->mapping, candidate.tile) == pick.tile;
    }
    return false;
  }
  [[nodiscard]] FamilyPick pick(const Candidate* candidate, std::size_t first, std::size_t last) {
    FamilyPick out;
    out.from = points_[first].size;
    out.to = points_[last].size;
    if (candidate == nullptr) return out;
    const Setup* setup = nullptr;
    for (std::size_t i = first; i <= last; ++i) {
      if (setup == nullptr) setup = layout_of(i, *candidate);
      out.loss = std::max(out.loss, loss(i, *candidate));
    }
    out.found = !setup->ideal;
    if (!setup->ideal) out.kernel = setup->mapping->name;
    out.tile = values_of(*setup->mapping, candidate->tile);
    out.predicted_from = predicted(first, *candidate);
    out.predicted_to = predicted(last, *candidate);
    return out;
  }

  std::vector<Point> points_;
  std::vector<Candidate> candidates_;
  std::map<std::pair<std::size_t, std::ptrdiff_t>, double> times_;
};

}  // namespace

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

FamilyAnswer Session::select_family(const Ask& ask, const ShapeFamily& family) const {
  FamilyAnswer answer;
  answer.family = family;
  Ask asked = ask;
  const auto request_at = [&](const NamedSizes& shape) {
    asked.shape = shape;
    asked.bundled = ask.bundled;
    Question question = question_of(*this, asked);
    if (asked.bundled || !keeps_to_bundled(question)) return question;
    asked.bundled = true;
    return question_of(*this, asked);
  };
  (void)request_at(family.at(family.range.to));
  (void)select(asked, 1);  // an impossible size is reported before any work
  const std::vector<std::int64_t> sizes = family.range.points();
  answer.points = std::ssize(sizes);
  Grid grid;
  at_shape([&] {
    std::int64_t done = 0;
    for (const std::int64_t size : sizes) {
      Question question = request_at(family.at(size));
      if (size == family.range.from) answer.head = head_of(question, question.setups.front(), nullptr);
      grid.add(size, std::move(question));
      if (ask.progress) ask.progress(++done, answer.points);
    }
    answer.picks = grid.picks(tolerance);
    for (const double more : wider) answer.wider.emplace_back(more, std::ssize(grid.picks(more)));
    answer.whole = grid.whole(answer.picks);
  });
  return answer;
}

}  // namespace napkin
