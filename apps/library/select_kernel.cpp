#include "apps/library/select_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/library/evaluate.hpp"
#include "apps/library/kept_tables.hpp"
#include "model/clock/time_model.hpp"

namespace napkin {

std::shared_ptr<Known> make_known() { return make_known(kept_tables()); }
std::shared_ptr<Known> make_known(Tables::Store store) { return std::make_shared<Known>(std::move(store)); }

Prediction Known::predicted(const PlacedDiagram& placed, const Plan& plan) {
  constexpr std::size_t most_graphs = 1024;
  std::unique_ptr<Periods> own;  // one asks it at a time, so that others need not wait
  {
    const std::lock_guard lock(mutex);
    if (!periods.empty()) {
      own = std::move(periods.back());
      periods.pop_back();
    }
  }
  if (own == nullptr || own->size() > most_graphs) own = std::make_unique<Periods>();
  Prediction prediction = predict(placed, plan, *own);
  const std::lock_guard lock(mutex);
  periods.push_back(std::move(own));
  return prediction;
}

Ranking::Ranking(const Request& request, const Layout& layout, int top)
    : request_(&request),
      layout_(&layout),
      question_(std::make_unique<const Question>(request.question(layout))),
      selector_(std::make_unique<Selector>(*question_, request.known->tables, request.ask.making)),
      selection_(selector_->rank(top)) {
  request.known->tables.save();
}

std::string Ranking::explain() const { return selector_->explain(selection_); }

Prediction Ranking::predicted(const Tile& tile) const {
  if (auto known = selector_->noticed(tile)) return *std::move(known);
  const KeptPlacer placer = kept_placer_of(*request_, *layout_);
  const PlacedDiagram placed = placer->place(tile);
  return request_->known->predicted(placed, plan(placed));
}

Rejections Ranking::count_rejections() const { return selector_->count_rejections(); }

std::string Ranking::unsearched() const {
  std::string out;
  for (KnobId id = 0; const Knob& knob : question_->mapping->knobs) {
    const KnobId own = id++;
    const auto is_own = [&](const auto& fixed) { return fixed.first == own; };
    if (knob.searched || std::any_of(question_->fixed.begin(), question_->fixed.end(), is_own)) continue;
    for (const std::int64_t value : knob.domain) {
      Question asked = *question_;
      asked.fixed.emplace_back(own, value);
      if (value == knob.domain.front() || !any_legal(asked, request_->known->tables)) continue;
      const std::string word = knob.words.empty() ? std::to_string(value) : knob.words[static_cast<std::size_t>(value)];
      out += fmt::format("; {}={} fits and is the user's to ask for ({})", knob.name, word, knob.about);
    }
  }
  return out;
}

std::string Ranking::nothing_fits() const {
  return "nothing fits: " + nearest_constraint(count_rejections()) + " keeps the most tiles out" + unsearched();
}

Prediction predicted(const Request& request, const Layout& layout, const Placement& placement) {
  if (placement.violations.empty() && !layout.ideal) {
    const Question question = request.question(layout);
    if (auto known = noticed(question, placement.placed.tile, request.known->tables)) return *std::move(known);
  }
  return request.known->predicted(placement.placed, placement.plan);
}

namespace {

/// Leaves the kernels whose times can be compared: the roofline's time is one that no kernel reaches, so where the
/// event graph predicts some kernels, the others drop out.
void keep_comparable(std::vector<Ranking>& rankings) {
  const auto optimistic = [](const Ranking& ranking) { return ranking.best().prediction.iteration.empty(); };
  if (!std::all_of(rankings.begin(), rankings.end(), optimistic)) std::erase_if(rankings, optimistic);
}

/// Whether a kernel was made for that very architecture, not for all from some older one on.
bool is_native(const Layout& layout, const Machine& machine) {
  return lists(layout.mapping->runs_on, machine.architecture);
}

/// What fits, of the kernels that are native or of those that are not; `none`: the first in which nothing does.
std::vector<Ranking> rank_all(const Request& request, bool native, int top, std::optional<Ranking>& none) {
  std::vector<Ranking> fitting;
  for (const Layout& layout : request.layouts) {
    if (is_native(layout, *request.machine) != native) continue;
    Ranking ranking(request, layout, top);
    if (!ranking.empty())
      fitting.push_back(std::move(ranking));
    else if (!none)
      none = std::move(ranking);
  }
  return fitting;
}

}  // namespace

Ranking select_kernel(const Request& request, int top) {
  std::optional<Ranking> none;
  // The native ones first: measured, they are the faster ones also where predictions are closer than their errors, at
  // problems of a few blocks (tests/measured/small).
  std::vector<Ranking> fitting = rank_all(request, true, top, none);
  if (fitting.empty()) fitting = rank_all(request, false, top, none);
  if (fitting.empty()) return std::move(*none);
  keep_comparable(fitting);
  return std::move(*std::min_element(fitting.begin(), fitting.end(), [](const Ranking& x, const Ranking& y) {
    return x.best().prediction.time < y.best().prediction.time;
  }));
}

std::optional<Tile> best_tile(const Request& request, const Layout& layout) {
  const Ranking ranking(request, layout, 1);
  if (ranking.empty()) return std::nullopt;
  return ranking.best().tile;
}

std::vector<Ranked> legal_tiles(const Request& request, const Layout& layout) {
  const Exhausted exhausted = select_exhaustively(request.question(layout));
  return {exhausted.all.begin(), exhausted.all.end()};
}

bool fits(const Request& request, const Layout& layout) {
  return any_legal(request.question(layout), request.known->tables);
}

}  // namespace napkin
