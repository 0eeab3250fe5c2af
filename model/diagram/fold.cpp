#include "model/diagram/fold.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <random>

namespace napkin::internal {
namespace {

constexpr int trials = 64;
constexpr double tolerance = 1e-9;  // tolerance, relative to the larger of the value and 1
constexpr double range = 4;         // random elements lie in [-4, 4)
constexpr int longest_part = 5;     // random part, in elements

bool near(const Fold::State& a, const Fold::State& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (!(std::abs(a[i] - b[i]) <= tolerance * std::max(1.0, std::abs(a[i])))) return false;
  }
  return true;
}

std::string text_of(double value) {
  std::array<char, 32> buffer{};
  const auto [end, code] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, 5);
  return {buffer.data(), end};
}

std::string text_of(const Fold& fold, const Fold::State& state) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < state.size(); ++i) words.push_back(fold.state[i].name + " = " + text_of(state[i]));
  return joined(words);
}

std::string apart(const Fold& fold, const std::string& left, const Fold::State& a, const std::string& right,
                  const Fold::State& b) {
  return left + " is " + text_of(fold, a) + ", " + right + " is " + text_of(fold, b);
}

}  // namespace

Fold::State Fold::empty() const {
  State out;
  for (const FoldValue& value : state) out.push_back(value.empty);
  return out;
}

Fold::State Fold::each(const std::vector<double>& element) const {
  State out;
  for (const FoldValue& value : state) out.push_back(value.each(element));
  return out;
}

Fold::State Fold::merge(const State& a, const State& b) const {
  State both = a, out;
  both.insert(both.end(), b.begin(), b.end());
  for (const FoldValue& value : state) out.push_back(value.merge(both));
  return out;
}

bool operator==(const Fold& a, const Fold& b) {
  return a.name == b.name && a.of == b.of && a.state == b.state && a.result == b.result;
}

std::string refutation(const Fold& fold) {
  std::mt19937 random(1);  // NOLINT: the same examples on every machine
  const auto element = [&] {
    std::vector<double> out;
    for (std::size_t i = 0; i < fold.of.size(); ++i)
      out.push_back(range * (static_cast<double>(random() % 20011) / 10005.5 - 1));
    return fold.each(out);
  };
  const auto part = [&] {
    Fold::State out = element();
    for (int more = static_cast<int>(random() % longest_part); more > 0; --more) out = fold.merge(out, element());
    return out;
  };
  for (int i = 0; i < trials; ++i) {
    const Fold::State a = part(), b = part(), c = part();
    const Fold::State left = fold.merge(fold.merge(a, b), c), right = fold.merge(a, fold.merge(b, c));
    if (!near(left, right)) return apart(fold, "(a b) c", left, "a (b c)", right);
    const Fold::State with = fold.merge(fold.empty(), a), behind = fold.merge(a, fold.empty());
    if (!near(with, a)) return apart(fold, "a part", a, "nothing merged with it", with);
    if (!near(behind, a)) return apart(fold, "a part", a, "merged with nothing it", behind);
  }
  return "";
}

}  // namespace napkin::internal
