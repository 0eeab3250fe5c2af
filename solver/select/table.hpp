#pragma once
// A Table holds what all questions of one kind share: attention_sm90 at d = 128 without a mask has 6,578 legal tiles
// and 3,948 different event graphs, whose runs are made once and serve every length.
//
// A graph depends on lengths by few facts: whether a block's copies are read by other blocks too, and whether the
// arrays outgrow the L2. So a table has a part for each size of tiles under each set of facts that a question met, and
// a question is a scan over the parts of its facts (scan.hpp). A part from a file is read when a scan comes to it.

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/clock/time_model.hpp"
#include "solver/select/candidates.hpp"
#include "solver/select/kind.hpp"
#include "solver/select/select.hpp"

namespace napkin {

/// What a bound is multiplied by, since it adds up in another order than the time.
inline constexpr double rounding = 1 - 1e-9;

/// What the tiles of a part have in a few combinations.
struct TileTrait {
  BlockEnds ends = {};
  std::int32_t blocks = 1;  ///< resident on a node
  BlockOrder order = BlockOrder::grid;
  bool cuts = false;  ///< EventGraph::has_cut_work
  bool operator==(const TileTrait&) const = default;
};

/// The period of one event graph or of several equal ones.
struct TilePeriod {
  Period period;            ///< without the names of what binds it
  double cycles = 0;        ///< clocks of an iteration at least, by the graph's cycles of waits
  std::uint32_t binds = 0;  ///< index into those of the table
};

/// A legal tile with all of its time that does not depend on lengths: indices into the lists of its part.
struct TileRow {
  std::uint32_t legal = 0;   ///< index into Candidates::legal()
  std::int32_t period = -1;  ///< -1: tiles are timed one by one
  std::uint32_t trait = 0, energy = 0;
};

/// The tiles of one size at questions that agree in all facts that their graphs depend on.
struct TablePart {
  std::uint32_t sizes = 0;
  std::uint64_t facts = 0;
  double least = 0;            ///< clocks that an iteration of every tile takes at least
  double cycle = 0;            ///< by the cycles of waits; not of the first most_to_settle iterations of a node
  double energy = 0;           ///< joules that an iteration of every tile takes at least
  double ends = 0;             ///< clocks of a block of every tile beyond its iterations at `least`, from `settled` on
  int settled = 1;             ///< iterations from which on the blocks of all rows go on at their periods
  std::string_view bytes;      ///< where it is not read yet
  std::uint64_t checksum = 0;  ///< of `bytes`

  std::vector<TileRow> rows;  ///< the shortest steady iteration first
  std::vector<TilePeriod> periods;
  std::vector<TileTrait> traits;
  std::vector<BlockEnergy> energies;
  /// Clocks of an iteration that no row from one on takes less than.
  struct AtLeast {
    double pipe = 0;      ///< of the busiest pipe
    double settling = 0;  ///< of a node while its blocks settle
    double steady = 0;    ///< of a node that has settled
  };
  std::vector<AtLeast> at_least;  ///< by row

  /// Of a node that runs so many equal blocks of so many iterations, by the pipes alone: cycles at least.
  [[nodiscard]] double cycles_of_equal(double blocks, double iterations) const {
    return blocks * (iterations * least + (iterations >= settled ? ends : 0));
  }
  [[nodiscard]] double ends_at_least(const TileRow& row) const;
  /// Sorts new rows, and finds what all of them take at least.
  void finish();
};

/// Legal tiles of equal length knobs.
struct TileSizes {
  std::int64_t rank = 0;        ///< of one tile of the size
  std::int64_t size = 0;        ///< equal for tiles of one size (size_knobs)
  double cells = 1;             ///< of one iteration of one block
  std::vector<Count> extent{};  ///< by AxisId, of a block's group
  std::list<TablePart> parts{};
};

class Scan;

class Table {
 public:
  explicit Table(const Question& like);
  /// From the bytes that bytes() gave for a question of this kind. Throws Error where they are damaged.
  Table(const Question& like, SharedBytes bytes);
  [[nodiscard]] std::string bytes();

  [[nodiscard]] const Candidates& candidates() const { return candidates_; }
  /// By sizes the part for the question's facts, made where it is not there yet; nullptr where lengths rule the size
  /// out. They stay where they are.
  [[nodiscard]] std::vector<TablePart*> parts_for(const Question& question, const Allowed& allowed,
                                                  const MakingTable& making = {});
  /// The tile's row with its part, read; nothing where the table has none for the question's facts. The mutex must be
  /// held.
  struct Found {
    TablePart* part = nullptr;
    const TileRow* row = nullptr;
  };
  [[nodiscard]] std::optional<Found> find(const Question& question, const Tile& tile);
  /// Whether what is kept on disk lacks what took longer to make than the table takes to write, and a quarter of what
  /// was made here before; any rows where nothing is kept yet.
  [[nodiscard]] bool has_grown() const { return made_ > most_unkept_; }

 private:
  friend class Scan;
  friend class PartMaker;
  struct Head;
  Table(const Question& like, SharedBytes bytes, Head head);
  /// What binds a period: the names of its busiest pipe and of its cycle of waits.
  struct Binds {
    std::string pipe;
    bool beside_tensor = false;
    std::vector<std::string> cycle;
    auto operator<=>(const Binds&) const = default;
  };
  [[nodiscard]] bool is_timed_one_by_one(const Question& like) const;
  void find_sizes(const Question& like);
  void find_shared(const Question& like, const PlacedDiagram& placed);
  class Facts;
  [[nodiscard]] std::optional<std::uint32_t> legal_of(const Tile& tile) const;
  [[nodiscard]] std::uint32_t number_of(const Period& period);
  /// Reads the part where that is not done yet; makes it anew where its bytes are damaged. The mutex must be held.
  void read(TablePart& part, const Question& question);
  void decode(TablePart& part) const;
  [[nodiscard]] std::string encode(TablePart& part) const;
  template <class Archive, class Body>
  void fields_of_head(Archive& archive, const Body& body);
  /// The row's period with the names of what binds it.
  [[nodiscard]] Period explained(const TablePart& part, const TileRow& row) const;
  [[nodiscard]] std::int64_t rank_of(std::uint32_t legal) const { return candidates_.legal()[legal]; }
  /// The tile, one of the legal ones, at the scan's question. The mutex must be held.
  [[nodiscard]] const PlacedDiagram& place(const Scan& scan, std::uint32_t legal);

  SharedBytes kept_;  ///< what parts are read from
  Problem judged_;    ///< the launch that candidates are judged by: lengths do not matter
  Candidates candidates_;
  bool by_graph_ = true;     ///< every legal tile has an event graph; else all go by the roofline
  bool one_by_one_ = false;  ///< the roofline has no bounds, and a launch does not follow from a block's extents where
                             ///< the nodes divide the iterations among themselves and cut tiles
  std::vector<TileSizes> sizes_;
  std::vector<std::uint32_t> sizes_of_, variant_of_;  ///< by index of Candidates::legal()
  std::vector<std::vector<AxisId>> shared_along_;     ///< of each crossing the grouped axes that it lacks

  std::mutex mutex_;  ///< of what follows, and of parts
  std::vector<Binds> binds_;
  std::map<Binds, std::uint32_t> number_of_binds_;
  std::shared_ptr<Simulation> simulation_;  ///< what runs of parts that were read are made on
  /// Places the table's tiles at one scan's question.
  struct Placing {
    std::uint64_t scan = 0;  ///< its number
    Problem problem;
    std::unique_ptr<Placer> placer;
    std::vector<PlacedDiagram> placed;  ///< by variant: kept, so that placing the variant's next tile allocates nothing
  };
  std::list<Placing> placings_;  ///< by element type
  void keep(std::size_t bytes);
  std::atomic<std::size_t> made_ = 0;  ///< rows and times that runs were made for one, since bytes() was called last
  std::atomic<std::size_t> most_unkept_ = 0;  ///< of `made_`
  std::size_t made_before_ = 0;               ///< until bytes() was called last
  std::atomic<bool> is_kept_ = false;
};

}  // namespace napkin
