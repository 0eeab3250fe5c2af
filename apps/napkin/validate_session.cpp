#include "apps/napkin/validate_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/report/text/text.hpp"
#include "kernels/jit/failure.hpp"
#include "kernels/jit/source.hpp"
#include "model/diagram/packing.hpp"

namespace napkin::internal::cli {
namespace {

constexpr int reference_every = 8;     // tiles of a sweep between two measurements of the reference
constexpr int last_rounds = 7;         // interleaved, of the tiles near the best measured one
constexpr double near_best = 1.08;     // factor above 1, since one reading's clock is off by some percent
constexpr std::size_t most_last = 12;  // tiles of the last pass

std::string name_of(const Head& head) {
  const std::string lengths = head.lengths.empty() ? "" : ", lengths " + text_of(head.lengths);
  return report::text_of(head.shape) + lengths + ", " + text_of(head.mask) + ", " + report::text_of(head.tile);
}

/// Returns the reason without the variant's expression, which repeats the tile's name in C++.
std::string reason_of(const std::string& why) {
  const auto at = why.find(">: ");
  return at == std::string::npos ? why : why.substr(at + 3);
}

/// Returns the median of the rounds' values; nothing if there are none.
std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// The rounds of a tile in the last pass.
struct Rounds {
  std::vector<double> times, clocks, powers;
  int runs = 0;

  void add(const LaunchTiming& timing) {
    times.push_back(timing.time.value);
    if (timing.state.sm_clock) clocks.push_back(timing.state.sm_clock->value);
    if (timing.state.power) powers.push_back(timing.state.power->value);
    runs += timing.runs;
  }
  void put(MeasuredAnswer& into) const {
    const LaunchTiming all = summarise(times);
    into.time = all.time.value;
    into.time_spread = all.spread;
    into.runs = runs;
    into.clock = median(clocks);
    into.power = median(powers);
  }
};

}  // namespace

ValidationRow MeasurementRun::blank(const PlannedQuestion& question, const PlannedTile& tile) const {
  TilePrediction before = predict_tile(*question.measurable, tile.tile.tile, Rereads::counted);
  ValidationRow row;
  row.head = question.head(tile.tile.tile);
  row.levels = std::move(before.levels);
  row.predicted = std::move(before.predicted);
  row.split = split_of(row.head);
  row.sweep = question.sweep;
  row.selected = tile.tile.tile == question.pick;
  row.from = from_;
  row.source_hash = kernel_source_hash(*row.head.kernel);
  return row;
}

TimingPace MeasurementRun::pace_of(const Candidate& candidate) const {
  if (options_.load) return pace_under(*options_.load, options_.l2);
  if (!candidate.row.sweep) return patient_pace(options_.l2);
  return brisk_pace(options_.l2, options_.pace, candidate.row.predicted->time);
}

void MeasurementRun::judge(const Candidate& candidate) {
  const Comparison& c = candidate.mounted->correctness;
  if (c.good()) return;
  findings_.wrong = true;
  findings_.incorrect.push_back(
      {name_of(candidate.row.head),
       fmt::format("error {:.2e} (its type's own {:.2e}), log-sum-exp {:.2e}, {} elements not written, {} strayed",
                   c.max_error, c.reference_error, c.lse_error, c.unwritten, c.strayed)});
}

bool MeasurementRun::mount(const PlannedQuestion& question, Workbench& bench, Candidate& candidate) {
  const SweepTile& tile = candidate.planned->tile;
  const bool cycles = counts_cycles(tile.role);
  progress_.note("preparing " + report::text_of(candidate.row.head.tile));
  try {
    if (options_.resume && has_hung(hung_file(*options_.out), candidate.planned->key))
      throw CudaFailure("it hung when it was measured before");
    const PlacedDiagram placed = question.measurable->placer->place(tile.tile);
    for (const LaunchPlan& variant : variants_of(*question.kernel, placed, cycles, runtime_.device().launch_device())) {
      const auto refused = refused_.find(variant.expression);
      if (refused != refused_.end()) throw CudaFailure(refused->second);
      static_cast<void>(runtime_.kernel(variant));
    }
  } catch (const std::exception& failure) {  // the kernel has no such tile, or the compiler objects to it
    findings_.rejected.push_back({name_of(candidate.row.head), reason_of(failure.what())});
    return false;
  }
  watchdog_.watch(candidate.planned->key, name_of(candidate.row.head));
  const bool alone = !question.sweep || candidate.planned == &question.tiles.front();
  candidate.mounted =
      bench.mount(tile.tile, cycles, alone ? KernelTrial::Extent::everything : KernelTrial::Extent::rows);
  watchdog_.rest();
  judge(candidate);
  return true;
}

/// Mounts every tile to be measured, and in a sweep always the pick, as the reference.
std::vector<MeasurementRun::Candidate> MeasurementRun::mount_all(const PlannedQuestion& question, Workbench& bench) {
  std::vector<Candidate> out;
  for (const PlannedTile& tile : question.tiles) {
    Candidate candidate{&tile, tile.recorded ? *tile.recorded : blank(question, tile), std::nullopt};
    const bool reference = question.sweep && out.empty();
    if ((tile.recorded && !reference) || mount(question, bench, candidate)) out.push_back(std::move(candidate));
  }
  return out;
}

void MeasurementRun::count_bytes(Workbench& bench, Candidate& candidate) {
  const std::string refused = bench.count_bytes(*candidate.mounted, candidate.row.measured);
  const std::string remark = "no counters: " + refused;
  auto& remarks = findings_.remarks;
  if (!refused.empty() && std::find(remarks.begin(), remarks.end(), remark) == remarks.end()) remarks.push_back(remark);
}

void MeasurementRun::write(const ValidationRow& row) {
  findings_.rows.push_back(row);
  findings_.rows.back().from.date = now_utc();
  if (file_ != nullptr) file_->append(report::json_of(findings_.rows.back()));
}

/// Waits until the card's clock settles: after idling it swings about its power limit by 2 % before it holds it.
void MeasurementRun::settle(Workbench& bench, const Candidate& reference) {
  constexpr double further = 0.25;  // mounting a further sweep's tiles is a short rest
  TimingPace pace = pace_of(reference);
  pace.timing.warm_up = Seconds(options_.settle * (settled_ ? further : 1));
  pace.timing.longest = Seconds(0);
  progress_.note("settling");
  static_cast<void>(bench.time(*reference.mounted, pace));
  settled_ = true;
}

/// Measures each tile once, in the seed's order, with the reference in between.
void MeasurementRun::first_pass(const PlannedQuestion& question, Workbench& bench, std::vector<Candidate>& candidates) {
  const std::vector<std::size_t> order = shuffled(candidates.size(), question.seed);
  std::vector<double> reference;
  int since = 0;
  for (const std::size_t i : order) {
    Candidate& candidate = candidates[i];
    if (candidate.planned->recorded) continue;
    if (question.sweep && since++ % reference_every == 0) {
      reference.push_back(bench.time(*candidates.front().mounted, pace_of(candidates.front())).time.value);
    }
    watchdog_.watch(candidate.planned->key, name_of(candidate.row.head));
    candidate.row.measured = bench.measure(*candidate.mounted, pace_of(candidate));
    if (options_.counters) count_bytes(bench, candidate);
    watchdog_.rest();
    write(candidate.row);
    progress_.step(report::text_of(candidate.row.head.tile));
  }
  if (reference.size() < 2) return;
  const auto [least, most] = std::minmax_element(reference.begin(), reference.end());
  findings_.remarks.push_back(fmt::format("{}: the reference tile's time moved by {:.1f}% over the sweep",
                                          *question.sweep, 100 * (*most / *least - 1)));
}

/// Measures the pick and the tiles within 8 % of the best again, interleaved; their times give the regret.
void MeasurementRun::last_pass(const PlannedQuestion& question, Workbench& bench, std::vector<Candidate>& candidates) {
  std::vector<Candidate*> close;
  for (Candidate& candidate : candidates) {
    if (is_right(candidate.row.measured)) close.push_back(&candidate);
  }
  if (close.empty()) return;
  std::sort(close.begin(), close.end(),
            [](const Candidate* a, const Candidate* b) { return a->row.measured.time < b->row.measured.time; });
  const double best = close.front()->row.measured.time;
  std::erase_if(
      close, [&](const Candidate* c) { return c->row.measured.time > near_best * best || c == &candidates.front(); });
  if (close.size() > most_last) close.resize(most_last);
  close.push_back(&candidates.front());  // the pick, last: its second row says that the sweep is whole
  std::erase_if(close, [&](Candidate* c) { return !c->mounted && !mount(question, bench, *c); });

  std::vector<Rounds> rounds(close.size());
  for (int round = 0; round < last_rounds; ++round) {
    for (const std::size_t i : shuffled(close.size(), question.seed + static_cast<std::uint64_t>(round) + 1)) {
      watchdog_.watch(close[i]->planned->key, name_of(close[i]->row.head));
      rounds[i].add(bench.time(*close[i]->mounted, pace_of(*close[i])));
      watchdog_.rest();
    }
  }
  for (std::size_t i = 0; i < close.size(); ++i) {
    rounds[i].put(close[i]->row.measured);
    write(close[i]->row);
  }
}

void MeasurementRun::measure(const PlannedQuestion& question) {
  TrialOptions trial;
  trial.rows = options_.rows;
  trial.seed = question.seed + 1;
  trial.threads = static_cast<int>(std::min<std::int64_t>(options_.jobs, 64));
  Workbench bench(runtime_, *question.measurable, *question.kernel, question.tiles.front().tile.tile, trial);
  std::vector<Candidate> candidates = mount_all(question, bench);
  if (candidates.empty() || (question.sweep && !candidates.front().mounted)) return;
  if (question.sweep) settle(bench, candidates.front());
  first_pass(question, bench, candidates);
  const bool with_pick = candidates.front().planned == &question.tiles.front();
  if (question.sweep && with_pick) last_pass(question, bench, candidates);
  if (question.sweep && !with_pick) findings_.remarks.push_back(*question.sweep + ": the pick does not run: no regret");
}

bool MeasurementRun::run(const PlannedQuestion& question) {
  if (question.finished) return true;
  if (!question.nothing.empty()) {
    findings_.remarks.push_back(question.nothing);
    findings_.wrong = true;
    return true;
  }
  try {
    measure(question);
  } catch (const CudaFailure& failure) {
    findings_.remarks.push_back(std::string("stopped: ") + failure.what() +
                                ": the rows so far are kept; --resume goes on");
    findings_.wrong = true;
    return false;
  }
  return true;
}

}  // namespace napkin::internal::cli
