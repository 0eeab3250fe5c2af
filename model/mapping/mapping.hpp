#pragma once
// A Mapping says how a kernel lays an algorithm on a machine: attention_sm90 keeps O in registers, K in shared memory
// in so many copies. It is the paper's "recolouring" as data. It has structure and counts only: no times, no
// arithmetic. (YAML form and every key: docs/own-kernel.md, "Sections")

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

namespace napkin {

using KnobId = int;

/// Returns true if a list of names (a level's axes, a combine's values) contains the name.
[[nodiscard]] inline bool lists(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A name that a mapping uses for something outside it, with its place in the text: checked against the diagram and
/// the machine when they are known.
struct Reference {
  enum class Kind { axis, array, value, operation, level, unit, instruction, core };
  Kind kind = Kind::axis;  ///< value: an axis where no knob has the name; array: an array or an auxiliary
  std::string name;
  Location location;
  std::string field;
};

/// The meaning of a word of the order knob: the order of a launch's tiles, and the blocks that take them.
struct OrderWord {
  enum class Tiles {
    launched,  ///< a block each, which the machine starts on the first node that is free
    dealt,     ///< block i of as many blocks as nodes takes tiles i, i + nodes, ...
    drawn,     ///< blocks, as many as nodes; each draws a tile after the other
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
  std::vector<std::int64_t> domain;    ///< legal values, the preferred one first where predictions tie
  std::vector<std::string> words;      ///< words of a knob whose values are words: value i is words[i]
  std::vector<OrderWord> orders;       ///< meaning of each word of the knob that orders the launch's tiles; else empty
  bool searched = true;                ///< false: a search takes the first value, another one only where the user asks
  std::optional<std::int64_t> before;  ///< behaviour of the kernel before it had the knob, for recorded tiles that lack
                                       ///< it
  std::string about;
  Location location;
};

/// Holds when every named knob has the given value (or one of the given values), and the problem one of the masks and
/// of the sizes of each named axis. Of the problem only an agent's overhead, work and relations ask: other code is made
/// for a masked loop, and for other widths of a head.
struct Guard {
  std::vector<std::pair<KnobId, std::vector<std::int64_t>>> all;
  std::vector<Mask::Kind> masks = {};  ///< empty: any
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> axes = {};
};

/// A whole number: a literal, a knob's value, the full size of an axis (by name), or what a table says of the tile.
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

/// Registers a thread that no variable explains (addresses, loop state): `overhead: 24`, a few guarded numbers, or a
/// table made from what the compiler said. `[84, 63]`: what the compiler takes, and what it keeps where registers run
/// out; the rest is spilled.
struct Overhead {
  Guarded<Value> numbers;                      ///< the two numbers, or alternatives of a single number
  std::shared_ptr<const RegisterTable> table;  ///< table that replaces the numbers
};

/// A named set of threads: "producer", "consumer" x warpgroups. One thread count and register budget each.
struct Agent {
  std::string name;
  Guarded<Value> count;      ///< instances in a block
  Value threads;             ///< threads an instance
  std::string core;          ///< the kind of core that an instance is; empty: threads of the compute node
  Guarded<Value> registers;  ///< registers a thread that the kernel asks for (setmaxnreg), or, of a table, that its
                             ///< compiler gave it; empty, or a tile without a row: the plan decides
  Overhead overhead;
  std::vector<std::string> splits;  ///< axes of the block's group that the instances divide among themselves
  std::vector<Value> split_steps;   ///< step by axis of `splits`, of which an instance's part is a multiple; empty: any
                                    ///< number
  bool repeats = false;             ///< instances for which no rows are left do those of others again
  Value row_step{Value::Kind::literal, 1, -1, {}};  ///< the product of the split axes an instance is a multiple of this
  std::optional<Value> row_most;                    ///< largest such product
  Location location;
};

/// The axes that are grouped or streamed at a level, and their sizes, unless a knob of the axis's name gives them.
struct LevelMapping {
  std::string level;  ///< "shared", "cluster", "registers"
  std::vector<std::string> group;
  std::vector<std::string> stream;
  std::vector<std::pair<std::string, Value>>
      sizes;  ///< axis -> size; default: the knob "axis" (lowest staged level), else 1 for grouped
  std::vector<std::pair<std::string, Value>>
      parts;                   ///< number of whole-chunk parts of the streamed axis, if it is grouped too
  std::optional<Value> nodes;  ///< cluster: how many blocks, side by side along the one axis of `group`
  bool rounds_up = false;      ///< `nodes`: the last cluster along the axis may have blocks without rows
  bool backward = false;       ///< the loop takes the stream's chunks from the last to the first
  Location location;
};

/// A variable of the kernel that holds (a piece of) an array of the diagram, or auxiliaries, at a level.
struct VariableMapping {
  std::string name;             ///< "Q", "K", "S", "P", "A", "alpha", "dO"
  std::vector<std::string> of;  ///< the diagram's array(s) or auxiliaries ("mu", "delta", "z"); default: the name
  std::string level;
  Scope scope = Scope::block;
  std::string type;       ///< a dtype name, or "T" for the question's
  Guarded<Value> copies;  ///< 1 where empty
  std::string alias;      ///< shares storage with that variable (lifetimes disjoint)
  CopyEngine engine = CopyEngine::none;
  std::optional<Guard> multicast;   ///< guard under which the cluster's blocks share one copy
  std::optional<Guard> divided;     ///< guard under which each block of a cluster holds an equal part of it, and the
                                    ///< tensor units of all of them read all parts (two SMs that multiply together)
  std::optional<Guard> unpermuted;  ///< guard under which its rows lie as in the array: loads of rows meet banks twice
  std::vector<std::pair<std::string, Value>> sizes;  ///< axes held in part: x -> u_x, dv -> 32
  std::vector<std::string> axes;                     ///< explicit axes where they differ from the array's (rare)
  bool part = false;  ///< holds what one iteration adds to the array, on its way to the variable that sums it up
  bool output_staging = false;  ///< true on an output's way up, not on an input's way down
  std::string
      by;  ///< owner of its rows: "group", "agent", "thread" (key `by`; the table's g_q, w_q, t_q); empty: by scope
  std::string moved_by;  ///< agent, each instance of which gets and gives its own rows by a copy of their own; empty:
                         ///< one for the block
  Guard when;
  Location location;
};

/// Vector work of an operation: `count` results of that unit for each combination of the `per` axes, or for each thread
/// of the agent. Example: an exponential a score, 30 instructions of control code a thread.
struct WorkMapping {
  std::string name;              ///< "max", "exp", "convert", "rescale"
  std::string unit;              ///< a unit of the machine: "special", "fp32", "fp16", "alu", "conversion"
  std::vector<std::string> per;  ///< axes (tile extents): [q, x], [q, dv]
  bool per_thread = false;       ///< true if each thread of the agent does it, and `per` names no axes
  double count = 1;              ///< results of that unit per element or thread
  std::optional<Value> counted;  ///< table's number that replaces the count
  bool fitted = false;           ///< the count was chosen by what whole kernels take, not read in their machine code
  std::string agent;             ///< agent whose threads do it, unless the operation's
  std::string with;              ///< tensor operation among whose instructions it runs, issued by the same threads
  bool once = false;             ///< once a block, after its last iteration, rather than in every iteration
  bool first = false;            ///< once a block, before its first iteration
  bool masked = false;           ///< true for chunks that the mask or the array's end cuts
  bool serial = false;           ///< each instruction of a warp waits for the one before
  bool in_steps = false;  ///< true if producers and consumers of its values run among its own instructions, a few at a
                          ///< time
  bool fence = false;     ///< true if threads then pass a fence and a barrier, so that the tensor unit sees what they
                          ///< stored
  std::vector<std::pair<std::string, Value>> per_chunk;  ///< divide an axis: x -> u_x means once per u_x columns
  Guard when;
};

/// The way in which an operation of the diagram runs; named by its (first) output.
struct OperationMapping {
  std::string output;
  std::string agent;
  std::string unit;  ///< "tensor" or "vector"
  std::string type;  ///< input type of the tensor instruction; "T" for the question's
  std::vector<std::pair<std::string, Guarded<std::string>>> operands;  ///< input array -> variable it is read from
  std::string accumulate;                                              ///< accumulator type: f32, f16
  Guarded<std::string>
      instruction;     ///< tensor instruction by name ("mma.sync"); empty: the machine's first of the type
  std::string issuer;  ///< agent that issues the tensor instructions, unless the agent whose rows they are
  /// The number of iterations by which it runs ahead of its agent's other operations: its core takes turns (preload).
  std::optional<Value> ahead;
  std::optional<Value> waits;    ///< waits of its threads for asynchronous instructions in an iteration; empty: one
  std::optional<Guard> swap_ab;  ///< tensor: where the guard holds the product is made transposed, B' A'
  /// Tensor: into how many parts its agent's instances divide the product's rows; they divide its columns by what is
  /// left. Empty: as they divide the block's group (Agent::splits).
  Guarded<Value> row_parts;
  std::vector<WorkMapping> work;
  Location location;
};

/// An edge of the clock's event graph.
struct EdgeMapping {
  std::string from, to;       ///< "load K", "S", "P.max", "P.exp", "O", "store O"
  std::int64_t distance = 0;  ///< iterations
  std::int64_t agents = 0;    ///< distance to the agent instance at which it ends (ping-pong)
  bool barrier = false;       ///< each instance waits for all of them
  Value tokens;
  bool issued = false;  ///< waits until `from` has been handed over, not for its result
  Guard when;
  Location location;
};

/// A requirement that knobs must meet together: left = right. Named, so that a rejection says which.
struct Relation {
  std::string name;                ///< "rows: q * g = 64 * warpgroups"
  std::vector<Value> left, right;  ///< products
  enum class Kind { equal, at_most, multiple, less } kind = Kind::equal;
  Guard when;
  Location location;
};

/// The way in which the parts of a result, made by the groups of a split axis, become one.
struct CombineMapping {
  enum class By {
    launch,    ///< parts stay apart in device memory; a second launch reads them all
    adds,      ///< added to what stands there, in any order
    turns,     ///< each group in its turn takes over what stands there and puts its own in its place
    barriers,  ///< value after value is reduced there, with a barrier of all groups behind each
    last,      ///< parts stay apart in device memory; the last of a result's groups to end reads them all
  };
  static constexpr std::array<const char*, 5> words = {"launch", "adds", "turns", "barriers", "last"};
  /// Returns true if parts stay apart in device memory until all are there.
  [[nodiscard]] static bool keeps_apart(By by) { return by == By::launch || by == By::last; }
  By by = By::launch;
  std::string at;                   ///< the level in which they meet: above it there is one result
  std::vector<std::string> values;  ///< turns, barriers: auxiliaries and results that the groups exchange, in order
  Location location;
};

/// A launch of a call. If it lists reads and writes, it streams those arrays through device memory, and nothing else
/// takes time: rows of dO and O for their products, a result in fp32 to be converted.
struct Launch {
  std::string name;
  std::vector<std::string> operations;  ///< outputs of the operations it computes; empty: all
  std::vector<std::pair<std::string, std::string>> reads, writes;  ///< whole arrays and the types that they move in
  [[nodiscard]] bool streams() const { return !reads.empty() || !writes.empty(); }
};

/// Heads of a group that a kernel takes for further queries of one head: with one query each, the eight heads of a
/// group of flash_decoding are eight queries.
struct Packs {
  std::string axis, into;  ///< g, q: entries of the first become entries of the second
  std::int64_t up_to = 0;  ///< entries of `into` up to which it does; 0: any number
  Location location;
};

struct Mapping {
  std::string name, about, algorithm;
  std::vector<std::string> runs_on;  ///< architectures, "sm_90"; "sm_80+" means that and every later NVIDIA one
  std::string source;                ///< kernel file; empty for a peer's
  bool proposed = false;             ///< drawn in a paper, built by nobody: it answers where it is asked for by name
  std::vector<std::string> dtypes;   ///< element types of the question that it takes
  std::vector<Mask::Kind> masks;     ///< masks that it takes; empty: any
  std::vector<Launch> launches;
  std::vector<Knob> knobs;
  std::vector<Agent> agents;
  std::vector<LevelMapping> levels;
  std::vector<VariableMapping> variables;
  std::int64_t barriers = 0;  ///< words of 8 bytes of a block's shared memory beside those of the copies
  std::int64_t section_bytes =
      0;  ///< order longest_first: planes that stream so much together; 0: the bundled kernels' rule
  std::vector<OperationMapping> operations;
  std::vector<EdgeMapping> edges;
  std::optional<CombineMapping> combine;
  std::vector<Relation> relations;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>>
      head_sizes;                   ///< axis -> sizes that the kernel supports; empty: any
  std::vector<std::string> padded;  ///< axes of head_sizes that it pads to the next size, with zeros
  std::vector<Packs> packs;
  std::string emit;                   ///< own form of the emitter: "fa3", "triton", ""
  bool exact_groups = false;          ///< a group is never larger than its axis (the ideal mapping); kernels pad
  std::string file;                   ///< file that it was read from, for messages
  std::vector<Reference> references;  ///< names that only the diagram or the machine can vouch for

  [[nodiscard]] std::optional<KnobId> find_knob(std::string_view knob_name) const;
  /// Returns the size that the kernel is made for, of an axis with that size: that size, or the next one that it pads
  /// to. Nothing where it supports none.
  [[nodiscard]] std::optional<std::int64_t> size_for(std::string_view axis, std::int64_t size) const;
  /// Returns true if a streaming launch computes the operation, given by its output.
  [[nodiscard]] bool computed_apart(std::string_view output) const;
  [[nodiscard]] std::optional<KnobId> order_knob() const;  ///< returns the knob whose words order the launch's tiles
};

}  // namespace napkin
