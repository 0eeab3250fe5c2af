#include "model/diagram/parse_fold.hpp"

#include <algorithm>

#include "model/diagram/parse_line.hpp"

namespace napkin::internal::diagram_text {
namespace {

constexpr std::size_t most_values = 16;      // values of a state, and operands, at most
constexpr std::size_t longest_text = 1'000;  // formula, in characters

Formula formula(const yaml::Node& node, const std::vector<std::string>& names) {
  if (node.text().size() > longest_text) node.fail("too long a formula", "at most 1000 characters");
  return Formula::parse(node.text(), names, [&](std::size_t offset, const std::string& what, const std::string& right) {
    throw Error(node.at_offset(offset), node.path(), what, right);
  });
}

std::vector<std::string> names_of(const yaml::Node& node, const yaml::Children<yaml::Entry>& entries) {
  std::vector<std::string> names;
  for (const auto& [name, value] : entries) {
    if (!is_name(name)) value.fail("'" + name + "' is not a name", "a letter, then letters, digits or _");
    names.push_back(name);
  }
  if (names.empty() || names.size() > most_values) node.fail("no values, or too many", "from 1 to 16 of them");
  return names;
}

/// Reads a formula for each of the state's values.
std::vector<Formula> formulas(const yaml::Node& node, const std::vector<std::string>& state,
                              const std::vector<std::string>& names) {
  node.allow(state);
  std::vector<Formula> out;
  for (const std::string& value : state) out.push_back(formula(node.at(value), names));
  return out;
}

Fold read_fold(const std::string& name, const yaml::Node& node) {
  if (!is_name(name)) node.fail("'" + name + "' is not a name for a fold", "a letter, then letters, digits or _");
  node.allow({"of", "state", "each", "merge", "result"});
  Fold fold;
  fold.name = name;
  fold.location = node.key_location();
  const yaml::Node& of = node.at("of");
  fold.of = of.words();
  for (const std::string& word : fold.of) {
    if (!is_name(word)) of.fail("'" + word + "' is not a name", "a letter, then letters, digits or _");
    if (std::count(fold.of.begin(), fold.of.end(), word) > 1)
      of.fail("'" + word + "' stands there twice", "a name for each operand");
  }
  if (fold.of.empty() || fold.of.size() > most_values) of.fail("no operands, or too many", "from 1 to 16 of them");
  const yaml::Node& state = node.at("state");
  const std::vector<std::string> names = names_of(state, state.entries());
  std::vector<std::string> both;
  for (const char* side : {"a.", "b."}) {
    for (const std::string& value : names) both.push_back(side + value);
  }
  const std::vector<Formula> each = formulas(node.at("each"), names, fold.of);
  const std::vector<Formula> merge = formulas(node.at("merge"), names, both);
  for (std::size_t i = 0; i < names.size(); ++i)
    fold.state.push_back({names[i], state.at(names[i]).number(), each[i], merge[i]});
  fold.result = formula(node.at("result"), names);
  return fold;
}

}  // namespace

std::vector<Fold> read_folds(const yaml::Node& node) {
  std::vector<Fold> folds;
  if (node.entries().empty()) node.fail("an empty map", "at least a fold, or leave the key out");
  if (node.entries().size() > most_values) node.fail("too many folds", "at most 16");
  for (const auto& [name, value] : node.entries()) folds.push_back(read_fold(name, value));
  return folds;
}

}  // namespace napkin::internal::diagram_text
