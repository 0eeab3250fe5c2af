// napkin deps: what must stay in order in a loop nest, or in the streamed program of an algorithm, and what need not.

#include <functional>

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/file.hpp"
#include "apps/report/text/deps.hpp"
#include "apps/report/text/graphviz.hpp"
#include "model/dependence/defects.hpp"
#include "model/dependence/from_streamed.hpp"
#include "model/dependence/joining.hpp"
#include "model/dependence/library.hpp"
#include "model/dependence/text.hpp"
#include "model/dependence/transform.hpp"
#include "model/fusion/algorithm.hpp"
#include "model/fusion/derive.hpp"
#include "napkin/ask.hpp"

namespace napkin::internal::cli {
namespace {

using report::Dependences;
using report::Json;
using report::Style;

std::vector<std::string> loops_of(const dependence::Nest& nest, const std::vector<dependence::LoopId>& loops) {
  std::vector<std::string> names;
  for (const dependence::LoopId loop : loops) names.push_back(dependence::loop_name(nest, loop));
  return names;
}

std::string title(const Style& style, const std::string& text) { return "\n" + style.strong(text) + "\n"; }

/// Lists the author's claims that do not hold, then the steps that free more loops.
std::string improvements(const dependence::Nest& nest, const Style& style) {
  std::string text;
  for (const dependence::Defect& defect : dependence::find_defects(nest)) {
    if (text.empty()) text += title(style, "defects");
    text += "  " + report::wrapped(defect.text, 110, "    ") + "\n";
  }
  const std::vector<dependence::Step> steps = dependence::improve(nest);
  if (steps.empty()) return text;
  text += title(style, "steps");
  for (const dependence::Step& step : steps) {
    const std::string line = step.name + (step.preserves ? ": " : " (changes the result): ") + step.text;
    text += "  " + report::wrapped(line, 110, "    ") + "\n    " +
            report::summary_of(report::dependences_of(step.nest)) + "\n";
  }
  const Dependences last = report::dependences_of(steps.back().nest);
  std::vector<std::string> sets;
  for (const auto& members : last.recurrences) {
    std::vector<std::string> names;
    for (dependence::StatementId s : members) names.push_back(last.nest.statements[static_cast<std::size_t>(s)].name);
    sets.push_back("{" + joined(names) + "}");
  }
  text += "  recurrences left: " + (sets.empty() ? "none" : joined(sets)) + "\n";
  return text + title(style, "orders after these steps") + report::orders_text(last, style) +
         title(style, "nest after these steps") + dependence::print(steps.back().nest);
}

/// Lists the operands of each statement with the loops that they were made in.
std::string operands_text(const dependence::Nest& nest, const Style& style) {
  report::Table table({"<statement", "<operands, and the loops that each was made in"});
  for (std::size_t s = 0; s < nest.statements.size(); ++s) {
    std::vector<std::string> words;
    for (const dependence::Operand& one : dependence::operands_of(nest, static_cast<int>(s)))
      words.push_back(dependence::print_reference(nest, one.value) + " (" + joined(loops_of(nest, one.made_in)) + ")");
    table.add({nest.statements[s].name, report::wrapped(joined(words), 90, std::string(13, ' '))});
  }
  return title(style, "operands") + table.text(style, "  ");
}

/// Writes how parts of a loop that carries values are joined, or why they are not.
std::string joinings_text(const Dependences& found, const Style& style) {
  std::string text;
  for (const dependence::Joining& one : dependence::joinings(found.nest, found.edges)) {
    const std::string& loop = dependence::loop_name(found.nest, one.loop);
    if (!one.why_not.empty()) {
      text += "  " + loop + ": no: " + one.why_not + "\n";
      continue;
    }
    text += "  " + loop + ": parts of it may run at once, each from the initial values; two are joined by\n";
    for (const dependence::JoinedArray& array : one.arrays)
      text += "    " + array.array + " = " + dependence::print_expression(found.nest, array.by) + "\n";
  }
  return text.empty() ? text : title(style, "re-association of what loops carry") + text;
}

Json joinings_json(const Dependences& found) {
  Json list = Json::array();
  for (const dependence::Joining& one : dependence::joinings(found.nest, found.edges)) {
    Json arrays = Json::array();
    for (const dependence::JoinedArray& array : one.arrays)
      arrays.push_back({{"array", array.array}, {"by", dependence::print_expression(found.nest, array.by)}});
    list.push_back({{"loop", dependence::loop_name(found.nest, one.loop)},
                    {"arrays", arrays},
                    {"why_not", one.why_not.empty() ? Json(nullptr) : Json(one.why_not)}});
  }
  return list;
}

/// Adds the operands of each statement to the statements of the answer.
void add_operands(const dependence::Nest& nest, Json& statements) {
  for (std::size_t s = 0; s < nest.statements.size(); ++s) {
    Json list = Json::array();
    for (const dependence::Operand& one : dependence::operands_of(nest, static_cast<int>(s)))
      list.push_back({{"value", dependence::print_reference(nest, one.value)},
                      {"by", one.by ? Json(dependence::statement_of(nest, *one.by).name) : Json(nullptr)},
                      {"made_in", loops_of(nest, one.made_in)}});
    statements[s]["operands"] = std::move(list);
  }
}

/// Returns the text of the nest after the steps that free more loops; null without such steps.
Json transformed(const dependence::Nest& nest) {
  const std::vector<dependence::Step> steps = dependence::improve(nest);
  return steps.empty() ? Json(nullptr) : Json(dependence::print(steps.back().nest));
}

std::string labels(const Streamed& streamed, const Style& style) {
  std::string text = title(style, "labels");
  const std::vector<std::string> apart = dependence::disagreements(streamed);
  for (const std::string& sentence : apart) text += "  " + sentence + "\n";
  if (apart.empty()) text += "  agree: grouped axes are parallel, the streamed axis carries what is maintained\n";
  return text;
}

Reply reply(const Arguments& arguments, const Dependences& found, const std::function<std::string()>& more,
            const dependence::Nest* nest, const Style& style) {
  Reply reply;
  if (arguments.has("--json")) {
    Json json = report::json_of(found);
    add_operands(found.nest, json["statements"]);
    json["joinings"] =
        nest != nullptr ? joinings_json(found) : Json::array();  // an algorithm's joinings are its derivation
    if (nest != nullptr) json["transformed"] = transformed(*nest);
    reply.out = report::line_of(json);
  } else {
    reply.out = report::text_of(found, style) + operands_text(found.nest, style) +
                (nest != nullptr ? joinings_text(found, style) : "") + more();
  }
  if (arguments.has("--svg")) {
    const std::string path = arguments.need("--svg", "a path for the picture");
    report::write_file(path, report::svg_of_dot(report::dot_of(found), "--svg"), "--svg");
  }
  return reply;
}

Reply run_deps(const Arguments& arguments, const Style& style) {
  if (arguments.has("--nest")) {
    if (arguments.operand)
      throw Error("--nest", "together with ALGORITHM " + in_quotes(*arguments.operand), "one of the two");
    const dependence::Nest nest = dependence::load_nest(
        arguments.need("--nest", "a nest's file, or one of " + joined(dependence::builtin_nests())));
    return reply(
        arguments, report::dependences_of(nest), [&] { return improvements(nest, style); }, &nest, style);
  }
  const Streamed streamed = derive(load_algorithm(arguments.need_operand(
      "ALGORITHM", "a built-in name (napkin list algorithms), a path to a YAML file, or --nest FILE")));
  const Dependences found = report::dependences_of(dependence::nest_of(streamed), streamed.diagram);
  return reply(
      arguments, found, [&] { return labels(streamed, style); }, nullptr, style);
}

}  // namespace

Command deps_command() {
  return {"deps", "what must stay in order: dependences, recurrences, parallel loops, loop orders and their traffic",
          algorithm_operand(),
          options({{{"--nest", "FILE", "a loop nest instead of an algorithm: a file, or a built-in one's name"},
                    {"--svg", "FILE", "also draw the graph (with graphviz)"},
                    json_option()}}),
          run_deps};
}

}  // namespace napkin::internal::cli
