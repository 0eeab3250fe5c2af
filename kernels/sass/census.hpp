#pragma once
// census_of counts the work of one iteration of a kernel's main loop: products by operation with their shapes, copies,
// waits, and the instructions of a warp by unit before, between and after the products.

#include <map>
#include <string>
#include <vector>

#include "kernels/sass/loops.hpp"
#include "kernels/sass/products.hpp"

namespace napkin::internal {

/// The products of one operation in one iteration, as a warp (or its warpgroup) issues them.
struct SassOperation {
  ProductShape shape;
  int count = 0;
  int chains = 0;  ///< number of accumulators, blocks of m x n
  bool a_in_registers = false;
  int waits = 0;  ///< waits for asynchronous products
  [[nodiscard]] int depth() const { return chains > 0 ? shape.k * count / chains : 0; }
};

struct SassSection {
  std::map<std::string, int, std::less<>> instructions;  ///< instructions by unit
  int shared = 0, local = 0;                             ///< bytes of a thread
  [[nodiscard]] int of(std::string_view unit) const;
  /// Returns the number of instructions, without loads of fragments, which count with the products.
  [[nodiscard]] int all() const;
};

struct SassCensus {
  SassFunction function;
  int instructions = 0;  ///< instructions in one iteration
  std::vector<SassOperation> operations;
  /// The instructions by section. Section i ends with the last product of operation i, and begins after that of the
  /// operation before; with two operations section 1 computes the second one's operand.
  std::vector<SassSection> sections;
  /// True if the second operation's products are issued after the first one's of the next iteration.
  bool second_first = false;
  SassSection lead;  ///< instructions from the last wait before the first product to that product; not in
                     ///< sections
  int barriers = 0, waits = 0;
  int copies = 0, copied = 0;  ///< cp.async: instructions and bytes of a thread
  int bulk = 0;                ///< copies by the copy engine in the loop that requests them
  int bulk_everywhere = 0;
  int mbarriers = 0;                              ///< barriers initialised at the start
  int copy_registers = 0, compute_registers = 0;  ///< registers that the two kinds of agents set (setmaxnreg); 0: none
                                                  ///< do
  int head = 0, tail = 0;
  std::vector<int> others;  ///< instructions of further loops with as many products
};

/// Counts a function's loop with `operations` matrix products, 1 or 2. Throws Error if the code has no such loop.
[[nodiscard]] SassCensus census_of(const SassFunction& function, int operations, const std::string& where);

}  // namespace napkin::internal
