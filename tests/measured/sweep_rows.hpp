#pragma once
// sweeps_of reads the recorded rows of sweeps, tile by tile: the tile selected before the run took 0.5 % longer than
// the best of 40 tiles.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/measured/row.hpp"

namespace measured {

/// The newest row of each tile, and the time of the best tile.
struct Sweep {
  std::map<std::string, Json> rows;
  double best = INFINITY;
};
inline double time_of(const Json& row) { return number(row["measured"], "time"); }

inline std::map<std::string, Sweep> sweeps_of(const std::vector<Json>& rows) {
  std::map<std::string, Sweep> out;
  for (const Json& row : rows) out[row["sweep"].get<std::string>()].rows[cli::pairs(row["tile"])] = row;
  for (auto& [name, sweep] : out) {
    for (const auto& [tile, row] : sweep.rows) sweep.best = std::min(sweep.best, time_of(row));
  }
  return out;
}

/// Returns the row of the tile that had been selected before the run.
inline const Json& selected(const Sweep& sweep) {
  const auto found = std::find_if(sweep.rows.begin(), sweep.rows.end(),
                                  [](const auto& each) { return each.second["selected"].template get<bool>(); });
  REQUIRE(found != sweep.rows.end());
  return found->second;
}

struct Blind {
  /// Mean and worst of |predicted / measured - 1|, over tiles within 1.5x of the best of their sweep.
  double time = 0, worst = 0;
  int rows = 0;
};
inline Blind blind(const std::map<std::string, Sweep>& sweeps) {
  Blind out;
  for (const auto& [name, sweep] : sweeps) {
    for (const auto& [tile, row] : sweep.rows) {
      if (time_of(row) > 1.5 * sweep.best) continue;
      const double error = std::abs(number(row["predicted"], "time") / time_of(row) - 1);
      out.time = (out.time * out.rows + error) / (out.rows + 1);
      out.worst = std::max(out.worst, error);
      ++out.rows;
    }
  }
  return out;
}

/// The loss of the selected tile against the best of its sweep: the mean over sweeps, and the worst.
struct Regret {
  double mean = 0, worst = 0;
};
inline Regret regret_of(const std::map<std::string, Sweep>& sweeps) {
  Regret out;
  for (const auto& [name, sweep] : sweeps) {
    const double over = time_of(selected(sweep)) / sweep.best - 1;
    out.mean += over / static_cast<double>(sweeps.size());
    out.worst = std::max(out.worst, over);
  }
  return out;
}

/// Returns true if a committed prediction has the sweep's selected tile, and its time within 0.5 %.
inline bool was_committed(const Sweep& sweep, const std::vector<Json>& predictions) {
  const Json& pick = selected(sweep);
  return std::any_of(predictions.begin(), predictions.end(), [&](const Json& one) {
    const double ratio = number(pick["predicted"], "time") / number(one["predicted"], "time");
    return one["algorithm"] == pick["algorithm"] && cli::pairs(one["tile"]) == cli::pairs(pick["tile"]) &&
           std::abs(ratio - 1) < 0.005;
  });
}

}  // namespace measured
