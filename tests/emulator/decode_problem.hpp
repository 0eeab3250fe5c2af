#pragma once
// A DecodeProblem is one question of attention_decode_sm90 on the emulator: its arrays, its plan, a run, and the
// comparison of the result with float64.

#include "tests/emulator/problem.hpp"
#include "tests/kernel/decode_arrays.hpp"

namespace napkin::internal::test {

class DecodeProblem {
 public:
  explicit DecodeProblem(const DecodeCase& one, int sms = 3)
      : arrays_(one), laid_out_(lay_out(one)), placed_(laid_out_->place(one.tile)) {
    AttentionCall call;
    call.q = view_of("Q", arrays_.q, q_);
    call.k = view_of("K", arrays_.k, k_);
    call.v = view_of("V", arrays_.v, v_);
    call.o = view_of("O", arrays_.o, o_);
    call.pages = arrays_.pages;
    call.pages.table = put("pages", arrays_.table, table_);
    call.lengths = put("lengths", one.lengths, lengths_);
    call.log_sum_exp = put("log-sum-exp", arrays_.log_sum_exp, lse_);
    const LaunchScratch scratch = attention_scratch(placed_);
    const std::vector<std::int32_t> zeros(static_cast<std::size_t>(scratch.counters.get()), 0);
    const std::vector<unsigned char> parts(static_cast<std::size_t>(scratch.bytes.value.get()));
    call.arrived = put("counters", zeros, counters_);
    call.parts = put("parts", parts, parts_);
    plan_ = attention_decode_sm90_plan(placed_, call, {sms, Bytes(1 << 20)});
  }

  [[nodiscard]] const PlacedDiagram& placed() const { return placed_; }

  [[nodiscard]] EmulatedRun run(std::uint64_t seed, std::int64_t rows, const std::string& planted = "",
                                emulator::Trace* trace = nullptr) {
    return run_emulated({plan_, seed, planted, trace}, o_, lse_,
                        {&q_, &k_, &v_, &o_, &lse_, &counters_, &parts_, &table_, &lengths_},
                        [&](const EmulatedRun& run) {
                          arrays_.o.values = run.output;
                          if (lse_.memory) std::copy_n(lse_.as<float>(), lse_.count, arrays_.log_sum_exp.begin());
                          return arrays_.compare_all(rows);
                        });
  }

 private:
  static TensorView view_of(const char* name, const DecodeArray& from, EmulatedArray& array) {
    TensorView view = from.view;
    view.address = put(name, from.values, array);
    return view;
  }

  DecodeArrays arrays_;
  std::unique_ptr<LaidOut> laid_out_;
  PlacedDiagram placed_;
  LaunchPlan plan_;
  EmulatedArray q_, k_, v_, o_, lse_, table_, lengths_, counters_, parts_;
};

}  // namespace napkin::internal::test
