#include "apps/report/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "apps/report/json/laws.hpp"
#include "apps/report/json/standing.hpp"
#include "apps/report/text/brief.hpp"
#include "apps/report/text/why.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

/// Names the resource that stops another block, in the machine's words.
std::string limit_text(const Vocabulary& terms, const std::string& limit) {
  return limit == "shared memory" ? terms.memory : limit;
}

/// Writes "an SM", "a CU".
std::string a_node(const Vocabulary& terms) {
  const bool vowel = terms.node == "SM" || terms.node.starts_with('A');
  return (vowel ? "an " : "a ") + terms.node;
}

/// Writes "1,074,025 cycles at 1.378 GHz (held at the power limit)".
std::string clock_line(const PredictedAnswer& predicted) {
  const std::string source = predicted.clock_source.empty() ? "" : " (" + predicted.clock_source + ")";
  return fmt::format("{} cycles at {}{}", count_text(static_cast<std::int64_t>(predicted.cycles)),
                     clock_text(predicted.clock), source);
}

/// Writes "sustained; in a burst of some tens of milliseconds 694 us at 1.56 GHz", if the load decides the time.
std::string load_line(const Head& head, const PredictedAnswer& predicted) {
  const CardConditions& conditions = head.conditions;
  constexpr double same = 1e-3;  // largest difference of times that counts as none
  const auto& other = predicted.other_load;
  const bool differs = other && std::abs(other->time / predicted.time - 1) > same;
  if (conditions == CardConditions{} && !differs) return "";
  const auto name = [](const CardLoad& load) {
    if (load.kind == CardLoad::Kind::sustained) return std::string("sustained");
    return load.kind == CardLoad::Kind::burst ? std::string("in a burst of some tens of milliseconds after a rest")
                                              : fmt::format("for {:.3g} of the time, idle for the rest", load.fraction);
  };
  std::string text = name(conditions.load);
  if (conditions.clock) text += ", the clock held at " + clock_text(*conditions.clock);
  if (conditions.cold) text += ", the L2 cold";
  if (differs)
    text += fmt::format("; {} {} at {}", name(other->load), time_text(other->time), clock_text(other->clock));
  return text;
}

/// Writes how sure the prediction is, line by line.
std::string sure_lines(const PredictedAnswer& predicted, const Style& style) {
  std::string text;
  std::string_view label = "how sure";
  for (const std::string& line : lines_of(predicted)) text += entry(std::exchange(label, ""), line, style);
  return text;
}

/// Writes the limit, the longest chain of waits, and the reasons for the tile.
std::string why_lines(const Head& head, const PredictedAnswer& predicted, const std::vector<std::string>& reasons,
                      const Style& style) {
  std::string text = entry("why", why_text(head, predicted), style);
  if (const std::string chain = chain_text(predicted); !chain.empty()) text += entry("", "the chain: " + chain, style);
  for (const std::string& reason : further_reasons(head, predicted, reasons)) text += entry("", reason, style);
  return text;
}

/// Writes the clock, the card's load, and each pipe's share of the time.
std::string prediction_text(const Head& head, const PredictedAnswer& predicted, const Style& style) {
  const NodesAnswer& nodes = predicted.nodes;
  const std::string few = nodes.busy < nodes.all ? fmt::format("{} of {} {} have work; ", count_text(nodes.busy),
                                                               count_text(nodes.all), head.terms.nodes)
                                                 : "";
  std::string text = entry("clock", clock_line(predicted), style);
  if (const std::string load = load_line(head, predicted); !load.empty()) text += entry("load", load, style);
  return text + entry("busy", few + text_of_pipes(head, predicted), style);
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
  if (const auto& integer = optimum.integer) {
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
  if (const std::string factors = factors_text(laws); !factors.empty()) text += entry("weights", factors, style);
  if (const std::string fed = minima_text(laws, head.terms); !fed.empty()) text += entry("fed", fed, style);
  if (const std::string ratios = ratios_text(laws, value_bytes_of(head)); !ratios.empty())
    text += entry("H/K", ratios + std::string(text_of_pairs(head.mask)), style);
  if (const std::string energy = energy_sum_text(laws); !energy.empty()) text += entry("energy", energy, style);
  if (laws.computing > 0)
    text += entry("least rate", needed_text(laws, head.terms) + std::string(text_of_pairs(head.mask)), style);
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
  Table table({"rank", "time", "TFLOP/s", "<limited by", "<tile, where it differs"});
  int rank = 0;
  const auto add = [&](const PredictedAnswer& predicted, const std::string& tile) {
    table.add({std::to_string(++rank), least_text(predicted), tflops_cell(predicted.tflops),
               limit_of(answer.head, predicted), tile});
  };
  add(*answer.predicted, "as above");
  for (const AlternativeAnswer& other : answer.alternatives)
    add(other.predicted, differences(other.tile, answer.head.tile));
  return table.text(style, "  ");
}

std::string space_text(const SelectAnswer& answer) {
  std::string text =
      fmt::format("{} candidates, {} legal", count_text(answer.candidates), count_text(answer.legal.value_or(0)));
  std::string why;
  for (const auto& [constraint, tiles] : answer.rejected) {
    why += fmt::format("{}{} by {}", why.empty() ? "" : ", ", count_text(tiles),
                       limit_text(answer.head.terms, constraint));
  }
  return why.empty() ? text : text + "; rejected: " + why;
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

/// Mentions a faster kernel if it is worth it: "flash_decoding, which is not bundled, takes 20.26 us and is 3.5 times
/// as fast".
std::string faster_kernel_text(const SelectAnswer& answer) {
  if (answer.kernels.empty() || !answer.predicted) return "";
  const KernelAnswer& first = answer.kernels.front();
  if (!first.predicted || !first.by_graph || first.kernel == answer.head.kernel) return "";
  const double times = answer.predicted->time / first.predicted->time;
  if (times < worth_naming) return "";
  const std::string faster =
      times < 2 ? fmt::format("{:.0f} % faster", 100 * (times - 1)) : fmt::format("{:.1f} times as fast", times);
  return fmt::format("{}, which is {}bundled, takes {} and is {}", first.kernel, first.bundled ? "" : "not ",
                     time_text(first.predicted->time), faster);
}

/// Writes the first lines of an answer: time, work and bytes, then by which kernel and tile; on the abstract machine
/// the tile comes first.
std::string lead(const Brief& brief, const Style& style) {
  const std::string takes = takes_line(brief, style) + moves_line(brief, style), by = kernel_line(brief, style);
  return asked_line(brief.head, style) + (brief.head.gpu ? takes + by : by + takes);
}

std::string faster_entry(const SelectAnswer& answer, const Style& style) {
  const std::string faster = faster_kernel_text(answer);
  return faster.empty() ? "" : entry("faster", faster, style);
}

Brief brief_of(const QueryAnswer& answer) {
  return {answer.head, answer.predicted, answer.work, answer.levels, answer.launches};
}

Brief brief_of(const SelectAnswer& answer) {
  return {answer.head, answer.predicted, answer.work, answer.levels, answer.launches};
}

/// Writes why the tile is best: for a kernel, what limits it; for the ideal mapping, and if no tile fits, the answer's
/// own sentence.
std::string why_entry(const SelectAnswer& answer, const Style& style) {
  const bool limited = answer.predicted && answer.head.kernel;
  return entry("why", limited ? why_text(answer.head, *answer.predicted) : answer.because, style);
}

std::string more_line(const Style& style) {
  return style.faint("(--explain says more: levels, pipes, ranking; --json: all numbers)") + "\n";
}

/// Writes "3 launches move 2.282 GB through device memory and take at least 1.022 ms; one moves 134.2 MB, 17 times
/// less, ..."
std::string unfused_text(const UnfusedAnswer& apart) {
  const auto takes = [](const std::optional<double>& time) {
    return time ? " and takes at least " + time_text(*time) : std::string();
  };
  std::string text = fmt::format("a launch for each of {} operations moves {} through device memory{}; one launch {}{}",
                                 apart.launches, transfer_text(apart.transfer), takes(apart.time),
                                 transfer_text(apart.fused), takes(apart.fused_time));
  if (apart.fused > 0)
    text += fmt::format(": {:.3g} times less", static_cast<double>(apart.transfer) / static_cast<double>(apart.fused));
  if (apart.time && apart.fused_time && *apart.fused_time > 0)
    text += fmt::format(", and it may be {:.3g} times as fast", *apart.time / *apart.fused_time);
  return text;
}

std::string formulas_text(const QueryAnswer& answer, const Style& style) {
  std::string text = formula_text(answer.formula, style);
  if (const auto& optimum = answer.optimum) text += optimum_text(*optimum, !answer.head.gpu, answer.head.mask, style);
  return text;
}

std::string legal_entry(const QueryAnswer& answer, const Style& style) {
  return entry("legal", answer.legal ? "yes" : violation_text(answer.violations), style);
}

}  // namespace

std::string heading(const Head& head, const Style& style) {
  const std::optional<PredictedAnswer> none;
  return asked_line(head, style) + kernel_line({head, none, {}, {}, {}}, style);
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

std::string text_of_pipes(const Head& head, const PredictedAnswer& predicted) {
  auto pipes = predicted.pipes;
  std::stable_sort(pipes.begin(), pipes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, busy] : pipes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", head.terms.pipe(name), percent_text(busy));
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

std::string text_of(const QueryAnswer& answer, const Style& style) {
  std::string text = lead(brief_of(answer), style) + sure_line(brief_of(answer), style);
  if (!answer.legal) text += legal_entry(answer, style);
  if (answer.predicted && answer.head.kernel) text += entry("why", why_text(answer.head, *answer.predicted), style);
  text += best_entry(answer, style) + notes_text(answer.notes, style);
  if (!answer.head.gpu) text += formulas_text(answer, style);
  return text + asked_for(answer, style) + more_line(style);
}

std::string explained(const QueryAnswer& answer, const Style& style) {
  std::string text = lead(brief_of(answer), style);
  if (answer.predicted) text += sure_lines(*answer.predicted, style);
  text += legal_entry(answer, style);
  if (answer.predicted && answer.head.kernel) text += why_lines(answer.head, *answer.predicted, {}, style);
  text += best_entry(answer, style) + notes_text(answer.notes, style);
  if (answer.predicted) text += prediction_text(answer.head, *answer.predicted, style);
  text += entry("work",
                fmt::format("{}, {} executed, {} exponentials", work_text(answer.work.flops),
                            work_text(answer.work.executed_flops), count_text(answer.work.exponentials)),
                style);
  if (!answer.launches.empty()) text += launches_table(answer.launches, style);
  text += "\n" + table_of(answer.head, answer.levels, style) + "\n";
  if (answer.combine) text += combine_entry(*answer.combine, style);
  text += formulas_text(answer, style);
  if (const auto& apart = answer.unfused) text += entry("unfused", unfused_text(*apart), style);
  if (const auto& laws = answer.laws) text += laws_text(*laws, answer.head, answer.levels, style);
  return text + asked_for(answer, style);
}

std::string text_of(const SelectAnswer& answer, const Style& style) {
  return lead(brief_of(answer), style) + sure_line(brief_of(answer), style) + why_entry(answer, style) +
         faster_entry(answer, style) + notes_text(answer.notes, style) + more_line(style);
}

std::string explained(const SelectAnswer& answer, const Style& style) {
  std::string text = lead(brief_of(answer), style);
  if (answer.predicted) text += sure_lines(*answer.predicted, style);
  text += answer.found && answer.predicted ? why_lines(answer.head, *answer.predicted, answer.reasons, style)
                                           : why_entry(answer, style);
  text += faster_entry(answer, style) + notes_text(answer.notes, style);
  if (!answer.launches.empty())
    return text + launches_table(answer.launches, style) + "\n" + table_of(answer.head, answer.levels, style);
  if (answer.head.tile.empty()) return text + entry("space", space_text(answer), style);
  if (answer.predicted) text += prediction_text(answer.head, *answer.predicted, style);
  text += entry("holds", occupancy_text(answer.head.terms, answer.occupancy), style);
  text += "\n" + table_of(answer.head, answer.levels, style);
  if (answer.combine) text += "\n" + combine_entry(*answer.combine, style);
  if (!answer.alternatives.empty()) text += "\n" + alternatives_table(answer, style);
  text += "\n";
  if (answer.kernels.size() > 1) text += entry("kernels", kernels_text(answer), style);
  return text + entry("space", space_text(answer), style);
}

}  // namespace napkin::internal::report
