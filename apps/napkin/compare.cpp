// napkin compare: one algorithm on several machines and in several element types.

#include "apps/library/compare.hpp"

#include <fmt/format.h>

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/json.hpp"
#include "apps/report/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::cli {
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

Json json_of(const Laws& laws) {
  Json levels = Json::array();
  for (const LevelLaw& level : laws.levels) {
    levels.push_back({{"name", level.name},
                      {"memory", report::json_of(level.memory)},
                      {"transfer", report::json_of(level.transfer)},
                      {"time", report::json_of(level.time)}});
  }
  Json json = {
      {"levels", levels}, {"bound", laws.bound}, {"cluster", nullptr}, {"minima", Json::array()}, {"caching", nullptr}};
  if (laws.cluster) {
    Json savings = Json::array();
    for (const auto& [size, saving] : laws.cluster->savings)
      savings.push_back({{"size", size}, {"time", report::json_of(saving)}});
    json["cluster"] = {{"size", laws.cluster->size}, {"savings", savings}};
  }
  for (const MinimaLaw& minima : laws.minima) {
    Json least = Json::object();
    for (const auto& [name, value] : minima.least) least[name] = report::json_of(value);
    json["minima"].push_back({{"level", minima.level}, {"least", least}});
  }
  if (laws.caching) {
    json["caching"] = {{"level", laws.caching->level},
                       {"factors", laws.caching->factors},
                       {"ratio", report::json_of(laws.caching->ratio)}};
  }
  return json;
}

Json json_of(const CompareAnswer& answer) {
  const Head& head = answer.machines.front().selected.head;
  Json machines = Json::array();
  for (const ComparedMachine& machine : answer.machines) {
    const SelectAnswer& selected = machine.selected;
    machines.push_back({{"gpu", *selected.head.gpu},
                        {"kernel", selected.head.kernel ? Json(*selected.head.kernel) : Json(nullptr)},
                        {"dtype", selected.head.dtype},
                        {"tile", report::json_of(selected.head.tile)},
                        {"predicted", selected.predicted ? report::json_of(*selected.predicted) : Json(nullptr)},
                        {"levels", report::json_of(selected.levels)},
                        {"because", selected.because},
                        {"laws", machine.laws ? json_of(*machine.laws) : Json(nullptr)}});
  }
  Json quantisation = Json::array();
  for (const QuantisationAnswer& law : answer.quantisation) {
    Json terms = Json::array();
    for (const auto& [beta, gain] : law.terms)
      terms.push_back({{"beta", report::json_of(beta)}, {"gain", report::json_of(gain)}});
    quantisation.push_back(
        {{"gpu", law.gpu}, {"from", law.from}, {"to", law.to}, {"gain", report::json_of(law.gain)}, {"terms", terms}});
  }
  return {{"command", "compare"},
          {"algorithm", head.algorithm},
          {"mask", report::json_of(head.mask)},
          {"shape", report::json_of(head.shape)},
          {"machines", machines},
          {"quantisation", quantisation}};
}

/// "l2 0.55 GB, shared 8.66 GB"
std::string transfers_text(const std::vector<LevelAnswer>& levels) {
  std::string text;
  for (const LevelAnswer& level : levels) {
    if (level.transfer == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", level.name, report::transfer_text(level.transfer));
  }
  return text;
}

std::string machines_table(const CompareAnswer& answer, const Style& style) {
  Table table({"<gpu", "<type", "time", "TFLOP/s", "<bound by", "<kernel", "<H by level", "<tile"});
  for (const ComparedMachine& machine : answer.machines) {
    const SelectAnswer& s = machine.selected;
    const std::string kernel = s.head.kernel.value_or("(ideal)");
    if (!s.predicted) {
      table.add({*s.head.gpu, s.head.dtype, "-", "-", "nothing fits", kernel});
      continue;
    }
    table.add({*s.head.gpu, s.head.dtype, report::time_text(s.predicted->time),
               fmt::format("{:.1f}", s.predicted->tflops), s.predicted->bound, kernel, transfers_text(s.levels),
               report::text_of(s.head.tile)});
  }
  return table.text(style, "  ");
}

std::string minima_text(const std::vector<MinimaLaw>& minima) {
  std::string text;
  for (const MinimaLaw& law : minima) {
    text += (text.empty() ? "" : "; ") + law.level + ":";
    for (const auto& [name, value] : law.least)
      text += fmt::format(" {} >= {}", name, report::number_text(std::ceil(value)));
  }
  return text;
}

std::string cluster_text(const ClusterLaw& law) {
  std::string text = law.size == 1 ? "none saves" : std::to_string(law.size);
  std::string savings;
  for (const auto& [size, saving] : law.savings) {
    savings += fmt::format("{}{} saves {}", savings.empty() ? "" : ", ", size, report::time_text(saving));
  }
  return text + " (" + savings + ")";
}

/// The best that any kernel could do by transfers alone, and what it takes.
std::string laws_table(const CompareAnswer& answer, const Style& style) {
  Table table({"<gpu", "<type", "<least transfer H* and its time, by level", "<keeps the tensor units fed", "<cluster",
               "<nodes that share a cache's tile"});
  for (const ComparedMachine& machine : answer.machines) {
    const Head& head = machine.selected.head;
    if (!machine.laws) {
      table.add({*head.gpu, head.dtype, "the profile lacks a bandwidth"});
      continue;
    }
    std::string levels;
    for (const LevelLaw& level : machine.laws->levels) {
      levels +=
          fmt::format("{}{} {} {}", levels.empty() ? "" : ", ", level.name,
                      report::transfer_text(static_cast<std::int64_t>(level.transfer)), report::time_text(level.time));
    }
    std::string caching;
    if (machine.laws->caching)
      caching = fmt::format("{} ({:.4f} of the ideal)", fmt::join(machine.laws->caching->factors, "x"),
                            machine.laws->caching->ratio);
    table.add({*head.gpu, head.dtype, levels, minima_text(machine.laws->minima),
               machine.laws->cluster ? cluster_text(*machine.laws->cluster) : "", caching});
  }
  return table.text(style, "  ");
}

std::string quantisation_text(const CompareAnswer& answer) {
  std::string text;
  for (const QuantisationAnswer& law : answer.quantisation) {
    text += fmt::format("  {}: {} -> {} is worth x{:.3g} in transfers (", law.gpu, law.from, law.to, law.gain);
    for (std::size_t i = 0; i < law.terms.size(); ++i) {
      text += fmt::format("{}M^-{:.3g}: x{:.3g}", i == 0 ? "" : ", ", law.terms[i].first, law.terms[i].second);
    }
    text += ")\n";
  }
  return text;
}

std::string text_of(const CompareAnswer& answer, const Style& style) {
  const Head& head = answer.machines.front().selected.head;
  std::string text = style.strong(head.algorithm) + "  " + report::text_of(head.shape) + "\n\n";
  text += machines_table(answer, style) + "\n" + laws_table(answer, style);
  const std::string quantisation = quantisation_text(answer);
  return quantisation.empty() ? text : text + "\n" + quantisation;
}

Reply run(const Arguments& arguments, const Style& style) {
  Ask ask = ask_without_machine(arguments);
  const std::string right = "profiles' names or paths with commas between them, such as h200-sxm,a100-sxm-80";
  const auto gpus = distinct(parse_words(arguments.need("--gpus", right), "--gpus", right), "--gpus");
  const std::string types = "element types with commas between them, such as bf16,e4m3";
  const std::string given = ask.dtype.empty() ? "bf16" : ask.dtype;
  const auto dtypes = distinct(parse_words(given, "--dtype", types), "--dtype");
  const CompareAnswer answer = compare(ask, gpus, dtypes);
  if (arguments.has("--json")) return {report::line_of(json_of(answer)), "", 0};
  return {text_of(answer, style), "", 0};
}

}  // namespace

Command compare_command() {
  return {"compare", "one algorithm on several GPUs and in several element types", algorithm_operand(),
          options({{{"--gpus", "A,B,...", "profiles' names or paths"}},
                   problem_options(),
                   {kernel_option(), tile_option(), json_option()}}),
          run};
}

}  // namespace napkin::cli
