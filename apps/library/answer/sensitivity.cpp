#include "napkin/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "apps/library/answer/answering.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "model/machine/numbers.hpp"
#include "solver/select/select.hpp"

namespace napkin::internal {
namespace {

constexpr double step = 0.01;          // relative step of the difference quotients
constexpr double most_factor = 16;     // largest factor by which a number is made better
constexpr double least_effect = 5e-4;  // an elasticity that is not worth a line
constexpr int halvings = 12;           // bisections in the search for the factor at which another resource limits

/// The prediction of one tile with a number of its machine or its mapping changed by a factor.
using Changed = std::function<Prediction(double factor)>;

/// A tile of a question that can be predicted on other machines and by other mappings.
class Subject {
 public:
  explicit Subject(const SelectedTile& selected) : selected_(selected) {}

  [[nodiscard]] Prediction predicted() const { return of(*selected_.setup); }
  [[nodiscard]] Prediction on(Machine machine) const {
    return of(on_machine(*selected_.setup, std::make_shared<const Machine>(std::move(machine))));
  }
  [[nodiscard]] Prediction by(Mapping mapping) const {
    Setup other = *selected_.setup;
    other.mapping = std::make_shared<const Mapping>(std::move(mapping));
    return of(other);
  }
  [[nodiscard]] const Machine& machine() const { return *selected_.setup->machine; }
  [[nodiscard]] const Mapping& mapping() const { return *selected_.setup->mapping; }

 private:
  [[nodiscard]] Prediction of(const Setup& setup) const {
    const Placer placer = placer_of(setup);
    const Placement placement = place(placer, selected_.tile);
    return predict(placement.placed);
  }
  const SelectedTile& selected_;
};

/// Computes d ln time / d ln number by a central difference; a whole number moves by 1 each way.
double elasticity_of(const Changed& changed, double value, bool whole, double most) {
  const double down = whole ? std::max(value - 1, 1.0) / value : 1 - step;
  const double up = std::min(whole ? (value + 1) / value : 1 + step, most / value);
  return std::log(changed(up).time.value / changed(down).time.value) / std::log(up / down);
}

/// Finds the smallest factor at which another resource limits. `better` turns a factor of improvement into a factor of
/// the number.
void add_next(const Changed& changed, const std::function<double(double)>& better, const std::string& bound,
              SensitivityRow& row) {
  if (changed(better(most_factor)).bound == bound) return;
  double low = 0, high = std::log(most_factor);
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (changed(better(std::exp(middle))).bound == bound ? low : high) = middle;
  }
  row.next_factor = std::exp(high);
  row.next_bound = changed(better(*row.next_factor)).bound;
}

/// Completes a row; nothing if the number has no effect. `most` is the number's upper limit.
std::optional<SensitivityRow> judged(SensitivityRow row, const Prediction& today, bool whole, const Changed& changed,
                                     double most = std::numeric_limits<double>::infinity()) {
  row.elasticity = elasticity_of(changed, row.value, whole, most);
  if (!(std::abs(row.elasticity) >= least_effect)) return std::nullopt;
  const auto better = [&](double factor) {
    return row.more_is_better ? std::min(factor, most / row.value) : 1 / factor;
  };
  row.if_better = changed(better(2)).time.value / today.time.value - 1;
  add_next(changed, better, today.bound, row);
  return row;
}

std::string basis_of(const Provenance& from) {
  if (from.fitted || from.source.starts_with("fitted")) return "fitted";
  if (from.measured()) return "measured";
  if (from.source.starts_with("derived")) return "derived";
  return from.source.starts_with("unverified") ? "unverified" : "datasheet";
}

void add_machine(const Subject& subject, const Prediction& today, SensitivityAnswer& answer) {
  const auto numbers = numbers_of(subject.machine());
  answer.numbers += static_cast<std::int64_t>(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const MachineNumber& number = numbers[i];
    if (number.value == 0) continue;
    SensitivityRow row;
    row.name = number.name;
    row.unit = number.unit;
    row.value = number.value;
    row.basis = basis_of(number.from);
    row.more_is_better = number.more_is_better;
    const Changed changed = [&](double factor) { return subject.on(with_number_times(subject.machine(), i, factor)); };
    if (auto out = judged(std::move(row), today, number.whole, changed, number.most))
      answer.rows.push_back(std::move(*out));
  }
}

void add_counts(const Subject& subject, const Prediction& today, SensitivityAnswer& answer) {
  const Mapping& mapping = subject.mapping();
  for (std::size_t o = 0; o < mapping.operations.size(); ++o) {
    for (std::size_t w = 0; w < mapping.operations[o].work.size(); ++w) {
      const WorkMapping& work = mapping.operations[o].work[w];
      ++answer.numbers;
      SensitivityRow row;
      row.name = mapping.operations[o].output + "." + work.name + " on " + work.unit;
      row.unit = "results";
      row.value = work.count;
      row.mapping = true;
      row.basis = work.fitted ? "fitted" : "counted";
      row.more_is_better = false;
      const Changed changed = [&](double factor) {
        Mapping other = mapping;
        other.operations[o].work[w].count *= factor;
        return subject.by(std::move(other));
      };
      if (auto out = judged(std::move(row), today, false, changed)) answer.rows.push_back(std::move(*out));
    }
  }
}

}  // namespace

SensitivityAnswer sensitivity_answer(const Question& question) {
  return at_shape([&] {
    const SelectedTile selected = select_tile(question);
    const Subject subject(selected);
    const Prediction today = subject.predicted();
    SensitivityAnswer answer;
    answer.head = head_of(question, *selected.setup, &selected.tile);
    answer.predicted = answer_of(today);
    add_machine(subject, today, answer);
    add_counts(subject, today, answer);
    std::stable_sort(answer.rows.begin(), answer.rows.end(), [](const SensitivityRow& a, const SensitivityRow& b) {
      return std::abs(a.elasticity) > std::abs(b.elasticity);
    });
    return answer;
  });
}

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

std::vector<std::pair<std::string, double>> SensitivityAnswer::shares_by_basis() const {
  std::map<std::string, double> by_basis;
  double all = 0;
  for (const SensitivityRow& number : rows) {
    by_basis[number.basis] += std::abs(number.elasticity);
    all += std::abs(number.elasticity);
  }
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [basis, sum] : by_basis) out.emplace_back(basis, sum / all);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

}  // namespace napkin

namespace napkin::internal {}  // namespace napkin::internal
