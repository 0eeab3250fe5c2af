// What a mapping says of who waits for whom is what the kernel does: each edge between copies and products is looked
// for among the waits of a run, whatever the seed.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/launch/placement_reader.hpp"
#include "model/mapping/compiled.hpp"
#include "tests/emulator/decode_problem.hpp"
#include "tests/emulator/fp8_problem.hpp"
#include "tests/emulator/running.hpp"

namespace test_edges {

using namespace napkin;
using emulator::Event;

namespace {

/// The events of one node, by agent and then in order: iterations, or tiles where `by_tile`.
struct Node {
  std::vector<std::vector<const Event*>> agents;
  bool by_tile = false;
  bool thread = false;  ///< a piece of thread work: an agent is a warp
};

class Waits {
 public:
  Waits(const PlacedDiagram& placed, const emulator::Trace& trace, std::int64_t chunks)
      : placed_(placed),
        read_(placed),
        chunks_(chunks),
        warpgroups_(static_cast<std::size_t>(read_.knob("warpgroups"))) {
    for (const Event& event : trace) {
      if (event.block == 0) add(event);
    }
  }

  /// How many pairs of events an edge was looked for in; nothing where it ends within a thread's own work. `wrong`:
  /// pairs that did not wait.
  std::optional<std::int64_t> check(const EdgeMapping& edge, std::int64_t tokens, std::int64_t& wrong) const {
    const Node *from = find(edge.from, true), *to = find(edge.to, false);
    if (from == nullptr || to == nullptr) return std::nullopt;
    std::int64_t pairs = 0;
    each_pair(edge, tokens, *from, *to, [&](const Event& earlier, const Event& later) {
      ++pairs;
      wrong += waited(edge, tokens, *from, *to, earlier, later) ? 0 : 1;
    });
    return pairs;
  }

  /// Whether some load of that array was asked for before the product of one chunk later had ended: copies are as many
  /// as the mapping says, and no fewer.
  bool runs_ahead(const std::string& array, const std::string& product, std::int64_t copies) const {
    const auto &loads = nodes_.at("load " + array).agents.at(0), &products = nodes_.at(product).agents.at(0);
    for (std::size_t n = static_cast<std::size_t>(copies); n < loads.size(); ++n) {
      if (!products.at(n - static_cast<std::size_t>(copies) + 1)->ended_before(*loads[n])) return true;
    }
    return false;
  }

 private:
  void put(const std::string& name, std::size_t agent, const Event& event, bool by_tile, bool thread = false) {
    Node& node = nodes_[name];
    if (node.agents.size() <= agent) node.agents.resize(agent + 1);
    node.agents[agent].push_back(&event);
    node.by_tile = by_tile;
    node.thread = thread;
  }

  [[nodiscard]] bool holds_array(const std::string& variable, const char* next, const Event& event) const {
    return event.offset >= static_cast<unsigned>(read_.offset(variable)) &&
           (next == nullptr || event.offset < static_cast<unsigned>(read_.offset(next)));
  }

  void add(const Event& event) {
    const bool attention = placed_.mapping->algorithm == "attention";
    switch (event.kind) {
      case Event::Kind::load: {
        const bool queries = event.array == "Q";
        const std::size_t asked = asked_[event.array]++;
        put("load " + event.array, queries ? asked % warpgroups_ : 0, event, queries);
        break;
      }
      case Event::Kind::store:
        if (attention) put("store O", event.agent - 1, event, true);
        break;
      case Event::Kind::product: put(!attention ? "C" : is_k(event) ? "S" : "O", event.agent - 1, event, false); break;
      case Event::Kind::thread:
        if (attention && is_k(event)) put("P", event.agent - 4, event, false, true);
        break;
    }
  }

  [[nodiscard]] bool is_k(const Event& event) const {
    const bool k_first = read_.offset("K") < read_.offset("V");
    return k_first ? holds_array("K", "V", event) : holds_array("K", nullptr, event);
  }

  /// The node that an edge's end stands for. Pieces of thread work: the first of P begins where its scores are there,
  /// and all end behind the last exponential; S.issue and C.control stand before their products.
  [[nodiscard]] const Node* find(const std::string& name, bool from) const {
    std::string node = name;
    if (name.starts_with("P.")) {
      const bool always = !placed_.mapping->find_knob("rescale") || read_.word("rescale") == "always";
      if (!from && name != (always ? "P.max" : "P.exp")) return nullptr;
      if (from && name != "P.exp" && name != "P.test" && name != "P.convert") return nullptr;
      node = "P";
    }
    if (!from && (name == "S.issue" || name == "S.control")) node = "S";
    if (!from && name == "C.control") node = "C";
    if (!from && name == "C.ask") node = "load A";  // and B, behind it
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? nullptr : &found->second;
  }

  /// Agents of `from` that agent `a` of `to` waits for.
  [[nodiscard]] std::vector<std::size_t> partners(const Node& from, const Node& to, std::size_t a) const {
    const auto group = [](const Node& node, std::size_t agent) { return node.thread ? agent / 4 : agent; };
    std::vector<std::size_t> out;
    for (std::size_t f = 0; f < from.agents.size(); ++f) {
      const bool shared = from.agents.size() == 1 || to.agents.size() == 1;
      if (from.thread && to.thread ? f == a : shared || group(from, f) == group(to, a)) out.push_back(f);
    }
    return out;
  }

  template <class Visit>
  void each_pair(const EdgeMapping& edge, std::int64_t tokens, const Node& from, const Node& to,
                 const Visit& visit) const {
    for (std::size_t a = 0; a < to.agents.size(); ++a) {
      for (std::size_t m = 0; m < to.agents[a].size(); ++m) {
        if (edge.agents > 0) {
          from_neighbour(edge, from, to, a, m, visit);
          continue;
        }
        for (const std::size_t f : partners(from, to, a)) {
          if (const auto n = index_of(edge, tokens, from, to, static_cast<std::int64_t>(m));
              n && *n < std::ssize(from.agents[f]))
            visit(*from.agents[f][static_cast<std::size_t>(*n)], *to.agents[a][m]);
        }
      }
    }
  }

  /// The edge ends at the next agent, past the last one in the next iteration.
  template <class Visit>
  void from_neighbour(const EdgeMapping& edge, const Node& from, const Node& to, std::size_t a, std::size_t m,
                      const Visit& visit) const {
    const std::size_t before = (a + from.agents.size() - 1) % from.agents.size();
    const std::int64_t n = static_cast<std::int64_t>(m) - edge.distance - (a == 0 ? 1 : 0);
    if (n < 0 || n >= std::ssize(from.agents[before])) return;
    // Turns are taken between a tile's first product and its last.
    const std::int64_t later = static_cast<std::int64_t>(m) % chunks_;
    const bool products = !from.by_tile && chunks_ > 1;
    if (products && (n / chunks_ != static_cast<std::int64_t>(m) / chunks_ || n % chunks_ == 0 || later == 0 ||
                     n % chunks_ == chunks_ - 1 || later == chunks_ - 1))
      return;
    visit(*from.agents[before][static_cast<std::size_t>(n)], *to.agents[a][m]);
  }

  /// The iteration of `from` that iteration m of `to` waits for.
  [[nodiscard]] std::optional<std::int64_t> index_of(const EdgeMapping& edge, std::int64_t tokens, const Node& from,
                                                     const Node& to, std::int64_t m) const {
    if (from.by_tile != to.by_tile) {
      if (!to.by_tile && m % chunks_ != 0) return std::nullopt;  // a tile's first chunk
      const std::int64_t tile = (to.by_tile ? m : m / chunks_) - tokens;
      if (tile < 0) return std::nullopt;
      return from.by_tile ? tile : tile * chunks_ + chunks_ - 1;  // its last
    }
    const std::int64_t n = m - tokens - edge.distance;
    if (n < 0) return std::nullopt;
    if (from.by_tile || edge.distance == 0) return n;
    // Two chunks of one tile: what the tile before left over is asked for in another order.
    const std::int64_t other = tokens > 0 ? n + edge.distance : m;
    return n / chunks_ == other / chunks_ && other >= 0 ? std::optional(n) : std::nullopt;
  }

  [[nodiscard]] bool waited(const EdgeMapping& edge, std::int64_t tokens, const Node& from, const Node& to,
                            const Event& earlier, const Event& later) const {
    const bool copies = earlier.kind == Event::Kind::load && later.kind == Event::Kind::load;
    if (copies) return &earlier < &later;
    const bool tensors = earlier.kind == Event::Kind::product && later.kind == Event::Kind::product;
    if (tensors && earlier.part == later.part && edge.issued) return &earlier < &later;
    if (edge.issued || (tensors && tokens == 0)) {
      if (to.thread) return later.before[later.part] >= earlier.issued[later.agent % 4];
      // A stage is given back by the warpgroup's first warp.
      if (later.kind == Event::Kind::load) return later.before[earlier.issuer] >= earlier.issued[0];
      return earlier.issued_before(later);
    }
    if (from.thread && !to.thread && later.kind == Event::Kind::product)
      return later.issued[earlier.agent % 4] >= earlier.time;
    // V's stages are given back by the warpgroup's first warp, K's by each.
    if (from.thread && later.array == "V" && earlier.agent % 4 != 0) return true;
    // Only the thread that stored waits for the store.
    if (earlier.kind == Event::Kind::store && to.thread && later.agent % 4 != 0) return true;
    return earlier.ended_before(later);
  }

  const PlacedDiagram& placed_;
  PlacementReader read_;
  std::int64_t chunks_;
  std::size_t warpgroups_;
  std::map<std::string, std::size_t> asked_;
  std::map<std::string, Node> nodes_;
};

std::int64_t value_of(const Value& value, const Tile& tile) {
  return value.kind == Value::Kind::knob ? tile.values[static_cast<std::size_t>(value.knob)] : value.literal;
}

std::string text_of(const EdgeMapping& edge) {
  return edge.from + " -> " + edge.to + " distance " + std::to_string(edge.distance) + " agents " +
         std::to_string(edge.agents);
}

std::int64_t knob(const test::Knobs& tile, const std::string& name) {
  for (const auto& [own, value] : tile) {
    if (own == name) return std::stoll(value);
  }
  return 1;
}

/// A variant on some tiles of seven chunks and a rest, on one SM.
std::optional<test::CorrectnessCase> longer(test::CorrectnessCase one) {
  const bool matmul = one.kernel.starts_with("matmul");
  if (knob(one.tile, "cluster") > 1 || one.mask.kind != Mask::Kind::none || !one.attention.q_lengths.empty())
    return std::nullopt;
  one.attention.deviation = 1;
  AttentionSizes& s = one.attention.sizes;
  if (!matmul && (s.g > 1 || knob(one.tile, "x") > 128)) return std::nullopt;
  s.b = s.h = 1;
  s.q = 3 * knob(one.tile, "q");
  s.x = 7 * knob(one.tile, "x") + 3;
  const std::int64_t parts = knob(one.tile, "split");  // a block has one of them
  one.matmul.sizes = {3 * knob(one.tile, "a"), 7 * parts * knob(one.tile, "b") + 16, knob(one.tile, "c")};
  one.matmul.gap = one.attention.gap = 0;
  one.shape = matmul ? test::Shape{{"a", one.matmul.sizes.a}, {"b", one.matmul.sizes.b}, {"c", one.matmul.sizes.c}}
                     : test::shape_of(s);
  return one;
}

/// What runs of several variants came to.
struct Found {
  std::map<std::string, std::int64_t> looked_for;
  std::set<std::string> within;  // edges that begin or end within a thread's own work
};

/// Five seeds of one question on one SM, of eight chunks a tile; `first`, `second`: an array and the product that reads
/// it.
template <class Problem>
void look_for_edges(Problem& problem, const std::pair<const char*, const char*>& first,
                    const std::pair<const char*, const char*>& second, Found& found) {
  const PlacedDiagram& placed = problem.placed();
  const std::string& kernel = placed.mapping->name;
  bool ahead[2] = {false, false};
  const std::int64_t stages = PlacementReader(placed).knob("stages");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    emulator::Trace trace;
    trace.reserve(4096);
    const test::EmulatedRun run = problem.run(seed, 4, "", &trace);
    REQUIRE(run.outcome.error == "");
    const Waits waits(placed, trace, 8);
    for (const EdgeMapping& edge : placed.mapping->edges) {
      if (!holds(edge.when, placed.tile)) continue;
      CAPTURE(seed);
      CAPTURE(text_of(edge));
      std::int64_t wrong = 0;
      const auto pairs = waits.check(edge, value_of(edge.tokens, placed.tile), wrong);
      if (!pairs) {
        found.within.insert(kernel + ": " + edge.from + " -> " + edge.to);
        continue;
      }
      found.looked_for[kernel + ": " + text_of(edge)] += *pairs;
      CHECK(wrong == 0);
    }
    ahead[0] |= waits.runs_ahead(first.first, first.second, stages);
    ahead[1] |= waits.runs_ahead(second.first, second.second, stages);
  }
  CHECK(ahead[0]);
  CHECK(ahead[1]);
}

/// Each edge was met. What is left begins or ends within a thread's own work, where nothing has to wait: its
/// instructions come in order, and an accumulator read before its product is done is a NaN.
void check_found(const Found& found, std::size_t at_least) {
  for (const auto& edge : found.looked_for) {
    CAPTURE(edge.first);
    CHECK(edge.second > 0);
  }
  for (const std::string& edge : found.within) {
    CAPTURE(edge);
    const bool piece = edge.find('.') != std::string::npos;
    CHECK(piece);
  }
  CHECK(found.looked_for.size() >= at_least);
}

}  // namespace

TEST_CASE("edges of the mappings are waits of the kernels") {
  Found found;
  for (const auto& [expression, variant] : test::variant_cases()) {
    if (variant.kernel == "attention_sm80") continue;
    const auto one = longer(variant);
    if (!one || !test::correctness::is_legal(*one)) continue;
    CAPTURE(test::describe_case(*one).dump());
    test::EmulatedProblem problem(*one, 1);
    if (problem.plan().expression != expression) continue;
    if (one->kernel.starts_with("matmul"))
      look_for_edges(problem, {"A", "C"}, {"B", "C"}, found);
    else
      look_for_edges(problem, {"K", "S"}, {"V", "O"}, found);
  }
  check_found(found, 30);
}

TEST_CASE("edges of attention_decode_sm90's mapping are its waits") {
  Found found;
  for (const test::DecodeConfiguration& c : test::decode_configurations()) {
    if (c.mask.kind != Mask::Kind::none) continue;
    test::DecodeCase one = test::decode_case(c, 0);
    one.sizes = {1, 1, 1, knob(c.tile, "q"), 7 * knob(c.tile, "x") + 3, c.d, c.dv};
    one.tile = c.tile;
    one.tile.emplace_back("shared.x", std::to_string(16 * knob(c.tile, "x")));
    one.deviation = 1;
    CAPTURE(test::describe(one));
    test::DecodeProblem problem(one);
    look_for_edges(problem, {"K", "S"}, {"V", "O"}, found);
  }
  check_found(found, 16);
}

// V is turned over by the producer's threads: what they read and write is held by the shared memory's clocks.
TEST_CASE("edges of attention_fp8_sm90's mapping are its waits") {
  Found found;
  for (const test::Fp8Configuration& c : test::fp8_configurations()) {
    if (c.mask.kind != Mask::Kind::none || c.packed) continue;
    test::Fp8Case one = test::fp8_case(c, 0);
    AttentionSizes& s = one.layout.sizes;
    s = {1, 1, 1, 3 * knob(c.tile, "q"), 7 * knob(c.tile, "x") + 3, c.d, c.d};
    one.layout.deviation = 1;
    CAPTURE(test::describe(one));
    test::Fp8Problem problem(one, 1);
    look_for_edges(problem, {"K", "S"}, {"V", "O"}, found);
  }
  check_found(found, 12);
}

}  // namespace test_edges
