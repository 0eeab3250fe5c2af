#pragma once
// Nodes assigns the events of one block's run to the nodes of its kernel's mapping: copies, products, and a warp's work
// after its wait for a product.

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/plans/placement_reader.hpp"
#include "model/mapping/knobs.hpp"
#include "tests/emulator/trace.hpp"

namespace test_edges {

using namespace napkin;
using namespace napkin::internal;
using emulator::Event;

/// The events of one node, by agent and then in order: iterations, or tiles where `by_tile`.
struct Node {
  std::vector<std::vector<const Event*>> agents;
  bool by_tile = false;
  bool thread = false;     ///< true for a piece of thread work, whose agents are warps
  bool for_all = false;    ///< true if all agents need what each of them makes
  bool for_group = false;  ///< true if the other warps of a warpgroup need what each of them makes
  std::int64_t first = 0;  ///< iteration of the first event
};

class Nodes {
 public:
  Nodes(const PlacedDiagram& placed, const emulator::Trace& trace) : placed_(placed), read_(placed), trace_(trace) {}
  virtual ~Nodes() = default;
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  /// Assigns the events to nodes.
  void fill() {
    for (const Event& event : trace_) {
      if (event.block == 0) add(event);
    }
  }
  /// Returns the node of an edge's end; null if the end is within a thread's own work.
  [[nodiscard]] const Node* find(const EdgeMapping& edge, bool from) const { return find(stands_for(edge, from)); }
  [[nodiscard]] const Node* find(const std::string& node) const {
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? nullptr : &found->second;
  }

 protected:
  virtual void add(const Event& event) = 0;
  /// Returns the name of the node that an edge's end stands for.
  [[nodiscard]] virtual std::string stands_for(const EdgeMapping& edge, bool from) const = 0;

  /// Returns the array, of those named, that has a place in shared memory.
  [[nodiscard]] std::string array_at(emulator::u32 offset, std::initializer_list<const char*> names) const {
    std::string array;
    int nearest = -1;
    for (const char* name : names) {
      const int first = read_.offset(name);
      if (first <= static_cast<int>(offset) && first > nearest) {
        nearest = first;
        array = name;
      }
    }
    return array;
  }

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

/// The nodes of attention's forward kernels and of the matrix products.
class ForwardNodes : public Nodes {
 public:
  using Nodes::Nodes;

 private:
  [[nodiscard]] bool attention() const { return placed_.mapping->algorithm == "attention"; }

  [[nodiscard]] bool is_k(const Event& event) const {
    const auto k = static_cast<unsigned>(read_.offset("K")), v = static_cast<unsigned>(read_.offset("V"));
    return event.offset >= k && (k > v || event.offset < v);
  }

  /// Returns the number of copies that load a tile's queries: one for each warpgroup that has rows of its own.
  [[nodiscard]] std::size_t parts_of_queries() const {
    for (const VariableMapping& variable : placed_.mapping->variables) {
      if (variable.name == "Q" && variable.moved_by.empty()) return 1;
    }
    return static_cast<std::size_t>(read_.knob("warpgroups"));
  }

  void add(const Event& event) override {
    switch (event.kind) {
      case Event::Kind::load: {
        const bool queries = event.array == "Q";
        const std::size_t asked = asked_[event.array]++;
        put("load " + event.array, queries ? asked % parts_of_queries() : 0, event).by_tile = queries;
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

  /// Returns true for a producer warp's write of the transposed V.
  [[nodiscard]] bool is_turned(const Event& event) const {
    const auto& variables = placed_.mapping->variables;
    const auto turned = [](const VariableMapping& variable) { return variable.name == "V_turned"; };
    if (event.agent >= 4 || std::none_of(variables.begin(), variables.end(), turned)) return false;
    const auto begin = static_cast<unsigned>(read_.offset("V_turned"));
    if (event.offset < begin || event.offset >= static_cast<unsigned>(read_.end())) return false;
    if (read_.word("accumulate") != "with_sums") return true;
    // In each span of V^T eight rows of ones, which are written once, lie beneath its own.
    const auto span = static_cast<unsigned>(span_of(read_.knob("x") / 2) * 2);
    const auto rows = static_cast<unsigned>(read_.size("dv")) + 8;
    return (event.offset - begin) % (span * rows) / span < rows - 8;
  }

  /// Names pieces of thread work: the first of P begins when its scores are ready, and all end after the last
  /// exponential; S.issue and C.control come before their products.
  [[nodiscard]] std::string stands_for(const EdgeMapping& edge, bool from) const override {
    const std::string& name = from ? edge.from : edge.to;
    if (name.starts_with("P.")) {
      const bool always = !placed_.mapping->find_knob("rescale") || read_.word("rescale") == "always";
      const bool begins = name == (always ? "P.max" : "P.exp"),
                 ends = name == "P.exp" || name == "P.test" || name == "P.convert";
      return (from ? ends : begins) ? "P" : "";
    }
    if (from) return name;
    if (name == "S.issue" || name == "S.control") return "S";
    if (name == "C.control") return "C";
    return name == "C.ask" ? "load A" : name;  // name for the loads of A and of B, which follows
  }

  std::map<std::string, std::size_t> asked_;
};

/// The nodes of the backward pass. Its five products differ in the place of operand B, and in whether A is in
/// registers.
class BackwardNodes : public Nodes {
 public:
  using Nodes::Nodes;

 private:
  /// Returns true if each gradient has a warpgroup of its own (attention_backward_wide_sm90).
  [[nodiscard]] bool wide() const { return !placed_.mapping->find_knob("warpgroups"); }

  [[nodiscard]] std::string product_of(const Event& event) const {
    const std::string array = array_at(event.offset, {"K", "V", "Q", "dO", "dS"});
    if (array == "K") return "dQ";
    if (array == "Q") return event.a_in_registers ? "dK" : "S";
    return array == "dO" ? event.a_in_registers ? "dV" : "dP" : "no product reads " + array;
  }

  /// Returns the first iteration of a piece of thread work that follows its product: the edge's distance.
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
      case Event::Kind::product: put_product(event); break;
      case Event::Kind::thread: put_piece("behind " + product_of(event), event, 0); break;
      case Event::Kind::write: {
        const std::string product = product_of(event);
        if (product == "S" && wide()) put_piece("P.give", event, 0);
        if (product == "dP") put_piece("dS.store", event, 0);
        if (product == "dQ" && part_of(event.agent) == 0) put_piece("dQ.out", event, first_of("dQ", "dQ.out"));
        break;
      }
    }
  }
  /// Returns the part of an iteration's dQ to which an agent's event belongs: wide heads compute 64 columns at a time.
  [[nodiscard]] int part_of(emulator::u32 agent) { return wide() ? parts_[agent]++ % (read_.held("d") / 64) : 0; }
  void put_product(const Event& event) {
    const std::string name = product_of(event);
    if (!wide() || name != "dQ") {
      put(name, wide() ? 0 : event.agent - 1, event);
      return;
    }
    const int part = part_of(0);
    if (part == 0) put(name, 0, event);
    if (part == read_.held("d") / 64 - 1) put("dQ, last", 0, event);
  }
  void put_piece(const std::string& name, const Event& event, std::int64_t first) {
    Node& node = put(name, wide() ? event.agent % 4 : event.agent - 4, event);
    node.thread = true;
    node.first = first;
  }

  /// Names pieces that end after a wait for a product, and pieces that come before the issue of one.
  [[nodiscard]] std::string stands_for(const EdgeMapping& edge, bool from) const override {
    static const std::map<std::string, std::string> ends = {
        {"P.convert", "behind S"}, {"dS.convert", "behind dP"}, {"dQ.then_dK", "behind dV"}};
    static const std::map<std::string, std::string> begins = {
        {"S.control", "S"},   {"S.then_dP", "dP"},  {"dP.control", "dP"}, {"dV.control", "dV"},
        {"dQ.control", "dQ"}, {"dQ.then_dK", "dK"}, {"dK.control", "dK"}};
    const auto& pieces = from ? ends : begins;
    const std::string& name = from ? edge.from : edge.to;
    if (wide() && name == "dQ" && edge.to == "dS.store") return "dQ, last";
    const auto found = pieces.find(name);
    return found == pieces.end() ? name : found->second;
  }

  std::map<emulator::u32, int> parts_;
};

/// Nodes of napkin_fp8_sm90. A chunk has several products of P and V, one for each subloop of keys and block of
/// columns. An edge from a node that occurs more often waits for the last occurrence; an edge to one delays the first.
class NapkinNodes : public Nodes {
 public:
  using Nodes::Nodes;

  /// Returns the name of a node's first or last event of each chunk: "O, last of its chunk".
  [[nodiscard]] static std::string of_chunk(const std::string& name, bool last) {
    return name + (last ? ", last" : ", first") + " of its chunk";
  }

 private:
  enum class Often { chunk, subloop, block };

  [[nodiscard]] std::int64_t subloops() const { return read_.knob("x") / read_.knob("u_x"); }
  [[nodiscard]] std::int64_t blocks() const { return read_.size("dv") / read_.knob("d_block"); }
  [[nodiscard]] static Often often(const std::string& name) {
    return name == "O" || name == "O.spread" ? Often::block : name == "P.place" ? Often::subloop : Often::chunk;
  }

  /// Returns the number of events that a node has for each event of another.
  [[nodiscard]] std::int64_t events(Often own, Often other) const {
    std::int64_t out = 1;
    if (own == Often::block && other != Often::block) out *= blocks();
    if (own != Often::chunk && other == Often::chunk) out *= subloops();
    return out;
  }

  [[nodiscard]] static std::string name_of(const std::string& name, Often to, bool last) {
    if (to == Often::chunk) return of_chunk(name, last);
    return to == Often::block ? name : name + (last ? ", last" : ", first") + " of its subloop";
  }

  void put_each(const std::string& name, std::size_t agent, const Event& event, bool thread) {
    const Often own = often(name);
    const std::int64_t number = counted_[{name, agent}]++;
    for (const Often to : {Often::chunk, Often::subloop, Often::block}) {
      const std::int64_t many = events(own, to);
      for (const bool last : {false, true}) {
        if (number % many != (last ? many - 1 : 0) || (to == Often::block && last)) continue;
        Node& node = put(name_of(name, to, last), agent, event);
        node.thread = thread;
        node.for_group = name == "P.place";
      }
    }
  }

  void add(const Event& event) override {
    switch (event.kind) {
      case Event::Kind::load: {
        const bool queries = event.array == "Q";
        const auto warpgroups = static_cast<std::size_t>(read_.knob("warpgroups"));
        put("load " + event.array, queries ? asked_++ % warpgroups : 0, event).by_tile = queries;
        break;
      }
      case Event::Kind::product:
        put_each(array_at(event.offset, {"Q", "K", "V"}) == "K" ? "S" : "O", event.agent - 1, event, false);
        break;
      case Event::Kind::write: {
        const bool outputs = array_at(event.to, {"P", partial()}) != "P";
        put_each(outputs ? "O.spread" : event.by_matrix ? "P.spread" : "P.place", event.agent - 4, event, true);
        break;
      }
      case Event::Kind::store:
      case Event::Kind::thread: break;
    }
  }
  [[nodiscard]] const char* partial() const { return read_.word("accumulate") == "f32" ? "dO_f32" : "dO"; }

  [[nodiscard]] std::string stands_for(const EdgeMapping& edge, bool from) const override {
    const std::string &name = from ? edge.from : edge.to, &other = from ? edge.to : edge.from;
    if (name.starts_with("load")) return name;
    return name_of(name, std::min(often(name), often(other)), from);
  }

  std::map<std::pair<std::string, std::size_t>, std::int64_t> counted_;
  std::size_t asked_ = 0;
};

}  // namespace test_edges
