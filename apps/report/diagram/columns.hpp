#pragma once
// columns_of() lays a streamed algorithm out as the paper's columns, as plain data: attention begins with Q, K and V in
// device memory, goes on with Q in shared memory as g_q x d, and so on. Placed on a machine each stretch of an array
// knows its level, each change of level its bytes, and each column what the levels hold. It has no coordinates.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/fusion/program.hpp"
#include "model/mapping/placed.hpp"
#include "solver/space/granularity.hpp"

namespace napkin::internal::report {

/// An axis's label where it changes: "g_q" of 384, a multiple of 64.
struct AxisTag {
  AxisId axis = 0;
  std::string label;  ///< label: "q" whole, "g_q" of a group, "s_x" of a chunk, "w_q", "t_q", "u_x" of a part
  std::optional<std::int64_t> size = {};  ///< size, if sizes are known
  std::int64_t divisor = 1;
  std::string because = {};  ///< reason for the divisor
};

/// A bundle of lines: an array, or the state of a streamed softmax.
struct Bundle {
  std::string name;
  ArrayId array = -1;
  OpId state_of = -1;        ///< the softmax whose auxiliaries it is
  std::vector<AxisId> axes;  ///< the lowest has unit stride; axes of one entry are left out
  int first = 0, last = 0;   ///< columns that it spans
  bool output = false;
  /// Lines that read one dimension of an input, drawn as a single line at its source: "y: i + u - 1", "n: y - 5".
  struct Joined {
    std::size_t first = 0, count = 1;  ///< range of the axes
    std::string label;
  };
  std::vector<Joined> joined;
};

/// A stretch of a bundle's lines at one level in one variable, begun by a label.
struct Stretch {
  int bundle = 0;
  LevelId level = 0;
  std::string name, type;  ///< "P'", "f16"; empty without a machine
  std::int64_t copies = 1;
  bool cached = false;  ///< true in a cache: the paper's asterisk
  std::vector<AxisTag> axes;
};

/// A change of colour.
struct Move {
  int bundle = 0;
  LevelId from = 0, to = 0, into = 0;  ///< levels of the move; `into` is the lower end of the pipe
  bool store = false;
  bool branch = false;                ///< true for lines to the unit that computes, while the bundle keeps its place
  std::optional<std::int64_t> bytes;  ///< all groups together; values on the abstract machine
  std::string size;                   ///< size for a group, in axis names
  std::int64_t linked = 1;            ///< blocks of a cluster that share one copy
};

enum class Shape { box, triangle, item, start };

/// A function of a column: its inputs, outputs and consumed axes.
struct ColumnFunction {
  Shape shape = Shape::box;
  std::string text, over;  ///< "softmax", "x"
  std::string unit;        ///< unit that computes it: "wgmma", "threads"; empty without a machine
  std::string title;       ///< the whole operation
  OpId operation = -1;
  LevelId level = 0;
  struct Input {
    int bundle = 0;
    LevelId level = 0;  ///< level that it is read from
    bool stays = false;
    int move = -1;  ///< event of the previous column that branches off to it; -1: none
  };
  std::vector<Input> inputs;
  std::vector<int> outputs;      ///< outputs; the function is drawn at the first
  bool updates = false;          ///< true if the first output existed before
  std::vector<AxisId> consumed;  ///< axes that are consumed, or normalised over
  bool splits = false;           ///< true for a product that may be taken in parts of any axis
};

struct LevelHeld {
  LevelId level = 0;
  std::int64_t bytes = 0;
};

/// Part of a column of data: a stretch of a bundle's lines, or a move between levels.
using ColumnEvent = std::variant<Stretch, Move>;

/// Data, functions beside each other, or the bracket of a loop.
struct DiagramColumn {
  enum class Kind { data, functions, open, close } kind = Kind::data;
  Phase phase = Phase::head;
  bool inner = false;  ///< true for a bracket of a loop over a part of a chunk or group
  std::string title;   ///< title of a bracket
  std::vector<ColumnEvent> events;
  std::vector<ColumnFunction> functions;
  std::vector<LevelHeld> held;  ///< largest memory of the columns that this one stands for, by the drawn rule
  std::vector<std::string>
      values;  ///< terms of the values held there, one for each array, in axis names; without a machine
};

/// A memory level of the picture: its name, bytes and limit.
struct DiagramLevel {
  LevelId level = 0;
  std::string name;
  LevelKind kind = LevelKind::ordinary;
  bool used = false;
  std::int64_t groups = 0, load = 0, store = 0, per_group = 0, drawn = 0, live = 0, allocated = 0;
  std::optional<std::int64_t> limit = {};
};

/// A move that no column shows: a part of a result that moves back and forth within an iteration.
struct UndrawnMove {
  std::string name;
  LevelId into = 0;
  bool store = false;
  std::int64_t bytes = 0;
};

struct ColumnDiagram {
  std::string title;
  bool placed = false, values = false;  ///< true on a machine; true for values rather than bytes
  std::vector<DiagramLevel> levels;     ///< level by LevelId
  LevelId compute = 1;                  ///< level whose nodes hold the units
  LevelId threads = 1;                  ///< deepest level
  std::vector<Bundle> bundles;
  std::vector<DiagramColumn> columns;
  std::vector<UndrawnMove> undrawn;
  std::vector<std::string> formulas;  ///< formulas without a machine: H of a group, and N
  std::vector<std::string> notes;     ///< remarks: groups, chunks, omitted axes, moves that no column shows
};

/// Makes the columns without a machine: two levels, sizes as axis names.
[[nodiscard]] ColumnDiagram columns_of(const Streamed& streamed);
[[nodiscard]] ColumnDiagram columns_of(const PlacedDiagram& placed, const std::vector<Granularity>& divisors);

}  // namespace napkin::internal::report
