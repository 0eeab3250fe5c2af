#include "model/clock/block_floor.hpp"

#include <algorithm>
#include <limits>

namespace napkin {
namespace {

void take_less(BlockClocks& least, const BlockClocks& other) {
  least.first = std::min(least.first, other.first);
  least.next = std::min(least.next, other.next);
}

BlockClocks sum(double a, const BlockClocks& x, double b, const BlockClocks& y, double c, const BlockClocks& z) {
  return {a * x.first + b * y.first + c * z.first, a * x.next + b * y.next + c * z.next};
}

BlockClocks alike(double clocks) { return {clocks, clocks}; }

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

void BlockFloor::renew(std::uint64_t found) {
  if (renewed_ == found) return;
  renewed_ = found;
  for (BlockFloor* part : parts_) part->renew(found);
}

void BlockFloor::find() {
  if (found_ == renewed_) return;
  found_ = renewed_;
  clocks_ = pipe_ = infinity;
  settled_ = 1;
  const auto take = [&](double clocks, double pipe, int settled) {
    clocks_ = std::min(clocks_, clocks);
    pipe_ = std::min(pipe_, pipe);
    settled_ = std::max(settled_, settled);
  };
  for (const GraphState* state : states_) take(state->clocks, state->pipe, state->from);
  for (BlockFloor* part : parts_) {
    part->find();
    take(part->clocks_, part->pipe_, part->settled_);
  }
}

double BlockFloor::clocks() {
  find();
  return clocks_;
}

double BlockFloor::pipe() {
  find();
  return pipe_;
}

BlockClocks BlockFloor::block(const MeanBlock& mean) {
  const Runs all = runs(mean.iterations, mean);
  const double r = mean.rest, s = mean.share;
  if (r + s <= 1) return sum(1 - r - s, all.fewer, r, all.longer, s, all.more);
  return sum(1 - r, all.more, 1 - s, all.longer, r + s - 1, all.across);
}

/// Of many iterations: those up to where all have settled, and the clocks of each one more.
BlockFloor::Runs BlockFloor::runs(double iterations, const MeanBlock& mean) {
  find();
  const int most = settled_ + std::max(mean.fewer.all(), mean.more.all());
  const int n = iterations < most ? static_cast<int>(iterations) : most;
  auto cut = std::find_if(cuts_.begin(), cuts_.end(), [&](const Cut& one) {
    return one.fewer == mean.fewer && one.more == mean.more && one.between == (mean.rest > 0);
  });
  if (cut == cuts_.end()) cut = cuts_.insert(cut, {mean.fewer, mean.more, mean.rest > 0});
  if (cut->by_iterations.size() <= static_cast<std::size_t>(n))
    cut->by_iterations.resize(static_cast<std::size_t>(n) + 1);
  Found& known = cut->by_iterations[static_cast<std::size_t>(n)];
  if (known.when != renewed_) known = {renewed_, least(n, mean)};
  Runs out = known.runs;
  const double beyond = (iterations - n) * clocks_;
  for (BlockClocks* run : {&out.fewer, &out.longer, &out.more, &out.across})
    *run = {run->first + beyond, run->next + beyond};
  return out;
}

BlockFloor::Runs BlockFloor::least(int iterations, const MeanBlock& mean) {
  const BlockClocks none = alike(infinity);
  Runs out{none, none, none, none};
  const auto take = [&](const Runs& other) {
    take_less(out.fewer, other.fewer);
    take_less(out.longer, other.longer);
    take_less(out.more, other.more);
    take_less(out.across, other.across);
  };
  for (const GraphState* state : states_) take(of(*state, iterations, mean));
  for (BlockFloor* part : parts_) take(part->runs(iterations, mean));
  return out;
}

/// As GraphState::blocks() has them: where a run that counts is not known, the bound of every iteration.
BlockFloor::Runs BlockFloor::of(const GraphState& state, int iterations, const MeanBlock& mean) {
  const double n = iterations;
  const auto by = [&](const auto& clocks) {
    return Runs{alike(clocks(n)), alike(clocks(n + 1)), alike(clocks(n)), alike(clocks(n + 1))};
  };
  if (state.period == nullptr) return by([&](double all) { return state.block(all, mean.more.all()); });
  const auto run = [&](double all, CutIterations cut) { return known_block_clocks(*state.period, {all, 0, cut, cut}); };
  const auto fewer = run(n, mean.fewer), longer = mean.rest > 0 ? run(n + 1, mean.fewer) : fewer;
  const auto more = mean.more.all() > mean.fewer.all() ? run(n, mean.more) : fewer;
  if (!fewer || !longer || !more) return by([&](double all) { return all * state.least; });
  return {*fewer, *longer, *more, sum(1, *longer, 1, *more, -1, *fewer)};
}

}  // namespace napkin
