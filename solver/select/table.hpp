#pragma once
// A table holds what all questions of one kind share: attention_sm90 at d = 128 without a mask has 4,869 legal tiles
// and 2,957 different event graphs, whose runs are made once and serve every length.
//
// Tiles whose time is equal at any length make one row: their event graphs, resident blocks, order, energies and sizes
// are equal. A question then is a scan over the rows (rank.cpp). A row's bound is the launch in closed form, never
// above the time; the time itself is found for rows whose bound is no longer than what is found already, so that the
// answer is exact.
//
// A graph depends on lengths by few facts: whether a block's copies are read by other blocks too, and whether the
// arrays outgrow the L2. Questions that agree in these facts for all tiles share their rows.

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/clock/time_model.hpp"
#include "solver/select/candidates.hpp"
#include "solver/select/select.hpp"

namespace napkin {

/// The kind of a question as a key, beside its diagram, mapping and machine: element type, kind of mask, the sizes that
/// no block divides, and domains that differ from the mapping's.
[[nodiscard]] std::string kind_of(const Question& question);

/// What a bound is multiplied by, since it adds up in another order than the time.
inline constexpr double rounding = 1 - 1e-9;

/// Tiles of equal time at any length.
struct TableRow {
  std::int64_t rank = 0;               ///< of the first tile
  std::uint32_t first = 0, count = 0;  ///< into TableRows::members: ranks of all tiles, ascending
  std::uint32_t sizes = 0;             ///< index into Table's sizes
  std::int32_t period = -1;            ///< index into TableRows::periods; -1: by the roofline
  std::int32_t load = -1;              ///< index into TableRows::loads; -1: by the graph
  std::int32_t variant = 0;            ///< tiles of one variant of the mapping have one number
  std::int32_t blocks = 1;             ///< resident on a node
  double cycle = 0;  ///< clocks that its cycles of waits take an iteration; 0: of several blocks a node
  BlockOrder order = BlockOrder::grid;
  bool cuts = false;  ///< EventGraph::has_cut_work
  BlockEnds ends = {};
  BlockEnergy energy = {};
};

/// The rows of questions that agree in all facts that graphs depend on.
struct TableRows {
  std::string facts;
  std::vector<TableRow> rows;  ///< by sizes, of each the shortest iteration first
  std::vector<std::int64_t> members;
  std::deque<Period> periods;  ///< explained
  std::vector<BlockLoad> loads;
  /// By sizes: a part of rows, and what none of them goes below.
  struct Part {
    std::uint32_t first = 0, last = 0;
    double least = 0;   ///< clocks of an iteration
    double cycle = 0;   ///< by its cycles of waits: but for the first most_to_settle iterations of a node
    double energy = 0;  ///< joules of one
  };
  std::vector<Part> parts;
  std::vector<double> least;  ///< by row: clocks of an iteration at least

  /// Clocks of the blocks of one part's rows, all of so many iterations with so many cut: what a scan reads.
  struct Column {
    int iterations = 0;
    CutIterations cut;
    std::vector<BlockClocks> clocks;  ///< not a number where a run is not known yet
  };
  std::vector<std::list<Column>> columns;  ///< by sizes; found again from the periods
  [[nodiscard]] const Column& column(std::uint32_t sizes, int iterations, CutIterations cut);
  /// Takes new runs of the row's period into the columns.
  void learn(const TableRow& row);
};

class Scan;

class Table {
 public:
  explicit Table(const Question& like);
  /// From the bytes that bytes() gave for a question of this kind. Throws Error where they are damaged.
  Table(const Question& like, std::string_view bytes);
  [[nodiscard]] std::string bytes();

  [[nodiscard]] const Candidates& candidates() const { return candidates_; }
  /// The rows for the question's facts, made where they are not there yet. They stay where they are.
  [[nodiscard]] TableRows& rows_for(const Question& question);
  /// Whether rows have been made since bytes() was called last: what is kept on disk lacks them.
  [[nodiscard]] bool has_grown() const { return grown_; }

 private:
  friend class Scan;
  Table(const Question& like, ByteReader reader);
  /// Legal tiles of equal length knobs.
  struct Sizes {
    std::int64_t rank = 0;        ///< of one of them
    std::int64_t size = 0;        ///< equal for tiles of one size (size_knobs)
    double cells = 1;             ///< of one iteration of one block
    std::vector<Count> extent{};  ///< by AxisId, of a block's group
  };
  /// The tiles with one value of a knob.
  struct WithValue {
    KnobId knob = 0;
    std::int64_t value = 0;
    std::vector<std::uint32_t> legal, misfits;  ///< into those of the candidates
  };
  void find_sizes(const Question& like);
  [[nodiscard]] const WithValue& with_value(KnobId knob, std::int64_t value);
  [[nodiscard]] std::string facts_of(const Question& question) const;
  void make_rows(const Question& question, TableRows& into);
  /// The tile of that rank at the scan's question. The mutex must be held.
  [[nodiscard]] const PlacedDiagram& place(const Scan& scan, std::int64_t rank, std::int32_t variant);

  Problem judged_;  ///< the launch that candidates are judged by: lengths do not matter
  Candidates candidates_;
  std::vector<Sizes> sizes_;
  std::vector<std::uint32_t> sizes_of_;            ///< by index of Candidates::legal()
  std::vector<std::vector<AxisId>> shared_along_;  ///< of each crossing the grouped axes that it lacks

  std::mutex mutex_;  ///< of what follows
  std::list<WithValue> with_value_;
  std::list<TableRows> made_;
  std::uint64_t bound_ = 0;  ///< the number of the scan whose problem the placer has
  Problem problem_;
  std::unique_ptr<Placer> placer_;
  std::vector<PlacedDiagram> placed_;  ///< by variant: kept, so that placing the next tile of it allocates nothing
  std::atomic<bool> grown_ = false;
};

}  // namespace napkin
