#pragma once
// A Scan gives the best tiles of one question: they are timed in the order of what they take at least, until no
// other can be better. Of 6,578 tiles of attention_sm90 some ten are timed.
//
// A part of the table waits with a bound of all its tiles until it comes first in line. Then its rows wait, each with
// a bound of its own, and the part with the bound of the first of them. A row that comes first has its graph run, then
// its blocks, and waits again where that says more of it; a row of which all is known is timed.

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/clock/run/period.hpp"
#include "solver/select/best.hpp"
#include "solver/select/table.hpp"

namespace napkin {

class Scan {
 public:
  /// The question must outlive it.
  Scan(std::shared_ptr<Table> table, const Question& question);

  /// Makes the parts that the table lacks, where that is not done yet; all but noticed() begin with it.
  void find_parts();
  [[nodiscard]] const Question& question() const { return question_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }  ///< of all scans its own
  [[nodiscard]] const Space& space() const { return table_->candidates().space(); }
  [[nodiscard]] Selection rank(int top);
  /// The best tile alone; perhaps none where every tile takes longer than `limit` seconds.
  [[nodiscard]] Selection best(double limit);
  /// The best tile with that value of a knob, and its time; nothing where no such tile is legal.
  struct TileTime {
    Tile tile;
    Seconds time;
  };
  [[nodiscard]] std::optional<TileTime> best_with(KnobId knob, std::int64_t value);
  [[nodiscard]] Rejections count();
  /// Of a tile that is legal at the question. Nothing where the table has no row of it, or its tiles are timed one by
  /// one.
  [[nodiscard]] std::optional<Prediction> noticed(const Tile& tile);

  /// The next larger value of a knob that the rules of knobs allow, whatever values the others have.
  struct Larger {
    KnobId knob = 0;
    std::int64_t value = 0;
    std::vector<std::pair<KnobId, std::int64_t>>
        implied;        ///< values that all its tiles have, and the given one has not
    bool fits = false;  ///< some tile is legal
    std::string rule;   ///< where none is: what the tile that comes the closest to legal violates the most
    Excess excess;
  };
  [[nodiscard]] std::optional<Larger> next_larger(const Tile& tile, KnobId knob);

 private:
  [[nodiscard]] Selection selection_of(const Best& best, int top);
  /// A part at the question's lengths.
  struct Shape {
    LaunchShape launch;
    double device = 0;  ///< bytes, each once
  };
  struct Bound {
    double least = 0;  ///< cycles
    const TileRow* row = nullptr;
  };
  /// What is left of a part in one walk through the table.
  struct Walk {
    TablePart* part = nullptr;
    double seconds = 0;  ///< that every tile left takes at least
    bool open = false;
    Shape* shape = nullptr;                        ///< of an open part whose tiles have bounds
    std::size_t next = 0;                          ///< row: those before it wait, or are done with
    std::vector<Bound> waiting = {};               ///< the first one in front
    [[nodiscard]] double least_from_next() const;  ///< cycles; infinite where no row is left
    [[nodiscard]] double least_waiting() const;    ///< cycles; infinite where none waits
    void wait(double least, const TileRow& row);
    [[nodiscard]] Bound first();
    [[nodiscard]] static bool later(const Bound& a, const Bound& b) {
      return a.least != b.least ? a.least > b.least : a.row->legal > b.row->legal;
    }
  };
  /// A row's block of mean length.
  struct MeanClocks {
    BlockClocks clocks;
    bool known = true;  ///< false: some of its runs are not made, and no block goes below the clocks
  };
  using Only = std::optional<std::pair<KnobId, std::int64_t>>;  ///< a knob and its value

  [[nodiscard]] Best run(Best best, Only only = std::nullopt);
  [[nodiscard]] std::vector<Walk> walks(Only only);
  [[nodiscard]] bool go_on(Walk& walk, Only only, Best& best);
  void find_bounds(Walk& walk, Only only);
  void time_first(Walk& walk, Best& best);
  [[nodiscard]] bool is(Only only, std::int64_t rank) const;
  [[nodiscard]] Energy least_energy(const Walk& walk) const;
  [[nodiscard]] double seconds_at_least(const Energy& least, double cycles) const;
  [[nodiscard]] bool may_end_within(const Walk& walk, const Bound& bound, double seconds) const;
  [[nodiscard]] double bound_of(const TablePart& part, const TileRow& row, const Shape& shape) const;
  [[nodiscard]] MeanClocks block_of(const TablePart& part, const TileRow& row, const LaunchShape& launch) const;
  bool learn(const TablePart& part, const TileRow& row, const LaunchShape& launch);
  [[nodiscard]] const EventGraph& graph_of(const TileRow& row);

  [[nodiscard]] Best::BytesOf bytes_of();
  /// A row's time, without what device memory sends again until it is `whole`.
  struct Timed {
    Timing timing;
    bool whole = false;
  };
  [[nodiscard]] Timed& timed(TablePart& part, const TileRow& row);
  [[nodiscard]] double time_of(const TileRow& row, const Timed& timed) const;
  /// Adds what device memory sends again where that costs time; false, and nothing, where no more may be acted out.
  bool notice(TablePart& part, const TileRow& row, Timed& timed, KnownRereads& rereads);
  [[nodiscard]] Timing timing_of(TablePart& part, const TileRow& row, const PlacedDiagram& placed);
  [[nodiscard]] LaunchClocks clocks_of(const TablePart& part, const TileRow& row, const PlacedDiagram& placed,
                                       LaunchShape& launch);
  [[nodiscard]] Prediction full(TablePart& part, const TileRow& row);
  /// By any of the part's rows.
  [[nodiscard]] Shape& shape_of(const TablePart& part, const TileRow& any);
  [[nodiscard]] const TimeModel& model_of(const TileRow& row, const PlacedDiagram& placed);
  [[nodiscard]] const PlacedDiagram& place(const TileRow& row) { return table_->place(*this, row.legal); }
  [[nodiscard]] std::int64_t rank_of(std::uint32_t legal) const { return table_->rank_of(legal); }

  std::uint64_t number_;
  std::shared_ptr<Table> table_;
  const Question& question_;
  double launch_;                   ///< seconds that every launch takes beside its kernel
  std::optional<Allowed> allowed_;  ///< where parts_ have been found
  std::vector<TablePart*> parts_;   ///< by sizes; nullptr: lengths rule it out
  std::unordered_map<const TablePart*, Shape> shapes_;
  std::vector<std::unique_ptr<TimeModel>> models_;  ///< by variant
  const TimeModel* model_ = nullptr;                ///< the model of any variant: for what all variants share
  std::unordered_map<const TileRow*, Timed> timed_;
  /// Launches acted out in a search, the tiles of least time first: acting one out takes a millisecond and more. Of
  /// tiles beyond them none is ranked whose rereads could cost time.
  static constexpr int most_acted_out = 192;
  KnownRereads rereads_{most_acted_out};
  KnownRereads asked_;               ///< of tiles whose prediction is asked for
  Periods periods_;                  ///< of tiles that are timed one by one
  const TileRow* latest_ = nullptr;  ///< whose graph is graph_
  EventGraph graph_;
};

}  // namespace napkin
