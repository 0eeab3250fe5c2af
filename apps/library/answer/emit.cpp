#include <algorithm>

#include "apps/library/answer/session.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "model/island/island.hpp"
#include "model/mapping/read/load.hpp"
#include "solver/emit/emit.hpp"

namespace napkin::internal {
namespace {

/// Returns the mapping whose own form is asked for: the peer's that computes the algorithm there.
std::string peer_of(const Question& question, const std::string& form) {
  // FlashAttention-4's kernel for Hopper is FlashAttention-3's algorithm, and so is its mapping.
  const auto has_form = [&](const Mapping& m) { return m.emit == form || (form == "fa4" && m.emit == "fa3"); };
  std::vector<std::string> peers;
  for (const std::string& name : builtin_mappings()) {
    const Mapping mapping = load_mapping(name, "--emit");
    if (!has_form(mapping)) continue;
    peers.push_back(name);
    const bool typed = mapping.dtypes.empty() || lists(mapping.dtypes, name_of(question.problem.dtype));
    if (mapping.algorithm == question.diagram->name && runs_on(mapping, *question.machine) && typed) return name;
  }
  throw Error("--emit", "no mapping of " + form + " computes " + question.diagram->name + " there",
              peers.empty() ? "json or cpp" : "json or cpp, or another GPU or type for " + joined(peers));
}

/// Returns true if the form lists the runners-up too, for an autotuner to try.
bool lists_tiles(const std::string& form) { return form == "triton" || form == "fa4"; }

std::string text_in(const std::string& form, const Question& question, const Ranking& ranking) {
  const Mapping& mapping = *ranking.setup().mapping;
  const Tile& tile = ranking.best().tile;
  if (form == "json") return emit_json(mapping, tile);
  const std::string about = about_question(*question.diagram, mapping, *question.machine, question.problem);
  if (form == "fa3") return emit_fa3(mapping, tile, about);
  if (lists_tiles(form)) {
    std::vector<Tile> tiles;
    for (const Ranked& ranked : ranking.selection().ranked) tiles.push_back(ranked.tile);
    return form == "fa4" ? emit_fa4(mapping, tiles, about) : emit_triton(mapping, tiles, about);
  }
  const Placer placer = placer_of(ranking.setup());
  const Placement placement = place(placer, tile);
  return emit_cpp(placement.placed, placement.plan);
}

Emission emission_of(const Question& question, const std::string& form, int top) {
  const Ranking ranking = select_kernel(question, lists_tiles(form) ? top : 1);
  if (ranking.setup().ideal) return {"", false, "no kernel is known that runs " + question.diagram->name + " there"};
  if (ranking.empty()) return {"", false, ranking.nothing_fits()};
  std::string text = text_in(form, question, ranking);
  if (!text.ends_with('\n')) text += '\n';
  return {std::move(text), true, ""};
}

}  // namespace

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

Emission Session::emit(const Ask& ask, const std::string& form, int top) const {
  const std::vector<std::string> forms = {"json", "cpp", "triton", "fa3", "fa4", "nccl"};
  if (std::find(forms.begin(), forms.end(), form) == forms.end()) {
    throw Error("--emit", in_quotes(form) + " is no form", one_of(form, forms));
  }
  if (asks_island(ask) != (form == "nccl")) {
    throw Error("--emit",
                form == "nccl" ? "nccl is of several GPUs, and " + in_quotes(ask.gpu) + " is no island"
                               : form + " is of one GPU, and " + ask.gpu + " is an island",
                form == "nccl" ? one_of("", builtin_islands()) : "nccl");
  }
  if (form == "nccl") return nccl_calls(*this, ask);
  Ask asked = ask;
  if ((form == "triton" || form == "fa3" || form == "fa4") && ask.kernel.empty())
    asked.kernel = peer_of(state_->problem(ask), form);
  const Question question = question_of(*this, asked);
  return at_shape([&] { return emission_of(question, form, top); });
}

}  // namespace napkin
