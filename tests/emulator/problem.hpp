#pragma once
// An EmulatedProblem is one question on the emulator: its arrays, its plan, a run, and the comparison of the result
// with float64.

#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "kernels/plans/attention.hpp"
#include "kernels/plans/matmul.hpp"
#include "kernels/reference/matmul_data.hpp"
#include "kernels/reference/normal_e4m3.hpp"
#include "tests/emulator/cases.hpp"
#include "tests/emulator/device_memory.hpp"
#include "tests/emulator/launch.hpp"

namespace napkin::internal::test {

/// An array on the emulator's device, of 16-bit numbers or of others.
struct EmulatedArray {
  std::unique_ptr<emulator::DeviceArray> memory;
  std::int64_t count = 0;

  EmulatedArray() = default;
  EmulatedArray(const std::string& name, std::int64_t n, std::size_t bytes)
      : memory(std::make_unique<emulator::DeviceArray>(name, static_cast<std::size_t>(n) * bytes)), count(n) {}
  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(memory->data());
  }
  [[nodiscard]] std::uint64_t address() const { return memory == nullptr ? 0 : memory->address(); }
  [[nodiscard]] std::vector<std::uint16_t> fetch() const { return {as<std::uint16_t>(), as<std::uint16_t>() + count}; }
  void fill(std::uint64_t seed, DType type, double deviation) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal(0, deviation);
    for (std::int64_t i = 0; i < count; ++i) as<std::uint16_t>()[i] = encode(static_cast<float>(normal(engine)), type);
  }
  void poison() { std::fill(memory->data(), memory->data() + memory->bytes(), static_cast<unsigned char>(0xFF)); }
};

/// Returns the first rows of packed sequences: 0, the first one's length, ...
inline std::vector<std::int32_t> starts_of(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> starts{0};
  for (const std::int32_t length : lengths) starts.push_back(starts.back() + length);
  return starts;
}

inline EmulatedArray array_of(const std::string& name, const std::vector<std::int32_t>& values) {
  EmulatedArray out(name, static_cast<std::int64_t>(values.size()), sizeof(std::int32_t));
  std::copy(values.begin(), values.end(), out.as<std::int32_t>());
  return out;
}

struct ArrayExtent {
  std::int64_t rows, heads, columns, batches;
};
/// Makes an array of 16-bit numbers with its strides as the layout says.
inline TensorView lay_out_array(const std::string& name, const AttentionLayout& layout, const ArrayExtent& extent,
                                EmulatedArray& array) {
  TensorView view = strided(layout, extent.rows, extent.heads, extent.columns);
  array = EmulatedArray(name, view.batch * extent.batches, sizeof(std::uint16_t));
  view.address = array.address();
  return view;
}

/// Returns the address of an array of these values; 0 if there are none.
template <class T>
std::uint64_t put(const char* name, const std::vector<T>& values, EmulatedArray& array) {
  if (values.empty()) return 0;
  array = EmulatedArray(name, static_cast<std::int64_t>(values.size()), sizeof(T));
  std::copy(values.begin(), values.end(), array.as<T>());
  return array.address();
}

/// The result of a run, its errors and its counters.
struct EmulatedRun {
  emulator::Outcome outcome;
  Comparison comparison;
  std::vector<std::uint16_t> output;
  std::string guard;  ///< first bytes written outside of an array, "bytes of O[-4]"; empty: none

  [[nodiscard]] bool good() const { return outcome.error.empty() && comparison.good() && guard.empty(); }
};

/// Watches a poisoned output of which only one block may write each element.
inline void watch(emulator::WrittenOnce& once, EmulatedArray& array, std::size_t element_bytes) {
  if (!array.memory) return;
  array.poison();
  once.watch(*array.memory, element_bytes);
}

/// Returns the first bytes written outside of these arrays; empty if there are none.
inline std::string beside(std::initializer_list<const EmulatedArray*> arrays) {
  std::string out;
  for (const EmulatedArray* array : arrays) {
    if (array->memory) out = first_of({out, array->memory->beside()});
  }
  return out;
}

/// Runs a launch on poisoned outputs and checks the memory around its arrays. If the launch ends without an error,
/// `compare(run)` compares the outputs with float64.
template <class Compare>
EmulatedRun run_emulated(emulator::Launch launch, EmulatedArray& output, EmulatedArray& lse,
                         std::initializer_list<const EmulatedArray*> arrays, const Compare& compare) {
  emulator::WrittenOnce once;
  watch(once, output, sizeof(std::uint16_t));
  watch(once, lse, sizeof(float));
  launch.once = &once;
  EmulatedRun out;
  out.outcome = emulator::launch(launch);
  once.give_back();
  out.output = output.fetch();
  out.guard = beside(arrays);
  if (out.outcome.error.empty()) out.comparison = compare(out);
  return out;
}

class EmulatedProblem {
 public:
  explicit EmulatedProblem(const CorrectnessCase& one, int sms = 3)
      : case_(one),
        laid_out_(packed(one, correctness::lay_out(one))),
        placed_(laid_out_->place(one.tile)),
        device_{sms, Bytes(1 << 20)} {
    one.kernel.starts_with("matmul") ? make_matmul() : make_attention();
  }
  virtual ~EmulatedProblem() = default;

  [[nodiscard]] const PlacedDiagram& placed() const { return placed_; }
  [[nodiscard]] const LaunchPlan& plan() const { return plan_; }

  /// Runs the question with a seed and compares `rows` rows with float64.
  [[nodiscard]] EmulatedRun run(std::uint64_t seed, std::int64_t rows, const std::string& planted = "",
                                emulator::Trace* trace = nullptr) {
    return run_emulated({plan_, seed, planted, trace}, output_, lse_,
                        {&a_, &b_, &c_, &output_, &lse_, &ticket_, &counters_, &sums_, &scales_},
                        [&](const EmulatedRun&) {
                          return case_.kernel.starts_with("matmul") ? compare_matmul(rows) : compare_attention(rows);
                        });
  }

 private:
  /// Makes the question, with the lengths of its sequences if it is packed.
  static std::unique_ptr<LaidOut> packed(const CorrectnessCase& one, std::unique_ptr<LaidOut> out) {
    if (one.attention.q_lengths.empty()) return out;
    const Diagram& diagram = out->streamed.diagram;
    Packing& packing = out->problem.packing;
    packing.batch = diagram.axis("b");
    packing.rows = diagram.axis("q");
    packing.columns = diagram.axis("x");
    for (std::size_t i = 0; i < one.attention.q_lengths.size(); ++i)
      packing.sequences.push_back({one.attention.q_lengths[i], one.attention.x_lengths[i]});
    out->placer = std::make_unique<Placer>(out->streamed, out->mapping, out->machine, out->problem);
    return out;
  }

  void make_attention() {
    const AttentionLayout& layout = case_.attention;
    const AttentionSizes& s = layout.sizes;
    std::int64_t batches = s.b, q_rows = s.q, x_rows = s.x;
    if (!layout.q_lengths.empty()) {
      q_starts_ = starts_of(layout.q_lengths);
      x_starts_ = starts_of(layout.x_lengths);
      batches = 1;
      q_rows = q_starts_.back();
      x_rows = x_starts_.back();
      q_starts_memory_ = array_of("q_starts", q_starts_);
      x_starts_memory_ = array_of("x_starts", x_starts_);
      call_.q_starts = q_starts_memory_.address();
      call_.x_starts = x_starts_memory_.address();
    }
    const auto make = [&](const char* name, std::int64_t rows, std::int64_t heads, std::int64_t columns,
                          EmulatedArray& array) {
      return lay_out_array(name, layout, {rows, heads, columns, batches}, array);
    };
    call_.q = make("Q", q_rows, s.h * s.g, s.d, a_);
    call_.k = make("K", x_rows, s.h, s.d, b_);
    call_.v = make("V", x_rows, s.h, s.dv, c_);
    call_.o = make("O", q_rows, s.h * s.g, s.dv, output_);
    std::uint64_t seed = layout.seed * 16;
    for (EmulatedArray* array : {&a_, &b_, &c_}) array->fill(++seed, layout.type, layout.deviation);
    if (layout.log_sum_exp) lse_ = EmulatedArray("log-sum-exp", batches * s.h * s.g * q_rows, sizeof(float));
    ticket_ = array_of("ticket", {0, 0});
    call_.log_sum_exp = lse_.address();
    call_.ticket = ticket_.address();
    call_.q_rows = q_rows;
    call_.x_rows = x_rows;
    plan_ = attention_plan(placed_, call_, device_);
  }

  [[nodiscard]] HostArray host(const EmulatedArray& array, const TensorView& view) const {
    HostArray out;
    out.values = array.fetch();
    out.batch = view.batch;
    out.head = view.head;
    out.row = view.row;
    return out;
  }

  [[nodiscard]] Comparison compare_attention(std::int64_t rows) const {
    const AttentionLayout& layout = case_.attention;
    HostAttention a;
    a.sizes = layout.sizes;
    a.mask = layout.mask;
    a.type = layout.type;
    a.scale = 1 / std::sqrt(static_cast<double>(layout.sizes.d));
    a.q = host(a_, call_.q);
    a.k = host(b_, call_.k);
    a.v = host(c_, call_.v);
    a.o = host(output_, call_.o);
    a.q_starts = q_starts_;
    a.x_starts = x_starts_;
    if (lse_.memory) a.log_sum_exp.assign(lse_.as<float>(), lse_.as<float>() + lse_.count);
    return compare(a, rows, layout.seed);
  }

  void make_matmul() {
    const MatmulLayout& layout = case_.matmul;
    const auto make = [&](const char* name, std::int64_t rows, std::int64_t columns, DType type, EmulatedArray& array) {
      MatrixView view;
      view.row = row_of(layout, columns, type);
      array = EmulatedArray(name, rows * view.row, static_cast<std::size_t>(bits(type) / 8));
      view.address = array.address();
      return view;
    };
    const bool fp8 = layout.type == DType::e4m3;
    const MatmulSizes& s = layout.sizes;
    matmul_.a = make("A", s.a, s.b, layout.type, a_);
    matmul_.b = fp8 ? make("B", s.c, s.b, layout.type, b_) : make("B", s.b, s.c, layout.type, b_);
    matmul_.c = make("C", s.a, s.c, result_type(layout.type), output_);
    std::uint64_t seed = layout.seed * 16;
    for (EmulatedArray* array : {&a_, &b_}) {
      ++seed;
      if (!fp8) array->fill(seed, layout.type, layout.deviation);
      const std::vector<std::uint8_t> bytes = normal_e4m3(fp8 ? array->count : 0, seed, layout.deviation);
      std::copy(bytes.begin(), bytes.end(), array->as<std::uint8_t>());
    }
    if (fp8) {
      const MatmulScales scales = scales_of(layout);
      scales_ = EmulatedArray("scales", 2, sizeof(float));
      scales_.as<float>()[0] = scales.a;
      scales_.as<float>()[1] = scales.b;
      matmul_.a_scale = scales_.address();
      matmul_.b_scale = scales_.address() + sizeof(float);
    }
    const LaunchScratch scratch = matmul_scratch(placed_);
    if (scratch.counters > Count(0)) {
      counters_ = array_of("counters", std::vector<std::int32_t>(static_cast<std::size_t>(scratch.counters.get()), 0));
      sums_ = EmulatedArray("sums", scratch.bytes.value.get(), 1);
      sums_.poison();
    }
    matmul_.arrived = counters_.address();
    matmul_.sums = sums_.address();
    plan_ = matmul_plan(placed_, matmul_, device_);
  }

  [[nodiscard]] Comparison compare_matmul(std::int64_t rows) const {
    const MatmulLayout& layout = case_.matmul;
    const auto fetched = [&](const EmulatedArray& array) {
      if (layout.type != DType::e4m3) return array.fetch();
      return std::vector<std::uint16_t>(array.as<std::uint8_t>(), array.as<std::uint8_t>() + array.count);
    };
    const MatmulScales scales = scales_of(layout);
    const HostMatmul inputs{layout.sizes,
                            layout.type,
                            {fetched(a_), matmul_.a.row},
                            {fetched(b_), matmul_.b.row},
                            static_cast<double>(scales.a) * static_cast<double>(scales.b)};
    const HostMatrix output{output_.fetch(), matmul_.c.row};
    const std::vector<std::int64_t> sampled = spread_rows(layout.sizes.a, rows, 1);
    const auto reference = reference_rows(inputs, sampled);
    Comparison out;
    for (std::size_t i = 0; i < sampled.size(); ++i) {
      const auto at = output.values.begin() + static_cast<std::ptrdiff_t>(output.at(sampled[i], 0));
      compare_row({at, at + layout.sizes.c}, reference[i], result_type(layout.type), out);
    }
    count_poison(output, layout.sizes.c, out);
    return out;
  }

  CorrectnessCase case_;
  std::unique_ptr<LaidOut> laid_out_;
  PlacedDiagram placed_;
  LaunchDevice device_;
  AttentionCall call_;
  MatmulCall matmul_;
  LaunchPlan plan_;
  EmulatedArray a_, b_, c_, output_, lse_, ticket_, q_starts_memory_, x_starts_memory_, counters_, sums_, scales_;
  std::vector<std::int32_t> q_starts_, x_starts_;
};

}  // namespace napkin::internal::test
