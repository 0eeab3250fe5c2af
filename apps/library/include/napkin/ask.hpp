#pragma once
// Ask is one question as a user writes it, in names and numbers: attention on h200-sxm with h = 16, q = x = 8192 and
// d = 128.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/machine/conditions.hpp"
#include "napkin/arguments.hpp"

namespace napkin {

/// A question, in the names of the command line.
struct Ask {
  std::string algorithm;               ///< a built-in name, or a path to a diagram
  std::string gpu;                     ///< a profile's name or path, or "here"; empty where `memory` is set
  std::optional<std::int64_t> memory;  ///< values that the abstract two-level machine's memory holds
  NamedSizes shape;                    ///< axis sizes; defaults are filled in
  /// The sequences of a packed batch; empty: `shape` gives equal ones. The shape then omits b, q and x, or gives the
  /// number of sequences and the longest lengths.
  std::vector<SequenceLengths> lengths;
  std::string dtype;  ///< element type; empty: bf16
  Mask mask;
  std::string kernel;  ///< a mapping's name or path; empty: the fastest kernel there, bundled or not
  TileText tile;       ///< fixed knobs; all others are selected
  /// The division of the algorithm over an island of GPUs: "ring_attention,order=zigzag,gpus=8"; empty: the fastest.
  std::string split = {};
  CardConditions conditions = {};  ///< the load and the clock under which the GPU runs it
  bool bundled = false;            ///< true: only this project's kernels, which can be launched (if no kernel is named)
  bool check = false;              ///< query: true to run the streamed program at a scaled-down shape, and count
  /// A callback with groups done and their total during a check, or sizes done during a family of shapes.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
  bool compile = false;  ///< query: true to compile the kernel with that tile; needs NVRTC and no GPU
};

}  // namespace napkin
