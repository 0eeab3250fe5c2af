// Ring attention on GPUs: K and V pass from GPU to GPU around the ring, and each step's part is added to the running
// result.

#include "apps/library/call/island_attention.hpp"
#include "kernels/plans/add_part.hpp"
#include "model/island/schedule.hpp"

namespace napkin::internal {
namespace {

class RingTrial : public IslandAttention {
 public:
  RingTrial(Gpus& gpus, const Division& division, std::uint64_t seed);
  void run(IslandHalf half) override;

 private:
  /// A launch of attention with the launch that adds its part.
  struct Step {
    AttentionArgs work;
    std::optional<ReadyLaunch> add;
  };
  struct Ring {
    DeviceMemory k[ring_buffers], v[ring_buffers];  // buffers for blocks on their way
    DeviceMemory part, part_lse, running, running_lse;
    std::vector<std::optional<Step>> steps;  // no step where the mask hides the block
    std::optional<ReadyLaunch> finish;
    std::vector<Mark> copied, done;  // after each step's copies and work
  };
  [[nodiscard]] std::int64_t place(const HomeArray& array, std::int64_t rows, std::int64_t batch, std::int64_t head,
                                   std::int64_t row) const override {
    return ((batch * rows + row) * array.heads + head) * array.d;
  }
  [[nodiscard]] std::uint64_t block(int rank, const DeviceMemory (Ring::*buffers)[ring_buffers],
                                    const HomeArray Home::*home, int step) const {
    const auto at = static_cast<std::size_t>(rank);
    return step == 0 ? (homes_[at].*home).memory.address() : (rings_[at].*buffers)[step % ring_buffers].address();
  }
  [[nodiscard]] Step step_of(int rank, int t, const DeviceLaunch& launch);
  void copy(int t);
  void work(int rank, int t) const;

  std::vector<Ring> rings_;
};

RingTrial::RingTrial(Gpus& gpus, const Division& division, std::uint64_t seed) : IslandAttention(gpus, division, seed) {
  const std::int64_t keys = sizes_.b * x_rows() * sizes_.h, rows = sizes_.b * q_rows() * sizes_.h * sizes_.g;
  for (int rank = 0; rank < p(); ++rank) {
    const IslandGpu& gpu = gpus_.at(rank);
    Ring& ring = rings_.emplace_back();
    for (int i = 0; i < ring_buffers; ++i) {
      ring.k[i] = poisoned_array(gpu, keys * sizes_.d, 2);
      ring.v[i] = poisoned_array(gpu, keys * sizes_.dv, 2);
    }
    ring.part = poisoned_array(gpu, rows * sizes_.dv, 2);
    ring.part_lse = poisoned_array(gpu, rows, 4);
    ring.running = poisoned_array(gpu, rows * sizes_.dv, 4);
    ring.running_lse = poisoned_array(gpu, rows, 4);
    for (int t = 0; t < p(); ++t) {
      ring.copied.emplace_back(gpu.device());
      ring.done.emplace_back(gpu.device());
    }
  }
  for (int rank = 0; rank < p(); ++rank) {
    Ring& ring = rings_[static_cast<std::size_t>(rank)];
    const auto steps = steps_of(division, rank);
    for (int t = 0; t < p(); ++t) {
      const auto& launches = steps[static_cast<std::size_t>(t)];
      ring.steps.push_back(launches.empty() ? std::nullopt : std::optional(step_of(rank, t, launches.front())));
    }
    AddPartArguments all{};
    all.part = reinterpret_cast<unsigned short*>(homes_[static_cast<std::size_t>(rank)].o.memory.address());
    all.running = reinterpret_cast<float*>(ring.running.address());
    all.b = to_int(sizes_.b, "b");
    all.rows = all.all = to_int(q_rows(), "q");
    all.heads = to_int(sizes_.h * sizes_.g, "heads");
    all.d = to_int(sizes_.dv, "dv");
    IslandGpu& gpu = gpus_.at(rank);
    gpu.device().make_current();
    ring.finish = gpu.runtime.prepare(finish_plan(all, type_, gpu.device().properties()));
  }
}

/// Makes the launches of a step: on the last rows of the GPU, which see most keys, and the first keys of the block, as
/// many as `launch` has.
RingTrial::Step RingTrial::step_of(int rank, int t, const DeviceLaunch& launch) {
  const Ring& ring = rings_[static_cast<std::size_t>(rank)];
  const Home& home = homes_[static_cast<std::size_t>(rank)];
  const auto size = [&](std::string_view axis) {
    return launch.problem.sizes[at(division_.split.diagram.axis(axis))].get();
  };
  const std::int64_t rows = size("q"), first = q_rows() - rows, heads = sizes_.h * sizes_.g;
  const auto view = [](std::uint64_t address, std::int64_t all, std::int64_t of, std::int64_t d) {
    return DeviceRows{reinterpret_cast<void*>(address), all * of * d, d, of * d};
  };
  Step out;
  out.work.sizes = {sizes_.b, sizes_.h, sizes_.g, rows, size("x"), sizes_.d, sizes_.dv};
  out.work.dtype = type_;
  out.work.mask = launch.problem.mask;
  const auto skipped = static_cast<std::uint64_t>(2 * first * heads * sizes_.d);
  out.work.q = view(home.q.memory.address() + skipped, q_rows(), heads, sizes_.d);
  out.work.k = view(block(rank, &Ring::k, &Home::k, t), x_rows(), sizes_.h, sizes_.d);
  out.work.v = view(block(rank, &Ring::v, &Home::v, t), x_rows(), sizes_.h, sizes_.dv);
  out.work.o = view(ring.part.address(), rows, heads, sizes_.dv);
  out.work.log_sum_exp = reinterpret_cast<float*>(ring.part_lse.address());
  out.work.device = rank;
  const AddPartArguments add{reinterpret_cast<unsigned short*>(ring.part.address()),
                             out.work.log_sum_exp,
                             reinterpret_cast<float*>(ring.running.address()),
                             reinterpret_cast<float*>(ring.running_lse.address()),
                             to_int(sizes_.b, "b"),
                             to_int(rows, "q"),
                             to_int(q_rows(), "q"),
                             to_int(first, "q"),
                             to_int(heads, "heads"),
                             to_int(sizes_.dv, "dv")};
  IslandGpu& gpu = gpus_.at(rank);
  gpu.device().make_current();
  out.add = gpu.runtime.prepare(add_part_plan(add, type_, t == 0, gpu.device().properties()));
  return out;
}

/// Sends the block of step t to the next GPU, into its buffer of step t + 1.
void RingTrial::copy(int t) {
  gpus_.ranks().together([&] {
    for (int rank = 0; rank < p(); ++rank) {
      const Stream stream = gpus_.at(rank).copies.get();
      const int to = (rank + 1) % p(), from = (rank + p() - 1) % p();
      const auto pass = [&](const DeviceMemory(Ring::*buffers)[ring_buffers], const HomeArray Home::*home) {
        const auto elements = static_cast<std::int64_t>((homes_.front().*home).memory.bytes() / sizeof(std::uint16_t));
        gpus_.ranks().send(rank, block(rank, buffers, home, t), elements, type_, to, stream);
        gpus_.ranks().receive(rank, block(rank, buffers, home, t + 1), elements, type_, from, stream);
      };
      pass(&Ring::k, &Home::k);
      pass(&Ring::v, &Home::v);
    }
  });
}

void RingTrial::work(int rank, int t) const {
  const Ring& ring = rings_[static_cast<std::size_t>(rank)];
  const Stream stream = gpus_.at(rank).work.get();
  if (const auto& step = ring.steps[static_cast<std::size_t>(t)]) {
    attention(step->work, stream);
    (*step->add)(stream);
  }
  if (t + 1 == p()) (*ring.finish)(stream);
}

void RingTrial::run(IslandHalf half) {
  for (int t = 0; t < p(); ++t) {
    const auto at = static_cast<std::size_t>(t);
    if (half != IslandHalf::work && t + 1 < p()) {
      for (int rank = 0; rank < p() && half == IslandHalf::both && t > 0; ++rank)
        gpus_.at(rank).copies.wait(rings_[static_cast<std::size_t>(rank)].done[at - 1]);  // the buffer is free again
      copy(t);
      for (int rank = 0; rank < p(); ++rank)
        rings_[static_cast<std::size_t>(rank)].copied[at + 1].record(gpus_.at(rank).copies.get());
    }
    if (half == IslandHalf::copies) continue;
    for (int rank = 0; rank < p(); ++rank) {
      const Ring& ring = rings_[static_cast<std::size_t>(rank)];
      if (half == IslandHalf::both && t > 0) gpus_.at(rank).work.wait(ring.copied[at]);
      work(rank, t);
      ring.done[at].record(gpus_.at(rank).work.get());
    }
  }
}

}  // namespace

std::unique_ptr<IslandTrial> ring_trial(Gpus& gpus, const Division& division, std::uint64_t seed) {
  return std::make_unique<RingTrial>(gpus, division, seed);
}

}  // namespace napkin::internal
