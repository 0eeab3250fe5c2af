#pragma once
// A Selector picks the configuration without tuning: for 8192 queries and keys of 16 heads of 128 on an H200 the 128 x
// 128 tile of attention_sm90 with two warpgroups, and the runners-up. It ranks the legal tiles by
// predicted time; the answer is exact: select_exhaustively, which times every tile, gives that answer too.

#include <cmath>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "model/clock/prediction.hpp"
#include "solver/space/candidates.hpp"
#include "solver/space/setup.hpp"

namespace napkin::internal {

class Periods;
class Scan;
class Table;

struct Ranked {
  Tile tile;
  Prediction prediction;
};

/// Tiles ranked by time; tiles of equal time by the bytes that they move into blocks (tie.hpp), and of equal bytes by
/// the order of preference of their knobs.
struct Selection {
  std::vector<Ranked> ranked;  ///< best tile of each size (size_knobs), best first, at most `top`; empty: nothing fits
  Count candidates;            ///< tiles in the space, legal or not
  std::optional<Ranked> runner_up;  ///< if wanted: the best tile whose predicted time differs from the first's
};

/// The memory that the tables of several mappings share: it drops the tables used longest ago.
class TableMemory;
[[nodiscard]] std::shared_ptr<TableMemory> make_table_memory(std::size_t most_bytes = std::size_t{64} << 20U);

/// The tables of a mapping on a machine, one for each kind of question met so far. Safe from several threads.
class Tables {
 public:
  explicit Tables(std::shared_ptr<TableMemory> memory = make_table_memory());
  ~Tables();
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  [[nodiscard]] std::shared_ptr<Table> of(const Setup& setup);
  /// Returns the table of the question's kind; nullptr if no question of that kind was met before.
  [[nodiscard]] std::shared_ptr<Table> find(const Setup& setup);
  /// Drops a table whose making ended in an error, so that the next question of its kind makes it anew.
  void forget(const Table& table);
  /// Counts the table's bytes after its use, and drops tables used longest ago, never this one, if all take too many.
  void count_bytes(Table& table);

 private:
  std::shared_ptr<TableMemory> memory_;
  std::mutex making_;  // locked while a table is made
};

/// A ranking of the tiles of one question, for several purposes; results are shared between calls. Not thread-safe.
class Selector {
 public:
  /// Prepares the question. Setup and tables must outlive it. Throws Error if the mapping does not fit the diagram
  /// or the machine.
  Selector(const Setup& setup, Tables& tables);
  ~Selector();

  /// Returns true if any tile of the question is legal.
  [[nodiscard]] bool any_legal() const;
  /// Ranks the `top` best sizes; finds the runner-up too if it is wanted, for which more tiles are timed. May find none
  /// if every tile takes longer than the limit. A later call goes on from what earlier ones found.
  [[nodiscard]] Selection rank(int top, bool runner_up = true, Seconds limit = Seconds(INFINITY)) const;
  [[nodiscard]] Rejections count_rejections() const;
  [[nodiscard]] Scan& scan() const { return *scan_; }

 private:
  Tables& tables_;
  std::unique_ptr<Scan> scan_;
};

/// Returns the last constraint, in their order, that rejected tiles: nothing fits unless its resource grows; "" if none
/// did.
[[nodiscard]] std::string nearest_constraint(const Rejections& rejections);

/// Every legal tile with its prediction, best first: the result that Selector is tested against, and from which a sweep
/// draws. Each tile is timed by itself, by the event graph if every legal tile has one, else by the roofline.
struct Exhausted {
  struct Timed : Ranked {
    Count into_blocks;  ///< result of bytes_into_blocks()
    Seconds tie;        ///< time that breaks ties of time and bytes; for the ideal mapping without re-reads
  };
  std::vector<Timed> all;
  Rejections rejections;
};
/// Times every legal tile. Takes periods of known graphs from `periods`, if it is given.
[[nodiscard]] Exhausted select_exhaustively(const Setup& setup, Periods* periods = nullptr);
/// Makes the Selection that Selector::rank() gives, from all tiles.
[[nodiscard]] Selection selection_of(const Setup& setup, const Exhausted& exhausted, int top);

}  // namespace napkin::internal
