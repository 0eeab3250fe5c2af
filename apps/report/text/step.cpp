#include "apps/report/text/step.hpp"

#include <fmt/format.h>

#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

using StepKind = StepEntryAnswer::Kind;

std::string_view name_of(Issue issue) { return issue == Issue::graph ? "graph" : "stream"; }

std::string_view name_of(StepKind kind) {
  switch (kind) {
    case StepKind::question: return "question";
    case StepKind::pass: return "pass";
    case StepKind::collective: return "collective";
  }
  return "";
}

/// Writes "0.59 J", "13.2 mJ".
std::string energy_text(double joules) {
  return joules < 1 ? fmt::format("{:.3g} mJ", 1e3 * joules) : fmt::format("{:.4g} J", joules);
}

/// Writes "a=2048 b=4096 c=6144", without axes of one element.
std::string shape_cell(const StepEntryAnswer& entry) {
  NamedSizes shape;
  for (const auto& [axis, size] : entry.shape) {
    if (size != 1) shape.emplace_back(axis, size);
  }
  return text_of(shape) + (entry.mask.kind == Mask::Kind::none ? "" : " " + text_of(entry.mask));
}

std::string what_cell(const StepEntryAnswer& entry) {
  if (entry.kind == StepKind::question) return entry.kernel.value_or(entry.algorithm + ", ideal");
  return entry.kind == StepKind::pass ? "pass" : entry.algorithm;
}

std::string entries_table(const StepAnswer& answer, const Style& style) {
  Table table({"<launch", "times", "time of one", "share", "<bound by", "bytes", "energy", "<what", "<shape"});
  for (const StepEntryAnswer& one : answer.entries) {
    table.add({one.name, count_text(one.times), (one.at_least ? ">= " : "") + time_text(one.time),
               fmt::format("{:.1f}%", 100 * one.share), one.bound, transfer_text(one.bytes),
               one.energy ? energy_text(*one.energy) : "", what_cell(one), shape_cell(one)});
  }
  return table.text(style, "  ");
}

std::string prediction_text(const StepAnswer& answer) {
  std::string text =
      fmt::format("{}{}  {} tokens/s", answer.at_least ? "at least " : "", time_text(answer.time),
                  number_text(static_cast<double>(static_cast<std::int64_t>(answer.tokens_per_second + 0.5))));
  text += fmt::format("  at {} ({})", clock_text(answer.clock), answer.clock_source);
  if (answer.power) text += fmt::format("  {:.0f} W", *answer.power);
  return text;
}

std::string work_line(const StepAnswer& answer) {
  const double seconds = answer.time;
  std::string text = fmt::format("{:.4g} TFLOP, {}", 1e-12 * answer.flops, tflops_text(1e-12 * answer.flops / seconds));
  if (answer.gpus > 1) text += " of all GPUs";
  text += fmt::format("; {} of {}device memory, {}", transfer_text(answer.bytes), answer.gpus > 1 ? "each GPU's " : "",
                      rate_text(static_cast<double>(answer.bytes) / seconds));
  if (answer.energy)
    text += fmt::format("; {}, {} a token", energy_text(*answer.energy),
                        energy_text(*answer.energy / static_cast<double>(answer.tokens)));
  return text;
}

Json entry_json(const StepEntryAnswer& one) {
  Json json = {{"name", one.name}, {"kind", name_of(one.kind)}, {"times", one.times}};
  if (one.kind != StepKind::pass) json["algorithm"] = one.algorithm;
  if (one.kind == StepKind::question) {
    json["shape"] = json_of(one.shape);
    json["dtype"] = one.dtype;
    json["mask"] = json_of(one.mask);
    json["kernel"] = one.kernel ? Json(*one.kernel) : Json(nullptr);
    json["tile"] = json_of(one.tile);
    json["alone"] = json_of(one.alone);
    json["flops"] = json_of(one.flops);
  }
  json["time"] = json_of(one.time);
  json["share"] = json_of(one.share);
  json["bytes"] = one.bytes;
  json["energy"] = json_of(one.energy);
  json["bound"] = one.bound;
  if (one.at_least) json["at_least"] = true;
  return json;
}

}  // namespace

std::string text_of(const StepAnswer& answer, const Style& style) {
  const std::string several = answer.gpus > 1 ? fmt::format(" ({} x {})", answer.gpus, answer.product) : "";
  std::string text = style.strong(fmt::format("{} on {}{}, {}", answer.step, answer.gpu, several, answer.dtype)) + "\n";
  text += labelled("shape", text_of(answer.shape), style);
  if (answer.entries.empty()) return text + labelled("predicted", "nothing: " + answer.because, style);
  text += labelled("predicted", prediction_text(answer), style);
  text += labelled("why", answer.because, style);
  text += labelled("work", work_line(answer), style);
  text += labelled("launches",
                   fmt::format("{} {}, {}; {} lie between them", count_text(answer.launches),
                               answer.gpus > 1 ? "of each GPU" : "of the GPU",
                               answer.issue == Issue::graph ? "as one CUDA graph" : "one by one in a stream",
                               time_text(answer.gaps)),
                   style);
  if (answer.memory)
    text +=
        labelled("holds",
                 memory_text(*answer.memory) + (answer.memory_limit ? " of " + memory_text(*answer.memory_limit) : "") +
                     (answer.gpus > 1 ? " of each GPU" : ""),
                 style);
  if (answer.conditions.load.kind != CardLoad::Kind::sustained)
    text += labelled("load", napkin::text_of(answer.conditions.load), style);
  text += labelled("how sure",
                   fmt::format("{:.0f} % of the time by the event graph; no step was measured by this program "
                               "(docs/steps.md has others' numbers beside it)",
                               100 * answer.by_graph),
                   style);
  text += labelled("left out", joined(answer.left_out, "; "), style);
  return text + "\n" + entries_table(answer, style);
}

Json json_of(const StepAnswer& answer) {
  Json json = {{"command", "step"},
               {"step", answer.step},
               {"about", answer.about},
               {"gpu", answer.gpu},
               {"product", answer.product},
               {"gpus", answer.gpus},
               {"dtype", answer.dtype},
               {"shape", json_of(answer.shape)},
               {"issue", name_of(answer.issue)}};
  if (answer.conditions != CardConditions{}) json["conditions"] = json_of(answer.conditions);
  json["found"] = answer.found;
  json["because"] = answer.because;
  json["tokens"] = answer.tokens;
  json["memory"] = answer.memory ? Json(*answer.memory) : Json(nullptr);
  json["memory_limit"] = answer.memory_limit ? Json(*answer.memory_limit) : Json(nullptr);
  Json entries = Json::array();
  for (const StepEntryAnswer& one : answer.entries) entries.push_back(entry_json(one));
  json["entries"] = entries;
  Json predicted = nullptr;
  if (!answer.entries.empty())
    predicted = {{"time", json_of(answer.time)},         {"tokens_per_second", json_of(answer.tokens_per_second)},
                 {"clock", json_of(answer.clock)},       {"clock_source", answer.clock_source},
                 {"power", json_of(answer.power)},       {"energy", json_of(answer.energy)},
                 {"flops", json_of(answer.flops)},       {"bytes", answer.bytes},
                 {"launches", answer.launches},          {"gaps", json_of(answer.gaps)},
                 {"by_graph", json_of(answer.by_graph)}, {"at_least", answer.at_least},
                 {"left_out", answer.left_out}};
  json["predicted"] = predicted;
  return json;
}

}  // namespace napkin::internal::report
