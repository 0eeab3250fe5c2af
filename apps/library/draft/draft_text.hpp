#pragma once
// draft_text turns the counts of a kernel's machine code into the text of a mapping.

#include <string>
#include <vector>

#include "apps/library/draft/draft.hpp"
#include "kernels/sass/census.hpp"
#include "napkin/ask.hpp"

namespace napkin {

struct DraftOperation {
  std::string output;
  std::vector<std::string> inputs;
  bool product = false, is_output = false;
};

struct DraftInput {
  std::string name;
  bool streamed = false;
};

/// An algorithm's names, as far as a draft needs them.
struct DraftParts {
  std::string name, algorithm, source;
  std::vector<std::string> groups, whole;
  std::string stream, rows, columns, depth;
  std::vector<DraftInput> inputs;
  std::vector<DraftOperation> operations;
  int products = 0;
};

[[nodiscard]] Draft draft_text(const DraftParts& parts, const SassCensus& census, const TileText& tile);

}  // namespace napkin
