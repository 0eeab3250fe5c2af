// All kernels that can answer a question, side by side.

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "apps/library/answer/session.hpp"
#include "apps/library/question/on_all_cores.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_kernel.hpp"

namespace napkin::internal {
namespace {

/// Returns the kernel with its best tile; nothing if a limit is set and no tile stays within it.
std::optional<KernelAnswer> answer_of(const Setup& setup, Seconds limit) {
  const Ranking ranking(setup, limit);
  if (ranking.empty() && std::isfinite(limit.value)) return std::nullopt;
  KernelAnswer answer;
  answer.kernel = setup.mapping->name;
  answer.bundled = setup.bundled();
  if (ranking.empty()) {
    answer.why = ranking.nothing_fits();
    return answer;
  }
  answer.tile = values_of(*setup.mapping, ranking.best().tile);
  answer.predicted = internal::answer_of(ranking.best().prediction);
  answer.by_graph = ranking.best().prediction.iteration.has_value();
  return answer;
}

}  // namespace

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

std::vector<KernelAnswer> Session::kernels(const Ask& ask, double limit) const {
  const Question question = state_->kernels(ask);
  std::vector<std::optional<KernelAnswer>> ranked(question.setups.size());
  at_shape([&] {
    const auto rank = [&](std::size_t i) { ranked[i] = answer_of(question.setups[i], Seconds(limit)); };
    on_all_cores(ranked.size(), rank, 1);
  });
  std::vector<KernelAnswer> answers;
  for (std::optional<KernelAnswer>& one : ranked) {
    if (one) answers.push_back(std::move(*one));
  }
  std::stable_sort(answers.begin(), answers.end(), [](const KernelAnswer& a, const KernelAnswer& b) {
    const auto key = [](const KernelAnswer& k) {
      return std::tuple(!k.predicted, !k.by_graph, k.predicted ? k.predicted->time : 0.0);
    };
    return key(a) < key(b);
  });
  return answers;
}

}  // namespace napkin
