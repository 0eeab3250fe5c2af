#include "apps/library/judge/published_names.hpp"

#include <algorithm>
#include <cctype>

#include "model/base/library.hpp"
#include "model/base/yaml.hpp"

namespace napkin::internal {
namespace {

constexpr std::string_view names_path = "apps/library/judge/data/names.yaml";

bool any_matches(const std::vector<std::string>& patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) { return matches(p, text); });
}

std::string text_or_empty(const yaml::Node& node, std::string_view key) {
  const yaml::Node* value = node.find(key);
  return value == nullptr ? std::string() : value->text();
}

std::vector<std::string> words_or_none(const yaml::Node& node, std::string_view key) {
  const yaml::Node* value = node.find(key);
  return value == nullptr ? std::vector<std::string>() : value->words();
}

std::optional<double> number_or_none(const yaml::Node& node, std::string_view key) {
  const yaml::Node* value = node.find(key);
  if (value == nullptr) return std::nullopt;
  return value->number();
}

PublishedMatch read_match(const yaml::Node& node) {
  PublishedMatch match{text_or_empty(node, "gpu"),
                       text_or_empty(node, "kernel"),
                       text_or_empty(node, "source"),
                       text_or_empty(node, "note"),
                       text_or_empty(node, "dtype"),
                       {},
                       std::nullopt};
  if (const yaml::Node* d = node.find("d")) {
    for (const yaml::Node& size : d->items()) match.d.push_back(size.integer(1, 1 << 20));
  }
  if (const yaml::Node* causal = node.find("causal")) match.causal = causal->boolean();
  return match;
}

PublishedKernel read_kernel(const yaml::Node& node) {
  node.allow({"names", "algorithm", "dtypes", "mappings", "pick", "most_queries", "tile", "tiles", "knobs"});
  PublishedKernel kernel;
  kernel.names = node.at("names").words();
  kernel.dtypes = node.at("dtypes").words();
  for (const yaml::Node& mapping : node.at("mappings").items()) {
    const auto cases = mapping.is_sequence() ? mapping.words() : std::vector<std::string>{mapping.text()};
    kernel.mappings.insert(kernel.mappings.end(), cases.begin(), cases.end());
    if (!cases.empty()) kernel.more_cases.insert(cases.begin(), cases.end() - 1);
  }
  kernel.algorithm = node.at("algorithm").choice({"attention", "latent_attention", "attention_backward", "matmul"});
  if (const yaml::Node* pick = node.find("pick")) {
    const std::string how(pick->choice({"first", "fastest", "divided"}));
    kernel.fastest = how == "fastest", kernel.divided = how == "divided";
  }
  if (const yaml::Node* most = node.find("most_queries")) kernel.most_queries = most->integer(1, 1 << 20);
  kernel.tile = node.at("tile").words();
  if (const yaml::Node* tiles = node.find("tiles")) {
    for (const auto& [text, knobs] : tiles->entries()) {
      kernel.tiles.emplace_back(text, TileText{});
      for (const auto& [knob, value] : knobs.entries()) kernel.tiles.back().second.emplace_back(knob, value.text());
    }
  }
  if (const yaml::Node* knobs = node.find("knobs")) {
    for (const yaml::Node& line : knobs->items()) {
      line.allow({"gpu", "kernel", "source", "note", "d", "causal", "dtype", "architectures", "set", "among"});
      PublishedKernel::Knobs read{read_match(line), words_or_none(line, "architectures"), {}, {}};
      if (const yaml::Node* set = line.find("set")) {
        for (const auto& [knob, value] : set->entries()) read.set.emplace_back(knob, value.text());
      }
      if (const yaml::Node* among = line.find("among")) {
        for (const auto& [knob, values] : among->entries()) read.among.emplace_back(knob, values.words());
      }
      kernel.knobs.push_back(std::move(read));
    }
  }
  return kernel;
}

std::vector<std::pair<std::vector<std::string>, std::string>> read_pairs(const yaml::Node& list, const char* value) {
  std::vector<std::pair<std::vector<std::string>, std::string>> out;
  for (const yaml::Node& one : list.items()) {
    one.allow({"names", value});
    out.emplace_back(one.at("names").words(), one.at(value).text());
  }
  return out;
}

void put(TileText& tile, const std::string& knob, const std::string& value) {
  const auto known = std::find_if(tile.begin(), tile.end(), [&](const auto& one) { return one.first == knob; });
  if (known == tile.end())
    tile.emplace_back(knob, value);
  else
    known->second = value;
}

/// Puts a word of a tile into knobs: "128x64" as the kernel's sizes; "4w", "2WG", "3 stages", "cluster 2", "8 warps" by
/// unit. Returns false for any other word.
bool put_word(const PublishedKernel& kernel, std::string_view word, TileText& tile) {
  std::vector<std::string> numbers, units;
  for (std::size_t at = 0; at < word.size();) {
    const bool digit = std::isdigit(static_cast<unsigned char>(word[at])) != 0;
    std::size_t end = at;
    while (end < word.size() && (std::isdigit(static_cast<unsigned char>(word[end])) != 0) == digit) ++end;
    std::string part(word.substr(at, end - at));
    part.erase(std::remove(part.begin(), part.end(), ' '), part.end());
    (digit ? numbers : units).push_back(part);
    at = end;
  }
  std::erase(units, "");
  if (numbers.size() == kernel.tile.size() && units == std::vector<std::string>(numbers.size() - 1, "x")) {
    for (std::size_t i = 0; i < numbers.size(); ++i) put(tile, kernel.tile[i], numbers[i]);
    return true;
  }
  static const std::vector<std::pair<std::string, std::string>> known = {{"w", "warps"},       {"warps", "warps"},
                                                                         {"WG", "warpgroups"}, {"stages", "stages"},
                                                                         {"stage", "stages"},  {"cluster", "cluster"}};
  if (numbers.size() != 1 || units.size() != 1) return false;
  for (const auto& [unit, knob] : known) {
    if (unit != units.front()) continue;
    put(tile, knob, numbers.front());
    return true;
  }
  return false;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= text.size(); ++at) {
    if (matches(rest, text.substr(at))) return true;
  }
  return false;
}

bool PublishedMatch::operator()(const PublishedRow& row) const {
  const auto fits = [](const std::string& pattern, const std::string& text) {
    return pattern.empty() || matches(pattern, text);
  };
  if (!fits(gpu, row.gpu) || !fits(kernel, row.kernel) || !fits(source, row.source) || !fits(note, row.note))
    return false;
  if (!fits(dtype, row.dtype) || (causal && row.causal != causal)) return false;
  return d.empty() || (row.d && std::find(d.begin(), d.end(), *row.d) != d.end());
}

const std::string* PublishedNames::profile(const std::string& gpu) const {
  for (const auto& [patterns, profile] : gpus) {
    if (any_matches(patterns, gpu)) return &profile;
  }
  return nullptr;
}

const PublishedNames::NoJudge* PublishedNames::no_judge(const std::string& kernel) const {
  for (const NoJudge& one : no_judges) {
    if (matches(one.named, kernel)) return &one;
  }
  return nullptr;
}

const PublishedKernel* PublishedNames::kernel(const PublishedRow& row, std::string_view algorithm, bool divided) const {
  for (const PublishedKernel& one : kernels) {
    if (one.divided && !divided) continue;
    if (one.most_queries && (!row.q || *row.q > *one.most_queries)) continue;
    if (one.algorithm == algorithm && any_matches(one.names, row.kernel) && any_matches(one.dtypes, row.dtype))
      return &one;
  }
  return nullptr;
}

std::string PublishedNames::doubt(const PublishedRow& row) const {
  for (const auto& [match, why] : doubts) {
    if (match(row)) return why;
  }
  return "";
}

std::string PublishedNames::dtype(const std::string& name) const {
  for (const auto& [theirs, ours] : dtypes) {
    if (theirs == name) return ours;
  }
  return name;
}

namespace {

PublishedNames read_published_names(const yaml::Node& document) {
  document.allow({"dtypes", "gpus", "no_judges", "kernels", "conditions", "doubts"});
  PublishedNames names;
  for (const auto& [theirs, ours] : document.at("dtypes").entries()) names.dtypes.emplace_back(theirs, ours.text());
  names.gpus = read_pairs(document.at("gpus"), "profile");
  for (const auto& [patterns, why] : read_pairs(document.at("no_judges"), "why")) {
    for (const std::string& pattern : patterns) names.no_judges.push_back({pattern, why});
  }
  for (const yaml::Node& one : document.at("kernels").items()) names.kernels.push_back(read_kernel(one));
  for (const yaml::Node& one : document.at("conditions").items()) {
    one.allow({"source", "kernel", "note", "clock", "power", "held", "host", "calls", "load", "launches", "l2", "ahead",
               "why"});
    (void)one.at("source").text();
    (void)one.at("why").text();
    const yaml::Node *calls = one.find("calls"), *load = one.find("load"), *l2 = one.find("l2");
    names.conditions.push_back({read_match(one), number_or_none(one, "clock"), number_or_none(one, "power"),
                                number_or_none(one, "held"), number_or_none(one, "host"),
                                calls != nullptr && calls->choice({"in a row", "one by one"}) == "one by one",
                                load != nullptr && load->choice({"sustained", "burst"}) == "burst",
                                l2 != nullptr && l2->choice({"warm", "cold"}) == "cold",
                                number_or_none(one, "launches").value_or(0), text_or_empty(one, "ahead")});
  }
  for (const yaml::Node& one : document.at("doubts").items()) {
    one.allow({"gpu", "kernel", "source", "note", "dtype", "d", "causal", "why"});
    names.doubts.emplace_back(read_match(one), one.at("why").text());
  }
  return names;
}

}  // namespace

PublishedNames parse_published_names(std::string_view text, const std::string& file) {
  const yaml::Document document = yaml::parse(text, file);
  return read_published_names(document.root());
}

const PublishedNames& published_names() {
  static const PublishedNames names = read_published_names(yaml::embedded(embedded_file(names_path)).root());
  return names;
}

std::string_view published_rows_text() { return embedded_file(published_rows_path).text; }

namespace {

/// Returns the part of a row's tile that belongs to the algorithm's pass.
std::string tile_of(const PublishedRow& row, const std::string& algorithm) {
  const std::string pass = algorithm == "attention_backward" ? "bwd " : "fwd ";
  for (std::size_t at = 0; at < row.tile.size();) {
    const std::size_t end = std::min(row.tile.find(';', at), row.tile.size());
    const std::string part = row.tile.substr(at, end - at);
    if (part.starts_with(pass)) return part.substr(pass.size());
    at = row.tile.find_first_not_of("; ", end);
  }
  return row.tile.starts_with("fwd ") || row.tile.starts_with("bwd ") ? "" : row.tile;
}

/// Combines each tile with each of the values.
std::vector<TileText> with_each(const std::vector<TileText>& tiles, const std::string& knob,
                                const std::vector<std::string>& values) {
  std::vector<TileText> out;
  for (const TileText& tile : tiles) {
    for (const std::string& value : values) put(out.emplace_back(tile), knob, value);
  }
  return out;
}

}  // namespace

std::vector<TileText> published_tiles(const PublishedKernel& kernel, const std::string& architecture,
                                      const PublishedRow& row) {
  std::vector<TileText> tiles(1);
  for (const PublishedKernel::Knobs& line : kernel.knobs) {
    if (!line.match(row)) continue;
    const auto& known = line.architectures;
    if (!known.empty() && std::find(known.begin(), known.end(), architecture) == known.end()) continue;
    for (const auto& [knob, value] : line.set) tiles = with_each(tiles, knob, {value});
    for (const auto& [knob, values] : line.among) tiles = with_each(tiles, knob, values);
  }
  const std::string own = tile_of(row, kernel.algorithm);
  for (const auto& [text, knobs] : kernel.tiles) {
    if (text != own) continue;
    for (const auto& [knob, value] : knobs) tiles = with_each(tiles, knob, {value});
    return tiles;
  }
  for (std::size_t at = 0; at < own.size();) {
    const std::size_t end = std::min(own.find(',', at), own.size());
    for (TileText& tile : tiles) {
      if (!put_word(kernel, std::string_view(own).substr(at, end - at), tile)) return {};
    }
    at = end + 1;
  }
  return tiles;
}

}  // namespace napkin::internal
