#pragma once
// execute runs a loop nest on the CPU in float64, one statement instance after the other, and reports every access:
// tests compare the analyses of this folder with it.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/dependence/nest.hpp"

namespace napkin::internal::dependence {

/// An array's values over the box of all subscripts that occur, row-major.
struct Cells {
  std::vector<std::int64_t> first;  ///< the least subscript of each dimension
  std::vector<std::int64_t> size;
  std::vector<double> cells;
  std::vector<bool> written;  ///< given, initialised or assigned

  /// Returns the cell with these subscripts. Throws Error outside the box.
  [[nodiscard]] double at(const std::vector<std::int64_t>& subscripts) const;
  [[nodiscard]] std::size_t index(const std::vector<std::int64_t>& subscripts) const;
};

using Store = std::map<std::string, Cells>;

/// Applies a function of the expression language; `b` is read if it has two operands. Throws Error for an unknown one.
[[nodiscard]] double applied(const std::string& function, double a, double b);

/// A function that gives the value of an input array's cell.
using Given = std::function<double(const std::string& array, const std::vector<std::int64_t>& subscripts)>;

/// Returns a seeded function of the array's name and the cell, in [-2, 2), as input values for comparisons.
[[nodiscard]] Given arbitrary_values(std::uint64_t seed);

/// A read or a write. `iteration` has a value for every loop of the nest; for a statement outside a loop it is the
/// loop's first or last iteration, which runs the statement.
struct Access {
  StatementId statement = 0;
  std::vector<std::int64_t> iteration;
  std::string array;
  std::vector<std::int64_t> subscripts;
  bool write = false;
};

/// Runs all iterations in the nest's own order, and returns every array. Throws Error for a temporary that is read
/// before it is written (it names the statement), and for more than 2^24 statement instances or cells.
[[nodiscard]] Store execute(const Nest& nest, const Given& given);
/// Executes the nest with its loops in another order (a permutation of all LoopIds, outermost first), legal or not.
/// Calls `observe`, if given, for every access in order: reads before the write of a statement.
[[nodiscard]] Store execute(const Nest& nest, const Given& given, const std::vector<LoopId>& order,
                            const std::function<void(const Access&)>& observe = {});

/// Returns the nest's own order: 0, 1, 2, ...
[[nodiscard]] std::vector<LoopId> own_order(const Nest& nest);

}  // namespace napkin::internal::dependence
