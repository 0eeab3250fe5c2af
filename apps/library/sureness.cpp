#include "apps/library/sureness.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace napkin {
namespace {

/// Shares of what the numbers of each basis decide.
std::vector<std::pair<std::string, double>> bases_of(const std::vector<SensitivityRow>& numbers) {
  std::map<std::string, double> by_basis;
  double all = 0;
  for (const SensitivityRow& number : numbers) {
    by_basis[number.basis] += std::abs(number.elasticity);
    all += std::abs(number.elasticity);
  }
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [basis, sum] : by_basis) out.emplace_back(basis, sum / all);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

/// Nine errors of ten; where only the mean is known, of errors that fall off as those of a normal distribution do: its
/// absolute values have their ninth decile at 1.645 standard deviations, their mean at 0.798.
double ninety_of(const ClassError& error) {
  constexpr double decile_over_mean = 1.645 / 0.798;
  return error.ninety.value_or(decile_over_mean * error.mean);
}

}  // namespace

SurenessAnswer sureness_of(const Request& request, const Layout& layout, const PredictedAnswer& predicted,
                           bool by_graph, const std::vector<SensitivityRow>& numbers) {
  SurenessAnswer out;
  out.by_graph = by_graph;
  out.ideal = layout.ideal || predicted.at_least;
  out.bases = bases_of(numbers);
  if (out.ideal) return out;
  const auto is_own = [&](const ClassError& error) {
    return error.architecture == request.machine->architecture && error.by_graph == by_graph;
  };
  for (const ClassError& error : class_errors()) {
    if (error.kernel == layout.mapping->name) out.classes.push_back(error);
  }
  std::stable_partition(out.classes.begin(), out.classes.end(), is_own);
  out.own_class = !out.classes.empty() && is_own(out.classes.front());
  if (!out.own_class) return out;
  const double off = ninety_of(out.classes.front());
  // A speed off by a fraction e of the measured one: measured time = predicted time x (1 + signed e).
  out.least = predicted.time * std::max(1 - off, 0.0), out.most = predicted.time * (1 + off);
  return out;
}

}  // namespace napkin
