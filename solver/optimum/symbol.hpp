#pragma once
// A Product of powers of axis names, or a sum of products, lets a closed form be read ("4 q x d^2 / M") and not only
// computed.

#include <compare>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace napkin::internal {

/// A fraction in lowest terms, denominator positive. (boost::rational 1.74 recurses for ever in == under C++20.)
class Exponent {
 public:
  constexpr Exponent(int numerator = 0, int denominator = 1) {  // NOLINT: a whole number is an exponent
    const int common = std::gcd(numerator, denominator) * (denominator < 0 ? -1 : 1);
    numerator_ = common == 0 ? 0 : numerator / common;
    denominator_ = common == 0 ? 1 : denominator / common;
  }
  [[nodiscard]] constexpr int numerator() const { return numerator_; }
  [[nodiscard]] constexpr int denominator() const { return denominator_; }
  [[nodiscard]] constexpr double value() const { return static_cast<double>(numerator_) / denominator_; }

  friend constexpr Exponent operator+(Exponent a, Exponent b) {
    return {a.numerator_ * b.denominator_ + b.numerator_ * a.denominator_, a.denominator_ * b.denominator_};
  }
  friend constexpr Exponent operator*(Exponent a, Exponent b) {
    return {a.numerator_ * b.numerator_, a.denominator_ * b.denominator_};
  }
  friend constexpr Exponent operator-(Exponent a) { return {-a.numerator_, a.denominator_}; }
  friend constexpr bool operator==(Exponent, Exponent) = default;
  friend constexpr auto operator<=>(Exponent a, Exponent b) {
    return a.numerator_ * b.denominator_ <=> b.numerator_ * a.denominator_;
  }

 private:
  int numerator_ = 0, denominator_ = 1;
};

/// A factor base^power. Factors print in the order of `rank` (an axis's place in the diagram).
struct Factor {
  int rank = 0;
  std::string base;
  Exponent power = 1;
  bool operator==(const Factor&) const = default;
};

/// A product, coefficient * factors: sorted by rank, no power zero, no base twice.
struct Product {
  double coefficient = 1;
  std::vector<Factor> factors;
  bool operator==(const Product&) const = default;
};

/// Makes base^power.
[[nodiscard]] Product symbol(int rank, std::string base, Exponent power = 1);
[[nodiscard]] Product operator*(const Product& a, const Product& b);
[[nodiscard]] Product power(const Product& a, Exponent exponent);

/// Collects like terms, in the order of their first appearance.
[[nodiscard]] std::vector<Product> collect(const std::vector<Product>& sum);

/// Factors a sum into the common factor times the rest: x d + x dv = x (d + dv).
[[nodiscard]] Product as_product(const std::vector<Product>& sum);

/// Prints a product: "2 q d", "a c / M^(1/2)", "2 q x d / (g_q g_h)", "7".
[[nodiscard]] std::string print(const Product& product);
/// Prints a sum: "2 q d + 4 q x d^2 / M"; "0" if it is empty.
[[nodiscard]] std::string print(const std::vector<Product>& sum);

/// Returns the fraction of denominator up to 64 within 1e-9 of x, if there is one.
[[nodiscard]] std::optional<Exponent> as_fraction(double x);

}  // namespace napkin::internal
