#pragma once
// text_of prints an answer for people in a few lines: the question, kernel and tile, time, transfers, the certainty of
// the prediction, and the reasons. explained prints the whole answer: levels, pipes, ranking.

#include <string>
#include <string_view>

#include "apps/report/table.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal::report {

[[nodiscard]] std::string text_of(const QueryAnswer& answer, const Style& style);
[[nodiscard]] std::string text_of(const SelectAnswer& answer, const Style& style);
[[nodiscard]] std::string explained(const QueryAnswer& answer, const Style& style);
[[nodiscard]] std::string explained(const SelectAnswer& answer, const Style& style);
/// The speed of another kernel over the answer's from which on the text of a selection names it.
inline constexpr double worth_naming = 1.2;

/// Writes the levels of an abstract machine from the top down, one answer for each memory.
[[nodiscard]] std::string text_of(const std::vector<QueryAnswer>& levels, const Style& style);
[[nodiscard]] std::string text_of(const FamilyAnswer& answer, const Style& style);

/// Writes the question on a machine: algorithm, shape, kernel, tile.
[[nodiscard]] std::string heading(const Head& head, const Style& style);
/// Writes a line of an answer: "label text", broken if it is long.
[[nodiscard]] std::string labelled(std::string_view label, std::string_view text, const Style& style);

/// Writes a tile: "q=128 x=176 stages=2 overlap=on".
[[nodiscard]] std::string text_of(const TileValues& tile);
/// Writes the knobs that differ from `other`.
[[nodiscard]] std::string differences(const TileValues& tile, const TileValues& other);
/// Writes sizes: "b=2 h=16 q=8192".
[[nodiscard]] std::string text_of(const NamedSizes& sizes);
/// Writes pipes, busiest first: "tensor cores 93%, L2 -> shared 60%".
[[nodiscard]] std::string text_of_pipes(const Head& head, const PredictedAnswer& predicted);
/// Writes "4 parts of each result, in l2 by turns: 12.6 MB in, 12.6 MB out; 4 turns, 2.4 us".
[[nodiscard]] std::string combine_text(const CombineAnswer& combine);
/// Returns true if a level keeps nothing and passes on all that it receives, as a cluster of one block does.
[[nodiscard]] bool hands_on(const std::vector<LevelAnswer>& levels, std::size_t level);
/// Writes the bytes that levels move and hold: one table in the abstract machine's values, two in bytes.
[[nodiscard]] std::string table_of(const Head& head, const std::vector<LevelAnswer>& levels, const Style& style);

}  // namespace napkin::internal::report
