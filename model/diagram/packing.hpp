#pragma once
// A packing has sequences of different lengths in one batch, one after another: lengths 512, 4096 and 1 are 4,609
// rows, and row 512 is the first of the second sequence. (eq. 2.7)

#include <string>
#include <vector>

#include "model/diagram/problem.hpp"

namespace napkin::internal {

/// Returns the axes that have lengths, without sequences: b, and the rows and columns of the mask. Throws Error at
/// `where` if the diagram lacks them, or if all sequences share an input or output.
[[nodiscard]] Packing packing_axes(const Diagram& diagram, const std::string& where);

/// Returns the most queries and the most keys of any sequence. Throws Error at `where` without sequences, for a
/// negative length, and if none has both queries and keys.
[[nodiscard]] SequenceLengths longest_of(const std::vector<SequenceLengths>& sequences, const std::string& where);

/// The sequences of a batch that have one length.
struct EqualSequences {
  SequenceLengths lengths;
  std::vector<std::int64_t> which;  ///< places of the sequences in the batch
};
/// Returns the sequences with queries, by length; the order of the batch does not matter.
[[nodiscard]] std::vector<EqualSequences> by_length(const std::vector<SequenceLengths>& sequences);

/// Makes the problem of the sequences of one length. Sequences without keys get a single key: see PackedPart::blank.
[[nodiscard]] Problem problem_of(const Problem& whole, const EqualSequences& equal);

/// Makes the launch's problem, in which all sequences are as long as the longest. It serves quantities that do not
/// depend on the lengths.
[[nodiscard]] Problem launch_problem(const Problem& whole);

/// Coarsens lengths to at most `most` different ones for searches: each is the mean of lengths near it in work, in
/// shares of about equal work. Keeps the number of sequences.
[[nodiscard]] std::vector<SequenceLengths> coarsened(const std::vector<SequenceLengths>& sequences, std::size_t most);

/// Writes lengths: "512,3*1x4096,0". A single number is of queries and keys; repeated lengths are counted.
[[nodiscard]] std::string text_of(const std::vector<SequenceLengths>& sequences);

}  // namespace napkin::internal
