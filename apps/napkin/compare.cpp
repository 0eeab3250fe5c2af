// napkin compare: one algorithm on several machines and in several element types.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/json/laws.hpp"
#include "apps/report/json/standing.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/text/why.hpp"
#include "apps/report/units.hpp"
#include "model/diagram/packing.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::cli {
namespace {

using report::Json;
using report::Style;
using report::Table;

std::vector<std::string> distinct(const std::vector<std::string>& words, const std::string& where) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (words[i] == words[j]) throw Error(where, words[i] + " is given twice", "give it once");
    }
  }
  return words;
}

/// Returns the first head with a shape: a machine that was refused has none.
const Head& head_with_shape(const CompareAnswer& answer) {
  for (const ComparedMachine& machine : answer.machines) {
    if (machine.refused.empty()) return machine.selected.head;
  }
  return answer.machines.front().selected.head;
}

/// Says which rows are bounds and which predictions, if there are both; else "".
std::string unlike_text(const CompareAnswer& answer) {
  std::string predicted, bounds;
  for (const ComparedMachine& machine : answer.machines) {
    if (!machine.selected.predicted || machine.selected.head.kernel == std::nullopt) continue;
    const bool bound = machine.selected.predicted->at_least;
    std::string& names = bound ? bounds : predicted;
    const std::string row = *machine.selected.head.gpu + " " + *machine.selected.head.kernel;
    if (names.find(row) == std::string::npos) names += (names.empty() ? "" : ", ") + row;
  }
  if (predicted.empty() || bounds.empty()) return "";
  return "rows of different standing: of " + bounds + " there is a bound alone, which nothing reaches, of " +
         predicted + " a prediction\n";
}

/// A GPU's price an hour, in any currency, by its name as given.
using Prices = std::vector<std::pair<std::string, double>>;

/// The cost of a call on a machine with a price.
struct Cost {
  double hour = 0, call = 0;     ///< price of an hour, and of the call
  std::optional<double> joules;  ///< joules of the call, where the power is predicted
  bool at_least = false;
};

std::optional<Cost> cost_of(const ComparedMachine& machine, const Prices& prices) {
  const auto& predicted = machine.selected.predicted;
  for (const auto& [gpu, hour] : prices) {
    if (!predicted || gpu != *machine.selected.head.gpu) continue;
    Cost cost{hour, hour * predicted->time / 3600, std::nullopt, predicted->at_least};
    if (predicted->power) cost.joules = *predicted->power * predicted->time;
    return cost;
  }
  return std::nullopt;
}

Json json_of(const Cost& cost) {
  return {{"hour", report::json_of(cost.hour)},
          {"call", report::json_of(cost.call)},
          {"joules", cost.joules ? report::json_of(*cost.joules) : Json(nullptr)}};
}

Json json_of(const CompareAnswer& answer, const Prices& prices) {
  const Head& head = head_with_shape(answer);
  Json machines = Json::array();
  for (const ComparedMachine& machine : answer.machines) {
    const SelectAnswer& selected = machine.selected;
    Json one = {
        {"gpu", *selected.head.gpu},
        {"kernel", selected.head.kernel ? Json(*selected.head.kernel) : Json(nullptr)},
        {"dtype", selected.head.dtype},
        {"tile", report::json_of(selected.head.tile)},
        {"predicted", selected.predicted ? report::json_of(*selected.predicted) : Json(nullptr)},
        {"levels", report::json_of(selected.levels)},
        {"because", machine.refused.empty() ? selected.because : machine.refused},
        {"laws", machine.laws ? report::json_of(*machine.laws, selected.levels, report::value_bytes_of(selected.head))
                              : Json(nullptr)}};
    if (const std::optional<Cost> cost = cost_of(machine, prices)) one["cost"] = json_of(*cost);
    if (selected.combine) one["combine"] = report::json_of(*selected.combine);
    machines.push_back(std::move(one));
  }
  Json quantisation = Json::array();
  for (const QuantisationAnswer& law : answer.quantisation) {
    Json terms = Json::array();
    for (const auto& [beta, gain] : law.terms)
      terms.push_back({{"beta", report::json_of(beta)}, {"gain", report::json_of(gain)}});
    quantisation.push_back(
        {{"gpu", law.gpu}, {"from", law.from}, {"to", law.to}, {"gain", report::json_of(law.gain)}, {"terms", terms}});
  }
  Json json = {{"command", "compare"},
               {"algorithm", head.algorithm},
               {"mask", report::json_of(head.mask)},
               {"shape", report::json_of(head.shape)}};
  if (!head.lengths.empty()) json["lengths"] = report::json_of(head.lengths);
  json["machines"] = machines;
  json["one_standing"] = unlike_text(answer).empty();
  json["quantisation"] = quantisation;
  return json;
}

/// Writes transfers by route: "0.55 GB over device -> L2, 8.66 GB over L2 -> shared".
std::string transfers_text(const Head& head, const std::vector<LevelAnswer>& levels) {
  std::string text;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    if (levels[l].transfer == 0 || report::hands_on(levels, l)) continue;
    text += fmt::format("{}{} over {}", text.empty() ? "" : ", ", report::transfer_text(levels[l].transfer),
                        head.terms.route(levels[l].name));
  }
  return text;
}

std::string outcome(const ComparedMachine& machine) {
  if (!machine.refused.empty()) return machine.refused;
  return machine.selected.predicted ? report::limit_of(machine.selected.head, *machine.selected.predicted)
                                    : machine.selected.because;
}

std::string times_table(const CompareAnswer& answer, const Style& style) {
  Table table({"<gpu", "<type", "time", "TFLOP/s", "<kernel", "<bound by", "<how sure"});
  for (const ComparedMachine& machine : answer.machines) {
    const auto& predicted = machine.selected.predicted;
    const std::string kernel = machine.refused.empty() ? machine.selected.head.kernel.value_or("none: a bound") : "-";
    table.add({*machine.selected.head.gpu, machine.selected.head.dtype,
               predicted ? (predicted->at_least ? ">= " : "") + report::time_text(predicted->time) : "-",
               predicted ? report::tflops_cell(predicted->tflops) : "-", kernel, outcome(machine),
               predicted && predicted->standing ? report::cell_of(*predicted->standing) : "-"});
  }
  return table.text(style, "  ");
}

/// Writes a row for each machine and type that has the value of `cell`.
template <class Cell>
std::string part(const std::string& title, const CompareAnswer& answer, const Style& style, Cell&& cell) {
  Table table({"<gpu", "<type", "<" + title});
  bool any = false;
  for (const ComparedMachine& machine : answer.machines) {
    const std::string text = cell(machine);
    if (text.empty()) continue;
    any = true;
    table.add({*machine.selected.head.gpu, machine.selected.head.dtype, text});
  }
  return any ? "\n" + table.text(style, "  ") : "";
}

/// Writes the cost of a call on each GPU that has a price, the cheapest first, and the GPU that takes the least energy.
std::string costs_text(const CompareAnswer& answer, const Prices& prices, const Style& style) {
  std::vector<std::pair<const ComparedMachine*, Cost>> rows;
  for (const ComparedMachine& machine : answer.machines) {
    if (const std::optional<Cost> cost = cost_of(machine, prices)) rows.emplace_back(&machine, *cost);
  }
  if (rows.empty()) return "";
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.call < b.second.call; });
  Table table({"<gpu", "<type", "an hour", "a million calls", "1e18 FLOP", "J a call"});
  for (const auto& [machine, cost] : rows) {
    const char* least = cost.at_least ? ">= " : "";
    const PredictedAnswer& predicted = *machine->selected.predicted;
    table.add({*machine->selected.head.gpu, machine->selected.head.dtype, fmt::format("{:.4g}", cost.hour),
               fmt::format("{}{:.4g}", least, 1e6 * cost.call),
               fmt::format("{}{:.4g}", least, cost.call / (predicted.tflops * predicted.time) * 1e6),
               cost.joules ? fmt::format("{}{:.4g}", least, *cost.joules) : "-"});
  }
  return "\n" + table.text(style, "  ");
}

std::string quantisation_text(const CompareAnswer& answer) {
  std::string text;
  for (const QuantisationAnswer& law : answer.quantisation) {
    text += fmt::format("  {}: {} instead of {} moves and holds less: x{:.3g} in transfer time (", law.gpu, law.to,
                        law.from, law.gain);
    for (std::size_t i = 0; i < law.terms.size(); ++i) {
      text += fmt::format("{}terms in M^-{:.3g}: x{:.3g}", i == 0 ? "" : ", ", law.terms[i].first, law.terms[i].second);
    }
    text += ")\n";
  }
  return text.empty() ? "" : "\n" + text;
}

/// Writes the bytes that each machine's tile moves, and what laws say of any tile.
std::string further_parts(const CompareAnswer& answer, const Style& style) {
  const auto law = [](std::string (*text)(const Laws&)) {
    return [text](const ComparedMachine& machine) { return machine.laws ? text(*machine.laws) : std::string(); };
  };
  const auto by_route = [](std::string (*text)(const Laws&, const Vocabulary&)) {
    return [text](const ComparedMachine& machine) {
      return machine.laws ? text(*machine.laws, machine.selected.head.terms) : std::string();
    };
  };
  std::string text = part("H of that tile", answer, style,
                          [](const ComparedMachine& m) { return transfers_text(m.selected.head, m.selected.levels); });
  text += part("parts of results", answer, style, [](const ComparedMachine& m) {
    return m.selected.combine ? report::combine_text(*m.selected.combine) : std::string();
  });
  const std::string pairs(report::text_of_pairs(answer.machines.front().selected.head.mask));
  text += part("least H of any tile, one level at a time" + pairs, answer, style, by_route(report::least_text));
  text += part("H over all levels, each at its pipe's rate" + pairs, answer, style, [](const ComparedMachine& m) {
    return m.laws ? report::weighted_text(*m.laws, m.selected.head.mask, m.selected.levels) : std::string();
  });
  text +=
      part("H/K, values a FLOP, that the least H asks of a pipe" + pairs, answer, style, [](const ComparedMachine& m) {
        return m.laws ? report::ratios_text(*m.laws, report::value_bytes_of(m.selected.head)) : std::string();
      });
  text += part("energy" + pairs, answer, style, law(report::energy_sum_text));
  text += part("handed on within clusters" + pairs, answer, style, law(report::crossings_text));
  text += part("least rate of a route that keeps the tensor units fed" + pairs, answer, style,
               by_route(report::needed_text));
  text += part("what keeps the tensor units fed" + pairs, answer, style, by_route(report::minima_text));
  text += part("best cluster size by transfers" + pairs, answer, style, law(report::cluster_text));
  text += part("how the nodes below a cache share its tile", answer, style, law(report::caching_text));
  return text + quantisation_text(answer);
}

std::string text_of(const CompareAnswer& answer, const Ask& ask, const Prices& prices, bool all, const Style& style) {
  std::string text = style.strong(answer.machines.front().selected.head.algorithm) + "  " + report::text_of(ask.shape);
  if (!ask.lengths.empty()) text += "  lengths " + internal::text_of(ask.lengths);
  text += "\n\n";
  text += times_table(answer, style);
  text += costs_text(answer, prices, style);
  text += part("tile", answer, style, [](const ComparedMachine& m) { return report::text_of(m.selected.head.tile); });
  if (all) return text + further_parts(answer, style);
  return text + style.faint("(--explain says more: what each moves, and what any tile has to)") + "\n";
}

/// The subjects of a comparison: GPUs, or kernels on one GPU.
struct Compared {
  std::vector<std::string> gpus, kernels;
};

Compared compared_of(const Arguments& arguments) {
  if (!arguments.has("--kernels")) {
    if (arguments.has("--gpu")) throw Error("--gpu", "stands without --kernels", "--gpus A,B,... or --kernels all");
    const std::string right = "profiles' names or paths with commas between them, such as h200-sxm,a100-sxm-80";
    return {distinct(parse_words(arguments.need("--gpus", right), "--gpus", right), "--gpus"), {}};
  }
  for (const char* other : {"--gpus", "--kernel"}) {
    if (arguments.has(other)) throw Error(other, "stands beside --kernels", "--gpu G --kernels all|A,B,...");
  }
  const std::string right = "all, or mappings' names or paths with commas between them (napkin list kernels)";
  return {{arguments.need("--gpu", "the GPU that the kernels are compared on")},
          distinct(parse_words(arguments.need("--kernels", right), "--kernels", right), "--kernels")};
}

/// Reads "A=2.5,B=4": GPUs that are compared, and their prices an hour.
Prices prices_of(const Arguments& arguments, const Compared& compared) {
  Prices prices;
  if (!arguments.has("--prices")) return prices;
  const std::string right = "prices an hour of GPUs that are compared, such as h200-sxm=3.5,a100-sxm-80=1.8";
  for (const std::string& word : parse_words(arguments.need("--prices", right), "--prices", right)) {
    const std::size_t equal = word.find('=');
    const std::string gpu = word.substr(0, equal), number = equal == std::string::npos ? "" : word.substr(equal + 1);
    char* end = nullptr;
    const double price = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !(price > 0) || !std::isfinite(price))
      throw Error("--prices", in_quotes(word) + " is no price", right);
    if (std::find(compared.gpus.begin(), compared.gpus.end(), gpu) == compared.gpus.end())
      throw Error("--prices", in_quotes(gpu) + " is not compared", one_of(gpu, compared.gpus));
    const bool again = std::any_of(prices.begin(), prices.end(), [&](const auto& one) { return one.first == gpu; });
    if (again) throw Error("--prices", gpu + " is given twice", "give it once");
    prices.emplace_back(gpu, price);
  }
  return prices;
}

/// Compares, and reports an error in a word of a list at that list.
CompareAnswer answer_of(const Ask& ask, const Compared& compared, const std::vector<std::string>& dtypes,
                        AnswerParts parts) {
  try {
    return compare(ask, compared.gpus, dtypes, compared.kernels, parts);
  } catch (const Error& error) {
    const bool gpu = error.where() == "--gpu" && compared.kernels.empty();
    const bool kernel = error.where() == "--kernel" && !compared.kernels.empty();
    if (!gpu && !kernel) throw;
    throw Error(error.where() + "s", error.problem(), error.right());
  }
}

/// Explains a table without a kernel's time: nothing fits, or there is no kernel.
std::string no_kernel_note(const CompareAnswer& answer) {
  const auto any = [&](const auto& holds) {
    return std::any_of(answer.machines.begin(), answer.machines.end(), holds);
  };
  if (any([](const ComparedMachine& machine) { return machine.selected.found; })) return "";
  if (any([](const ComparedMachine& machine) { return machine.selected.head.kernel.has_value(); }))
    return "nothing fits\n";
  return "no kernel is known that runs " + answer.machines.front().selected.head.algorithm + " on any of them\n";
}

Reply run_compare(const Arguments& arguments, const Style& style) {
  const Ask ask = ask_without_machine(arguments);
  const Compared compared = compared_of(arguments);
  const std::string types = "element types with commas between them, such as bf16,e4m3";
  const std::string given = ask.dtype.empty() ? "bf16" : ask.dtype;
  const auto dtypes = distinct(parse_words(given, "--dtype", types), "--dtype");
  const Prices prices = prices_of(arguments, compared);
  const AnswerParts parts =
      arguments.has("--json") ? AnswerParts::all() : AnswerParts{.standing = true, .weakest = true};
  const CompareAnswer answer = answer_of(ask, compared, dtypes, parts);
  const std::string note = no_kernel_note(answer), notes = note + unlike_text(answer);
  const int code = note.empty() ? 0 : 1;
  if (arguments.has("--json")) return {report::line_of(json_of(answer, prices)), notes, code};
  return {text_of(answer, ask, prices, arguments.has("--explain"), style), notes, code};
}

}  // namespace

Command compare_command() {
  return {"compare", "one algorithm on several GPUs and in several element types, or several kernels on one GPU",
          algorithm_operand(),
          options({{{"--gpus", "A,B,...", "profiles' names or paths"},
                    {"--gpu", "G", "with --kernels: the GPU that they are compared on"},
                    {"--kernels", "K,...",
                     "mappings' names or paths, or all: every kernel that runs there, the fastest first"}},
                   {{"--prices", "A=P,...", "what an hour of each GPU costs: adds a call's cost and energy"}},
                   problem_options(),
                   condition_options(),
                   {lengths_option(), kernel_option(), tile_option(), explain_option(), json_option()}}),
          run_compare};
}

}  // namespace napkin::internal::cli
