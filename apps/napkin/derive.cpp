// napkin derive: how the fused, streamed algorithm follows from the text of the unfused one.

#include <fmt/format.h>

#include <algorithm>

#include "apps/library/answer/check.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "apps/napkin/ask.hpp"
#include "apps/napkin/colours.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/dump.hpp"
#include "apps/napkin/pictures.hpp"
#include "apps/napkin/progress.hpp"
#include "apps/report/diagram/expansion.hpp"
#include "apps/report/diagram/json.hpp"
#include "apps/report/file.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/text/configuration.hpp"
#include "apps/report/text/text.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/algorithm.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/pseudocode.hpp"
#include "model/interpret/dump.hpp"
#include "model/mapping/asked.hpp"
#include "model/mapping/knobs.hpp"
#include "solver/space/coalescing.hpp"
#include "solver/space/granularity.hpp"

namespace napkin::internal::cli {
namespace {

using report::Json;
using report::Style;

/// A relation of the mapping by which a product of sizes is a multiple of another, "x=64" of "u_x=32", or equal to it.
struct PartDivisor {
  std::string name, size, divisor;
  bool equal = false;
};

/// The content of the answer: the streamed program, and the question's head if a machine was given.
struct Derivation {
  Head head;
  Streamed streamed;
  std::optional<report::Configuration> configuration;
  std::vector<Granularity> divisors;               ///< divisors of axes that instructions and transfers need
  std::vector<PartDivisor> parts;                  ///< divisors of parts of axes
  std::string program;                             ///< program of a group; with a machine its colours and smaller loops
  std::optional<report::StreamSizes> chunks = {};  ///< sizes of the stream on a machine
  report::ColumnDiagram columns = {};              ///< columns of the picture
  report::Drawing picture = {};                    ///< picture, if it was asked for
};

bool draws(const Arguments& arguments) { return arguments.has("--svg") || arguments.has("--tikz"); }

bool asks_for_machine(const Arguments& arguments) {
  for (const char* option : {"--gpu", "--memory", "--shape", "--kernel", "--tile", "--dtype", "--causal", "--window"}) {
    if (arguments.has(option)) return true;
  }
  return false;
}

/// Returns the terms that an iteration adds to results, by the first variable of the kernel that holds each.
std::vector<NamedPart> named_parts_of(const PlacedDiagram& placed) {
  std::vector<NamedPart> out;
  for (const Variable& v : placed.variables) {
    if (!v.part) continue;
    const std::string& name = placed.mapping->variables[static_cast<std::size_t>(v.mapping)].name;
    for (const ArrayId id : v.arrays) {
      const std::string& array = placed.streamed->diagram.arrays[static_cast<std::size_t>(id)].name;
      const bool known = std::any_of(out.begin(), out.end(), [&](const NamedPart& p) { return p.array == array; });
      if (!known) out.push_back({name, array});
    }
  }
  return out;
}

/// Runs the streamed program at the given shape and tile, in float64 on random inputs, in the kernel's order. Writes
/// its intermediates as .npy, a file for each tile and iteration, and each input in one file.
void dump(const Arguments& arguments, const Streamed& streamed, const PlacedDiagram& placed) {
  constexpr std::int64_t most = 200'000'000'000;  // FLOP: about a minute
  const std::string folder = arguments.need("--dump", "a folder for the .npy files");
  RunOptions options;
  options.parts = named_parts_of(placed);
  std::vector<std::string> names;
  for (const ArrayId id : streamed.diagram.inputs) names.push_back(streamed.diagram.arrays[at(id)].name);
  options.observed = observed_at(arguments, streamed, options.parts, names);
  options.backward = std::any_of(placed.mapping->levels.begin(), placed.mapping->levels.end(),
                                 [](const LevelMapping& level) { return level.backward; });
  if (work(placed).flops.value > Count(most))
    throw Error("--dump", "this shape takes more than 200 GFLOP to run on the CPU", "a smaller --shape");
  make_dump_folder(folder);
  options.observer = dump_into(folder);
  Progress progress;
  options.progress = following(progress, "groups run");
  const Tensors inputs = dump_inputs(streamed, *placed.problem);
  for (const auto& [name, tensor] : inputs) {
    if (options.observed.empty() || options.observed.front() == name) save_npy(folder + "/" + name + ".npy", tensor);
  }
  static_cast<void>(run_streamed(streamed, *placed.problem, partition_of(placed), inputs, options));
}

/// Writes a product of the mapping's values with their names and numbers: "64", "u_x=32 * warpgroups=3".
std::string product_text(const std::vector<Value>& factors, const Mapping& mapping, const Diagram& diagram,
                         const Problem& problem, const Tile& tile) {
  std::vector<std::string> words;
  for (const Value& value : factors) {
    if (value.kind == Value::Kind::knob) {
      const auto knob = static_cast<std::size_t>(value.knob);
      words.push_back(mapping.knobs[knob].name + "=" + std::to_string(tile.values[knob] + value.more));
    } else if (value.kind == Value::Kind::axis) {
      const Count size = held_size(mapping, diagram, problem, diagram.axis(value.axis));
      words.push_back(value.axis + "=" + std::to_string(size.get()));
    } else {
      words.push_back(std::to_string(value.literal));
    }
  }
  return joined(words, " * ");
}

/// Derives the program with the roles that the kernel gives the axes, for the tile that would run.
Derivation derive_for_machine(const Arguments& arguments) {
  const Question question = question_of(default_session(), ask_of(arguments));
  return at_shape([&] {
    const SelectedTile selected = select_tile(question);
    const Placer placer = placer_of(*selected.setup);
    const PlacedDiagram placed = placer.place(selected.tile);
    static_cast<void>(transfers(placed));  // sizes that no command can count are refused here too
    if (arguments.has("--dump")) dump(arguments, *selected.setup->streamed, placed);
    const Setup& setup = *selected.setup;
    Derivation out{head_of(question, setup, &selected.tile),
                   *setup.streamed,
                   report::configuration_of(placed),
                   {},
                   {},
                   coloured_program(placed)};
    out.program += report::rounds_of(out.configuration->detail);
    out.chunks = report::stream_sizes(placed);
    out.columns = columns_of(question, setup, placed);
    if (draws(arguments)) out.picture = picture_of(picture_asked(arguments), out.columns, out.streamed, &placed);
    if (question.abstract()) return out;
    out.divisors = granularities(*setup.streamed, *setup.mapping, *question.machine, question.problem);
    if (setup.ideal) {
      out.divisors =
          merged(std::move(out.divisors), coalescing(setup.streamed->diagram, *question.machine, question.problem));
    }
    for (const Relation& relation : setup.mapping->relations) {
      const bool equal = relation.kind == Relation::Kind::equal;
      if ((relation.kind != Relation::Kind::multiple && !equal) || !holds(relation.when, selected.tile)) continue;
      const auto text = [&](const std::vector<Value>& factors) {
        return product_text(factors, *setup.mapping, setup.streamed->diagram, setup.problem, selected.tile);
      };
      out.parts.push_back({relation.name, text(relation.left), text(relation.right), equal});
    }
    return out;
  });
}

Derivation derivation_of(const Arguments& arguments) {
  if (asks_for_machine(arguments)) return derive_for_machine(arguments);
  if (arguments.has("--dump")) throw Error("--dump", "a run needs sizes", "add --gpu or --memory, and --shape");
  const std::string name =
      arguments.need_operand("ALGORITHM", "a built-in name (napkin list algorithms) or a path to a YAML file");
  Derivation derivation;
  derivation.streamed = derive(load_algorithm(name));
  derivation.head.algorithm = derivation.streamed.diagram.name;
  derivation.head.dtype = "bf16";
  derivation.program = print_pseudocode(derivation.streamed);
  derivation.columns = report::columns_of(derivation.streamed);
  if (draws(arguments))
    derivation.picture = picture_of(picture_asked(arguments), derivation.columns, derivation.streamed, nullptr);
  return derivation;
}

/// The number of steps in a chunk: how often the smallest divisor goes into the chunk's least size, which other
/// divisors raise.
struct Steps {
  RequiredFactor smallest;
  std::int64_t count = 1;
  std::string forced_by;
};

/// Returns the steps of the streamed axis's chunk; nothing if there is one, or for another axis.
std::optional<Steps> steps_of(const Derivation& derivation, const Granularity& one) {
  if (one.axis != derivation.streamed.stream) return std::nullopt;
  std::optional<RequiredFactor> unit, largest;
  for (const RequiredFactor& cause : one.causes) {
    if (!unit || cause.divisor < unit->divisor) unit = cause;
    if (!largest || cause.divisor > largest->divisor) largest = cause;
  }
  if (!unit || one.divisor <= unit->divisor) return std::nullopt;
  return Steps{*unit, (one.divisor / unit->divisor).get(), largest->cause};
}

/// Explains why a tile's size must be a multiple of a number: "x 16 wgmma k of O 16, wgmma n of S 8".
std::string divisors_text(const Derivation& derivation, const Style& style) {
  report::Table table({"<axis", "a multiple of", "<because"});
  for (const Granularity& one : derivation.divisors) {
    std::string causes;
    for (const RequiredFactor& cause : one.causes)
      causes += (causes.empty() ? "" : ", ") + cause.cause + " " + std::to_string(cause.divisor.get());
    table.add({derivation.streamed.diagram.axes[static_cast<std::size_t>(one.axis)].name,
               std::to_string(one.divisor.get()), causes});
  }
  std::string text = table.text(style, "  ");
  for (const Granularity& one : derivation.divisors) {
    if (const std::optional<Steps> steps = steps_of(derivation, one))
      text += fmt::format("  {0}: a chunk of {1} holds at least {2} steps of {3}: {4} lets it be no smaller\n",
                          derivation.streamed.diagram.axes[static_cast<std::size_t>(one.axis)].name, one.divisor.get(),
                          steps->count, steps->smallest.cause, steps->forced_by);
  }
  for (const PartDivisor& one : derivation.parts)
    text += "  " + one.name + ": " + one.size + (one.equal ? " = " : ", a multiple of ") + one.divisor + "\n";
  return text;
}

Json parts_json(const Derivation& derivation) {
  Json list = Json::array();
  for (const PartDivisor& one : derivation.parts)
    list.push_back({{"relation", one.name}, {"size", one.size}, {"divisor", one.divisor}});
  return list;
}

Json divisors_json(const Derivation& derivation) {
  Json list = Json::array();
  for (const Granularity& one : derivation.divisors) {
    Json causes = Json::array();
    for (const RequiredFactor& cause : one.causes)
      causes.push_back({{"cause", cause.cause}, {"divisor", cause.divisor.get()}});
    list.push_back({{"axis", derivation.streamed.diagram.axes[static_cast<std::size_t>(one.axis)].name},
                    {"divisor", one.divisor.get()},
                    {"causes", causes}});
    if (const std::optional<Steps> steps = steps_of(derivation, one))
      list.back()["steps"] = {{"count", steps->count}, {"of", steps->smallest.cause}, {"because", steps->forced_by}};
  }
  return list;
}

std::string role_name(AxisRole role) {
  switch (role) {
    case AxisRole::whole: return "whole";
    case AxisRole::group: return "group";
    case AxisRole::stream: return "stream";
    case AxisRole::split: return "split";
  }
  return "";
}

Json axes_json(const Streamed& streamed) {
  Json axes = Json::array();
  for (const Streamability& axis : streamability(streamed.diagram)) {
    const auto i = static_cast<std::size_t>(axis.axis);
    axes.push_back({{"name", streamed.diagram.axes[i].name},
                    {"role", role_name(streamed.roles[i])},
                    {"streamable", axis.streamable},
                    {"why", axis.why}});
  }
  return axes;
}

std::string axes_table(const Streamed& streamed, const Style& style) {
  report::Table table({"<axis", "<role", "<can stream", "<because"});
  for (const Streamability& axis : streamability(streamed.diagram)) {
    const auto i = static_cast<std::size_t>(axis.axis);
    table.add({streamed.diagram.axes[i].name, role_name(streamed.roles[i]), axis.streamable ? "yes" : "no",
               report::wrapped(axis.why, 78, std::string(26, ' '))});
  }
  return table.text(style, "  ");
}

Json steps_json(const Streamed& streamed) {
  Json steps = Json::array();
  for (const DerivationStep& step : streamed.steps) {
    steps.push_back(
        {{"rule", step.rule},
         {"operation", step.operation ? Json(print_operation(streamed.diagram, *step.operation)) : Json(nullptr)},
         {"axis", step.axis ? Json(streamed.diagram.axes[static_cast<std::size_t>(*step.axis)].name) : Json(nullptr)},
         {"text", step.text}});
  }
  return steps;
}

Json json_of(const Derivation& derivation) {
  Json json = report::json_of(derivation.head, "derive");
  const Streamed& streamed = derivation.streamed;
  json["diagram"] = print(streamed.diagram);
  json["axes"] = axes_json(streamed);
  json["steps"] = steps_json(streamed);
  json["labels"] = print_labels(streamed);
  json["pseudocode"] = derivation.program;
  json["divisors"] = divisors_json(derivation);
  json["parts"] = parts_json(derivation);
  json["stages"] = report::stages_json(streamed);
  json["expansion"] = report::expansion_json(streamed, derivation.chunks);
  json["columns"] = report::json_of(derivation.columns);
  json["table"] = derivation.configuration ? report::json_of(*derivation.configuration) : Json(nullptr);
  return json;
}

std::string with_newline(std::string text) {
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::string everything(const Derivation& derivation, const Style& style) {
  const Streamed& streamed = derivation.streamed;
  std::string text;
  const auto part = [&](const std::string& title, const std::string& body) {
    text += (text.empty() ? "" : "\n") + style.strong(title) + "\n" + with_newline(body);
  };
  part("diagram", print(streamed.diagram));
  part("axes", axes_table(streamed, style));
  part("derivation", print_steps(streamed));
  part("labelled", print_labels(streamed));
  part("program of one group", derivation.program);
  if (!derivation.divisors.empty()) part("divisors of sizes, and of parts of axes", divisors_text(derivation, style));
  if (derivation.configuration) {
    part("configuration of " + report::text_of(derivation.head.tile),
         report::text_of(*derivation.configuration, style));
  }
  return text;
}

std::string text_of(const Derivation& derivation, const std::string& show, const Style& style) {
  if (show == "diagram") return with_newline(print(derivation.streamed.diagram));
  if (show == "labels")
    return with_newline(print_labels(derivation.streamed)) +
           (derivation.divisors.empty() ? "" : "\n" + divisors_text(derivation, style));
  if (show == "pseudocode") return with_newline(derivation.program);
  if (show == "table") return report::text_of(*derivation.configuration, style);
  return everything(derivation, style);
}

Reply run_derive(const Arguments& arguments, const Style& style) {
  const std::vector<std::string> parts = {"diagram", "labels", "pseudocode", "table"};
  const std::string show =
      arguments.has("--show") ? arguments.need("--show", "one of " + joined(parts)) : std::string();
  if (!show.empty() && std::find(parts.begin(), parts.end(), show) == parts.end()) {
    throw Error("--show", in_quotes(show) + " cannot be shown", one_of(show, parts));
  }
  if (arguments.has("--at") && !arguments.has("--dump"))
    throw Error("--at", "has no meaning without --dump", "add --dump DIR, or leave it out");
  static_cast<void>(picture_asked(arguments));
  const Derivation derivation = derivation_of(arguments);
  if (show == "table" && !derivation.configuration)
    throw Error("--show", "a table needs a machine and sizes", "add --gpu and --shape");
  Reply reply;
  reply.out = arguments.has("--json") ? report::line_of(json_of(derivation)) : text_of(derivation, show, style);
  if (arguments.has("--svg")) {
    const std::string path = arguments.need("--svg", "a path for the picture");
    report::write_file(path, report::svg_of(derivation.picture), "--svg");
  }
  if (arguments.has("--tikz")) {
    const std::string path = arguments.need("--tikz", "a path for the picture");
    report::write_file(path, report::tikz_of(derivation.picture, true), "--tikz");
  }
  return reply;
}

}  // namespace

Command derive_command() {
  return {"derive", "how the fused, streamed algorithm follows from the text of the unfused one", algorithm_operand(),
          options({{gpu_option(), memory_option()},
                   problem_options(),
                   {kernel_option(),
                    tile_option(),
                    {"--show", "PART",
                     "only this: diagram, labels, pseudocode or table (the configuration table; needs --gpu)"},
                    {"--svg", "FILE",
                     "also draw the diagram; with --gpu or --memory also where its arrays are and what moves"},
                    {"--tikz", "FILE", "the same picture for LaTeX"},
                    {"--picture", "WHICH",
                     "with --svg or --tikz, another picture: columns (default), stages (the derivation, step by step), "
                     "expansion (the recursion of its stream), hierarchy (the GPU's levels and pipes) or tiling (of a "
                     "product's result)"},
                    {"--dump", "DIR",
                     "also run it at this shape and tile, in float64 and in the kernel's order, and write its "
                     "inputs and intermediates as .npy"},
                    {"--at", "NAME",
                     "with --dump: only this intermediate, such as S, P, O, mu or z, a part that the kernel keeps "
                     "apart (pv), or an input"},
                    json_option()}}),
          run_derive};
}

}  // namespace napkin::internal::cli
