#pragma once
// A Scan is one question's way through the parts of its table: bounds first, times where bounds do not rule a row out.
//
// Parts come in the order of what their tiles take at least. In a part the row with the least bound is timed first;
// another row only where its bound is no longer than the best time of the size, or than the runner-up's.

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "solver/select/table.hpp"

namespace napkin {

/// Tiles that were timed: the best of each size, at most so many, and the best whose time differs from the first's.
class Best {
 public:
  struct Found {
    double time = 0;
    std::int64_t size = 0;
    TablePart* part = nullptr;
    const TileRow* row = nullptr;
  };
  /// What a row moves into blocks, asked for only where two times are one.
  using BytesOf = std::function<Count(const TileRow&)>;
  /// `runner_up`: whether the second is wanted.
  Best(std::size_t most, BytesOf bytes, bool runner_up = true)
      : most_(most), bytes_of_(std::move(bytes)), runner_up_(runner_up) {}
  /// No tile of that size that takes longer changes anything.
  [[nodiscard]] double enough(std::int64_t size) const;
  /// No tile of any further size that takes longer changes anything.
  [[nodiscard]] double enough() const;
  void take(const Found& found);
  [[nodiscard]] const std::vector<Found>& best() const { return best_; }
  [[nodiscard]] const Found* second() const { return second_.row != nullptr ? &second_ : nullptr; }

 private:
  [[nodiscard]] bool is_before(const Found& a, const Found& b) const;
  void take_second(const Found& found);

  [[nodiscard]] double second_time() const;

  std::size_t most_;
  BytesOf bytes_of_;
  bool runner_up_;
  std::vector<Found> best_;
  Found first_, second_;
};

/// Whether a launch follows from a block's extents: not where the nodes divide the iterations among themselves and cut
/// tiles. The tiles of such a mapping are timed one by one.
[[nodiscard]] bool is_scannable(const Mapping& mapping);

/// Whether a tile's extents follow from the question's lengths, an axis cut into so many parts: then a table serves
/// questions of one shape alone.
[[nodiscard]] bool serves_one_shape(const Mapping& mapping);

class Scan {
 public:
  /// The question must outlive it.
  Scan(std::shared_ptr<Table> table, const Question& question);

  /// Makes the parts that the table lacks, where that is not done yet; all but noticed() begin with it.
  void find_parts(const MakingTable& making = {});
  [[nodiscard]] const Question& question() const { return question_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }  ///< of all scans its own
  [[nodiscard]] const Space& space() const { return table_->candidates().space(); }
  [[nodiscard]] Selection rank(int top);
  /// The best tile with that value of a knob, and its time; nothing where no such tile is legal.
  struct Timed {
    Tile tile;
    Seconds time;
  };
  [[nodiscard]] std::optional<Timed> best_with(KnobId knob, std::int64_t value);
  [[nodiscard]] Rejections count();
  /// Of a tile that is legal at the question, with what device memory sends again where that takes longer. Nothing
  /// where the table has no row of it, or the roofline ranks.
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
  struct Floor {
    double seconds = 0;
    TablePart* part = nullptr;
  };
  /// The columns of the blocks that one of mean length lies between, and how many more iterations each has.
  struct MeanColumns {
    MeanBlock block, uncut;
    double mean = 0, blocks = 1;
    const TablePart::Column *fewer = nullptr, *longer = nullptr, *more = nullptr;
    double fewer_beyond = 0, longer_beyond = 0, more_beyond = 0;
  };
  struct Shape {
    TablePart* part = nullptr;
    LaunchShape launch;
    double device = 0;  ///< bytes, each once
    std::vector<std::pair<std::pair<std::uint32_t, std::int64_t>, double>> sent =
        {};                                ///< device_bytes_of(), by variant and order
    std::vector<MeanColumns> blocks = {};  ///< one; of a packed batch by length
  };
  /// A row's block of mean length.
  struct MeanClocks {
    BlockClocks clocks;
    bool known = true;  ///< false: some of its runs are not made, and no block goes below the clocks
  };
  struct Bound {
    double least = 0;  ///< cycles; by the roofline seconds
    const TileRow* row = nullptr;
  };
  using Only = std::optional<std::pair<KnobId, std::int64_t>>;  ///< a knob and its value

  [[nodiscard]] Best run(Best best, Only only = std::nullopt);
  void find_floors();
  void scan(TablePart& part, Only only, Best& best);
  void find_bounds(Shape& shape, double most);
  [[nodiscard]] bool is(Only only, std::int64_t rank) const;
  [[nodiscard]] Prediction full(TablePart& part, const TileRow& row, bool rereads);
  [[nodiscard]] double time_of(TablePart& part, const TileRow& row);
  [[nodiscard]] Best::BytesOf moved();
  [[nodiscard]] Timing timing_of(TablePart& part, const TileRow& row, const PlacedDiagram& placed);
  [[nodiscard]] LaunchClocks clocks_of(const TileRow& row, const PlacedDiagram& placed, Shape& shape);
  [[nodiscard]] double device_bytes_of(const TileRow& row, const PlacedDiagram& placed, Shape& shape) const;
  [[nodiscard]] double bound_of(const TileRow& row, const Shape& shape, BlockClocks block) const;
  void find_columns(Shape& shape);
  [[nodiscard]] MeanColumns columns_of(TablePart& part, double mean, const MeanBlock& block, const MeanBlock& uncut);
  [[nodiscard]] MeanClocks block_of(const TileRow& row, Shape& shape);
  [[nodiscard]] MeanClocks block_of(const TileRow& row, const TablePart& part, const MeanColumns& columns) const;
  void make_runs(const TileRow& row, Shape& shape);
  [[nodiscard]] double most_within(const Shape& shape, double seconds) const;
  [[nodiscard]] bool may_end_within(const TileRow& row, const Shape& shape, double least, double seconds) const;
  /// By any of the part's rows.
  [[nodiscard]] Shape& shape_of(TablePart& part, const TileRow& any);
  [[nodiscard]] const TimeModel& model_of(const TileRow& row, const PlacedDiagram& placed);
  [[nodiscard]] const PlacedDiagram& place(const TileRow& row) { return table_->place(*this, row.legal); }
  [[nodiscard]] std::int64_t rank_of(std::uint32_t legal) const { return table_->rank_of(legal); }

  std::uint64_t number_;
  std::shared_ptr<Table> table_;
  const Question& question_;
  std::optional<Allowed> allowed_;  ///< where parts_ have been found
  std::vector<TablePart*> parts_;   ///< by sizes; nullptr: lengths rule it out
  std::vector<Floor> floors_;       ///< of parts, the least first
  std::unordered_map<const TablePart*, Shape> shapes_;
  std::vector<std::unique_ptr<TimeModel>> models_;  ///< by variant
  const TimeModel* model_ = nullptr;                ///< the model of any variant: for what all variants share
  std::vector<Bound> waiting_;                      ///< of the part at hand
  std::unordered_map<const TileRow*, double> timed_;
  std::unordered_map<const TileRow*, Count> moved_;
};

}  // namespace napkin
