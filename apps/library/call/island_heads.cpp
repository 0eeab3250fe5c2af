// Attention divided by heads: at home a GPU has all heads of a part of the sequence, at work a part of the heads of all
// of it.

#include "apps/library/call/island_attention.hpp"

namespace napkin::internal {
namespace {

/// Attention divided by heads. A home array is ordered by the GPU that receives each part: [heads' GPU, b, row, head of
/// that GPU, d]; at work the rows of a GPU's heads are adjacent, [b, row, head, d].
class HeadsTrial : public IslandAttention {
 public:
  HeadsTrial(Gpus& gpus, const Division& division, std::uint64_t seed);
  void run(IslandHalf half) override;

 private:
  struct Working {
    DeviceMemory q, k, v, o;
    AttentionArgs call;
    Mark arrived, done;
  };
  [[nodiscard]] std::int64_t place(const HomeArray& array, std::int64_t rows, std::int64_t batch, std::int64_t head,
                                   std::int64_t row) const override {
    const std::int64_t heads = array.heads / p(), of = head / heads;
    return (((of * sizes_.b + batch) * rows + row) * heads + head % heads) * array.d;
  }
  void exchange(const HomeArray Home::*home, const DeviceMemory Working::*at_work, bool after) const;
  void before();
  void after();

  std::vector<Working> working_;
};

HeadsTrial::HeadsTrial(Gpus& gpus, const Division& division, std::uint64_t seed)
    : IslandAttention(gpus, division, seed) {
  const std::int64_t h = sizes_.h / p(), keys = sizes_.b * sizes_.x * h, queries = sizes_.b * sizes_.q * h * sizes_.g;
  for (int rank = 0; rank < p(); ++rank) {
    const IslandGpu& gpu = gpus_.at(rank);
    Working one{poisoned_array(gpu, queries * sizes_.d, 2),
                poisoned_array(gpu, keys * sizes_.d, 2),
                poisoned_array(gpu, keys * sizes_.dv, 2),
                poisoned_array(gpu, queries * sizes_.dv, 2),
                {},
                Mark(gpu.device()),
                Mark(gpu.device())};
    const auto view = [](const DeviceMemory& memory, std::int64_t rows, std::int64_t heads, std::int64_t d) {
      return DeviceRows{reinterpret_cast<void*>(memory.address()), rows * heads * d, d, heads * d};
    };
    one.call.sizes = {sizes_.b, h, sizes_.g, sizes_.q, sizes_.x, sizes_.d, sizes_.dv};
    one.call.dtype = type_;
    one.call.mask = division.problem.mask;
    one.call.q = view(one.q, sizes_.q, h * sizes_.g, sizes_.d);
    one.call.k = view(one.k, sizes_.x, h, sizes_.d);
    one.call.v = view(one.v, sizes_.x, h, sizes_.dv);
    one.call.o = view(one.o, sizes_.q, h * sizes_.g, sizes_.dv);
    one.call.device = rank;
    working_.push_back(std::move(one));
  }
}

void HeadsTrial::exchange(const HomeArray Home::*home, const DeviceMemory Working::*at_work, bool after) const {
  const HomeArray& first = homes_.front().*home;
  const auto all = static_cast<std::int64_t>(first.memory.bytes() / sizeof(std::uint16_t));
  // Elements of one GPU's rows of one sequence, for the heads of one GPU.
  const std::int64_t piece = all / p() / sizes_.b;
  for (int rank = 0; rank < p(); ++rank) {
    const std::uint64_t own = (homes_[static_cast<std::size_t>(rank)].*home).memory.address(),
                        work = (working_[static_cast<std::size_t>(rank)].*at_work).address();
    for (int other = 0; other < p(); ++other) {
      for (std::int64_t b = 0; b < sizes_.b; ++b) {
        const std::uint64_t packed = own + static_cast<std::uint64_t>(2 * piece * (other * sizes_.b + b)),
                            rows = work + static_cast<std::uint64_t>(2 * piece * (b * p() + other));
        const Stream stream = gpus_.at(rank).copies.get();
        gpus_.ranks().send(rank, after ? rows : packed, piece, type_, other, stream);
        gpus_.ranks().receive(rank, after ? packed : rows, piece, type_, other, stream);
      }
    }
  }
}

void HeadsTrial::before() {
  gpus_.ranks().together([&] {
    exchange(&Home::q, &Working::q, false);
    exchange(&Home::k, &Working::k, false);
    exchange(&Home::v, &Working::v, false);
  });
}

void HeadsTrial::after() {
  gpus_.ranks().together([&] { exchange(&Home::o, &Working::o, true); });
}

void HeadsTrial::run(IslandHalf half) {
  if (half != IslandHalf::work) before();
  for (int rank = 0; rank < p(); ++rank) {
    const Working& one = working_[static_cast<std::size_t>(rank)];
    const IslandGpu& gpu = gpus_.at(rank);
    if (half == IslandHalf::copies) continue;
    one.arrived.record(gpu.copies.get());
    gpu.work.wait(one.arrived);
    attention(one.call, gpu.work.get());
    one.done.record(gpu.work.get());
    gpu.copies.wait(one.done);
  }
  if (half != IslandHalf::work) after();
}

}  // namespace

std::unique_ptr<IslandTrial> heads_trial(Gpus& gpus, const Division& division, std::uint64_t seed) {
  return std::make_unique<HeadsTrial>(gpus, division, seed);
}

}  // namespace napkin::internal
