#pragma once
// time_of computes the time of a division from the times of its launches and copies. The steps of a ring are an event
// graph of two queues, the GPU's and its copy engine's; arrays that are gathered, exchanged or reduced move before and
// after the work. (model/README.md, "Several GPUs")

#include <cstdint>
#include <string>
#include <vector>

#include "model/island/division.hpp"
#include "model/island/island.hpp"

namespace napkin::internal {

/// A call of the library: arrays that travel together, before, beside or after the work.
struct Transport {
  Carrier by = Carrier::none;
  std::vector<ArrayId> arrays;
  bool after = false;
  Bytes received;      ///< bytes into each GPU, by all calls
  Count calls = 1;     ///< number of calls; a ring has one a step
  double seconds = 0;  ///< seconds of a call
  std::string level;   ///< the level whose links limit the call
};

/// Lists the calls of a division in order, calls of a kind together. (eq. 20.6)
[[nodiscard]] std::vector<Transport> transports_of(const Division& division, const Island& island);

/// Returns the transport of a call that carries `array` bytes (for an all-gather the whole array's) by all
/// participating GPUs. (eq. 20.6)
[[nodiscard]] Transport transport_of(const Island& island, std::int64_t gpus, Carrier by, Bytes array);

/// The time of a GPU's step, in seconds.
struct StepTime {
  double kernels = 0;  ///< seconds of its launches
  double adding = 0;   ///< seconds to add the step's part to the running result
  bool stays = false;  ///< true if its blocks, as many as nodes, run to its end, so that no node is free for a copy
  [[nodiscard]] double all() const { return kernels + adding; }
};

/// Returns the bytes through device memory that adding a step's parts to the running results takes; the first step's
/// parts become the results. (eq. 20.7)
[[nodiscard]] Bytes adding_bytes(const Division& division, const std::vector<DeviceLaunch>& step, bool first);
/// Returns the bytes that bring the running results home, in the problem's type.
[[nodiscard]] Bytes finishing_bytes(const Division& division);

struct IslandTime {
  double seconds = 0;  ///< seconds from the first call or launch to the last GPU's end
  double work = 0;     ///< seconds of launches and adding on the GPU with the most
  double exposed = 0;  ///< seconds of copies that nothing hides
  bool hidden = true;  ///< true if a ring's copies do not delay the last GPU; without a ring, if nothing moves
  std::string bound;   ///< "work" or the name of the limiting link
};

/// The number of buffers for blocks that pass around a ring: one is used and sent on while the other is filled.
inline constexpr int ring_buffers = 2;

/// Computes the time: `steps` by GPU and step, `finishing` the seconds after the last step. A ring copies a step's
/// block into a buffer while the previous step runs on all nodes except the share that the copy holds. (eq. 20.8, 20.9)
[[nodiscard]] IslandTime time_of(const std::vector<Transport>& transports,
                                 const std::vector<std::vector<StepTime>>& steps, double finishing, double held = 0);

/// Returns the share of a GPU's compute nodes that a call holds; 0 if it is not known.
[[nodiscard]] double held_share(const Island& island, const Machine& machine);

}  // namespace napkin::internal
