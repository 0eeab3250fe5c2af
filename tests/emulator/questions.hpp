#pragma once
// A Question is one interface to every kernel's questions on the emulator, so that one program can run them all with
// any seed.

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/backward_problem.hpp"
#include "tests/emulator/bytes_problem.hpp"
#include "tests/emulator/decode_problem.hpp"
#include "tests/emulator/problem.hpp"
#include "tests/kernel/correctness_run.hpp"

namespace napkin::internal::test {

/// The result of a run with one seed.
struct Answer {
  std::string fault;                ///< error; empty: none
  std::vector<std::uint16_t> bits;  ///< bits of the results that do not depend on the seed
};

/// A question with its arrays, which can be run with one seed after another.
using Asked = std::function<Answer(std::uint64_t seed)>;

struct Question {
  std::string kernel, text;
  std::function<Asked(const std::string& planted)> prepare;
};

inline std::string fault_of(const Comparison& c, bool good) {
  if (good) return "";
  return fmt::format("error {}, of an unfused computation {}, of the log-sum-exp {}, unwritten {}, strayed {} {}",
                     c.max_error, c.reference_error, c.lse_error, c.unwritten, c.strayed, c.beside);
}

/// Makes the answer of a run. Its fault is the emulator's error, a write outside of an array, or results with larger
/// errors than the kernel's test allows.
inline Answer answer_of(EmulatedRun run) {
  if (!run.outcome.error.empty()) return {run.outcome.error, {}};
  if (!run.guard.empty()) return {"wrote beside " + run.guard, {}};
  return {fault_of(run.comparison, run.comparison.good()), std::move(run.output)};
}

inline Answer answer_of(const BackwardProblem& problem, BackwardRun run, bool ordered) {
  if (!run.error.empty()) return {run.error, {}};
  if (!run.guard.empty()) return {"wrote beside " + run.guard, {}};
  const BackwardComparison c = problem.compare(run);
  Answer out;
  if (!c.good())
    out.fault =
        fmt::format("errors of dQ, dK, dV {}, {}, {}; allowed {}, {}, {}; unwritten {}, strayed {} {}", c.error[0],
                    c.error[1], c.error[2], c.allowed(0), c.allowed(1), c.allowed(2), c.unwritten, c.strayed, c.beside);
  for (int i = ordered ? 0 : 1; i < 3; ++i)  // dQ is left out unless its sum has a fixed order (dq=ordered)
    out.bits.insert(out.bits.end(), run.gradients[i].begin(), run.gradients[i].end());
  return out;
}

inline std::int64_t products_of(const AttentionLayout& layout) {
  CorrectnessCase one;
  one.kernel = "attention";
  one.shape = shape_of(layout.sizes);
  one.attention = layout;
  return products_of(one);
}

/// Makes a question whose Problem is made from the case when it is prepared; `rows` rows of the results are compared
/// with float64.
template <class Problem, class Case, class... More>
Question emulated(const std::string& kernel, std::string text, const Case& one, const More&... more) {
  // number of rows as in the kernels' tests, whose rule is about the largest error of these rows
  constexpr std::int64_t rows = 64;
  return {kernel, std::move(text), [one, more...](const std::string& planted) -> Asked {
            auto problem = std::make_shared<Problem>(one, more...);
            return [problem, planted](std::uint64_t seed) { return answer_of(problem->run(seed, rows, planted)); };
          }};
}

inline void add_questions(const std::vector<CorrectnessCase>& cases, std::vector<Question>& out) {
  for (const CorrectnessCase& one : cases) {
    const bool parts = std::any_of(one.tile.begin(), one.tile.end(),
                                   [](const auto& knob) { return knob.first == "split" && knob.second != "1"; });
    const int sms = 1 + static_cast<int>(out.size() % 4);
    out.push_back(emulated<EmulatedProblem>(one.kernel + (parts ? " split" : ""), describe_case(one).dump(), one, sms));
  }
}

inline std::vector<Question> backward_questions(std::int64_t most) {
  std::vector<Question> out;
  std::vector<BackwardCase> cases = backward_cases_of_groups();
  std::size_t number = 0;
  for (const BackwardConfiguration& c : backward_configurations()) {
    for (int i = 0; i < 7; ++i, number += 5) {
      cases.push_back(small_case(c, number));
    }
  }
  for (const BackwardCase& one : cases) {
    if (products_of(one.layout) > most) continue;
    std::string text = text_of(one.layout.mask);
    for (const auto& [name, value] : shape_of(one.layout.sizes)) text += fmt::format(" {}={}", name, value);
    for (const auto& [name, value] : one.tile) text += fmt::format(" {}={}", name, value);
    out.push_back({"attention_backward_sm90", text, [one](const std::string& planted) -> Asked {
                     auto problem = std::make_shared<BackwardProblem>(one);
                     return [=](std::uint64_t seed) {
                       return answer_of(*problem, problem->run(seed, planted), is_ordered(one));
                     };
                   }});
  }
  return out;
}

/// Returns the cases of every kernel's tests that have at most that many multiply-adds without a mask.
inline std::vector<Question> all_questions(std::int64_t most) {
  std::vector<Question> out;
  std::vector<CorrectnessCase> cases = repeated_cases(most);
  for (CorrectnessCase& one : small_cases(3)) cases.push_back(std::move(one));
  for (CorrectnessCase& one : product_cases()) {
    if (products_of(one) <= most) cases.push_back(std::move(one));
  }
  add_questions(cases, out);
  for (Question& one : backward_questions(most)) out.push_back(std::move(one));
  std::vector<DecodeCase> decode = decode_cases(22);
  for (DecodeCase& one : cases_of_undivided_groups()) decode.push_back(std::move(one));
  for (const DecodeCase& one : decode) {
    AttentionLayout layout;
    layout.sizes = one.sizes;
    if (products_of(layout) <= most)
      out.push_back(emulated<DecodeProblem>("attention_decode_sm90", describe(one), one));
  }
  std::vector<Fp8Case> fp8 = fp8_cases(21);
  for (Fp8Case& one : fp8_cases_of_undivided_groups()) fp8.push_back(std::move(one));
  const auto sms = [&] { return 1 + static_cast<int>(out.size() % 4); };
  for (const Fp8Case& one : fp8) {
    if (products_of(one.layout) <= most)
      out.push_back(emulated<Fp8Problem>("attention_fp8_sm90", describe(one), one, sms()));
  }
  for (const NapkinCase& one : napkin_cases(14)) {
    if (products_of(one.layout) <= most)
      out.push_back(emulated<NapkinProblem>("napkin_fp8_sm90", describe(one), one, sms()));
  }
  return out;
}

}  // namespace napkin::internal::test
