#include "apps/library/judge/report.hpp"

#include <algorithm>

#include "apps/library/answer/answering.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "model/base/error.hpp"
#include "model/clock/prediction.hpp"

namespace napkin {
namespace {

constexpr int drawn_iterations = 6, most_runners = 5;
constexpr std::size_t most_pairs = 6, most_recorded = 8, most_published = 6;

/// The best of the kernel that the answer has come to, whatever knobs the user fixed.
SelectAnswer free_selection(const Session& session, const Ask& ask, const Head& head) {
  Ask open = ask;
  open.tile.clear();
  open.check = open.compile = false;
  if (open.kernel.empty() && head.kernel) open.kernel = *head.kernel;
  return *session.select(open, most_runners);
}

/// The best tiles beside the one that is asked about.
std::vector<AlternativeAnswer> others(const SelectAnswer& selected, const TileValues& asked) {
  std::vector<AlternativeAnswer> out = selected.alternatives;
  if (selected.found && selected.predicted) out.insert(out.begin(), {selected.head.tile, *selected.predicted});
  out.erase(std::remove_if(out.begin(), out.end(), [&](const AlternativeAnswer& one) { return one.tile == asked; }),
            out.end());
  return out;
}

/// What only a kernel's legal tile has.
void add_of_kernel(const Request& request, const SelectedTile& selected, ReportAnswer& out) {
  const std::size_t pairs =
      request.problem.packing.sequences.empty() ? most_pairs : 1;  // each cell takes some milliseconds there
  out.landscapes = landscapes_of(*selected.layout, selected.tile, pairs);
  if (!out.query.legal) return;
  out.timeline = timeline_answer(request, *selected.layout, selected.tile, drawn_iterations);
  out.sensitive = sensitivity_answer(request);
}

}  // namespace

ReportAnswer report_answer(const Session& session, const Ask& ask, const std::vector<PublishedRow>& published) {
  if (ask.memory) throw Error("--memory", "has no clock to report on", "--gpu G");
  const Request request = session.request(ask);
  return at_shape([&] {
    const SelectedTile selected = select_tile(request);
    const Layout& layout = *selected.layout;
    ReportAnswer out;
    out.query = *session.query(ask);
    out.selected = free_selection(session, ask, out.query.head);
    out.picked = out.selected.found && out.selected.head.tile == out.query.head.tile;
    out.streamed = *layout.streamed;
    const bool launched_once = out.query.launches.empty();
    if (!layout.ideal && launched_once) add_of_kernel(request, selected, out);
    if (!out.query.predicted) return out;
    if (out.query.head.kernel)
      out.classes = classes_of(*request.machine, *out.query.head.kernel, out.query.predicted->by_graph());
    if (!launched_once) return out;
    // Nothing is multiplied by a maximum or a norm: 0 FLOP a byte lie on no logarithmic axis.
    if (out.query.work.flops > 0) {
      out.roofline = roofline_of(request, layout, out.query, others(out.selected, out.query.head.tile));
    }
    out.recorded = recorded_beside(out.query.head, most_recorded);
    out.published = published_beside(out.query.head, published, most_published);
    return out;
  });
}

}  // namespace napkin
