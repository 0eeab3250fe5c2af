#include "apps/report/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "apps/report/json/laws.hpp"
#include "apps/report/json/standing.hpp"
#include "apps/report/units.hpp"
#include "model/diagram/packing.hpp"

namespace napkin::report {
namespace {

constexpr std::size_t page_width = 100;
constexpr std::size_t entry_width = 11;

/// Writes "label text", broken into lines if it is long.
std::string entry(std::string_view label, std::string_view text, const Style& style) {
  const std::string indent(entry_width, ' ');
  std::string padded(label);
  padded.resize(entry_width, ' ');
  return style.faint(padded) + wrapped(text, page_width - entry_width, indent) + "\n";
}

std::string mask_text(const Mask& mask) {
  switch (mask.kind) {
    case Mask::Kind::none: return "";
    case Mask::Kind::causal: return ", causal";
    case Mask::Kind::window: return fmt::format(", window {},{}", mask.left, mask.right);
  }
  return "";
}

std::string head_text(const Head& head, const Style& style) {
  const std::string machine = head.gpu ? *head.gpu + ", " + head.dtype : "the abstract two-level machine";
  return style.strong(fmt::format("{} on {}{}", head.algorithm, machine, mask_text(head.mask))) + "\n" +
         entry("shape", text_of(head.shape), style) +
         (head.lengths.empty() ? "" : entry("lengths", text_of(head.lengths), style));
}

std::string kernel_text(const Head& head) {
  if (head.kernel) return *head.kernel + (head.bundled ? "" : ", not bundled");
  return head.gpu ? "none: the ideal mapping, whose time is a bound" : "";
}

/// Names the resource that stops another block, in the machine's words.
std::string limit_text(const Vocabulary& terms, const std::string& limit) {
  return limit == "shared memory" ? terms.memory : limit;
}

/// Writes "an SM", "a CU".
std::string a_node(const Vocabulary& terms) {
  const bool vowel = terms.node == "SM" || terms.node.starts_with('A');
  return (vowel ? "an " : "a ") + terms.node;
}

std::string prediction_line(const PredictedAnswer& predicted) {
  std::string text = fmt::format("{}{}  {}{}  bound by {}  {} cycles at {}", predicted.at_least ? "at least " : "",
                                 time_text(predicted.time), predicted.at_least ? "at most " : "",
                                 tflops_text(predicted.tflops), predicted.bound,
                                 count_text(static_cast<std::int64_t>(predicted.cycles)), clock_text(predicted.clock));
  if (!predicted.clock_source.empty()) text += " (" + predicted.clock_source + ")";
  if (predicted.power) text += fmt::format("  {:.0f} W", *predicted.power);
  return text;
}

/// Writes "sustained; in a burst of some tens of milliseconds 694 us at 1.56 GHz", if the load decides the time.
std::string load_line(const Head& head, const PredictedAnswer& predicted) {
  const CardConditions& conditions = head.conditions;
  constexpr double same = 1e-3;  // of the time
  const auto& other = predicted.other_load;
  const bool differs = other && std::abs(other->time / predicted.time - 1) > same;
  if (conditions == CardConditions{} && !differs) return "";
  const auto name = [](const CardLoad& load) {
    if (load.kind == CardLoad::Kind::sustained) return std::string("sustained");
    return load.kind == CardLoad::Kind::burst ? std::string("in a burst of some tens of milliseconds behind a rest")
                                              : fmt::format("for {:.3g} of the time, idle for the rest", load.fraction);
  };
  std::string text = name(conditions.load);
  if (conditions.clock) text += ", the clock held at " + clock_text(*conditions.clock);
  if (differs)
    text += fmt::format("; {} {} at {}", name(other->load), time_text(other->time), clock_text(other->clock));
  return text;
}

std::string prediction_text(const Head& head, const PredictedAnswer& predicted, const Style& style) {
  const NodesAnswer& nodes = predicted.nodes;
  const std::string few = nodes.busy < nodes.all ? fmt::format("{} of {} {} have work; ", count_text(nodes.busy),
                                                               count_text(nodes.all), head.terms.nodes)
                                                 : "";
  std::string text = entry("predicted", prediction_line(predicted), style);
  if (const std::string load = load_line(head, predicted); !load.empty()) text += entry("load", load, style);
  std::string_view label = "how sure";
  for (const std::string& line : lines_of(predicted)) text += entry(std::exchange(label, ""), line, style);
  return text + entry("busy", few + text_of_pipes(predicted), style);
}

std::string notes_text(const std::vector<std::string>& notes, const Style& style) {
  std::string text;
  for (const std::string& note : notes) text += entry("note", note, style);
  return text;
}

std::string violation_text(const std::vector<ViolationAnswer>& violations) {
  std::string text = "no: ";
  for (const ViolationAnswer& violation : violations) {
    if (&violation != violations.data()) text += "; ";
    text += violation.text;
  }
  return text;
}

/// Writes the real-valued and the exact minimum of the level that --tile addresses.
std::string optimum_text(const OptimumAnswer& optimum, bool values, const Mask& mask, const Style& style) {
  const auto amount = [&](double number) {
    const auto whole = static_cast<std::int64_t>(std::round(number));
    return values ? count_text(whole) + " values" : transfer_text(whole);
  };
  std::string groups;
  for (const auto& [name, size] : optimum.group) groups += fmt::format(" {}={:.4g}", name, size);
  std::string text =
      entry("least H",
            fmt::format("{} with real-valued groups{}: H* {} {} (in {})", amount(optimum.transfer), groups,
                        optimum.exact ? "=" : ">=", optimum.formula, values ? "values" : "bytes"),
            style);
  if (const auto& integer = optimum.integer.get()) {
    const double least = static_cast<double>(integer->transfer);
    text += entry("",
                  fmt::format("{} with whole groups {}{}{}", amount(least), text_of(integer->group),
                              values ? " (streams 1)" : " that meet every constraint",
                              mask.kind == Mask::Kind::none ? "" : ", of the pairs that the mask leaves"),
                  style);
  }
  return text;
}

/// Writes the laws of all levels, and what their pipes must bring.
std::string laws_text(const Laws& laws, const Head& head, const std::vector<LevelAnswer>& levels, const Style& style) {
  std::string text = entry("all levels", weighted_text(laws, head.mask, levels), style);
  if (!laws.crossings.empty()) text += entry("clusters", crossings_text(laws), style);
  if (laws.computing > 0) text += entry("least rate", needed_text(laws) + std::string(text_of_pairs(head.mask)), style);
  return text;
}

std::string formula_text(const FormulaAnswer& formula, const Style& style) {
  if (formula.transfer.empty()) return "";
  return entry("formula", "H = " + formula.transfer, style) + entry("", "M = " + formula.memory, style);
}

/// Writes the least time; a bound is called a bound.
std::string least_text(const PredictedAnswer& predicted) {
  return (predicted.at_least ? ">= " : "") + time_text(predicted.time);
}

std::string alternatives_table(const SelectAnswer& answer, const Style& style) {
  Table table({"rank", "time", "TFLOP/s", "<bound by", "<tile, where it differs"});
  int rank = 0;
  const auto add = [&](const PredictedAnswer& predicted, const std::string& tile) {
    table.add({std::to_string(++rank), least_text(predicted), tflops_cell(predicted.tflops), predicted.bound, tile});
  };
  add(*answer.predicted, "as above");
  for (const AlternativeAnswer& other : answer.alternatives)
    add(other.predicted.get(), differences(other.tile, answer.head.tile));
  return table.text(style, "  ");
}

std::string space_text(const SelectAnswer& answer) {
  std::string text =
      fmt::format("{} candidates, {} legal", count_text(answer.candidates), count_text(answer.legal.get()));
  std::string why;
  for (const auto& [constraint, tiles] : answer.rejected.get()) {
    why += fmt::format("{}{} by {}", why.empty() ? "" : ", ", count_text(tiles),
                       limit_text(answer.head.terms, constraint));
  }
  return why.empty() ? text : text + "; rejected: " + why;
}

std::string tile_text(const Head& head, const std::vector<LaunchAnswer>& launches) {
  return launches.empty() ? text_of(head.tile) : "one for each launch";
}

std::string launches_table(const std::vector<LaunchAnswer>& launches, const Style& style) {
  Table table({"launch", "<stores", "<loads", "at least", "<tile"});
  double seconds = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LaunchAnswer& launch = launches[i];
    if (launch.predicted) seconds += launch.predicted->time;
    table.add({std::to_string(i + 1), fmt::format("{}", fmt::join(launch.outputs, " ")),
               fmt::format("{}", fmt::join(launch.inputs, " ")),
               launch.predicted ? time_text(launch.predicted->time) : "-", text_of(launch.tile)});
  }
  return "\n" +
         entry("launches", fmt::format("{}, whose own bounds add up to {}", launches.size(), time_text(seconds)),
               style) +
         "\n" + table.text(style, "  ");
}

std::string combine_entry(const CombineAnswer& combine, const Style& style) {
  return entry("combine", combine_text(combine), style);
}

std::string block_text(const BlockAnswer& block) {
  return fmt::format("{} registers a thread at launch, {} of shared memory; {} block{} an SM{}{}",
                     block.registers_per_thread, memory_text(block.shared_memory), block.blocks_per_sm,
                     block.blocks_per_sm == 1 ? "" : "s", block.limited_by.empty() ? "" : ", limited by ",
                     block.limited_by);
}

std::string compiled_text(const CompiledAnswer& answer, const Style& style) {
  std::string text = block_text(answer.compiled);
  text += answer.objection.empty() ? "; no spills" : "; " + answer.objection;
  if (answer.static_shared_memory > 0)
    text += "; " + memory_text(answer.static_shared_memory) + " of the shared memory is static";
  return entry("compiled", text, style) + entry("planned", block_text(answer.planned), style);
}

std::string occupancy_text(const Vocabulary& terms, const OccupancyAnswer& fit) {
  std::string text =
      fmt::format("{} of {} {}", memory_text(fit.shared_memory), memory_text(fit.shared_memory_limit), terms.memory);
  if (fit.registers_per_thread > 0)
    text += fmt::format(", {} of {} registers a thread", fit.registers_per_thread, fit.registers_limit);
  text += fmt::format("; {} block{} {}", fit.blocks_per_sm, fit.blocks_per_sm == 1 ? "" : "s", a_node(terms));
  return fit.limited_by.empty() ? text : text + ", limited by " + limit_text(terms, fit.limited_by);
}

/// Lists kernels, fastest first: "flash_decoding 20.26 us, attention_sm90 71.54 us (bundled), and 9 more".
std::string kernels_text(const SelectAnswer& answer) {
  constexpr std::size_t shown = 4;
  std::string text;
  std::size_t fitting = 0;
  for (const KernelAnswer& kernel : answer.kernels) {
    if (!kernel.predicted || ++fitting > shown) continue;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", kernel.kernel, least_text(*kernel.predicted),
                        kernel.bundled ? " (bundled)" : "");
  }
  if (fitting > shown) text += fmt::format(", and {} more (napkin compare --kernels all)", fitting - shown);
  return text;
}

/// Mentions a faster kernel if it is worth it: "; flash_decoding, which is not bundled, takes 20.26 us and is 3.5 times
/// as fast".
std::string faster_kernel_text(const SelectAnswer& answer) {
  constexpr double worth_saying = 1.2;
  if (answer.kernels.empty() || !answer.predicted) return "";
  const KernelAnswer& first = answer.kernels.front();
  if (!first.predicted || !first.by_graph || first.kernel == answer.head.kernel) return "";
  const double times = answer.predicted->time / first.predicted->time;
  if (times < worth_saying) return "";
  const std::string faster =
      times < 2 ? fmt::format("{:.0f} % faster", 100 * (times - 1)) : fmt::format("{:.1f} times as fast", times);
  return fmt::format("; {}, which is {}bundled, takes {} and is {}", first.kernel, first.bundled ? "" : "not ",
                     time_text(first.predicted->time), faster);
}

}  // namespace

std::string heading(const Head& head, const Style& style) {
  return head_text(head, style) + entry("kernel", kernel_text(head), style) +
         entry("tile", style.strong(text_of(head.tile)), style);
}

std::string labelled(std::string_view label, std::string_view text, const Style& style) {
  return entry(label, text, style);
}

std::string text_of(const TileValues& tile) {
  std::string text;
  for (const KnobValue& knob : tile) {
    if (!text.empty()) text += ' ';
    text += knob.name + "=" + (knob.word.empty() ? std::to_string(knob.number) : knob.word);
  }
  return text;
}

std::string differences(const TileValues& tile, const TileValues& other) {
  TileValues changed;
  for (const KnobValue& knob : tile) {
    if (std::find(other.begin(), other.end(), knob) == other.end()) changed.push_back(knob);
  }
  return changed.empty() ? "the same" : text_of(changed);
}

std::string text_of(const NamedSizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(size);
  return text;
}

std::string text_of_pipes(const PredictedAnswer& predicted) {
  auto pipes = predicted.pipes;
  std::stable_sort(pipes.begin(), pipes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, busy] : pipes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, percent_text(busy));
  return text;
}

std::string combine_text(const CombineAnswer& combine) {
  const std::string step = combine.by == "launch"  ? "launch"
                           : combine.by == "turns" ? "turn"
                           : combine.by == "last"  ? "last block"
                                                   : "barrier";
  std::string text = fmt::format("{} part{} of each result, in {} by {}: {} in, {} out", count_text(combine.parts),
                                 combine.parts == 1 ? "" : "s", combine.at, combine.by, transfer_text(combine.store),
                                 transfer_text(combine.load));
  if (combine.steps == 0) return text;
  text += fmt::format("; {} {}{}", combine.by == "launch" ? "one more" : count_text(combine.steps), step,
                      combine.steps == 1 ? "" : (step == "launch" ? "es" : "s"));
  return text + ", " + (combine.time ? time_text(*combine.time) : "of unknown latency");
}

std::string check_text(const CheckAnswer& check, const Style& style) {
  std::string at;
  for (const auto& [axis, size] : check.shape) at += fmt::format("{}{}={}", at.empty() ? "" : " ", axis, size);
  at += "; tile";
  for (const auto& [axis, size] : check.tile) at += fmt::format(" {}={}", axis, size);
  const auto row = [](const CountsAnswer& counts) {
    const std::string text = fmt::format("load {}, store {}, live {} values", count_text(counts.load),
                                         count_text(counts.store), count_text(counts.memory_live));
    if (counts.combine_load == 0) return text;
    return text + fmt::format("; combine loads {}, stores {}", count_text(counts.combine_load),
                              count_text(counts.combine_store));
  };
  return entry("check", "at " + at, style) + entry("counted", row(check.counted), style) +
         entry("predicted", row(check.predicted), style) +
         entry(
             "equal",
             fmt::format("{}; outputs differ by {:.1e} of the largest", check.equal ? "yes" : "NO", check.output_error),
             style);
}

std::string text_of(const QueryAnswer& answer, const Style& style) {
  const bool values = !answer.head.gpu;
  std::string text = head_text(answer.head, style);
  if (!values) text += entry("kernel", kernel_text(answer.head), style);
  text += entry("tile", style.strong(tile_text(answer.head, answer.launches)), style);
  text += entry("legal", answer.legal ? "yes" : violation_text(answer.violations), style);
  text += notes_text(answer.notes, style);
  if (answer.predicted) text += prediction_text(answer.head, *answer.predicted, style);
  text += entry("work",
                fmt::format("{}, {} executed, {} exponentials", work_text(answer.work.flops),
                            work_text(answer.work.executed_flops), count_text(answer.work.exponentials)),
                style);
  if (!answer.launches.empty()) text += launches_table(answer.launches, style);
  text += "\n" + table_of(answer.levels, values, style) + "\n";
  if (answer.combine) text += combine_entry(*answer.combine, style);
  text += formula_text(answer.formula, style);
  if (const auto& optimum = answer.optimum.get()) text += optimum_text(*optimum, values, answer.head.mask, style);
  if (const auto& laws = answer.laws.get()) text += laws_text(*laws, answer.head, answer.levels, style);
  if (answer.check) text += "\n" + check_text(*answer.check, style);
  if (answer.compiled) text += "\n" + compiled_text(*answer.compiled, style);
  return text;
}

std::string text_of(const SelectAnswer& answer, const Style& style) {
  std::string text = head_text(answer.head, style);
  text += entry("kernel", kernel_text(answer.head), style);
  if (!answer.launches.empty())
    return text + entry("tile", tile_text(answer.head, answer.launches), style) +
           entry("why", answer.because.get(), style) + launches_table(answer.launches, style) + "\n" +
           table_of(answer.levels, false, style);
  if (answer.head.tile.empty())
    return text + entry("tile", "none", style) + entry("why", answer.because.get(), style) +
           notes_text(answer.notes, style) + entry("space", space_text(answer), style);
  text += entry("tile", style.strong(text_of(answer.head.tile)), style);
  text += entry("why", answer.because.get() + faster_kernel_text(answer), style) + notes_text(answer.notes, style);
  if (answer.predicted) text += prediction_text(answer.head, *answer.predicted, style);
  text += entry("holds", occupancy_text(answer.head.terms, answer.occupancy), style);
  text += "\n" + table_of(answer.levels, !answer.head.gpu, style);
  if (answer.combine) text += "\n" + combine_entry(*answer.combine, style);
  if (!answer.alternatives.empty()) text += "\n" + alternatives_table(answer, style);
  text += "\n";
  if (answer.kernels.size() > 1) text += entry("kernels", kernels_text(answer), style);
  return text + entry("space", space_text(answer), style);
}

}  // namespace napkin::report
