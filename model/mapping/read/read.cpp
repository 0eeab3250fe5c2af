#include "model/mapping/read/read.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

namespace napkin::internal::mapping_text {
namespace {

constexpr std::int64_t most_section_bytes = std::int64_t{1} << 40;
constexpr std::int64_t most_barriers = 1024;      // limit far above the barriers of any kernel
constexpr std::string_view whole_axis = "axis.";  // prefix of an axis whose name a knob has too

bool lists_sizes_of(const Mapping& mapping, const std::string& axis) {
  return std::any_of(mapping.head_sizes.begin(), mapping.head_sizes.end(),
                     [&](const auto& one) { return one.first == axis; });
}

}  // namespace

Mapping Reader::read(const yaml::Node& document, const std::string& file, const FindTable& find_table) {
  document.allow({"mapping",   "extends", "about",  "algorithm", "runs_on",  "source",        "proposed",
                  "dtypes",    "masks",   "sizes",  "packs",     "emit",     "launches",      "knobs",
                  "relations", "agents",  "levels", "arrays",    "barriers", "section_bytes", "operations",
                  "edges",     "combine", "tables", "layout",    "deals"});
  Mapping mapping;
  mapping.file = file;
  mapping.name = document.at("mapping").text();
  if (!is_name(mapping.name)) document.at("mapping").fail("not a name", "letters, digits and _");
  if (const auto* about = document.find("about")) mapping.about = about->text();
  mapping.algorithm = document.at("algorithm").text();
  mapping.runs_on = document.at("runs_on").words();
  if (mapping.runs_on.empty()) document.at("runs_on").fail("no architecture", "[sm_90], or [sm_80+]");
  if (const auto* source = document.find("source")) mapping.source = source->text();
  if (const auto* proposed = document.find("proposed")) mapping.proposed = proposed->boolean();
  if (mapping.proposed && !mapping.source.empty())
    document.at("proposed").fail("a kernel with a source is built", "no proposed, or no source");
  if (const auto* layout = document.find("layout")) (void)layout->choice({"paged"});  // peers_mappings() leaves it out
  if (const auto* emit = document.find("emit")) mapping.emit = emit->choice({"fa3", "fa4", "triton", "none"});
  if (mapping.emit == "none") mapping.emit.clear();  // for a mapping that extends one with a form
  Reader reader(mapping, find_table);
  if (const auto* dtypes = document.find("dtypes")) {
    for (const yaml::Node& item : dtypes->items()) mapping.dtypes.push_back(reader.type(item));
  }
  if (const auto* masks = document.find("masks")) mapping.masks = mask_kinds(*masks);
  if (const auto* node = document.find("knobs")) reader.knobs(*node);
  if (const auto* node = document.find("tables")) reader.tables(*node);
  if (const auto* node = document.find("sizes")) reader.sizes(*node);
  if (const auto* node = document.find("packs")) reader.packs(*node);
  if (const auto* node = document.find("deals")) mapping.deals_visible = node->choice({"all", "visible"}) == "visible";
  if (const auto* node = document.find("relations")) reader.relations(*node);
  if (const auto* node = document.find("agents")) reader.agents(*node);
  reader.levels(document.at("levels"));
  check_sizes(mapping);
  if (const auto* node = document.find("knobs")) check_orders(mapping, *node);
  reader.variables(document.at("arrays"));
  if (const auto* node = document.find("barriers")) mapping.barriers = node->integer(0, most_barriers);
  if (const auto* node = document.find("section_bytes")) mapping.section_bytes = node->integer(1, most_section_bytes);
  reader.operations(document.at("operations"));
  if (const auto* node = document.find("edges")) reader.edges(*node);
  if (const auto* node = document.find("combine")) reader.combine(*node);
  if (const auto* node = document.find("launches")) reader.launches(*node);
  if (const auto* node = document.find("tables")) reader.check_tables(*node);
  check_within(mapping);
  return mapping;
}

void Reader::refer(Reference::Kind kind, const std::string& name, const yaml::Node& node) {
  m_.references.push_back({kind, name, node.location(), node.path()});
}

std::string Reader::type(const yaml::Node& node) const {
  if (node.text() == "T") return "T";
  try {
    return std::string(name_of(parse_dtype(node.text(), "")));
  } catch (const Error& e) {
    node.fail(e.problem(), e.right() + ", or T for the question's");
  }
}

std::vector<Mask::Kind> Reader::mask_kinds(const yaml::Node& node) {
  const std::vector<std::string> words{"none", "causal", "window", "prefix"};  // words in the order of Mask::Kind
  const auto kind = [&](const yaml::Node& item) {
    return static_cast<Mask::Kind>(std::find(words.begin(), words.end(), item.choice(words)) - words.begin());
  };
  if (!node.is_sequence()) return {kind(node)};
  std::vector<Mask::Kind> out;
  for (const yaml::Node& item : node.items()) out.push_back(kind(item));
  if (out.empty()) node.fail("no mask", "at least one");
  return out;
}

Guard Reader::guard(const yaml::Node* node, bool of_problem) {
  Guard guard;
  if (node == nullptr) return guard;
  for (const auto& [name, entry] : node->entries()) {
    if (of_problem && name == "mask") {
      guard.masks = mask_kinds(entry);
      continue;
    }
    const auto id = m_.find_knob(name);
    if (!id && of_problem && lists_sizes_of(m_, name)) {
      std::vector<std::int64_t> sizes;
      for (const yaml::Node& item : entry.items_or_one()) sizes.push_back(item.integer(1, most));
      guard.axes.emplace_back(name, std::move(sizes));
      continue;
    }
    if (!id)
      throw Error(entry.key_location(), node->path(), "unknown knob '" + name + "'",
                  one_of(name, knob_names(m_)) + (of_problem ? ", mask, or an axis that 'sizes' lists" : ""));
    const Knob& knob = m_.knobs[static_cast<std::size_t>(*id)];
    std::vector<std::int64_t> values;
    if (entry.is_sequence()) {
      for (const yaml::Node& item : entry.items()) values.push_back(knob_value(knob, item));
      if (values.empty()) entry.fail("no value", "at least one");
    } else {
      values.push_back(knob_value(knob, entry));
    }
    guard.all.emplace_back(*id, std::move(values));
  }
  return guard;
}

namespace {

/// Splits a sum of a knob and a number: "preload" and 1 for "1 + preload"; the text itself and 0 if it is no such sum.
std::pair<std::string, std::int64_t> as_sum(const std::string& text) {
  constexpr std::string_view plus = " + ";
  const std::size_t at = text.find(plus);
  std::int64_t number = 0;
  if (at == std::string::npos || std::from_chars(text.data(), text.data() + at, number).ptr != text.data() + at)
    return {text, 0};
  return {text.substr(at + plus.size()), number};
}

}  // namespace

Value Reader::value(const yaml::Node& node, std::int64_t least) {
  Value out;
  const auto [text, more] = as_sum(node.text());
  if (is_number(text) || node.is_quoted()) {
    out.literal = node.integer(least, most);
    return out;
  }
  if (const auto id = m_.find_knob(text)) {
    if (!m_.knobs[static_cast<std::size_t>(*id)].words.empty())
      node.fail("'" + text + "' is a knob of words", "a number or a knob of numbers");
    out.kind = Value::Kind::knob;
    out.knob = *id;
    out.more = more;
    const auto& domain = m_.knobs[static_cast<std::size_t>(*id)].domain;
    if (least > more && std::count(domain.begin(), domain.end(), 0) > 0)
      node.fail("'" + text + "' may be 0", "1 + " + text + ", or a domain from 1");
    return out;
  }
  if (more != 0) node.fail("unknown knob '" + text + "'", one_of(text, knob_names(m_)));
  const bool whole = text.starts_with(whole_axis);
  out.axis = whole ? text.substr(whole_axis.size()) : text;
  if (!is_name(out.axis)) node.fail("not a number, knob or axis", "such as 64, stages, dv or axis.q");
  out.kind = Value::Kind::axis;
  refer(whole ? Reference::Kind::axis : Reference::Kind::value, out.axis, node);
  return out;
}

Guarded<Value> Reader::values(const yaml::Node& node, std::int64_t least, bool of_problem) {
  Guarded<Value> out;
  if (!node.is_sequence()) {
    out.emplace_back(Guard{}, value(node, least));
    return out;
  }
  for (const yaml::Node& item : node.items()) {
    item.allow({"when", "value"});
    out.emplace_back(guard(item.find("when"), of_problem), value(item.at("value"), least));
  }
  if (out.empty()) node.fail("no alternative", "at least one {when: ..., value: ...}");
  return out;
}

std::vector<Value> Reader::product(const yaml::Node& node) {
  std::vector<Value> out;
  for (const yaml::Node& item : node.items()) out.push_back(value(item, m_.find_knob(item.text()) ? 0 : 1));
  if (out.empty()) node.fail("an empty product", "at least one factor");
  return out;
}

std::vector<std::pair<std::string, Value>> Reader::axis_values(const yaml::Node* node, std::int64_t least) {
  std::vector<std::pair<std::string, Value>> out;
  if (node == nullptr) return out;
  for (const auto& [name, entry] : node->entries()) {
    m_.references.push_back({Reference::Kind::axis, name, entry.key_location(), node->path()});
    out.emplace_back(name, value(entry, least));
  }
  return out;
}

std::vector<std::string> Reader::axes(const yaml::Node* node) {
  std::vector<std::string> out;
  if (node == nullptr) return out;
  for (const yaml::Node& item : node->items()) {
    const std::string& name = item.text();
    if (std::find(out.begin(), out.end(), name) != out.end())
      item.fail("axis '" + name + "' stands twice", "each axis once");
    refer(Reference::Kind::axis, name, item);
    out.push_back(name);
  }
  return out;
}

Relation Reader::relation(const yaml::Node& node) {
  node.allow({"name", "when", "left", "equal", "at_most", "at_least", "more_than", "multiple_of"});
  Relation out;
  out.location = node.location();
  out.name = node.at("name").text();
  out.when = guard(node.find("when"), true);
  out.left = product(node.at("left"));
  int sides = 0;
  const auto side = [&](const char* key, Relation::Kind kind) {
    const auto* right = node.find(key);
    if (right == nullptr) return;
    ++sides;
    out.kind = kind;
    out.right = product(*right);
  };
  side("equal", Relation::Kind::equal);
  side("at_most", Relation::Kind::at_most);
  side("multiple_of", Relation::Kind::multiple);
  if (node.find("at_least") != nullptr) {
    side("at_least", Relation::Kind::at_most);
    std::swap(out.left, out.right);
  }
  if (node.find("more_than") != nullptr) {
    side("more_than", Relation::Kind::less);
    std::swap(out.left, out.right);
  }
  if (sides != 1)
    node.fail("needs exactly one comparison", "equal, at_most, at_least, more_than or multiple_of: [...]");
  return out;
}

void Reader::relations(const yaml::Node& node) {
  for (const yaml::Node& item : node.items()) {
    m_.relations.push_back(relation(item));
    for (std::size_t i = 0; i + 1 < m_.relations.size(); ++i) {
      if (m_.relations[i].name == m_.relations.back().name) item.at("name").fail("stands twice", "another name");
    }
  }
}

void Reader::sizes(const yaml::Node& node) {
  for (const auto& [axis, entry] : node.entries()) {
    m_.references.push_back({Reference::Kind::axis, axis, entry.key_location(), node.path()});
    const yaml::Node* pads = entry.is_map() ? entry.find("pad_to") : nullptr;
    if (pads != nullptr) {
      entry.allow({"pad_to", "above"});
      m_.padded.push_back(axis);
      if (const auto* above = entry.find("above")) m_.above.emplace_back(axis, above->integer(1, most));
    }
    m_.head_sizes.emplace_back(axis, domain(pads != nullptr ? *pads : entry, 1));
  }
}

void Reader::packs(const yaml::Node& node) {
  if (node.is_scalar() && node.text() == "none") return;  // for a mapping that extends one that packs
  for (const auto& [axis, entry] : node.entries()) {
    entry.allow({"into", "up_to"});
    Packs out;
    out.axis = axis;
    out.into = entry.at("into").text();
    out.location = entry.key_location();
    m_.references.push_back({Reference::Kind::axis, axis, entry.key_location(), node.path()});
    refer(Reference::Kind::axis, out.into, entry.at("into"));
    if (out.into == axis) entry.at("into").fail("an axis into itself", "another axis");
    if (const auto* n = entry.find("up_to")) out.up_to = n->integer(1, most);
    m_.packs.push_back(std::move(out));
  }
}

void Reader::launches(const yaml::Node& node) {
  for (const yaml::Node& item : node.items()) {
    item.allow({"name", "operations", "reads", "writes"});
    Launch launch;
    launch.name = item.at("name").text();
    for (const Launch& other : m_.launches) {
      if (other.name == launch.name) item.at("name").fail("stands twice", "another name");
    }
    const auto moved = [&](const char* key, std::vector<std::pair<std::string, std::string>>& into) {
      const yaml::Node* arrays = item.find(key);
      if (arrays == nullptr) return;
      for (const auto& [array, entry] : arrays->entries()) {
        m_.references.push_back({Reference::Kind::array, array, entry.key_location(), arrays->path()});
        into.emplace_back(array, type(entry));
      }
    };
    moved("reads", launch.reads), moved("writes", launch.writes);
    if (const auto* operations = item.find("operations")) {
      launch.operations = operations->words();
      // What another launch computes is an array of this one's diagram, and none of its operations (main_launch).
      const auto kind = launch.streams() ? Reference::Kind::array : Reference::Kind::operation;
      for (const yaml::Node& name : operations->items()) refer(kind, name.text(), name);
    }
    m_.launches.push_back(std::move(launch));
  }
}

}  // namespace napkin::internal::mapping_text
