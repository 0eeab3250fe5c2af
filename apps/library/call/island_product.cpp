// Products on GPUs, tensor-parallel: what is gathered comes before the product, partial sums are added after it.

#include <algorithm>
#include <cmath>

#include "apps/library/call/island_trial.hpp"
#include "kernels/reference/matmul_reference.hpp"
#include "model/base/error.hpp"
#include "napkin/call.hpp"

namespace napkin::internal {
namespace {

class ProductTrial : public IslandTrial {
 public:
  ProductTrial(Gpus& gpus, const Division& division, std::uint64_t seed);
  void run(IslandHalf half) override;
  [[nodiscard]] Comparison check(std::int64_t rows) const override;

 private:
  struct One {
    DeviceMemory a_home, b, c_home, a_work, c_work;  // the last two where they differ from those at home
    MatmulArgs call;
    Mark arrived, done;
  };
  [[nodiscard]] int p() const { return gpus_.count(); }
  [[nodiscard]] Carrier carrier_of(ArrayId array) const;
  [[nodiscard]] HostMatrix whole(const DeviceMemory One::*array, std::int64_t rows, std::int64_t columns,
                                 bool by_columns) const;
  void gather();
  void add_up();

  Gpus& gpus_;
  Division division_;
  MatmulSizes sizes_;  // sizes of the product of all GPUs together
  DType type_;
  Carrier a_by_, c_by_;
  std::vector<One> ones_;
};

Carrier ProductTrial::carrier_of(ArrayId array) const {
  for (const Moved& one : moved(division_)) {
    if (one.array == array) return one.by;
  }
  return Carrier::none;
}

ProductTrial::ProductTrial(Gpus& gpus, const Division& division, std::uint64_t seed)
    : gpus_(gpus), division_(division), type_(division.problem.dtype) {
  if (type_ != DType::bf16 && type_ != DType::f16)
    throw Error("--dtype", "products of " + std::string(name_of(type_)) + " are not run on several GPUs",
                "bf16 or f16");
  const Diagram& diagram = division.split.diagram;
  const auto size = [&](std::string_view axis) { return division.problem.sizes[at(diagram.axis(axis))].get(); };
  sizes_ = {size("a"), size("b"), size("c")};
  a_by_ = carrier_of(diagram.inputs.front());
  c_by_ = carrier_of(diagram.outputs.front());
  const bool gathers = a_by_ == Carrier::all_gather && c_by_ == Carrier::none,
             adds = a_by_ == Carrier::none && (c_by_ == Carrier::reduce_scatter || c_by_ == Carrier::all_reduce);
  if (!gathers && !adds)
    throw Error("--split", division.split.name + " is not run on several GPUs", "a built-in split of matmul");
  const std::int64_t a = sizes_.a, b = adds ? sizes_.b / p() : sizes_.b, c = gathers ? sizes_.c / p() : sizes_.c;
  for (int rank = 0; rank < p(); ++rank) {
    IslandGpu& gpu = gpus_.at(rank);
    const auto seeded = [&](std::uint64_t array) { return seed + 8 * static_cast<std::uint64_t>(rank) + array; };
    const bool scatters = c_by_ == Carrier::reduce_scatter;
    One one{random_array(gpu, gathers ? a / p() * b : a * b, type_, seeded(0)),
            random_array(gpu, b * c, type_, seeded(1)),
            poisoned_array(gpu, scatters ? a / p() * c : a * c, 2),
            gathers ? poisoned_array(gpu, a * b, 2) : DeviceMemory(),
            scatters ? poisoned_array(gpu, a * c, 2) : DeviceMemory(),
            {},
            Mark(gpu.device()),
            Mark(gpu.device())};
    const auto view = [](const DeviceMemory& memory, std::int64_t row) {
      return DeviceMatrix{reinterpret_cast<void*>(memory.address()), row};
    };
    one.call.sizes = {a, b, c};
    one.call.dtype = type_;
    one.call.a = view(gathers ? one.a_work : one.a_home, b);
    one.call.b = view(one.b, c);
    one.call.c = view(scatters ? one.c_work : one.c_home, c);
    one.call.device = rank;
    ones_.push_back(std::move(one));
  }
}

void ProductTrial::gather() {
  gpus_.ranks().together([&] {
    for (int rank = 0; rank < p(); ++rank) {
      const One& one = ones_[static_cast<std::size_t>(rank)];
      gpus_.ranks().all_gather(rank, one.a_home.address(), one.a_work.address(), sizes_.a / p() * sizes_.b, type_,
                               gpus_.at(rank).copies.get());
    }
  });
}

void ProductTrial::add_up() {
  gpus_.ranks().together([&] {
    for (int rank = 0; rank < p(); ++rank) {
      const One& one = ones_[static_cast<std::size_t>(rank)];
      const Stream stream = gpus_.at(rank).copies.get();
      if (c_by_ == Carrier::all_reduce)
        gpus_.ranks().all_reduce(rank, one.c_home.address(), sizes_.a * sizes_.c, type_, stream);
      else
        gpus_.ranks().reduce_scatter(rank, one.c_work.address(), one.c_home.address(), sizes_.a / p() * sizes_.c, type_,
                                     stream);
    }
  });
}

void ProductTrial::run(IslandHalf half) {
  const bool copies = half != IslandHalf::work, work = half != IslandHalf::copies;
  if (copies && a_by_ != Carrier::none) gather();
  for (int rank = 0; rank < p() && work; ++rank) {
    const One& one = ones_[static_cast<std::size_t>(rank)];
    const IslandGpu& gpu = gpus_.at(rank);
    one.arrived.record(gpu.copies.get());
    gpu.work.wait(one.arrived);
    matmul(one.call, gpu.work.get());
    one.done.record(gpu.work.get());
    gpu.copies.wait(one.done);
  }
  if (copies && c_by_ != Carrier::none) add_up();
}

/// Puts the GPUs' parts side by side, or one below the other.
HostMatrix ProductTrial::whole(const DeviceMemory One::*array, std::int64_t rows, std::int64_t columns,
                               bool by_columns) const {
  HostMatrix out;
  out.row = columns;
  out.values.resize(static_cast<std::size_t>(rows * columns));
  for (int rank = 0; rank < p(); ++rank) {
    const std::vector<std::uint16_t> part = downloaded(gpus_.at(rank), ones_[static_cast<std::size_t>(rank)].*array);
    const std::int64_t wide = by_columns ? columns / p() : columns, high = std::ssize(part) / wide;
    const std::int64_t first = by_columns || high == rows ? 0 : rank * high;  // all have all rows of a sum everywhere
    for (std::int64_t row = 0; row < high; ++row)
      std::copy_n(part.begin() + row * wide, wide,
                  out.values.begin() + (first + row) * columns + (by_columns ? rank * wide : 0));
  }
  return out;
}

Comparison ProductTrial::check(std::int64_t rows) const {
  gpus_.synchronize();
  const bool adds = c_by_ != Carrier::none;
  HostMatmul host;
  host.sizes = sizes_;
  host.type = type_;
  host.a = whole(&One::a_home, sizes_.a, sizes_.b, adds);
  host.b = whole(&One::b, sizes_.b, sizes_.c, !adds);
  const HostMatrix c = whole(&One::c_home, sizes_.a, sizes_.c, !adds);
  const std::vector<std::int64_t> sampled = spread_rows(sizes_.a, rows, 1);
  constexpr int threads = 8;
  const auto reference = reference_rows(host, sampled, threads);
  Comparison out;
  for (std::size_t i = 0; i < sampled.size(); ++i) {
    const std::span<const std::uint16_t> row(c.values.data() + sampled[i] * c.row, static_cast<std::size_t>(c.row));
    compare_row(row, reference[i], type_, out);
    for (const double value : reference[i]) out.largest = std::max(out.largest, std::abs(value));
  }
  // Each partial product is rounded to the type before it is added, and each sum after.
  if (adds) out.rounding = p() * rounding_of(out.largest, type_);
  count_poison(c, sizes_.c, out);
  return out;
}

}  // namespace

std::unique_ptr<IslandTrial> product_trial(Gpus& gpus, const Division& division, std::uint64_t seed) {
  return std::make_unique<ProductTrial>(gpus, division, seed);
}

}  // namespace napkin::internal
