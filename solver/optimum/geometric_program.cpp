#include "solver/optimum/geometric_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "solver/optimum/convex.hpp"

namespace napkin::internal {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

bool in(AxisSet set, std::size_t axis) { return ((set >> axis) & 1U) != 0; }

/// The terms that lack the same axes J, as one term: sums of coefficients and of symbols.
struct Merged {
  double coefficient = 0;
  std::vector<Product> symbols;
};
using Terms = std::map<AxisSet, Merged>;

Terms merge(const std::vector<ProgramTerm>& terms) {
  Terms merged;
  for (const ProgramTerm& t : terms) {
    if (!(t.coefficient > 0)) continue;
    Merged& m = merged[t.lacks];
    m.coefficient += t.coefficient;
    m.symbols.push_back(t.symbol);
  }
  return merged;
}

/// A class of axes that exactly the same terms lack: they occur only as their product, one variable.
struct AxisClass {
  std::vector<std::size_t> members;
  double upper = 0;  // ln of the product of the sizes
  bool limited = true;
  [[nodiscard]] bool chosen() const { return limited && upper > 0; }
};

std::vector<AxisClass> classes_of(const GeometricProgram& program, const Terms& terms, Box box) {
  std::vector<AxisClass> classes;
  std::vector<std::vector<bool>> columns;
  for (std::size_t i = 0; i < program.axes.size(); ++i) {
    std::vector<bool> column;
    for (const auto& [lacks, term] : terms) column.push_back(in(lacks, i));
    const bool lacked = std::find(column.begin(), column.end(), true) != column.end();
    if (!lacked) continue;  // g = 1: larger groups save nothing
    const bool limited = program.axes[i].limited;
    column.push_back(limited);
    auto at = std::find(columns.begin(), columns.end(), column);
    if (at == columns.end()) {
      columns.push_back(column);
      classes.emplace_back();
      at = columns.end() - 1;
    }
    AxisClass& c = classes[static_cast<std::size_t>(at - columns.begin())];
    c.members.push_back(i);
    c.limited = limited;
    c.upper += box == Box::none && limited ? std::numeric_limits<double>::infinity() : std::log(program.axes[i].size);
  }
  // Classes of size 1 and classes that cost no memory have nothing to choose: they come last, at full size.
  std::stable_partition(classes.begin(), classes.end(), [](const AxisClass& c) { return c.chosen(); });
  return classes;
}

/// The programme over the classes that are at no limit, without constant terms.
struct Reduced {
  MatrixXd lacks;
  VectorXd coefficient;
  std::vector<Product> symbol;
  double constant = 0;
  std::vector<Product> constant_symbols;
  Product volume;    // product of the axes clamped at full size, in names
  double scale = 1;  // the product as a number: y * scale * prod free g <= M
};

/// Takes the logarithm of a sum of terms. Leaves out terms that no choice changes: beside a large constant the others'
/// slope would be lost in rounding.
LogProgram log_program(const Terms& terms, const std::vector<AxisClass>& classes, double budget) {
  const auto lacked = [&](AxisSet lacks, const AxisClass& c) { return in(lacks, c.members.front()); };
  std::vector<std::pair<AxisSet, double>> changing;
  for (const auto& [lacks, term] : terms) {
    if (std::any_of(classes.begin(), classes.end(), [&, l = lacks](const AxisClass& c) { return lacked(l, c); })) {
      changing.emplace_back(lacks, std::log(term.coefficient));
    }
  }
  LogProgram p;
  p.budget = budget;
  p.upper.resize(static_cast<Index>(classes.size()));
  p.lacks.resize(static_cast<Index>(changing.size()), static_cast<Index>(classes.size()));
  p.offset.resize(static_cast<Index>(changing.size()));
  for (Index t = 0; t < p.offset.size(); ++t) {
    const auto& [lacks, offset] = changing[static_cast<std::size_t>(t)];
    p.offset[t] = offset;
    for (Index c = 0; c < p.lacks.cols(); ++c) {
      p.lacks(t, c) = lacked(lacks, classes[static_cast<std::size_t>(c)]) ? 1 : 0;
    }
  }
  for (Index c = 0; c < p.upper.size(); ++c) p.upper[c] = classes[static_cast<std::size_t>(c)].upper;
  return p;
}

/// Removes the classes that are at a limit: one at full size divides the terms that lack it and takes its part of the
/// memory.
Reduced reduce(const GeometricProgram& program, const Terms& terms, const std::vector<AxisClass>& classes,
               const std::vector<Bound>& bound) {
  Reduced r;
  Terms free_terms;
  for (const auto& [lacks, term] : terms) {
    AxisSet rest = 0;
    Product divisor;
    double divide = 1;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (!in(lacks, classes[c].members.front())) continue;
      if (bound[c] == Bound::inside) rest |= AxisSet{1} << c;
      if (bound[c] != Bound::upper) continue;
      for (std::size_t i : classes[c].members) {
        divisor = divisor * power(program.axes[i].symbol, -1);
        divide *= program.axes[i].size;
      }
    }
    Merged& m = free_terms[rest];
    m.coefficient += term.coefficient / divide;
    for (const Product& s : term.symbols) m.symbols.push_back(s * divisor);
  }
  std::vector<std::size_t> inside;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (bound[c] == Bound::inside) inside.push_back(c);
    if (bound[c] != Bound::upper || !classes[c].limited) continue;
    for (std::size_t i : classes[c].members) {
      r.volume = r.volume * program.axes[i].symbol;
      r.scale *= program.axes[i].size;
    }
  }
  if (const auto constant = free_terms.find(0); constant != free_terms.end()) {
    r.constant = constant->second.coefficient;
    r.constant_symbols = constant->second.symbols;
    free_terms.erase(constant);
  }
  const auto rows = static_cast<Index>(free_terms.size());
  r.lacks = MatrixXd::Zero(rows, static_cast<Index>(inside.size()));
  r.coefficient.resize(rows);
  Index row = 0;
  for (const auto& [lacks, term] : free_terms) {
    for (std::size_t k = 0; k < inside.size(); ++k) {
      if (in(lacks, inside[k])) r.lacks(row, static_cast<Index>(k)) = 1;
    }
    r.coefficient[row++] = term.coefficient;
    r.symbol.push_back(as_product(term.symbols));
  }
  return r;
}

/// Theorem (ii): shares delta_t > 0 with  sum_{t: i in J_t} delta_t = kappa  for every axis i and  sum delta_t = 1,
/// when they are the only ones (zero degrees of difficulty).
struct Shares {
  VectorXd delta;
  double kappa = 0;
};

std::optional<Shares> zero_difficulty(const MatrixXd& lacks) {
  const Index m = lacks.rows(), n = lacks.cols();
  MatrixXd system = MatrixXd::Zero(n + 1, m + 1);
  system.topLeftCorner(n, m) = lacks.transpose();
  system.topRightCorner(n, 1).setConstant(-1);
  system.bottomLeftCorner(1, m).setOnes();
  VectorXd right = VectorXd::Zero(n + 1);
  right[n] = 1;
  const Eigen::FullPivLU<MatrixXd> lu(system);
  if (lu.rank() < m + 1) return std::nullopt;
  const VectorXd unknown = lu.solve(right);
  if ((system * unknown - right).cwiseAbs().maxCoeff() > 1e-9 || unknown.head(m).minCoeff() <= 1e-12) {
    return std::nullopt;
  }
  return Shares{unknown.head(m), unknown[m]};
}

/// Writes alpha = prod_t (A_t / delta_t)^delta_t * y^kappa in names, if all exponents are small fractions.
std::optional<Product> alpha_symbol(const Reduced& r, const Shares& s, const Product& y) {
  const auto kappa = as_fraction(s.kappa);
  if (!kappa) return std::nullopt;
  Product alpha = power(y * r.volume, *kappa);
  for (Index t = 0; t < s.delta.size(); ++t) {
    const auto delta = as_fraction(s.delta[t]);
    if (!delta) return std::nullopt;
    Product term = r.symbol[static_cast<std::size_t>(t)];
    term.coefficient /= s.delta[t];
    alpha = alpha * power(term, *delta);
  }
  return alpha;
}

/// Writes a number that is no product of axes, with as many digits as are certain: "2.815e14".
std::string rounded(double number) {
  std::string text = fmt::format("{:.4g}", number);
  if (const std::size_t plus = text.find("e+"); plus != std::string::npos) text.erase(plus + 1, 1);
  return text;
}

PowerTerm power_term(double alpha, double beta, const std::optional<Product>& symbol_of_alpha) {
  constexpr int last = 1 << 30;  // M prints after every axis
  PowerTerm term{alpha, beta, std::nullopt, {}};
  const auto exponent = as_fraction(beta);
  if (exponent) {
    const Product memory = symbol(last, "M", -*exponent);
    if (symbol_of_alpha) term.symbol = *symbol_of_alpha * memory;
    const Product named = symbol(-1, rounded(alpha));
    term.text = print((symbol_of_alpha ? *symbol_of_alpha : named) * memory);
  } else {
    term.text = fmt::format("{} / M^{:.4g}", rounded(alpha), beta);
  }
  return term;
}

/// Returns the leading power where no theorem gives the exact one. Its exponent is the game's value (iv); its
/// coefficient is the limit of (non-constant part) M^kappa, taken at a memory so large that the other powers have
/// vanished.
PowerTerm leading(const Reduced& r, double y) {
  const double kappa = game_value(r.lacks);
  LogProgram p;
  p.lacks = r.lacks;
  p.offset = r.coefficient.array().log().matrix();
  p.upper = VectorXd::Constant(r.lacks.cols(), std::numeric_limits<double>::infinity());
  p.budget = 400;
  const double alpha = std::exp(solve(p).value + kappa * (p.budget + std::log(y * r.scale)));
  return power_term(alpha, kappa, std::nullopt);
}

/// Returns the non-constant part as a power of M: by theorem (ii), else (iii), else (iv).
PowerTerm non_constant(const Reduced& r, const GeometricProgram& program, double value, double memory, bool& exact) {
  const double y = program.resident;
  if (const auto shares = zero_difficulty(r.lacks)) {
    double ln_alpha = shares->kappa * std::log(y * r.scale);
    for (Index t = 0; t < shares->delta.size(); ++t) {
      ln_alpha += shares->delta[t] * std::log(r.coefficient[t] / shares->delta[t]);
    }
    return power_term(std::exp(ln_alpha), shares->kappa, alpha_symbol(r, *shares, program.resident_symbol));
  }
  const VectorXd lacking = r.lacks.rowwise().sum();
  if (lacking.minCoeff() == lacking.maxCoeff()) {
    const double kappa = lacking[0] / static_cast<double>(r.lacks.cols());
    return power_term(value * std::pow(memory, kappa), kappa, std::nullopt);
  }
  exact = false;
  return leading(r, y);
}

/// Distributes a class's ln g over its axes, the one declared last first. A full axis gets its size exactly.
void spread(const GeometricProgram& program, const AxisClass& c, double x, Box box, std::vector<double>& group) {
  for (auto i = c.members.rbegin(); i != c.members.rend(); ++i) {
    const double size = program.axes[*i].size;
    const bool rest = box == Box::none && i + 1 == c.members.rend();
    const double part = rest ? x : std::min(x, std::log(size));
    group[*i] = std::abs(part - std::log(size)) < 1e-12 ? size : std::exp(part);
    x -= part;
  }
}

/// Returns -dH / d ln M: at an optimum the terms that lack an axis have one sum for every free axis (KKT;
/// model/README.md, "Optimal transfers" (i)).
double slope(const GeometricProgram& program, const std::vector<AxisClass>& classes, const std::vector<Bound>& bound,
             const std::vector<double>& group) {
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (bound[c] != Bound::inside) continue;
    GeometricProgram lacking{program.axes, {}, program.resident, {}};
    for (const ProgramTerm& t : program.terms) {
      if (in(t.lacks, classes[c].members.front())) lacking.terms.push_back(t);
    }
    return transfer_at(lacking, group);
  }
  return 0;
}

}  // namespace

double transfer_at(const GeometricProgram& program, const std::vector<double>& group) {
  double sum = 0;
  for (const ProgramTerm& t : program.terms) {
    double term = t.coefficient;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (in(t.lacks, i)) term /= group[i];
    }
    sum += term;
  }
  return sum;
}

ClosedForm closed_form(const GeometricProgram& program, double memory, Box box) {
  if (program.terms.empty() || program.axes.size() > 64) {
    throw Error("optimum", "the programme has no transfers or too many axes", "at least one, at most 64 axes");
  }
  const Terms terms = merge(program.terms);
  const std::vector<AxisClass> classes = classes_of(program, terms, box);
  ClosedForm result;
  result.group.assign(program.axes.size(), 1.0);
  const double room = program.resident > 0 ? memory / program.resident : std::numeric_limits<double>::infinity();
  result.fits = room >= 1;
  std::vector<Bound> bound;
  for (const AxisClass& c : classes) bound.push_back(c.chosen() ? Bound::lower : Bound::upper);
  for (const AxisClass& c : classes) {
    for (std::size_t i : c.members) result.group[i] = c.chosen() ? 1 : program.axes[i].size;
  }
  const auto choices = static_cast<std::size_t>(std::count(bound.begin(), bound.end(), Bound::lower));
  if (result.fits && choices > 0) {
    const LogSolution s =
        solve(log_program(terms, {classes.begin(), classes.begin() + static_cast<Index>(choices)}, std::log(room)));
    std::copy(s.bound.begin(), s.bound.end(), bound.begin());
    for (std::size_t c = 0; c < choices; ++c) {
      spread(program, classes[c], s.x[static_cast<Index>(c)], box, result.group);
    }
  }
  result.transfer = transfer_at(program, result.group);
  const Reduced r = reduce(program, terms, classes, bound);
  if (r.constant > 0) {
    PowerTerm constant{r.constant, 0, as_product(r.constant_symbols), print(r.constant_symbols)};
    result.terms.push_back(constant);
  }
  if (r.lacks.rows() > 0) {
    const double rest = result.transfer - r.constant;
    PowerTerm last = non_constant(r, program, rest, memory, result.exact);
    result.local_exponent = slope(program, classes, bound, result.group) / rest;
    result.terms.push_back(std::move(last));
  }
  for (const PowerTerm& t : result.terms) result.formula += (result.formula.empty() ? "" : " + ") + t.text;
  return result;
}

}  // namespace napkin::internal
