#pragma once
// A ModelStep is what a step's file says at given symbols: the launches of one pass through a model, each a question, a
// pass over bytes or a call between GPUs. (grammar: docs/steps.md) Internal to apps/.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/library/ask/amount.hpp"
#include "napkin/ask.hpp"
#include "napkin/step.hpp"

namespace napkin {

/// Launches of one kind.
struct StepEntry {
  std::string name;  ///< "layer.qkv"
  StepEntryAnswer::Kind kind = StepEntryAnswer::Kind::question;
  std::int64_t times = 1;
  Ask ask;                 ///< of a question: without the machine
  std::int64_t bytes = 0;  ///< of a pass, to and from device memory; of a collective the array
  std::string collective;  ///< "all_reduce"
  Location at;             ///< where the file has it
};

struct ModelStep {
  std::string name, about;
  NamedSizes shape;  ///< every symbol
  std::string dtype;
  Issue issue = Issue::stream;
  std::int64_t gpus = 1;  ///< that share it
  std::int64_t tokens = 1;
  std::optional<std::int64_t> holds;  ///< bytes of a GPU
  std::vector<StepEntry> entries;
};

/// A bundled step by name, or a file by path, at the symbols of the question. `gpus`: that the machine has; the step's
/// symbol for them has that default. Throws Error.
[[nodiscard]] ModelStep load_step(const StepAsk& ask, std::int64_t gpus);

/// Names of the bundled steps, sorted.
[[nodiscard]] std::vector<std::string> builtin_steps();

/// The description of a bundled step, and its symbols with their defaults: "b=1 q x=q".
struct StepNotes {
  std::string about;
  std::vector<std::string> symbols;
};
[[nodiscard]] StepNotes notes_of_step(const std::string& name);

}  // namespace napkin
