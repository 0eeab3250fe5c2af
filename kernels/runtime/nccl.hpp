#pragma once
// Ranks are NCCL's ranks for the GPUs of this process, one for each. They make the calls that --emit nccl prints, such
// as send and receive between neighbours of a ring. NCCL is opened at run time.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/runtime/device.hpp"
#include "model/base/dtype.hpp"

namespace napkin::internal {

class Ranks {
 public:
  /// Makes a communicator of the machine's first GPUs. Throws CudaFailure without NCCL (libnccl.so.2 on the loader's
  /// path).
  explicit Ranks(int gpus);
  ~Ranks();
  Ranks(Ranks&&) = delete;

  /// Makes the calls in `calls` as one NCCL group; needed if one thread calls for several ranks.
  void together(const std::function<void()>& calls) const;
  void send(int rank, std::uint64_t from, std::int64_t count, DType type, int to, Stream stream) const;
  void receive(int rank, std::uint64_t to, std::int64_t count, DType type, int from, Stream stream) const;
  /// Gathers `count` elements from each rank into `to`.
  void all_gather(int rank, std::uint64_t from, std::uint64_t to, std::int64_t count, DType type, Stream stream) const;
  /// Adds the ranks' arrays, and leaves `count` elements of the sum on each rank.
  void reduce_scatter(int rank, std::uint64_t from, std::uint64_t to, std::int64_t count, DType type,
                      Stream stream) const;
  void all_reduce(int rank, std::uint64_t at, std::int64_t count, DType type, Stream stream) const;

  /// Returns the bytes that calls have brought to a rank from others; an all-reduce counts as a reduce-scatter and an
  /// all-gather around a ring.
  [[nodiscard]] std::int64_t received(int rank) const { return received_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::string version() const;

 private:
  struct Library;
  void check(int result, const char* call) const;
  void count(int rank, std::int64_t elements, DType type, std::int64_t times) const;

  std::unique_ptr<const Library> library_;
  std::vector<void*> communicators_;
  mutable std::vector<std::int64_t> received_;
};

}  // namespace napkin::internal
