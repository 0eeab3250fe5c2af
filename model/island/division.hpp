#pragma once
// A Division has the bytes that a split moves between GPUs and the launches of each: for ring attention over 8 GPUs,
// 7/8 of K and V into each GPU, and one launch in each of 8 steps. Bytes follow from the transfer rule with the GPUs as
// groups, minus those that each has already (cross transfer, the paper's Theorem 3). (model/README.md, "Several GPUs")

#include <array>
#include <string>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/island/split.hpp"

namespace napkin::internal {

/// The order in which a cut axis is dealt to the GPUs: of p GPUs, GPU r has part r of p, or, with zigzag, parts r and
/// 2p - 1 - r of 2p.
enum class PartOrder { contiguous, zigzag };
[[nodiscard]] std::string_view name_of(PartOrder order);

struct Division {
  Split split;
  Problem problem;  ///< problem of all GPUs together, by the sizes of Split::diagram
  std::int64_t gpus = 1;
  PartOrder order = PartOrder::contiguous;

  /// Returns the number of parts that an axis is cut into; parts_of() lists the parts of a GPU, ascending.
  [[nodiscard]] std::int64_t cuts() const { return order == PartOrder::zigzag ? 2 * gpus : gpus; }
  [[nodiscard]] std::vector<std::int64_t> parts_of(std::int64_t gpu) const;
  [[nodiscard]] bool masked() const { return problem.mask.kind != Mask::Kind::none; }
};

/// Checks the division. Throws Error, at `where` or at the option that is wrong, for sizes that do not divide, for
/// masks that the split cannot distribute, and for zigzag without a causal mask and a stream.
void check(const Division& division, const std::string& where);

/// The operation that moves an array between GPUs.
enum class Carrier { none, ring, all_to_all, all_gather, reduce_scatter, all_reduce };
[[nodiscard]] std::string_view name_of(Carrier carrier);

struct Moved {
  ArrayId array = 0;
  Carrier by = Carrier::none;
  bool after = false;  ///< true after the work, for an output
  Bytes at_home;       ///< bytes of the array that a GPU holds before the work (of an output: after it)
  Bytes received;      ///< bytes into each GPU; all-reduce: the mean of all GPUs, rounded up
  Bytes all;           ///< bytes into all GPUs together
};
/// Returns the move of every input and output, in the diagram's order. (eq. 20.1 to 20.4)
[[nodiscard]] std::vector<Moved> moved(const Division& division);

/// Returns the bytes of device memory that a GPU holds: its part of every array (Moved::at_home), arrays as the work
/// needs them, a ring's blocks in `buffers` buffers, and running results.
[[nodiscard]] Bytes held(const Division& division, int buffers);

/// A launch of a kernel on a GPU.
struct DeviceLaunch {
  Problem problem;
  bool operator==(const DeviceLaunch& other) const {
    return problem.sizes == other.problem.sizes && problem.mask == other.problem.mask;
  }
};

/// Lists a GPU's launches in step t = 0, ..., p - 1 of a streamed split, on the block that began at GPU (gpu - t) mod
/// p; a single step without a stream. None if the mask hides the block. (eq. 20.5)
[[nodiscard]] std::vector<std::vector<DeviceLaunch>> steps_of(const Division& division, std::int64_t gpu);

/// Returns the number of unmasked pairs of the mask's axes in these launches.
[[nodiscard]] Count pairs_of(const Division& division, const std::vector<std::vector<DeviceLaunch>>& steps);

}  // namespace napkin::internal
