#pragma once
// A ModelStep holds the contents of a step's file at given symbols: the launches of one pass through a model, each a
// question, a pass over bytes or a call between GPUs. (grammar: docs/steps.md) Internal to apps/.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/library/ask/amount.hpp"
#include "napkin/ask.hpp"
#include "napkin/step.hpp"

namespace napkin::internal {

/// Launches of one kind.
struct StepEntry {
  std::string name;  ///< "layer.qkv"
  StepEntryAnswer::Kind kind = StepEntryAnswer::Kind::question;
  std::int64_t times = 1;
  Ask ask;                 ///< the question, without its machine
  std::int64_t bytes = 0;  ///< bytes to and from device memory (pass), or of the array (collective)
  std::string collective;  ///< "all_reduce"
  Location at;             ///< place in the file
};

struct ModelStep {
  std::string name, about;
  NamedSizes shape;  ///< every symbol
  std::string dtype;
  Issue issue = Issue::stream;
  std::int64_t gpus = 1;  ///< GPUs that share the step
  std::int64_t tokens = 1;
  std::optional<std::int64_t> holds;  ///< bytes of a GPU
  std::vector<StepEntry> entries;
};

/// Loads a bundled step by name, or a file by path, with the question's values for its symbols. `gpus`, the machine's
/// number, is the default of the step's symbol for it. Throws Error.
[[nodiscard]] ModelStep load_step(const StepAsk& ask, std::int64_t gpus);

/// Lists the bundled steps by name, sorted.
[[nodiscard]] std::vector<std::string> builtin_steps();

/// The description of a bundled step, and its symbols with their defaults: "b=1 q x=q".
struct StepNotes {
  std::string about;
  std::vector<std::string> symbols;
};
[[nodiscard]] StepNotes notes_of_step(const std::string& name);

}  // namespace napkin::internal
