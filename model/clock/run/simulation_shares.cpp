// How threads that run at the same time share the vector pipes.
#include <algorithm>

#include "model/clock/run/simulation.hpp"

namespace napkin::internal {
namespace {

constexpr std::size_t share_slots = 2048, most_kept = 6, most_demands = 1024;
constexpr int share_shift = 53;  // the table takes the highest bits of a hash

}  // namespace

/// Finds the table of shares of the graph's demands. Graphs with equal demands share it.
void Simulation::find_demands() {
  numbers_.clear();
  for (const VectorPipe& pipe : g_->pipes) pipe.say(numbers_);
  for (const EventNode& node : g_->nodes) {
    const bool shares = node.kind == NodeKind::thread;
    numbers_.insert(numbers_.end(), {static_cast<double>(node.kind), shares ? node.clocks : 0.0, node.port});
    if (!shares) continue;
    numbers_.insert(numbers_.end(), node.demand.begin(), node.demand.end());
    numbers_.push_back(node.cut_clocks);
    numbers_.insert(numbers_.end(), node.cut_demand.begin(), node.cut_demand.end());
  }
  if (known_demands_.size() >= most_demands) known_demands_.clear();
  if (known_demands_.empty()) shares_.assign(share_slots, {});
  const auto number = static_cast<std::uint32_t>(known_demands_.size() + 1);
  demands_of_graph_ = known_demands_.try_emplace(numbers_, number).first->second;
}

/// Returns the rates from the table, computed if the set of nodes is new; nullptr if the set exceeds the table's
/// entries, with the rates stored in place.
const double* Simulation::rates(std::uint64_t key) {
  if (s_.active.size() > most_kept || nodes_.size() > 254) {
    fill(s_.tensor);
    return nullptr;
  }
  Share& known = shares_[((key + demands_of_graph_) * 0x9E3779B97F4A7C15U) >> share_shift];
  if (known.key != key || known.demands != demands_of_graph_) {
    fill(s_.tensor);
    known.key = key;
    known.demands = demands_of_graph_;
    for (std::size_t k = 0; k < s_.active.size(); ++k) known.rates[k] = s_.active[k].rate;
  }
  return known.rates.data();
}

/// Computes max-min fair rates by water filling: all threads' issue rates grow at one speed until a pipe is full or the
/// node runs as fast as it does alone.
void Simulation::fill(int tensor) {
  growing_.clear();
  for (std::size_t k = 0; k < s_.active.size(); ++k) {
    s_.active[k].rate = 0;
    if (nodes_[at(s_.active[k].node)].clocks > 0) growing_.push_back(k);
  }
  room_.clear();
  at_work_.assign(g_->pipes.size(), 0);
  for (const std::size_t k : growing_) {
    const Node& node = nodes_[at(s_.active[k].node)];
    for (int d = node.demands; d < node.demands_end; ++d)
      at_work_[demands_[at(d)].pipe] += demands_[at(d)].at_work ? 1 : 0;
  }
  const EventNode* const beside = tensor >= 0 ? &g_->node(tensor) : nullptr;
  for (std::size_t p = 0; p < at_work_.size(); ++p) room_.push_back(g_->pipes[p].left_by(beside, at_work_[p]));
  while (!growing_.empty()) {
    const double grow = most_growth();
    for (const std::size_t k : growing_) {
      const Node& node = nodes_[at(s_.active[k].node)];
      const double more = grow * node.weight;
      s_.active[k].rate += more;
      for (int d = node.demands; d < node.demands_end; ++d)
        room_[demands_[at(d)].pipe] -= more * demands_[at(d)].clocks;
    }
    std::erase_if(growing_, [&](std::size_t k) { return stopped(k); });
  }
}

double Simulation::most_growth() {
  wanted_.assign(room_.size(), 0.0);
  double grow = never;
  for (const std::size_t k : growing_) {
    const Node& node = nodes_[at(s_.active[k].node)];
    for (int d = node.demands; d < node.demands_end; ++d) wanted_[demands_[at(d)].pipe] += demands_[at(d)].wanted;
    grow = std::min(grow, (1 / node.clocks - s_.active[k].rate) / node.weight);
  }
  for (std::size_t p = 0; p < room_.size(); ++p) {
    if (wanted_[p] > 0) grow = std::min(grow, std::max(room_[p], 0.0) / wanted_[p]);
  }
  return std::max(grow, 0.0);
}

bool Simulation::stopped(std::size_t k) const {
  const Node& node = nodes_[at(s_.active[k].node)];
  if (s_.active[k].rate >= (1 - tiny) / node.clocks) return true;
  return std::any_of(demands_.begin() + node.demands, demands_.begin() + node.demands_end,
                     [&](const Demand& d) { return room_[d.pipe] <= tiny; });
}

}  // namespace napkin::internal
