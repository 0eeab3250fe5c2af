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

/// The names are those of the command line.
struct Ask {
  std::string algorithm;               ///< a built-in name, or a path to a diagram
  std::string gpu;                     ///< a profile's name or path, or "here"; empty where `memory` is set
  std::optional<std::int64_t> memory;  ///< the abstract two-level machine with so many values
  NamedSizes shape;                    ///< axis sizes; defaults are filled in
  /// Sequences of different lengths, packed behind one another; empty: as the shape says. The shape then leaves out b,
  /// q and x, or says how many sequences there are and the longest lengths.
  std::vector<SequenceLengths> lengths;
  std::string dtype;  ///< empty: bf16
  Mask mask;
  std::string kernel;  ///< a mapping's name or path; empty: the fastest that exists there, bundled or not
  TileText tile;       ///< knobs that are fixed; the others are selected
  /// The division of the algorithm over an island of GPUs: "ring_attention,order=zigzag,gpus=8"; empty: the fastest.
  std::string split = {};
  CardConditions conditions = {};  ///< the load and the clock under which the GPU runs it
  bool bundled = false;            ///< no kernel named: of this project's kernels alone, which can be launched
  bool check = false;              ///< query: also run the streamed program at a scaled-down shape and count
  /// A callback with groups done and their total during a check, or sizes done during a family of shapes.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
  bool compile = false;  ///< query: also compile the kernel with that tile; needs NVRTC and no GPU
};

}  // namespace napkin
