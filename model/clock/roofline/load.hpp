#pragma once
// block_load returns the clocks for which one block keeps each pipe of its compute node busy: the tensor unit 1,024
// clocks an iteration of 128 x 128 at d = 128. (model/README.md, "Time: the roofline")

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// The clocks that a pipe of a compute node works for a block.
struct PipeLoad {
  std::string_view name;       ///< the unit's name, or "tensor"
  const Unit* unit = nullptr;  ///< unit of the machine, if it is one
  double loop = 0;             ///< clocks of a visited iteration
  double once = 0;             ///< clocks of head and tail together
  bool vector = false;         ///< true for work of threads, not of the tensor unit or a memory port
};

/// The loads of a compute node's pipes by one block, and the bytes that it moves over the pipe into its level.
struct BlockLoad {
  static constexpr std::size_t most = 16;
  std::array<PipeLoad, most> pipes{PipeLoad{"tensor"}};
  std::size_t count = 1;
  double loop_bytes = 0;  ///< bytes from and to the level above in a visited iteration; multicast bytes count 1 /
                          ///< cluster
  double once_bytes = 0;  ///< bytes from and to the level above in head and tail together
  double part_bytes = 0;  ///< parts of results that blocks of a cluster exchange; in none of the above

  [[nodiscard]] const PipeLoad& tensor() const { return pipes[0]; }  ///< returns the first pipe
  /// Returns the unit's pipe, which it appends if it is new. Throws Error for more than `most`.
  PipeLoad& pipe(const Unit& unit);
};

/// The assignment of a block's work to pipes, with sizes left open. Made from a placement, it serves all placements of
/// the same alternatives (PlacedDiagram::variant); a search finds pipes, rates and axes once.
class Workload {
 public:
  explicit Workload(const PlacedDiagram& placed);
  /// Returns the load. Ragged tiles count in full, since a kernel runs whole instructions on padded tiles.
  [[nodiscard]] BlockLoad of(const PlacedDiagram& placed) const;

 private:
  struct Share {
    int pipe = -1;       ///< index into BlockLoad::pipes; -1: none
    double a_clock = 1;  ///< results, slots or bytes a clock
  };
  struct Results {
    std::size_t operation;  ///< index into PlacedDiagram::operations
    int work;               ///< index into its work; -1: the products of a contraction
    Phase phase;
    Share of;       ///< share of one node
    LevelId level;  ///< level whose nodes hold the unit
    double a_warp;  ///< results of one warp instruction
    bool bytes;     ///< true for the port, whose results are bytes
  };
  struct Box {
    const std::vector<AxisId>* axes;
    bool chunked;  ///< true if it counts one iteration
    Phase phase;
    double value_bytes;
    ArrayId array = -1;  ///< array of these axes; -1: none
  };
  struct Moved {
    std::size_t crossing;  ///< index into PlacedDiagram::crossings
    Box box;
    bool combined, into_block,
        part;  ///< flags: one result of a cluster on its way up; to or from the block; BlockLoad::part_bytes
  };

  void add_operation(const PlacedDiagram& placed, std::size_t operation);
  void add_crossings(const PlacedDiagram& placed);
  void add_written(const PlacedDiagram& placed);
  [[nodiscard]] int pipe_of(const Unit& unit, bool vector);
  [[nodiscard]] static double bytes_of(const PlacedDiagram& placed, const Box& box);

  BlockLoad idle_;                   ///< all pipes, without work
  std::vector<std::size_t> tensor_;  ///< operations of the matrix unit
  std::vector<Results> results_;
  std::vector<Moved> crossings_;
  std::vector<Box> through_port_;  ///< boxes that threads read from the block's level, and write to it
  Share issue_, port_;
};

/// Returns the nodes of a level that work for one block: two vector cores beside a cube core, or one, if the kernel's
/// agent there has one instance.
[[nodiscard]] double nodes_at_work(const PlacedDiagram& placed, LevelId level);

/// Returns the load of a single placement.
[[nodiscard]] BlockLoad block_load(const PlacedDiagram& placed);

/// The load of a tensor operation in one iteration of a block.
struct TensorLoad {
  double clocks = 0;      ///< clocks of the matrix unit
  double slots = 0;       ///< warp instructions issued, including loads of operands by threads
  double port_bytes = 0;  ///< bytes of shared memory
  double products = 0;    ///< tensor instructions
  double flops = 0;       ///< FLOP of the operations, in whole instructions
};
[[nodiscard]] TensorLoad tensor_load(const PlacedDiagram& placed, const PlacedOperation& operation);

/// Returns the slowdown of shared memory's port for an 8 x 8 matrix of 16-bit values (ldmatrix: eight rows of 16 bytes)
/// whose rows are `pitch` bytes apart, a multiple of 16, over banks `width` bytes wide: 8 for a pitch of 128, 1 for 16
/// more.
[[nodiscard]] double bank_conflicts(std::int64_t pitch, std::int64_t width);

/// Returns the warp instructions for so many results of a unit: 64 results of a unit that packs pairs are one.
[[nodiscard]] double warp_instructions(const Machine& machine, const Unit& unit, double results);

/// Returns the bytes that a crossing reads for a block: an iteration's in the loop, else the block's; multicast bytes
/// divided by the cluster.
[[nodiscard]] double bytes_read(const PlacedDiagram& placed, const Crossing& crossing);

/// Returns the clocks of an operation's tensor instructions in one iteration of a block: rows in whole instructions of
/// each agent, columns in as few as the largest n allows; 0 for vector operations.
[[nodiscard]] double tensor_clocks(const PlacedDiagram& placed, const PlacedOperation& operation);

/// Returns the phase of a piece of work; work of cut chunks counts as done before a block's iterations.
[[nodiscard]] Phase phase_of(const PlacedOperation& operation, const WorkMapping& work);

}  // namespace napkin::internal
