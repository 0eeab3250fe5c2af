// Agents, levels, arrays and edges of a mapping file.
#include <algorithm>
#include <array>

#include "model/machine/load.hpp"
#include "model/mapping/read/load.hpp"
#include "model/mapping/read/read.hpp"

namespace napkin::internal::mapping_text {
namespace {

constexpr std::int64_t most_distance = 64;

CopyEngine engine_of(const yaml::Node& node) {
  static const std::array<std::pair<const char*, CopyEngine>, 6> engines = {{{"none", CopyEngine::none},
                                                                             {"tma", CopyEngine::tma},
                                                                             {"cp_async", CopyEngine::cp_async},
                                                                             {"plain", CopyEngine::plain},
                                                                             {"bulk_reduce", CopyEngine::bulk_reduce},
                                                                             {"atomic", CopyEngine::atomic}}};
  const std::string word = node.choice({"none", "tma", "cp_async", "plain", "bulk_reduce", "atomic"});
  return std::find_if(engines.begin(), engines.end(), [&](const auto& e) { return word == e.first; })->second;
}

/// Returns true for a plain file name: no folder, not hidden.
bool is_file_name(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  return !text.starts_with('.') && std::all_of(text.begin(), text.end(), plain);
}

}  // namespace

std::shared_ptr<const RegisterTable> Reader::table(const yaml::Node& name) {
  for (const auto& [known, read] : tables_) {
    if (known == name.text()) return read;
  }
  const auto other =
      std::find_if(in_place_.begin(), in_place_.end(), [&](const auto& o) { return o.first == name.text(); });
  const std::string& text = other == in_place_.end() ? name.text() : other->second;
  if (!is_file_name(text)) name.fail("not the name of a table beside this file", "table: NAME, without folder");
  TableFile file = find_table_(text + ".csv");
  if (file.path.empty()) name.fail("no file '" + text + ".csv' beside this one", "a table, or a number");
  TableKeys keys{m_.head_sizes, m_.masks, {}, {}};
  for (const std::string& one : builtin_architectures())
    (runs_on(m_, one) ? keys.architectures : keys.others).push_back(one);
  keys.of_another = !text.starts_with(m_.name + ".");
  const auto rows = file.bundled ? RegisterTable::Rows::when_asked : RegisterTable::Rows::at_once;
  tables_.emplace_back(name.text(),
                       std::make_shared<const RegisterTable>(std::move(file.text), file.path, m_.knobs, keys, rows));
  return tables_.back().second;
}

void Reader::tables(const yaml::Node& node) {
  for (const auto& [name, entry] : node.entries()) in_place_.emplace_back(name, entry.text());
}

void Reader::check_tables(const yaml::Node& node) const {
  std::vector<std::string> names;
  for (const auto& [name, read] : tables_) names.push_back(name);
  for (const auto& [name, entry] : node.entries()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error(entry.key_location(), node.path(), "no value is of a table '" + name + "'", one_of(name, names));
  }
}

Value Reader::table_value(const yaml::Node& node) {
  node.allow({"table", "number"});
  Value out;
  out.kind = Value::Kind::table;
  out.table = table(node.at("table"));
  if (const auto* number = node.find("number")) {
    const auto found = out.table->find(number->text());
    if (!found) number->fail("no column '" + number->text() + "'", one_of(number->text(), out.table->numbers()));
    out.number = *found;
  }
  return out;
}

namespace {

/// Returns true for a list of plain numbers, `[84, 63]`.
bool is_plain_list(const yaml::Node& node) {
  if (!node.is_sequence()) return false;
  const auto items = node.items();
  return items.begin() != items.end() && !(*items.begin()).is_map();
}

}  // namespace

Overhead Reader::overhead(const yaml::Node& node) {
  if (is_plain_list(node)) {
    Overhead out;
    for (const yaml::Node& item : node.items()) {
      Value one;
      one.literal = item.integer(0, out.numbers.empty() ? most_count : out.numbers.back().second.literal);
      out.numbers.emplace_back(Guard{}, one);
    }
    if (out.numbers.size() > 2)
      node.fail("more than two numbers", "[what the compiler takes, what it keeps if it spills]");
    return out;
  }
  if (!node.is_map()) return {values(node, 0, true), nullptr};
  node.allow({"table"});
  return {{}, table(node.at("table"))};
}

void Reader::splits(const yaml::Node& node, Agent& agent) {
  if (!node.is_map()) {
    agent.splits = axes(&node);
    return;
  }
  for (auto& [axis, step] : axis_values(&node)) {
    agent.splits.push_back(axis);
    agent.split_steps.push_back(step);
  }
}

void Reader::agents(const yaml::Node& node) {
  for (const auto& [name, entry] : node.entries()) {
    entry.allow({"count", "threads", "core", "registers", "overhead", "splits", "row_step", "row_most", "repeats"});
    Agent agent;
    agent.name = name;
    agent.location = entry.key_location();
    // An alternative of 0 is an agent that a tile has not; its rows are divided by nobody.
    const bool absent = entry.at("count").is_sequence() && entry.find("splits") == nullptr;
    agent.count = values(entry.at("count"), absent ? 0 : 1);
    agent.threads = {Value::Kind::literal, 1, -1, {}};
    if (const auto* n = entry.find("core")) {
      agent.core = n->text();
      refer(Reference::Kind::core, agent.core, *n);
    } else {
      agent.threads = value(entry.at("threads"), 1);
    }
    if (const auto* n = entry.find("registers"); n != nullptr && n->is_map())
      agent.registers.emplace_back(Guard{}, table_value(*n));
    else if (n != nullptr)
      agent.registers = values(*n, 1);
    if (const auto* n = entry.find("overhead")) agent.overhead = overhead(*n);
    if (const auto* n = entry.find("splits")) splits(*n, agent);
    if (const auto* n = entry.find("repeats")) agent.repeats = n->boolean();
    if (agent.repeats && agent.splits.empty()) entry.at("repeats").fail("no rows are divided", "splits: [...]");
    if (const auto* n = entry.find("row_step")) agent.row_step = value(*n, 1);
    if (const auto* n = entry.find("row_most")) agent.row_most = value(*n, 1);
    m_.agents.push_back(std::move(agent));
  }
}

OwnParts Reader::own_parts(const yaml::Node& node, const LevelMapping& level) const {
  node.allow({"by", "blocks", "enough", "within", "distinct", "whole_to", "least", "most"});
  const bool counts = !level.parts.empty() && level.parts.front().second.kind == Value::Kind::knob;
  if (!counts) node.fail("no knob counts parts that a rule could choose", "parts: {x: num_splits}");
  const Knob& knob = m_.knobs[static_cast<std::size_t>(level.parts.front().second.knob)];
  if (std::find(knob.domain.begin(), knob.domain.end(), 0) == knob.domain.end())
    node.fail("'" + knob.name + "' has no 0, which leaves the number to this rule", "0 in its domain");
  OwnParts out;
  out.location = node.location();
  const std::vector<std::string> words{"waves", "fill", "root"};  // in the order of OwnParts::By
  const std::string by = node.at("by").choice(words);
  out.by = static_cast<OwnParts::By>(std::find(words.begin(), words.end(), by) - words.begin());
  const auto share = [&](const char* key, double& into) {
    const yaml::Node* n = node.find(key);
    if (n != nullptr && (n->number() <= 0 || n->number() > 1)) n->fail("not a share", "a number above 0, at most 1");
    if (n != nullptr) into = n->number();
  };
  share("enough", out.enough);
  share("within", out.within);
  if (const auto* n = node.find("distinct")) out.distinct = n->boolean();
  if (const auto* n = node.find("blocks")) out.blocks = n->integer(1, most_count);
  if (const auto* n = node.find("whole_to")) out.whole_to = n->integer(1, most_count);
  if (const auto* n = node.find("least")) out.least = n->integer(1, most_count);
  if (const auto* n = node.find("most")) out.most = n->integer(1, most_count);
  return out;
}

void Reader::levels(const yaml::Node& node) {
  for (const auto& [name, entry] : node.entries()) {
    entry.allow({"group", "stream", "walk", "sizes", "parts", "own_parts", "nodes", "rounds_up", "together"});
    LevelMapping level;
    level.level = name;
    level.location = entry.key_location();
    level.group = axes(entry.find("group"));
    level.stream = axes(entry.find("stream"));
    if (level.stream.size() > 1) entry.at("stream").fail("more than one streamed axis", "one");
    if (const auto* n = entry.find("walk")) {
      if (level.stream.empty()) n->fail("a walk without a streamed axis", "stream: [x], or leave it out");
      level.backward = n->choice({"forward", "backward"}) == "backward";
    }
    level.sizes = axis_values(entry.find("sizes"));
    level.parts = axis_values(entry.find("parts"), entry.find("own_parts") != nullptr ? 0 : 1);
    for (const auto& [axis, number] : level.parts) {
      if (!lists(level.stream, axis) || !lists(level.group, axis))
        entry.at("parts").fail("axis '" + axis + "' is not both grouped and streamed here", "such an axis");
    }
    if (const auto* n = entry.find("own_parts")) level.own_parts = own_parts(*n, level);
    if (const auto* n = entry.find("nodes")) {
      level.nodes = value(*n, 1);
      if (level.group.size() != 1) n->fail("'nodes' stand along exactly one axis of 'group'", "group: [q]");
    }
    if (const auto* n = entry.find("rounds_up")) {
      if (!level.nodes) n->fail("no number of blocks is rounded up", "nodes beside it, or leave it out");
      level.rounds_up = n->boolean();
    }
    if (const auto* n = entry.find("together")) {
      if (!level.nodes) n->fail("no blocks of a cluster", "nodes beside it, or leave it out");
      level.together = n->boolean();
    }
    m_.references.push_back({Reference::Kind::level, name, entry.key_location(), node.path()});
    m_.levels.push_back(std::move(level));
  }
  if (m_.levels.empty()) node.fail("no level", "at least one: shared: {group: [...]}");
}

VariableMapping Reader::variable(const std::string& name, const yaml::Node& node) {
  node.allow({"of", "level", "scope", "type", "copies", "column_parts", "alias", "engine", "multicast", "divided",
              "unpermuted", "sizes", "axes", "part", "staging", "by", "moved_by", "when"});
  VariableMapping out;
  out.name = name;
  out.location = node.key_location();
  if (const auto* of = node.find("of")) {
    out.of = of->words();
    if (out.of.empty()) of->fail("no array", "at least one");
    const auto items = of->items_or_one();
    for (const yaml::Node& item : items) refer(Reference::Kind::array, item.text(), item);
  } else {
    out.of = {name};
    m_.references.push_back({Reference::Kind::array, name, node.key_location(), node.path()});
  }
  out.level = node.at("level").text();
  refer(Reference::Kind::level, out.level, node.at("level"));
  if (const auto* n = node.find("scope"))
    out.scope = n->choice({"block", "agent"}) == "agent" ? Scope::agent : Scope::block;
  out.type = type(node.at("type"));
  if (const auto* n = node.find("copies")) out.copies = values(*n, 1);
  if (const auto* n = node.find("column_parts")) out.column_parts = values(*n, 1);
  if (const auto* n = node.find("alias")) out.alias = n->text();
  if (const auto* n = node.find("engine")) out.engine = engine_of(*n);
  if (const auto* n = node.find("multicast")) out.multicast = guard(n);
  if (const auto* n = node.find("divided")) out.divided = guard(n);
  if (const auto* n = node.find("unpermuted")) out.unpermuted = guard(n);
  out.sizes = axis_values(node.find("sizes"));
  out.axes = axes(node.find("axes"));
  if (const auto* n = node.find("part")) out.part = n->boolean();
  if (const auto* n = node.find("staging")) out.output_staging = n->boolean();
  if (const auto* n = node.find("by")) out.by = n->choice({"group", "agent", "thread"});
  if (const auto* n = node.find("moved_by")) out.moved_by = n->text();
  out.when = guard(node.find("when"));
  return out;
}

void Reader::variables(const yaml::Node& node) {
  for (const auto& [name, entry] : node.entries()) m_.variables.push_back(variable(name, entry));
  if (m_.variables.empty()) node.fail("no array", "at least one");
}

void Reader::edges(const yaml::Node& node) {
  for (const yaml::Node& item : node.items()) {
    item.allow({"from", "to", "distance", "agents", "barrier", "tokens", "wait", "when"});
    EdgeMapping edge;
    edge.location = item.location();
    edge.from = item.at("from").text();
    edge.to = item.at("to").text();
    if (const auto* n = item.find("distance")) edge.distance = n->integer(-most_distance, most_distance);
    if (const auto* n = item.find("agents")) edge.agents = n->integer(-most_distance, most_distance);
    if (const auto* n = item.find("barrier")) edge.barrier = n->boolean();
    if (const auto* n = item.find("tokens")) edge.tokens = value(*n, 0);
    if (const auto* n = item.find("wait")) edge.issued = n->choice({"done", "issued"}) == "issued";
    edge.when = guard(item.find("when"));
    m_.edges.push_back(std::move(edge));
  }
}

void Reader::combine(const yaml::Node& node) {
  static const std::vector<std::string> words(CombineMapping::words.begin(), CombineMapping::words.end());
  node.allow({"by", "at", "values", "operations"});
  CombineMapping combine;
  combine.location = node.location();
  const std::string by = node.at("by").choice(words);
  combine.by = static_cast<CombineMapping::By>(std::find(words.begin(), words.end(), by) - words.begin());
  const bool exchanges = by == "turns" || by == "barriers";
  if (!CombineMapping::keeps_apart(combine.by)) {
    combine.at = node.at("at").text();
    refer(Reference::Kind::level, combine.at, node.at("at"));
  } else if (const auto* at = node.find("at")) {
    at->fail("parts that stay apart do so in device memory", "no 'at'");
  }
  if (exchanges) {
    combine.values = node.at("values").words();
    for (const yaml::Node& item : node.at("values").items()) refer(Reference::Kind::array, item.text(), item);
    if (combine.values.empty()) node.at("values").fail("no value", "what the groups exchange, such as [mu, z, O]");
  } else if (const auto* values = node.find("values")) {
    values->fail("nothing is exchanged by " + by, "no 'values', or by: turns or barriers");
  }
  if (const auto* operations = node.find("operations")) {
    if (!CombineMapping::keeps_apart(combine.by))
      operations->fail("no group has a whole result by " + by, "no 'operations', or by: launch or last");
    combine.operations = operations->words();
    for (const yaml::Node& item : operations->items()) refer(Reference::Kind::array, item.text(), item);
  }
  m_.combine = std::move(combine);
}

}  // namespace napkin::internal::mapping_text
