#pragma once
// A Mapping describes how a kernel lays an algorithm on a machine: attention_sm90 keeps O in registers, and K in shared
// memory in `stages` copies, a knob. It is the paper's "recolouring" as data. It has structure and counts only: no
// times, no arithmetic. (YAML form and every key: docs/own-kernel.md, "Sections")

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/base/dtype.hpp"
#include "model/base/error.hpp"
#include "model/diagram/problem.hpp"
#include "model/mapping/register_table.hpp"

namespace napkin::internal {

using KnobId = int;

/// Returns true if a list of names (a level's axes, a combine's values) contains the name.
[[nodiscard]] inline bool lists(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A name in a mapping for something outside it, with its position: checked against the diagram and the machine once
/// they are known.
struct Reference {
  enum class Kind { axis, array, value, operation, level, unit, instruction, core };
  Kind kind = Kind::axis;  ///< kind of thing; `value` is an axis if no knob has the name, `array` an array or an
                           ///< auxiliary
  std::string name;
  Location location;
  std::string field;
};

/// The meaning of a word of the order knob: the order of a launch's tiles, and the blocks that take them.
struct OrderWord {
  enum class Tiles {
    launched,  ///< a block each, started by the machine on the first free node
    dealt,     ///< blocks, as many as nodes; block i takes tiles i, i + nodes, ...
    drawn,     ///< blocks, as many as nodes; each takes one tile after the other from a counter
    even       ///< blocks, as many as nodes, with equal numbers of iterations; a tile may be cut, and its parts are
               ///< added up
  };
  enum class Path {
    rows,           ///< row after row, plane after plane
    longest_first,  ///< planes by sections, in each the last row of all planes first
    grouped,        ///< rows in groups, down the columns of a group
    hilbert         ///< Hilbert curve over rows and columns
  };
  Tiles tiles = Tiles::launched;
  Path path = Path::rows;
  std::vector<std::string> axes;  ///< axes of the grid, the slowest first; empty: as the block's level lists them
};

/// A parameter that a user may set, with the same name and unit in the mapping, on the command line, in JSON, in the
/// kernel and in emitted code.
struct Knob {
  std::string name;                    ///< "q", "stages", "pingpong", "registers.q"
  std::string unit;                    ///< "rows", "copies", "blocks", "" for words
  std::vector<std::int64_t> domain;    ///< legal values; the first is preferred if predictions tie
  std::vector<std::string> words;      ///< words of a knob whose values are words: value i is words[i]
  std::vector<OrderWord> orders;       ///< meaning of each word of the knob that orders the launch's tiles; else empty
  bool searched = true;                ///< false if a search takes only the first value, unless the user asks for
                                       ///< another
  std::optional<std::int64_t> before;  ///< value that a recorded tile without the knob stands for: the kernel was older
  std::string about;
  Location location;
};

/// A condition: every named knob has one of the given values, and the problem one of the masks and of the sizes of each
/// named axis. Only an agent's overhead, work and relations use the problem's part, since masked loops and other head
/// widths have code of their own.
struct Guard {
  std::vector<std::pair<KnobId, std::vector<std::int64_t>>> all;
  std::vector<Mask::Kind> masks = {};  ///< empty: any
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> axes = {};
};

/// A whole number: a literal, a knob's value, the full size of an axis (by name), or a table's number for the tile.
struct Value {
  enum class Kind { literal, knob, axis, table };
  Kind kind = Kind::literal;
  std::int64_t literal = 0;
  KnobId knob = -1;
  std::string axis = {};
  std::shared_ptr<const RegisterTable> table = {};
  std::size_t number = 0;  ///< column of the table
  std::int64_t more = 0;   ///< addend to the knob's value: 1 of `1 + preload`
};

/// Alternatives; the first whose guard holds counts.
template <class T>
using Guarded = std::vector<std::pair<Guard, T>>;

enum class Scope { block, agent };

/// The way in which an array crosses into its level. tma: whole boxes; cp_async and plain: rows clipped, counted in
/// sectors.
enum class CopyEngine { none, tma, cp_async, plain, bulk_reduce, atomic };

/// The registers of a thread that no variable explains (addresses, loop state): `overhead: 24`, guarded numbers, or a
/// table of compiled tiles. Of `[84, 63]` the compiler takes the first, and keeps the second if registers run out,
/// spilling the rest.
struct Overhead {
  Guarded<Value> numbers;                      ///< the two numbers, or alternatives of a single number
  std::shared_ptr<const RegisterTable> table;  ///< table that replaces the numbers
};

/// A named set of threads, "producer" or "consumer" x warpgroups, with one thread count and register budget each.
struct Agent {
  std::string name;
  Guarded<Value> count;      ///< instances in a block
  Value threads;             ///< threads an instance
  std::string core;          ///< the kind of core that an instance is; empty: threads of the compute node
  Guarded<Value> registers;  ///< registers a thread that the kernel requests (setmaxnreg), or that its compiler gave it
                             ///< (a table's); empty, or without a row: the plan decides
  Overhead overhead;
  std::vector<std::string> splits;  ///< axes of the block's group that the instances divide among themselves
  std::vector<Value> split_steps;   ///< numbers, by axis of `splits`, of which an instance's part is a multiple
  bool repeats = false;             ///< true if instances without rows of their own repeat those of others
  Value row_step{Value::Kind::literal, 1, -1, {}};  ///< number of which an instance's rows are a multiple: 64
  std::optional<Value> row_most;                    ///< most rows of an instance
  Location location;
};

/// A kernel's own choice of the number of parts of a streamed axis: the rule of its host code, used if
/// LevelMapping::parts is 0. Slots are the blocks that run at once: `blocks` of each node.
struct OwnParts {
  enum class By {
    waves,  ///< fewest parts whose waves of blocks are nearly as full as the fullest: at least `within` of that
    fill,   ///< number of parts that the slots hold
    root    ///< number of parts of fill, at most the root of `blocks` times the parts of `least` elements
  };
  By by = By::waves;
  std::int64_t blocks = 1;    ///< blocks of a node that the rule counts on
  double enough = 1;          ///< share of the slots that uncut rows must fill so that no row is cut
  double within = 1;          ///< share of the fullest waves that suffices
  bool distinct = false;      ///< true to skip a number whose parts are as large as those of one part less
  std::int64_t whole_to = 0;  ///< largest number of chunks that is not cut
  std::int64_t least = 1;     ///< fewest elements of a part
  std::int64_t most = 0;      ///< most parts; 0: any number
  Location location;
};

/// The axes that are grouped or streamed at a level, and their sizes, unless a knob of the axis's name gives them.
struct LevelMapping {
  std::string level;  ///< "shared", "cluster", "registers"
  std::vector<std::string> group;
  std::vector<std::string> stream;
  std::vector<std::pair<std::string, Value>>
      sizes;  ///< size by axis; default: the knob "axis" (lowest staged level), else 1 for a grouped axis
  std::vector<std::pair<std::string, Value>>
      parts;                          ///< number of whole-chunk parts of the streamed axis, if it is grouped too
  std::optional<OwnParts> own_parts;  ///< rule that gives the number if its value is 0
  std::optional<Value> nodes;         ///< blocks of a cluster, adjacent along the one axis of `group`
  bool rounds_up = false;             ///< true if the last cluster along the axis may have blocks without rows
  bool together = false;              ///< true if a cluster's blocks all visit the chunks that any of them sees
  bool backward = false;              ///< true if the loop takes the stream's chunks from last to first
  Location location;
};

/// A variable of the kernel that holds (a piece of) an array of the diagram, or auxiliaries, at a level.
struct VariableMapping {
  std::string name;             ///< "Q", "K", "S", "P", "A", "alpha", "dO"
  std::vector<std::string> of;  ///< the diagram's array(s) or auxiliaries ("mu", "delta", "z"); default: the name
  std::string level;
  Scope scope = Scope::block;
  std::string type;             ///< a dtype name, or "T" for the question's
  Guarded<Value> copies;        ///< number of copies; empty: 1
  Guarded<Value> column_parts;  ///< number of parts of a row, each filled by boxes of its own; empty: 1
  std::string alias;            ///< variable whose storage it shares (with disjoint lifetimes)
  CopyEngine engine = CopyEngine::none;
  std::optional<Guard> multicast;  ///< guard under which the cluster's blocks share one copy
  std::optional<Guard> divided;    ///< guard under which each block of a cluster holds an equal part of it; the tensor
                                   ///< units of all blocks read all parts (two SMs that multiply together)
  std::optional<Guard>
      unpermuted;  ///< guard under which its rows lie as in the array, so that loads of rows have bank conflicts
  std::vector<std::pair<std::string, Value>> sizes;  ///< axes held in part: x -> u_x, dv -> 32
  std::vector<std::string> axes;                     ///< order of its axes, if that differs from the array's
  bool part = false;  ///< true if it holds what an iteration adds to the array, on the way to the variable that sums it
                      ///< up
  bool output_staging = false;  ///< true on an output's way up, not on an input's way down
  std::string by;               ///< owner of its rows: "group", "agent", "thread" (key `by`); empty: by scope
  std::string moved_by;         ///< agent whose instances each copy their own rows; empty: one copy for the block
  Guard when;
  Location location;
};

/// The vector work of an operation: `count` results of a unit for each combination of the `per` axes, or for each
/// thread of the agent: an exponential a score, 30 instructions of control code a thread.
struct WorkMapping {
  std::string name;              ///< "max", "exp", "convert", "rescale"
  std::string unit;              ///< a unit of the machine: "special", "fp32", "fp16", "alu", "conversion"
  std::vector<std::string> per;  ///< axes (tile extents): [q, x], [q, dv]
  bool per_thread = false;       ///< true if each thread of the agent does it, and `per` names no axes
  double count = 1;              ///< results of that unit per element or thread
  std::optional<Value> counted;  ///< table's number that replaces the count
  bool fitted = false;           ///< true if the count was fitted to the times of whole kernels, not read in machine
                                 ///< code
  std::string agent;             ///< agent whose threads do it, unless the operation's
  std::string with;              ///< tensor operation among whose instructions it runs, issued by the same threads
  bool once = false;             ///< true if done once a block, after its last iteration
  bool first = false;            ///< true if done once a block, before its first iteration
  bool masked = false;           ///< true for chunks that the mask or the array's end cuts
  bool serial = false;           ///< true if each instruction of a warp waits for the one before
  bool stalls = false;           ///< true if `count` is clocks that each warp waits beyond its instructions' slots
  bool in_steps = false;  ///< true if producers and consumers of its values run among its own instructions, a few at a
                          ///< time
  bool fence = false;     ///< true if threads then pass a fence and a barrier, so that the tensor unit sees what they
                          ///< stored
  std::vector<std::pair<std::string, Value>> per_chunk;  ///< divisors of axes: x -> u_x means once per u_x columns
  Guard when;
};

/// The way in which an operation of the diagram runs; named by its (first) output.
struct OperationMapping {
  std::string output;
  std::string agent;
  std::string unit;  ///< "tensor" or "vector"
  std::string type;  ///< input type of the tensor instruction; "T" for the question's
  std::vector<std::pair<std::string, Guarded<std::string>>> operands;  ///< variable that each input array is read from
  std::string accumulate;                                              ///< accumulator type: f32, f16
  Guarded<std::string> instruction;  ///< tensor instruction, "mma.sync"; empty: the machine's first of the type
  std::string issuer;  ///< agent that issues the tensor instructions, unless the agent whose rows they are
  /// Number of iterations by which the operation runs ahead of its agent's others, on a core that runs them in rounds
  /// (preload).
  std::optional<Value> ahead;
  std::optional<Value> waits;    ///< waits of its threads for asynchronous instructions in an iteration; empty: one
  std::optional<Guard> swap_ab;  ///< guard under which the product is made transposed, B' A'
  /// The number of parts into which its agent's instances divide a product's rows; the rest divides its columns. Empty:
  /// as they divide the block's group (Agent::splits).
  Guarded<Value> row_parts;
  Guarded<Value> more_columns;  ///< columns of B beyond the diagram's that each part of a product has; empty: none
  std::vector<WorkMapping> work;
  Location location;
};

/// An edge of the clock's event graph.
struct EdgeMapping {
  std::string from, to;       ///< "load K", "S", "P.max", "P.exp", "O", "store O"
  std::int64_t distance = 0;  ///< iterations between its two ends
  std::int64_t agents = 0;    ///< instances between its two ends: 1 from each warpgroup to the next (ping-pong)
  bool barrier = false;       ///< true if each instance waits for all of them
  Value tokens;
  bool issued = false;  ///< true if it waits for the hand-over of `from`, not for its result
  Guard when;
  Location location;
};

/// A requirement on several knobs, left = right, with a name for rejections.
struct Relation {
  std::string name;                ///< "rows: q * g = 64 * warpgroups"
  std::vector<Value> left, right;  ///< factors of the two products
  enum class Kind { equal, at_most, multiple, less } kind = Kind::equal;
  Guard when;
  Location location;
};

/// The way in which the parts of a result, made by the groups of a split axis, become one.
struct CombineMapping {
  enum class By {
    launch,    ///< parts stay apart in device memory; a second launch reads them all
    adds,      ///< parts are added to the result in place, in any order
    turns,     ///< groups take turns to replace the result so far by their own
    barriers,  ///< values are reduced in place one after the other, each before a barrier of all groups
    last,      ///< parts stay apart in device memory; the last of a result's groups to end reads them all
  };
  static constexpr std::array<const char*, 5> words = {"launch", "adds", "turns", "barriers", "last"};
  /// Returns true if parts stay separate in device memory until all are complete.
  [[nodiscard]] static bool keeps_apart(By by) { return by == By::launch || by == By::last; }
  By by = By::launch;
  std::string at;                   ///< level at which they meet; above it there is one result
  std::vector<std::string> values;  ///< auxiliaries and results that groups exchange, in order (turns, barriers)
  std::vector<std::string>
      operations;  ///< outputs of the operations that are done on whole results, where these are made
  Location location;
};

/// A launch of a call. If it lists reads and writes, its time is that of streaming those arrays through device memory:
/// rows of dO and O for their products, a result in fp32 to be converted.
struct Launch {
  std::string name;
  std::vector<std::string> operations;  ///< outputs of the operations it computes; empty: all
  std::vector<std::pair<std::string, std::string>> reads, writes;  ///< whole arrays, with the types in which they move
  [[nodiscard]] bool streams() const { return !reads.empty() || !writes.empty(); }
};

/// The packing of a group's heads as queries of one head: with one query each, the eight heads of a group of
/// flash_decoding become eight queries.
struct Packs {
  std::string axis, into;  ///< axis whose entries become entries of `into`: g, q
  std::int64_t up_to = 0;  ///< largest number of entries of `into` for which it applies; 0: any
  Location location;
};

struct Mapping {
  std::string name, about, algorithm;
  std::vector<std::string> runs_on;  ///< architectures, "sm_90"; "sm_80+" means that and every later NVIDIA one
  std::string source;                ///< kernel file; empty for a peer's
  bool proposed = false;  ///< true for a kernel that a paper draws and nobody built; it is used only if it is named
  std::vector<std::string> dtypes;  ///< element types of the question that it takes
  std::vector<Mask::Kind> masks;    ///< masks that it takes; empty: any but a prefix
  std::vector<Launch> launches;
  std::vector<Knob> knobs;
  std::vector<Agent> agents;
  std::vector<LevelMapping> levels;
  std::vector<VariableMapping> variables;
  std::int64_t barriers = 0;  ///< barriers of 8 bytes in a block's shared memory beside those of the copies
  std::int64_t section_bytes =
      0;  ///< bytes of planes that stream together under order longest_first; 0: the bundled kernels' rule
  std::vector<OperationMapping> operations;
  std::vector<EdgeMapping> edges;
  std::optional<CombineMapping> combine;
  std::vector<Relation> relations;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>>
      head_sizes;                   ///< sizes that the kernel supports, by axis; empty: any
  std::vector<std::string> padded;  ///< axes of head_sizes that are padded with zeros to the next size
  std::vector<std::pair<std::string, std::int64_t>>
      above;  ///< sizes, by padded axis, up to which the kernel takes none
  std::vector<Packs> packs;
  bool deals_visible =
      false;                  ///< true if blocks and parts are of a window's keys alone, where a sequence has one query
  std::string emit;           ///< emitter for its tiles: "fa3", "triton", ""
  bool exact_groups = false;  ///< true if a group never exceeds its axis (the ideal mapping); kernels pad
  std::string file;           ///< file that it was read from, for messages
  std::vector<Reference> references;  ///< names that only the diagram or the machine can confirm

  [[nodiscard]] std::optional<KnobId> find_knob(std::string_view knob_name) const;
  /// Returns the size that the kernel is made for: the axis's own, or the next to which it pads. Nothing if it supports
  /// none.
  [[nodiscard]] std::optional<std::int64_t> size_for(std::string_view axis, std::int64_t size) const;
  /// Returns true if a streaming launch computes the operation, given by its output, or the combine of parts.
  [[nodiscard]] bool computed_apart(std::string_view output) const;
  [[nodiscard]] std::optional<KnobId> order_knob() const;  ///< returns the knob whose words order the launch's tiles
};

}  // namespace napkin::internal
