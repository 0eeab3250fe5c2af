#pragma once
// amount_of evaluates an expression of a step's file for a size or a number of bytes: with b=64 and q=1, "b*q" is 64.
// Internal to apps/.
//
//   amount := product {("+" | "-") product}      product := factor {("*" | "/") factor}
//   factor := NUMBER | SYMBOL | FUNCTION "(" amount {"," amount} ")" | "(" amount ")"
//
// A quotient has to be whole. min and max take two amounts or more; ceil(a, b) is a / b rounded up; touched(e, k, t) is
// how many of e experts t tokens reach in the mean, each of which chooses k of them at random: e (1 - (1 - k/e)^t),
// rounded.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/base/yaml.hpp"

namespace napkin::internal {

using Symbols = std::vector<std::pair<std::string, std::int64_t>>;

/// Computes an amount from its text. Throws Error, at the character, for a text that is no amount, an unknown symbol, a
/// quotient that is not whole, and an amount below `least`.
[[nodiscard]] std::int64_t amount_of(const yaml::Node& node, const Symbols& symbols, std::int64_t least);

}  // namespace napkin::internal
