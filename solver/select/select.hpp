#pragma once
// A Selector picks the configuration without tuning: for 8192 queries and keys of 16 heads of 128 on an H200 the 128 x
// 128 tile of attention_sm90 with two warpgroups, with its reason and the runners-up. It ranks the legal tiles by
// predicted time; the answer is exact: select_exhaustively, which times every tile, gives that answer too.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/clock/prediction.hpp"
#include "solver/select/candidates.hpp"
#include "solver/space/question.hpp"

namespace napkin {

class Periods;
class Scan;
class Table;

struct Ranked {
  Tile tile;
  Prediction prediction;
};

/// Tiles are ranked by time, those of one time by the bytes that they move into blocks (tie.hpp), and those of one
/// number of bytes by their knobs' order of preference.
struct Selection {
  std::vector<Ranked>
      ranked;        ///< of each size (size_knobs) the best tile, best first, at most `top`; empty: nothing fits
  Count candidates;  ///< tiles in the space, legal or not
  std::optional<Ranked> runner_up;  ///< the best tile whose predicted time differs from the first's
};

/// The tables of the kinds of questions met so far. Safe from several threads. Questions of a kind that share a
/// diagram, a mapping and a machine by their addresses share a table: all three must outlive the Tables unchanged.
class Tables {
 public:
  Tables();
  ~Tables();
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  [[nodiscard]] std::shared_ptr<Table> of(const Question& question);
  /// Returns the table of the question's kind; nullptr where none was met before.
  [[nodiscard]] std::shared_ptr<Table> find(const Question& question);
  /// A table whose making ended in an error is not kept: the next question of its kind makes it anew.
  void forget(const Table& table);

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

/// Why a tile is the best.
struct Explanation {
  /// One sentence: what binds, what stops the next larger sizes, what the runner-up loses on, by the profile's names.
  std::string sentence;
  /// Clauses of it in the machine's words, without what an iteration takes, which the prediction has.
  std::vector<std::string> reasons;
};

/// Whether any tile of the question is legal.
[[nodiscard]] bool any_legal(const Question& question, Tables& tables);

/// One question: ranking, explaining and counting share what was found for it. Not for several threads at once.
class Selector {
 public:
  /// Question and tables must outlive it. Throws Error where the mapping does not fit the diagram or the machine.
  Selector(const Question& question, Tables& tables);
  ~Selector();

  [[nodiscard]] Selection rank(int top) const;
  /// Says why this tile; the next larger sizes with all other knobs free. Empty where nothing is ranked.
  [[nodiscard]] Explanation explain(const Selection& selection) const;
  [[nodiscard]] Rejections count_rejections() const;
  /// predict() of a tile that is legal at the question. Nothing where the table does not have the tile, or the roofline
  /// ranks.
  [[nodiscard]] std::optional<Prediction> noticed(const Tile& tile) const;

 private:
  std::unique_ptr<Scan> scan_;
};

/// As Selector::noticed, from a table that was met before; nothing where none is.
[[nodiscard]] std::optional<Prediction> noticed(const Question& question, const Tile& tile, Tables& tables);

/// The last constraint, in their order, that kept tiles out: those tiles keep all before it, so that nothing would fit
/// without more of what it asks for. "" where none did.
[[nodiscard]] std::string nearest_constraint(const Rejections& rejections);

/// Every legal tile with its prediction, best first: the twin that Selector is tested against, and what a sweep draws
/// from. Times each tile by itself, by the event graph where every legal tile has one, else by the roofline.
struct Exhausted {
  struct Timed : Ranked {
    Count into_blocks;  ///< bytes_into_blocks()
  };
  std::vector<Timed> all;
  Rejections rejections;
};
/// Periods of graphs met before are taken from `periods`, where it is given.
[[nodiscard]] Exhausted select_exhaustively(const Question& question, Periods* periods = nullptr);
/// The Selection that Selector::rank() gives, from all tiles.
[[nodiscard]] Selection selection_of(const Question& question, const Exhausted& exhausted, int top);

}  // namespace napkin
