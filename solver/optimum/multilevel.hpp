#pragma once
// multilevel_cost is the optimum on several memory levels: one cost over all pipes, and the effect of element types,
// caches, cross-transfers and cluster sizes on it. (model/README.md, "Several levels"; errata P8, P9, P16, P17, P19,
// L6, L7, L9)

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/machine/machine.hpp"
#include "solver/optimum/geometric_program.hpp"

namespace napkin::internal {

/// H*(a, M) as a function of the memory M.
using TransferLaw = std::function<double(double memory)>;

/// Returns sum_t alpha_t M^-beta_t as a function of M.
[[nodiscard]] TransferLaw power_law(std::vector<PowerTerm> terms);
/// Returns the real-valued optimum in its box as a function of M, solved for each M.
[[nodiscard]] TransferLaw optimum_law(GeometricProgram program);

/// A level below the top, in the unit of the law (values or bytes).
struct MemoryLevel {
  std::string name;
  LevelKind kind = LevelKind::ordinary;
  double weight = 0;    ///< time (or energy) of a value over its own pipe: from its parent, or between nodes
                        ///< (cross-transfer)
  double memory = 0;    ///< memory of one node; not read for cache and cross-transfer
  double children = 1;  ///< nodes below a cache, or nodes that a cross-transfer level joins (N_max)
};

/// A term of the weighted sum: weight * H*(memory). (eq. 7.1)
struct EffectiveLevel {
  std::string name;
  double weight = 0;
  double memory = 0;
};

/// Converts levels, top to bottom, to effective ones (Theorems 2 and 3; see the definition). Throws Error if a cache or
/// cross-transfer level has no ordinary level below it. A negative weight marks a cross-transfer pipe slower than the
/// pipe whose load it takes (erratum L9).
[[nodiscard]] std::vector<EffectiveLevel> effective_levels(std::span<const MemoryLevel> levels);

/// The bytes that really pass over a physical pipe, and their cost.
struct PipeCost {
  std::string name;
  double transfer = 0;
  double cost = 0;
};

struct MultiLevelCost {
  struct Share {
    EffectiveLevel level;
    double transfer = 0;  ///< H*(effective memory)
    double cost = 0;      ///< weight * transfer
  };
  std::vector<Share> shares;
  double sum = 0;               ///< serial time, or energy
  std::vector<PipeCost> pipes;  ///< bytes by physical pipe; their costs add to `sum`
  double slowest = 0;           ///< time with overlap: maximum over pipes and compute
  std::string bound;            ///< the pipe of that maximum, or "compute"
};

/// Computes both objectives. A compute_time of 0 counts transfers alone.
[[nodiscard]] MultiLevelCost multilevel_cost(const TransferLaw& law, std::span<const MemoryLevel> levels,
                                             double compute_time = 0);

/// Returns a machine's levels from the top to its compute level, per value of `value_bytes`; a `cluster` > 1 adds the
/// cross-transfer level. `memory` (bytes a node) overrides the compute level's usable capacity. Throws Error if a
/// bandwidth or the memory is unknown.
[[nodiscard]] std::vector<MemoryLevel> memory_levels_of(const Machine& machine, Hertz clock, double value_bytes,
                                                        Count cluster = 1, double memory = 0);

/// The gain of fewer bytes a value: H*^B = sum_t alpha_t sum_l w_l^B (M_l^B)^-beta_t q^(1 + beta_t).
struct Quantisation {
  double gain = 1;                               ///< cost at `from` over cost at `to`, all terms (erratum P17)
  std::vector<std::pair<double, double>> terms;  ///< gain of each power alone: (beta, (from / to)^(1 + beta))
};

/// Computes the gain. Weights are per byte, memories in bytes, alpha in values; `from` and `to` are bytes a value.
[[nodiscard]] Quantisation quantisation(std::span<const PowerTerm> terms, std::span<const EffectiveLevel> levels,
                                        double from, double to);

/// The division of a parent tile among N children, n_i along axis i: Theorem 2 in whole numbers.
struct NestedFactors {
  std::vector<Count> factors;  ///< number of children along each axis; the product is at most N
  Count used;                  ///< the product
  double ratio = 1;            ///< transfers over those of a factorisation of N into equal real parts (erratum P19)
};

/// Minimises sum_t share_t prod_{i in lacks_t} 1 / n_i over prod n_i <= N. `shares` are each term's part at the
/// children's optimum (theorem (ii)'s delta_t); defaults: matmul's. Ties: smaller product, then smaller first factors.
/// Throws Error for N < 1 or N > 2^20.
[[nodiscard]] NestedFactors nested_factors(Count n_max, const std::vector<AxisSet>& lacks = {0b10, 0b01},
                                           const std::vector<double>& shares = {0.5, 0.5}, int axes = 2);

/// A cluster size that a machine offers, and the cost of a value between its nodes.
struct ClusterOption {
  Count size;
  double weight = 0;
};

/// The cluster sizes and their savings: DeltaH*(N) = (w_hc - w_xc(N)) sum_t alpha_t M_c^-beta_t (1 - N^-beta_t).
struct ClusterChoice {
  Count size = 1;  ///< best size; 1 if none saves (w_xc >= w_hc)
  std::vector<std::pair<Count, double>> savings;
};
[[nodiscard]] ClusterChoice choose_cluster(std::span<const PowerTerm> terms, double memory, double parent_weight,
                                           std::span<const ClusterOption> options);

/// Returns the exponent at which both sizes save equally; the larger size is better below it. Nothing if they do not
/// cross for 0 < beta <= 4.
[[nodiscard]] std::optional<double> cluster_switch(double parent_weight, const ClusterOption& small,
                                                   const ClusterOption& large);

/// Returns the sizes whose bandwidth the machine's cross-transfer pipe states; empty if it has none. Weights are
/// seconds a value of `value_bytes`.
[[nodiscard]] std::vector<ClusterOption> cluster_options(const Machine& machine, Hertz clock, double value_bytes);

}  // namespace napkin::internal
