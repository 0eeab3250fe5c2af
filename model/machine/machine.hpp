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

namespace napkin::internal {

/// The other value of a number that sources dispute, in SI units, and who states it.
struct Disputed {
  double value = 0;
  std::string unit;  ///< unit in the file
  std::string source;
};

/// The source of a number. Either `source` (datasheet, documentation, "derived from ...") or `tool` (measured) is set;
/// a fitted constant says so.
struct Provenance {
  std::string source;
  std::string tool, date, driver;  ///< date: YYYY-MM-DD, YYYY-MM, YYYY or "unknown" (others' measurements)
  std::string note;                ///< optional: a range, a condition
  std::optional<double> spread;    ///< spread of a measurement's repetitions: (third - first quartile) / median
  bool fitted = false;
  std::string gpu;  ///< product that it was measured on or fitted to; "": the profile's own
  std::optional<Disputed> disputed = std::nullopt;
  [[nodiscard]] bool measured() const { return !tool.empty(); }
};

/// A number of a profile, in SI units (bytes, seconds, hertz, watts, joules) or per clock.
struct Number {
  double value = 0;
  std::string unit;  ///< unit in the file: "GB/s", "B/clk", "clk", "GHz", "KiB", ...
  Provenance from;
};

/// A quantity by datasheet and by measurement, both kept; best() returns the measured value if there is one.
struct Stated {
  std::optional<Number> datasheet;
  std::optional<Number> measured;
  [[nodiscard]] bool known() const { return datasheet || measured; }
  [[nodiscard]] const Number& best() const { return measured ? *measured : *datasheet; }
};

enum class LevelKind { ordinary, cache, cross_transfer };

using LevelId = int;  ///< index into Machine::levels; 0 is the top (device memory)

/// A kind of memory node. Levels form a tree; nodes() counts nodes in the whole machine. A cross-transfer level is a
/// side node without content and children: the network that joins up to per_parent children of its parent, one for
/// every parent node.
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

/// A connection from parent to child (or between any two levels). Its bandwidth is per node and clock, or per second of
/// the machine; bytes_per_second() unifies both. A "node" is one at the end that has more of them: the child of a
/// parent.
struct Pipe {
  std::string name;
  std::string engine;  ///< engine of a node that makes this pipe's copies one at a time, in order: "mte2"; empty: none
                       ///< named
  LevelId from = 0, to = 0;
  Stated per_node_clock;                  ///< bytes a clock and node
  Stated aggregate;                       ///< bytes a second, whole machine
  std::optional<Number> latency;          ///< clocks
  std::optional<Number> energy_per_byte;  ///< joules
  /// Bandwidth of a cross-transfer pipe (bytes a second, whole machine) by cluster size.
  std::vector<std::pair<Count, Number>> by_cluster_size;
};

/// The clocks of a tensor instruction against its n, by operand source: SM clocks, back to back.
struct InstructionTiming {
  Count n;
  double clocks_shared = 0;     ///< clocks with A from shared memory
  double clocks_registers = 0;  ///< clocks with A from registers
  double latency_shared = 0;    ///< clocks of a single instruction, from issue to the end of the wait; 0: not known
  double latency_registers = 0;
  bool operator==(const InstructionTiming&) const = default;
};

/// A matrix instruction of one element type: m x n x k, n from n_least to n_most in steps.
struct TensorInstruction {
  std::string name;            ///< "wgmma", "mma.sync", "tcgen05", "mfma", "cube"
  bool asynchronous = false;   ///< true if the unit fetches operands by itself, so that threads continue; else threads
                               ///< load and wait
  bool by_descriptor = false;  ///< true if it reads tiles of the block's memory in place, which must be swizzled and
                               ///< aligned
  Count warps = 1;             ///< warps that issue an instruction together (wgmma: 4)
  DType type = DType::bf16;
  double flop_per_clock = 0;  ///< rate of a node (SM), fp32 accumulate
  Provenance from;
  Count m = 16, n_least = 8, n_most = 8, n_step = 8, k = 16;
  std::vector<InstructionTiming> timing;  ///< measured, by n ascending; empty: 2 m n k / flop_per_clock
  Provenance shape_from, timing_from;
  LevelId level = 0;  ///< level whose nodes execute it (Machine::compute unless the profile says otherwise)
};

/// The quantity that a unit's rate counts. A multiply-add is two FLOP; the unit that counts bytes is the port of the
/// node's memory.
enum class Counted { results, instructions, bytes, flop };

/// The clock's use of a unit beyond the work that a mapping gives it.
enum class UnitRole {
  none,
  issue,        ///< the schedulers, of which every warp instruction takes a slot
  multiply_add  ///< multiplication if no tensor instruction takes the type
};

using UnitId = int;  ///< index into Machine::units

/// The rates of a unit when agents alternate its instructions with others, by the number of working instances: the
/// first rate for one instance, the last for that many or more.
struct CoUse {
  static constexpr std::size_t most = 3;
  std::vector<Number> alone, beside;  ///< rates while no tensor instruction runs, and while one does
};

/// A non-tensor execution unit: results (or warp instructions, or bytes) a clock and node.
struct Unit {
  std::string name;  ///< "special", "fp32", "fp16", "alu", "conversion", "issue", "shared_port", "shuffle", ...
  Stated per_clock;
  Counted counts = Counted::results;
  UnitRole role = UnitRole::none;
  std::optional<Number> per_lane;       ///< results (bytes) of a lane of a warp instruction, if not 1: packed pairs
  UnitId passes = -1;                   ///< the port that its work goes through; -1: none
  std::optional<Number> beside_tensor;  ///< the rate while the tensor unit is busy, where measured (Hopper)
  CoUse co_use;
  LevelId level = 0;  ///< level whose nodes hold it (Machine::compute unless the profile says otherwise)

  bool packed = false;        ///< true if an instruction works on several results (bytes) of a lane, as per_lane counts
  bool late_results = false;  ///< true if results come later than those of an addition, so that dependents wait longer

  [[nodiscard]] double results_per_lane() const { return per_lane ? per_lane->value : 1; }
};

/// The limits of an SM's blocks. (cuda_occupancy.h is the twin.)
struct Limits {
  Count warp_size = 32;
  Count threads_per_node = 2048, warps_per_node = 64, blocks_per_node = 32, threads_per_block = 1024;
  Count registers_per_node = 65536, registers_per_block = 65536, registers_per_thread = 255;
  Count register_granule_per_thread = 8;  ///< granule to which a thread's registers are rounded up
  Count register_granule_per_warp = 256;
  Count schedulers = 4;                               ///< sub-partitions a node
  Count shared_reserved_per_block = 1024;             ///< bytes
  Count shared_granule = 128;                         ///< bytes
  bool known = false;                                 ///< false for machines without SMs (Ascend)
  std::map<std::string, Number, std::less<>> stated;  ///< each number above as the profile states it, by name
};

/// A kind of core of a compute node: its instances are the nodes of a level, its memories that level and those below
/// that belong to no other core, its units those of the level. Example: two vector cores beside each cube core.
struct Core {
  std::string name;  ///< "cube", "vector"
  LevelId level = 0;
};

struct Clocks {
  /// Hertz; `tensor` is the clock to which the datasheet's tensor peak refers.
  std::optional<Number> maximum, tensor, base;
};

struct Power {
  std::optional<Number> limit, idle;  ///< watts
  std::optional<Number> burst;        ///< watts that the card holds for tens of milliseconds after a rest
};

struct Machine {
  std::string name;                  ///< "h200-sxm"
  std::vector<std::string> aliases;  ///< other names that a user may know it by
  std::string about;
  std::string vendor;         ///< "nvidia", "amd", "huawei"
  std::string architecture;   ///< "sm_90"; mappings' runs_on refers to it
  std::vector<Level> levels;  ///< top to bottom; parents before children
  std::vector<Pipe> pipes;
  LevelId compute = 0;  ///< level whose nodes hold the execution units (the SM: "shared")
  std::vector<TensorInstruction> tensor;
  std::vector<Unit> units;
  std::vector<Core> cores;  ///< kinds of cores; empty: a single kind, whose threads do everything
  Limits limits;
  Clocks clocks;
  Power power;
  std::map<std::string, Number, std::less<>> constants;  ///< other measured constants, by name: launch overhead, ...
  std::map<std::string, Number, std::less<>> fitted;     ///< constants fitted to runs of whole kernels, by name

  [[nodiscard]] std::optional<LevelId> find_level(std::string_view level_name) const;
  [[nodiscard]] LevelId level(std::string_view level_name) const;  ///< finds it, or throws Error that lists all
  [[nodiscard]] Count nodes(LevelId level) const;                  ///< returns their number in the whole machine
  [[nodiscard]] Count compute_nodes() const { return nodes(compute); }
  /// Returns the nodes of the level in a compute node: 2 vector cores beside a cube core; 1 for levels above it.
  [[nodiscard]] double per_compute_node(LevelId level) const;
  [[nodiscard]] const Core* core(std::string_view core_name) const;  ///< returns nullptr if there is none
  [[nodiscard]] const Core* core_of(LevelId level) const;  ///< returns the core whose memory it is, or nullptr
  /// Returns the pipe between two levels, or nullptr.
  [[nodiscard]] const Pipe* pipe_between(LevelId from, LevelId to) const;
  /// Returns the pipe from the level's parent (for a cross-transfer level the pipe between the nodes it joins), or
  /// nullptr.
  [[nodiscard]] const Pipe* pipe_into(LevelId level) const;
  [[nodiscard]] const Pipe* find_pipe(std::string_view pipe_name) const;  ///< returns nullptr if there is none
  [[nodiscard]] const Unit* unit(std::string_view unit_name) const;       ///< returns nullptr if there is none
  /// Returns the unit of that role, or nullptr if there is none with a known rate.
  [[nodiscard]] const Unit* unit(UnitRole role) const;
  /// Returns the port of the node's memory, or nullptr if its rate is not known.
  [[nodiscard]] const Unit* port() const;
  /// Returns the constant's fitted value, else its measured value, or nullptr.
  [[nodiscard]] const Number* find_constant(std::string_view constant_name) const;
  /// Returns the constant's value. Throws Error that names it if it is missing.
  [[nodiscard]] double constant(std::string_view constant_name) const;
  /// Returns the constant; `absent` if it is missing, which has a meaning only as clock/graph/needs.cpp lists it.
  [[nodiscard]] double constant_or(std::string_view constant_name, double absent) const;
  /// Returns the constant "UNIT.FIELD" of a unit, beside its rates.
  [[nodiscard]] double constant_or(const Unit& unit, std::string_view field, double absent) const;
  /// Returns the instruction for that input type, or nullptr. If there are several (wgmma and mma.sync on Hopper), the
  /// first, which is the fastest; tensor_for(type, name) returns the named one.
  [[nodiscard]] const TensorInstruction* tensor_for(DType type) const;
  [[nodiscard]] const TensorInstruction* tensor_for(DType type, std::string_view instruction) const;
  /// Returns true if the types differ only in their names: f16 and bf16, if their bits and tensor instructions have
  /// equal numbers.
  [[nodiscard]] bool cost_alike(DType a, DType b) const;
};

/// Returns a size in bytes or a count as a whole number, rounded. Throws Overflow if 64 bits do not hold it.
[[nodiscard]] Count count_of(const Number& number);

/// Returns the bytes a second over a pipe, all nodes together, at that clock: measured before datasheet, per node
/// before aggregate, else the smallest cluster's rate. 0 if unknown.
[[nodiscard]] double bytes_per_second(const Machine& machine, const Pipe& pipe, Hertz clock);

/// Returns the bytes a second for transfers in clusters of that many nodes: the rate stated for that size, else the
/// pipe's.
[[nodiscard]] double bytes_per_second(const Machine& machine, const Pipe& pipe, Hertz clock, Count cluster_size);

/// Returns the dense peak in FLOP/s: nodes x FLOP a clock x clock, the identity that datasheets obey.
[[nodiscard]] double peak_flops(const Machine& machine, const TensorInstruction& instruction, Hertz clock);

/// Returns the clocks of a tensor instruction with that n >= 1: linear between measured n, constant below the first, in
/// proportion to n above the last; without any, 2 m n k / flop_per_clock. Throws Error for n < 1.
[[nodiscard]] double instruction_clocks(const TensorInstruction& instruction, Count n, bool a_from_registers);

/// Makes the two-level machine of --memory: levels "high" and "low", of which `low` holds `values` (a byte is a value).
/// Throws Error for fewer than one value or more than 2^62.
[[nodiscard]] Machine abstract_machine(Count values);

}  // namespace napkin::internal
