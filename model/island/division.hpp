#pragma once
// A Division says what a split moves between GPUs and what it asks of each: of ring attention over 8 GPUs, K and V to
// 7/8 into each GPU, and in each of 8 steps one launch of a kernel. Bytes follow from the transfer rule with the GPUs
// as groups, less what each has already (cross transfer, the paper's Theorem 3). (model/README.md, "Several GPUs")

#include <array>
#include <string>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/island/split.hpp"

namespace napkin {

/// Which parts a GPU has of an axis that is cut: GPU r of p, part r of p; zigzag, parts r and 2p - 1 - r of 2p.
enum class PartOrder { contiguous, zigzag };
[[nodiscard]] std::string_view name_of(PartOrder order);

struct Division {
  Split split;
  Problem problem;  ///< of all GPUs together; Split::diagram's sizes
  std::int64_t gpus = 1;
  PartOrder order = PartOrder::contiguous;

  /// How many parts an axis is cut into, and which of them a GPU has, in ascending order.
  [[nodiscard]] std::int64_t cuts() const { return order == PartOrder::zigzag ? 2 * gpus : gpus; }
  [[nodiscard]] std::vector<std::int64_t> parts_of(std::int64_t gpu) const;
  [[nodiscard]] bool masked() const { return problem.mask.kind != Mask::Kind::none; }
};

/// Throws Error at `where` for sizes that do not divide, for masks that the split cannot deal out, for zigzag without
/// a causal mask and a stream.
void check(const Division& division, const std::string& where);

/// How an array travels.
enum class Carrier { none, ring, all_to_all, all_gather, reduce_scatter, all_reduce };
[[nodiscard]] std::string_view name_of(Carrier carrier);

struct Moved {
  ArrayId array = 0;
  Carrier by = Carrier::none;
  bool after = false;  ///< the work: an output
  Bytes at_home;       ///< what a GPU has of it before (of an output: after)
  Bytes received;      ///< into each GPU; the all-reduce's: of all GPUs, divided by them, rounded up
  Bytes all;           ///< into all GPUs together
};
/// Every input and output, in the diagram's order. (eq. 20.1 to 20.4)
[[nodiscard]] std::vector<Moved> moved(const Division& division);

/// Of a GPU's device memory: every array at home and as the work needs it, a ring's blocks in so many buffers, running
/// results.
[[nodiscard]] Bytes held(const Division& division, int buffers);

/// One launch of a kernel on one GPU.
struct DeviceLaunch {
  Problem problem;
  bool operator==(const DeviceLaunch& other) const {
    return problem.sizes == other.problem.sizes && problem.mask == other.problem.mask;
  }
};

/// What the GPU launches in step t = 0, ..., p - 1 of a streamed split, on the block that began at GPU (gpu - t) mod p;
/// without a stream there is one step. Nothing where the mask hides the block from it. (eq. 20.5)
[[nodiscard]] std::vector<std::vector<DeviceLaunch>> steps_of(const Division& division, std::int64_t gpu);

/// Unmasked pairs of the mask's axes in these launches.
[[nodiscard]] Count pairs_of(const Division& division, const std::vector<std::vector<DeviceLaunch>>& steps);

}  // namespace napkin
