#pragma once
// An answer is a plain value: a SelectAnswer says that attention runs best with warpgroups=2, q=128, x=176, and what
// that tile moves, holds and takes. Numbers are in bytes, seconds, hertz and FLOP; on the abstract machine in values in
// place of bytes.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "napkin/ask.hpp"
#include "napkin/bands.hpp"
#include "napkin/laws.hpp"
#include "napkin/types.hpp"

namespace napkin {

/// A knob and its value: a number, or a word ("on", "registers") where the knob has words.
struct KnobValue {
  std::string name;
  std::int64_t number = 0;
  std::string word;  ///< empty: the number counts
  bool operator==(const KnobValue&) const = default;
};
using TileValues = std::vector<KnobValue>;

/// The common head of every answer.
struct Head {
  std::string algorithm;
  std::optional<std::string> gpu;     ///< none: the abstract two-level machine
  std::optional<std::string> kernel;  ///< none: the ideal mapping
  std::string dtype;
  Mask mask;
  CardConditions conditions;             ///< of the GPU
  NamedSizes shape;                      ///< every axis
  std::vector<SequenceLengths> lengths;  ///< of a packed batch; else empty
  TileValues tile;                       ///< every knob; empty where nothing fits
  bool bundled = false;                  ///< the kernel is one of this repository's, not a peer's
  Vocabulary terms;                      ///< the machine's own words
};

struct ViolationAnswer {
  std::string constraint;
  double needed = 0;
  double available = 0;
  std::string text;  ///< in words: "takes bf16 and f16 only", "needs 288,896 B of shared memory, there are 232,448"
};

/// How many of the machine's compute nodes get work.
struct NodesAnswer {
  std::int64_t busy = 1, all = 1;
};

struct WorkAnswer {
  std::int64_t flops = 0;           ///< contractions, 2 a multiply-add, unmasked pairs
  std::int64_t executed_flops = 0;  ///< visited tiles in full
  std::int64_t exponentials = 0;
};

/// A value that is worked out when it is first read, where that takes long. Safe from several threads.
template <class T>
class Later {
 public:
  Later(T known = {}) : known_(std::move(known)) {}
  explicit Later(std::function<T()> find) : later_(std::make_shared<Found>()) { later_->find = std::move(find); }
  [[nodiscard]] const T& get() const {
    if (later_ == nullptr) return known_;
    std::call_once(later_->once, [&] {
      later_->found = later_->find();
      later_->find = nullptr;
    });
    return later_->found;
  }
  operator const T&() const { return get(); }

 private:
  struct Found {
    std::once_flag once;
    std::function<T()> find;
    T found{};
  };
  T known_;
  std::shared_ptr<Found> later_;
};

/// One level below device memory.
struct LevelAnswer {
  std::string name;
  std::int64_t groups = 0;
  std::int64_t load = 0, store = 0, transfer = 0;  ///< over the pipe from its parent, all groups
  Later<std::int64_t> delivered;                   ///< into a cache below device memory with what is read again
  std::int64_t transfer_per_group = 0;
  std::int64_t memory_lower_bound = 0, memory_live = 0, memory = 0;
  std::optional<std::int64_t> memory_limit;
  std::optional<double> bandwidth;  ///< bytes a second, whole machine
  std::optional<double> time;       ///< transfer over bandwidth
  /// Of the cache below device memory, where its size is known: the part of what it is asked for that it has, with
  /// blocks in step, and with blocks that walk out of step.
  Later<std::optional<double>> hit_rate = {}, hit_rate_apart = {};
};

struct FormulaAnswer {
  std::string transfer, memory;
};

struct OptimumAnswer {
  struct Term {
    double alpha = 0, beta = 0;  ///< alpha * memory^-beta
  };
  struct Integer {
    std::int64_t transfer = 0;
    NamedSizes group;
  };
  std::vector<Term> terms;
  double transfer = 0;
  std::vector<std::pair<std::string, double>> group;
  Later<std::optional<Integer>> integer;
  std::string formula;  ///< of the closed form, "2 q d + 4 q x d^2 / M"; the numbers are `terms`
  bool exact = true;    ///< `terms` give `transfer`; else an axis is too short for them, and they only bound it
};

/// How sure a prediction is: which clock made it, on which numbers it rests, and how far such predictions were off.
struct StandingAnswer {
  bool by_graph = false;  ///< the event graph's; else a bound: the fullest pipe's
  std::string basis;      ///< the weakest among the numbers that matter: measured, fitted, published, derived, assumed
  std::vector<std::string> numbers;   ///< those of that basis, the weightiest first
  std::vector<std::string> missing;   ///< of a bound: the numbers that would make it a prediction
  std::vector<std::string> left_out;  ///< numbers that the machine lacks, whose effect the time is without
  std::string why;                    ///< of a bound: what else than numbers it lacks; "": nothing
  std::optional<Band> band;           ///< how far off such predictions were
  std::string unsure;                 ///< without a band: why none is known
  std::optional<double> least;        ///< seconds that no mapping goes below
};

/// The same tile under another load of the card: in a burst beside sustained, or sustained beside a burst.
struct LoadAnswer {
  CardLoad load;
  double time = 0;              ///< seconds
  double clock = 0;             ///< hertz
  std::optional<double> power;  ///< watts
};

struct PredictedAnswer {
  double cycles = 0;
  double clock = 0;
  std::string clock_source;
  std::optional<double> power;
  double time = 0;
  double tflops = 0;
  std::string bound;
  std::vector<std::pair<std::string, double>> pipes;  ///< busy fractions
  NodesAnswer nodes;
  std::optional<LoadAnswer> other_load;  ///< where asked for (Session::other_load)
  bool at_least = false;  ///< a bound: the fullest pipe's time; without a kernel what no mapping goes below
  /// Of a tile that was asked about or chosen: found when it is first read, which takes some milliseconds.
  Later<std::optional<StandingAnswer>> standing = {};
  /// The event graph's; else a bound.
  [[nodiscard]] bool by_graph() const { return standing.get() && standing.get()->by_graph; }
  /// Seconds that such calls took: in the mean, and eight of ten of them. Never less than a bound.
  struct Likely {
    double mean = 0, low = 0, high = 0;
  };
  /// Nothing where no band is known.
  [[nodiscard]] std::optional<Likely> likely() const;
};

/// Values moved and held by a run of the streamed program, or predicted for it; where results have parts, what the
/// launch that combines them moves.
struct CountsAnswer {
  std::int64_t load = 0, store = 0, memory_live = 0;
  std::int64_t combine_load = 0, combine_store = 0;
  bool operator==(const CountsAnswer&) const = default;
};

/// The interpreter beside the two rules, at a scaled-down shape.
struct CheckAnswer {
  std::vector<std::pair<std::string, std::int64_t>> shape, tile;
  CountsAnswer counted, predicted;
  double output_error = 0;  ///< streamed against unfused, over the largest output
  bool equal = false;       ///< counts are equal and the outputs agree to 1e-12
};

/// What results in parts cost: the split of an axis that is summed over, and how its groups' parts become one.
struct CombineAnswer {
  std::string by;              ///< "launch", "adds", "turns", "barriers", "last"
  std::string at;              ///< the level in which the parts meet
  std::int64_t parts = 1;      ///< of one result
  std::int64_t steps = 0;      ///< launches, turns of a chain, barriers; 0 where nobody waits
  std::int64_t load = 0;       ///< bytes out of that level: what groups read back; by launch: by the second launch
  std::int64_t store = 0;      ///< bytes into it: parts and what goes with them; by launch the second's results too
  std::optional<double> time;  ///< what the waiting adds to the prediction, of one wave; none: latencies unknown
};

/// What one block takes: the compiler's numbers, or the plan's.
struct BlockAnswer {
  std::int64_t registers_per_thread = 0;  ///< at launch
  std::int64_t shared_memory = 0;
  std::int64_t blocks_per_sm = 0;
  std::string limited_by;
};

/// The kernel compiled with the tile, beside what the plan says of it.
struct CompiledAnswer {
  BlockAnswer compiled, planned;
  std::int64_t static_shared_memory = 0;           ///< part of compiled.shared_memory
  std::int64_t spill_stores = 0, spill_loads = 0;  ///< bytes a thread
  std::string objection;  ///< spills, or instructions that the compiler serialised; empty: none
};

/// One launch of an algorithm that is cut into several: some of its operations, with the ideal mapping.
struct LaunchAnswer {
  std::vector<std::string> inputs, outputs;  ///< arrays that it loads and stores
  TileValues tile;
  std::vector<LevelAnswer> levels;
  std::optional<PredictedAnswer> predicted;  ///< a bound
};

/// What one block takes of its node.
struct OccupancyAnswer {
  std::int64_t registers_per_thread = 0, registers_limit = 0;
  std::int64_t shared_memory = 0, shared_memory_limit = 0;
  std::int64_t blocks_per_sm = 0;
  std::string limited_by;
};

struct QueryAnswer {
  Head head;
  bool legal = true;
  std::vector<ViolationAnswer> violations;
  WorkAnswer work;
  std::vector<LevelAnswer> levels;
  Later<FormulaAnswer> formula;
  Later<std::optional<OptimumAnswer>> optimum;  ///< none of packed sequences
  Later<std::optional<Laws>> laws;              ///< nor there where the profile lacks a bandwidth that they need
  std::optional<PredictedAnswer> predicted;     ///< none on the abstract machine
  std::optional<OccupancyAnswer> occupancy;     ///< nor there, nor where one launch does not hold it
  std::optional<CombineAnswer> combine;         ///< where results have parts
  std::optional<CheckAnswer> check;             ///< where it was asked for
  std::optional<CompiledAnswer> compiled;       ///< where it was asked for
  std::vector<std::string> notes;               ///< what is unusual about the question: a knob outside its domain
  std::vector<LaunchAnswer> launches;           ///< where the algorithm does not fit one launch; `levels` is their sum
};

struct AlternativeAnswer {
  TileValues tile;
  Later<PredictedAnswer> predicted;
};

/// A kernel that could answer a question, with the best of its tiles.
struct KernelAnswer {
  std::string kernel;
  bool bundled = false;
  TileValues tile;  ///< empty: nothing fits
  std::optional<PredictedAnswer> predicted;
  bool by_graph = false;  ///< predicted by the event graph; else by the roofline, which no kernel reaches
  std::string why;        ///< nothing fits: why
};

struct SelectAnswer {
  Head head;
  bool found = false;  ///< false: nothing fits, or no kernel runs there (the ideal mapping's bound is shown)
  std::optional<PredictedAnswer> predicted;
  std::vector<LevelAnswer> levels;
  std::optional<CombineAnswer> combine;
  OccupancyAnswer occupancy;
  std::vector<AlternativeAnswer> alternatives;  ///< of other sizes, best first
  std::int64_t candidates = 0;
  Later<std::int64_t> legal;  ///< of the candidates
  Later<std::vector<std::pair<std::string, std::int64_t>>> rejected;
  Later<std::string> because;
  std::vector<std::string> notes;
  std::vector<LaunchAnswer> launches;  ///< where the algorithm does not fit one launch; `levels` is their sum
  /// All kernels that run there, bundled and peers', the fastest first; empty: not asked for (Session::kernels).
  std::vector<KernelAnswer> kernels;
};

/// Neighbouring sizes of a family that one kernel and tile serves within 1 % of the best.
struct FamilyPick {
  std::int64_t from = 0, to = 0;  ///< of the sizes that were asked for, both included
  bool found = false;             ///< as SelectAnswer::found
  std::optional<std::string> kernel;
  TileValues tile;  ///< empty where nothing fits
  std::optional<PredictedAnswer> predicted_from, predicted_to;
  double loss = 0;  ///< how much longer than the best at most, over these sizes, as a fraction
};

/// One kernel and tile for the whole range.
struct FamilyDefault {
  FamilyPick pick;
  double mean = 0;            ///< of its losses
  std::int64_t worst_at = 0;  ///< the size at which it loses the most
};

/// What to use along a family of shapes, in as few pieces as one tile within 1 % of the best everywhere allows. Every
/// size of the range is selected for; of sizes between two neighbours nothing is said.
struct FamilyAnswer {
  Head head;  ///< of the first shape
  ShapeFamily family;
  std::int64_t points = 0;                             ///< sizes that were selected for
  std::vector<FamilyPick> picks;                       ///< by size: each begins where another tile is needed
  std::vector<std::pair<double, std::int64_t>> wider;  ///< how few pieces suffice within 2, 5 and 10 %
  std::optional<FamilyDefault> whole;                  ///< nothing where no tile fits everywhere
};

}  // namespace napkin
