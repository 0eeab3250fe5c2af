#include "napkin/ask.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "model/base/printable.hpp"

namespace napkin {

using namespace internal;

namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  return !text.empty() && letter(text.front()) && text.back() != '.' && std::all_of(text.begin(), text.end(), inner);
}

/// Returns the pairs of "name=value,...", names single.
std::vector<std::pair<std::string, std::string>> parse_pairs(std::string_view text, const std::string& where,
                                                             const std::string& example) {
  const std::string right = "write name=value pairs with commas between them, such as " + example;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& word : parse_words(text, where, right)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw Error(where, in_quotes(word) + " has no '='", right);
    std::string name(trimmed(std::string_view(word).substr(0, equals)));
    std::string value(trimmed(std::string_view(word).substr(equals + 1)));
    if (!is_name(name)) throw Error(where, in_quotes(word) + " does not begin with a name", right);
    if (value.empty()) throw Error(where, name + " has no value", right);
    for (const auto& [earlier, unused] : pairs) {
      if (earlier == name) throw Error(where, name + " is given twice", "give it once");
    }
    pairs.emplace_back(std::move(name), std::move(value));
  }
  return pairs;
}

constexpr std::int64_t to_the_end = -1;                                       // side of a window without a limit
constexpr std::int64_t most_keys = std::numeric_limits<std::int64_t>::max();  // a window is cut to the array

constexpr std::int64_t most_points = 4096, most_steps = 32;

SizeRange parse_range(const std::string& name, std::string_view text, const std::string& where) {
  const std::string right = "LOW..HIGH, or LOW..HIGH:STEP, such as 512..16384";
  const std::size_t dots = text.find(".."), colon = std::min(text.find(':'), text.size());
  const std::string_view low = text.substr(0, dots), high = text.substr(dots + 2, colon - std::min(colon, dots + 2));
  const bool steps = colon < text.size();
  if (colon < dots || low.empty() || high.empty() || (steps && colon + 1 == text.size()))
    throw Error(where, name + " is " + in_quotes(text) + ", a range without an end or a step", right);
  SizeRange range;
  range.from = parse_number(low, 1, where, name + "'s lower end");
  range.to = parse_number(high, 1, where, name + "'s upper end");
  if (range.to < range.from) {
    const std::string turned = std::to_string(range.to) + ".." + std::to_string(range.from);
    throw Error(where, name + " is " + in_quotes(text) + ", a range that runs backward", turned);
  }
  if (steps) {
    range.step = parse_number(text.substr(colon + 1), 1, where, name + "'s step");
  } else {
    while ((range.to - range.from) / range.step > most_steps) range.step *= 2;
  }
  if ((range.to - range.from) / range.step >= most_points - 1) {
    throw Error(where, name + " runs through more than " + std::to_string(most_points) + " sizes",
                "a longer step, such as " + std::string(low) + ".." + std::string(high) + ":" +
                    std::to_string((range.to - range.from) / (most_points / 2)));
  }
  return range;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 40;
  return "'" + printable(text.substr(0, most)) + (text.size() > most ? "...'" : "'");
}

std::vector<std::string> parse_words(std::string_view text, const std::string& where, const std::string& right) {
  if (trimmed(text).empty()) throw Error(where, "is empty", right);
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view word = trimmed(text.substr(at, comma - at));
    if (word.empty()) throw Error(where, "has nothing between two commas or at an end", right);
    words.emplace_back(word);
    at = comma + 1;
  }
  return words;
}

std::int64_t parse_number(std::string_view text, std::int64_t least, const std::string& where,
                          const std::string& what) {
  const std::string right = "a whole number from " + std::to_string(least);
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (stop != end || text.empty() || error == std::errc::invalid_argument) {
    throw Error(where, what + " is " + in_quotes(text) + ", which is no whole number", right + ", digits only");
  }
  if (error == std::errc::result_out_of_range) {
    throw Error(where, what + " is " + in_quotes(text) + ", which does not fit 64 bits", right);
  }
  if (number < least) throw Error(where, what + " is " + std::to_string(number), right);
  return number;
}

NamedSizes parse_shape(std::string_view text, const std::string& where) {
  NamedSizes sizes;
  for (const auto& [name, value] : parse_pairs(text, where, "q=8192,x=8192,d=128")) {
    if (value.find("..") != std::string::npos)
      throw Error(where, name + " is the range " + in_quotes(value), "one size: napkin select alone takes a range");
    sizes.emplace_back(name, parse_number(value, 1, where, name));
  }
  return sizes;
}

std::vector<SequenceLengths> parse_lengths(std::string_view text, const std::string& where) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  const std::string right =
      "lengths with commas between them, such as 512,4096,1,0 or 64*1x8192 (64 sequences of 1 query and 8192 keys)";
  std::vector<SequenceLengths> out;
  for (const std::string& word : parse_words(text, where, right)) {
    std::string_view rest = word;
    std::int64_t count = 1;
    if (const std::size_t star = rest.find('*'); star != std::string_view::npos) {
      count = parse_number(rest.substr(0, star), 1, where, "the number of sequences in " + in_quotes(word));
      rest.remove_prefix(star + 1);
    }
    const std::size_t by = rest.find('x');
    SequenceLengths one;
    one.q = parse_number(rest.substr(0, by), 0, where, "a length in " + in_quotes(word));
    one.x = by == std::string_view::npos
                ? one.q
                : parse_number(rest.substr(by + 1), 0, where, "a length in " + in_quotes(word));
    if (count > most - std::ssize(out))
      throw Error(where, "has more than " + std::to_string(most) + " sequences", "fewer");
    out.insert(out.end(), static_cast<std::size_t>(count), one);
  }
  return out;
}

std::vector<std::int64_t> SizeRange::points() const {
  std::vector<std::int64_t> out{from};
  for (std::int64_t size = from;;) {
    const std::int64_t gap = step - size % step;  // distance to the next multiple
    if (to - size <= gap) break;
    size += gap;
    out.push_back(size);
  }
  if (to > from) out.push_back(to);
  return out;
}

NamedSizes ShapeFamily::at(std::int64_t size) const {
  NamedSizes out = fixed;
  for (const std::string& axis : axes) out.emplace_back(axis, size);
  return out;
}

ShapeFamily parse_family(std::string_view text, const std::string& where) {
  ShapeFamily family;
  for (const auto& [name, value] : parse_pairs(text, where, "h=16,q=512..16384,x=512..16384,d=128")) {
    if (value.find("..") == std::string::npos) {
      family.fixed.emplace_back(name, parse_number(value, 1, where, name));
      continue;
    }
    const SizeRange range = parse_range(name, value, where);
    if (!family.axes.empty() && range != family.range) {
      throw Error(where, family.axes.front() + " and " + name + " have different ranges",
                  "one range; axes that grow together have the same, as in q=512..16384,x=512..16384");
    }
    family.range = range;
    family.axes.push_back(name);
  }
  return family;
}

TileText parse_tile(std::string_view text, const std::string& where) {
  return parse_pairs(text, where, "q=128,x=128,stages=2");
}

std::vector<std::pair<std::string, double>> parse_fractions(std::string_view text, const std::string& where) {
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [name, value] : parse_pairs(text, where, "P=0.66,O=1")) {
    double number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (stop != end || error != std::errc() || !(number >= 0) || !std::isfinite(number))
      throw Error(where, name + " is " + in_quotes(value), "a number from 0, such as 0.66");
    out.emplace_back(name, number);
  }
  return out;
}

double parse_positive(std::string_view text, const std::string& where, const std::string& what) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (stop != end || error != std::errc() || !(number > 0) || !std::isfinite(number))
    throw Error(where, what + " is " + in_quotes(text), "a number above 0, such as 1.41");
  return number;
}

Mask parse_window(std::string_view text, const std::string& where) {
  const std::string right =
      "two whole numbers from 0, such as 1023,0 (keys seen to the left and to the right), or -1 for no limit";
  const std::vector<std::string> words = parse_words(text, where, right);
  if (words.size() != 2)
    throw Error(where, "has " + std::to_string(words.size()) + (words.size() == 1 ? " number" : " numbers"), right);
  const std::int64_t left = parse_number(words[0], to_the_end, where, "L");
  const std::int64_t rightmost = parse_number(words[1], to_the_end, where, "R");
  if (left == to_the_end && rightmost == to_the_end) return {};
  if (left == to_the_end && rightmost == 0) return {Mask::Kind::causal, 0, 0};
  const auto end = [](std::int64_t side) { return side == to_the_end ? most_keys : side; };
  return {Mask::Kind::window, end(left), end(rightmost)};
}

Mask parse_prefix(std::string_view text, const std::string& where) {
  return {Mask::Kind::prefix, parse_number(text, 1, where, "N"), 0};
}

}  // namespace napkin
