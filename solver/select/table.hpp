#pragma once
// A Table holds in memory what all questions of one kind share: attention_sm90 at d = 128 without a mask has 6,578
// legal tiles, each with bounds of its event graph. A graph is run when a question needs its result, and the result
// holds for every length.
//
// A graph depends on lengths by few facts: whether a block's copies are read by other blocks too, and whether the
// arrays outgrow the L2. So a table has a part for each size of tiles under each set of facts that a question met, and
// a question is a search over the parts of its facts (selector.hpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "model/clock/power/power.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/time_model.hpp"
#include "solver/select/select.hpp"
#include "solver/space/candidates.hpp"
#include "solver/space/kind.hpp"

namespace napkin::internal {

/// A factor for bounds, which add terms in another order than times do, and may be too large by rounding.
inline constexpr double rounded_down = 1 - 1e-9;

/// The facts of a tile that have few different combinations within a part.
struct TileTrait {
  BlockEnds ends = {};
  std::int32_t blocks = 1;  ///< resident on a node
  BlockOrder order = BlockOrder::grid;
  bool cuts = false;  ///< true if EventGraph::has_cut_work()
  bool operator==(const TileTrait&) const = default;
};

/// An event graph, which many tiles may have in common.
struct TileGraph {
  double pipe = 0;                 ///< clocks of an iteration at least, by the busiest pipe
  double cycle = 0;                ///< clocks of an iteration at least, by the graph's cycles of waits
  const Period* period = nullptr;  ///< period, if the graph was run
  bool explained = false;          ///< true if the period has its critical cycle
};

/// A legal tile with the part of its time that does not depend on lengths: its graph, and indices into the lists of its
/// part.
struct PartRow {
  std::uint32_t legal = 0;  ///< index into Candidates::legal()
  std::uint32_t trait = 0, energy = 0;
  TileGraph* graph = nullptr;
};

/// A block of mean length; for a packed batch, the mean of all blocks.
struct MeanClocks {
  BlockClocks clocks;
  bool known = true;  ///< false if some of its runs are missing, so that the clocks are a lower bound
};

/// The blocks of the busiest node, at least.
struct NodeBlocks {
  double blocks = 0;
  double iterations = 0;  ///< mean iterations of a block
  double cuts = 0;        ///< mean iterations of a block that a mask cuts, at most
};

/// The tiles of one size, for questions that agree in all facts on which their graphs depend. Rows are made once graphs
/// may decide; until then the work of the tiles on pipes bounds them.
struct TablePart {
  /// Clocks and joules that a node takes at least.
  struct AtLeast {
    double pipe = 0;    ///< clocks of an iteration, by the busiest pipe
    double cut = 0;     ///< clocks of an iteration that a mask cuts
    double whole = 0;   ///< clocks of any other iteration, by the cycles of waits too
    double ends = 0;    ///< clocks of a block beside its iterations
    double energy = 0;  ///< joules of an iteration

    [[nodiscard]] double cycles_of(const NodeBlocks& blocks) const;
  };

  std::uint32_t sizes = 0;
  std::uint64_t facts = 0;
  AtLeast least;  ///< bounds of every tile

  std::vector<PartRow> rows;  ///< rows, ascending by the clocks of an iteration at least, then by its energy
  std::vector<TileTrait> traits;
  std::vector<BlockEnergy> energies;
  [[nodiscard]] AtLeast at_least(const PartRow& row) const;
  /// Returns a lower bound of the period of the row's graph, without a run.
  [[nodiscard]] static Period least_period(const PartRow& row);
  std::vector<AtLeast> from_row;  ///< bounds by row, over that row and all later ones
  /// Returns a bound of a row's cycles: the launch in closed form, from its graph's period, or a bound of it until the
  /// graph is run.
  [[nodiscard]] double bound_of(const PartRow& row, const LaunchShape& launch) const;
  /// Returns a block's clocks. If blocks persist, `first` exceeds `next` by no more than in any part of a packed batch.
  [[nodiscard]] MeanClocks block_of(const PartRow& row, const LaunchShape& launch) const;

  /// Sorts new rows, and computes lower bounds over them.
  void finish();
};

/// Legal tiles of equal length knobs.
struct TileSizes {
  Tile any;                     ///< tile that stands for its size
  std::int64_t size = 0;        ///< equal for tiles of one size (size_knobs)
  double chunk = 1;             ///< extent of an iteration along the streamed axis
  double across = 1;            ///< extent of a block along the axis whose groups a mask cuts differently, at most
  std::vector<Count> extent{};  ///< extent of a block's group, by AxisId
  double tensor = 0;            ///< clocks that tensor operations of an iteration of every tile take at least
  double energy = 0;            ///< joules that they take at least
  std::vector<std::uint32_t> legal{};  ///< tiles, indices into Candidates::legal()
  std::vector<std::uint32_t> works{};  ///< a tile for each work on pipes that tiles of the size have
  std::vector<TablePart*> parts{};     ///< parts, one for each set of facts met
};

/// Returns a packed batch of the longest sequence and another one: graphs depend only on whether lengths differ.
[[nodiscard]] Problem as_graphs_need(const Problem& whole);

class Selector;

class Table {
 public:
  explicit Table(const Setup& like);

  [[nodiscard]] const Candidates& candidates() const { return candidates_; }
  [[nodiscard]] std::size_t bytes();  ///< returns the memory that it takes, within a tenth
  [[nodiscard]] std::size_t sizes() const { return sizes_.size(); }  ///< returns the number of sizes of tiles
  [[nodiscard]] std::list<TablePart>& parts() { return parts_; }     ///< returns the parts that questions have needed

 private:
  friend class Selector;
  [[nodiscard]] Candidates find_sizes(const Setup& like);
  [[nodiscard]] std::int64_t rank_of(std::uint32_t legal) const { return candidates_.legal()[legal]; }
  [[nodiscard]] Tile tile(std::uint32_t legal) const { return candidates_.space().tile(rank_of(legal)); }

  Problem judged_;           ///< launch by which candidates are judged: its lengths do not matter
  bool by_graph_ = true;     ///< true if every legal tile has an event graph; else the roofline times all
  bool one_by_one_ = false;  ///< true if tiles are timed one by one, without bounds of graphs
  EnergyRates rates_;
  PowerLaw power_;
  Hertz clock_;  ///< clock that a time assumes if the machine has no energies
  std::vector<TileSizes> sizes_;
  std::vector<std::uint32_t> variant_of_;          ///< variant, by index of Candidates::legal()
  std::vector<std::vector<AxisId>> shared_along_;  ///< grouped axes that a crossing lacks, by crossing
  bool counts_readers_ = false;                    ///< true if counts_readers() of some tile
  Candidates candidates_;                          ///< candidates, by which the members above are found

  std::mutex mutex_;  ///< guards the members below, and parts
  Periods periods_;   ///< periods of graphs that were run
  std::unordered_map<Periods::Digest, TileGraph, Periods::Hash> graphs_;
  std::list<TablePart> parts_;
  TileGraph no_graph_;  ///< graph of tiles which are timed one by one
  std::size_t bytes_ = 0;
  std::array<std::size_t, 3> counted_at_{};  ///< numbers of parts, graphs and periods when bytes_ was counted
};

}  // namespace napkin::internal
