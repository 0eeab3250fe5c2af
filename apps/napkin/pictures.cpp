#include "apps/napkin/pictures.hpp"

#include <algorithm>
#include <vector>

#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "apps/report/diagram/expansion.hpp"
#include "apps/report/diagram/hierarchy.hpp"
#include "apps/report/diagram/picture.hpp"
#include "apps/report/diagram/tiling.hpp"
#include "apps/report/text/text.hpp"
#include "model/base/error.hpp"
#include "napkin/napkin.hpp"
#include "solver/space/granularity.hpp"

namespace napkin::internal::cli {
namespace {

/// Writes a title: "attention on h200-sxm, attention_sm90, bf16: warpgroups=2 q=128".
std::string title_of(const Head& head) {
  std::string out = head.algorithm;
  if (head.gpu) out += " on " + *head.gpu;
  if (head.kernel) out += ", " + *head.kernel;
  if (head.gpu) out += ", " + head.dtype;
  return head.tile.empty() ? out : out + ": " + report::text_of(head.tile);
}

}  // namespace

report::ColumnDiagram columns_of(const Question& question, const Setup& setup, const PlacedDiagram& placed) {
  std::vector<Granularity> divisors;
  if (!question.abstract())
    divisors = granularities(*setup.streamed, *setup.mapping, *question.machine, question.problem);
  report::ColumnDiagram out = report::columns_of(placed, divisors);
  out.title = title_of(head_of(question, setup, &placed.tile));
  return out;
}

report::ColumnDiagram columns_of(const Ask& ask) {
  const Question question = question_of(default_session(), ask);
  return at_shape([&] {
    const SelectedTile selected = select_tile(question);
    const Placer placer = placer_of(*selected.setup);
    return columns_of(question, *selected.setup, placer.place(selected.tile));
  });
}

report::Drawing picture_of(const std::string& which, const report::ColumnDiagram& columns, const Streamed& streamed,
                           const PlacedDiagram* placed) {
  if (which == "columns") return report::drawing_of(columns);
  if (which == "stages") return report::stages_picture(streamed);
  if (which == "expansion")
    return report::expansion_of(streamed, placed == nullptr ? std::nullopt : report::stream_sizes(*placed));
  if (placed == nullptr) throw Error("--picture", "a " + which + " needs a machine and sizes", "add --gpu and --shape");
  if (which == "tiling") return report::tiling_of(*placed);
  return report::hierarchy_of(*placed->machine, clock_of(*placed->machine));
}

std::string picture_asked(const Arguments& arguments) {
  const std::vector<std::string> known = {"columns", "stages", "expansion", "hierarchy", "tiling"};
  if (!arguments.has("--picture")) return known.front();
  std::string which = arguments.need("--picture", "one of " + joined(known));
  if (std::find(known.begin(), known.end(), which) == known.end())
    throw Error("--picture", in_quotes(which) + " cannot be drawn", one_of(which, known));
  if (!arguments.has("--svg") && !arguments.has("--tikz"))
    throw Error("--picture", "has no meaning without --svg or --tikz", "add one of them, or leave it out");
  return which;
}

}  // namespace napkin::internal::cli
