#pragma once
// A Selection is what a question's tiles are ranked to; Tables keep in memory what further questions of a kind use.

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "model/clock/prediction.hpp"
#include "solver/space/candidates.hpp"
#include "solver/space/setup.hpp"

namespace napkin::internal {

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
  std::optional<Ranked> runner_up;  ///< best tile whose predicted time differs from the first's, if wanted
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

  /// Returns the table of the question's kind, made if no question of that kind was met before.
  [[nodiscard]] std::shared_ptr<Table> of(const Setup& setup);
  /// Counts the table's bytes after its use, and drops tables used longest ago, never this one, if all take too many.
  void count_bytes(Table& table);

 private:
  std::shared_ptr<TableMemory> memory_;
  std::mutex making_;  // locked while a table is made
};

/// Makes a workspace whose tables share that memory; nullptr: they have their own.
[[nodiscard]] std::shared_ptr<Workspace> make_workspace(std::shared_ptr<TableMemory> memory = nullptr);
/// Returns the setup on another machine, with a workspace of its own.
[[nodiscard]] Setup on_machine(Setup setup, std::shared_ptr<const Machine> machine);

}  // namespace napkin::internal
