#include "solver/optimum/multilevel.hpp"

#include <algorithm>
#include <cmath>

namespace napkin::internal {
namespace {

/// Returns the next ordinary level below position i.
std::size_t child_of(std::span<const MemoryLevel> levels, std::size_t i) {
  for (std::size_t c = i + 1; c < levels.size(); ++c) {
    if (levels[c].kind == LevelKind::ordinary) return c;
  }
  throw Error("optimum", "level '" + levels[i].name + "' has no ordinary level below it",
              "a level that holds its data");
}

/// Returns the cross-transfer level that serves ordinary level c, which is directly above it; null if there is none.
const MemoryLevel* cross_of(std::span<const MemoryLevel> levels, std::size_t c) {
  return c > 0 && levels[c - 1].kind == LevelKind::cross_transfer ? &levels[c - 1] : nullptr;
}

double level_memory(const Machine& machine, LevelId id) {
  const Level& level = machine.levels[static_cast<std::size_t>(id)];
  if (level.per_block) return level.per_block->value;
  return level.capacity.known() ? level.capacity.best().value : 0;
}

LevelId cross_level(const Machine& machine) {
  const LevelId parent = machine.levels[static_cast<std::size_t>(machine.compute)].parent;
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    if (machine.levels[i].kind == LevelKind::cross_transfer && machine.levels[i].parent == parent) {
      return static_cast<LevelId>(i);
    }
  }
  return -1;
}

double pipe_weight(const Machine& machine, LevelId level, Hertz clock, double value_bytes, Count cluster) {
  const Pipe* pipe = machine.pipe_into(level);
  const double rate = pipe == nullptr ? 0 : bytes_per_second(machine, *pipe, clock, cluster);
  if (!(rate > 0)) {
    throw Error(machine.name, "no bandwidth into level '" + machine.levels[static_cast<std::size_t>(level)].name + "'",
                "a pipe with bandwidth");
  }
  return value_bytes / rate;
}

/// Returns sum_t alpha_t M^-beta_t (1 - N^-beta_t).
double relieved(std::span<const PowerTerm> terms, double memory, double n) {
  double sum = 0;
  for (const PowerTerm& t : terms) sum += t.alpha * std::pow(memory, -t.beta) * (1 - std::pow(n, -t.beta));
  return sum;
}

/// Enumerates factors of axis `axis` and later ones with the room that is left.
void factor(std::size_t axis, std::int64_t room, const std::function<void()>& visit, std::vector<Count>& factors) {
  if (axis == factors.size()) return visit();
  for (std::int64_t n = 1; n <= room; ++n) {
    factors[axis] = n;
    factor(axis + 1, room / n, visit, factors);
  }
}

}  // namespace

TransferLaw power_law(std::vector<PowerTerm> terms) {
  return [terms = std::move(terms)](double memory) {
    double sum = 0;
    for (const PowerTerm& t : terms) sum += t.alpha * std::pow(memory, -t.beta);
    return sum;
  };
}

TransferLaw optimum_law(GeometricProgram program) {
  return [program = std::move(program)](double memory) { return closed_form(program, memory).transfer; };
}

std::vector<EffectiveLevel> effective_levels(std::span<const MemoryLevel> levels) {
  // Weight and memory of each level; c is the next ordinary level below it.
  //   ordinary        w,             M
  //   cache           w,             N_max M_c     (Theorem 2: outputs stay in the N children; caption: erratum P8)
  //   cross-transfer  w_c - w,       N_max M_c     (Theorem 3); level c then weighs w, not w_c
  std::vector<EffectiveLevel> result;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const MemoryLevel& level = levels[i];
    if (level.kind == LevelKind::ordinary) {
      const MemoryLevel* cross = cross_of(levels, i);
      result.push_back({level.name, cross != nullptr ? cross->weight : level.weight, level.memory});
    } else {
      const MemoryLevel& child = levels[child_of(levels, i)];
      const bool crosses = level.kind == LevelKind::cross_transfer;
      result.push_back(
          {level.name, crosses ? child.weight - level.weight : level.weight, level.children * child.memory});
    }
  }
  return result;
}

MultiLevelCost multilevel_cost(const TransferLaw& law, std::span<const MemoryLevel> levels, double compute_time) {
  MultiLevelCost cost;
  for (const EffectiveLevel& level : effective_levels(levels)) {
    const double transfer = law(level.memory);
    cost.shares.push_back({level, transfer, level.weight * transfer});
    cost.sum += cost.shares.back().cost;
  }
  cost.slowest = compute_time;
  cost.bound = "compute";
  for (std::size_t i = 0; i < levels.size(); ++i) {
    double transfer = cost.shares[i].transfer;
    // A child gets from its siblings what they fetched; its own pipe carries only what it fetches itself.
    if (levels[i].kind == LevelKind::cross_transfer) {
      transfer = cost.shares[child_of(levels, i)].transfer - transfer;
    } else if (cross_of(levels, i) != nullptr) {
      transfer = cost.shares[i - 1].transfer;
    }
    cost.pipes.push_back({levels[i].name, transfer, transfer * levels[i].weight});
    if (cost.pipes.back().cost > cost.slowest) {
      cost.slowest = cost.pipes.back().cost;
      cost.bound = levels[i].name;
    }
  }
  return cost;
}

std::vector<MemoryLevel> memory_levels_of(const Machine& machine, Hertz clock, double value_bytes, Count cluster,
                                          double memory) {
  std::vector<LevelId> path;
  for (LevelId l = machine.compute; l > 0; l = machine.levels[static_cast<std::size_t>(l)].parent) path.push_back(l);
  std::reverse(path.begin(), path.end());
  const LevelId cross = cross_level(machine);
  std::vector<MemoryLevel> result;
  for (LevelId l : path) {
    const Level& level = machine.levels[static_cast<std::size_t>(l)];
    MemoryLevel m{level.name, level.kind, pipe_weight(machine, l, clock, value_bytes, 1), level_memory(machine, l), 1};
    if (l == machine.compute && memory > 0) m.memory = memory;
    if (level.kind == LevelKind::cache) {
      m.children = static_cast<double>(machine.nodes(machine.compute)) / static_cast<double>(machine.nodes(l));
    } else if (!(m.memory > 0)) {
      throw Error(machine.name, "the capacity of level '" + level.name + "' is not known", "its memory in bytes");
    }
    m.memory /= value_bytes;
    if (l == machine.compute && cluster > 1 && cross >= 0) {
      const double weight = pipe_weight(machine, cross, clock, value_bytes, cluster);
      const std::string& name = machine.levels[static_cast<std::size_t>(cross)].name;
      result.push_back({name, LevelKind::cross_transfer, weight, 0, static_cast<double>(cluster)});
    }
    result.push_back(m);
  }
  return result;
}

Quantisation quantisation(std::span<const PowerTerm> terms, std::span<const EffectiveLevel> levels, double from,
                          double to) {
  Quantisation result;
  double before = 0, after = 0;
  for (const PowerTerm& t : terms) {
    double shared = 0;
    for (const EffectiveLevel& l : levels) shared += t.alpha * l.weight * std::pow(l.memory, -t.beta);
    before += shared * std::pow(from, 1 + t.beta);
    after += shared * std::pow(to, 1 + t.beta);
    result.terms.emplace_back(t.beta, std::pow(from / to, 1 + t.beta));
  }
  result.gain = before / after;
  return result;
}

NestedFactors nested_factors(Count n_max, const std::vector<AxisSet>& lacks, const std::vector<double>& shares,
                             int axes) {
  if (n_max < 1 || n_max > (1 << 20) || lacks.size() != shares.size() || axes < 1) {
    throw Error("optimum", "no factorisation of " + std::to_string(n_max.get()) + " children", "1 to 1048576 of them");
  }
  // Real optimum: all terms shrink by one factor, N^-kappa, kappa = the shares that lack one axis (theorem (ii)).
  double kappa = 0;
  for (std::size_t t = 0; t < lacks.size(); ++t) kappa += (lacks[t] & 1U) != 0 ? shares[t] : 0;
  NestedFactors best;
  double least = INFINITY;
  std::vector<Count> factors(static_cast<std::size_t>(axes), 1);
  factor(
      0, n_max.get(),
      [&] {
        double sum = 0;
        Count used = 1;
        for (Count n : factors) used *= n;
        for (std::size_t t = 0; t < lacks.size(); ++t) {
          double term = shares[t];
          for (std::size_t i = 0; i < factors.size(); ++i) {
            if (((lacks[t] >> i) & 1U) != 0) term /= static_cast<double>(factors[i]);
          }
          sum += term;
        }
        const bool tie = std::abs(sum - least) <= 1e-12 * sum;
        if (tie ? used < best.used : sum < least) {
          least = sum;
          best = {factors, used, 0};
        }
      },
      factors);
  best.ratio = least * std::pow(static_cast<double>(n_max), kappa);
  return best;
}

ClusterChoice choose_cluster(std::span<const PowerTerm> terms, double memory, double parent_weight,
                             std::span<const ClusterOption> options) {
  ClusterChoice choice;
  double most = 0;
  for (const ClusterOption& o : options) {
    const double saving = (parent_weight - o.weight) * relieved(terms, memory, static_cast<double>(o.size));
    choice.savings.emplace_back(o.size, saving);
    if (saving > most) {
      most = saving;
      choice.size = o.size;
    }
  }
  return choice;
}

std::optional<double> cluster_switch(double parent_weight, const ClusterOption& small, const ClusterOption& large) {
  const auto difference = [&](double beta) {
    const auto saving = [&](const ClusterOption& o) {
      return (parent_weight - o.weight) * (1 - std::pow(static_cast<double>(o.size), -beta));
    };
    return saving(large) - saving(small);
  };
  double low = 1e-9, high = 4;
  if (!(difference(low) > 0) || !(difference(high) < 0)) return std::nullopt;
  while (high - low > 1e-13) {
    const double middle = (low + high) / 2;
    (difference(middle) > 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::vector<ClusterOption> cluster_options(const Machine& machine, Hertz clock, double value_bytes) {
  std::vector<ClusterOption> options;
  const LevelId cross = cross_level(machine);
  const Pipe* pipe = cross < 0 ? nullptr : machine.pipe_into(cross);
  if (pipe == nullptr) return options;
  for (const auto& [size, rate] : pipe->by_cluster_size) {
    options.push_back({size, value_bytes / bytes_per_second(machine, *pipe, clock, size)});
  }
  return options;
}

}  // namespace napkin::internal
