#pragma once
// IslandAttention is what both ways to divide attention share: sizes, and inputs and output as one problem on the host.
// Internal to apps/.

#include <vector>

#include "apps/library/call/island_trial.hpp"
#include "napkin/call.hpp"

namespace napkin::internal {

/// The place of a row of the undivided problem: the GPU whose memory holds it at home, and the row there.
struct HomeRow {
  int gpu = 0;
  std::int64_t row = 0;
};

/// An array of a GPU at home: its rows of all heads.
struct HomeArray {
  DeviceMemory memory;
  std::int64_t heads = 0, d = 0;
};

class IslandAttention : public IslandTrial {
 public:
  IslandAttention(Gpus& gpus, const Division& division, std::uint64_t seed);
  [[nodiscard]] Comparison check(std::int64_t rows) const override;

 protected:
  struct Home {
    HomeArray q, k, v, o;
  };
  [[nodiscard]] int p() const { return gpus_.count(); }
  [[nodiscard]] std::int64_t q_rows() const { return sizes_.q / p(); }
  [[nodiscard]] std::int64_t x_rows() const { return sizes_.x / p(); }
  /// Returns the element at which a head's row of a GPU's part begins.
  [[nodiscard]] virtual std::int64_t place(const HomeArray& array, std::int64_t rows, std::int64_t batch,
                                           std::int64_t head, std::int64_t row) const = 0;

  Gpus& gpus_;
  Division division_;
  AttentionSizes sizes_;  ///< sizes of all GPUs together
  DType type_;
  std::vector<Home> homes_;

 private:
  [[nodiscard]] HostArray whole(const HomeArray Home::*array, std::int64_t rows) const;
  [[nodiscard]] HomeRow home_of(std::int64_t row, std::int64_t rows) const;

  std::uint64_t seed_;
};

}  // namespace napkin::internal
