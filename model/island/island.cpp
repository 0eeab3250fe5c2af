#include "model/island/island.hpp"

#include <algorithm>

#include "model/base/library.hpp"
#include "model/base/yaml.hpp"
#include "model/machine/load.hpp"
#include "model/machine/number.hpp"
#include "model/machine/sections.hpp"

namespace napkin::internal {
namespace {

/// Returns the island's name: "hgx-h100-8" for "hardware_profiles/islands/hgx-h100-8.yaml"; "" for any other path.
std::string_view island_name(std::string_view path) { return stem_in(path, "hardware_profiles/islands/"); }

Link read_link(const std::string& name, const yaml::Node& node) {
  node.allow({"joins", "line_rate", "bandwidth", "bandwidth_of", "latency"});
  if (!profile::is_identifier(name)) node.fail("'" + name + "' is no level's name", "small letters, digits and _");
  Link link;
  link.name = name;
  const Number joins = profile::read_number(node.at("joins"), profile::Dimension::nodes);
  link.joins = Count(static_cast<std::int64_t>(joins.value));
  link.joins_from = joins.from;
  if (link.joins < Count(2)) node.at("joins").fail("a level that joins one node", "2 or more");
  if (const auto* rate = node.find("line_rate"))
    link.line_rate = profile::read_number(*rate, profile::Dimension::bytes_per_second);
  link.bandwidth = profile::read_number(node.at("bandwidth"), profile::Dimension::bytes_per_second);
  if (link.line_rate && link.bandwidth.value > link.line_rate->value)
    node.at("bandwidth").fail("more than the line rate", "bytes a second of one GPU, one way: at most line_rate");
  if (const auto* kinds = node.find("bandwidth_of")) {
    kinds->allow({"ring", "all_to_all", "all_gather", "reduce_scatter", "all_reduce"});
    for (const auto& [kind, rate] : kinds->entries())
      link.bandwidth_of.emplace(kind, profile::read_number(rate, profile::Dimension::bytes_per_second));
  }
  link.latency = profile::read_number(node.at("latency"), profile::Dimension::seconds);
  return link;
}

/// Reads the GPU's name and looks it up, so that an error points to the island's file.
std::string read_gpu(const yaml::Node& node) {
  const std::string& name = node.text();
  if (names_file(name)) return name;
  std::vector<std::string> known = builtin_machines();
  for (const auto& [alias, machine] : builtin_aliases()) known.push_back(alias);
  if (std::find(known.begin(), known.end(), name) == known.end())
    node.fail("unknown GPU '" + name + "'", one_of(name, builtin_machines()) + ", or the path of a profile");
  return name;
}

}  // namespace

Count Island::gpus() const {
  Count all = 1;
  for (const Link& link : links) all *= link.joins;
  return all;
}

namespace {

Protocol read_protocol(const std::string& name, const yaml::Node& node) {
  node.allow({"call", "latency", "bandwidth"});
  return {name, profile::read_number(node.at("call"), profile::Dimension::seconds),
          profile::read_number(node.at("latency"), profile::Dimension::seconds),
          profile::read_number(node.at("bandwidth"), profile::Dimension::bytes_per_second)};
}

Island read_island(const yaml::Node& document) {
  document.allow({"name", "about", "gpu", "levels", "call", "call_nodes", "protocols"});
  Island island;
  island.name = document.at("name").text();
  island.about = document.at("about").text();
  island.gpu = read_gpu(document.at("gpu"));
  for (const auto& [name, node] : document.at("levels").entries()) island.links.push_back(read_link(name, node));
  if (island.links.empty()) document.at("levels").fail("no level", "nvlink: {joins, bandwidth, latency}");
  island.call = profile::read_number(document.at("call"), profile::Dimension::seconds);
  if (const auto* protocols = document.find("protocols")) {
    for (const auto& [name, node] : protocols->entries()) island.protocols.push_back(read_protocol(name, node));
  }
  if (const auto* nodes = document.find("call_nodes"))
    island.call_nodes = profile::read_number(*nodes, profile::Dimension::nodes);
  return island;
}

}  // namespace

Island parse_island(std::string_view text, const std::string& file) {
  const yaml::Document document = yaml::parse(text, file);
  return read_island(document.root());
}

bool is_island(const std::string& name_or_path) {
  if (names_file(name_or_path)) {
    try {
      const yaml::Document document = yaml::parse(yaml::read_file(name_or_path), name_or_path);
      return document.root().is_map() && document.root().find("gpu") != nullptr;
    } catch (const Error&) {  // reading the file as a GPU's profile reports the error
      return false;
    }
  }
  static const std::vector<std::string> names = builtin_islands();
  return std::find(names.begin(), names.end(), name_or_path) != names.end();
}

Island load_island(const std::string& name_or_path, const std::string& where) {
  if (const auto found = find_named(name_or_path, island_name)) return read_island(found->root());
  throw Error(where, "unknown island '" + name_or_path + "'",
              one_of(name_or_path, builtin_islands()) + ", or the path of a profile");
}

std::vector<std::string> builtin_islands() { return embedded_names(island_name); }

}  // namespace napkin::internal
