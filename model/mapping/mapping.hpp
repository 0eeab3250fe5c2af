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

/// Whether this is one of a level's axes, a combine's values or another list of names.
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

/// In which order and by whom a launch's tiles are taken: what a word of the order knob means.
struct OrderWord {
  enum class Tiles {
    launched,  ///< a block each, which the machine starts on the first node that is free
    dealt,     ///< block i of as many blocks as nodes takes tiles i, i + nodes, ...
    drawn,     ///< as many blocks as nodes draw one tile after the other
    even       ///< as many blocks as nodes take as many iterations each: a tile may be cut, and its parts are added up
  };
  enum class Path {
    rows,           ///< row after row, plane after plane
    longest_first,  ///< planes by sections, in each the last row of all planes first
    grouped,        ///< rows in groups, down the columns of a group
    hilbert         ///< along a Hilbert curve over rows and columns
  };
  Tiles tiles = Tiles::launched;
  Path path = Path::rows;
  std::vector<std::string> axes;  ///< of the grid, the slowest first; empty: as the block's level lists them
};

/// What a user may turn: the same name and unit in the mapping, on the command line, in JSON, in the kernel and in
/// emitted code.
struct Knob {
  std::string name;                    ///< "q", "stages", "pingpong", "registers.q"
  std::string unit;                    ///< "rows", "copies", "blocks", "" for words
  std::vector<std::int64_t> domain;    ///< legal values, the preferred one first where predictions tie
  std::vector<std::string> words;      ///< for knobs whose values are words: value i is words[i]
  std::vector<OrderWord> orders;       ///< by word, of the knob that orders the launch's tiles; of others empty
  bool searched = true;                ///< false: a search takes the first value, another one only where the user asks
  std::optional<std::int64_t> before;  ///< what the kernel did before it had the knob: recorded tiles do not say it
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
  std::size_t number = 0;  ///< which of the table's
  std::int64_t more = 0;   ///< on top of the knob's value: 1 of `1 + preload`
};

/// Alternatives; the first whose guard holds counts.
template <class T>
using Guarded = std::vector<std::pair<Guard, T>>;

enum class Scope { block, agent };

/// How an array crosses into its level. tma: whole boxes; cp_async and plain: rows clipped, counted in sectors.
enum class CopyEngine { none, tma, cp_async, plain, bulk_reduce, atomic };

/// Registers a thread that no variable explains (addresses, loop state): `overhead: 24`, a few guarded numbers, or a
/// table made from what the compiler said. `[84, 63]`: what the compiler takes, and what it keeps where registers run
/// out; the rest is spilled.
struct Overhead {
  Guarded<Value> numbers;                      ///< of the two, each without a guard
  std::shared_ptr<const RegisterTable> table;  ///< in place of the numbers
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
  std::vector<Value> split_steps;   ///< by axis of `splits`, an instance's part is a multiple; empty: of any number
  bool repeats = false;             ///< instances for which no rows are left do those of others again
  Value row_step{Value::Kind::literal, 1, -1, {}};  ///< the product of the split axes an instance is a multiple of this
  std::optional<Value> row_most;                    ///< and at most this
  Location location;
};

/// Which axes are grouped or streamed at a level, and how large, where a knob of that name does not say it.
struct LevelMapping {
  std::string level;  ///< "shared", "cluster", "registers"
  std::vector<std::string> group;
  std::vector<std::string> stream;
  std::vector<std::pair<std::string, Value>>
      sizes;  ///< axis -> size; default: the knob "axis" (lowest staged level), else 1 for grouped
  std::vector<std::pair<std::string, Value>>
      parts;  ///< of the streamed axis, where it is grouped too: into how many it is cut, in whole chunks
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
  std::optional<Guard> multicast;  ///< one copy for the cluster's blocks, where the guard holds
  std::optional<Guard> divided;    ///< where the guard holds, each block of a cluster holds an equal part of it, and
                                   ///< the tensor units of all of them read all parts (two SMs that multiply together)
  std::optional<Guard>
      unpermuted;  ///< its rows lie as in the array, where the guard holds: loads of rows meet banks twice
  std::vector<std::pair<std::string, Value>> sizes;  ///< axes held in part: x -> u_x, dv -> 32
  std::vector<std::string> axes;                     ///< explicit axes where they differ from the array's (rare)
  bool part = false;  ///< holds what one iteration adds to the array, on its way to the variable that sums it up
  bool output_staging = false;  ///< on an output's way up, not on an input's way down
  std::string
      by;  ///< who indexes its rows: "group", "agent", "thread" (key `by`; the table's g_q, w_q, t_q); empty: by scope
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
  bool per_thread = false;       ///< for each thread of the agent, where `per` names no axes
  double count = 1;              ///< results of that unit per element or thread
  std::optional<Value> counted;  ///< in place of the count: a table's number
  bool fitted = false;           ///< the count was chosen by what whole kernels take, not read in their machine code
  std::string agent;             ///< whose threads do it, where not the operation's
  std::string with;       ///< its instructions stand among those of that tensor operation, whose threads issue both
  bool once = false;      ///< once a block, after its last iteration, rather than in every iteration
  bool first = false;     ///< once a block, before its first iteration
  bool masked = false;    ///< in chunks alone that the mask or the array's end cuts
  bool serial = false;    ///< each instruction of a warp waits for the one before
  bool in_steps = false;  ///< what it needs and what needs it stand among its own instructions, a few at a time
  bool fence = false;  ///< behind it threads pass a fence and a barrier, so that the tensor unit sees what they stored
  std::vector<std::pair<std::string, Value>> per_chunk;  ///< divide an axis: x -> u_x means once per u_x columns
  Guard when;
};

/// How one operation of the diagram runs; named by its (first) output.
struct OperationMapping {
  std::string output;
  std::string agent;
  std::string unit;  ///< "tensor" or "vector"
  std::string type;  ///< input type of the tensor instruction; "T" for the question's
  std::vector<std::pair<std::string, Guarded<std::string>>> operands;  ///< input array -> variable it is read from
  std::string accumulate;                                              ///< accumulator type: f32, f16
  Guarded<std::string>
      instruction;     ///< tensor instruction by name ("mma.sync"); empty: the machine's first of the type
  std::string issuer;  ///< whose thread issues the tensor instructions, where not the agent whose rows they are
  /// So many iterations before those of its agent's operations that are not ahead: its core takes turns (preload).
  std::optional<Value> ahead;
  std::optional<Value>
      waits;  ///< how often in an iteration its threads wait for asynchronous instructions; empty: once
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
  std::int64_t agents = 0;    ///< to the agent instance this many further (ping-pong)
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

/// How the parts that the groups of a split axis make of a result become one.
struct CombineMapping {
  enum class By {
    launch,    ///< they stay apart in device memory; a second launch reads them all
    adds,      ///< added to what stands there, in any order
    turns,     ///< each group in its turn takes over what stands there and puts its own in its place
    barriers,  ///< value after value is reduced there, with a barrier of all groups behind each
    last,      ///< they stay apart in device memory; of a result's groups the one that ends last reads them all
  };
  static constexpr std::array<const char*, 5> words = {"launch", "adds", "turns", "barriers", "last"};
  /// Whether parts stay apart in device memory until all are there.
  [[nodiscard]] static bool keeps_apart(By by) { return by == By::launch || by == By::last; }
  By by = By::launch;
  std::string at;                   ///< the level in which they meet: above it there is one result
  std::vector<std::string> values;  ///< turns, barriers: auxiliaries and results that the groups exchange, in order
  Location location;
};

/// One launch of a call. One that says what it reads and writes streams those arrays through device memory and does
/// nothing else that takes time: rows of dO and O for their products, a result in fp32 to be converted.
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
  std::string file;                   ///< where it was read from, for messages
  std::vector<Reference> references;  ///< names that only the diagram or the machine can vouch for

  [[nodiscard]] std::optional<KnobId> find_knob(std::string_view knob_name) const;
  /// Returns the size that the kernel is made for, of an axis with that size: that size, or the next one that it pads
  /// to. Nothing where it supports none.
  [[nodiscard]] std::optional<std::int64_t> size_for(std::string_view axis, std::int64_t size) const;
  /// Whether a launch that streams computes the operation, by its output.
  [[nodiscard]] bool computed_apart(std::string_view output) const;
  [[nodiscard]] std::optional<KnobId> order_knob() const;  ///< whose words say how the launch's tiles are taken
};

}  // namespace napkin
