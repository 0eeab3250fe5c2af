#pragma once
// These functions compute the memory, the problem size and the rows of a tile from which compute units no longer wait
// for a pipe. Example: units that do 100 FLOP in the time in which one value arrives need 10,000 values of memory for a
// matrix product. (eq. 8.1 to eq. 8.3, eq. 11.1; errata P1, P20, L8)

#include <span>

#include "model/machine/machine.hpp"

namespace napkin::internal {

/// Compute and transfer rates of one pipe. `flops` in FLOP/s (2 a multiply-add), `values` in values a second.
struct Rates {
  double flops = 0;
  double values = 0;
  /// Returns Kdot / Hdot: the FLOP needed for every value moved, so that the pipe does not limit.
  [[nodiscard]] double balance() const { return flops / values; }
};

/// Returns a machine's dense peak for that type, and the rate of the pipe into `level`. Throws Error if either is
/// missing.
[[nodiscard]] Rates rates_of(const Machine& machine, LevelId level, DType type, Hertz clock);

/// The sizes from which a matmul with K = 2abc FLOP and H/K = M^-1/2 + 1/(2b) is not bound by the pipe: H/K <=
/// Hdot/Kdot.
struct MatmulMinima {
  double memory = 0;           ///< least M, values, for b -> infinity: (Kdot/Hdot)^2
  double depth = 0;            ///< least b for M -> infinity: Kdot / (2 Hdot)
  double depth_at_memory = 0;  ///< least b at the given M: 1 / (2 (Hdot/Kdot - M^-1/2)); infinity below `memory`
};
[[nodiscard]] MatmulMinima matmul_minima(const Rates& rates, double memory);

/// Returns the least M in bytes: only the accumulators fill it, so FP32 ones need twice what FP16 ones need (erratum
/// P20).
[[nodiscard]] double least_accumulator_bytes(const MatmulMinima& minima, double accumulator_bytes);

/// The sizes from which attention is not bound by the pipe: H/K = d/M + 1/(2x), K = 4 q x d. With M = 2 d g_q the first
/// term depends on g_q alone.
struct AttentionMinima {
  double rows = 0;    ///< least g_q for x -> infinity: Kdot / (2 Hdot)
  double memory = 0;  ///< M = 2 d g_q, values
  double keys = 0;    ///< least x for M -> infinity: Kdot / (2 Hdot)
};
[[nodiscard]] AttentionMinima attention_minima(const Rates& rates, double d);

/// An iteration of a streamed kernel on one processor.
struct StreamLoad {
  double bytes = 0;             ///< H_B: streamed bytes an iteration and block
  double clocks_per_row = 0;    ///< k_TC: compute clocks an iteration and row of g_q
  double processors = 0;        ///< N_SM
  double clock = 0;             ///< f_K, hertz
  double bytes_per_second = 0;  ///< B, all processors together
  double sharers = 1;           ///< blocks that share a stream through a cache (erratum L8)
};
/// Returns the least g_q with k_TC g_q / f_K >= H_B N_SM / B, that is g_q >= f_K H_B N_SM / (k_TC B). (erratum P1)
[[nodiscard]] double least_rows(const StreamLoad& load);

/// A column on the tensor units: operations and clocks a row and iteration. (eq. 11.1)
struct TensorColumn {
  double operations = 0;
  double clocks = 0;
};
/// Returns the FLOP/s of tensor units that never wait: sum operations / sum clocks * N_SM * f_K.
[[nodiscard]] double tensor_bound_rate(std::span<const TensorColumn> columns, double processors, double clock);

}  // namespace napkin::internal
