// Levels and pipes of a profile.

#include <algorithm>
#include <cmath>

#include "model/machine/number.hpp"
#include "model/machine/sections.hpp"

namespace napkin::internal::profile {
namespace {

using Entries = std::vector<const yaml::Node*>;

constexpr std::size_t most_levels = 32;
constexpr double most_nodes = 1e9;

/// Returns the index of the level of that name; the number of levels if there is none.
std::size_t place_of(const Entries& entries, const std::string& name) {
  const auto is_named = [&](const yaml::Node* entry) { return entry->key() == name; };
  return static_cast<std::size_t>(std::find_if(entries.begin(), entries.end(), is_named) - entries.begin());
}

std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const yaml::Node* entry : entries) names.push_back(entry->key());
  return names;
}

/// Returns parents that lead back to the level itself, as "a -> b -> a"; "" if they end at the top.
std::string cycle_from(const Entries& entries, std::size_t start) {
  std::string path = entries[start]->key();
  std::size_t at = start;
  for (std::size_t steps = 0; steps < entries.size(); ++steps) {
    const yaml::Node* parent = entries[at]->find("parent");
    if (parent == nullptr) return {};
    at = place_of(entries, parent->text());
    if (at == entries.size()) return {};
    path += " -> " + entries[at]->key();
    if (at == start) return path;
  }
  return {};
}

LevelId read_parent(const Entries& entries, std::size_t index) {
  const yaml::Node& node = *entries[index];
  const yaml::Node* parent = node.find("parent");
  if (index == 0) {
    if (parent == nullptr) return -1;
    if (const std::string cycle = cycle_from(entries, 0); !cycle.empty()) {
      parent->fail("the parents run in a circle: " + cycle, "a first level without a parent");
    }
    parent->fail("the first level has a parent", "the top level, device memory, first and without a parent");
  }
  if (parent == nullptr) node.fail("no parent", "parent: a level that stands above it (only the first has none)");
  const std::size_t position = place_of(entries, parent->text());
  if (position == entries.size()) {
    parent->fail("unknown level '" + parent->text() + "'", one_of(parent->text(), names_of(entries)));
  }
  if (const std::string cycle = cycle_from(entries, index); !cycle.empty()) {
    parent->fail("the parents run in a circle: " + cycle, "a parent that stands above it");
  }
  if (position >= index) parent->fail("level '" + parent->text() + "' stands below", "parents before their children");
  return static_cast<LevelId>(position);
}

void read_capacity(const yaml::Node& node, Level& level) {
  if (level.kind == LevelKind::cross_transfer) {
    for (const char* key : {"capacity", "per_block", "transaction"}) {
      if (const yaml::Node* found = node.find(key)) {
        found->fail("a cross_transfer level has a " + std::string(key), "none: it is a network and holds nothing");
      }
    }
    return;
  }
  if (const yaml::Node* capacity = node.find("capacity")) {
    level.capacity = read_stated(*capacity, Dimension::bytes);
  } else if (level.kind == LevelKind::ordinary) {
    node.fail("no capacity", "capacity: {value, unit, source} of one node");
  }
  if (const yaml::Node* per_block = node.find("per_block")) {
    level.per_block = read_number(*per_block, Dimension::bytes);
    if (level.capacity.known() && level.per_block->value > level.capacity.best().value) {
      per_block->fail("one block may use more than a node holds", "at most the capacity");
    }
  }
  if (const yaml::Node* transaction = node.find("transaction")) {
    const Number number = read_number(*transaction, Dimension::bytes);
    level.transaction = count_of(number);
    level.transaction_from = number.from;
  }
}

Level read_level(const Entries& entries, std::size_t index) {
  const yaml::Node& node = *entries[index];
  const std::string name = node.key();
  node.allow({"kind", "parent", "per_parent", "capacity", "per_block", "transaction"});
  if (!is_identifier(name)) node.fail("level name '" + name + "'", "small letters, digits and _, a letter first");
  Level level;
  level.name = name;
  const std::string kind = node.at("kind").choice({"ordinary", "cache", "cross_transfer"});
  level.kind = kind == "cache"            ? LevelKind::cache
               : kind == "cross_transfer" ? LevelKind::cross_transfer
                                          : LevelKind::ordinary;
  level.parent = read_parent(entries, index);
  const yaml::Node* per_parent = node.find("per_parent");
  if (index == 0) {
    if (level.kind == LevelKind::cross_transfer) node.at("kind").fail("the top level is a network", "ordinary");
    if (per_parent != nullptr) per_parent->fail("the first level has no parent", "no per_parent");
  } else {
    if (per_parent == nullptr) node.fail("no per_parent", "per_parent: {value, unit: nodes, source}");
    const Number number = read_number(*per_parent, Dimension::nodes);
    level.per_parent = count_of(number);
    level.per_parent_from = number.from;
  }
  read_capacity(node, level);
  return level;
}

void check_tree(const Entries& entries, const Machine& machine) {
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const Level& level = machine.levels[i];
    double nodes = 1;
    for (LevelId at = static_cast<LevelId>(i); at >= 0; at = machine.levels[static_cast<std::size_t>(at)].parent) {
      nodes *= static_cast<double>(machine.levels[static_cast<std::size_t>(at)].per_parent);
    }
    if (nodes > most_nodes) entries[i]->fail("more than 1e9 nodes in the machine", "a smaller per_parent");
    if (level.parent < 0) continue;
    const Level& parent = machine.levels[static_cast<std::size_t>(level.parent)];
    if (parent.kind == LevelKind::cross_transfer) {
      entries[i]->at("parent").fail("the parent is a cross_transfer level",
                                    "the parent of '" + parent.name + "': a network stands beside its nodes");
    }
    if (level.kind != LevelKind::cross_transfer) continue;
    const bool joins = std::any_of(machine.levels.begin(), machine.levels.end(), [&](const Level& other) {
      return other.parent == level.parent && other.kind != LevelKind::cross_transfer &&
             other.per_parent >= level.per_parent;
    });
    if (!joins) {
      entries[i]
          ->at("per_parent")
          .fail("no level below the same parent has that many nodes to join",
                "at most the per_parent of the level that the network joins");
    }
  }
}

/// Reads the rates of a network by the number of nodes of a cluster, ascending.
std::vector<std::pair<Count, Number>> read_by_cluster_size(const yaml::Node& node, const Level& network) {
  if (network.kind != LevelKind::cross_transfer) {
    node.fail("'" + network.name + "' is not a cross_transfer level",
              "by_cluster_size on a pipe from such a level only");
  }
  std::vector<std::pair<Count, Number>> rates;
  for (const yaml::Node& item : node.items()) {
    item.allow({"size", "bandwidth"});
    const Count size = item.at("size").integer(2, network.per_parent.get());
    if (!rates.empty() && rates.back().first >= size) item.at("size").fail("sizes out of order", "ascending sizes");
    rates.emplace_back(size, read_number(item.at("bandwidth"), Dimension::bytes_per_second));
  }
  if (rates.empty()) node.fail("empty", "a list of {size, bandwidth}");
  return rates;
}

}  // namespace

bool is_identifier(const std::string& word) {
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !word.empty() && word.size() <= 64 && word[0] >= 'a' && word[0] <= 'z' &&
         std::all_of(word.begin(), word.end(), good);
}

LevelId level_named(const yaml::Node& word, const Machine& machine) {
  if (const auto found = machine.find_level(word.text())) return *found;
  std::vector<std::string> known;
  known.reserve(machine.levels.size());
  for (const Level& level : machine.levels) known.push_back(level.name);
  word.fail("unknown level '" + word.text() + "'", one_of(word.text(), known));
}

void read_levels(const yaml::Node& node, Machine& machine) {
  Entries entries;
  for (const auto& [name, level] : node.entries()) entries.push_back(&level);
  if (entries.empty() || entries.size() > most_levels) {
    node.fail(std::to_string(entries.size()) + " levels", "1 to 32 levels, from device memory down");
  }
  for (std::size_t i = 0; i < entries.size(); ++i) machine.levels.push_back(read_level(entries, i));
  check_tree(entries, machine);
}

void read_pipes(const yaml::Node& node, Machine& machine) {
  for (const auto& [name, entry] : node.entries()) {
    entry.allow({"from", "to", "engine", "bandwidth", "bandwidth_per_node", "by_cluster_size", "latency", "energy"});
    if (!is_identifier(name)) entry.fail("pipe name '" + name + "'", "small letters, digits and _, a letter first");
    Pipe pipe;
    pipe.name = name;
    pipe.from = level_named(entry.at("from"), machine);
    pipe.to = level_named(entry.at("to"), machine);
    for (const Pipe& other : machine.pipes) {
      if (other.from == pipe.from && other.to == pipe.to) {
        entry.fail("pipe '" + other.name + "' joins the same levels", "one pipe from a level to another");
      }
    }
    if (const auto* found = entry.find("engine")) {
      pipe.engine = found->text();
      if (!is_identifier(pipe.engine))
        found->fail("engine name '" + pipe.engine + "'", "small letters, digits and _, a letter first");
    }
    if (const auto* found = entry.find("bandwidth")) {
      pipe.aggregate = read_stated(*found, Dimension::bytes_per_second);
    }
    if (const auto* found = entry.find("bandwidth_per_node")) {
      pipe.per_node_clock = read_stated(*found, Dimension::bytes_per_clock);
    }
    if (const auto* found = entry.find("by_cluster_size")) {
      pipe.by_cluster_size = read_by_cluster_size(*found, machine.levels[static_cast<std::size_t>(pipe.from)]);
    }
    if (!pipe.aggregate.known() && !pipe.per_node_clock.known() && pipe.by_cluster_size.empty()) {
      entry.fail("no bandwidth", "bandwidth (of the machine, GB/s), bandwidth_per_node (B/clk) or by_cluster_size");
    }
    if (const auto* found = entry.find("latency")) pipe.latency = read_number(*found, Dimension::clocks);
    if (const auto* found = entry.find("energy"))
      pipe.energy_per_byte = read_number(*found, Dimension::energy_per_byte);
    machine.pipes.push_back(std::move(pipe));
  }
}

}  // namespace napkin::internal::profile
