// The knobs of a mapping file: {unit, domain, about} with numbers, or {words, about}: a list, or of the order knob a
// map to what each word means.
#include <algorithm>

#include "model/mapping/read/read.hpp"

namespace napkin::internal::mapping_text {
namespace {

constexpr std::size_t most_values = 4096;  // values of a knob's domain at most
}  // namespace

std::vector<std::int64_t> Reader::domain(const yaml::Node& node, std::int64_t least) const {
  std::vector<std::int64_t> out;
  if (node.is_map()) {
    node.allow({"from", "to", "step"});
    const std::int64_t from = node.at("from").integer(least, most), to = node.at("to").integer(least, most);
    const std::int64_t step = node.at("step").integer(-most, most);
    if (step == 0 || (to - from) / step < 0)
      node.at("step").fail("never reaches 'to'", "a step from 'from' towards 'to'");
    if ((to - from) / step >= static_cast<std::int64_t>(most_values))
      node.fail("more than 4096 values", "a larger step");
    for (std::int64_t v = from; step > 0 ? v <= to : v >= to; v += step) out.push_back(v);
  } else {
    for (const yaml::Node& item : node.items()) {
      const std::int64_t v = item.integer(least, most);
      if (std::find(out.begin(), out.end(), v) != out.end()) item.fail("stands twice in the domain", "each value once");
      out.push_back(v);
    }
  }
  if (out.empty()) node.fail("an empty domain", "at least one value");
  if (out.size() > most_values) node.fail("more than 4096 values", "fewer");
  return out;
}

namespace {

OrderWord order_word(const yaml::Node& node) {
  node.allow({"tiles", "path", "axes"});
  static const std::vector<std::string> tiles = {"launched", "dealt", "drawn", "even"},
                                        paths = {"rows", "longest_first", "grouped", "hilbert"};
  const auto index = [](const std::vector<std::string>& words, const std::string& word) {
    return static_cast<int>(std::find(words.begin(), words.end(), word) - words.begin());
  };
  OrderWord out;
  out.tiles = static_cast<OrderWord::Tiles>(index(tiles, node.at("tiles").choice(tiles)));
  if (const auto* path = node.find("path")) out.path = static_cast<OrderWord::Path>(index(paths, path->choice(paths)));
  using Tiles = OrderWord::Tiles;
  if (out.tiles == Tiles::even && out.path != OrderWord::Path::rows)
    node.at("path").fail("tiles in even shares go row by row", "rows, or tiles: dealt");
  switch (out.path) {
    case OrderWord::Path::rows: break;
    case OrderWord::Path::longest_first:
      if (out.tiles == Tiles::dealt) node.at("tiles").fail("the longest tiles first, dealt out", "launched or drawn");
      break;
    case OrderWord::Path::grouped:
      if (out.tiles == Tiles::drawn) node.at("tiles").fail("tiles drawn in groups", "launched or dealt");
      break;
    default:
      if (out.tiles != Tiles::dealt) node.at("tiles").fail("tiles of this path are dealt out", "dealt");
  }
  if (const auto* axes = node.find("axes")) out.axes = axes->words();
  return out;
}

}  // namespace

bool is_name(const std::string& text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (text.empty() || !letter(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; });
}

bool is_number(const std::string& text) {
  return !text.empty() && (text[0] == '-' || text[0] == '+' || (text[0] >= '0' && text[0] <= '9'));
}

std::vector<std::string> knob_names(const Mapping& mapping) {
  std::vector<std::string> names;
  for (const Knob& knob : mapping.knobs) names.push_back(knob.name);
  return names;
}

void check_orders(const Mapping& mapping, const yaml::Node& knobs) {
  const auto knob = mapping.order_knob();
  if (!knob) return;
  const Knob& order = mapping.knobs[static_cast<std::size_t>(*knob)];
  for (std::size_t word = 0; word < order.orders.size(); ++word) {
    std::vector<std::string> axes = order.orders[word].axes;
    if (axes.empty()) continue;
    const yaml::Node& node = knobs.at(order.name).at("words").at(order.words[word]).at("axes");
    const auto permutes = [&](const LevelMapping& level) {
      return std::is_permutation(axes.begin(), axes.end(), level.group.begin(), level.group.end());
    };
    if (std::none_of(mapping.levels.begin(), mapping.levels.end(), permutes))
      node.fail("are not the grouped axes of a level, each once", "a permutation of the block's group");
    for (const LevelMapping& level : mapping.levels) {
      if (level.nodes && level.group != std::vector<std::string>{axes.back()})
        node.fail("a cluster's blocks do not run side by side", "the cluster's axis last");
    }
  }
}

void check_sizes(const Mapping& mapping) {
  for (const Knob& knob : mapping.knobs) {
    if (!knob.words.empty() || std::count(knob.domain.begin(), knob.domain.end(), 0) == 0) continue;
    const std::string axis = knob.name.substr(knob.name.find('.') + 1);
    for (const LevelMapping& level : mapping.levels) {
      if (lists(level.group, axis) || lists(level.stream, axis))
        throw Error(knob.location, "knobs." + knob.name + ".domain", "0 of an axis", "a domain from 1");
    }
  }
}

Knob Reader::knob(const std::string& name, const yaml::Node& node) const {
  Knob knob;
  knob.name = name;
  knob.location = node.key_location();
  node.allow({"unit", "domain", "words", "search", "before", "about"});
  if (!is_name(name)) throw Error(node.key_location(), node.path(), "not a name", "letters, digits, _ and .");
  if (const auto* about = node.find("about")) knob.about = about->text();
  if (const auto* search = node.find("search")) knob.searched = search->choice({"on", "off"}) == "on";
  const auto* words = node.find("words");
  const auto* numbers = node.find("domain");
  if ((words != nullptr) == (numbers != nullptr))
    node.fail("needs a domain or words", "either domain: [...] or words: [...]");
  if (words != nullptr) {
    if (node.find("unit") != nullptr) node.at("unit").fail("words have no unit", "no unit");
    const auto add = [&](const std::string& word, const yaml::Node& item) {
      if (std::find(knob.words.begin(), knob.words.end(), word) != knob.words.end())
        item.fail("stands twice", "each word once");
      if (is_number(word)) item.fail("a number among words", "a word, or domain: [...]");
      knob.domain.push_back(static_cast<std::int64_t>(knob.words.size()));
      knob.words.push_back(word);
    };
    if (words->is_map()) {
      if (m_.order_knob()) words->fail("a second knob that orders the tiles", "one");
      for (const auto& [word, item] : words->entries()) {
        add(word, item);
        knob.orders.push_back(order_word(item));
      }
    } else {
      for (const yaml::Node& item : words->items()) add(item.text(), item);
    }
    if (knob.words.empty()) words->fail("an empty domain", "at least one word");
  } else {
    knob.unit = node.at("unit").text();
    knob.domain = domain(*numbers, 0);
  }
  if (const auto* before = node.find("before")) knob.before = knob_value(knob, *before);
  return knob;
}

void Reader::knobs(const yaml::Node& node) {
  for (const auto& [name, entry] : node.entries()) m_.knobs.push_back(knob(name, entry));
  if (m_.knobs.size() > 64) node.fail("more than 64 knobs", "fewer");
}

std::int64_t Reader::knob_value(const Knob& knob, const yaml::Node& node) const {
  if (!knob.words.empty()) {
    const std::string word = node.choice(knob.words);
    return std::find(knob.words.begin(), knob.words.end(), word) - knob.words.begin();
  }
  const std::int64_t v = node.integer(0, most);
  if (std::find(knob.domain.begin(), knob.domain.end(), v) == knob.domain.end()) {
    node.fail("not in the domain of '" + knob.name + "'", "one of its values");
  }
  return v;
}

}  // namespace napkin::internal::mapping_text
