#pragma once
// An IslandAnswer predicts an algorithm on several GPUs: the bytes that attention on hgx-h100-8 by ring_attention,
// zigzag, moves into each GPU, its time, and whether the work hides the moves. Each GPU's own work is answered as a
// question about one GPU.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "napkin/answers.hpp"
#include "napkin/ask.hpp"

namespace napkin {

/// The move of an array between GPUs, in bytes.
struct MovedAnswer {
  std::string array;
  std::string by;                      ///< operation: "none", "ring", "all_to_all", "all_gather", "reduce_scatter",
                                       ///< "all_reduce"
  bool after = false;                  ///< true for a move after the work
  std::int64_t at_home = 0;            ///< bytes that a GPU holds from the start
  std::int64_t received = 0, all = 0;  ///< bytes into each GPU, and into all
};

/// A call of the communication library.
struct TransportAnswer {
  std::string by;
  std::vector<std::string> arrays;
  bool after = false;
  std::int64_t calls = 1;
  std::int64_t received = 0;  ///< bytes into each GPU, by all calls
  double time = 0;            ///< seconds of a call
  std::string level;          ///< the level whose links limit the call
};

/// The launches of one shape on all GPUs.
struct DeviceLaunchAnswer {
  NamedSizes shape;
  Mask mask;
  std::int64_t launches = 0;  ///< launches of all GPUs
  std::optional<std::string> kernel;
  TileValues tile;
  PredictedAnswer predicted;
  double adding = 0;  ///< seconds to add its part of the results to the running results
};

/// The check by simulated GPUs against the closed forms, at a scaled-down shape, in values.
struct DevicesCheck {
  NamedSizes shape;
  /// Values counted and predicted, by array
  std::vector<std::pair<std::string, std::pair<std::int64_t, std::int64_t>>> counted;
  double output_error = 0;  ///< largest difference from the undivided algorithm, over the largest output
  bool equal = false;
};

/// A way to divide the algorithm.
struct DividedAnswer {
  std::string split, order;  ///< names; order: "contiguous", "zigzag"
  std::int64_t gpus = 1;
  std::vector<MovedAnswer> moved;
  std::int64_t received = 0;  ///< bytes into each GPU: H of the level above device memory
  std::vector<TransportAnswer> transports;
  std::vector<DeviceLaunchAnswer> launches;
  std::int64_t memory = 0;  ///< bytes that a GPU holds
  std::optional<std::int64_t> memory_limit;
  double time = 0;     ///< seconds from the first call or launch to the last GPU's end
  double work = 0;     ///< seconds of `time` that the GPU with most work spends on launches and adding
  double exposed = 0;  ///< seconds of copies that nothing hides
  bool ring = false, hidden = true;
  std::string bound;      ///< "work" or the name of the limiting link
  double imbalance = 1;   ///< work of the busiest GPU over the mean
  double tflops = 0;      ///< speed of all GPUs together, 1e12 FLOP/s
  bool at_least = false;  ///< true if a launch's time is a bound
  StandingAnswer standing;
  /// The least length of the sequence that hides the ring of select's first way; none if it is above 4 M.
  std::optional<std::int64_t> hidden_from;
};

/// The bytes that GPUs must pass to one another when the inputs start evenly spread over them: those that each would
/// fetch alone, less those that all hold together. Partial results are not counted. (eq. 7.6)
struct SharingAnswer {
  double memory = 0;    ///< M: a GPU's share of the arrays that the work touches, in bytes, at most its memory
  double apart = 0;     ///< H*(M), bytes into all GPUs if each fetched for itself
  double together = 0;  ///< H*(N M), bytes that the GPUs hold together
  double between = 0;   ///< H*(M) - H*(N M), bytes that pass between them
  double time = 0;      ///< seconds of these over the link that joins all of them
};

struct IslandAnswer {
  Head head;            ///< head; `gpu` is the island, kernel and tile are those of the launches that take most
  std::string product;  ///< profile of its GPUs
  std::int64_t gpus = 1;
  bool found = false;
  std::vector<DividedAnswer> ways;                           ///< ways, fastest first; for a query a single one
  std::vector<std::pair<std::string, std::string>> refused;  ///< splits that were refused, with the reason
  std::string because;
  std::optional<SharingAnswer> sharing;  ///< least moves; none for an algorithm without groups
  std::optional<DevicesCheck> check;
};

class Session;
struct Emission;

/// Returns true if the question is about an island of GPUs.
[[nodiscard]] bool asks_island(const Ask& ask);

/// Answers for the way that the question names, or the fastest.
[[nodiscard]] IslandAnswer query_island(const Session& session, const Ask& ask);
/// Answers with the `top` fastest ways to divide the algorithm; for rings with the sequence length that hides them.
[[nodiscard]] IslandAnswer select_island(const Session& session, const Ask& ask, int top = 5);
/// Emits the NCCL calls and launches of the fastest way, in the order in which each rank makes them.
[[nodiscard]] Emission nccl_calls(const Session& session, const Ask& ask);

}  // namespace napkin
