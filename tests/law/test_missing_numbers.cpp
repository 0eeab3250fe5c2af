// Every profile, every number taken away, one at a time: reading it is an error that names the number, or the predicted
// time of a tile is unchanged to the last bit, or the prediction names the number among its needs. A table of
// instruction times is one number.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/clock/graph/needs.hpp"
#include "model/clock/prediction.hpp"
#include "model/machine/write.hpp"
#include "model/mapping/compile/compiled.hpp"
#include "model/resource/resources.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/layout.hpp"

namespace test_missing_numbers {

using namespace napkin;
using namespace napkin::internal;

namespace {

/// A profile's text without one of its numbers.
struct Shortened {
  std::string name;  ///< "constants.tma_box", "units.special.co_use.alone"
  std::string text;
};

std::size_t depth_of(const std::string& line) { return line.find_first_not_of(' '); }

/// Returns the key of a line, "" for an item of a list.
std::string key_of(const std::string& line) {
  const std::size_t first = depth_of(line), colon = line.find(':', first);
  return line[first] == '-' || colon == std::string::npos ? "" : line.substr(first, colon - first);
}

/// Returns the text without each of its numbers in turn; profile_text() writes one a line, tables over several.
std::vector<Shortened> shortened(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::vector<Shortened> out;
  std::vector<std::pair<std::size_t, std::string>> open;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t depth = depth_of(lines[i]);
    while (!open.empty() && open.back().first >= depth) open.pop_back();
    open.emplace_back(depth, key_of(lines[i]));
    const bool table = key_of(lines[i]) == "timing";
    if (!table && lines[i].find("{value:") == std::string::npos) continue;
    std::size_t end = i + 1;
    while (table && end < lines.size() && depth_of(lines[end]) > depth) ++end;
    Shortened one;
    for (const auto& each : open) {
      if (!each.second.empty()) one.name += (one.name.empty() ? "" : ".") + each.second;
    }
    for (std::size_t l = 0; l < lines.size(); ++l) {
      if (l < i || l >= end) one.text += lines[l] + "\n";
    }
    out.push_back(std::move(one));
  }
  return out;
}

/// Returns true if the error of the reader names the missing key, or its map.
bool says(const std::string& error, const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return error.find(name.substr(dot + 1)) != std::string::npos || error.find(name.substr(0, dot)) != std::string::npos;
}

/// Returns true if the text has the last word of a name, and the one before it if the last is ambiguous.
bool names(const std::string& text, const std::string& name) {
  const std::size_t dot = name.rfind('.');
  std::string last = name.substr(dot + 1);
  if (last == "by_cluster_size") last = "bandwidth_of_";  // one of its rows
  if (text.find(last) == std::string::npos) return false;
  if (name.starts_with("constants.") || name.starts_with("fitted.") || name.starts_with("limits.")) return true;
  const std::size_t before = name.rfind('.', dot - 1);
  const std::string parent = name.substr(before + 1, dot - before - 1);
  return parent == "tensor" || text.find(parent) != std::string::npos;
}

/// A tile of a kernel on some machine.
struct Question {
  std::string kernel;
  test::Shape shape;
  test::Knobs knobs;
  DType type = DType::bf16;
};

class Asked {
 public:
  Asked(const Question& question, const Machine& machine)
      : mapping_(test::built_in_mapping(question.kernel)), streamed_(streamed_by(mapping_, diagram())) {
    problem_.sizes = resolve_sizes(streamed_.diagram, question.shape, "shape");
    problem_.dtype = question.type;
    const Placer placer(streamed_, mapping_, machine, problem_);
    Tile tile;
    for (const Knob& knob : mapping_.knobs) tile.values.push_back(knob.domain.front());
    for (const auto& [name, text] : question.knobs) {
      const auto id = static_cast<std::size_t>(*mapping_.find_knob(name));
      tile.values[id] = parse_knob(mapping_.knobs[id], text, name);
    }
    const PlacedDiagram placed = placer.place(tile);
    const Plan needed = plan(placed);
    at_least = predict(placed).at_least;
    needs = needs_of(placed);
    say(predict(placed));
    say(predict(placed, {.by = ByClock::roofline}));
    if (const auto least = least_time(placed)) say(*least);
    said += fmt::format("{} {} {} {}", needed.blocks_per_sm.get(), needed.shared_limit.value.get(),
                        needed.registers_limit.get(), needed.limited_by);
    for (const LevelTransfer& moved : transfers(placed, Rereads::none))
      said += fmt::format(" {} {}", moved.transfer().value.get(), moved.delivered.value.get());
    for (const LevelMemory& held : memories(placed))
      said += fmt::format(" {} {}", held.allocated.value.get(), held.limit ? held.limit->value.get() : -1);
  }

  std::string said;  ///< all numbers of the answer, to the last bit
  bool at_least = false, finite = true;
  std::vector<Need> needs;

  [[nodiscard]] bool names_missing(const std::string& name) const {
    return std::any_of(needs.begin(), needs.end(),
                       [&](const Need& need) { return !need.known && names(need.name, name); });
  }

 private:
  [[nodiscard]] const Diagram& diagram() const { return test::built_in_diagram(mapping_.algorithm); }
  void say(const Prediction& p) {
    finite = finite && std::isfinite(p.time.value) && std::isfinite(p.cycles.value) && p.time.value > 0;
    said += fmt::format("{:a} {:a} {:a} {:a} {} {} ", p.time.value, p.cycles.value, p.clock.value,
                        p.power ? p.power->value : 0.0, p.bound, p.clock_source);
    for (const PipeUse& pipe : p.pipes) {
      finite = finite && std::isfinite(pipe.busy);
      said += fmt::format("{} {:a} ", pipe.name, pipe.busy);
    }
  }

  const Mapping& mapping_;
  Streamed streamed_;
  Problem problem_;
};

/// Returns questions for the kernels of attention and matmul that run there, and for one with clusters.
std::vector<Question> questions_on(const Machine& machine) {
  const test::Shape attention = {{"b", 2}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}},
                    matmul = {{"a", 4096}, {"b", 4096}, {"c", 4096}};
  std::vector<Question> out;
  for (const std::string& kernel : builtin_mappings()) {
    const Mapping& mapping = test::built_in_mapping(kernel);
    const bool of_both = mapping.algorithm == "attention" || mapping.algorithm == "matmul";
    if (!of_both || !runs_on(mapping, machine)) continue;
    Question one{kernel, mapping.algorithm == "matmul" ? matmul : attention, {}};
    if (std::find(mapping.dtypes.begin(), mapping.dtypes.end(), "bf16") == mapping.dtypes.end()) one.type = DType::f16;
    if (machine.tensor_for(one.type) == nullptr) one.type = DType::f16;
    try {
      (void)Asked(one, machine);
    } catch (const Error&) {  // other tiles may be placed: a type or a guard excludes this one
      continue;
    }
    out.push_back(one);
    if (mapping.find_knob("cluster")) out.push_back({kernel, one.shape, {{"cluster", "2"}}, one.type});
  }
  return out;
}

struct Outcome {
  int errors = 0, unchanged = 0, named = 0;
};

/// Returns true for a constant that also has a measured value, which counts without the fitted one.
bool is_known(const Machine& machine, const std::string& name) {
  constexpr std::string_view fitted = "fitted.";
  return name.starts_with(fitted) && machine.constants.contains(name.substr(fitted.size()));
}

/// Returns "" if taking the number away does not change an answer silently.
std::string judge(const Shortened& without, const std::vector<Question>& questions, const std::vector<Asked>& before,
                  Outcome& outcome) {
  std::optional<Machine> machine;
  try {
    machine = parse_machine(without.text, "without.yaml");
  } catch (const Error& error) {
    ++outcome.errors;
    return says(error.what(), without.name) ? "" : std::string("an error that does not name it: ") + error.what();
  }
  for (std::size_t q = 0; q < questions.size(); ++q) {
    try {
      const Asked now(questions[q], *machine);
      if (!now.finite) return questions[q].kernel + ": a number that is not finite";
      const bool unchanged = now.said == before[q].said;
      ++(unchanged ? outcome.unchanged : outcome.named);
      if (!unchanged && !is_known(*machine, without.name) && !now.names_missing(without.name))
        return questions[q].kernel + (now.at_least ? ": a bound that does not name it" : ": a silent change");
    } catch (const Error& error) {
      ++outcome.errors;
      if (!says(error.what(), without.name)) return std::string("an error that does not name it: ") + error.what();
    }
  }
  return "";
}

}  // namespace

TEST_CASE("no number of any profile is missed in silence") {
  Outcome outcome;
  int numbers = 0;
  for (const std::string& name : builtin_machines()) {
    CAPTURE(name);
    const Machine& machine = test::built_in_machine(name);
    const std::vector<Question> questions = questions_on(machine);
    std::vector<Asked> before;
    before.reserve(questions.size());
    for (const Question& question : questions) before.emplace_back(question, machine);
    const std::vector<Shortened> all = shortened(profile_text(machine));
    CHECK(all.size() > 25);
    const std::size_t step = static_cast<std::size_t>(100 / std::max(test::rounds(100), 1));
    for (std::size_t i = 0; i < all.size(); i += step) {
      ++numbers;
      CAPTURE(all[i].name);
      CHECK(judge(all[i], questions, before, outcome) == "");
    }
  }
  MESSAGE(numbers << " numbers: " << outcome.errors << " errors, " << outcome.unchanged << " unchanged answers, "
                  << outcome.named << " that name it");
  if (test::rounds(100) == 100) {
    CHECK(numbers > 2000);
    CHECK(outcome.named > 500);
  }
}

}  // namespace test_missing_numbers
