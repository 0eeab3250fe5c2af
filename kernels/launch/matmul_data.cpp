#include "kernels/launch/matmul_data.hpp"

namespace napkin {

MatmulData::MatmulData(Runtime& runtime, const MatmulLayout& layout) : device_(runtime.device()), layout_(layout) {
  const MatmulSizes& s = layout.sizes;
  a_ = make(s.a, s.b);
  b_ = make(s.b, s.c);
  c_ = make(s.a, s.c);
  spans_ = cycle_spans(device_);
  std::uint64_t seed = layout.seed * 16;
  for (const Matrix* input : {&a_, &b_}) {
    runtime.prepare(
        fill_plan(input->view.address, input->count, layout.type, ++seed, layout.deviation, device_.properties()))();
  }
  poison();
  device_.synchronize();
}

MatmulData::Matrix MatmulData::make(std::int64_t rows, std::int64_t columns) const {
  constexpr std::int64_t whole = 8;  // elements in 16 bytes
  Matrix out;
  out.view.row = (columns + whole - 1) / whole * whole + layout_.gap;
  out.count = rows * out.view.row;
  out.memory = device_.allocate(static_cast<std::size_t>(out.count) * sizeof(std::uint16_t));
  out.view.address = out.memory.address();
  return out;
}

MatmulCall MatmulData::call(const MatmulScratch& scratch) const {
  const auto held = [&](std::vector<DeviceMemory>& all, std::int64_t bytes) {
    if (bytes > 0 && (all.empty() || all.back().bytes() < static_cast<std::size_t>(bytes))) {
      all.push_back(device_.allocate(static_cast<std::size_t>(bytes)));
      device_.set(all.back(), 0);
    }
    return all.empty() ? 0 : all.back().address();
  };
  constexpr std::int64_t counter = sizeof(std::int32_t);
  return {a_.view,
          b_.view,
          c_.view,
          0,
          held(counters_, scratch.counters.get() * counter),
          held(sums_, scratch.sums.value.get())};
}

MatmulCall MatmulData::counting_call(const MatmulScratch& scratch) const {
  MatmulCall out = call(scratch);
  out.cycles = spans_.address();
  return out;
}

HostMatrix MatmulData::fetch(const Matrix& matrix) const {
  HostMatrix out{std::vector<std::uint16_t>(static_cast<std::size_t>(matrix.count)), matrix.view.row};
  device_.download(out.values.data(), matrix.memory.address(), matrix.memory.bytes());
  return out;
}

HostMatmul MatmulData::inputs() const {
  device_.synchronize();
  return {layout_.sizes, layout_.type, fetch(a_), fetch(b_)};
}

std::vector<std::uint16_t> MatmulData::row(std::int64_t index) const {
  device_.synchronize();
  std::vector<std::uint16_t> out(static_cast<std::size_t>(layout_.sizes.c));
  const auto at = static_cast<std::uint64_t>(index * c_.view.row) * sizeof(std::uint16_t);
  device_.download(out.data(), c_.view.address + at, out.size() * sizeof(std::uint16_t));
  return out;
}

HostMatrix MatmulData::output() const {
  device_.synchronize();
  return fetch(c_);
}

}  // namespace napkin
