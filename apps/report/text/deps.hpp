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

namespace napkin::internal::report {

/// A nest and its analysis.
struct Dependences {
  dependence::Nest nest;
  std::size_t outer = 0;           ///< loops that are permuted: the outermost ones
  std::size_t cached = 0;          ///< innermost loops that run within the cache
  bool sizes_matter = true;        ///< false if sizes are arbitrary, so that traffic is given as a formula only
  std::vector<std::string> names;  ///< names by LoopId: loops of one name walk over the same values
  std::vector<std::pair<std::string, std::string>> scales;  ///< numbers in statements with their meaning: d^-1/2
  std::vector<dependence::Dependence> edges;
  std::vector<std::vector<dependence::StatementId>> recurrences;
  std::vector<dependence::LoopVerdict> loops;
  std::vector<dependence::Order> orders;
  std::vector<dependence::LoopTraffic> traffic;  ///< traffic by order; no moves for an illegal order
};

/// Analyses a nest with sizes, whose innermost loop runs within the cache.
[[nodiscard]] Dependences dependences_of(const dependence::Nest& nest);
/// Analyses a streamed program, the inner loops of whose statements run within the cache.
[[nodiscard]] Dependences dependences_of(const dependence::StreamedNest& made, const Diagram& diagram);

/// Makes the JSON of `napkin deps --json` (docs/schema). A vector has a text for each loop ("1", "+", "*", ...), null
/// if the loop is not common to both statements.
[[nodiscard]] Json json_of(const Dependences& dependences);
/// Writes statements, edges, recurrences, loops, orders.
[[nodiscard]] std::string text_of(const Dependences& dependences, const Style& style);
/// Writes loops and orders in two lines, which show the gain of steps.
[[nodiscard]] std::string summary_of(const Dependences& dependences);
/// Writes the orders alone.
[[nodiscard]] std::string orders_text(const Dependences& dependences, const Style& style);
/// Writes the graph in graphviz's language. Recurrences share a pale box. An arrow joins all dependences between two
/// statements: solid for values (RAW), dashed for order alone (WAR, WAW), red if a loop carries them.
[[nodiscard]] std::string dot_of(const Dependences& dependences);

}  // namespace napkin::internal::report
