#include "apps/library/rank/cut.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "apps/library/question/setups.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "model/diagram/slice.hpp"
#include "solver/select/select.hpp"

namespace napkin::internal {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

std::vector<std::string> names_of(const Diagram& diagram, const std::vector<ArrayId>& arrays) {
  std::vector<std::string> names;
  for (const ArrayId id : arrays) names.push_back(diagram.arrays[static_cast<std::size_t>(id)].name);
  return names;
}

Question request_of(const Question& whole, Slice slice) {
  Question out;
  out.ask = whole.ask;
  out.ask.tile.clear();
  out.diagram = std::make_shared<const Diagram>(std::move(slice.diagram));
  out.machine = whole.machine;
  out.problem = std::move(slice.problem);
  out.setups.push_back(ideal_setup(out));
  return out;
}

/// A run of operations as a launch: the bytes that it moves through device memory, and whether a tile of it is legal.
class Segment {
 public:
  Segment(const Question& whole, OpId first, OpId last)
      : question_(request_of(whole, slice_of(*whole.diagram, whole.problem, first, last))) {
    const Diagram& diagram = *question_.diagram;
    for (const std::vector<ArrayId>* arrays : {&diagram.inputs, &diagram.outputs}) {
      for (const ArrayId id : *arrays)
        values_ += real(volume(diagram.arrays[static_cast<std::size_t>(id)], question_.problem.sizes).value);
    }
  }
  [[nodiscard]] double values() const { return fits_ == false ? none : values_; }
  [[nodiscard]] bool fits() {
    if (!fits_) {
      const Setup& setup = question_.setups.front();
      fits_ = place(placer_of(setup), least_illegal(setup)).violations.empty();
      if (!*fits_) give_back();
    }
    return *fits_;
  }
  /// Counts the operations whose results lack a grouped axis, so that each of its groups computes them again.
  [[nodiscard]] std::ptrdiff_t computed_again() const {
    const Streamed& streamed = *question_.setups.front().streamed;
    const Diagram& diagram = streamed.diagram;
    const auto lacks = [&](ArrayId id) {
      const Array& array = diagram.arrays[static_cast<std::size_t>(id)];
      for (std::size_t a = 0; a < streamed.roles.size(); ++a) {
        const bool divided = streamed.roles[a] == AxisRole::group && question_.problem.sizes[a] > Count(1);
        if (divided && !array.has(static_cast<AxisId>(a))) return true;
      }
      return false;
    };
    return std::count_if(diagram.operations.begin(), diagram.operations.end(),
                         [&](const Operation& op) { return std::any_of(op.outputs.begin(), op.outputs.end(), lacks); });
  }
  /// Computes the bytes that the segment's best tile moves into its block's level.
  [[nodiscard]] double transfer() {
    const auto home = question_.machine->levels[static_cast<std::size_t>(question_.machine->compute)].name;
    for (const LevelAnswer& level : launch().levels) {
      if (level.name == home) return static_cast<double>(level.transfer);
    }
    return 0;
  }
  [[nodiscard]] const LaunchAnswer& launch() {
    if (!launch_) {
      launch_ = made();
      give_back();
    }
    return *launch_;
  }

 private:
  /// Frees the tables of the segment that was answered, as further segments may need the memory.
  void give_back() { question_.setups.front().workspace = make_workspace(); }
  [[nodiscard]] LaunchAnswer made() const {
    const Setup& setup = question_.setups.front();
    const Diagram& diagram = *question_.diagram;
    LaunchAnswer out;
    out.inputs = names_of(diagram, diagram.inputs);
    out.outputs = names_of(diagram, diagram.outputs);
    const Tile tile = best_tile(setup).value_or(least_illegal(setup));
    const PlacedDiagram placed = placer_of(setup).place(tile);
    out.tile = values_of(*setup.mapping, tile);
    out.predicted = bound_of(placed);
    out.levels = levels_of(placed, out.predicted ? Hertz(out.predicted->clock) : clock_of(*question_.machine));
    return out;
  }

  Question question_;
  double values_ = 0;
  std::optional<bool> fits_;
  std::optional<LaunchAnswer> launch_;
};

using Chain = std::vector<Segment*>;

/// All runs of operations, by where they begin and end.
class Segments {
 public:
  explicit Segments(const Question& whole) : count_(whole.diagram->operations.size()) {
    for (std::size_t from = 0; from < count_; ++from) {
      all_.emplace_back();
      for (std::size_t to = from; to < count_; ++to)
        all_.back().emplace_back(whole, static_cast<OpId>(from), static_cast<OpId>(to));
    }
  }
  /// Finds the chains of segments from the first operation to the last that move least through device memory, and of
  /// these the fewest segments. Skips segments known not to fit. Empty: there is none.
  [[nodiscard]] std::vector<Chain> least() {
    std::vector<Cost> costs(count_ + 1, {none, 0});  // costs of the operations from an index on
    costs.back() = {0, 0};
    for (std::size_t from = count_; from-- > 0;) {
      for (std::size_t end = from + 1; end <= count_; ++end)
        costs[from] = std::min(costs[from], with(of(from, end), costs[end]));
    }
    std::vector<Chain> chains;
    Chain chain;
    if (costs.front().first < none) follow(0, costs, chain, chains);
    return chains;
  }

 private:
  using Cost = std::pair<double, std::size_t>;  // values and segments
  static constexpr std::size_t most_chains = 64;

  [[nodiscard]] Segment& of(std::size_t from, std::size_t end) { return all_[from][end - 1 - from]; }
  [[nodiscard]] static Cost with(const Segment& segment, const Cost& rest) {
    return {segment.values() + rest.first, rest.second + 1};
  }
  void follow(std::size_t from, const std::vector<Cost>& costs, Chain& chain, std::vector<Chain>& chains) {
    if (from == count_) chains.push_back(chain);
    for (std::size_t end = from + 1; end <= count_ && chains.size() < most_chains; ++end) {
      if (with(of(from, end), costs[end]) > costs[from]) continue;
      chain.push_back(&of(from, end));
      follow(end, costs, chain, chains);
      chain.pop_back();
    }
  }

  std::size_t count_;
  std::vector<std::vector<Segment>> all_;
};

std::ptrdiff_t computed_again(const Chain& chain) {
  std::ptrdiff_t sum = 0;
  for (const Segment* segment : chain) sum += segment->computed_again();
  return sum;
}

double transfer_of(const Chain& chain) {
  double sum = 0;
  for (Segment* segment : chain) sum += segment->transfer();
  return sum;
}

}  // namespace

namespace {

/// A run of operations in one launch: bytes through device memory, each array once, and the time that no mapping goes
/// below; nothing where device memory feeds no cache that serves all nodes.
struct OnceMoved {
  std::int64_t transfer = 0;
  std::optional<double> time;
};
std::optional<OnceMoved> once_moved(const Question& whole, OpId first, OpId last) {
  const Question question = request_of(whole, slice_of(*whole.diagram, whole.problem, first, last));
  const Setup& setup = question.setups.front();
  Tile any;  // bytes through a level of one group are those of any tile
  for (const Knob& knob : setup.mapping->knobs) any.values.push_back(knob.domain.front());
  const PlacedDiagram placed = placer_of(setup).place(any);
  const std::vector<LevelAnswer> levels = levels_of(placed, clock_of(*question.machine), Rereads::none);
  if (levels.empty() || levels.front().groups != 1) return std::nullopt;
  const auto bound = bound_of(placed);
  return OnceMoved{levels.front().transfer, bound ? std::optional(bound->time) : std::nullopt};
}

}  // namespace

std::optional<UnfusedAnswer> unfused_of(const Question& question) {
  const auto count = static_cast<OpId>(question.diagram->operations.size());
  if (question.abstract() || count < 2 || !question.problem.packing.sequences.empty()) return std::nullopt;
  const auto fused = once_moved(question, 0, count - 1);
  if (!fused) return std::nullopt;
  UnfusedAnswer out{count, 0, fused->transfer, 0.0, fused->time};
  for (OpId op = 0; op < count; ++op) {
    const auto one = once_moved(question, op, op);
    if (!one) return std::nullopt;
    out.transfer += one->transfer;
    if (out.time) out.time = one->time ? std::optional(*out.time + *one->time) : std::nullopt;
  }
  return out;
}

bool may_be_cut(const Question& question) {
  return question.setups.front().ideal && !question.abstract() && question.ask.tile.empty() &&
         question.problem.packing.sequences.empty() && question.diagram->operations.size() > 1;
}

std::vector<LaunchAnswer> cut_of(const Question& question) {
  Segments segments(question);
  std::vector<LaunchAnswer> launches;
  const auto fits = [](const Chain& chain) {
    return std::all_of(chain.begin(), chain.end(), [](Segment* segment) { return segment->fits(); });
  };
  for (;;) {  // only segments of the cheapest chains are tested for a legal tile, which takes long
    std::vector<Chain> chains = segments.least();
    if (chains.empty()) return launches;
    std::erase_if(chains, [&](const Chain& chain) { return !fits(chain); });
    if (chains.empty()) continue;
    const auto best = std::min_element(chains.begin(), chains.end(), [](const Chain& a, const Chain& b) {
      if (a.size() != b.size()) return a.size() < b.size();
      const auto first = computed_again(a), second = computed_again(b);
      return first != second ? first < second : transfer_of(a) < transfer_of(b);
    });
    for (Segment* segment : *best) launches.push_back(segment->launch());
    return launches;
  }
}

std::vector<LevelAnswer> levels_of(const std::vector<LaunchAnswer>& launches) {
  std::vector<LevelAnswer> sum;
  for (const LaunchAnswer& launch : launches) {
    for (const LevelAnswer& level : launch.levels) {
      const auto same =
          std::find_if(sum.begin(), sum.end(), [&](const auto& known) { return known.name == level.name; });
      if (same == sum.end()) {
        sum.push_back(level);
        continue;
      }
      same->load += level.load;
      same->store += level.store;
      same->transfer += level.transfer;
      if (same->delivered && level.delivered) *same->delivered += *level.delivered;
      if (same->time && level.time) *same->time += *level.time;
      for (std::int64_t LevelAnswer::*most :
           {&LevelAnswer::groups, &LevelAnswer::transfer_per_group, &LevelAnswer::memory_lower_bound,
            &LevelAnswer::memory_live, &LevelAnswer::memory})
        (*same).*most = std::max((*same).*most, level.*most);
    }
  }
  return sum;
}

}  // namespace napkin::internal
