#include "model/mapping/tile.hpp"

#include <algorithm>
#include <charconv>

namespace napkin::internal {
namespace {

std::string word_of(const Knob& knob, std::int64_t value) {
  if (knob.words.empty()) return std::to_string(value);
  const auto index = static_cast<std::size_t>(value);
  return value >= 0 && index < knob.words.size() ? knob.words[index] : "?";
}

std::string domain_text(const Knob& knob) {
  std::vector<std::string> domain;
  for (const std::int64_t v : knob.domain) {
    if (domain.size() == 16) {
      domain.emplace_back("...");
      break;
    }
    domain.push_back(std::to_string(v));
  }
  return joined(domain);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe(const Mapping& mapping, const Tile& tile) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t i = 0; i < mapping.knobs.size(); ++i) {
    out.emplace_back(mapping.knobs[i].name, word_of(mapping.knobs[i], tile.values.at(i)));
  }
  return out;
}

std::int64_t value_of(const Mapping& mapping, const Tile& tile, std::string_view knob) {
  if (const auto id = mapping.find_knob(knob)) return tile.values.at(static_cast<std::size_t>(*id));
  std::vector<std::string> names;
  for (const Knob& k : mapping.knobs) names.push_back(k.name);
  throw Error(mapping.name, "no knob '" + std::string(knob) + "'", one_of(knob, names));
}

std::int64_t parse_knob(const Knob& knob, const std::string& text, const std::string& where) {
  if (!knob.words.empty()) {
    const auto at = std::find(knob.words.begin(), knob.words.end(), text);
    if (at == knob.words.end()) throw Error(where, knob.name + "=" + text, one_of(text, knob.words));
    return at - knob.words.begin();
  }
  const std::int64_t least = std::count(knob.domain.begin(), knob.domain.end(), 0) > 0 ? 0 : 1;
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc{} || stop != end || value < least || value > (std::int64_t{1} << 40)) {
    throw Error(where, knob.name + "=" + text,
                "a whole number of " + knob.unit + " from " + std::to_string(least) + "; the kernel takes " +
                    domain_text(knob));
  }
  return value;
}

namespace {

/// Calls visit(guard) for each guard of the kernel's agents, variables, operations and edges.
template <class Visit>
void visit_structure(const Mapping& mapping, const Visit& visit) {
  const auto visit_all = [&](const Guarded<Value>& alternatives) {
    for (const auto& [guard, value] : alternatives) visit(guard);
  };
  for (const Agent& agent : mapping.agents) {
    visit_all(agent.count);
    visit_all(agent.registers);
    visit_all(agent.overhead.numbers);
  }
  for (const VariableMapping& variable : mapping.variables) {
    visit(variable.when);
    visit_all(variable.copies);
    visit_all(variable.column_parts);
  }
  for (const EdgeMapping& edge : mapping.edges) visit(edge.when);
  for (const OperationMapping& op : mapping.operations) {
    for (const auto& [guard, instruction] : op.instruction) visit(guard);
    for (const WorkMapping& work : op.work) visit(work.when);
    for (const auto& [array, variables] : op.operands) {
      for (const auto& [guard, variable] : variables) visit(guard);
    }
  }
}

}  // namespace

void check_described(const Mapping& mapping, KnobId knob, std::int64_t value, const std::string& where) {
  const auto said_of = [&](std::int64_t v) {
    std::vector<bool> said;
    visit_structure(mapping, [&](const Guard& guard) {
      for (const auto& [named, values] : guard.all) {
        if (named == knob) said.push_back(std::find(values.begin(), values.end(), v) != values.end());
      }
    });
    return said;
  };
  const Knob& own = mapping.knobs[static_cast<std::size_t>(knob)];
  if (std::find(own.domain.begin(), own.domain.end(), value) != own.domain.end()) return;
  const std::vector<bool> said = said_of(value);
  if (std::any_of(own.domain.begin(), own.domain.end(), [&](std::int64_t v) { return said_of(v) == said; })) return;
  throw Error(where, own.name + "=" + std::to_string(value) + ": nobody has said how " + mapping.name + " works then",
              "one of " + domain_text(own));
}

}  // namespace napkin::internal
