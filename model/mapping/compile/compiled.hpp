#pragma once
// A Compiled is a mapping with its names resolved for one diagram, machine and problem: of attention_sm90 on an H200
// the knob "x" has become the size of axis 5 at the level of a block. Placer keeps it.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "model/mapping/knobs.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Returns true if the engine adds to the data that it overwrites.
[[nodiscard]] inline bool adds(CopyEngine engine) {
  return engine == CopyEngine::atomic || engine == CopyEngine::bulk_reduce;
}

/// A number that a tile may change.
struct Number64 {
  KnobId knob = -1;
  std::int64_t literal = 1;
  std::int64_t more = 0;                 ///< addend to the knob's value
  AxisId axis = -1;                      ///< axis whose full size the literal is
  const RegisterTable* table = nullptr;  ///< table that replaces all of the above
  std::size_t column = 0, base = 0;      ///< column of the table, and first row for the problem
  [[nodiscard]] Count of(const Tile& tile) const {
    if (table != nullptr) return table->at(column, base, tile);
    return knob < 0 ? Count(literal) : Count(tile.values[static_cast<std::size_t>(knob)] + more);
  }
  [[nodiscard]] KnobSet knobs() const {
    if (table == nullptr) return knob < 0 ? 0 : knob_bit(knob);
    KnobSet all = 0;
    for (const KnobId one : table->knobs()) all |= knob_bit(one);
    return all;
  }
};

using GuardedNumber = std::vector<std::pair<const Guard*, Number64>>;

/// Returns the first alternative that holds, or `otherwise`.
[[nodiscard]] Count number_of(const GuardedNumber& alternatives, const Tile& tile, Count otherwise);

/// A product of extents: the constant ones, multiplied, and the axes of the others.
struct Extents {
  Count constant = 1;
  std::vector<AxisId> axes;
  std::vector<AxisId> folded = {};  ///< axes in `constant`
  bool streams = false;             ///< true if the streamed axis is among `axes`
  const Array* shifted = nullptr;   ///< array whose dimensions overlap, so that its values are no product of extents
};

struct CompiledLevel {
  LevelId id = 0;
  int agent = -1;  ///< agent in whose core's memory it lies; -1: the agent that divides the block's group
  bool staged = false;
  bool cluster = false;                            ///< true if blocks are adjacent along `along`
  std::vector<std::pair<AxisId, Number64>> sizes;  ///< group sizes that differ from the array's (below the block's
                                                   ///< level: the block's)
  std::optional<Number64> chunk;                   ///< chunk of the streamed axis
  std::optional<Number64> parts;                   ///< number of parts into which it is cut, in whole chunks
  const OwnParts* own_parts = nullptr;             ///< rule for the number 0; nullptr: none
  Number64 nodes;
  AxisId along = 0;
  bool rounds_up = false;  ///< true if the last cluster along it may have blocks without rows
  bool together = false;   ///< true if a cluster's blocks all visit the chunks that any of them sees
};

struct CompiledAgent {
  GuardedNumber count, registers, overhead;
  Number64 threads, row_step;
  std::vector<AxisId> splits;
  std::vector<Number64> split_steps;  ///< step by axis of `splits`
  bool repeats = false;
  bool compiled = false;  ///< true if the compiler gave its registers
};

struct CompiledVariable {
  std::vector<ArrayId> arrays;
  std::vector<AxisId> axes;   ///< axes of its one array in another order; empty: in the diagram's
  std::vector<Extents> held;  ///< the size of each array or auxiliary that it holds
  bool streams = false;       ///< true if one of them follows the chunk
  int auxiliaries = 0;
  int position = 0;  ///< index into the levels
  DType type = DType::f32;
  GuardedNumber copies, column_parts;
  const Guard *multicast = nullptr, *divided = nullptr, *unpermuted = nullptr;
  std::vector<std::pair<AxisId, Number64>> sizes;
  int alias = -1;  ///< index into Mapping::variables
  int agent = -1;
};

struct CompiledWork {
  const WorkMapping* mapping = nullptr;
  int unit = -1;
  int agent = -1;  ///< agent whose threads do it
  Extents per;
  std::vector<std::pair<AxisId, Number64>> per_chunk;  ///< axes of `per` that are divided: once for so many elements
  std::optional<Number64> counted = {};                ///< number that replaces the mapping's count
};

struct CompiledOperation {
  const OperationMapping* mapping = nullptr;  ///< nullptr: the mapping says nothing
  int agent = -1;
  bool tensor = false;
  std::vector<std::pair<const Guard*, const TensorInstruction*>> instruction;  ///< alternative instructions; empty:
                                                                               ///< none
  Extents m, n, k;
  std::vector<AxisId> rows, columns;  ///< all axes of m and of n
  std::optional<Number64> waits;
  const Guard* swap_ab = nullptr;  ///< guard under which m and n change places, and the second input is A
  GuardedNumber row_parts;         ///< alternatives; empty: as the agent's splits say
  GuardedNumber more_columns;      ///< alternatives; empty: none
  [[nodiscard]] bool swapped(const Tile& tile) const { return swap_ab != nullptr && holds(*swap_ab, tile); }
  std::vector<CompiledWork> work;
  /// Variables (indices into Mapping::variables) that an input may be read from, each with its guard, by input.
  std::vector<std::vector<std::pair<const Guard*, int>>> operands;
};

/// The parts of a placed diagram that depend on guards only.
struct Variant {
  std::vector<Variable> variables;
  std::vector<Crossing> crossings;
  std::vector<PlacedOperation> operations;
  std::vector<const CompiledWork*> work;              ///< work of all operations, in order
  std::vector<ArrayId> arrays;                        ///< arrays of all variables
  std::vector<std::vector<AxisId>> axes;              ///< axes of variables whose array is in another order
  std::vector<std::pair<ArrayId, LevelId>> operands;  ///< operands of all operations
};

class Placer::Compiled {
 public:
  Compiled(const Streamed& streamed, const Mapping& mapping, const Machine& machine, const Problem& problem);
  void place(const Tile& tile, PlacedDiagram& into) const;
  void place_alternatives(const Tile& tile, PlacedDiagram& into) const;
  /// Returns the tile with the number of parts that was chosen for a launch.
  [[nodiscard]] Tile with_parts(const Tile& tile, Count parts) const;
  void rebind(const Problem& problem);
  /// Returns true if guards over sizes give the same answers for that problem as for this one.
  [[nodiscard]] bool is_of_one_kind(const Problem& problem) const;
  /// Compiles the mapping for another problem.
  [[nodiscard]] std::unique_ptr<Compiled> of(const Problem& problem) const {
    return std::make_unique<Compiled>(*streamed_, *mapping_, *machine_, problem);
  }

 private:
  // compile.cpp
  void check_order() const;
  void compile_levels();
  void compile_level(LevelId id);
  [[nodiscard]] std::optional<Number64> size_at(const LevelMapping& level, bool is_block, AxisId axis) const;
  void compile_agents();
  void compile_variables();
  void compile_operations();
  void compile_operation(OpId id);
  void compile_operands(const Operation& op, CompiledOperation& out);
  void compile_work(CompiledOperation& out);
  // combine.cpp
  void compile_combine();
  [[nodiscard]] bool adds_up() const;
  void check_exchange(const CombineMapping& combine) const;
  // compile.cpp, varying.cpp
  void find_variants();
  void find_dependences();
  void fold_constants();
  template <class Visit>
  void each_number(const Visit& visit);
  template <class Visit>
  void each_extents(const Visit& visit);
  [[nodiscard]] std::optional<Count> constant_extent(AxisId axis) const;
  [[nodiscard]] Number64 number(const Value& value) const;
  [[nodiscard]] GuardedNumber numbers(const Guarded<Value>& values);
  [[nodiscard]] bool is_meant(const Guard& guard, const Problem& problem) const;
  /// Evaluates a guard on the problem; remembers it if sizes decide it.
  [[nodiscard]] bool is_meant(const Guard& guard);
  [[nodiscard]] std::size_t base_of(const RegisterTable& table) const;
  [[nodiscard]] DType type_of(const std::string& name) const;
  [[nodiscard]] std::optional<int> position_of(const std::string& level) const;
  [[nodiscard]] int agent_of(const CompiledVariable& variable) const;
  // variant.cpp
  [[nodiscard]] std::shared_ptr<const Variant> make_variant(const Tile& tile) const;
  friend class VariantMaker;
  // ways.cpp
  void compile_beside();
  [[nodiscard]] int agent_at(LevelId level) const;
  // varying.cpp
  [[nodiscard]] std::shared_ptr<const Variant> shared_variant(const Tile& tile) const;
  void make(std::size_t index, const Tile& tile) const;
  // place.cpp
  [[nodiscard]] const std::shared_ptr<const Variant>& variant_of(const Tile& tile) const;
  void check_tile(const Tile& tile) const;
  [[nodiscard]] bool started(const PlacedDiagram& into, const std::shared_ptr<const Variant>& variant) const;
  void start(PlacedDiagram& into, const std::shared_ptr<const Variant>& variant) const;
  [[nodiscard]] static KnobSet different(const Tile& a, const Tile& b);
  void place_levels(const Tile& tile, PlacedDiagram& into) const;
  void place_chunks(const Tile& tile, PlacedDiagram& into) const;
  void place_level(std::size_t position, const Tile& tile, PlacedDiagram& into) const;
  void cut_stream(const CompiledLevel& c, const Tile& tile, PlacedLevel& level, PlacedDiagram& into) const;
  void place_cluster(const Tile& tile, PlacedDiagram& into) const;
  void place_agents(const Tile& tile, PlacedDiagram& into) const;
  void place_agent(const CompiledAgent& c, const Tile& tile, const PlacedLevel& block, PlacedAgent& agent) const;
  void place_below(const Tile& tile, PlacedDiagram& into) const;
  void place_variables(const Tile& tile, PlacedDiagram& into, bool chunks_alone) const;
  void place_copies(const Tile& tile, PlacedDiagram& into) const;
  void place_parts(const CompiledOperation& c, const Tile& tile, const PlacedDiagram& into, PlacedOperation& op) const;
  void place_operations(const Tile& tile, PlacedDiagram& into, const Variant& variant, bool chunks_alone) const;

  const Streamed* streamed_;
  const Mapping* mapping_;
  const Machine* machine_;
  const Problem* problem_;
  std::uint64_t binding_ = 0;  // number of problems bound before this one
  /// Guards that read sizes, and whether each was met: the problem may have changed in place since.
  std::vector<std::pair<const Guard*, bool>> by_size_;
  std::optional<AxisId> across_;
  AxisId stream_ = -1;                          // streamed axis; -1: none
  std::vector<CompiledLevel> levels_;           // levels top to bottom, without device memory
  int block_ = 0, deepest_ = 0, cluster_ = -1;  // positions in levels_
  std::vector<CompiledAgent> agents_;
  int divider_ = -1;    // agent whose instances divide the block's group at the levels below it
  bool cores_ = false;  // true if agents are cores of the node, with memories of their own side by side
  std::vector<CompiledVariable> variables_;
  std::vector<CompiledOperation> operations_;
  std::shared_ptr<const PlacedCombine> combine_;
  /// Knobs by the parts of a placed diagram that change with them: levels with their groups and agents; chunks and
  /// their work; sizes of variables held in part; copies.
  struct Dependences {
    KnobSet levels = 0, chunks = 0, parts = 0, copies = 0;
  } depends_;
  /// A knob on which the choice of the variant depends: its values in classes for which all guards agree, and its
  /// stride in variants_.
  struct Told {
    KnobId knob = 0;
    std::vector<std::int64_t> values;
    std::size_t stride = 1;
  };
  std::vector<Told> told_;
  mutable std::vector<std::shared_ptr<const Variant>> variants_;  // each is made once, when first used
  std::unique_ptr<std::atomic<bool>[]> made_;
  std::vector<const Guard*> guards_;
  mutable std::vector<std::pair<std::vector<bool>, std::shared_ptr<const Variant>>> distinct_;  // variants by guards
  mutable std::mutex making_;  // guards the making of variants
};

}  // namespace napkin::internal
