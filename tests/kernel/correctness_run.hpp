#pragma once
// These functions run the cases of correctness_cases.hpp on the GPU at hand: for the GPU tests and for run_correctness.

#include <algorithm>
#include <cstdio>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/library/judge/instrument.hpp"
#include "tests/kernel/correctness_cases.hpp"

namespace napkin::internal::test {

/// Returns the members that identify a case in the recording (tests/measured/correctness).
inline nlohmann::ordered_json describe_case(const CorrectnessCase& one) {
  nlohmann::ordered_json out;
  out["kernel"] = one.kernel;
  out["dtype"] = std::string(name_of(one.type));
  out["mask"] = text_of(one.mask);
  for (const auto& [axis, size] : one.shape) out["shape"][axis] = size;
  for (const auto& [knob, value] : one.tile) out["tile"][knob] = value;
  if (one.kernel.starts_with("matmul")) {
    out["gap"] = one.matmul.gap;
    return out;
  }
  out["heads_first"] = one.attention.heads_first;
  out["gap"] = one.attention.gap;
  out["deviation"] = one.attention.deviation;
  out["log_sum_exp"] = one.attention.log_sum_exp;
  if (!one.attention.q_lengths.empty())
    out["packed"] = {{"q", one.attention.q_lengths}, {"x", one.attention.x_lengths}};
  return out;
}

/// Runs the kernel at once, on poisoned outputs. The future has the comparison, which the CPU makes meanwhile.
inline std::future<Comparison> start(Runtime& runtime, const CorrectnessCase& one, std::int64_t rows) {
  if (!one.kernel.starts_with("matmul")) {
    const AttentionProblem problem(runtime, "h200-sxm", one.attention, one.tile, one.kernel);
    problem.data().poison();
    problem.launch()();
    auto outcome = std::make_shared<HostAttention>(problem.data().download());
    return std::async(std::launch::async,
                      [outcome, rows, seed = one.attention.seed] { return compare(*outcome, rows, seed); });
  }
  const MatmulData data(runtime, one.matmul);
  const auto laid_out = correctness::lay_out(one);
  data.poison();
  runtime.prepare(matmul_plan(laid_out->place(one.tile), data.call(), runtime.device().launch_device()))();
  auto inputs = std::make_shared<HostMatmul>(data.inputs());
  auto output = std::make_shared<HostMatrix>(data.output());
  return std::async(std::launch::async, [inputs, output, rows, beside = data.beside()] {
    const std::vector<std::int64_t> sampled = spread_rows(inputs->sizes.a, rows, 1);
    const auto reference = reference_rows(*inputs, sampled);
    Comparison out;
    for (std::size_t i = 0; i < sampled.size(); ++i) {
      const auto at = output->values.begin() + static_cast<std::ptrdiff_t>(output->at(sampled[i], 0));
      compare_row({at, at + inputs->sizes.c}, reference[i], result_type(inputs->type), out);
    }
    count_poison(*output, inputs->sizes.c, out);
    out.beside = first_of({beside, out.beside});
    return out;
  });
}

/// Compiles the cases' variants into the cache; prints those to which the compiler objects.
inline void compile_ahead(const std::vector<CorrectnessCase>& cases, int jobs) {
  std::vector<LaunchPlan> plans;
  for (const CorrectnessCase& one : cases) plans.push_back(correctness::variant_of(one));
  const auto refused = internal::compile_ahead(plans, process_environment(), jobs, [](std::size_t) {});
  for (const auto& [expression, why] : refused)
    std::fprintf(stderr, "objected to: %s: %s\n", expression.c_str(), why.c_str());
}

}  // namespace napkin::internal::test
