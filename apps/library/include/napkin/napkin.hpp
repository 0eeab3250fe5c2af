#pragma once
// This is Napkin for a program: the questions of the command line as functions on plain values.
//
//   #include <napkin/napkin.hpp>
//
//   napkin::Ask ask;
//   ask.algorithm = "attention";
//   ask.gpu = "h200-sxm";
//   ask.shape = {{"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}};
//   const auto answer = napkin::select(ask);
//   for (const auto& knob : answer->head.tile) ...
//
// A Session keeps what its questions have in common: parsed profiles, mappings, the solver's tables, and the latest
// answers, so that a repeated question is answered within a microsecond. The plain functions ask one Session of the
// process. A program that wants to drop what was kept, or to keep it apart, makes a Session of its own:
//
//   napkin::Session session;
//   const auto answer = session.select(ask);
//
// To compute attention or a product on the GPU here: call.hpp. Bad input throws napkin::Error: where, what, and what
// would be right. What CUDA lacks or refuses here (no GPU, no NVRTC) throws napkin::CudaFailure.

#include <memory>
#include <string>
#include <vector>

#include "napkin/answers.hpp"
#include "napkin/ask.hpp"
#include "napkin/call.hpp"
#include "napkin/compare.hpp"
#include "napkin/island.hpp"
#include "napkin/need.hpp"
#include "napkin/sensitivity.hpp"
#include "napkin/step.hpp"
#include "napkin/types.hpp"

namespace napkin {

struct Request;

/// The selected configuration as another program reads it.
struct Emission {
  std::string text;
  bool found = false;   ///< false: nothing fits, and there is no text
  std::string because;  ///< then: why
};

/// Answers questions and remembers. Safe from several threads. Answers are shared and never change: a repeated question
/// returns the object that the first one returned, for as long as it is among the 256 latest. Built-in names never
/// change their meaning; a file that a question names by its path (a profile, a diagram, a mapping) is read again where
/// its size, its time of change or its identity on disk is another than when it was read.
class Session {
 public:
  Session();
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// What the tile moves and holds at each level, how long it takes, and what limits it. Any valid input is answered,
  /// legal or not.
  [[nodiscard]] std::shared_ptr<const QueryAnswer> query(const Ask& ask) const;

  /// The legal tile of least predicted time, with `top` - 1 runners-up.
  [[nodiscard]] std::shared_ptr<const SelectAnswer> select(const Ask& ask, int top = 5) const;

  /// select() for each of many shapes on all cores, in their order; `ask.shape` has the sizes that all of them share.
  /// The first error of a shape, by their order, is thrown.
  [[nodiscard]] std::vector<std::shared_ptr<const SelectAnswer>> select_many(const Ask& ask,
                                                                             const std::vector<NamedSizes>& shapes,
                                                                             int top = 1) const;

  /// Each kernel that can answer the question, bundled or a peer's, with its best tile, the fastest first. `ask.kernel`
  /// is not read.
  [[nodiscard]] std::vector<KernelAnswer> kernels(const Ask& ask) const;
  /// The tile of an answer's head under the other load: in a burst where the question's is sustained, else sustained.
  /// None without a kernel, and where the GPU's limit in a burst is not known.
  [[nodiscard]] std::optional<LoadAnswer> other_load(const Ask& ask, const Head& head) const;

  /// The breakpoints along a family of shapes: which tile is within 1 % of the best from where to where, and what one
  /// tile for all of it loses. `ask.shape` is not read; `ask.progress` follows the sizes.
  [[nodiscard]] FamilyAnswer select_family(const Ask& ask, const ShapeFamily& family) const;

  /// The question on each GPU and in each element type in turn, with the laws that say why they differ. `ask.gpu` and
  /// `ask.dtype` are not read. With `kernels` ("all": every one that runs there) each of them by itself.
  [[nodiscard]] CompareAnswer compare(const Ask& ask, const std::vector<std::string>& gpus,
                                      const std::vector<std::string>& dtypes,
                                      const std::vector<std::string>& kernels = {}) const;

  /// What a percent more of each number of the machine, and of each instruction count of the mapping, would change, and
  /// what limits next. Throws Error on the abstract machine, which has no clock.
  [[nodiscard]] SensitivityAnswer sensitivity(const Ask& ask) const;

  /// Predicts a step of a model, all its launches at one clock. (docs/steps.md)
  [[nodiscard]] StepAnswer step(const StepAsk& ask) const;

  /// The least of each number of the machine that reaches a target, alone and along a line. (docs/command-line.md)
  [[nodiscard]] NeedAnswer need(const NeedAsk& ask) const;

  /// `form`: "json" (kernel and tile), "cpp" (a constexpr struct), "triton" (its list of configurations, the `top`
  /// best), "fa3" (FlashAttention-3's tuple) or "fa4" (FlashAttention-4's FwdConfig for Hopper, the `top` best). The
  /// last three select for that peer's mapping unless `ask` names one. Of an island of GPUs: "nccl" (each rank's calls
  /// and launches in order).
  [[nodiscard]] Emission emit(const Ask& ask, const std::string& form, int top = 5) const;

  /// Resolves all that the question names, for this project's own programs. Throws Error for every mistake in the
  /// question.
  [[nodiscard]] Request request(const Ask& ask) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The one that the plain functions, attention() and matmul() ask.
[[nodiscard]] Session& default_session();

[[nodiscard]] std::shared_ptr<const QueryAnswer> query(const Ask& ask);
[[nodiscard]] std::shared_ptr<const SelectAnswer> select(const Ask& ask, int top = 5);
[[nodiscard]] std::vector<std::shared_ptr<const SelectAnswer>> select_many(const Ask& ask,
                                                                           const std::vector<NamedSizes>& shapes,
                                                                           int top = 1);
[[nodiscard]] std::vector<KernelAnswer> kernels(const Ask& ask);
[[nodiscard]] std::optional<LoadAnswer> other_load(const Ask& ask, const Head& head);
[[nodiscard]] FamilyAnswer select_family(const Ask& ask, const ShapeFamily& family);
[[nodiscard]] CompareAnswer compare(const Ask& ask, const std::vector<std::string>& gpus,
                                    const std::vector<std::string>& dtypes,
                                    const std::vector<std::string>& kernels = {});
[[nodiscard]] SensitivityAnswer sensitivity(const Ask& ask);
[[nodiscard]] StepAnswer step(const StepAsk& ask);
[[nodiscard]] NeedAnswer need(const NeedAsk& ask);
[[nodiscard]] Emission emit(const Ask& ask, const std::string& form, int top = 5);

}  // namespace napkin
