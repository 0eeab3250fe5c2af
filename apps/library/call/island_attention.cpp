#include "apps/library/call/island_attention.hpp"

#include <algorithm>
#include <cmath>

#include "model/base/error.hpp"

namespace napkin::internal {

IslandAttention::IslandAttention(Gpus& gpus, const Division& division, std::uint64_t seed)
    : gpus_(gpus), division_(division), type_(division.problem.dtype), seed_(seed) {
  if (type_ != DType::bf16 && type_ != DType::f16)
    throw Error("--dtype", "attention in " + std::string(name_of(type_)) + " is not run on several GPUs",
                "bf16 or f16");
  const auto size = [&](std::string_view axis) {
    return division.problem.sizes[at(division.split.diagram.axis(axis))].get();
  };
  sizes_ = {size("b"), size("h"), size("g"), size("q"), size("x"), size("d"), size("dv")};
  const std::int64_t keys = sizes_.b * x_rows() * sizes_.h, queries = sizes_.b * q_rows() * sizes_.h * sizes_.g;
  for (int rank = 0; rank < p(); ++rank) {
    IslandGpu& gpu = gpus_.at(rank);
    const auto seeded = [&](std::uint64_t array) { return seed + 8 * static_cast<std::uint64_t>(rank) + array; };
    homes_.push_back({{random_array(gpu, queries * sizes_.d, type_, seeded(0)), sizes_.h * sizes_.g, sizes_.d},
                      {random_array(gpu, keys * sizes_.d, type_, seeded(1)), sizes_.h, sizes_.d},
                      {random_array(gpu, keys * sizes_.dv, type_, seeded(2)), sizes_.h, sizes_.dv},
                      {poisoned_array(gpu, queries * sizes_.dv, 2), sizes_.h * sizes_.g, sizes_.dv}});
  }
}

HomeRow IslandAttention::home_of(std::int64_t row, std::int64_t rows) const {
  const std::int64_t part_rows = rows / division_.cuts(), part = row / part_rows;
  for (int rank = 0; rank < p(); ++rank) {
    const std::vector<std::int64_t> parts = division_.parts_of(rank);
    const auto found = std::find(parts.begin(), parts.end(), part);
    if (found != parts.end()) return {rank, (found - parts.begin()) * part_rows + row % part_rows};
  }
  return {};
}

HostArray IslandAttention::whole(const HomeArray Home::*array, std::int64_t rows) const {
  const HomeArray& first = homes_.front().*array;
  HostArray out;
  out.row = first.d;
  out.head = rows * first.d;
  out.batch = first.heads * out.head;
  out.values.resize(static_cast<std::size_t>(sizes_.b * out.batch));
  std::vector<std::vector<std::uint16_t>> parts;
  for (int rank = 0; rank < p(); ++rank)
    parts.push_back(downloaded(gpus_.at(rank), (homes_[static_cast<std::size_t>(rank)].*array).memory));
  for (std::int64_t row = 0; row < rows; ++row) {
    const HomeRow home = home_of(row, rows);
    const std::vector<std::uint16_t>& part = parts[static_cast<std::size_t>(home.gpu)];
    for (std::int64_t b = 0; b < sizes_.b; ++b) {
      for (std::int64_t head = 0; head < first.heads; ++head) {
        const auto from = part.begin() + place(first, rows / p(), b, head, home.row);
        std::copy(from, from + first.d, out.values.begin() + static_cast<std::ptrdiff_t>(out.at(b, head, row)));
      }
    }
  }
  return out;
}

Comparison IslandAttention::check(std::int64_t rows) const {
  gpus_.synchronize();
  HostAttention host;
  host.sizes = sizes_;
  host.mask = division_.problem.mask;
  host.type = type_;
  host.scale = 1 / std::sqrt(static_cast<double>(sizes_.d));
  host.q = whole(&Home::q, sizes_.q);
  host.k = whole(&Home::k, sizes_.x);
  host.v = whole(&Home::v, sizes_.x);
  host.o = whole(&Home::o, sizes_.q);
  Comparison out = compare(host, rows, seed_);
  // Each step's part is rounded to the type before it is added.
  if (division_.split.stream) out.rounding = p() * rounding_of(out.largest, type_);
  return out;
}

std::unique_ptr<IslandTrial> island_trial(Gpus& gpus, const Division& division, std::uint64_t seed) {
  const std::string& algorithm = division.split.algorithm;
  if (algorithm == "matmul") return product_trial(gpus, division, seed);
  if (algorithm == "attention") return (division.split.stream ? ring_trial : heads_trial)(gpus, division, seed);
  throw Error("napkin validate", algorithm + " is not run on several GPUs", "attention or matmul");
}

}  // namespace napkin::internal
