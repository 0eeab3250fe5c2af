#include "kernels/reference/matmul_data.hpp"

#include "kernels/reference/normal_e4m3.hpp"

namespace napkin::internal {

MatmulScales scales_of(const MatmulLayout& layout) {
  if (layout.type != DType::e4m3) return {};
  return {layout.seed % 2 == 0 ? 1.f : 0.3f, layout.seed % 3 == 0 ? 1.f : 1.7f};
}

std::int64_t row_of(const MatmulLayout& layout, std::int64_t columns, DType type) {
  const std::int64_t whole = 16 * 8 / bits(type);  // elements in 16 bytes
  return (columns + whole - 1) / whole * whole + layout.gap;
}

MatmulData::MatmulData(Runtime& runtime, const MatmulLayout& layout) : device_(runtime.device()), layout_(layout) {
  const MatmulSizes& s = layout.sizes;
  const bool fp8 = layout.type == DType::e4m3;
  a_ = make(s.a, s.b, layout.type);
  b_ = fp8 ? make(s.c, s.b, layout.type) : make(s.b, s.c, layout.type);
  c_ = make(s.a, s.c, result_type(layout.type));
  spans_ = cycle_spans(device_);
  std::uint64_t seed = layout.seed * 16;
  for (const Matrix* input : {&a_, &b_}) {
    if (fp8) {
      const std::vector<std::uint8_t> values = normal_e4m3(input->count, ++seed, layout.deviation);
      device_.upload(input->view.address, values.data(), values.size());
      continue;
    }
    runtime.prepare(
        fill_plan(input->view.address, input->count, layout.type, ++seed, layout.deviation, device_.properties()))();
  }
  if (fp8) {
    const MatmulScales scales = scales_of(layout);
    scales_ = device_.allocate(sizeof scales);
    device_.upload(scales_.address(), &scales, sizeof scales);
  }
  poison();
  device_.synchronize();
}

MatmulData::Matrix MatmulData::make(std::int64_t rows, std::int64_t columns, DType type) const {
  Matrix out;
  out.view.row = row_of(layout_, columns, type);
  out.count = rows * out.view.row;
  out.type = type;
  out.memory = BandedMemory(device_, static_cast<std::size_t>(bytes_of(out.count, type).value.get()));
  out.view.address = out.memory.address();
  return out;
}

MatmulCall MatmulData::call(const LaunchScratch& scratch) const {
  const auto held = [&](std::vector<BandedMemory>& all, std::int64_t bytes) {
    if (bytes > 0 && (all.empty() || all.back().bytes() < static_cast<std::size_t>(bytes))) {
      all.emplace_back(device_, static_cast<std::size_t>(bytes));
      all.back().set(device_, 0);
    }
    return all.empty() ? 0 : all.back().address();
  };
  constexpr std::int64_t counter = sizeof(std::int32_t);
  const std::uint64_t scales = scales_.address();
  return {a_.view,
          b_.view,
          c_.view,
          0,
          held(counters_, scratch.counters.get() * counter),
          held(sums_, scratch.bytes.value.get()),
          scales,
          scales == 0 ? 0 : scales + offsetof(MatmulScales, b)};
}

MatmulCall MatmulData::counting_call(const LaunchScratch& scratch) const {
  MatmulCall out = call(scratch);
  out.cycles = spans_.address();
  return out;
}

HostMatrix MatmulData::fetch(const Matrix& matrix) const {
  HostMatrix out{std::vector<std::uint16_t>(static_cast<std::size_t>(matrix.count)), matrix.view.row};
  if (matrix.type != DType::e4m3) {
    device_.download(out.values.data(), matrix.memory.address(), matrix.memory.bytes());
    return out;
  }
  std::vector<std::uint8_t> bytes(out.values.size());
  device_.download(bytes.data(), matrix.memory.address(), matrix.memory.bytes());
  std::copy(bytes.begin(), bytes.end(), out.values.begin());
  return out;
}

HostMatmul MatmulData::inputs() const {
  device_.synchronize();
  const MatmulScales scales = scales_of(layout_);
  return {layout_.sizes, layout_.type, fetch(a_), fetch(b_),
          static_cast<double>(scales.a) * static_cast<double>(scales.b)};
}

std::vector<std::uint16_t> MatmulData::row(std::int64_t index) const {
  device_.synchronize();
  std::vector<std::uint16_t> out(static_cast<std::size_t>(layout_.sizes.c));
  const auto at = static_cast<std::uint64_t>(index * c_.view.row) * sizeof(std::uint16_t);
  device_.download(out.data(), c_.view.address + at, out.size() * sizeof(std::uint16_t));
  return out;
}

std::string MatmulData::beside() const {
  device_.synchronize();
  std::string out = c_.memory.changed(device_, "C", static_cast<std::size_t>(bits(c_.type) / 8));
  for (const BandedMemory& one : counters_)
    out = first_of({out, one.changed(device_, "counters", sizeof(std::int32_t))});
  for (const BandedMemory& one : sums_) out = first_of({out, one.changed(device_, "sums", sizeof(float))});
  return out;
}

HostMatrix MatmulData::output() const {
  device_.synchronize();
  return fetch(c_);
}

}  // namespace napkin::internal
