#include "apps/library/question/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "model/machine/number.hpp"
#include "model/machine/vocabulary_of.hpp"

namespace napkin::internal {
namespace {

/// A violation and its subject.
struct Broken {
  const Violation& violation;
  const Question& question;
  const Mapping& mapping;
  Vocabulary terms;

  [[nodiscard]] std::string needed() const { return grouped_digits(violation.needed); }
  [[nodiscard]] std::string available() const { return grouped_digits(violation.available); }
  /// Returns the text after "granularity of ".
  [[nodiscard]] std::string subject() const {
    const std::size_t at = violation.constraint.find(" of ");
    return at == std::string::npos ? violation.constraint : violation.constraint.substr(at + 4);
  }
  [[nodiscard]] std::string beyond(const std::string& what) const {
    return "needs " + needed() + " " + what + ", there are " + available();
  }
};

std::string sizes_text(const Broken& broken) {
  std::vector<std::string> sizes;
  for (const auto& [axis, most] : broken.mapping.above) {
    if (axis == broken.subject() && broken.violation.needed <= static_cast<double>(most))
      return "takes " + axis + " above " + std::to_string(most) + " only, not " + broken.needed();
  }
  if (lists(broken.mapping.padded, broken.subject()))
    return "takes " + broken.subject() + " up to " + broken.available() + " only, not " + broken.needed();
  for (const auto& [axis, values] : broken.mapping.head_sizes) {
    for (const std::int64_t value : values) {
      if (axis == broken.subject()) sizes.push_back(std::to_string(value));
    }
  }
  return "takes " + broken.subject() + " of " + listed(sizes, "or") + " only, not " + broken.needed();
}

std::string relation_text(const Broken& broken, const Relation& relation) {
  const std::string subject = broken.violation.constraint + ": ";
  switch (relation.kind) {
    case Relation::Kind::equal: return subject + broken.needed() + " must equal " + broken.available();
    case Relation::Kind::at_most: return subject + broken.needed() + " is more than " + broken.available();
    case Relation::Kind::less: return subject + broken.needed() + " is not less than " + broken.available();
    case Relation::Kind::multiple: return subject + broken.available() + " is no multiple of " + broken.needed();
  }
  return subject;
}

using Sentence = std::string (*)(const Broken&);

/// Returns the sentences by constraint. A constraint is found by its name, or by the part of its name before " of ".
const std::map<std::string, Sentence, std::less<>>& sentences() {
  static const std::map<std::string, Sentence, std::less<>> all{
      {"architecture",
       [](const Broken& b) {
         return "needs " + listed(b.mapping.runs_on, "or") + ", " + b.question.machine->name + " is " +
                b.question.machine->architecture;
       }},
      {"dtype", [](const Broken& b) { return "takes " + listed(b.mapping.dtypes, "and") + " only"; }},
      {"mask", [](const Broken& b) { return b.mapping.name + " takes no mask of this kind"; }},
      {"size", sizes_text},
      {"packing",
       [](const Broken& b) {
         return "packs " + b.needed() + " of the axis " + b.subject() + ", which has " + b.available();
       }},
      {"granularity",
       [](const Broken& b) { return b.subject() + "=" + b.available() + " is no multiple of " + b.needed(); }},
      {"threads", [](const Broken& b) { return b.beyond("threads a block"); }},
      {"registers", [](const Broken& b) { return b.beyond("registers a thread"); }},
      {"register file", [](const Broken& b) { return b.beyond("registers a block"); }},
      {"shared memory", [](const Broken& b) { return b.beyond("B of " + b.terms.memory + " a block"); }},
      {"core memory", [](const Broken& b) { return b.beyond("B of a core's memory"); }},
      {"side memory", [](const Broken& b) { return b.beyond("B of the memory beside the registers"); }},
      {"device memory", [](const Broken& b) { return b.beyond("B of device memory"); }},
      {"memory", [](const Broken& b) { return b.beyond("values of memory"); }},
      {"resident blocks",
       [](const Broken& b) {
         return "needs " + b.needed() + " blocks at a time, one on each of " + b.available() + " " + b.terms.nodes;
       }},
  };
  return all;
}

}  // namespace

std::string grouped_digits(double number) {
  constexpr double exact = 9e15;
  if (!(std::abs(number) < exact) || std::floor(number) != number) return fmt::format("{:.4g}", number);
  std::string digits = fmt::format("{:.0f}", number);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string listed(const std::vector<std::string>& words, const std::string& last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " " + last + " ") + words[i];
  return text;
}

std::string words_of(const Violation& violation, const Question& question, const Mapping& mapping) {
  const Broken broken{violation, question, mapping, vocabulary_of(*question.machine)};
  for (const Relation& relation : mapping.relations) {
    if (relation.name == violation.constraint) return relation_text(broken, relation);
  }
  auto found = sentences().find(violation.constraint);
  if (found == sentences().end())
    found = sentences().find(violation.constraint.substr(0, violation.constraint.find(" of ")));
  if (found != sentences().end()) return found->second(broken);
  return violation.constraint + ": needs " + broken.needed() + ", has " + broken.available();
}

namespace {

/// Adds a note if sources dispute the number.
void add_disputed(const char* kind, const std::string& name, const char* field, const Number& number,
                  std::vector<std::string>& notes) {
  if (!number.from.disputed) return;
  const Disputed& other = *number.from.disputed;
  notes.push_back(fmt::format("{}{}{} is disputed: {:.6g} {} here, {:.6g} {} by another source ({})", kind, name, field,
                              number.value / profile::factor_of(number.unit), number.unit,
                              other.value / profile::factor_of(other.unit), other.unit, other.source));
}

void add_disputed(const char* kind, const std::string& name, const char* field, const Stated& number,
                  std::vector<std::string>& notes) {
  if (number.known()) add_disputed(kind, name, field, number.best(), notes);
}

/// Adds notes on the disputed numbers that a kernel's time reads: its units' rates, the pipes' and the constants.
void add_disputed(const Setup& setup, std::vector<std::string>& notes) {
  if (setup.ideal) return;
  for (const Unit& unit : setup.machine->units) {
    const auto takes = [&](const WorkMapping& work) { return work.unit == unit.name; };
    const bool used =
        std::any_of(setup.mapping->operations.begin(), setup.mapping->operations.end(),
                    [&](const OperationMapping& op) { return std::any_of(op.work.begin(), op.work.end(), takes); });
    if (used) add_disputed("units.", unit.name, ".rate", unit.per_clock, notes);
  }
  for (const Pipe& pipe : setup.machine->pipes) {
    add_disputed("pipes.", pipe.name, ".bandwidth_per_node", pipe.per_node_clock, notes);
    add_disputed("pipes.", pipe.name, ".bandwidth", pipe.aggregate, notes);
    if (pipe.latency) add_disputed("pipes.", pipe.name, ".latency", *pipe.latency, notes);
  }
  for (const auto& [name, number] : setup.machine->constants) add_disputed("constants.", name, "", number, notes);
}

}  // namespace

std::vector<std::string> notes_of(const Setup& setup) {
  std::vector<std::string> notes;
  add_disputed(setup, notes);
  for (const auto& [id, value] : setup.fixed) {
    const Knob& knob = setup.mapping->knobs[static_cast<std::size_t>(id)];
    const auto& domain = knob.domain;
    if (!knob.words.empty() || setup.ideal || std::find(domain.begin(), domain.end(), value) != domain.end()) continue;
    std::vector<std::string> values;
    for (const std::int64_t known : domain) values.push_back(std::to_string(known));
    std::sort(values.begin(), values.end(),
              [](const std::string& a, const std::string& b) { return std::stoll(a) < std::stoll(b); });
    notes.push_back(fmt::format("{}={} is none of the values that {} is searched over ({}): the kernel may lack it",
                                knob.name, value, setup.mapping->name, joined(values)));
  }
  return notes;
}

}  // namespace napkin::internal
