#pragma once
// A BackwardProblem is one question of the backward pass on the emulator: arrays, plans, a run, and the errors of the
// gradients against float64.

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulator/backward_cases.hpp"
#include "tests/emulator/launch.hpp"
#include "tests/emulator/problem.hpp"
#include "tests/kernel/backward_reference.hpp"

namespace napkin::internal::test {

/// The error of each gradient, and that of the unfused formula.
struct BackwardComparison {
  /// Errors of dQ, dK and dV; `rounding` is one rounding of the largest number.
  double error[3]{}, unfused[3]{}, rounding[3]{};
  std::int64_t unwritten = 0, strayed = 0;
  std::string beside;  ///< first element written outside of an array: "dK[1040]"
  [[nodiscard]] double allowed(int i) const { return allowed_error(unfused[i], rounding[i]); }
  [[nodiscard]] bool good() const {
    for (int i = 0; i < 3; ++i) {
      if (!(error[i] <= allowed(i))) return false;
    }
    return unwritten == 0 && strayed == 0;
  }
};

struct BackwardRun {
  std::string error, guard;
  emulator::Counters counters;  ///< counters of the second launch, that of the gradients
  std::vector<std::uint16_t> gradients[3];
};

class BackwardProblem {
 public:
  explicit BackwardProblem(const BackwardCase& one)
      : case_(one), laid_out_(lay_out(one)), placed_(laid_out_->place(one.tile)) {
    make_arrays();
    fill();
    scratch_ = EmulatedArray("scratch", scratch_bytes(placed_, call_).value.get(), 1);
    call_.scratch = scratch_.address();
    // so few blocks at once that later sections' sums are set to zero and rounded during the products
    call_.at_once = 1;
    plans_ = attention_backward_plans(placed_, call_);
  }

  [[nodiscard]] const PlacedDiagram& placed() const { return placed_; }
  [[nodiscard]] const AttentionBackwardPlans& plans() const { return plans_; }

  /// Runs the three launches. `trace` gets the events of the second one.
  [[nodiscard]] BackwardRun run(std::uint64_t seed, const std::string& planted = "", emulator::Trace* trace = nullptr) {
    BackwardRun out;
    scratch_.poison();
    emulator::WrittenOnce once;
    for (EmulatedArray& array : gradients_) watch(once, array, sizeof(std::uint16_t));
    for (const LaunchPlan* plan : plans_.all()) {
      const bool gradients = plan == &plans_.gradients;
      const auto outcome = emulator::launch({*plan, seed, planted, gradients ? trace : nullptr, &once,
                                             gradients ? emulator::Blocks::ascending : emulator::Blocks::shuffled});
      if (gradients) out.counters = outcome.counters;
      out.error = outcome.error;
      if (!out.error.empty()) return out;
    }
    once.give_back();
    for (int i = 0; i < 3; ++i) out.gradients[i] = gradients_[i].fetch();
    out.guard = beside({&q_, &k_, &v_, &o_, &d_o_, &lse_, &scratch_, gradients_, gradients_ + 1, gradients_ + 2});
    return out;
  }

  [[nodiscard]] BackwardComparison compare(const BackwardRun& run) const {
    BackwardComparison out;
    std::vector<char> known[3];
    for (int i = 0; i < 3; ++i) known[i].assign(run.gradients[i].size(), 0);
    each_head([&](std::int64_t b, std::int64_t h, std::int64_t queries, std::int64_t keys) {
      const BackwardReference exact = reference(b, h, queries, keys, false),
                              rounded = reference(b, h, queries, keys, true);
      const AttentionSizes& s = case_.layout.sizes;
      for (std::int64_t g = 0; g < s.g; ++g)
        compare_rows(run, 0, call_.dq, b, h * s.g + g, q_first(b), queries, s.d, exact.dq, rounded.dq,
                     g * queries * s.d, out, known[0]);
      compare_rows(run, 1, call_.dk, b, h, x_first(b), keys, s.d, exact.dk, rounded.dk, 0, out, known[1]);
      compare_rows(run, 2, call_.dv, b, h, x_first(b), keys, s.dv, exact.dv, rounded.dv, 0, out, known[2]);
    });
    for (int i = 0; i < 3; ++i) {
      for (std::size_t at = 0; at < known[i].size(); ++at) {
        if (known[i][at] != 0 || run.gradients[i][at] == poison) continue;
        if (out.strayed++ == 0) out.beside = gradients_[i].memory->name() + "[" + std::to_string(at) + "]";
      }
    }
    return out;
  }

 private:
  [[nodiscard]] bool packed() const { return !case_.layout.q_lengths.empty(); }
  [[nodiscard]] std::int64_t q_first(std::int64_t b) const {
    return packed() ? q_starts_[static_cast<std::size_t>(b)] : 0;
  }
  [[nodiscard]] std::int64_t x_first(std::int64_t b) const {
    return packed() ? x_starts_[static_cast<std::size_t>(b)] : 0;
  }

  void make_arrays() {
    const AttentionLayout& layout = case_.layout;
    const AttentionSizes& s = layout.sizes;
    std::int64_t q_rows = s.q, x_rows = s.x;
    if (packed()) {
      q_starts_ = starts_of(layout.q_lengths);
      x_starts_ = starts_of(layout.x_lengths);
      call_.q_rows = q_rows = q_starts_.back();
      call_.x_rows = x_rows = x_starts_.back();
      q_starts_memory_ = array_of("q_starts", q_starts_);
      x_starts_memory_ = array_of("x_starts", x_starts_);
      call_.q_starts = q_starts_memory_.address();
      call_.x_starts = x_starts_memory_.address();
    }
    const auto make = [&](const char* name, std::int64_t rows, std::int64_t heads, std::int64_t columns,
                          EmulatedArray& array) {
      return lay_out_array(name, layout, {rows, heads, columns, packed() ? 1 : s.b}, array);
    };
    call_.q = make("Q", q_rows, s.h * s.g, s.d, q_);
    call_.k = make("K", x_rows, s.h, s.d, k_);
    call_.v = make("V", x_rows, s.h, s.dv, v_);
    call_.o = make("O", q_rows, s.h * s.g, s.dv, o_);
    call_.d_o = make("dO", q_rows, s.h * s.g, s.dv, d_o_);
    call_.dq = make("dQ", q_rows, s.h * s.g, s.d, gradients_[0]);
    call_.dk = make("dK", x_rows, s.h, s.d, gradients_[1]);
    call_.dv = make("dV", x_rows, s.h, s.dv, gradients_[2]);
    lse_ = EmulatedArray("log-sum-exp", (packed() ? 1 : s.b) * s.h * s.g * q_rows, sizeof(float));
    call_.log_sum_exp = lse_.address();
  }

  template <class Visit>
  void each_head(const Visit& visit) const {
    const AttentionSizes& s = case_.layout.sizes;
    for (std::int64_t b = 0; b < s.b; ++b) {
      const auto at = static_cast<std::size_t>(b);
      const std::int64_t queries = packed() ? case_.layout.q_lengths[at] : s.q,
                         keys = packed() ? case_.layout.x_lengths[at] : s.x;
      for (std::int64_t h = 0; h < s.h; ++h) visit(b, h, queries, keys);
    }
  }

  [[nodiscard]] std::size_t place(const TensorView& view, std::int64_t b, std::int64_t head, std::int64_t row) const {
    return static_cast<std::size_t>((packed() ? 0 : b) * view.batch + head * view.head + row * view.row);
  }

  [[nodiscard]] HeadRows rows_of(const EmulatedArray& array, const TensorView& view, std::int64_t b, std::int64_t head,
                                 std::int64_t first, std::int64_t rows, std::int64_t columns) const {
    HeadRows out;
    out.columns = columns;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::uint16_t* from = array.as<std::uint16_t>() + place(view, b, head, first + r);
      for (std::int64_t c = 0; c < columns; ++c)
        out.values.push_back(static_cast<double>(decode(from[c], case_.layout.type)));
    }
    return out;
  }
  [[nodiscard]] QueryHead query_head(std::int64_t b, std::int64_t head, std::int64_t queries) const {
    const AttentionSizes& s = case_.layout.sizes;
    return {rows_of(q_, call_.q, b, head, q_first(b), queries, s.d),
            rows_of(d_o_, call_.d_o, b, head, q_first(b), queries, s.dv),
            rows_of(o_, call_.o, b, head, q_first(b), queries, s.dv)};
  }
  [[nodiscard]] double scale() const { return 1 / std::sqrt(static_cast<double>(case_.layout.sizes.d)); }

  /// Fills the inputs, and computes the results of the forward pass.
  void fill() {
    const AttentionLayout& layout = case_.layout;
    const AttentionSizes& s = layout.sizes;
    std::uint64_t seed = layout.seed * 16;
    for (EmulatedArray* array : {&q_, &k_, &v_, &d_o_}) array->fill(++seed, layout.type, layout.deviation);
    const std::int64_t rows = packed() ? q_starts_.back() : s.q;
    each_head([&](std::int64_t b, std::int64_t h, std::int64_t queries, std::int64_t keys) {
      const HeadRows k = rows_of(k_, call_.k, b, h, x_first(b), keys, s.d),
                     v = rows_of(v_, call_.v, b, h, x_first(b), keys, s.dv);
      std::vector<double> p(static_cast<std::size_t>(keys));
      for (std::int64_t g = 0; g < s.g; ++g) {
        const QueryHead head = query_head(b, h * s.g + g, queries);
        for (std::int64_t i = 0; i < queries; ++i) {
          const double lse = softmax_row(head, k, i, queries, layout.mask, scale(), {layout.type, false}, p);
          const std::int64_t heads = (packed() ? 0 : b) * s.h * s.g + h * s.g + g;
          lse_.as<float>()[heads * rows + q_first(b) + i] = static_cast<float>(lse);
          std::uint16_t* o = o_.as<std::uint16_t>() + place(call_.o, b, h * s.g + g, q_first(b) + i);
          for (std::int64_t c = 0; c < s.dv; ++c) {
            double sum = 0;
            for (std::int64_t x = 0; x < keys; ++x) sum += p[static_cast<std::size_t>(x)] * v.row(x)[c];
            o[c] = encode(static_cast<float>(sum), layout.type);
          }
        }
      }
    });
  }

  [[nodiscard]] BackwardReference reference(std::int64_t b, std::int64_t h, std::int64_t queries, std::int64_t keys,
                                            bool rounded) const {
    const AttentionSizes& s = case_.layout.sizes;
    BackwardReference out;
    out.dq.assign(static_cast<std::size_t>(s.g * queries * s.d), 0);
    out.dk.assign(static_cast<std::size_t>(keys * s.d), 0);
    out.dv.assign(static_cast<std::size_t>(keys * s.dv), 0);
    const HeadRows k = rows_of(k_, call_.k, b, h, x_first(b), keys, s.d),
                   v = rows_of(v_, call_.v, b, h, x_first(b), keys, s.dv);
    const Rounding round{case_.layout.type, rounded};
    for (std::int64_t g = 0; g < s.g; ++g)
      differentiate(query_head(b, h * s.g + g, queries), k, v, queries, keys, case_.layout.mask, scale(), round, out,
                    out.dq.data() + g * queries * s.d);
    for (std::vector<double>* values : {&out.dq, &out.dk, &out.dv}) {
      for (double& value : *values) value = round(value);
    }
    return out;
  }

  void compare_rows(const BackwardRun& run, int which, const TensorView& view, std::int64_t b, std::int64_t head,
                    std::int64_t first, std::int64_t rows, std::int64_t columns, const std::vector<double>& exact,
                    const std::vector<double>& rounded, std::int64_t offset, BackwardComparison& out,
                    std::vector<char>& known) const {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::size_t at = place(view, b, head, first + r) + static_cast<std::size_t>(c);
        const auto in = static_cast<std::size_t>(offset + r * columns + c);
        const std::uint16_t bits = run.gradients[which][at];
        known[at] = 1;
        out.unwritten += bits == poison;
        const double error = std::fabs(static_cast<double>(decode(bits, case_.layout.type)) - exact[in]);
        out.error[which] = larger_error(out.error[which], error);
        out.rounding[which] = std::max(out.rounding[which], rounding_of(std::fabs(exact[in]), case_.layout.type));
        out.unfused[which] = std::max(out.unfused[which], std::fabs(rounded[in] - exact[in]));
      }
    }
  }

  BackwardCase case_;
  std::unique_ptr<LaidOut> laid_out_;
  PlacedDiagram placed_;
  AttentionBackwardCall call_;
  AttentionBackwardPlans plans_;
  EmulatedArray q_, k_, v_, o_, d_o_, lse_, scratch_, gradients_[3], q_starts_memory_, x_starts_memory_;
  std::vector<std::int32_t> q_starts_, x_starts_;
};

}  // namespace napkin::internal::test
