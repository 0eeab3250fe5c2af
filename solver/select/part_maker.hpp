#pragma once
// A PartMaker finds the parts of a table at one question's facts, and makes those that no question has needed before:
// for 8192 queries of attention_sm90 on an H200 25 parts of 71.

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "model/clock/known_graphs.hpp"
#include "solver/select/table.hpp"

namespace napkin::internal {

/// A maker of a table's parts. It finds a part by the facts of a question on which the graphs of a size depend: the
/// copies that other blocks read too, the number of parts of the streamed axis, whether arrays come from device memory,
/// whether blocks wait for it, and the number of working nodes.
class PartMaker {
 public:
  /// Prepares the maker; the table and the question's selector must outlive it.
  PartMaker(Table& table, Selector& selector);
  /// Finds or makes the part of tiles of one size: without its rows, but bounded by the pipes' work. The table's mutex
  /// must be held.
  [[nodiscard]] TablePart& part_of(std::uint32_t sizes);
  /// Makes the part's rows, each with its graph. The table's mutex must be held.
  void add_rows(TablePart& part);

 private:
  [[nodiscard]] std::uint64_t facts_of(const TileSizes& sizes);
  [[nodiscard]] Count blocks_of(const TileSizes& sizes);
  void bound(TablePart& part);
  const PlacedDiagram& place(std::uint32_t legal);
  void add(std::uint32_t legal, TablePart& part);
  bool add_graph(const PlacedDiagram& placed, PartRow& row, TablePart& part);

  Table& table_;
  Selector& selector_;
  const Setup& setup_;
  std::optional<Problem> problem_;     // result of as_graphs_need(), once a part is made
  std::optional<Placer> placer_;       // placer of problem_
  std::vector<PlacedDiagram> placed_;  // latest tiles by variant
  std::uint64_t device_;
  bool parts_;  // true if blocks cut the streamed axis
  KnownGraphs graphs_;
  std::vector<Periods::Digest> digests_;                     // digests without tokens, by a graph's number
  std::map<std::array<double, 4>, std::uint32_t> energies_;  // numbers in the list of the part at hand
};

}  // namespace napkin::internal
