#include "solver/space/about_rule.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace napkin::internal {
namespace {

using Sentence = std::pair<std::string_view, std::string_view>;

/// Sentences by a rule's name; by the beginning of the name if it ends with an axis, an agent or an array.
constexpr std::array whole_names = {
    Sentence{"architecture", "the kernel runs on this architecture"},
    Sentence{"dtype", "the kernel takes this element type"},
    Sentence{"mask", "the kernel takes this mask"},
    Sentence{"device memory", "inputs and outputs fit in device memory"},
    Sentence{"threads", "a block has no more threads than the machine allows"},
    Sentence{"registers", "each agent's values fit in the registers that its threads have"},
    Sentence{"register file", "the registers of all threads of a block fit in the node's"},
    Sentence{"shared memory", "a block's buffers, barriers included, fit in its memory"},
    Sentence{"core memory", "each core's buffers fit in each of its memories"},
    Sentence{"side memory", "the matrix unit's values fit in the memory beside the registers"},
    Sentence{"parts", "all parts of a result that meet in a cluster belong to that cluster"},
    Sentence{"resident blocks", "blocks that wait for each other run together, one a node"},
};
constexpr std::array beginnings = {
    Sentence{"granularity of ", "a whole number of instructions and of transfers along that axis"},
    Sentence{"rows of ", "the rows of each instance fill whole instructions, and are no more than it takes"},
    Sentence{"packing of ", "a tile's rows pack no more of that axis than there is"},
    Sentence{"size of ", "the kernel supports that size of the axis"},
};
constexpr std::array endings = {
    Sentence{" size", "no more blocks in one than the machine allows"},
    Sentence{" mask", "one block in each: under a mask its blocks would visit different chunks"},
    Sentence{" lengths", "one block in each: sequences of other lengths would visit different chunks"},
};

std::string factor_text(const Mapping& mapping, const Value& value) {
  if (value.kind == Value::Kind::literal) return std::to_string(value.literal);
  if (value.kind == Value::Kind::axis) return "the size of " + value.axis;
  if (value.kind == Value::Kind::table || value.knob < 0) return "a compiled kernel's number";
  const std::string& knob = mapping.knobs[static_cast<std::size_t>(value.knob)].name;
  return value.more == 0 ? knob : "(" + knob + " + " + std::to_string(value.more) + ")";
}

std::string product_text(const Mapping& mapping, const std::vector<Value>& factors) {
  std::string text;
  for (const Value& factor : factors) text += (text.empty() ? "" : " times ") + factor_text(mapping, factor);
  return text;
}

/// Writes "where causal is the mask", "where pingpong is on"; "" for a rule that always holds.
std::string condition_text(const Mapping& mapping, const Guard& when) {
  std::string text;
  for (const auto& [id, values] : when.all) {
    const Knob& knob = mapping.knobs[static_cast<std::size_t>(id)];
    std::string list;
    for (const std::int64_t value : values) {
      const bool word = value >= 0 && static_cast<std::size_t>(value) < knob.words.size();
      list +=
          (list.empty() ? "" : " or ") + (word ? knob.words[static_cast<std::size_t>(value)] : std::to_string(value));
    }
    text += (text.empty() ? " where " : " and ") + knob.name + " is " + list;
  }
  return text.empty() && !(when.masks.empty() && when.axes.empty()) ? " for some masks and sizes" : text;
}

std::string relation_text(const Mapping& mapping, const Relation& relation) {
  constexpr std::array words = {" is ", " is at most ", " is a multiple of ", " is less than "};
  constexpr std::array turned = {" is ", " is at least ", " divides ", " is more than "};
  static_assert(static_cast<std::size_t>(Relation::Kind::less) == words.size() - 1);
  const auto kind = static_cast<std::size_t>(relation.kind);
  const std::string left = product_text(mapping, relation.left), right = product_text(mapping, relation.right);
  const bool numbers = std::all_of(relation.left.begin(), relation.left.end(),
                                   [](const Value& value) { return value.kind == Value::Kind::literal; });
  return (numbers ? right + turned[kind] + left : left + words[kind] + right) + condition_text(mapping, relation.when);
}

}  // namespace

std::string about_rule(const Mapping& mapping, std::string_view name) {
  std::string text;
  for (const Relation& relation : mapping.relations) {
    if (relation.name == name) text += (text.empty() ? "" : "; ") + relation_text(mapping, relation);
  }
  if (!text.empty()) return text;
  for (const Sentence& one : whole_names) {
    if (one.first == name) return std::string(one.second);
  }
  for (const Sentence& one : beginnings) {
    if (name.starts_with(one.first)) return std::string(one.second);
  }
  for (const LevelMapping& level : mapping.levels) {
    if (!level.nodes || !name.starts_with(level.level)) continue;
    const std::string_view rest = name.substr(level.level.size());
    if (rest.empty()) return "the blocks along its axis fill whole " + level.level + "s";
    for (const Sentence& one : endings) {
      if (rest == one.first) return std::string(one.second);
    }
  }
  return "";
}

}  // namespace napkin::internal
