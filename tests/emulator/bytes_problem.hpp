#pragma once
// A BytesProblem is one question, on the emulator, of a kernel whose Q and K are bytes of e4m3: its arrays, its plan, a
// run, and the comparison of the result with float64.

#include "tests/emulator/problem.hpp"
#include "tests/kernel/fp8_cases.hpp"
#include "tests/kernel/napkin_cases.hpp"

namespace napkin::internal::test {

template <class Case, auto Planner>
class BytesProblem {
 public:
  explicit BytesProblem(const Case& one, int sms = 3)
      : arrays_(arrays_of(one)), laid_out_(lay_out(one)), placed_(laid_out_->place(one.tile)) {
    const Fp8Arrays& bytes = bytes_of(arrays_);
    AttentionCall call = arrays_.call();
    call.q.address = put("Q", bytes.q, q_);
    call.k.address = put("K", bytes.k, k_);
    call.v.address = put("V", arrays_.v, v_);
    call.o.address = put("O", bytes.o, o_);
    call.log_sum_exp = put("log-sum-exp", bytes.log_sum_exp, lse_);
    call.q_scale.address = put("scales of Q", bytes.q_scale, q_scale_);
    call.k_scale.address = put("scales of K", bytes.k_scale, k_scale_);
    call.v_scale.address = put("scales of V", bytes.v_scale, v_scale_);
    call.q_starts = put("q_starts", bytes.q_starts, q_starts_);
    call.x_starts = put("x_starts", bytes.x_starts, x_starts_);
    call.ticket = put("ticket", std::vector<std::int32_t>{0, 0}, ticket_);
    plan_ = Planner(placed_, call, {sms, Bytes(1 << 20)});
  }

  [[nodiscard]] const PlacedDiagram& placed() const { return placed_; }

  /// Sets all numbers of V.
  void fill_v(std::uint8_t byte) {
    std::fill(arrays_.v.begin(), arrays_.v.end(), byte);
    std::fill_n(v_.as<std::uint8_t>(), arrays_.v.size(), byte);
  }

  [[nodiscard]] EmulatedRun run(std::uint64_t seed, std::int64_t rows, const std::string& planted = "",
                                emulator::Trace* trace = nullptr) {
    return run_emulated({plan_, seed, planted, trace}, o_, lse_,
                        {&q_, &k_, &v_, &o_, &lse_, &q_scale_, &k_scale_, &v_scale_, &ticket_},
                        [&](const EmulatedRun& run) {
                          Fp8Arrays& bytes = bytes_of(arrays_);
                          bytes.o = run.output;
                          if (lse_.memory) std::copy_n(lse_.as<float>(), lse_.count, bytes.log_sum_exp.begin());
                          return arrays_.compare_all(rows);
                        });
  }

 private:
  decltype(arrays_of(std::declval<Case>())) arrays_;
  std::unique_ptr<LaidOut> laid_out_;
  PlacedDiagram placed_;
  LaunchPlan plan_;
  EmulatedArray q_, k_, v_, o_, lse_, q_scale_, k_scale_, v_scale_, q_starts_, x_starts_, ticket_;
};

using Fp8Problem = BytesProblem<Fp8Case, attention_fp8_sm90_plan>;
using NapkinProblem = BytesProblem<NapkinCase, napkin_fp8_sm90_plan>;

}  // namespace napkin::internal::test
