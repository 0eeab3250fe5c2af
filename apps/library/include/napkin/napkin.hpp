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

#include <cmath>
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

/// A selected configuration in the form that another program reads.
struct Emission {
  std::string text;
  bool found = false;   ///< true if a tile fits; else there is no text
  std::string because;  ///< the reason why nothing was found
};

/// A Session answers questions and keeps the 256 latest answers, shared and immutable; it may be used from several
/// threads. A file that a question names (profile, diagram, mapping) is read again if its size, time of change or
/// identity on disk changes. Built-in names never change their meaning.
class Session {
 public:
  Session();
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Predicts a tile: bytes moved and held at each level, time, and what limits it. Any valid input is answered, legal
  /// or not. `parts` lists the parts to fill that take longer.
  [[nodiscard]] std::shared_ptr<const QueryAnswer> query(const Ask& ask, AnswerParts parts = {}) const;

  /// Finds the legal tile of least predicted time, with `top` - 1 runners-up, each as exact as the best and about as
  /// long to find.
  [[nodiscard]] std::shared_ptr<const SelectAnswer> select(const Ask& ask, int top = 1, AnswerParts parts = {}) const;

  /// Calls select() for many shapes on all cores; answers are in the shapes' order. `ask.shape` holds the sizes that
  /// all shapes share. Throws the error of the first shape that has one.
  [[nodiscard]] std::vector<std::shared_ptr<const SelectAnswer>> select_many(const Ask& ask,
                                                                             const std::vector<NamedSizes>& shapes,
                                                                             int top = 1, AnswerParts parts = {}) const;

  /// Lists each kernel that can answer the question, bundled or a peer's, with its best tile, fastest first. Ignores
  /// `ask.kernel`. Kernels that take longer than `limit` seconds, and with a limit those that do not fit, may be
  /// missing.
  [[nodiscard]] std::vector<KernelAnswer> kernels(const Ask& ask, double limit = INFINITY) const;
  /// Predicts the tile of an answer's head under the other load (burst for sustained, sustained for burst). None
  /// without a kernel, and if the GPU's limit in a burst is not known.
  [[nodiscard]] std::optional<LoadAnswer> other_load(const Ask& ask, const Head& head) const;

  /// Finds the ranges along a family of shapes in each of which one tile is within 1 % of the best, and the loss of a
  /// single tile for all. Ignores `ask.shape`; `ask.progress` follows the sizes.
  [[nodiscard]] FamilyAnswer select_family(const Ask& ask, const ShapeFamily& family) const;

  /// Asks the question on each GPU in each element type, and adds the laws that explain the differences. Ignores
  /// `ask.gpu` and `ask.dtype`. `kernels` names kernels to compare as well ("all": every kernel that runs there).
  [[nodiscard]] CompareAnswer compare(const Ask& ask, const std::vector<std::string>& gpus,
                                      const std::vector<std::string>& dtypes,
                                      const std::vector<std::string>& kernels = {}, AnswerParts parts = {}) const;

  /// Computes the effect of a percent more of each number of the machine and each instruction count of the mapping, and
  /// what limits next. Throws Error on the abstract machine, which has no clock.
  [[nodiscard]] SensitivityAnswer sensitivity(const Ask& ask) const;

  /// Predicts a step of a model, all its launches at one clock. (docs/steps.md)
  [[nodiscard]] StepAnswer step(const StepAsk& ask) const;

  /// Finds the least change of each machine number that reaches a target, alone and along a line.
  /// (docs/command-line.md)
  [[nodiscard]] NeedAnswer need(const NeedAsk& ask) const;

  /// Emits a configuration: "json", "cpp" (a constexpr struct), "triton" or "fa4" (the `top` best), "fa3"
  /// (FlashAttention-3's tuple), or "nccl" (an island's calls). Forms of peers select for their mapping unless `ask`
  /// names another.
  [[nodiscard]] Emission emit(const Ask& ask, const std::string& form, int top = 5) const;

  /// The files and answers that a Session keeps, for this project's own programs.
  struct State;
  [[nodiscard]] State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Returns the Session that the plain functions, attention() and matmul() use.
[[nodiscard]] Session& default_session();

[[nodiscard]] std::shared_ptr<const QueryAnswer> query(const Ask& ask, AnswerParts parts = {});
[[nodiscard]] std::shared_ptr<const SelectAnswer> select(const Ask& ask, int top = 1, AnswerParts parts = {});
[[nodiscard]] std::vector<std::shared_ptr<const SelectAnswer>> select_many(const Ask& ask,
                                                                           const std::vector<NamedSizes>& shapes,
                                                                           int top = 1, AnswerParts parts = {});
[[nodiscard]] std::vector<KernelAnswer> kernels(const Ask& ask, double limit = INFINITY);
[[nodiscard]] std::optional<LoadAnswer> other_load(const Ask& ask, const Head& head);
[[nodiscard]] FamilyAnswer select_family(const Ask& ask, const ShapeFamily& family);
[[nodiscard]] CompareAnswer compare(const Ask& ask, const std::vector<std::string>& gpus,
                                    const std::vector<std::string>& dtypes,
                                    const std::vector<std::string>& kernels = {}, AnswerParts parts = {});
[[nodiscard]] SensitivityAnswer sensitivity(const Ask& ask);
[[nodiscard]] StepAnswer step(const StepAsk& ask);
[[nodiscard]] NeedAnswer need(const NeedAsk& ask);
[[nodiscard]] Emission emit(const Ask& ask, const std::string& form, int top = 5);

}  // namespace napkin
