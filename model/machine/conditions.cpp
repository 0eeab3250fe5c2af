#include "model/machine/conditions.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "model/base/error.hpp"
#include "model/base/printable.hpp"

namespace napkin {

using namespace internal;

CardLoad parse_card_load(std::string_view text, const std::string& where) {
  if (text == "sustained") return {};
  if (text == "burst") return {CardLoad::Kind::burst, 1};
  double fraction = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fraction);
  if (error != std::errc() || end != text.data() + text.size() || !(fraction > 0 && fraction <= 1)) {
    throw Error(where, "is '" + printable(text) + "'",
                "sustained, burst, or the fraction of the time for which the card runs it, such as 0.3");
  }
  return {CardLoad::Kind::fraction, fraction};
}

bool parse_l2(std::string_view text, const std::string& where) {
  if (text != "cold" && text != "warm") throw Error(where, "is '" + printable(text) + "'", "warm or cold");
  return text == "cold";
}

std::string text_of(const CardLoad& load) {
  if (load.kind == CardLoad::Kind::sustained) return "sustained";
  return load.kind == CardLoad::Kind::burst ? "burst" : fmt::format("{}", load.fraction);
}

std::string text_of(const CardConditions& conditions) {
  std::string text = "load " + text_of(conditions.load);
  for (const auto& [name, value] : {std::pair("clock", conditions.clock), std::pair("limit", conditions.limit),
                                    std::pair("held", conditions.held)}) {
    if (value) text += fmt::format(", {} {}", name, *value);
  }
  if (conditions.cold) text += ", l2 cold";
  return text;
}

}  // namespace napkin
