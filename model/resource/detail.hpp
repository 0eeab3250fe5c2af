#pragma once
// detail_of lists the numbers that a programmer needs to write the code of a placed tile: the iterations of each round,
// the offset of each instance's part of a shared buffer, the instructions of a copy and of a product, and the blocks of
// a node that each resource allows. Example: the part of vector core 1 begins 32,768 bytes into S_slots.

#include <string>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {

/// Operations of one agent that lag behind the first operations of a round by equally many iterations.
struct RoundStage {
  std::string agent;
  std::vector<std::string> operations;  ///< names of outputs, in the mapping's order
  std::int64_t behind = 0;              ///< round r runs iteration r - behind, if there is one
};

/// The part of a buffer that one instance of an agent fills or reads, where instances divide its rows.
struct PartOffset {
  std::string variable, agent;
  Count rows;   ///< rows of an instance's part
  Bytes bytes;  ///< bytes from one instance's part to the next one's
};

/// A copy by threads: each brings 16 bytes, a warp some rows of up to 128 bytes.
struct CopyCount {
  std::string variable;
  Count rows, columns;            ///< values of a warp's part of the variable
  Count step_rows, step_columns;  ///< values that one instruction of a warp brings
  Count down, across;             ///< instructions of a warp
};

/// The layout of a product's operand, and the way in which it reaches the unit.
struct OperandLayout {
  std::string array, along;  ///< name, and axis of unit stride: "V", "dv"
  bool as_stored = false;    ///< true if that axis is summed over, as instructions want it; else it is transposed
  Count loads;               ///< loads of 16 bytes a thread by a warp, out of memory that the block's threads share
  bool once = false;         ///< true if they are done once a block, not in every iteration
};

/// The matrix instructions of an operation, for one instance of its agent and one iteration.
struct ProductLoop {
  std::string operation, instruction;
  Count m, n, k;                       ///< values of one instruction
  Count times_m, times_n, times_k;     ///< instructions along each
  Count pieces_m, pieces_n, pieces_k;  ///< pieces of 8 rows of 16 bytes that one instruction takes, by dimension
  bool loops = false;                  ///< true if threads loop over k, then m, then n; false if the unit itself does
  std::vector<OperandLayout> operands;
};

/// A variable that threads themselves bring into memory of their block, and the threads that meet before it is read.
struct Meeting {
  std::string variable;
  std::string
      agent;      ///< agent whose instance meets by itself, since it reads the rows that it brought; empty: the block
  Count threads;  ///< number of threads that meet
  bool again = false;  ///< true if they meet once more before the next chunk takes its place
};

/// A result on its way out through memory of the block, for a warp.
struct StagedResult {
  std::string variable;
  Bytes width;          ///< bytes that a thread writes at a time: two neighbours of its accumulators
  Count writes, reads;  ///< instructions of a warp: into that memory, and out of it by 16 bytes a thread
};

/// An operand that a core's matrix unit reads in pieces of its own size: rows are cut into pieces, pieces of all rows
/// lie together.
struct PieceLayout {
  std::string variable;
  Count rows, columns;              ///< values as computed, row by row
  Count piece_rows, piece_columns;  ///< values of a piece
  Bytes piece, stride;              ///< bytes of a row's piece, and from it to the row's next piece
};

/// The number of blocks that a node holds if only this resource is counted.
struct Resident {
  std::string resource;  ///< "threads", "shared memory", "registers"
  Count blocks;
};

/// The most registers of a thread with which so many blocks fit a node.
struct RegisterCap {
  Count blocks, warps, most;
  Count missing;  ///< registers that the plan needs beyond that number: a compiler held to it spills at least these
};

/// The iterations of a node's share where all nodes have equally many, whatever blocks they belong to.
struct NodeShare {
  Count first, iterations;  ///< number of the first iteration among those of all blocks, and number of iterations
  Count block, iteration;   ///< place of the first iteration: its block, and its number there
  Count blocks;             ///< blocks of which the share has some iterations
};

struct Detail {
  std::int64_t ahead = 0;          ///< iterations by which the first operations of a round are ahead of the last
  Count unrolled = 1;              ///< iterations after which the copies of all variables repeat
  std::vector<RoundStage> rounds;  ///< stages, if some operations run ahead
  std::vector<PartOffset> offsets;
  std::vector<CopyCount> copies;
  std::vector<ProductLoop> products;
  std::vector<PieceLayout> pieces;
  std::vector<Meeting> meetings;
  std::vector<StagedResult> staged;
  std::vector<Resident> resident;
  std::vector<RegisterCap> caps;
  std::vector<NodeShare> shares;  ///< shares of the nodes, under order `even`
};

[[nodiscard]] Detail detail_of(const PlacedDiagram& placed);

/// Returns the operands of a product, in the text's order.
[[nodiscard]] std::vector<OperandLayout> operands_of(const PlacedDiagram& placed, const PlacedOperation& op);
/// Returns the threads that meet, for each variable that threads bring.
[[nodiscard]] std::vector<Meeting> meetings_of(const PlacedDiagram& placed);
/// Returns the results that threads write into memory of the block, then out of it, after products of their own.
[[nodiscard]] std::vector<StagedResult> staged_of(const PlacedDiagram& placed);

}  // namespace napkin::internal
