#include "model/clock/run/period.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "model/clock/run/simulation.hpp"

namespace napkin::internal {
namespace {

/// Iterations of a run that does not settle, and the iteration from which its steady part is read. Their difference is
/// a whole number of turns of any cycle with up to four tokens.
constexpr int run_length = 72, settled = most_to_settle;

/// Runs a block of so many iterations alone, and one more after two others.
BlockRun run_blocks(Simulation& simulation, int iterations, CutIterations cut = {}) {
  const Simulation::FirstBlocks run = simulation.first_blocks(iterations, cut);
  const auto of = [](const std::array<double, 3>& ends) { return BlockClocks{ends[0], ends[2] - ends[1]}; };
  return {of(run.clocks), iterations, run.least, run.turn, of(run.more)};
}

/// Returns the clocks of a block's work outside its loop, one node after the other.
double once_clocks(const EventGraph& graph) {
  double sum = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const EventNode& node = graph.nodes[n];
    if (node.phase != Phase::loop) sum += node.clocks * graph.instances[n] + node.latency;
  }
  return sum;
}

/// Returns the length from which another iteration adds the steady clocks to any block: the steady state is reached,
/// and the neighbours' single work fits. May lie whole turns below `settled`.
int iterations_to_settle(const EventGraph& graph, const SteadyIteration& steady) {
  const double least = steady.iterations + std::ceil(once_clocks(graph) / steady.clocks);
  if (least >= settled) return settled;
  return settled - (settled - static_cast<int>(least)) / steady.turn * steady.turn;
}

SteadyIteration steady_iteration(Simulation& simulation, const EventGraph& graph) {
  const Simulation::Steady found = simulation.steady(run_length);
  SteadyIteration out{found.clocks, found.iterations, found.turn, 0, 0, settled};
  if (found.turn > 0) {
    out.settled = iterations_to_settle(graph, out);
  } else {
    std::swap(out.clocks, out.end);
    out.mean = std::max(out.end - once_clocks(graph), 0.0) / run_length;
  }
  return out;
}

}  // namespace

void explain(const EventGraph& graph, Period& period) {
  period.cycle = cycle_ratio(graph);
  period.contention = std::max(period.clocks - std::max(period.cycle.clocks, period.pipe.clocks), 0.0);
}

namespace {

/// Makes the period.
Period period_of(const std::shared_ptr<Simulation>& simulation, const EventGraph& graph, const SteadyIteration& steady,
                 bool explained) {
  Period out;
  out.run = std::make_shared<BlockRuns>(simulation);
  out.pipe = busiest_pipe(graph);
  out.settled = steady.settled;
  const auto of_last = [&] {  // iterations, of a block alone
    simulation->turn_to(graph);
    return (steady.end - simulation->whole(settled, 1, false).clocks) / (run_length - settled);
  };
  out.clocks = std::max(steady.turn > 0 ? steady.clocks : of_last(), out.pipe.clocks);
  out.contention = std::max(out.clocks - out.pipe.clocks, 0.0);
  if (explained) explain(graph, out);
  return out;
}

}  // namespace

Simulation& BlockRuns::turned_to(const EventGraph& graph) {
  if (simulation_ == nullptr) simulation_ = std::make_shared<Simulation>();
  simulation_->turn_to(graph);
  return *simulation_;
}

Period period(const EventGraph& graph, bool explained) {
  const auto simulation = std::make_shared<Simulation>(graph);
  const SteadyIteration steady = steady_iteration(*simulation, graph);
  return period_of(simulation, graph, steady, explained);
}

namespace {

/// Interpolates towards `other` by that share.
BlockClocks between(const BlockClocks& one, const BlockClocks& other, double share) {
  return {one.first + share * (other.first - one.first), one.next + share * (other.next - one.next)};
}

/// The clocks of a first block and of a following one, from the runs that a period keeps.
class Runs {
 public:
  /// Prepares the runs of a graph; without a graph only known runs are used.
  Runs(const EventGraph* graph, const Period& period) : g_(graph), p_(period) {}

  /// Returns a block's clocks; beyond the settling length it adds the period, as a block with cut iterations settles
  /// like one without.
  [[nodiscard]] BlockClocks of(double iterations, CutIterations cut) {
    cut.first = at_most(iterations, cut.first);
    cut.last = at_most(iterations - cut.first, cut.last);
    const int n = at_most(iterations, p_.settled + cut.first + cut.last);
    const double beyond = (iterations - n) * p_.clocks;
    const BlockClocks known = of_run(n, cut);
    return {known.first + beyond, known.next + beyond};
  }
  [[nodiscard]] bool missed() const { return missed_; }

 private:
  /// Returns a block's clocks from the longest run that covers its length; below that run's range, from a straight line
  /// to a run of a few iterations.
  BlockClocks of_run(int n, CutIterations cut) {
    const int few = few_iterations + cut.all();
    if (n <= few) return run(n, cut).clocks;
    for (int from = p_.settled + cut.all();;) {
      const BlockRun& far = run(from, cut);
      if (missed_ || far.serves(n)) return far.of(n);
      const int other = from - (from - n) % far.turn;
      if (other == from) {
        const int least = from - (from - far.least) / far.turn * far.turn;
        const BlockClocks shortest = far.of(least);
        return between(run(few, cut).clocks, shortest, static_cast<double>(n - few) / (least - few));
      }
      from = other;
    }
  }

  /// Runs a block of that length if it is new. Valid until the next call.
  const BlockRun& run(int n, CutIterations cut) {
    static const BlockRun none;
    const BlockRun* known = p_.run->find(n, cut);
    if (known != nullptr) return *known;
    missed_ = missed_ || g_ == nullptr;
    return missed_ ? none : p_.run->add(run_blocks(p_.run->turned_to(*g_), n, cut), cut);
  }

  /// Returns the lesser of `iterations`, which is whole and may exceed an int, and n.
  static int at_most(double iterations, int n) { return iterations < n ? static_cast<int>(iterations) : n; }

  const EventGraph* g_;
  const Period& p_;
  bool missed_ = false;
};

CutIterations whole(const CutChunks& cut, double (*round)(double)) {
  return {static_cast<int>(round(std::min(cut.first, BlockRuns::most_cut))),
          static_cast<int>(round(std::min(cut.last, BlockRuns::most_cut)))};
}

BlockClocks blocks_between(Runs& runs, const MeanBlock& block) {
  const BlockClocks fewer = runs.of(block.iterations, block.fewer);
  const BlockClocks longer = block.rest > 0 ? runs.of(block.iterations + 1, block.fewer) : fewer;
  const BlockClocks more = block.more.all() > block.fewer.all() ? runs.of(block.iterations, block.more) : fewer;
  return between_blocks(block, fewer, longer, more);
}

}  // namespace

MeanBlock mean_block(double iterations, CutChunks cut) {
  MeanBlock out{std::max(std::floor(iterations), 1.0), 0, whole(cut, std::floor), whole(cut, std::ceil), 0};
  out.rest = iterations - out.iterations;
  if (const int apart = out.more.all() - out.fewer.all(); apart > 0)
    out.share = (cut.all() - out.fewer.first - out.fewer.last) / apart;
  return out;
}

BlockClocks block_clocks(const EventGraph& graph, const Period& period, double iterations, CutChunks cut) {
  Runs runs(&graph, period);
  return blocks_between(runs, mean_block(iterations, graph.has_cut_work() ? cut : CutChunks{}));
}

BlockClocks ends_of_blocks(const EventGraph& graph, const Period& period) {
  const BlockClocks whole = block_clocks(graph, period, period.settled);
  return {whole.first - period.settled * period.clocks, whole.next - period.settled * period.clocks};
}

BlockClocks between_blocks(const MeanBlock& block, BlockClocks fewer, BlockClocks longer, BlockClocks more) {
  BlockClocks out = block.rest > 0 ? between(fewer, longer, block.rest) : fewer;
  if (block.more.all() > block.fewer.all()) {
    const BlockClocks cut_more = between(fewer, more, block.share);
    out = {out.first + cut_more.first - fewer.first, out.next + cut_more.next - fewer.next};
  }
  return out;
}

std::optional<BlockClocks> known_block_clocks(const Period& period, double iterations, CutIterations cut) {
  Runs runs(nullptr, period);
  const BlockClocks out = runs.of(iterations, cut);
  return runs.missed() ? std::nullopt : std::optional(out);
}

double block_clocks_at_least(const Period& period, double iterations, double cut) {
  const double steady = std::max(iterations - (period.settled + cut), 0.0);
  return (iterations - steady) * period.pipe.clocks + steady * period.clocks;
}

Periods::Periods() : simulation_(std::make_shared<Simulation>()) {}
Periods::~Periods() = default;

namespace {

/// Hashes the names of nodes and pipes, which explanations quote, to a whole number that a double holds.
double names_of(const EventGraph& graph) {
  std::uint64_t hash = 1;
  const auto add = [&](const std::string& name) {
    hash = (hash ^ std::hash<std::string>()(name)) * 0x9E3779B97F4A7C15U;
  };
  for (const EventNode& node : graph.nodes) add(node.name);
  for (const VectorPipe& pipe : graph.pipes) add(pipe.name);
  return static_cast<double>(hash >> 12U);
}

/// Mixes numbers into 64 bits: both halves of a product of 128 bits after each number.
std::uint64_t mixed(const std::vector<double>& numbers, std::uint64_t seed) {
  __extension__ using Wide = unsigned __int128;
  std::uint64_t hash = seed ^ numbers.size();
  for (const double number : numbers) {
    const Wide product = Wide{hash ^ std::bit_cast<std::uint64_t>(number)} * (seed | 1U);
    hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
    hash = (hash << 23U | hash >> 41U) + seed;
  }
  return hash;
}
Periods::Digest mixed(const std::vector<double>& numbers) {
  return {mixed(numbers, 0x9E3779B97F4A7C15U), mixed(numbers, 0xD1B54A32D192ED03U)};
}

}  // namespace

/// Digests the graph's content without the delays that set_tokens() sets. For the run of a single block it takes those
/// delays too, but of the edges into the next block only the longest.
Periods::Digest Periods::digest_of_content(const EventGraph& graph, bool one_block) {
  numbers_.assign(1, static_cast<double>(graph.tensor_queue));
  if (!one_block) numbers_.push_back(names_of(graph));
  for (const VectorPipe& pipe : graph.pipes) pipe.say(numbers_);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const EventNode& n = graph.nodes[i];
    numbers_.insert(numbers_.end(),
                    {static_cast<double>(n.kind), static_cast<double>(n.phase), static_cast<double>(graph.instances[i]),
                     n.clocks, n.latency, n.idle, n.port, static_cast<double>(n.instructions),
                     n.round_robin ? 1.0 : 0.0, static_cast<double>(n.engine)});
    numbers_.insert(numbers_.end(), n.demand.begin(), n.demand.end());
    if (one_block) continue;  // whose iterations are not cut
    numbers_.insert(numbers_.end(), {n.cut_clocks, n.first_latency});
    numbers_.insert(numbers_.end(), n.cut_demand.begin(), n.cut_demand.end());
  }
  int reach = 0, beyond = 0;  // the longest delay of the edges in the loop, and of the edges left out
  for (const EventEdge& e : graph.edges) {
    const bool loop = graph.node(e.from).phase == Phase::loop && graph.node(e.to).phase == Phase::loop;
    if (one_block && !loop && e.delay > 0) {
      beyond = std::max(beyond, e.delay);
      continue;
    }
    const bool is_set = !one_block && e.tokens >= 0;
    if (!is_set) reach = std::max(reach, e.delay);
    numbers_.insert(numbers_.end(), {static_cast<double>(e.from), static_cast<double>(e.to),
                                     is_set ? NAN : static_cast<double>(e.delay), static_cast<double>(e.agents),
                                     (e.barrier ? 1.0 : 0.0) + (e.in_order ? 2.0 : 0.0), static_cast<double>(e.after),
                                     e.latency, static_cast<double>(e.ahead)});
  }
  numbers_.push_back(std::max(reach, beyond));
  return mixed(numbers_);
}

Periods::Digest Periods::digest_of(const EventGraph& graph, const Digest& but_tokens) {
  numbers_.assign({std::bit_cast<double>(but_tokens.high), std::bit_cast<double>(but_tokens.low)});
  for (const EventEdge& e : graph.edges) {
    if (e.tokens >= 0) numbers_.push_back(e.delay);
  }
  return mixed(numbers_);
}

Periods::Known& Periods::find_or_make(const EventGraph& graph) {
  const Digest digest = digest_of(graph);
  const auto known = known_.find(digest);
  if (known != known_.end()) return known->second;
  return known_.emplace(digest, Known{period_of(simulation_, graph, steady(graph), false), false}).first->second;
}

const Period& Periods::of(const EventGraph& graph) { return find_or_make(graph).period; }

const Period& Periods::explained(const EventGraph& graph) {
  Known& known = find_or_make(graph);
  if (!known.explained) explain(graph, known.period);
  known.explained = true;
  return known.period;
}

const SteadyIteration& Periods::steady(const EventGraph& graph) {
  const Digest digest = digest_of_content(graph, true);
  const auto known = steady_.find(digest);
  if (known != steady_.end()) return known->second;
  simulation_->turn_to(graph);
  return steady_.emplace(digest, steady_iteration(*simulation_, graph)).first->second;
}

std::size_t Periods::bytes() const {
  constexpr std::size_t simulation = std::size_t{1} << 18U, links = 4 * sizeof(void*);
  std::size_t sum = simulation + steady_.size() * (sizeof *steady_.begin() + links);
  for (const auto& one : known_) {
    const Period& period = one.second.period;
    sum += sizeof one + 2 * links + sizeof(BlockRuns) + period.run->size() * sizeof(BlockRuns::Kept);
    sum += period.cycle.nodes.size() * sizeof(std::string);
  }
  return sum;
}

}  // namespace napkin::internal
