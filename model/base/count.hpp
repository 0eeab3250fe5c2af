#pragma once
// A Count is a whole number that never wraps: a sum beyond 2^63 throws Overflow.

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "model/base/error.hpp"

namespace napkin {

/// A whole number of 64 bits whose arithmetic throws Overflow instead of wrapping.
class Count {
 public:
  constexpr Count() = default;
  template <std::integral T>
  constexpr Count(T value) : value_(static_cast<std::int64_t>(value)) {  // NOLINT: a number is a count
    if constexpr (std::unsigned_integral<T> && sizeof(T) == 8) {
      if (value > static_cast<T>(INT64_MAX)) throw Overflow("a count");
    }
  }

  [[nodiscard]] constexpr std::int64_t get() const { return value_; }
  explicit constexpr operator double() const { return static_cast<double>(value_); }

  friend constexpr Count operator+(Count a, Count b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.value_, b.value_, &sum)) throw Overflow("a sum");
    return sum;
  }
  friend constexpr Count operator-(Count a, Count b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a.value_, b.value_, &difference)) throw Overflow("a difference");
    return difference;
  }
  friend constexpr Count operator*(Count a, Count b) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.value_, b.value_, &product)) throw Overflow("a product of sizes");
    return product;
  }
  friend constexpr Count operator/(Count a, Count b) { return a.value_ / b.value_; }
  friend constexpr Count operator%(Count a, Count b) { return a.value_ % b.value_; }
  constexpr Count& operator+=(Count b) { return *this = *this + b; }
  constexpr Count& operator-=(Count b) { return *this = *this - b; }
  constexpr Count& operator*=(Count b) { return *this = *this * b; }
  friend constexpr auto operator<=>(Count, Count) = default;
  friend constexpr bool operator==(Count, Count) = default;

 private:
  std::int64_t value_ = 0;
};

[[nodiscard]] constexpr double real(Count count) { return static_cast<double>(count); }

/// Converts an id >= 0 into an index of the list that it counts.
[[nodiscard]] constexpr std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// Returns ceil(a / b) for a >= 0, b > 0.
[[nodiscard]] constexpr Count ceil_div(Count a, Count b) {
  return Count(a.get() / b.get() + (a.get() % b.get() != 0 ? 1 : 0));
}

/// Returns the smallest multiple of b that is at least a.
[[nodiscard]] constexpr Count round_up(Count a, Count b) { return ceil_div(a, b) * b; }

}  // namespace napkin
