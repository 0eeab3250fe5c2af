#include "apps/report/diagram/lanes.hpp"

#include <algorithm>
#include <numeric>

namespace napkin::internal::report {
namespace {

/// The bundles that a function touches, before lanes are ordered.
struct Reach {
  int column = 0;
  std::vector<int> bundles;
};

std::vector<Reach> reaches_of(const ColumnDiagram& diagram) {
  std::vector<Reach> out;
  for (std::size_t i = 0; i < diagram.columns.size(); ++i) {
    for (const ColumnFunction& f : diagram.columns[i].functions) {
      Reach reach{static_cast<int>(i), f.outputs};
      for (const auto& in : f.inputs) reach.bundles.push_back(in.bundle);
      out.push_back(reach);
    }
  }
  return out;
}

/// Returns the bundle whose lane the bundle takes over: the first operand of the function that makes it.
int heir_of(const ColumnDiagram& diagram, int bundle) {
  for (const DiagramColumn& column : diagram.columns) {
    for (const ColumnFunction& f : column.functions) {
      if (f.updates || f.outputs.empty() || f.outputs.front() != bundle) continue;
      for (const auto& in : f.inputs) {
        if (!in.stays) return in.bundle;
      }
    }
  }
  return -1;
}

std::vector<int> shared_lanes(const ColumnDiagram& diagram) {
  std::vector<int> lane_of(diagram.bundles.size(), -1), free_from;
  for (std::size_t i = 0; i < diagram.bundles.size(); ++i) {
    const Bundle& b = diagram.bundles[i];
    const int heir = heir_of(diagram, static_cast<int>(i));
    int lane = -1;
    if (heir >= 0 && heir < static_cast<int>(i) && free_from[at(lane_of[at(heir)])] <= b.first)
      lane = lane_of[at(heir)];
    if (lane < 0 && heir >= 0) {
      for (std::size_t l = 0; lane < 0 && l < free_from.size(); ++l) {
        if (free_from[l] < b.first) lane = static_cast<int>(l);
      }
    }
    if (lane < 0) {
      lane = static_cast<int>(free_from.size());
      free_from.push_back(0);
    }
    lane_of[i] = lane;
    free_from[at(lane)] = b.last;
  }
  return lane_of;
}

/// Returns the cost of an order of lanes: the sum of the lanes that functions span, and of the bundles that they cross.
int cost_of(const ColumnDiagram& diagram, const std::vector<Reach>& reaches, const std::vector<int>& lane_of,
            const std::vector<int>& place_of) {
  int cost = 0;
  for (const Reach& reach : reaches) {
    int low = 1 << 20, high = -1;
    for (const int b : reach.bundles) {
      low = std::min(low, place_of[at(lane_of[at(b)])]);
      high = std::max(high, place_of[at(lane_of[at(b)])]);
    }
    cost += 2 * (high - low);
    for (std::size_t b = 0; b < diagram.bundles.size(); ++b) {
      const Bundle& other = diagram.bundles[b];
      const int place = place_of[at(lane_of[b])];
      if (other.first < reach.column && other.last > reach.column && place > low && place < high) cost += 5;
    }
  }
  return cost;
}

}  // namespace

std::vector<int> lanes_of(const ColumnDiagram& diagram) {
  const std::vector<int> lane_of = shared_lanes(diagram);
  const std::vector<Reach> reaches = reaches_of(diagram);
  const int lanes = lane_of.empty() ? 0 : *std::max_element(lane_of.begin(), lane_of.end()) + 1;
  std::vector<int> order(static_cast<std::size_t>(lanes)), place(order.size());
  std::iota(order.begin(), order.end(), 0);
  const auto cost = [&](const std::vector<int>& of) {
    for (std::size_t i = 0; i < of.size(); ++i) place[at(of[i])] = static_cast<int>(i);
    return cost_of(diagram, reaches, lane_of, place);
  };
  int best = cost(order);
  for (bool better = true; better;) {  // moves single lanes as long as that helps
    better = false;
    for (int from = 0; from < lanes; ++from) {
      for (int to = 0; to < lanes; ++to) {
        std::vector<int> tried = order;
        const int lane = tried[at(from)];
        tried.erase(tried.begin() + from);
        tried.insert(tried.begin() + to, lane);
        if (const int now = cost(tried); now < best) {
          best = now;
          order = tried;
          better = true;
        }
      }
    }
  }
  static_cast<void>(cost(order));
  std::vector<int> out;
  for (const int lane : lane_of) out.push_back(place[at(lane)]);
  return out;
}

}  // namespace napkin::internal::report
