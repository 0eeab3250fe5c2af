#include "model/island/split.hpp"

#include <algorithm>

#include "model/base/library.hpp"
#include "model/base/yaml.hpp"
#include "model/diagram/library.hpp"

namespace napkin::internal {
namespace {

constexpr std::string_view everywhere = "everywhere";

std::string_view split_name(std::string_view path) { return stem_in(path, "model/island/splits/"); }

AxisId read_axis(const yaml::Node& node, const Diagram& diagram) {
  const auto axis = diagram.find_axis(node.text());
  if (!axis)
    node.fail("'" + node.text() + "' is no axis of " + diagram.name, one_of(node.text(), diagram.axis_names()));
  return *axis;
}

Diagram read_algorithm(const yaml::Node& node) {
  const std::vector<std::string> known = builtin_diagrams();
  if (std::find(known.begin(), known.end(), node.text()) == known.end())
    node.fail("unknown algorithm '" + node.text() + "'", one_of(node.text(), known));
  Diagram diagram = load_diagram(node.text());
  for (const Array& array : diagram.arrays) {
    if (!array.reindexed.empty())
      node.fail(array.name + " of " + diagram.name + " is read by other axes than it is stored along",
                "an algorithm whose arrays are read as they lie");
  }
  return diagram;
}

void read_homes(const yaml::Node& node, Split& split) {
  const Diagram& diagram = split.diagram;
  std::vector<std::string> names;
  for (const auto* arrays : {&diagram.inputs, &diagram.outputs}) {
    for (const ArrayId id : *arrays) names.push_back(diagram.arrays[at(id)].name);
  }
  node.allow(names);
  split.homes.resize(diagram.arrays.size());
  for (const std::string& name : names) {
    const yaml::Node& word = node.at(name);
    if (word.text() == everywhere) continue;
    const AxisId axis = read_axis(word, diagram);
    const Array& array = diagram.arrays[at(diagram.array(name))];
    if (!array.has(axis)) {
      std::vector<std::string> axes{std::string(everywhere)};
      for (const AxisId each : array.axes) axes.push_back(diagram.axes[at(each)].name);
      word.fail(name + " has no axis " + word.text(), one_of(word.text(), axes));
    }
    split.homes[at(diagram.array(name))] = axis;
  }
}

/// Checks a streamed axis: inputs that lie along it, at least one, must all be passed around the ring.
void check_stream(const yaml::Node& node, const Split& split) {
  if (*split.stream == split.group) node.fail("the axis that is grouped already", "another axis, or no stream");
  bool any = false;
  for (const ArrayId id : split.diagram.inputs) {
    const Array& array = split.diagram.arrays[at(id)];
    if (!array.has(*split.stream)) continue;
    any = true;
    if (array.has(split.group) || split.home(id) != split.stream)
      node.fail("in step t a GPU has one block of " + array.name + ", which does not lie along " + node.text(),
                "homes: {" + array.name + ": " + node.text() + "}, and no grouped axis in it");
  }
  if (!any) node.fail("no input has the axis " + node.text(), "an axis along which inputs can go round");
  for (const ArrayId id : split.diagram.outputs) {
    if (split.diagram.arrays[at(id)].has(*split.stream))
      node.fail("the output " + split.diagram.arrays[at(id)].name + " has the axis " + node.text(),
                "an axis over which the algorithm sums");
  }
}

}  // namespace

namespace {

Split read_split(const yaml::Node& document) {
  document.allow({"split", "about", "algorithm", "group", "stream", "homes", "parts"});
  Split split;
  split.name = document.at("split").text();
  const std::string file = document.location().file;
  std::string_view stem = std::string_view(file).substr(file.rfind('/') + 1);
  if (stem.ends_with(yaml_suffix)) stem.remove_suffix(yaml_suffix.size());
  if (stem != split.name)
    document.at("split").fail("'" + split.name + "' in a file of another name", std::string(stem));
  split.about = document.at("about").text();
  split.algorithm = document.at("algorithm").text();
  split.diagram = read_algorithm(document.at("algorithm"));
  split.group = read_axis(document.at("group"), split.diagram);
  read_homes(document.at("homes"), split);
  const yaml::Node* parts = document.find("parts");
  if (const yaml::Node* stream = document.find("stream")) {
    split.stream = read_axis(*stream, split.diagram);
    check_stream(*stream, split);
    if (parts == nullptr) stream->fail("steps leave parts of a result of no type", "parts: f32");
  }
  if (parts != nullptr) {
    if (!split.stream) parts->fail("no axis is streamed: there are no parts", "leave it out");
    split.parts = parse_dtype(parts->text(), parts->location().text() + ": parts");
  }
  return split;
}

}  // namespace

Split parse_split(std::string_view text, const std::string& file) {
  const yaml::Document document = yaml::parse(text, file);
  return read_split(document.root());
}

Split load_split(const std::string& name_or_path, const std::string& where) {
  if (const auto found = find_named(name_or_path, split_name)) return read_split(found->root());
  throw Error(where, "unknown split '" + name_or_path + "'",
              one_of(name_or_path, builtin_splits()) + ", or the path of a file");
}

std::vector<std::string> builtin_splits() { return embedded_names(split_name); }

}  // namespace napkin::internal
