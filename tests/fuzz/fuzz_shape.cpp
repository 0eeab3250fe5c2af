// links: apps/library
// The small texts of the command line: sizes, tiles, windows, lists. Whatever the bytes: an Error, or a value that
// prints back to the same value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/diagram/packing.hpp"
#include "napkin/ask.hpp"

namespace {

template <class Parse, class Check>
void parse_and_check(Parse&& parse, Check&& check) {
  try {
    check(parse());
  } catch (const napkin::Error& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.find('\n') != std::string_view::npos) std::abort();
  }
}

void require(bool condition) {
  if (!condition) std::abort();
}

std::string text_of(const napkin::NamedSizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += (text.empty() ? "" : ",") + name + "=" + std::to_string(size);
  return text;
}

std::string text_of(const napkin::TileText& tile) {
  std::string text;
  for (const auto& [name, value] : tile) text += (text.empty() ? "" : ",") + name + "=" + value;
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  parse_and_check([&] { return napkin::parse_shape(text); },
                  [](const napkin::NamedSizes& sizes) {
                    require(!sizes.empty());
                    for (const auto& [name, number] : sizes) require(!name.empty() && number >= 1);
                    require(napkin::parse_shape(text_of(sizes)) == sizes);
                  });
  parse_and_check(
      [&] { return napkin::parse_tile(text); },
      [](const napkin::TileText& tile) { require(!tile.empty() && napkin::parse_tile(text_of(tile)) == tile); });
  parse_and_check([&] { return napkin::parse_window(text); },
                  [](const napkin::Mask& mask) {
                    require(mask.left >= 0 && mask.right >= 0);
                    if (mask.kind != napkin::Mask::Kind::window) return;
                    require(napkin::parse_window(std::to_string(mask.left) + "," + std::to_string(mask.right)) == mask);
                  });
  parse_and_check([&] { return napkin::parse_lengths(text); },
                  [](const std::vector<napkin::SequenceLengths>& lengths) {
                    require(!lengths.empty());
                    for (const napkin::SequenceLengths& one : lengths) require(one.q >= 0 && one.x >= 0);
                    require(napkin::parse_lengths(napkin::internal::text_of(lengths)) == lengths);
                  });
  parse_and_check([&] { return napkin::parse_words(text, "--gpus", "names"); },
                  [](const auto& words) { require(!words.empty()); });
  require(napkin::in_quotes(text).size() <= 4 * 40 + 5);
  return 0;
}
