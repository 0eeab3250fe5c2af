#pragma once
// configuration_table and throughput_table build the paper's Tables 1, 2 and 3 for a placed diagram, as data, for any
// mapping. (model/README.md, "Configuration table" and "Throughput")

#include <optional>
#include <string>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// A variable: content, place, and the bytes of one instance where it lies.
struct ConfigurationRow {
  std::string variable;  ///< name in the mapping
  std::string array;     ///< the diagram's array, or the auxiliaries' names
  std::string reuses;    ///< variable whose storage it takes over; empty: it has its own
  std::string
      axes;  ///< "w_q x s_x": g a block's part, w an agent's, t a thread's, s a chunk; else the axis or the size's knob
  DType type = DType::f32;
  LevelId level = 0;
  Scope scope = Scope::block;
  Count copies = 1;
  Count elements;               ///< elements of one copy
  Bytes block_bytes;            ///< bytes of all copies, for scope block; else 0
  Bytes agent_bytes;            ///< bytes of all copies of one instance, for scope agent; else 0
  std::optional<Bytes> offset;  ///< offset of its storage in a core's memory, in the mapping's order
};

/// A level of the table: the number of agents that it holds. (eq. 10.1: N_max = (M_max - M_TB) / M_WG)
struct TableTotal {
  LevelId level = 0;
  Bytes limit;                             ///< bytes of one block: M_max
  Bytes block_bytes;                       ///< M_TB
  Bytes agent_bytes;                       ///< M_WG
  std::optional<double> most_agents;       ///< N_max; none where no variable belongs to an agent
  Bytes excess;                            ///< limit - M_TB - N M_WG with the table's N; negative where N does not fit
  Bytes excess_per_agent;                  ///< excess / N, rounded down
  std::optional<Count> excess_per_thread;  ///< bytes a thread, for registers only, with threads counted as in the paper
                                           ///< (erratum P5)
  std::optional<Count> excess_allocatable;  ///< `excess` with registers in whole granules
};

struct ConfigurationTable {
  std::vector<ConfigurationRow> rows;  ///< rows in the mapping's order; storage that an alias shares counts at its
                                       ///< owner only
  std::vector<TableTotal> totals;      ///< totals of the levels that hold variables, top to bottom
  Count agents;                        ///< floor of the least N_max
  Count agent_threads;                 ///< threads of one agent
};

/// Returns an axis of a variable's content as the table writes it: "g_q", "w_q", "u_x".
[[nodiscard]] std::string axis_label(const PlacedDiagram& placed, const Variable& variable, AxisId axis);

/// Makes the table. Sums are of the variables as declared, without alignment and barriers; N is the number that fits,
/// not the number that the tile asks for.
[[nodiscard]] ConfigurationTable configuration_table(const PlacedDiagram& placed);

/// The use of a unit by an operation, for a thread (or for a core, if agents are cores) in an iteration of the loop.
struct ThroughputRow {
  std::string operation;  ///< "S", "P.exp", "O.accumulate": the output, and the work's name
  std::string unit;       ///< "tensor e4m3", "special", "fp16"
  double operations = 0;  ///< operations of one thread (one row of the group); a multiply-add is 2 on units counted in
                          ///< FLOP
  double rate = 0;        ///< operations a clock and compute node
  double clocks = 0;      ///< operations / rate
};

struct ThroughputTable {
  std::vector<ThroughputRow> rows;
  double tensor_clocks = 0;  ///< k_TC: clocks of all tensor rows
};

/// Makes the table of loop operations by peak rates. The threads of a block share its work evenly, as do the cores that
/// do it.
[[nodiscard]] ThroughputTable throughput_table(const PlacedDiagram& placed);

/// Returns the rows of a block above which its loop is not bound by device memory, without any cache: g >= f H_B N /
/// (k_TC B), where H_B are the streamed bytes of an iteration (those that grow with the rows are subtracted). None: no
/// number suffices. (eq. 8.3, erratum P1; 295.2 on the H100)
[[nodiscard]] std::optional<double> bandwidth_threshold(const PlacedDiagram& placed);

/// Returns the FLOP/s of tensor units that are always busy: FLOP a thread and iteration over k_TC, all nodes. (eq.
/// 11.2; 1.319e15)
[[nodiscard]] double ideal_tensor_rate(const PlacedDiagram& placed);

}  // namespace napkin::internal
