#pragma once
// An answer is a plain value: a SelectAnswer says that attention runs best with warpgroups=2, q=128, x=176, and what
// that tile moves, holds and takes. Numbers are in bytes, seconds, hertz and FLOP; on the abstract machine in values in
// place of bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "napkin/ask.hpp"
#include "napkin/bands.hpp"
#include "napkin/laws.hpp"
#include "napkin/types.hpp"

namespace napkin {

/// A knob and its value: a number, or a word ("on", "registers") if the knob has words.
struct KnobValue {
  std::string name;
  std::int64_t number = 0;
  std::string word;  ///< word of the value; empty: `number` holds it
  bool operator==(const KnobValue&) const = default;
};
using TileValues = std::vector<KnobValue>;

/// The common head of every answer.
struct Head {
  std::string algorithm;
  std::optional<std::string> gpu;     ///< profile's name; none: the abstract two-level machine
  std::optional<std::string> kernel;  ///< mapping's name; none: the ideal mapping
  std::string dtype;
  Mask mask;
  CardConditions conditions;             ///< load and clock of the GPU
  NamedSizes shape;                      ///< sizes of every axis
  std::vector<SequenceLengths> lengths;  ///< sequences of a packed batch; else empty
  TileValues tile;                       ///< values of every knob; empty if nothing fits
  bool bundled = false;                  ///< true for a kernel of this repository, false for a peer's
  Vocabulary terms;                      ///< the machine's own words for levels and nodes
};

struct ViolationAnswer {
  std::string constraint;
  double needed = 0;
  double available = 0;
  std::string text;  ///< explanation: "takes bf16 and f16 only", "needs 288,896 B of shared memory, there are 232,448"
};

/// The number of the machine's compute nodes that get work.
struct NodesAnswer {
  std::int64_t busy = 1, all = 1;
};

struct WorkAnswer {
  std::int64_t flops = 0;           ///< FLOP of contractions, 2 a multiply-add, unmasked pairs
  std::int64_t executed_flops = 0;  ///< FLOP of the visited tiles in full
  std::int64_t exponentials = 0;
};

/// The parts of an answer that take longer to find than the rest. A part that is not asked for is empty.
struct AnswerParts {
  bool standing = false;  ///< true for `standing` of the prediction, without `weakest`
  bool weakest = false;   ///< true for `standing` with `weakest`: a prediction for each number of the machine
  bool reasons = false;   ///< true for the reason of a selection: `because`, `reasons`, `legal` and `rejected`
  bool rereads = false;   ///< true for `delivered` and the hit rates of caches, from a simulation of the launch
  bool formulas = false;  ///< true for `formula`, `optimum`, `laws` and `unfused` of a query
  bool best = false;      ///< true for `best` of a query whose tile is given, which takes a selection
  bool operator==(const AnswerParts&) const = default;
  /// Returns all parts, which --json prints.
  [[nodiscard]] static constexpr AnswerParts all() { return {true, true, true, true, true, true}; }
};

/// A memory level below device memory.
struct LevelAnswer {
  std::string name;
  std::int64_t groups = 0;
  std::int64_t load = 0, store = 0, transfer = 0;  ///< bytes over the pipe from the level's parent, all groups
  std::optional<std::int64_t> delivered;  ///< bytes into the level, re-reads after evictions included; none of a cache
                                          ///< below device memory without AnswerParts::rereads
  std::int64_t transfer_per_group = 0;
  std::int64_t memory_lower_bound = 0, memory_live = 0, memory = 0;
  std::optional<std::int64_t> memory_limit;
  std::optional<double> bandwidth;  ///< bytes a second, whole machine
  std::optional<double> time;       ///< transfer over bandwidth
  /// Hit rates of the cache below device memory, if its size is known: with blocks in step, and with blocks that drift
  /// apart. (AnswerParts::rereads of a query)
  std::optional<double> hit_rate, hit_rate_apart;
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
  std::optional<Integer> integer;
  std::string formula;  ///< text of the closed form, "2 q d + 4 q x d^2 / M"; the numbers are `terms`
  bool exact = true;    ///< true if the sum of `terms` is `transfer`; else an axis is too short for them, and they only
                        ///< bound it
};

/// The algorithm unfused, a launch for each operation, which moves each of its arrays once from or to device memory,
/// and fused into one launch.
struct UnfusedAnswer {
  std::int64_t launches = 0;
  std::int64_t transfer = 0, fused = 0;    ///< bytes through device memory: unfused, and fused
  std::optional<double> time, fused_time;  ///< least seconds of each; none if the profile lacks a rate
};

/// The weakest basis among the numbers that matter to a prediction.
struct BasisAnswer {
  std::string basis;                 ///< measured, fitted, published, derived or assumed
  std::vector<std::string> numbers;  ///< names of the numbers of that basis, the weightiest first
};

/// The confidence in a prediction: the clock that made it, the numbers on which it rests, and the errors of such
/// predictions.
struct StandingAnswer {
  bool by_graph = false;               ///< true for the event graph's prediction; false for a bound by the fullest pipe
  std::optional<BasisAnswer> weakest;  ///< weakest numbers (AnswerParts::weakest)
  std::vector<std::string> missing;    ///< numbers that would turn a bound into a prediction
  std::vector<std::string> left_out;   ///< numbers that the machine lacks; the time leaves out their effects
  std::string why;                     ///< the reason, beside missing numbers, why this is a bound; "": none
  std::optional<Band> band;            ///< error band of such predictions
  std::string unsure;                  ///< the reason why no band is known
  std::optional<double> least;         ///< seconds below which no mapping goes
};

/// The same tile under another load of the card: a burst if the question's is sustained, else sustained.
struct LoadAnswer {
  CardLoad load;
  double time = 0;              ///< seconds
  double clock = 0;             ///< hertz
  std::optional<double> power;  ///< watts
};

/// An iteration of a block in the steady state: it takes 2048 clocks, the tensor cores work for all 2048, and the
/// longest chain of waits takes 1413.
struct IterationAnswer {
  double clocks = 0;
  std::string pipe;  ///< busiest pipe
  double pipe_clocks = 0;
  std::vector<std::string> waits;  ///< steps of the longest cycle of waits
  double waits_clocks = 0;
  double contention = 0;  ///< clocks lost where agents meet on a pipe
};

struct PredictedAnswer {
  double cycles = 0;
  double clock = 0;
  std::string clock_source;
  std::optional<double> power;
  double time = 0;
  double tflops = 0;
  std::string bound;
  std::vector<std::pair<std::string, double>> pipes;  ///< busy fraction of each pipe
  NodesAnswer nodes;
  std::optional<IterationAnswer> iteration = {};  ///< an iteration by the event graph; none by the roofline
  double ends = 0;                                ///< fraction of the cycles outside of iterations
  std::optional<LoadAnswer> other_load;           ///< the other load's answer, if asked for (Session::other_load)
  bool at_least = false;  ///< true for a bound: the fullest pipe's time; without a kernel the time below which no
                          ///< mapping goes
  std::optional<StandingAnswer> standing = {};  ///< standing of the asked or chosen tile (AnswerParts::standing)
  /// Returns true if the event graph made the prediction; false for a bound.
  [[nodiscard]] bool by_graph() const { return standing && standing->by_graph; }
  /// The likely seconds of such calls: the mean, and the range of eight in ten. Never less than a bound.
  struct Likely {
    double mean = 0, low = 0, high = 0;
    bool bounded = false;  ///< true if `low` is a bound that no mapping goes below, not the band's end
  };
  /// Returns the likely times; nothing if no band is known.
  [[nodiscard]] std::optional<Likely> likely() const;
};

/// Values moved and held by a run of the streamed program, or predicted for it; the launch that combines parts counts
/// apart.
struct CountsAnswer {
  std::int64_t load = 0, store = 0, memory_live = 0;
  std::int64_t combine_load = 0, combine_store = 0;
  bool operator==(const CountsAnswer&) const = default;
};

/// A check of the two rules: a run of the interpreter at a scaled-down shape.
struct CheckAnswer {
  std::vector<std::pair<std::string, std::int64_t>> shape, tile;
  CountsAnswer counted, predicted;
  double output_error = 0;  ///< largest difference between streamed and unfused outputs, over the largest output
  /// The largest difference that the types of the kernel's arrays make, with f32 accumulators, from float64 on the same
  /// inputs, over the largest output; none of integers and of float64.
  std::optional<double> rounding = {};
  bool equal = false;  ///< true if the counts are equal and the outputs agree to 1e-12
};

/// The cost of results in parts: the split of a summed axis, and the combining of its groups' parts.
struct CombineAnswer {
  std::string by;              ///< method: "launch", "adds", "turns", "barriers", "last"
  std::string at;              ///< the level in which the parts meet
  std::int64_t parts = 1;      ///< parts of one result
  std::int64_t steps = 0;      ///< launches, turns of a chain, or barriers; 0 if no block waits
  std::int64_t load = 0;       ///< bytes out of that level: parts that groups read back (by `launch`: the second
                               ///< launch)
  std::int64_t store = 0;      ///< bytes into it: parts and their statistics (by `launch`: the second launch's results
                               ///< too)
  std::optional<double> time;  ///< seconds that waiting adds to the prediction of a wave; none: latencies unknown
};

/// The number of parts into which a kernel's own host code cuts an axis if the tile leaves it to that (num_splits=0),
/// beside the fastest number.
struct OwnPartsAnswer {
  std::string knob;                        ///< knob whose value is 0: num_splits
  std::int64_t parts = 1;                  ///< number that the kernel's rule chooses
  std::int64_t best = 1;                   ///< fastest number; the kernel's own where none is faster
  double best_time = 0;                    ///< seconds with the fastest number
  double loss = 0;                         ///< time with the kernel's own number over the best time, minus 1
  [[nodiscard]] std::string text() const;  ///< returns a note: the number, and how much faster the best one would be
};

/// The resources of a block: the compiler's numbers, or the plan's.
struct BlockAnswer {
  std::int64_t registers_per_thread = 0;  ///< registers of a thread at launch
  std::int64_t shared_memory = 0;
  std::int64_t blocks_per_sm = 0;
  std::string limited_by;
};

/// The kernel compiled with the tile, beside the plan's expectation.
struct CompiledAnswer {
  BlockAnswer compiled, planned;
  std::int64_t static_shared_memory = 0;           ///< bytes of compiled.shared_memory that are static
  std::int64_t spill_stores = 0, spill_loads = 0;  ///< bytes a thread
  std::string objection;  ///< spills, or instructions that the compiler serialised; empty: none
};

/// A launch of an algorithm that is cut into several: some of its operations, under the ideal mapping.
struct LaunchAnswer {
  std::vector<std::string> inputs, outputs;  ///< arrays that the launch loads and stores
  TileValues tile;
  std::vector<LevelAnswer> levels;
  std::optional<PredictedAnswer> predicted;  ///< bound of the launch's time
};

/// The resources of its node that one block takes.
struct OccupancyAnswer {
  std::int64_t registers_per_thread = 0, registers_limit = 0;
  std::int64_t shared_memory = 0, shared_memory_limit = 0;
  std::int64_t blocks_per_sm = 0;
  std::string limited_by;
};

/// The best tile of the kernel that a query names, beside the tile that the query gives.
struct BestTileAnswer {
  TileValues tile;  ///< tile that select picks for that kernel; the given tile if no other is faster
  double time = 0;  ///< seconds
  double loss = 0;  ///< time of the given tile over `time`, minus 1
};

struct QueryAnswer {
  Head head;
  bool legal = true;
  std::vector<ViolationAnswer> violations;
  WorkAnswer work;
  std::vector<LevelAnswer> levels;
  FormulaAnswer formula;                 ///< formulas (AnswerParts::formulas)
  std::optional<OptimumAnswer> optimum;  ///< closed form (AnswerParts::formulas); none for packed sequences
  std::optional<Laws> laws;              ///< laws (AnswerParts::formulas); none also if the profile lacks a bandwidth
  std::optional<UnfusedAnswer> unfused;  ///< saving of one launch of several operations (AnswerParts::formulas)
  std::optional<PredictedAnswer> predicted;  ///< prediction; none on the abstract machine
  std::optional<OccupancyAnswer> occupancy;  ///< resources of a block; none also if the algorithm does not fit a
                                             ///< single launch
  std::optional<CombineAnswer> combine;      ///< cost of combining, if results have parts
  std::optional<OwnPartsAnswer> own_parts;   ///< parts by the kernel's own rule, if the tile leaves them to it
  std::optional<BestTileAnswer> best;        ///< best tile, beside a given legal one of a kernel (AnswerParts::best)
  std::optional<CheckAnswer> check;          ///< check, if asked for
  std::optional<CompiledAnswer> compiled;    ///< compiled kernel, if asked for
  std::vector<std::string> notes;            ///< remarks on the question: a knob outside its domain
  std::vector<LaunchAnswer> launches;        ///< launches of an algorithm that does not fit a single launch;
                                             ///< `levels` is their sum
};

struct AlternativeAnswer {
  TileValues tile;
  PredictedAnswer predicted;
};

/// A kernel that could answer a question, with the best of its tiles.
struct KernelAnswer {
  std::string kernel;
  bool bundled = false;
  TileValues tile;  ///< best tile; empty: nothing fits
  std::optional<PredictedAnswer> predicted;
  bool by_graph = false;  ///< true if predicted by the event graph; false for the roofline, which no kernel reaches
  std::string why;        ///< the reason why nothing fits
};

struct SelectAnswer {
  Head head;
  bool found = false;  ///< true if a tile fits; false also if no kernel runs there (the ideal mapping's bound is shown)
  WorkAnswer work;     ///< work of the best tile
  std::optional<PredictedAnswer> predicted;
  std::vector<LevelAnswer> levels;
  std::optional<CombineAnswer> combine;
  std::optional<OwnPartsAnswer> own_parts;  ///< parts by the kernel's own rule, if the tile leaves them to it
  OccupancyAnswer occupancy;
  std::vector<AlternativeAnswer> alternatives;  ///< runners-up of other sizes, best first
  std::int64_t candidates = 0;
  std::optional<std::int64_t> legal;  ///< legal candidates (AnswerParts::reasons, or nothing fits)
  std::vector<std::pair<std::string, std::int64_t>> rejected;  ///< candidates by the rule that they break, as `legal`
  std::string because;  ///< sentence that says why the tile is best, or why nothing fits; as `legal`
  /// Clauses of `because` in the machine's words, without the clocks of an iteration, which `predicted` has.
  std::vector<std::string> reasons;
  std::vector<std::string> notes;
  std::vector<LaunchAnswer> launches;  ///< launches of an algorithm that does not fit a single launch; `levels` is
                                       ///< their sum
  /// Kernels that run there, bundled and peers', fastest first; empty unless asked for (Session::kernels).
  std::vector<KernelAnswer> kernels;
};

/// Neighbouring sizes of a family that one kernel and tile serves within 1 % of the best.
struct FamilyPick {
  std::int64_t from = 0, to = 0;  ///< first and last size among those asked for
  bool found = false;             ///< true if a legal tile exists, as SelectAnswer::found
  std::optional<std::string> kernel;
  TileValues tile;  ///< tile; empty if nothing fits
  std::optional<PredictedAnswer> predicted_from, predicted_to;
  double loss = 0;  ///< largest excess over the best time in these sizes, as a fraction
};

/// A kernel and tile for the whole range.
struct FamilyDefault {
  FamilyPick pick;
  double mean = 0;            ///< mean of its losses
  std::int64_t worst_at = 0;  ///< size at which it loses most
};

/// The best tiles along a family of shapes, in as few pieces as tiles within 1 % of the best allow. Only the sizes of
/// the range are predicted, none between them.
struct FamilyAnswer {
  Head head;  ///< head of the first shape
  ShapeFamily family;
  std::int64_t points = 0;                             ///< number of sizes that were selected for
  std::vector<FamilyPick> picks;                       ///< pieces by size; a new one begins where another tile is
                                                       ///< needed
  std::vector<std::pair<double, std::int64_t>> wider;  ///< number of pieces that suffice within 2, 5 and 10 %
  std::optional<FamilyDefault> whole;                  ///< single choice for the whole range; none if no tile fits
                                                       ///< everywhere
};

}  // namespace napkin
