#include "apps/library/choose.hpp"
#include "apps/library/measure.hpp"
#include "apps/library/napkin.hpp"
#include "model/mapping/load.hpp"
#include "solver/emit/emit.hpp"

namespace napkin {
namespace {

SelectAnswer answer_of(const Subject& subject, const Choice& choice) {
  const Selection& selection = choice.selection;
  const bool fits = !selection.ranked.empty();
  SelectAnswer answer;
  answer.head = head_of(subject, *choice.layout, fits ? &selection.ranked.front().tile : nullptr);
  answer.found = fits && !choice.layout->ideal;
  answer.candidates = selection.candidates.get();
  const Question question = question_of(subject, *choice.layout);
  const Tally counted = tally(question);
  answer.legal = counted.legal.get();
  for (const auto& [constraint, tiles] : counted.rejected) answer.rejected.emplace_back(constraint, tiles.get());
  if (!fits) {
    answer.because = "nothing fits: " + nearest_constraint(counted) + " keeps the most tiles out";
    return answer;
  }
  answer.because = explain(question, selection, choice.objective);
  const Placer placer(choice.layout->streamed, choice.layout->mapping, subject.machine, subject.problem);
  const Placement best = place(placer, selection.ranked.front().tile);
  answer.predicted = answer_of(selection.ranked.front().prediction);
  answer.levels = levels_of(subject, best.placed, selection.ranked.front().prediction.clock);
  answer.combine = combine_of(best.placed, selection.ranked.front().prediction.clock);
  answer.occupancy = answer_of(best.plan);
  for (std::size_t i = 1; i < selection.ranked.size(); ++i) {
    const Ranked& other = selection.ranked[i];
    answer.alternatives.push_back({values_of(choice.layout->mapping, other.tile), answer_of(other.prediction)});
  }
  return answer;
}

/// The mapping whose own form is asked for: the peer's that computes the algorithm there.
std::string peer_of(const Subject& subject, const std::string& form) {
  std::vector<std::string> peers;
  for (const std::string& name : builtin_mappings()) {
    const Mapping mapping = load_mapping(name, "--emit");
    if (mapping.emit != form) continue;
    peers.push_back(name);
    const std::string type(name_of(subject.problem.dtype));
    const bool typed =
        mapping.dtypes.empty() || std::find(mapping.dtypes.begin(), mapping.dtypes.end(), type) != mapping.dtypes.end();
    if (mapping.algorithm == subject.diagram.name && runs_on(mapping, subject.machine) && typed) return name;
  }
  throw Error("--emit", "no mapping of " + form + " computes " + subject.diagram.name + " there",
              peers.empty() ? "json or cpp" : "json or cpp, or another GPU or type for " + joined(peers));
}

std::string emitted(const Subject& subject, const Choice& choice, const std::string& form) {
  const Mapping& mapping = choice.layout->mapping;
  const Tile& tile = choice.selection.ranked.front().tile;
  if (form == "json") return emit_json(mapping, tile);
  if (form == "fa3") return emit_fa3(mapping, tile);
  if (form == "triton") {
    std::vector<Tile> tiles;
    for (const Ranked& ranked : choice.selection.ranked) tiles.push_back(ranked.tile);
    return emit_triton(mapping, tiles);
  }
  const Placer placer(choice.layout->streamed, mapping, subject.machine, subject.problem);
  const Placement placement = place(placer, tile);
  return emit_cpp(placement.placed, placement.plan);
}

}  // namespace

SelectAnswer select(const Ask& ask, int top) {
  const Subject subject = load_subject(ask);
  return at_shape([&] {
    const Layouts layouts = layouts_of(subject);
    return answer_of(subject, choose(subject, layouts, top));
  });
}

Emission emit(const Ask& ask, const std::string& form, int top) {
  const std::vector<std::string> forms = {"json", "cpp", "triton", "fa3"};
  if (std::find(forms.begin(), forms.end(), form) == forms.end()) {
    throw Error("--emit", in_quotes(form) + " is no form", one_of(form, forms));
  }
  Subject subject = load_subject(ask);
  const bool of_peer = form == "triton" || form == "fa3";
  if (of_peer && ask.kernel.empty()) subject.ask.kernel = peer_of(subject, form);
  return at_shape([&]() -> Emission {
    const Layouts layouts = layouts_of(subject);
    const Choice choice = choose(subject, layouts, form == "triton" ? top : 1);
    const SelectAnswer answer = answer_of(subject, choice);
    if (choice.layout->ideal) return {"", false, "no bundled kernel runs " + subject.diagram.name + " there"};
    if (!answer.found) return {"", false, answer.because};
    std::string text = emitted(subject, choice, form);
    if (!text.ends_with('\n')) text += '\n';
    return {std::move(text), true, ""};
  });
}

}  // namespace napkin
