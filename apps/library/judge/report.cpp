#include "apps/library/judge/report.hpp"

#include <algorithm>

#include "apps/library/answer/answering.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "model/base/error.hpp"
#include "model/clock/prediction.hpp"
#include "model/machine/about.hpp"
#include "solver/space/about_rule.hpp"

namespace napkin::internal {
namespace {

constexpr int drawn_iterations = 4, most_runners = 5;
constexpr std::size_t most_pairs = 6, most_recorded = 8, most_published = 6;

/// Returns the selection of the answer's kernel with every knob free, also those that the user fixed.
SelectAnswer free_selection(const Session& session, const Ask& ask, const Head& head) {
  Ask open = ask;
  open.tile.clear();
  open.check = open.compile = false;
  if (open.kernel.empty() && head.kernel) open.kernel = *head.kernel;
  return *session.select(open, most_runners, AnswerParts::all());
}

/// Returns the best tiles except the tile of the question.
std::vector<AlternativeAnswer> others(const SelectAnswer& selected, const TileValues& asked) {
  std::vector<AlternativeAnswer> out = selected.alternatives;
  if (selected.found && selected.predicted) out.insert(out.begin(), {selected.head.tile, *selected.predicted});
  out.erase(std::remove_if(out.begin(), out.end(), [&](const AlternativeAnswer& one) { return one.tile == asked; }),
            out.end());
  return out;
}

/// Adds the parts that only a kernel's legal tile has.
void add_of_kernel(const Question& question, const SelectedTile& selected, ReportAnswer& out) {
  const std::size_t pairs = question.problem.packing.sequences.empty()
                                ? most_pairs
                                : 1;  // fewer pairs: each cell takes some milliseconds there
  out.landscapes = landscapes_of(*selected.setup, selected.tile, pairs);
  if (!out.query.legal) return;
  out.timeline = timeline_answer(question, *selected.setup, selected.tile, drawn_iterations);
  out.sensitive = sensitivity_answer(question);
}

/// Writes "step exp of P, on special (exponentials, reciprocals and the like)"
std::string about_node(const Machine& machine, const EventGraph& graph, const EventNode& node) {
  switch (node.kind) {
    case NodeKind::copy: return "a copy engine brings the next part of " + node.name.substr(node.name.rfind(' ') + 1);
    case NodeKind::store: return "a copy engine takes " + node.name.substr(node.name.rfind(' ') + 1) + " away";
    case NodeKind::tensor: return "the products of " + node.name + ", on the matrix units";
    case NodeKind::thread: break;
  }
  const std::size_t dot = node.name.find('.');
  std::string text = dot == std::string::npos ? "threads compute " + node.name
                                              : "step " + node.name.substr(dot + 1) + " of " + node.name.substr(0, dot);
  const auto most = std::max_element(node.demand.begin(), node.demand.end());
  if (most == node.demand.end() || !(*most > 0)) return text;
  const std::string unit = graph.pipes[static_cast<std::size_t>(most - node.demand.begin())].name;
  const std::string unit_about = about_number(machine, unit);
  return text + ", on " + unit + (unit_about.empty() ? "" : " (" + unit_about + ")");
}

/// Writes a line for each number of the machine, and for each count of the mapping ("P.exp on special").
std::string about_row(const Machine& machine, const SensitivityRow& row) {
  if (!row.mapping) return about_number(machine, row.name);
  const std::size_t on = row.name.find(" on ");
  if (on == std::string::npos) return "a count of the mapping";
  const std::string unit = about_number(machine, row.name.substr(on + 4));
  return "how much work step " + row.name.substr(0, on) + " has" + (unit.empty() ? "" : ": " + unit);
}

void add_words(const Machine& machine, const Mapping& mapping, ReportAnswer& out) {
  for (const Knob& knob : mapping.knobs) out.about[knob.name] = knob.about;
  if (const auto& predicted = out.query.predicted) {
    for (const auto& [pipe, busy] : predicted->pipes) out.about[pipe] = about_number(machine, pipe);
    if (const auto& standing = predicted->standing) {
      for (const auto* names : {&standing->weakest->numbers, &standing->missing, &standing->left_out}) {
        for (const std::string& name : *names) out.about[name] = about_number(machine, name);
      }
    }
  }
  if (out.timeline) {
    for (const std::string& engine : out.timeline->graph.engines)
      out.about[engine] = "a copy engine: it serves one request at a time";
    for (const EventNode& node : out.timeline->graph.nodes)
      out.about[node.name] = about_node(machine, out.timeline->graph, node);
  }
  if (out.sensitive) {
    for (const SensitivityRow& row : out.sensitive->rows) out.about[row.name] = about_row(machine, row);
  }
  for (const auto& [rule, tiles] : out.selected.rejected) {
    if (std::string line = about_rule(mapping, rule); !line.empty()) out.rules[rule] = std::move(line);
  }
  std::erase_if(out.about, [](const auto& word) { return word.second.empty(); });
}

}  // namespace

ReportAnswer report_answer(const Session& session, const Ask& ask, const std::vector<PublishedRow>& published) {
  if (ask.memory) throw Error("--memory", "has no clock to report on", "--gpu G");
  const Question question = question_of(session, ask);
  return at_shape([&] {
    const SelectedTile selected = select_tile(question);
    const Setup& setup = *selected.setup;
    ReportAnswer out;
    out.query = *session.query(ask, AnswerParts::all());
    out.selected = free_selection(session, ask, out.query.head);
    out.picked = out.selected.found && out.selected.head.tile == out.query.head.tile;
    out.streamed = *setup.streamed;
    const bool launched_once = out.query.launches.empty();
    if (!setup.ideal && launched_once) add_of_kernel(question, selected, out);
    add_words(*question.machine, *setup.mapping, out);
    if (!out.query.predicted) return out;
    if (out.query.head.kernel)
      out.classes = classes_of(question.machine->architecture, *out.query.head.kernel, out.query.predicted->by_graph());
    if (!launched_once) return out;
    // A maximum or a norm multiplies nothing, and 0 FLOP a byte has no place on a logarithmic axis.
    if (out.query.work.flops > 0) {
      out.roofline = roofline_of(question, setup, out.query, others(out.selected, out.query.head.tile));
    }
    out.recorded = recorded_beside(out.query.head, most_recorded);
    out.published = published_beside(out.query.head, published, most_published);
    return out;
  });
}

}  // namespace napkin::internal
