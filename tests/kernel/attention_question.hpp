#pragma once
// An AttentionQuestion is what a bench of attention times: sizes, masked or not. These functions ask for its tiles and
// begin its rows: {"kernel": "napkin_fp8_sm90", "causal": false, "shape": {...}, "tile": {...}, "predicted": ...}.

#include <string>
#include <vector>

#include "kernels/reference/attention_data.hpp"
#include "tests/kernel/attention_problem.hpp"
#include "tests/kernel/bench.hpp"

namespace napkin::internal::test {

struct AttentionQuestion {
  AttentionSizes sizes;
  bool causal = false;
};

/// Makes the question of --shape b,h,g,q,x,d. Throws Error for another number of sizes.
inline AttentionQuestion question_of_shape(const BenchOptions& r, bool causal) {
  const std::vector<std::int64_t>& n = shape_as(r, "b,h,g,q,x,d");
  return {{n[0], n[1], n[2], n[3], n[4], n[5], n[5]}, causal};
}

/// Makes its layout, by default without a log-sum-exp, which inference does not ask for.
inline AttentionLayout layout_of(const AttentionQuestion& question, DType type, bool log_sum_exp = false) {
  AttentionLayout layout;
  layout.log_sum_exp = log_sum_exp;
  layout.sizes = question.sizes;
  layout.mask = question.causal ? Mask{Mask::Kind::causal, 0, 0} : Mask{};
  layout.type = type;
  return layout;
}

inline Ask ask_of(const AttentionQuestion& question, const std::string& gpu, const std::string& kernel, DType type) {
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = gpu;
  ask.kernel = kernel;
  ask.shape = shape_of(question.sizes);
  ask.mask = layout_of(question, type).mask;
  ask.dtype = std::string(name_of(type));
  return ask;
}

/// Counts operations by the field's convention: a square causal problem has half.
inline double flops_of(const AttentionQuestion& question) { return attention_flops(layout_of(question, DType::bf16)); }

inline Row described(const std::string& kernel, const AttentionQuestion& question, const Pick& pick) {
  Row out{{"kernel", kernel}, {"causal", question.causal}};
  report(shape_of(question.sizes), pick.tile, out);
  if (pick.predicted) {
    out["predicted"] = *pick.predicted;
    out["predicted_tflops"] = flops_of(question) / *pick.predicted / 1e12;
  }
  return out;
}

}  // namespace napkin::internal::test
