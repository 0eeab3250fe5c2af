#pragma once
// save_npy and read_npy write and read NumPy's .npy files, to compare intermediates with a kernel's own. Format version
// 1.0, little-endian, C order. Source: numpy.lib.format, "NPY format".

#include <iosfwd>
#include <string>

#include "model/interpret/tensor.hpp"

namespace napkin::internal {

/// Element types that a file may hold; the numbers are rounded to it.
enum class NpyType { f8, f4 };

/// Writes the whole file to a stream. Throws Error where the stream fails.
void write_npy(std::ostream& out, const Tensor& tensor, NpyType type = NpyType::f8);

/// Writes to a file beside `path` and renames it: `path` never holds half a tensor. Throws Error with the path.
void save_npy(const std::string& path, const Tensor& tensor, NpyType type = NpyType::f8);

/// Reads what write_npy wrote, and files of NumPy's of '<f8' or '<f4' in C order. Throws Error at `name`.
[[nodiscard]] Tensor read_npy(std::istream& in, const std::string& name);

}  // namespace napkin::internal
