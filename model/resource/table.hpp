#pragma once
// configuration_table and throughput_table make the paper's Tables 1, 2 and 3 of a placed diagram, as data, for any
// mapping. (model/README.md, "Configuration table" and "Throughput")

#include <optional>
#include <string>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin {

/// One variable: what it holds, where, and its bytes where one instance of it lies.
struct ConfigurationRow {
  std::string variable;  ///< its name in the mapping
  std::string array;     ///< the diagram's array, or the auxiliaries' names
  std::string
      axes;  ///< "w_q x s_x": g a block's part, w an agent's, t a thread's, s a chunk; else the axis or the size's knob
  DType type = DType::f32;
  LevelId level = 0;
  Scope scope = Scope::block;
  Count copies = 1;
  Count elements;               ///< of one copy
  Bytes block_bytes;            ///< scope block: all copies; else 0
  Bytes agent_bytes;            ///< scope agent: all copies of one instance; else 0
  std::optional<Bytes> offset;  ///< in a core's memory: where its storage begins, in the order of the mapping
};

/// One level of the table: how many agents it holds. (eq. 10.1: N_max = (M_max - M_TB) / M_WG)
struct TableTotal {
  LevelId level = 0;
  Bytes limit;                        ///< of one block: M_max
  Bytes block_bytes;                  ///< M_TB
  Bytes agent_bytes;                  ///< M_WG
  std::optional<double> most_agents;  ///< N_max; none where no variable belongs to an agent
  Bytes excess;                       ///< limit - M_TB - N M_WG with the table's N; negative where N does not fit
  Bytes excess_per_agent;             ///< excess / N, rounded down
  std::optional<Count>
      excess_per_thread;  ///< bytes; registers only: of the threads' share as the paper counts it (erratum P5)
  std::optional<Count> excess_allocatable;  ///< `excess` with registers in whole granules
};

struct ConfigurationTable {
  std::vector<ConfigurationRow>
      rows;                        ///< in the mapping's order, storage that an alias shares counted at its owner only
  std::vector<TableTotal> totals;  ///< of the levels that hold variables, top to bottom
  Count agents;                    ///< N: the floor of the least N_max
  Count agent_threads;             ///< of one agent
};

/// "g_q", "w_q", "u_x": an axis of what a variable holds, as the table writes it.
[[nodiscard]] std::string axis_label(const PlacedDiagram& placed, const Variable& variable, AxisId axis);

/// Sums are of the variables as declared: no alignment, no barriers. N is what fits, not what the tile asks for.
[[nodiscard]] ConfigurationTable configuration_table(const PlacedDiagram& placed);

/// One operation's use of one unit, for one thread (where agents are cores: one core that does it) and one iteration of
/// the loop.
struct ThroughputRow {
  std::string operation;  ///< "S", "P.exp", "O.accumulate": the output, and the work's name
  std::string unit;       ///< "tensor e4m3", "special", "fp16"
  double operations = 0;  ///< for one thread (one row of the group): a multiply-add is 2 on units counted in FLOP
  double rate = 0;        ///< operations a clock and compute node
  double clocks = 0;      ///< operations / rate
};

struct ThroughputTable {
  std::vector<ThroughputRow> rows;
  double tensor_clocks = 0;  ///< k_TC: of all tensor rows
};

/// Loop operations only, by peak rates. The threads of a block share its work evenly; of cores those that do it.
[[nodiscard]] ThroughputTable throughput_table(const PlacedDiagram& placed);

/// The rows g of a block above which its loop is not bound by device memory, without any cache: the tensor clocks of
/// one iteration take longer than its streamed bytes H_B at the node's share of the bandwidth (k_TC clocks a row; bytes
/// that grow with the rows, as of a matrix product's left operand, are taken off its right side). None: no number is
/// enough.
///     k_TC g / f >= H_B N / B    =>    g >= f H_B N / (k_TC B)              (eq. 8.3, erratum P1; 295.2 on the H100)
[[nodiscard]] std::optional<double> bandwidth_threshold(const PlacedDiagram& placed);

/// FLOP/s with the tensor units always busy: FLOPs a thread and iteration over k_TC, all nodes. (eq. 11.2; 1.319e15)
[[nodiscard]] double ideal_tensor_rate(const PlacedDiagram& placed);

}  // namespace napkin
