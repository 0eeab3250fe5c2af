#pragma once
// A Machine is a hardware profile as a value: levels, pipes between them, execution units, limits, clocks. Each number
// keeps its source. Inside, units are SI and clock cycles; the YAML form has its own. (docs/own-gpu.md, "Keys" and
// "Numbers")

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/dtype.hpp"
#include "model/base/quantity.hpp"

namespace napkin {

/// Where a number comes from. Exactly one of `source` (datasheet, documentation, "derived from ...") and `tool`
/// (measured) is set; a fitted constant says so.
struct Provenance {
  std::string source;
  std::string tool, date, driver;  ///< date: YYYY-MM-DD, YYYY-MM, YYYY or "unknown" (others' measurements)
  std::string note;                ///< optional: a range, a condition, a conflict between sources
  std::optional<double> spread;    ///< of a measurement's repetitions, as a fraction: (third - first quartile) / median
  bool fitted = false;
  std::string gpu;  ///< the product that it was measured on or fitted to; "": the profile's own
  [[nodiscard]] bool measured() const { return !tool.empty(); }
};

/// One number of a profile, in SI units (bytes, seconds, hertz, watts, joules) or per clock.
struct Number {
  double value = 0;
  std::string unit;  ///< as written in the file: "GB/s", "B/clk", "clk", "GHz", "KiB", ...
  Provenance from;
};

/// The datasheet's and the measured value of one quantity; both stay, best() is the measured one where there is one.
struct Stated {
  std::optional<Number> datasheet;
  std::optional<Number> measured;
  [[nodiscard]] bool known() const { return datasheet || measured; }
  [[nodiscard]] const Number& best() const { return measured ? *measured : *datasheet; }
};

enum class LevelKind { ordinary, cache, cross_transfer };

using LevelId = int;  ///< index into Machine::levels; 0 is the top (device memory)

/// A kind of memory node. Levels form a tree; nodes() counts nodes in the whole machine. A cross-transfer level is a
/// side node of that tree: the network that joins children of its parent. It holds nothing and has no children; every
/// parent node has exactly one, and per_parent is the largest number of nodes that one transfer joins.
struct Level {
  std::string
      name;  ///< "device", "l2", "cluster", "shared", "registers", "tensor_memory"; Ascend: "l1", "l0c", "ub", ...
  LevelKind kind = LevelKind::ordinary;
  LevelId parent = -1;
  Count per_parent = 1;             ///< nodes of this level in one parent node (cluster: the largest size)
  Stated capacity;                  ///< bytes a node; a cache without a stated size: unknown
  std::optional<Number> per_block;  ///< bytes one block may use (shared memory: 232448 on Hopper)
  Count transaction = 1;            ///< bytes of the smallest transfer into it
  Provenance per_parent_from, transaction_from;
};

/// A connection parent -> child (or any named pair). Bandwidth is either per node and clock or of the machine and
/// second; bytes_per_second() unifies. "Node" is the end that the machine has more of: the child of a parent.
struct Pipe {
  std::string name;
  std::string engine;  ///< of a node, that serves this pipe's copies one at a time, in order: "mte2"; empty: none named
  LevelId from = 0, to = 0;
  Stated per_node_clock;                  ///< bytes a clock and node
  Stated aggregate;                       ///< bytes a second, whole machine
  std::optional<Number> latency;          ///< clocks
  std::optional<Number> energy_per_byte;  ///< joules
  /// cross-transfer pipes: bandwidth (bytes a second, whole machine) by cluster size
  std::vector<std::pair<Count, Number>> by_cluster_size;
};

/// Time of one tensor instruction against its N, by operand source. (clock cycles an SM, back to back)
struct InstructionTiming {
  Count n;
  double clocks_shared = 0;     ///< A from shared memory
  double clocks_registers = 0;  ///< A from registers
  double latency_shared = 0;    ///< one instruction alone, from issue to the end of the wait; 0: not known
  double latency_registers = 0;
  bool operator==(const InstructionTiming&) const = default;
};

/// Matrix instruction of one element type: m x n x k, n from n_least to n_most in steps.
struct TensorInstruction {
  std::string name;            ///< "wgmma", "mma.sync", "tcgen05", "mfma", "cube"
  bool asynchronous = false;   ///< the unit fetches operands by itself and threads go on; else they load and wait
  bool by_descriptor = false;  ///< it reads tiles of the block's memory in place, which must be swizzled and aligned
  Count warps = 1;             ///< that issue one together (wgmma: 4)
  DType type = DType::bf16;
  double flop_per_clock = 0;  ///< per node (SM), fp32 accumulate
  Provenance from;
  Count m = 16, n_least = 8, n_most = 8, n_step = 8, k = 16;
  std::vector<InstructionTiming> timing;  ///< measured, by n ascending; empty: 2 m n k / flop_per_clock
  Provenance shape_from, timing_from;
  LevelId level = 0;  ///< whose nodes execute it (Machine::compute unless the profile says otherwise)
};

/// What a unit's rate counts. A multiply-add is two FLOP; the unit that counts bytes is the port of the node's memory.
enum class Counted { results, instructions, bytes, flop };

/// What the clock needs a unit for beyond the work that a mapping names it for.
enum class UnitRole {
  none,
  issue,        ///< the schedulers: every warp instruction takes a slot of it
  multiply_add  ///< multiplies where no tensor instruction takes the type
};

using UnitId = int;  ///< index into Machine::units

/// What agents get of a unit while their instructions take turns with others of their own, by how many instances are at
/// work on it: the first of a list for one, the last for as many as the list is long and more.
struct CoUse {
  static constexpr std::size_t most = 3;
  std::vector<Number> alone, beside;  ///< while no tensor instruction runs, and while one does
};

/// A non-tensor execution unit: results (or warp instructions, or bytes) a clock and node.
struct Unit {
  std::string name;  ///< "special", "fp32", "fp16", "alu", "conversion", "issue", "shared_port", "shuffle", ...
  Stated per_clock;
  Counted counts = Counted::results;
  UnitRole role = UnitRole::none;
  std::optional<Number>
      per_lane;        ///< results (bytes) of one lane of a warp instruction where it is not 1: packed pairs
  UnitId passes = -1;  ///< the port that its work goes through; -1: none
  std::optional<Number> beside_tensor;  ///< the rate while the tensor unit is busy, where measured (Hopper)
  CoUse co_use;
  LevelId level = 0;  ///< whose nodes hold it (Machine::compute unless the profile says otherwise)

  bool packed = false;        ///< an instruction works on several results (bytes) of a lane: per_lane says how many
  bool late_results = false;  ///< a result comes later than that of an addition: whoever needs it waits longer

  [[nodiscard]] double results_per_lane() const { return per_lane ? per_lane->value : 1; }
};

/// What limits the blocks of one SM. (cuda_occupancy.h is the twin.)
struct Limits {
  Count warp_size = 32;
  Count threads_per_node = 2048, warps_per_node = 64, blocks_per_node = 32, threads_per_block = 1024;
  Count registers_per_node = 65536, registers_per_block = 65536, registers_per_thread = 255;
  Count register_granule_per_thread = 8;  ///< registers a thread are rounded up to this
  Count register_granule_per_warp = 256;
  Count schedulers = 4;                               ///< sub-partitions a node
  Count shared_reserved_per_block = 1024;             ///< bytes
  Count shared_granule = 128;                         ///< bytes
  bool known = false;                                 ///< false for machines without SMs (Ascend)
  std::map<std::string, Number, std::less<>> stated;  ///< each of the above as the profile states it, by name
};

/// A kind of core of a compute node, whose instances are the nodes of a level: that level, and those below it that are
/// no other core's, are its memories; a unit of that level is its own. Example: two vector cores beside each cube core.
struct Core {
  std::string name;  ///< "cube", "vector"
  LevelId level = 0;
};

struct Clocks {
  std::optional<Number> maximum, tensor, base;  ///< hertz; `tensor` is the datasheet's clock behind its tensor peak
};

struct Power {
  std::optional<Number> limit, idle;  ///< watts
  std::optional<Number> burst;        ///< watts that the card holds for some tens of milliseconds behind a rest
};

struct Machine {
  std::string name;                  ///< "h200-sxm"
  std::vector<std::string> aliases;  ///< other names that a user may know it by
  std::string about;
  std::string vendor;         ///< "nvidia", "amd", "huawei"
  std::string architecture;   ///< "sm_90"; mappings' runs_on refers to it
  std::vector<Level> levels;  ///< top to bottom; parents before children
  std::vector<Pipe> pipes;
  LevelId compute = 0;  ///< the level whose nodes hold the execution units (the SM: "shared")
  std::vector<TensorInstruction> tensor;
  std::vector<Unit> units;
  std::vector<Core> cores;  ///< kinds of them; empty: one kind, whose threads do everything
  Limits limits;
  Clocks clocks;
  Power power;
  std::map<std::string, Number, std::less<>> constants;  ///< other measured values, by name: launch overhead, ...
  std::map<std::string, Number, std::less<>> fitted;     ///< fitted from whole-kernel runs, kept apart

  [[nodiscard]] std::optional<LevelId> find_level(std::string_view level_name) const;
  [[nodiscard]] LevelId level(std::string_view level_name) const;  ///< throws Error that lists the known
  [[nodiscard]] Count nodes(LevelId level) const;                  ///< in the whole machine
  [[nodiscard]] Count compute_nodes() const { return nodes(compute); }
  /// Nodes of the level in one compute node: 2 vector cores beside a cube core. 1 for levels above it.
  [[nodiscard]] double per_compute_node(LevelId level) const;
  [[nodiscard]] const Core* core(std::string_view core_name) const;  ///< or nullptr
  [[nodiscard]] const Core* core_of(LevelId level) const;            ///< whose memory it is, or nullptr
  /// The pipe from one level to another, or nullptr.
  [[nodiscard]] const Pipe* pipe_between(LevelId from, LevelId to) const;
  /// The pipe from its parent (of a cross-transfer level: the pipe between the nodes it joins), or nullptr.
  [[nodiscard]] const Pipe* pipe_into(LevelId level) const;
  [[nodiscard]] const Pipe* find_pipe(std::string_view pipe_name) const;  ///< or nullptr
  [[nodiscard]] const Unit* unit(std::string_view unit_name) const;       ///< or nullptr
  [[nodiscard]] const Unit* unit(UnitRole role) const;                    ///< with a known rate, or nullptr
  [[nodiscard]] const Unit* port() const;  ///< of the node's memory, with a known rate, or nullptr
  [[nodiscard]] const Number* find_constant(
      std::string_view constant_name) const;                            ///< fitted, else measured, or nullptr
  [[nodiscard]] double constant(std::string_view constant_name) const;  ///< its value; throws Error that names it
  /// Where its absence has a meaning, which stands beside it in clock/graph/needs.cpp.
  [[nodiscard]] double constant_or(std::string_view constant_name, double absent) const;
  /// The constant "UNIT.FIELD": what belongs to a unit beside its rates.
  [[nodiscard]] double constant_or(const Unit& unit, std::string_view field, double absent) const;
  /// The instruction for that input type, or nullptr where the machine has none. Where it has several (wgmma and
  /// mma.sync on Hopper) the first, which is the fastest; by name, exactly that one.
  [[nodiscard]] const TensorInstruction* tensor_for(DType type) const;
  [[nodiscard]] const TensorInstruction* tensor_for(DType type, std::string_view instruction) const;
  /// Whether the two types differ in nothing but their names: f16 and bf16 do where they have as many bits and tensor
  /// instructions of equal numbers.
  [[nodiscard]] bool cost_alike(DType a, DType b) const;
};

/// A size in bytes or a count as a whole number, rounded. Throws Overflow where 64 bits do not hold it.
[[nodiscard]] Count count_of(const Number& number);

/// Bytes a second over a pipe, all nodes together, at that clock; measured before datasheet, per node before
/// aggregate. Where only rates by cluster size are known: the smallest cluster's. 0 where unknown.
[[nodiscard]] double bytes_per_second(const Machine& machine, const Pipe& pipe, Hertz clock);

/// For transfers in clusters of that many nodes: the rate stated for that size, else the pipe's.
[[nodiscard]] double bytes_per_second(const Machine& machine, const Pipe& pipe, Hertz clock, Count cluster_size);

/// Dense peak: nodes x FLOP a clock x clock, in FLOP/s. (the identity that hardware datasheets obey)
[[nodiscard]] double peak_flops(const Machine& machine, const TensorInstruction& instruction, Hertz clock);

/// Clocks of one tensor instruction with that n >= 1 (linear between the measured n, constant below the first, in
/// proportion to n above the last; where none is measured 2 m n k / flop_per_clock). Throws Error for n < 1.
[[nodiscard]] double instruction_clocks(const TensorInstruction& instruction, Count n, bool a_from_registers);

/// The two-level machine of --memory: levels "high" and "low", `low` holding `values` (one byte is one value). Throws
/// Error for fewer than one value or more than 2^62.
[[nodiscard]] Machine abstract_machine(Count values);

}  // namespace napkin
