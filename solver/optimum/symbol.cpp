#include "solver/optimum/symbol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace napkin::internal {
namespace {

bool before(const Factor& a, const Factor& b) { return std::pair(a.rank, a.base) < std::pair(b.rank, b.base); }

std::string print_factor(const Factor& factor, Exponent power) {
  if (power == 1) return factor.base;
  if (power.denominator() == 1) return fmt::format("{}^{}", factor.base, power.numerator());
  return fmt::format("{}^({}/{})", factor.base, power.numerator(), power.denominator());
}

std::string print_number(double x) {
  const double whole = std::round(x);
  if (std::abs(x - whole) <= 1e-9 * std::abs(x) && std::abs(x) < 1e15) return fmt::format("{:.0f}", whole);
  return fmt::format("{:.6g}", x);
}

/// Returns the power of a base in a product, 0 if it is absent.
Exponent power_of(const Product& product, const Factor& base) {
  for (const Factor& f : product.factors) {
    if (f.base == base.base) return f.power;
  }
  return 0;
}

}  // namespace

Product symbol(int rank, std::string base, Exponent power) {
  Product p;
  if (power != 0) p.factors.push_back({rank, std::move(base), power});
  return p;
}

Product operator*(const Product& a, const Product& b) {
  Product result{a.coefficient * b.coefficient, a.factors};
  for (const Factor& f : b.factors) {
    auto at =
        std::find_if(result.factors.begin(), result.factors.end(), [&](const Factor& g) { return g.base == f.base; });
    if (at == result.factors.end()) {
      result.factors.push_back(f);
    } else {
      at->power = at->power + f.power;
    }
  }
  std::erase_if(result.factors, [](const Factor& f) { return f.power == 0; });
  std::sort(result.factors.begin(), result.factors.end(), before);
  return result;
}

Product power(const Product& a, Exponent exponent) {
  Product result;
  result.coefficient = std::pow(a.coefficient, exponent.value());
  if (exponent == 0) return result;
  result.factors = a.factors;
  for (Factor& f : result.factors) f.power = f.power * exponent;
  return result;
}

std::vector<Product> collect(const std::vector<Product>& sum) {
  std::vector<Product> result;
  for (const Product& p : sum) {
    auto like = std::find_if(result.begin(), result.end(), [&](const Product& r) { return r.factors == p.factors; });
    if (like == result.end()) {
      result.push_back(p);
    } else {
      like->coefficient += p.coefficient;
    }
  }
  return result;
}

Product as_product(const std::vector<Product>& sum) {
  const std::vector<Product> terms = collect(sum);
  if (terms.empty()) return Product{0, {}};
  if (terms.size() == 1) return terms.front();
  Product common;
  for (const Factor& f : terms.front().factors) {
    Exponent least = f.power;
    for (const Product& t : terms) least = std::min(least, power_of(t, f));
    if (least > 0) common.factors.push_back({f.rank, f.base, least});
  }
  // A number common to every term stays outside: 2 d + 2 dv = 2 (d + dv).
  const double first = terms.front().coefficient;
  const bool alike = std::all_of(terms.begin(), terms.end(), [&](const Product& t) { return t.coefficient == first; });
  common.coefficient = alike ? first : 1;
  std::vector<Product> rest;
  int rank = 1 << 20;
  for (const Product& t : terms) {
    rest.push_back(t * power(common, -1));
    for (const Factor& f : rest.back().factors) rank = std::min(rank, f.rank);
  }
  return common * symbol(rank, "(" + print(rest) + ")");
}

std::string print(const Product& product) {
  std::string above, below;
  int under = 0;
  for (const Factor& f : product.factors) {
    std::string& side = f.power > 0 ? above : below;
    if (!side.empty()) side += ' ';
    side += print_factor(f, f.power > 0 ? f.power : -f.power);
    if (f.power < 0) ++under;
  }
  const std::string number = print_number(product.coefficient);
  if (above.empty()) {
    above = number;
  } else if (number != "1") {
    above = number + ' ' + above;
  }
  if (under == 0) return above;
  return above + (under == 1 ? " / " + below : " / (" + below + ")");
}

std::string print(const std::vector<Product>& sum) {
  std::string text;
  for (const Product& p : collect(sum)) {
    const bool less = p.coefficient < 0 && !text.empty();
    Product shown = p;
    if (less) shown.coefficient = -p.coefficient;
    if (!text.empty()) text += less ? " - " : " + ";
    text += print(shown);
  }
  return text.empty() ? "0" : text;
}

std::optional<Exponent> as_fraction(double x) {
  for (int denominator = 1; denominator <= 64; ++denominator) {
    const double numerator = std::round(x * denominator);
    if (std::abs(numerator) < 1e6 && std::abs(x * denominator - numerator) <= 1e-9 * denominator) {
      return Exponent(static_cast<int>(numerator), denominator);
    }
  }
  return std::nullopt;
}

}  // namespace napkin::internal
