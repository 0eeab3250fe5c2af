#pragma once
// draft_text turns the counts of a kernel's machine code into the text of a mapping.

#include <string>
#include <vector>

#include "apps/library/draft/draft.hpp"
#include "kernels/sass/census.hpp"
#include "napkin/ask.hpp"

namespace napkin::internal {

/// An operation of the algorithm: P = softmax (S) has the output P and the input S.
struct DraftOperation {
  std::string output;
  std::vector<std::string> inputs;
  bool product = false;    ///< true for a contraction of two arrays
  bool is_output = false;  ///< true if `output` is an output of the algorithm
};

struct DraftInput {
  std::string name;
  bool streamed = false;  ///< true if it comes chunk by chunk, as K does
};

/// An algorithm's names, as far as a draft needs them; the axes in the comments are attention's.
struct DraftParts {
  std::string name;                 ///< mapping's name
  std::string algorithm;            ///< algorithm's name, or its diagram's file
  std::string source;               ///< place of the machine code, for the mapping's `about`
  std::vector<std::string> groups;  ///< grouped axes: b, h, g, q
  std::vector<std::string> whole;   ///< axes that a block holds whole: d, dv
  std::string stream;               ///< streamed axis: x
  std::string rows;                 ///< axis of the first product's rows: q
  std::string columns;              ///< axis of a single product's columns; empty for two products
  std::string depth;                ///< contracted axis of the first of two products: d
  std::vector<DraftInput> inputs;
  std::vector<DraftOperation> operations;
  int products = 0;  ///< number of contractions
};

/// Writes the mapping from the census's numbers; marks with "# TODO" what they leave open. `tile` gives sizes that they
/// leave open.
[[nodiscard]] Draft draft_text(const DraftParts& parts, const SassCensus& census, const TileText& tile);

}  // namespace napkin::internal
