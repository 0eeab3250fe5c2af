#pragma once
// A Dependences report shows the dependences of a loop nest as text, as JSON and as a graph: "O -> O, flow, carried by
// j".

#include <cstdint>
#include <string>
#include <vector>

#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"
#include "model/dependence/from_streamed.hpp"
#include "model/dependence/order.hpp"
#include "model/dependence/traffic.hpp"
#include "model/dependence/transform.hpp"

namespace napkin::report {

/// One nest, and all that follows from it.
struct Dependences {
  dependence::Nest nest;
  std::size_t outer = 0;           ///< loops that are permuted: the outermost ones
  std::size_t cached = 0;          ///< innermost loops that run within the cache
  bool sizes_matter = true;        ///< false: the sizes stand for any; traffic is told as a formula only
  std::vector<std::string> names;  ///< by LoopId: loops of one name walk over the same values
  std::vector<std::pair<std::string, std::string>> scales;  ///< numbers in statements, and what they stand for: d^-1/2
  std::vector<dependence::Dependence> edges;
  std::vector<std::vector<dependence::StatementId>> recurrences;
  std::vector<dependence::LoopVerdict> loops;
  std::vector<dependence::Order> orders;
  std::vector<dependence::LoopTraffic> traffic;  ///< by order; empty moves where the order is illegal
};

/// Of a nest with sizes, whose innermost loop runs within the cache.
[[nodiscard]] Dependences dependences_of(const dependence::Nest& nest);
/// Of a streamed program; the inner loops of its statements run within the cache.
[[nodiscard]] Dependences dependences_of(const dependence::StreamedNest& made, const Diagram& diagram);

/// What `napkin deps --json` prints (docs/schema). A vector has a text for each loop ("1", "+", "*", ...), null where
/// the loop is not common to both statements.
[[nodiscard]] Json json_of(const Dependences& dependences);
/// Statements, edges, recurrences, loops, orders.
[[nodiscard]] std::string text_of(const Dependences& dependences, const Style& style);
/// Loops and orders in two lines: what steps have won.
[[nodiscard]] std::string summary_of(const Dependences& dependences);
/// The orders alone.
[[nodiscard]] std::string orders_text(const Dependences& dependences, const Style& style);
/// The graph in graphviz's language. Recurrences share a pale box. One arrow stands for all dependences between two
/// statements: solid where a value passes (RAW), dashed where only an order does (WAR, WAW), red where a loop carries
/// them.
[[nodiscard]] std::string dot_of(const Dependences& dependences);

}  // namespace napkin::report
