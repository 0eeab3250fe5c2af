// All kernels that can answer a question, side by side.

#include <algorithm>
#include <tuple>

#include "apps/library/answer/session.hpp"
#include "apps/library/question/on_all_cores.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_kernel.hpp"

namespace napkin {
namespace {

KernelAnswer answer_of(const Setup& setup) {
  const Ranking ranking(setup);
  KernelAnswer answer;
  answer.kernel = setup.mapping->name;
  answer.bundled = setup.bundled();
  if (ranking.empty()) {
    answer.why = ranking.nothing_fits();
    return answer;
  }
  answer.tile = values_of(*setup.mapping, ranking.best().tile);
  answer.predicted = napkin::answer_of(ranking.best().prediction);
  answer.by_graph = ranking.best().prediction.iteration.has_value();
  return answer;
}

}  // namespace

std::vector<KernelAnswer> Session::kernels(const Ask& ask) const {
  Question question = state_->kernels(ask);
  std::vector<KernelAnswer> answers(question.setups.size());
  at_shape([&] {
    const auto rank = [&](std::size_t i) { answers[i] = answer_of(question.setups[i]); };
    on_all_cores(answers.size(), rank, 1);
  });
  std::stable_sort(answers.begin(), answers.end(), [](const KernelAnswer& a, const KernelAnswer& b) {
    const auto key = [](const KernelAnswer& k) {
      return std::tuple(!k.predicted, !k.by_graph, k.predicted ? k.predicted->time : 0.0);
    };
    return key(a) < key(b);
  });
  return answers;
}

}  // namespace napkin
