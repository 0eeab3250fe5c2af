#pragma once
// Nodes tell which events of one block's run are which node of its kernel's mapping: copies, products, and a warp's
// work behind its wait for a product.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "kernels/plans/placement_reader.hpp"
#include "model/mapping/knobs.hpp"
#include "tests/emulator/trace.hpp"

namespace test_edges {

using namespace napkin;
using emulator::Event;

/// The events of one node, by agent and then in order: iterations, or tiles where `by_tile`.
struct Node {
  std::vector<std::vector<const Event*>> agents;
  bool by_tile = false;
  bool thread = false;     ///< a piece of thread work: an agent is a warp
  bool for_all = false;    ///< what each agent makes all others need
  std::int64_t first = 0;  ///< iteration of the first event
};

class Nodes {
 public:
  Nodes(const PlacedDiagram& placed, const emulator::Trace& trace) : placed_(placed), read_(placed), trace_(trace) {}
  virtual ~Nodes() = default;
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  /// Sorts the events in.
  void fill() {
    for (const Event& event : trace_) {
      if (event.block == 0) add(event);
    }
  }
  /// The events that an edge's end stands for; null where it is within a thread's own work.
  [[nodiscard]] const Node* find(const std::string& name, bool from) const {
    const auto found = nodes_.find(stands_for(name, from));
    return found == nodes_.end() ? nullptr : &found->second;
  }

 protected:
  virtual void add(const Event& event) = 0;
  [[nodiscard]] virtual std::string stands_for(const std::string& name, bool from) const = 0;

  Node& put(const std::string& name, std::size_t agent, const Event& event) {
    Node& node = nodes_[name];
    if (node.agents.size() <= agent) node.agents.resize(agent + 1);
    node.agents[agent].push_back(&event);
    return node;
  }

  const PlacedDiagram& placed_;
  PlacementReader read_;

 private:
  const emulator::Trace& trace_;
  std::map<std::string, Node> nodes_;
};

/// Of attention's forward kernels and of the products.
class ForwardNodes : public Nodes {
 public:
  using Nodes::Nodes;

 private:
  [[nodiscard]] bool attention() const { return placed_.mapping->algorithm == "attention"; }

  [[nodiscard]] bool is_k(const Event& event) const {
    const auto k = static_cast<unsigned>(read_.offset("K")), v = static_cast<unsigned>(read_.offset("V"));
    return event.offset >= k && (k > v || event.offset < v);
  }

  void add(const Event& event) override {
    switch (event.kind) {
      case Event::Kind::load: {
        const bool queries = event.array == "Q";
        const std::size_t asked = asked_[event.array]++;
        const auto warpgroups = static_cast<std::size_t>(read_.knob("warpgroups"));
        put("load " + event.array, queries ? asked % warpgroups : 0, event).by_tile = queries;
        break;
      }
      case Event::Kind::store:
        if (attention()) put("store O", event.agent - 1, event).by_tile = true;
        break;
      case Event::Kind::product: put(!attention() ? "C" : is_k(event) ? "S" : "O", event.agent - 1, event); break;
      case Event::Kind::thread:
        if (attention() && is_k(event)) put("P", event.agent - 4, event).thread = true;
        break;
      case Event::Kind::write:
        if (is_turned(event)) {
          Node& node = put("O.turn", event.agent, event);
          node.thread = node.for_all = true;
        }
        break;
    }
  }

  /// Whether a producer's warp writes V turned over.
  [[nodiscard]] bool is_turned(const Event& event) const {
    const auto& variables = placed_.mapping->variables;
    const auto turned = [](const VariableMapping& variable) { return variable.name == "V_turned"; };
    if (event.agent >= 4 || std::none_of(variables.begin(), variables.end(), turned)) return false;
    return event.offset >= static_cast<unsigned>(read_.offset("V_turned")) &&
           event.offset < static_cast<unsigned>(read_.end());
  }

  /// Pieces of thread work: the first of P begins where its scores are there, and all end behind the last exponential;
  /// S.issue and C.control stand before their products.
  [[nodiscard]] std::string stands_for(const std::string& name, bool from) const override {
    if (name.starts_with("P.")) {
      const bool always = !placed_.mapping->find_knob("rescale") || read_.word("rescale") == "always";
      const bool begins = name == (always ? "P.max" : "P.exp"),
                 ends = name == "P.exp" || name == "P.test" || name == "P.convert";
      return (from ? ends : begins) ? "P" : "";
    }
    if (from) return name;
    if (name == "S.issue" || name == "S.control") return "S";
    if (name == "C.control") return "C";
    return name == "C.ask" ? "load A" : name;  // and B, behind it
  }

  std::map<std::string, std::size_t> asked_;
};

/// Of the backward pass: its five products tell themselves by where operand B lies, and whether A lies in registers.
class BackwardNodes : public Nodes {
 public:
  using Nodes::Nodes;

 private:
  [[nodiscard]] std::string product_of(const Event& event) const {
    std::string array;
    int nearest = -1;
    for (const char* name : {"K", "V", "Q", "dO", "dS"}) {
      const int offset = read_.offset(name);
      if (offset <= static_cast<int>(event.offset) && offset > nearest) {
        nearest = offset;
        array = name;
      }
    }
    if (array == "K") return "dQ";
    if (array == "Q") return event.a_in_registers ? "dK" : "S";
    return array == "dO" ? event.a_in_registers ? "dV" : "dP" : "no product reads " + array;
  }

  /// The iteration of a piece of thread work that is the first to follow its product: the edge's distance.
  [[nodiscard]] std::int64_t first_of(const std::string& product, const std::string& piece) const {
    for (const EdgeMapping& edge : placed_.mapping->edges) {
      if (edge.from == product && edge.to == piece && holds(edge.when, placed_.tile)) return edge.distance;
    }
    return 0;
  }

  void add(const Event& event) override {
    switch (event.kind) {
      case Event::Kind::load:
        put("load " + event.array, 0, event).by_tile = event.array == "K" || event.array == "V";
        break;
      case Event::Kind::store: put_piece("store dQ", event, first_of("dQ", "dQ.out")); break;
      case Event::Kind::product: put(product_of(event), event.agent - 1, event); break;
      case Event::Kind::thread: put_piece("behind " + product_of(event), event, 0); break;
      case Event::Kind::write: {
        const std::string product = product_of(event);
        if (product == "dP") put_piece("dS.store", event, 0);
        if (product == "dQ") put_piece("dQ.out", event, first_of("dQ", "dQ.out"));
        break;
      }
    }
  }
  void put_piece(const std::string& name, const Event& event, std::int64_t first) {
    Node& node = put(name, event.agent - 4, event);
    node.thread = true;
    node.first = first;
  }

  /// Pieces that end behind a wait for a product, and pieces that stand before the issue of one.
  [[nodiscard]] std::string stands_for(const std::string& name, bool from) const override {
    static const std::map<std::string, std::string> ends = {
        {"P.convert", "behind S"}, {"dS.convert", "behind dP"}, {"dQ.then_dK", "behind dV"}};
    static const std::map<std::string, std::string> begins = {
        {"S.control", "S"}, {"S.then_dP", "dP"}, {"dV.control", "dV"}, {"dQ.control", "dQ"}, {"dQ.then_dK", "dK"}};
    const auto& pieces = from ? ends : begins;
    const auto found = pieces.find(name);
    return found == pieces.end() ? name : found->second;
  }
};

}  // namespace test_edges
