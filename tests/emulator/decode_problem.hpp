#pragma once
// One question of attention_decode_sm90 on the emulator: its arrays, its plan, a run of it and what float64 says of the
// result.

#include "tests/emulator/problem.hpp"
#include "tests/kernel/decode_arrays.hpp"

namespace napkin::test {

class DecodeProblem {
 public:
  explicit DecodeProblem(const DecodeCase& one)
      : arrays_(one), laid_out_(lay_out(one)), placed_(laid_out_->place(one.tile)) {
    AttentionCall call;
    call.q = put("Q", arrays_.q, q_);
    call.k = put("K", arrays_.k, k_);
    call.v = put("V", arrays_.v, v_);
    call.o = put("O", arrays_.o, o_);
    call.pages = arrays_.pages;
    call.pages.table = put("pages", arrays_.table, table_);
    call.lengths = put("lengths", one.lengths, lengths_);
    call.log_sum_exp = put("log-sum-exp", arrays_.log_sum_exp, lse_);
    const std::vector<unsigned char> zeros(static_cast<std::size_t>(attention_workspace(placed_).value.get()));
    call.workspace = put("workspace", zeros, workspace_);
    plan_ = attention_decode_sm90_plan(placed_, call, {3, Bytes(1 << 20)});
  }

  [[nodiscard]] const PlacedDiagram& placed() const { return placed_; }

  [[nodiscard]] EmulatedRun run(std::uint64_t seed, std::int64_t rows, const std::string& planted = "",
                                emulator::Trace* trace = nullptr) {
    o_.poison();
    if (lse_.memory) lse_.poison();
    EmulatedRun out;
    out.outcome = emulator::launch(plan_, seed, planted, trace);
    out.output = o_.fetch();
    for (const EmulatedArray* array : {&q_, &k_, &v_, &o_, &lse_, &workspace_, &table_, &lengths_}) {
      if (array->memory && !array->memory->guarded()) out.guard = array->memory->name();
    }
    if (!out.outcome.error.empty()) return out;
    arrays_.o.values = out.output;
    if (lse_.memory) std::copy_n(lse_.as<float>(), lse_.count, arrays_.log_sum_exp.begin());
    out.comparison = arrays_.compare_all(rows);
    return out;
  }

 private:
  /// The array's address; 0 where it has no elements.
  template <class T>
  static std::uint64_t put(const char* name, const std::vector<T>& values, EmulatedArray& array) {
    if (values.empty()) return 0;
    array = EmulatedArray(name, static_cast<std::int64_t>(values.size()), sizeof(T));
    std::copy(values.begin(), values.end(), array.as<T>());
    return array.address();
  }
  static TensorView put(const char* name, const DecodeArray& from, EmulatedArray& array) {
    TensorView view = from.view;
    view.address = put(name, from.values, array);
    return view;
  }

  DecodeArrays arrays_;
  std::unique_ptr<LaidOut> laid_out_;
  PlacedDiagram placed_;
  LaunchPlan plan_;
  EmulatedArray q_, k_, v_, o_, lse_, table_, lengths_, workspace_;
};

}  // namespace napkin::test
