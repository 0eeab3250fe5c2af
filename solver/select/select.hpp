#pragma once
// The configuration without tuning: the legal tile of least predicted time, with the reason and the runners-up.

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/clock/prediction.hpp"
#include "solver/space/question.hpp"

namespace napkin {

struct Ranked {
  Tile tile;
  Prediction prediction;
  Count ties = 0;  ///< Each::size: how many other legal tiles of its sizes take exactly as long
};

/// What a ranking lists: every tile; or, of the tiles that agree in all knobs that size something (groups, chunks,
/// agents), the best one.
enum class Each { tile, size };

struct Selection {
  std::vector<Ranked> ranked;       ///< best first, at most `top`; empty: nothing fits
  Count candidates;                 ///< tiles in the space, legal or not
  std::optional<Ranked> runner_up;  ///< the best tile whose predicted time differs from the first's
};

class GraphSearches;

/// What is minimised: the seam between a placed diagram and a time. A finer clock is another Objective.
struct Objective {
  /// Time and explanation of a legal tile.
  std::function<Prediction(const PlacedDiagram&, const Plan&)> predict = predict_by_first_clock;
  /// predict().time of the placements of one variant and problem (those of `like`), without the explanation: exactly
  /// equal. Of the plan it sees blocks_per_sm alone.
  std::function<Timer(const PlacedDiagram& like)> time = first_clock_timer;
  /// At most time() of the same placement with that many blocks a node or fewer. Also asked for tiles that are illegal
  /// for what they need of a node. Empty, or of an empty timer: time() itself, which more blocks a node then never make
  /// longer, and which depends on the work of a placement alone.
  std::function<Timer(const PlacedDiagram& like)> bound = nullptr;
  /// The time also depends on the mapping's edges and on how many copies a variable has (an event graph), not on the
  /// work of the placement alone.
  bool reads_edges = false;
  /// Less work is never slower: an operand nearer, a buffer less, a copy shared. Lets the search bound many tiles by
  /// one.
  bool monotone = true;
  /// The event graph's, shared by predict and time: the search goes by the graph's own steps (model/clock/steps.hpp),
  /// and bound and the two above are not asked for.
  std::shared_ptr<Periods> periods = nullptr;
  /// The latest of these searches, for questions of the same kinds. Not for several threads at once.
  std::shared_ptr<GraphSearches> searches = nullptr;
};

/// The event graph's time. Keeps the periods of the graphs that it meets, whatever the question, and what the latest
/// kinds of questions have in common.
[[nodiscard]] Objective graph_objective();
/// The same for questions that no search by the graph's steps answers: some tiles have no event graph.
[[nodiscard]] Objective without_periods(Objective objective);

/// What `napkin select` answers: of each size the best tile by the event graph, in a part of the time of
/// graph_objective()'s ranking: it expects that the same way to work loses at other sizes what it lost at one, takes
/// the steady iteration of a block alone for that of all blocks, and fewer buffers to be no faster than more, and looks
/// a little beyond what it has. What it ranks has its own time; the runner-up is of other sizes, ties are not counted.
/// Against the whole ranking the first is within 0.1 %, the others within 2 % (tests/law). Where its first tile's
/// blocks have few iterations, ends count too much for that (its pick was up to 6 % over the best at s = 512): all is
/// ranked. Where the graph does not predict, the first clock's ranking. `objective`: graph_objective(), for what it has
/// met.
[[nodiscard]] Selection shortlist(const Question& question, int top);
/// `breadth`: it searches for so many at least, so that the first does not depend on how many are asked for; of one
/// alone without a runner-up.
[[nodiscard]] Selection shortlist(const Question& question, int top, const Objective& objective, int breadth = 5);

/// Bounds and prunes; equal to select_exhaustively in its first `top`. Ties are broken by the knobs' order of
/// preference.
[[nodiscard]] Selection select(const Question& question, int top);
[[nodiscard]] Selection select(const Question& question, int top, const Objective& objective, Each each = Each::tile);

/// How a question's candidates fare: what the search need not know and those who read its answer may ask.
struct Tally {
  Count legal;
  std::vector<std::pair<std::string, Count>> rejected;  ///< constraint -> tiles (each tile under the first it violates)
};
/// Counts them without visiting each.
[[nodiscard]] Tally tally(const Question& question);
/// The constraint that kept the most tiles out, the first of them in order where several tie; "" where none did.
[[nodiscard]] std::string nearest_constraint(const Tally& tally);

/// Why this tile, in one sentence: what binds, what stops the next larger sizes with all other knobs free, what the
/// runner-up loses on. Empty where nothing is ranked. Knows no algorithm.
/// The selection must be of that objective; without one, of Objective{}.
[[nodiscard]] std::string explain(const Question& question, const Selection& selection);
[[nodiscard]] std::string explain(const Question& question, const Selection& selection, const Objective& objective);

/// Ranks every tile in full, and counts them: the twin that select and tally are tested against.
struct Exhausted {
  Selection selection;
  Tally tally;
};
[[nodiscard]] Exhausted select_exhaustively(const Question& question, int top);
[[nodiscard]] Exhausted select_exhaustively(const Question& question, int top, const Objective& objective);

/// Where a tile stands among the legal tiles of its question, legal itself or not.
struct Standing {
  Count rank = 1;  ///< 1 and how many legal tiles are predicted to be faster: tiles of one time share a rank
  Count legal;
  Seconds time, shortest;  ///< its own, and that of the fastest legal tile (zero where there is none)
};

/// Predicts every legal tile: takes as long as select_exhaustively.
[[nodiscard]] Standing standing(const Question& question, const Tile& tile);
[[nodiscard]] Standing standing(const Question& question, const Tile& tile, const Objective& objective);

class Search;

/// Answers questions and remembers the latest answers, and of the latest kinds of questions what their answers have in
/// common: a question of another size is answered in a part of the time. A question is the same where it points to the
/// same streamed diagram, mapping and machine (which must outlive the Selector unchanged) and its problem, fixed knobs
/// and top are equal. Not for several threads at once.
class Selector {
 public:
  explicit Selector(Objective objective = {}, std::size_t remembered = 256);
  ~Selector();
  Selector(Selector&&) noexcept;
  Selector& operator=(Selector&&) noexcept;
  /// Valid until `remembered` other questions have been asked.
  const Selection& select(const Question& question, int top);

 private:
  struct Entry {
    Question question;
    int top = 0;
    std::size_t hash = 0;
    Selection selection;
  };
  [[nodiscard]] Selection ask(const Question& question, int top);

  Objective objective_;
  std::size_t remembered_;
  std::list<Entry> entries_;                     ///< latest first
  std::list<std::unique_ptr<Search>> searches_;  ///< latest first
};

}  // namespace napkin
