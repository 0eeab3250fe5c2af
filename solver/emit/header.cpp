// The selected configuration as a C++ header: plain constants, so that any compiler from C++17 on reads it, nvcc too.
#include <fmt/format.h>

#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "solver/emit/emit.hpp"
#include "solver/emit/identifier.hpp"

namespace napkin::internal {
namespace {

using emit::identifier;
using emit::type_identifier;

/// The lines of the struct; each name is given once, even if two names of the mapping make one identifier.
class Struct {
 public:
  /// Returns the name, made unique in the current scope.
  std::string unique(std::string name) {
    while (!names_.insert(name).second) name += '_';
    return name;
  }
  void constant(std::string_view type, const std::string& name, const std::string& value, const std::string& about) {
    const std::string line = fmt::format("{}static constexpr {} {} = {};", indent_, type, unique(name), value);
    text_ += about.empty() ? line + "\n" : fmt::format("{:<48}  // {}\n", line, about);
  }
  void number(const std::string& name, Count value, const std::string& about) {
    const bool wide = value > Count(INT32_MAX);
    constant(wide ? "long long" : "int", name, std::to_string(value.get()), about);
  }
  void line(const std::string& text) { text_ += text.empty() ? "\n" : indent_ + text + "\n"; }
  void open(const std::string& name, const std::string& about) {
    line(fmt::format("struct {} {{  // {}", unique(name), about));
    outer_ = std::exchange(names_, {name});
    indent_ = "    ";
  }
  void close() {
    names_ = outer_;
    indent_ = "  ";
    line("};");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_, indent_ = "  ";
  std::set<std::string> names_, outer_;
};

/// Puts a comment's text on a single line, as a mapping's author may have written line breaks.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\\') c = ' ';
  }
  return text;
}

void add_knob(Struct& out, const Knob& knob, std::int64_t value) {
  const std::string about =
      one_line(knob.unit.empty() || knob.about.empty() ? knob.unit + knob.about : knob.unit + ": " + knob.about);
  if (knob.words.empty()) return out.number(identifier(knob.name), value, about);
  const auto index = static_cast<std::size_t>(value);
  if (knob.words == std::vector<std::string>{"on", "off"} || knob.words == std::vector<std::string>{"off", "on"}) {
    return out.constant("bool", identifier(knob.name), knob.words[index] == "on" ? "true" : "false", about);
  }
  std::string words;
  Struct scope;
  std::vector<std::string> names;
  for (const std::string& word : knob.words) names.push_back(scope.unique(identifier(word)));
  const std::string type = out.unique(type_identifier(knob.name));
  out.line(fmt::format("enum class {} {{ {} }};", type, joined(names)));
  out.constant(type, identifier(knob.name), type + "::" + names[index], about);
}

void add_knobs(Struct& out, const PlacedDiagram& placed) {
  for (std::size_t k = 0; k < placed.mapping->knobs.size(); ++k) {
    add_knob(out, placed.mapping->knobs[k], placed.tile.values[k]);
  }
}

void add_extents(Struct& out, const PlacedDiagram& placed) {
  const std::vector<Axis>& axes = placed.streamed->diagram.axes;
  out.open("Extent", "of one block along each axis; the streamed one: of one iteration");
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const bool streamed = placed.streamed->stream == static_cast<AxisId>(a);
    out.number(identifier(axes[a].name), streamed ? placed.block().chunk : placed.block().extent[a], "");
  }
  out.close();
}

void add_shared(Struct& out, const PlacedDiagram& placed, const Plan& plan) {
  out.open("Shared", "bytes: where each variable begins in a block's dynamic shared memory");
  for (const Slot& slot : plan.shared) {
    const Variable& variable = placed.variables[static_cast<std::size_t>(slot.variable)];
    const std::string& name = placed.mapping->variables[static_cast<std::size_t>(variable.mapping)].name;
    out.number(identifier(name), slot.offset.value, fmt::format("{} bytes", slot.size.value.get()));
  }
  out.number("total", plan.shared_total.value, "barriers included");
  out.number("limit", plan.shared_limit.value, "");
  out.number("barriers", plan.barriers, "of 8 bytes");
  for (const Slot& slot : plan.shared) {
    out.line(fmt::format("static_assert({} + {} <= total, \"a variable ends beyond the block's shared memory\");",
                         slot.offset.value.get(), slot.size.value.get()));
  }
  out.line("static_assert(total <= limit, \"more shared memory than a block may have\");");
  out.close();
}

void add_threads(Struct& out, const PlacedDiagram& placed, const Plan& plan) {
  const Limits& limits = placed.machine->limits;
  out.open("Threads", "of a block, and the registers of each");
  out.number("total", plan.threads, "");
  out.number("limit", limits.threads_per_block, "");
  out.number("registers_launch", plan.registers_launch, "a thread, before the agents share anew");
  out.number("registers_needed", plan.registers_per_thread, "a thread of the hungriest agent, estimated");
  out.number("registers_limit", plan.registers_limit, "of that thread");
  std::string split;
  for (const PlacedAgent& agent : placed.agents) {
    const std::string name = identifier(placed.mapping->agents[static_cast<std::size_t>(agent.mapping)].name);
    out.number(name + "_threads", agent.instances * agent.threads, "");
    if (!agent.registers) continue;
    out.number(name + "_registers", *agent.registers, "a thread, set by the kernel");
    split += fmt::format("{}{}_threads * {}_registers", split.empty() ? "" : " + ", name, name);
  }
  out.line("static_assert(total <= limit, \"more threads than a block may have\");");
  out.line("static_assert(registers_needed <= registers_limit, \"the variables would spill\");");
  if (!split.empty() && limits.known) {
    out.line(fmt::format("static_assert({} <= {}, \"more registers than a block may have\");", split,
                         limits.registers_per_block.get()));
  }
  out.close();
}

/// Returns the namespace's name, "h200_sxm_bf16_h16_q8192_1f3a90c2": the question in short, and a hash of question and
/// tile.
std::string own_namespace(const PlacedDiagram& placed, const std::string& about) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  };
  add(about);
  for (const std::int64_t value : placed.tile.values) add(std::to_string(value) + ",");
  std::string name = placed.machine->name + "_" + std::string(name_of(placed.problem->dtype));
  const std::vector<Axis>& axes = placed.streamed->diagram.axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (placed.problem->sizes[a] > Count(1))
      name += "_" + axes[a].name + std::to_string(placed.problem->sizes[a].get());
  }
  return identifier(name + fmt::format("_{:08x}", hash));
}

}  // namespace

std::string emit_cpp(const PlacedDiagram& placed, const Plan& plan) {
  const std::string kernel = placed.mapping->name.empty() ? "ideal" : placed.mapping->name;
  Struct out;
  add_knobs(out, placed);
  out.line("");
  add_extents(out, placed);
  if (placed.machine->limits.known) {
    add_shared(out, placed, plan);
    add_threads(out, placed, plan);
    out.number("blocks_per_sm", plan.blocks_per_sm, "limited by " + one_line(plan.limited_by));
  }
  const std::string about = about_question(placed.streamed->diagram, *placed.mapping, *placed.machine, *placed.problem);
  return fmt::format(
      "#pragma once\n// The tile that Napkin selected for {}.\n// Constants only: C++17 or later, host or device. "
      "Headers of one kernel can stand together: each has an inline namespace.\n\nnamespace napkin_tile {{\ninline "
      "namespace {} {{\n\nstruct {} {{\n{}}};\n\n}}  // namespace {}\n}}  // namespace napkin_tile\n",
      one_line(about), own_namespace(placed, about), type_identifier(kernel), out.text(), own_namespace(placed, about));
}

}  // namespace napkin::internal
