// napkin list: the machines, algorithms and kernels that Napkin knows by name.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "apps/library/ask/step_file.hpp"
#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/json/standing.hpp"
#include "apps/report/units.hpp"
#include "kernels/jit/source.hpp"
#include "model/base/embedded.hpp"
#include "model/diagram/library.hpp"
#include "model/island/island.hpp"
#include "model/machine/load.hpp"
#include "model/machine/numbers.hpp"
#include "model/mapping/read/load.hpp"
#include "napkin/bands.hpp"

namespace napkin::internal::cli {
namespace {

using report::Json;
using report::Table;

/// A list, as text and as JSON.
struct List {
  Json json = Json::array();
  Table table;
};

std::optional<double> device_bandwidth(const Machine& machine) {
  for (std::size_t i = 1; i < machine.levels.size(); ++i) {
    const Pipe* pipe = machine.pipe_into(static_cast<LevelId>(i));
    if (machine.levels[i].parent != 0 || pipe == nullptr) continue;
    const Hertz clock(machine.clocks.maximum ? machine.clocks.maximum->value : 0);
    const double bandwidth = bytes_per_second(machine, *pipe, clock);
    if (bandwidth > 0) return bandwidth;
  }
  return std::nullopt;
}

/// Returns the dense peak in bf16 (else f16) at the datasheet's clock, in FLOP/s.
std::optional<double> tensor_peak(const Machine& machine) {
  const TensorInstruction* instruction = machine.tensor_for(DType::bf16);
  if (instruction == nullptr) instruction = machine.tensor_for(DType::f16);
  const auto& clock = machine.clocks.tensor ? machine.clocks.tensor : machine.clocks.maximum;
  if (instruction == nullptr || !clock) return std::nullopt;
  return peak_flops(machine, *instruction, Hertz(clock->value));
}

constexpr std::array all_bases = {Basis::measured, Basis::fitted, Basis::published, Basis::derived, Basis::assumed};

std::map<Basis, int> count_bases(const Machine& machine) {
  std::map<Basis, int> count;
  for (const MachineNumber& number : numbers_of(machine)) ++count[basis_of(machine, number.from)];
  return count;
}

Json basis_json(const Machine& machine) {
  std::map<Basis, int> count = count_bases(machine);
  Json json = Json::object();
  for (const Basis basis : all_bases) json[std::string(name_of(basis))] = count[basis];
  return json;
}

/// Counts numbers by basis: "80 measured, 24 published, 3 derived".
std::string basis_text(const Machine& machine) {
  std::map<Basis, int> count = count_bases(machine);
  std::string text;
  for (const Basis basis : all_bases) {
    if (count[basis] > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count[basis], name_of(basis));
  }
  return text;
}

List gpus() {
  List list{Json::array(), Table({"<name", "<architecture", "cores", "memory", "bandwidth", "16-bit peak", "<numbers",
                                  "band", "<about"})};
  for (const std::string& name : builtin_machines()) {
    const Machine machine = load_machine(name, "--gpu");
    const auto bandwidth = device_bandwidth(machine);
    const auto peak = tensor_peak(machine);
    const Stated& memory = machine.levels.front().capacity;
    const std::int64_t cores = machine.compute_nodes().get();
    list.json.push_back({{"name", name},
                         {"about", machine.about},
                         {"architecture", machine.architecture},
                         {"cores", cores},
                         {"memory", memory.known() ? report::json_of(memory.best().value) : Json(nullptr)},
                         {"bandwidth", bandwidth ? report::json_of(*bandwidth) : Json(nullptr)},
                         {"peak", peak ? report::json_of(*peak) : Json(nullptr)},
                         {"basis", basis_json(machine)},
                         {"band", report::json_of(band_on(machine.name, machine.architecture))}});
    list.table.add({name, machine.architecture, std::to_string(cores),
                    memory.known() ? fmt::format("{:.0f} GB", memory.best().value / 1e9) : "",
                    bandwidth ? report::rate_text(*bandwidth) : "",
                    peak ? fmt::format("{:.0f} TFLOP/s", *peak / 1e12) : "", basis_text(machine),
                    report::cell_of(band_on(machine.name, machine.architecture)), machine.about});
  }
  return list;
}

/// Lists islands of several GPUs with the links that join them, level by level.
List islands() {
  List list{Json::array(), Table({"<island", "GPUs", "<of", "<level", "line rate", "bandwidth", "hop", "<about"})};
  for (const std::string& name : builtin_islands()) {
    const Island island = load_island(name, "--gpu");
    Json levels = Json::array();
    for (const Link& link : island.links) {
      const auto line_rate = link.line_rate ? std::optional(link.line_rate->value) : std::nullopt;
      levels.push_back({{"name", link.name},
                        {"joins", link.joins.get()},
                        {"line_rate", report::json_of(line_rate)},
                        {"bandwidth", report::json_of(link.bandwidth.value)},
                        {"latency", report::json_of(link.latency.value)}});
      list.table.add({name, std::to_string(island.gpus().get()), island.gpu, link.name,
                      line_rate ? report::rate_text(*line_rate) : "", report::rate_text(link.bandwidth.value),
                      report::time_text(link.latency.value), island.about});
    }
    list.json.push_back({{"name", name},
                         {"about", island.about},
                         {"gpu", island.gpu},
                         {"gpus", island.gpus().get()},
                         {"levels", levels}});
  }
  return list;
}

std::string default_text(const Diagram& diagram, const Axis& axis) {
  if (const auto* number = std::get_if<std::int64_t>(&axis.fallback)) return axis.name + "=" + std::to_string(*number);
  if (const auto* other = std::get_if<AxisId>(&axis.fallback)) {
    return axis.name + "=" + diagram.axes[static_cast<std::size_t>(*other)].name;
  }
  return axis.name;
}

List algorithms() {
  List list{Json::array(), Table({"<name", "<axes (with defaults)", "<about"})};
  for (const std::string& name : builtin_diagrams()) {
    const Diagram diagram = load_diagram(name);
    std::vector<std::string> axes;
    for (const Axis& axis : diagram.axes) axes.push_back(default_text(diagram, axis));
    list.json.push_back({{"name", name}, {"about", diagram.about}, {"axes", diagram.axis_names()}});
    list.table.add({name, joined(axes, " "), diagram.about});
  }
  return list;
}

/// Describes the combining of parts: "turns in l2"; "" if no result has parts.
std::string combine_text(const Mapping& mapping) {
  if (!mapping.combine) return "";
  const CombineMapping& combine = *mapping.combine;
  const std::string by = CombineMapping::words[static_cast<std::size_t>(combine.by)];
  return combine.at.empty() ? by : by + " in " + combine.at;
}

/// Returns the kernel's own file in this program, beside its mapping; "" for a peer's kernel and for a proposed one.
std::string source_of(const Mapping& mapping) {
  if (mapping.proposed || !mapping.source.empty()) return mapping.source;
  const std::string file = mapping.name + ".cuh";
  const auto files = embedded_files();
  const bool ours = std::any_of(files.begin(), files.end(), [&](const EmbeddedFile& one) {
    return one.path.starts_with("kernels/") && one.path.ends_with("/" + file);
  });
  return ours ? file : "";
}

/// Says who has the kernel: this program, for every caller (bundled) or by its C++ plan alone; another project; a
/// paper.
std::string standing(const Mapping& mapping) {
  if (mapping.proposed) return "proposed";
  if (!mapping.source.empty()) return "bundled";
  return source_of(mapping).empty() ? "a peer's" : "by its plan";
}

List kernels() {
  List list{Json::array(),
            Table({"<name", "<algorithm", "<runs on", "<types", "<kernel", "<combines by", "<knobs", "<about"})};
  for (const std::string& name : builtin_mappings()) {
    const Mapping mapping = load_mapping(name, "--kernel");
    std::vector<std::string> knobs;
    for (const Knob& knob : mapping.knobs) knobs.push_back(knob.name);
    const std::string source = source_of(mapping);
    list.json.push_back({{"name", name},
                         {"about", mapping.about},
                         {"algorithm", mapping.algorithm},
                         {"runs_on", mapping.runs_on},
                         {"dtypes", mapping.dtypes},
                         {"proposed", mapping.proposed},
                         {"bundled", !mapping.source.empty()},
                         {"source", source.empty() ? Json(nullptr) : Json(source)},
                         {"source_hash", source.empty() ? Json(nullptr) : Json(kernel_source_hash(name))},
                         {"combine", mapping.combine ? Json(combine_text(mapping)) : Json(nullptr)},
                         {"knobs", knobs}});
    list.table.add({name, mapping.algorithm, joined(mapping.runs_on, " "), joined(mapping.dtypes, " "),
                    standing(mapping), combine_text(mapping), joined(knobs, " "), mapping.about});
  }
  return list;
}

List steps() {
  List list{Json::array(), Table({"<name", "<symbols (with defaults)", "<about"})};
  for (const std::string& name : builtin_steps()) {
    const StepNotes notes = notes_of_step(name);
    list.json.push_back({{"name", name}, {"about", notes.about}, {"symbols", notes.symbols}});
    list.table.add({name, joined(notes.symbols, " "), notes.about});
  }
  return list;
}

Reply run_list(const Arguments& arguments, const report::Style& style) {
  const std::vector<std::string> kinds = {"gpus", "algorithms", "kernels", "steps"};
  const std::string kind = arguments.need_operand("napkin list", "one of " + joined(kinds));
  List list{Json::array(), Table({})};
  if (kind == "gpus") {
    list = gpus();
  } else if (kind == "algorithms") {
    list = algorithms();
  } else if (kind == "kernels") {
    list = kernels();
  } else if (kind == "steps") {
    list = steps();
  } else {
    throw Error("napkin list", in_quotes(kind) + " cannot be listed", one_of(kind, kinds));
  }
  Json json = {{"command", "list"}, {kind, list.json}};
  std::string text = arguments.has("--json") ? "" : list.table.text(style);
  if (kind == "gpus") {
    const List several = islands();
    json["islands"] = several.json;
    text += "\n" + several.table.text(style);
  }
  return {arguments.has("--json") ? report::line_of(json) : text, "", 0};
}

}  // namespace

Command list_command() {
  return {"list",
          "the GPUs, algorithms, kernels and models' steps known by name",
          {"WHAT", "", "gpus, algorithms, kernels or steps"},
          {json_option()},
          run_list};
}

}  // namespace napkin::internal::cli
