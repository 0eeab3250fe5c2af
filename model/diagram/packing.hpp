#pragma once
// A packing has sequences of different lengths in one batch, behind one another: lengths 512, 4096 and 1 are 4,609
// rows, and row 512 is the first of the second sequence. (eq. 2.7)

#include <string>
#include <vector>

#include "model/diagram/problem.hpp"

namespace napkin {

/// The axes that lengths are of, without sequences: b, and the rows and columns of the mask. Throws Error at `where`
/// for a diagram that has no such axes, or inputs or outputs that all sequences share.
[[nodiscard]] Packing packing_axes(const Diagram& diagram, const std::string& where);

/// Queries and keys of the longest, over all. Throws Error at `where` for no sequence, a negative length, and where
/// none has both queries and keys.
[[nodiscard]] SequenceLengths longest_of(const std::vector<SequenceLengths>& sequences, const std::string& where);

/// The sequences of a batch that have one length.
struct EqualSequences {
  SequenceLengths lengths;
  std::vector<std::int64_t> which;  ///< their places in the batch
};
/// The sequences with queries, by length; the order of the batch does not matter.
[[nodiscard]] std::vector<EqualSequences> by_length(const std::vector<SequenceLengths>& sequences);

/// The question of the sequences of one length alone. Of sequences without keys one key stands: see PackedPart::blank.
[[nodiscard]] Problem problem_of(const Problem& whole, const EqualSequences& equal);

/// The launch's question, in which all are as long as the longest: enough for what does not depend on lengths.
[[nodiscard]] Problem launch_problem(const Problem& whole);

/// As many sequences of at most so many different lengths: each of the mean of the lengths near it in work, which
/// shares have about equally. For searches over many lengths.
[[nodiscard]] std::vector<SequenceLengths> coarsened(const std::vector<SequenceLengths>& sequences, std::size_t most);

/// "512,3*1x4096,0": a length is of queries and keys where it is one number; equal lengths in a row are counted.
[[nodiscard]] std::string text_of(const std::vector<SequenceLengths>& sequences);

}  // namespace napkin
