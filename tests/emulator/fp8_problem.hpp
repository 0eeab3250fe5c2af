#pragma once
// An Fp8Problem is one question of attention_fp8_sm90 on the emulator: its arrays, its plan, a run of it and what
// float64 says of the result.

#include "tests/emulator/problem.hpp"
#include "tests/kernel/fp8_cases.hpp"

namespace napkin::test {

class Fp8Problem {
 public:
  explicit Fp8Problem(const Fp8Case& one, int sms = 3)
      : arrays_(one.layout, one.scales), laid_out_(lay_out(one)), placed_(laid_out_->place(one.tile)) {
    AttentionCall call = arrays_.call();
    call.q.address = put("Q", arrays_.q, q_);
    call.k.address = put("K", arrays_.k, k_);
    call.v.address = put("V", arrays_.v, v_);
    call.o.address = put("O", arrays_.o, o_);
    call.log_sum_exp = put("log-sum-exp", arrays_.log_sum_exp, lse_);
    call.q_scale.address = put("scales of Q", arrays_.q_scale, q_scale_);
    call.k_scale.address = put("scales of K", arrays_.k_scale, k_scale_);
    call.v_scale.address = put("scales of V", arrays_.v_scale, v_scale_);
    call.q_starts = put("q_starts", arrays_.q_starts, q_starts_);
    call.x_starts = put("x_starts", arrays_.x_starts, x_starts_);
    call.ticket = put("ticket", std::vector<std::int32_t>{0, 0}, ticket_);
    plan_ = attention_fp8_sm90_plan(placed_, call, {sms, Bytes(1 << 20)});
  }

  [[nodiscard]] const PlacedDiagram& placed() const { return placed_; }

  [[nodiscard]] EmulatedRun run(std::uint64_t seed, std::int64_t rows, const std::string& planted = "",
                                emulator::Trace* trace = nullptr) {
    return run_emulated({plan_, seed, planted, trace}, o_, lse_,
                        {&q_, &k_, &v_, &o_, &lse_, &q_scale_, &k_scale_, &v_scale_, &ticket_},
                        [&](const EmulatedRun& run) {
                          arrays_.o = run.output;
                          if (lse_.memory) std::copy_n(lse_.as<float>(), lse_.count, arrays_.log_sum_exp.begin());
                          return arrays_.compare_all(rows);
                        });
  }

 private:
  Fp8Arrays arrays_;
  std::unique_ptr<LaidOut> laid_out_;
  PlacedDiagram placed_;
  LaunchPlan plan_;
  EmulatedArray q_, k_, v_, o_, lse_, q_scale_, k_scale_, v_scale_, q_starts_, x_starts_, ticket_;
};

}  // namespace napkin::test
