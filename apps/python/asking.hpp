#pragma once
// asking_of turns the arguments of a Python call into a question: select("attention", gpu="h200-sxm", h=16, q=8192,
// x=8192, d=128) becomes the Ask that the command line builds from its options.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "napkin/napkin.hpp"

namespace napkin::internal::python {

struct Asking {
  Ask ask;
  std::optional<int> top;
  std::optional<bool> detail;
  NamedSizes shape;  ///< sizes of the argument `shape` alone; ask.shape also has those given as keywords, h=16
  bool causal = false;
  std::optional<std::int64_t> prefix;
  nanobind::object progress;
};

/// Makes the question of a function's arguments. `takes` lists the special keywords that it accepts (memory, top,
/// detail, check, compile, progress). Throws Error for any mistake in the arguments, a value's type included.
[[nodiscard]] Asking asking_of(const nanobind::tuple& positional, const nanobind::kwargs& named,
                               std::span<const std::string_view> takes);

/// Converts a shape: {"h": 16, "q": 8192} or "h=16,q=8192"; sizes are whole numbers from 1.
[[nodiscard]] NamedSizes shape_of(nanobind::handle value);

/// Converts a tile: {"q": 128, "overlap": True} or "q=128,overlap=on".
[[nodiscard]] TileText tile_of(nanobind::handle value);

/// Converts a whole number of Python, of NumPy, or of any type with __index__; refuses True and False.
[[nodiscard]] std::int64_t whole_of(nanobind::handle value, std::int64_t least, const std::string& where,
                                    const std::string& what);

[[nodiscard]] std::string text_of(nanobind::handle value, const std::string& where, const std::string& right);

}  // namespace napkin::internal::python
