#pragma once
// A NapkinProblem is one question of napkin_fp8_sm90 on the emulator: its arrays, its plan, a run of it and what
// float64 says of the result.

#include "tests/emulator/problem.hpp"
#include "tests/kernel/napkin_cases.hpp"

namespace napkin::test {

class NapkinProblem {
 public:
  explicit NapkinProblem(const NapkinCase& one, int sms = 3)
      : arrays_(one.layout, test::summed_keys(one)), laid_out_(lay_out(one)), placed_(laid_out_->place(one.tile)) {
    AttentionCall call = arrays_.call();
    call.q.address = put("Q", arrays_.bytes.q, q_);
    call.k.address = put("K", arrays_.bytes.k, k_);
    call.v.address = put("V", arrays_.v, v_);
    call.o.address = put("O", arrays_.bytes.o, o_);
    call.log_sum_exp = put("log-sum-exp", arrays_.bytes.log_sum_exp, lse_);
    call.q_starts = put("q_starts", arrays_.bytes.q_starts, q_starts_);
    call.x_starts = put("x_starts", arrays_.bytes.x_starts, x_starts_);
    plan_ = napkin_fp8_sm90_plan(placed_, call, {sms, Bytes(1 << 20)});
  }

  [[nodiscard]] const PlacedDiagram& placed() const { return placed_; }

  [[nodiscard]] EmulatedRun run(std::uint64_t seed, std::int64_t rows, const std::string& planted = "",
                                emulator::Trace* trace = nullptr) {
    return run_emulated({plan_, seed, planted, trace}, o_, lse_, {&q_, &k_, &v_, &o_, &lse_},
                        [&](const EmulatedRun& run) {
                          arrays_.bytes.o = run.output;
                          if (lse_.memory) std::copy_n(lse_.as<float>(), lse_.count, arrays_.bytes.log_sum_exp.begin());
                          return arrays_.compare_all(rows);
                        });
  }

 private:
  NapkinArrays arrays_;
  std::unique_ptr<LaidOut> laid_out_;
  PlacedDiagram placed_;
  LaunchPlan plan_;
  EmulatedArray q_, k_, v_, o_, lse_, q_starts_, x_starts_;
};

}  // namespace napkin::test
