#pragma once
// A Selector picks the configuration without tuning: for 8192 queries and keys of 16 heads of 128 on an H200 the 128 x
// 128 tile of attention_sm90 with two warpgroups, and the runners-up. It times tiles in ascending order of their lower
// bounds and stops when the next bound exceeds the worst of the best: of 6,578 tiles of attention_sm90 some ten are
// timed. The answer is exact: select_exhaustively, which times every tile, gives that answer too.
//
// A priority queue holds sizes of tiles, smallest bound first: at first by their tensor operations alone. When a size
// is popped, its part of the table is made, if no question has needed it before, and it is pushed again with the bound
// of the part's graphs; popped again, its launch is laid out and its rows are pushed with bounds of their own. A row
// that is popped has its graph run, then its blocks, and is pushed again if that raises its bound; a row that is known
// in full is timed.

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "model/clock/known_graphs.hpp"
#include "model/clock/run/period.hpp"
#include "solver/select/best.hpp"
#include "solver/select/table.hpp"
#include "solver/space/workspace.hpp"

namespace napkin::internal {

/// A ranking of the tiles of one question, for several purposes; results are shared between calls. Not thread-safe.
class Selector {
 public:
  /// Prepares a search over the sizes that lengths allow. Setup and tables must outlive it. Throws Error if the mapping
  /// does not fit the diagram or the machine.
  Selector(const Setup& setup, Tables& tables) : Selector(tables.of(setup), setup, &tables) {}
  /// Prepares a search in a table; nullptr: a table of no memory.
  Selector(std::shared_ptr<Table> table, const Setup& setup, Tables* tables = nullptr);
  ~Selector() {
    if (tables_ != nullptr) tables_->count_bytes(*table_);
  }
  Selector(const Selector&) = delete;
  Selector& operator=(const Selector&) = delete;

  [[nodiscard]] const Setup& setup() const { return setup_; }
  [[nodiscard]] Table& table() const { return *table_; }
  [[nodiscard]] const Allowed& allowed() const { return allowed_; }
  /// Returns true if any tile of the question is legal.
  [[nodiscard]] bool any_legal() const;
  /// Ranks the `top` best sizes; finds the runner-up too if it is wanted, for which more tiles are timed. May find none
  /// if every tile takes longer than the limit. A later call goes on from what earlier ones found.
  [[nodiscard]] Selection rank(int top, bool runner_up = true, Seconds limit = Seconds(INFINITY));
  /// Returns the best tile with that value of a free knob; nothing if no such tile is legal.
  [[nodiscard]] std::optional<Ranked> best_with(KnobId knob, std::int64_t value) const;
  [[nodiscard]] Rejections count_rejections() const;

  /// Finds or makes the part of tiles of one size: without its rows, but bounded by the pipes' work. The table's mutex
  /// must be held.
  [[nodiscard]] TablePart& part_of(std::uint32_t sizes);
  /// Makes the part's rows, each with its graph. The table's mutex must be held.
  void add_rows(TablePart& part);

 private:
  /// Lower bounds of a row's time.
  struct Bound {
    double seconds = 0, cycles = 0;
    const PartRow* row = nullptr;
    bool operator<(const Bound& other) const {  // the first of a queue is the greatest
      return seconds != other.seconds ? seconds > other.seconds : row->legal > other.row->legal;
    }
  };
  /// The tiles of one size, as far as searches have come.
  struct Walk {
    std::uint32_t sizes = 0;
    NodeBlocks blocks = {};
    double iterations = 0;                     ///< lower bound of the iterations of all blocks
    double device = 0;                         ///< joules of what device memory sends, once the launch is known
    double seconds = 0;                        ///< lower bound of the seconds of every tile left
    TablePart* part = nullptr;                 ///< part, once it is open
    std::unique_ptr<LaunchShape> launch = {};  ///< launch of an open part whose tiles have bounds
    std::size_t next = 0;                      ///< next row; earlier rows wait or are done
    double from_next = 0;  ///< lower bound of the seconds of the next row and all later ones; infinite: none is left
    std::priority_queue<Bound> waiting = {};
    std::vector<Bound> done = {};  ///< rows that are timed or too slow for the search at hand
    [[nodiscard]] double first_waiting() const { return waiting.empty() ? INFINITY : waiting.top().seconds; }
  };
  /// A row's time; until it is `whole`, without device memory's re-reads.
  struct Timed {
    Timing timing;
    bool whole = false;
  };

  void run(Best& best);
  [[nodiscard]] Walk walk_of(std::uint32_t sizes) const;
  [[nodiscard]] bool go_on(Walk& walk, Best& best);
  [[nodiscard]] bool is_left(Walk& walk) const;
  void lay_out(Walk& walk);
  void find_bounds(Walk& walk);
  void time_first(Walk& walk, Best& best);
  [[nodiscard]] double cells_of_question() const;
  /// The blocks of a size, beside those that fill up clusters, and the cells of one block's iteration.
  struct Grid {
    Count blocks;
    double cells = 1;
  };
  [[nodiscard]] Grid grid_of(const TileSizes& sizes) const;
  void look_ahead(Walk& walk) const;
  [[nodiscard]] double seconds_of(const Energy& energy, double cycles) const;
  [[nodiscard]] double seconds_of(const Walk& walk, const TablePart::AtLeast& least) const;
  [[nodiscard]] Energy energy_of(const Walk& walk, const PartRow& row) const;
  [[nodiscard]] Bound bound_of(const Walk& walk, const PartRow& row) const;
  [[nodiscard]] bool may_end_within(const Walk& walk, const Bound& bound, double seconds) const;
  bool learn(const TablePart& part, const PartRow& row, const LaunchShape& launch);

  [[nodiscard]] std::uint64_t facts_of(const TileSizes& sizes);
  [[nodiscard]] TileGraph& known(const EventGraph& graph);
  const PlacedDiagram& place_for_graph(std::uint32_t legal);

  /// Adds device memory's re-reads if they cost time. Returns false, and adds nothing, if no further launch may be
  /// simulated.
  bool notice(const TablePart& part, const PartRow& row, Timed& timed);
  [[nodiscard]] Timing timing_of(const Walk& walk, const PartRow& row);
  [[nodiscard]] Ranked ranked(const Best::Found& found);
  [[nodiscard]] const TimeModel& model_of(const PartRow& row);
  /// Places a legal tile at the question, an index into Candidates::legal(); valid until the next call.
  [[nodiscard]] const PlacedDiagram& place(std::uint32_t legal);

  std::shared_ptr<Table> table_;
  Tables* tables_;  ///< memory of the table; nullptr: it has none
  const Setup& setup_;
  double launch_;         ///< seconds that every launch takes beside its kernel
  bool masked_;           ///< true if a mask hides whole chunks from blocks
  double cells_;          ///< result of cells_of_question()
  std::uint64_t device_;  ///< facts on device memory: 1 if arrays come from there, 2 if blocks wait for it
  Allowed allowed_;
  std::vector<Walk> walks_;                            ///< sizes as far as earlier searches have come
  std::shared_ptr<KeptPlacer> placer_, graph_placer_;  ///< placers of the question and of as_graphs_need(), once used
  KnownGraphs graphs_;
  std::vector<std::optional<Periods::Digest>> digests_;  ///< digests without tokens, by KnownGraphs::number()
  std::vector<std::unique_ptr<TimeModel>> models_;       ///< models by variant
  std::map<std::uint32_t, double> device_bytes_;         ///< result of device_bytes(), by variant
  std::unordered_map<std::uint32_t, Timed> timed_;       ///< times by index into Candidates::legal()
  /// The number of launches that a search simulates for re-reads, least time first, at a millisecond or more each.
  /// Further tiles are ranked only if re-reads cannot cost them time.
  static constexpr int most_acted_out = 192;
  KnownRereads rereads_{most_acted_out};
  std::unique_ptr<Periods> own_periods_;  ///< periods of tiles that are timed one by one
  Periods& periods_;                      ///< these, or else the table's
};

}  // namespace napkin::internal
