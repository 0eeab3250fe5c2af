#pragma once
// block_load says how long one block keeps each pipe of its compute node busy: the tensor unit 1,024 clocks an
// iteration of 128 x 128 at d = 128. (model/README.md, "Time: the roofline")

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin {

/// Clocks that one pipe of a compute node works for one block.
struct PipeLoad {
  std::string_view name;       ///< the unit's name, or "tensor"
  const Unit* unit = nullptr;  ///< where it is one of the machine's
  double loop = 0;             ///< for one visited iteration
  double once = 0;             ///< for the head and the tail together
  bool vector = false;         ///< work of threads: not tensor, not a memory port
};

/// All pipes of a compute node, and what one block moves over the machine's pipe into its level.
struct BlockLoad {
  static constexpr std::size_t most = 16;
  std::array<PipeLoad, most> pipes{PipeLoad{"tensor"}};
  std::size_t count = 1;
  double loop_bytes = 0;  ///< from and to the level above, one visited iteration; multicast bytes / cluster
  double once_bytes = 0;  ///< from and to the level above, head and tail together
  double part_bytes = 0;  ///< parts of results that blocks of a cluster exchange; in none of the above

  [[nodiscard]] const PipeLoad& tensor() const { return pipes[0]; }  ///< always the first
  /// The unit's pipe, appended where there is none yet. Throws Error for more than `most`.
  PipeLoad& pipe(const Unit& unit);
};

/// Which work of a block goes to which pipe, with the sizes left open: made of one placement, it serves every other of
/// its alternatives (PlacedDiagram::variant). For searches: it finds pipes, rates and axes once.
class Workload {
 public:
  explicit Workload(const PlacedDiagram& placed);
  /// Every tile is counted in full, ragged ones too: a kernel runs whole instructions on padded tiles.
  [[nodiscard]] BlockLoad of(const PlacedDiagram& placed) const;

 private:
  struct Share {
    int pipe = -1;       ///< index into BlockLoad::pipes; -1: none
    double a_clock = 1;  ///< results, slots or bytes
  };
  struct Results {
    std::size_t operation;  ///< index into PlacedDiagram::operations
    int work;               ///< index into its work; -1: the products of a contraction
    Phase phase;
    Share of;
    double a_warp;  ///< results of one warp instruction
    bool bytes;     ///< of the port
  };
  struct Box {
    const std::vector<AxisId>* axes;
    bool chunked;  ///< of one iteration
    Phase phase;
    double value_bytes;
    ArrayId array = -1;  ///< whose axes these are, -1: of something else
  };
  struct Moved {
    std::size_t crossing;  ///< index into PlacedDiagram::crossings
    Box box;
    bool combined, into_block,
        part;  ///< one result of a cluster on its way up; to or from the block; BlockLoad::part_bytes
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
  std::vector<Box> through_port_;  ///< what threads read from the block's level and write to it
  Share issue_, port_;
};

/// That of one placement alone.
[[nodiscard]] BlockLoad block_load(const PlacedDiagram& placed);

/// What one tensor operation takes for one block's one iteration.
struct TensorLoad {
  double clocks = 0;      ///< of the matrix unit
  double slots = 0;       ///< warp instructions issued, loads of operands included where threads do them
  double port_bytes = 0;  ///< of shared memory
  double products = 0;    ///< tensor instructions
  double flops = 0;       ///< of the operations, in whole instructions
};
[[nodiscard]] TensorLoad tensor_load(const PlacedDiagram& placed, const PlacedOperation& operation);

/// How many times as long shared memory's port takes for one 8 x 8 matrix of 16-bit values (ldmatrix: eight rows of 16
/// bytes at once) where rows lie `pitch` bytes apart, a multiple of 16, than where they meet all banks, `width` bytes
/// wide together, equally often: 1 for 16 more than a multiple of 128 bytes, 8 for 128.
[[nodiscard]] double bank_conflicts(std::int64_t pitch, std::int64_t width);

/// Warp instructions for so many results of a unit. Example: 64 results of a unit that packs pairs are one.
[[nodiscard]] double warp_instructions(const Machine& machine, const Unit& unit, double results);

/// Bytes that a crossing into the block's level reads for one block: once an iteration in the loop, else once; what is
/// multicast divided by the cluster.
[[nodiscard]] double bytes_read(const PlacedDiagram& placed, const Crossing& crossing);

/// Clocks of one operation's tensor instructions for one block's one iteration: rows in whole instructions of each
/// agent, columns in as few instructions as their largest n allows, 0 for vector operations.
[[nodiscard]] double tensor_clocks(const PlacedDiagram& placed, const PlacedOperation& operation);

/// When a piece of an operation's work is done: work of cut chunks counts as done ahead of a block's iterations.
[[nodiscard]] Phase phase_of(const PlacedOperation& operation, const WorkMapping& work);

}  // namespace napkin
