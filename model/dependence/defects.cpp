#include "model/dependence/defects.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "model/dependence/execute.hpp"
#include "model/dependence/graph.hpp"
#include "model/dependence/library.hpp"
#include "model/dependence/transform.hpp"

namespace napkin::internal::dependence {
namespace {

constexpr double tolerance = 1e-9;

std::string six_digits(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "not a number" : value < 0 ? "-infinity" : "infinity";
  std::array<char, 32> buffer{};
  const auto [end, code] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, 6);
  return {buffer.data(), end};
}

void check_parallel(const Nest& nest, std::vector<Defect>& found) {
  if (nest.claimed_parallel.empty()) return;
  const Nest own = privatise(nest).nest;
  const std::vector<Dependence> all = dependences(own);
  const std::vector<LoopVerdict> verdicts = loop_verdicts(own, all);
  for (LoopId loop : nest.claimed_parallel) {
    const LoopVerdict& verdict = verdicts[static_cast<std::size_t>(loop)];
    if (verdict.parallel) continue;
    const auto flows = [&](std::size_t i) { return all[i].kind == Kind::raw; };
    const auto first = std::find_if(verdict.blocking.begin(), verdict.blocking.end(), flows);
    const std::size_t shown = first == verdict.blocking.end() ? verdict.blocking.front() : *first;
    found.push_back({"loop " + nest.loops[static_cast<std::size_t>(loop)].name + " is claimed parallel, but " +
                     text_of(own, all[shown]) + " binds its iterations, and " +
                     std::to_string(verdict.blocking.size() - 1) + " more do"});
  }
}

std::string cell_text(const Cells& cells, std::size_t cell) {
  std::vector<std::string> subscripts(cells.size.size());
  for (std::size_t i = subscripts.size(); i-- > 0;) {
    const auto size = static_cast<std::size_t>(cells.size[i]);
    subscripts[i] = std::to_string(cells.first[i] + static_cast<std::int64_t>(cell % size));
    cell /= size;
  }
  return subscripts.empty() ? "" : "[" + joined(subscripts, ",") + "]";
}

std::optional<std::string> difference(const std::string& name, const Cells& a, const Cells& b,
                                      const std::string& other) {
  if (a.first != b.first || a.size != b.size) return name + " has another shape than in " + other;
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t c = 0; c < a.cells.size(); ++c) {
    const double x = a.cells[c], y = b.cells[c];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double error = std::abs(x - y) / std::max(std::abs(x), std::abs(y));
    const double bad = std::isfinite(error) ? error : INFINITY;
    if (bad <= worst) continue;
    worst = bad;
    at = c;
  }
  if (worst <= tolerance) return std::nullopt;
  return name + " differs from " + other + ", most at " + name + cell_text(a, at) + ": " + six_digits(a.cells[at]) +
         " where it should be " + six_digits(b.cells[at]);
}

void check_values(const Nest& nest, std::vector<Defect>& found) {
  if (nest.same_as.empty()) return;
  const Given given = arbitrary_values(1);
  const Store own = execute(nest, given);
  const Nest other = load_nest(nest.same_as);
  const Store right = execute(other, given);
  for (const std::string& name : nest.outputs) {
    const auto wanted = right.find(name);
    if (wanted == right.end()) {
      found.push_back({name + " is no array of " + nest.same_as});
    } else if (const auto text = difference(name, own.at(name), wanted->second, nest.same_as)) {
      found.push_back({*text});
    }
  }
}

}  // namespace

std::vector<Defect> find_defects(const Nest& nest) {
  std::vector<Defect> found;
  check_parallel(nest, found);
  check_values(nest, found);
  return found;
}

}  // namespace napkin::internal::dependence
