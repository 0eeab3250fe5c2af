// transfers() against a kernel acted out element by element: every group, every chunk, every value that moves.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include "model/diagram/text.hpp"
#include "model/fusion/partition.hpp"
#include "model/resource/resources.hpp"
#include "tests/law/boxes_twin.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_resource_transfer {

namespace {

using namespace napkin;
using napkin::testing::Abstract;
using napkin::testing::counted_box;
using napkin::testing::counted_row;
using napkin::testing::Given;
using napkin::testing::Mapped;
using napkin::testing::Text;
using i64 = std::int64_t;

bool sees(const Mask& mask, i64 row, i64 column, i64 rows, i64 columns) {
  const i64 diagonal = row + columns - rows;
  switch (mask.kind) {
    case Mask::Kind::none: return true;
    case Mask::Kind::causal: return column <= diagonal;
    case Mask::Kind::window: return diagonal - mask.left <= column && column <= diagonal + mask.right;
  }
  return false;
}

/// What the kernel does with one array at one level, as its author would say it.
struct Move {
  const char* array;
  bool store;
  enum class When { once, chunk, each_iteration } when;
  int bytes;               ///< of a value
  bool per_block = false;  ///< at a cluster: not shared by its blocks
  bool skips = true;
  enum class Counted { plain, boxes, shared_boxes, sectors } counted = Counted::plain;  ///< shared: by multicast
};

/// A kernel's tile, in numbers that the test states itself.
struct Kernel {
  const Diagram* diagram;
  Sizes sizes;
  Mask mask;
  std::string row, column;  ///< of the mask
  std::string stream;
  i64 chunk = 1;
  std::vector<std::pair<std::string, i64>> group;   ///< block: grouped axes
  std::pair<std::string, i64> cluster{"", 1};       ///< blocks side by side
  std::vector<std::pair<std::string, i64>> divide;  ///< instances along an axis
};

enum class Where { l2, cluster, block, agent };

struct Range {
  i64 begin, end;  // of the tile, unclipped
};

/// One group at a level, or one block with its chunks.
class Actor {
 public:
  Actor(const Kernel& k, Where where) : k_(k), d_(*k.diagram), where_(where) {}

  struct Moved {
    i64 plain = 0, counted = 0;  // bytes
  };

  Moved act(const Move& move) const {
    Moved out;
    std::vector<Range> tile(d_.axes.size());
    for (std::size_t i = 0; i < tile.size(); ++i) tile[i] = {0, k_.sizes[i].get()};
    std::vector<Range> block = tile;
    each_group(move, 0, tile, block, out);
    return out;
  }

 private:
  [[nodiscard]] std::size_t axis(const std::string& name) const { return static_cast<std::size_t>(d_.axis(name)); }
  [[nodiscard]] i64 size(std::size_t a) const { return k_.sizes[a].get(); }

  // tile: what the group itself holds; block: whose loop it takes part in (chunks are visited by the block's rows).
  void each_group(const Move& move, std::size_t g, std::vector<Range>& tile, std::vector<Range>& block,
                  Moved& out) const {
    if (g == k_.group.size()) return walk(move, tile, block, out);
    const auto& [name, group] = k_.group[g];
    const std::size_t a = axis(name);
    const bool shared = where_ == Where::cluster && !move.per_block && name == k_.cluster.first;
    const i64 step = where_ == Where::l2 ? size(a) : shared ? group * k_.cluster.second : group;
    i64 parts = 1;
    for (const auto& [divided, instances] : k_.divide) {
      if (where_ == Where::agent && divided == name) parts = instances;
    }
    for (i64 begin = 0; begin < size(a); begin += step) {
      block[a] = {begin, begin + step};
      const i64 piece = (step + parts - 1) / parts;
      for (i64 i = 0; i < parts; ++i) {
        tile[a] = {begin + i * piece, std::min(begin + (i + 1) * piece, begin + step)};
        each_group(move, g + 1, tile, block, out);
      }
    }
    tile[a] = block[a] = {0, size(a)};
  }

  [[nodiscard]] bool visited(const std::vector<Range>& block, Range chunk) const {
    if (k_.mask.kind == Mask::Kind::none) return true;
    const std::size_t r = axis(k_.row), c = axis(k_.column);
    const Range rows = k_.stream == k_.row ? chunk : block[r], columns = k_.stream == k_.row ? block[c] : chunk;
    for (i64 i = rows.begin; i < std::min(rows.end, size(r)); ++i) {
      for (i64 j = columns.begin; j < std::min(columns.end, size(c)); ++j) {
        if (sees(k_.mask, i, j, size(r), size(c))) return true;
      }
    }
    return false;
  }

  void walk(const Move& move, std::vector<Range> tile, const std::vector<Range>& block, Moved& out) const {
    if (move.when == Move::When::once) return count(move, tile, out);
    const std::size_t s = axis(k_.stream);
    const bool split =
        std::any_of(k_.group.begin(), k_.group.end(), [&](const auto& g) { return g.first == k_.stream; });
    const i64 first = split ? block[s].begin : 0, last = split ? std::min(block[s].end, size(s)) : size(s);
    for (i64 begin = first; begin < last; begin += k_.chunk) {
      const Range chunk{begin, std::min(begin + k_.chunk, split ? block[s].end : begin + k_.chunk)};
      if (move.skips && !visited(block, {chunk.begin, std::min(chunk.end, last)})) continue;
      tile[s] = chunk;
      count(move, tile, out);
    }
  }

  void count(const Move& move, const std::vector<Range>& tile, Moved& out) const {
    const Array& array = d_.arrays[static_cast<std::size_t>(d_.array(move.array))];
    i64 inside = 0;
    std::function<void(std::size_t, bool)> element = [&](std::size_t depth, bool in) {
      if (depth == array.axes.size()) {
        inside += in ? 1 : 0;
        return;
      }
      const auto a = static_cast<std::size_t>(array.axes[depth]);
      for (i64 i = tile[a].begin; i < tile[a].end; ++i) element(depth + 1, in && i < size(a));
    };
    element(0, true);
    out.plain += inside * move.bytes;
    if (move.counted == Move::Counted::plain) out.counted += inside * move.bytes;
    const bool shared = move.counted == Move::Counted::shared_boxes;
    if (shared || move.counted == Move::Counted::boxes) out.counted += boxes(array, tile, move.bytes, shared);
    if (move.counted == Move::Counted::sectors && inside > 0) {
      const auto a = static_cast<std::size_t>(array.axes.back());
      const i64 row = std::min(tile[a].end, size(a)) - tile[a].begin;
      out.counted += inside / row * ((row * move.bytes + 31) / 32 * 32);
    }
  }

  /// Every row of the tile, box by box; rows lie behind one another at multiples of 16 bytes.
  [[nodiscard]] i64 boxes(const Array& array, const std::vector<Range>& tile, i64 bytes, bool multicast) const {
    const auto last = static_cast<std::size_t>(array.axes.back());
    const i64 pitch = (size(last) * bytes + 15) / 16 * 16,
              box = counted_box((tile[last].end - tile[last].begin) * bytes);
    i64 out = 0;
    std::function<void(std::size_t, i64, bool)> each_row = [&](std::size_t depth, i64 row, bool in) {
      if (depth + 1 == array.axes.size()) {
        for (i64 at = tile[last].begin * bytes; at < tile[last].end * bytes; at += box) {
          const i64 inside = in ? std::clamp<i64>(size(last) * bytes - at, 0, box) : 0;
          out += counted_row(row * pitch + at, inside, box, multicast);
        }
        return;
      }
      const auto a = static_cast<std::size_t>(array.axes[depth]);
      for (i64 i = tile[a].begin; i < tile[a].end; ++i) each_row(depth + 1, row * size(a) + i, in && i < size(a));
    };
    each_row(0, 0, true);
    return out;
  }

  const Kernel& k_;
  const Diagram& d_;
  Where where_;
};

void agree(const PlacedDiagram& placed, const char* level, const Kernel& kernel, Where where,
           const std::vector<Move>& moves) {
  CAPTURE(level);
  const Actor actor(kernel, where);
  i64 load = 0, store = 0, delivered = 0;
  for (const Move& move : moves) {
    const Actor::Moved moved = actor.act(move);
    (move.store ? store : load) += moved.plain;
    if (!move.store) delivered += moved.counted;
  }
  const std::vector<LevelTransfer> all = transfers(placed);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const LevelTransfer& t) { return t.level == placed.machine->level(level); });
  REQUIRE(found != all.end());
  CHECK(found->load.value.get() == load);
  CHECK(found->store.value.get() == store);
  CHECK(found->delivered.value.get() == delivered);
}

const std::vector<Mask>& masks() {
  static const std::vector<Mask> all = {
      {Mask::Kind::none, 0, 0},   {Mask::Kind::causal, 0, 0}, {Mask::Kind::window, 0, 0},  {Mask::Kind::window, 3, 2},
      {Mask::Kind::window, 5, 0}, {Mask::Kind::window, 0, 6}, {Mask::Kind::window, 40, 40}};
  return all;
}

using When = Move::When;
using Counted = Move::Counted;

}  // namespace

TEST_CASE(
    "attention_sm90: all levels, masks, grouped queries, ragged tiles, clusters, P in registers and in shared memory") {
  const Diagram d = load_diagram("attention");
  const Mapping mapping = load_mapping("attention_sm90", "--kernel");
  std::mt19937 random(1);
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  for (int round = 0; round < 60; ++round) {
    const Mask mask = masks()[static_cast<std::size_t>(round) % masks().size()];
    const i64 g = pick(1, 3), q = pick(1, 23), x = pick(1, 23), tile_q = pick(1, 9), tile_x = pick(1, 9),
              tile_g = pick(1, 3);
    const i64 cluster = pick(1, 2), warpgroups = tile_q % 2 == 0 ? 2 : 1;
    const bool shared_p = round % 2 == 0;
    // A mask sees rows unequally often: there only those that all lie alike in their lines are counted exactly.
    const auto d_size = [&] {
      return mask.kind == Mask::Kind::none ? pick(1, 40)
                                           : std::array<i64, 4>{3, 8, 16, 64}[static_cast<std::size_t>(pick(0, 3))];
    };
    const Given shape = {{"b", pick(1, 2)}, {"h", pick(1, 2)}, {"g", g},        {"q", q},
                         {"x", x},          {"d", d_size()},   {"dv", d_size()}};
    const Mapped m(d, mapping, load_machine("h200-sxm", "--gpu"), shape, mask);
    const auto text = [](i64 v) { return std::to_string(v); };
    const PlacedDiagram p = m.place({{"q", text(tile_q)},
                                     {"x", text(tile_x)},
                                     {"g", text(tile_g)},
                                     {"cluster", text(cluster)},
                                     {"warpgroups", text(warpgroups)},
                                     {"p_in", shared_p ? "shared" : "registers"}});
    CAPTURE(round);
    CAPTURE(text_of(mask));
    const Kernel k{&d,
                   m.problem.sizes,
                   mask,
                   "q",
                   "x",
                   "x",
                   tile_x,
                   {{"b", 1}, {"h", 1}, {"g", tile_g}, {"q", tile_q}},
                   {"q", cluster},
                   {{"q", warpgroups}}};
    agree(p, "l2", k, Where::l2,
          {{"Q", false, When::once, 2},
           {"K", false, When::chunk, 2},
           {"V", false, When::chunk, 2},
           {"O", true, When::once, 2}});
    const bool alone = cluster == 1;
    const Counted boxes = alone ? Counted::boxes : Counted::shared_boxes;
    agree(p, "cluster", k, Where::cluster,
          {{"Q", false, When::once, 2, true, true, Counted::boxes},
           {"K", false, When::chunk, 2, alone, true, boxes},
           {"V", false, When::chunk, 2, alone, true, boxes},
           {"O", true, When::once, 2, true}});
    agree(p, "shared", k, Where::block,
          {{"Q", false, When::once, 2, false, true, Counted::boxes},
           {"K", false, When::chunk, 2, false, true, boxes},
           {"V", false, When::chunk, 2, false, true, boxes},
           {"O", true, When::once, 2}});
    std::vector<Move> agents = {{"Q", false, When::each_iteration, 2},
                                {"K", false, When::chunk, 2},
                                {"V", false, When::chunk, 2},
                                {"O", true, When::once, 2}};
    if (shared_p) {
      agents.push_back({"P", true, When::chunk, 2});
      agents.push_back({"P", false, When::chunk, 2});
    }
    agree(p, "registers", k, Where::agent, agents);
  }
}

TEST_CASE("attention_sm80: sectors of rows, Q once into registers") {
  const Diagram d = load_diagram("attention");
  const Mapping mapping = load_mapping("attention_sm80", "--kernel");
  std::mt19937 random(2);
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  for (int round = 0; round < 21; ++round) {
    const Mask mask = masks()[static_cast<std::size_t>(round) % masks().size()];
    const i64 tile_q = 2 * pick(1, 5), tile_x = pick(1, 9);
    const Mapped m(
        d, mapping, load_machine("a100-sxm-80", "--gpu"),
        {{"h", 2}, {"g", 2}, {"q", pick(1, 23)}, {"x", pick(1, 23)}, {"d", pick(1, 20)}, {"dv", pick(1, 40)}}, mask);
    const PlacedDiagram p =
        m.place({{"q", std::to_string(tile_q)}, {"x", std::to_string(tile_x)}, {"warps", "2"}, {"q_in", "registers"}});
    CAPTURE(round);
    const Kernel k{&d,      m.problem.sizes, mask, "q", "x", "x", tile_x, {{"h", 1}, {"g", 1}, {"q", tile_q}},
                   {"", 1}, {{"q", 2}}};
    agree(p, "shared", k, Where::block,
          {{"Q", false, When::once, 2, false, true, Counted::sectors},
           {"K", false, When::chunk, 2, false, true, Counted::sectors},
           {"V", false, When::chunk, 2, false, true, Counted::sectors},
           {"O", true, When::once, 2}});
    agree(p, "registers", k, Where::agent,
          {{"Q", false, When::once, 2},
           {"K", false, When::chunk, 2},
           {"V", false, When::chunk, 2},
           {"O", true, When::once, 2}});
  }
}

TEST_CASE("matmul_sm90: no array of the product is special") {
  const Diagram d = load_diagram("matmul");
  const Mapping mapping = load_mapping("matmul_sm90", "--kernel");
  std::mt19937 random(3);
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  for (int round = 0; round < 20; ++round) {
    const i64 tile_a = 2 * pick(1, 4), tile_b = 4 * pick(1, 7), tile_c = 8 * pick(1, 4), cluster = pick(1, 2);
    const Mapped m(d, mapping, load_machine("h200-sxm", "--gpu"),
                   {{"a", pick(1, 23)}, {"b", pick(1, 60)}, {"c", pick(1, 60)}});
    const PlacedDiagram p = m.place({{"a", std::to_string(tile_a)},
                                     {"b", std::to_string(tile_b)},
                                     {"c", std::to_string(tile_c)},
                                     {"warpgroups", "2"},
                                     {"cluster", std::to_string(cluster)}});
    CAPTURE(round);
    const Counted boxes = cluster == 1 ? Counted::boxes : Counted::shared_boxes;
    const Kernel k{
        &d, m.problem.sizes, {}, "a", "b", "b", tile_b, {{"a", tile_a}, {"c", tile_c}}, {"a", cluster}, {{"a", 2}}};
    agree(p, "cluster", k, Where::cluster,
          {{"A", false, When::chunk, 2, true, true, Counted::boxes},
           {"B", false, When::chunk, 2, cluster == 1, true, boxes},
           {"C", true, When::once, 2, true}});
    agree(p, "shared", k, Where::block,
          {{"A", false, When::chunk, 2, false, true, Counted::boxes},
           {"B", false, When::chunk, 2, false, true, boxes},
           {"C", true, When::once, 2}});
    agree(p, "registers", k, Where::agent,
          {{"A", false, When::chunk, 2}, {"B", false, When::chunk, 2}, {"C", true, When::once, 2}});
  }
}

namespace {

constexpr const char* backward_text = R"(mapping: backward
algorithm: attention_backward
runs_on: [sm_90]
knobs:
  q: {unit: rows, domain: [64]}
  x: {unit: columns, domain: [128]}
agents: {consumer: {count: 2, threads: 128, splits: [x]}}
levels:
  shared: {group: [b, h, g, x], stream: [q]}
  registers: {group: [x]}
arrays:
  Q: {level: shared, type: T}
  dO: {level: shared, type: T}
  O: {level: shared, type: T}
  L: {level: shared, type: f32}
  K: {level: shared, type: T}
  V: {level: shared, type: T}
  dQ: {level: registers, scope: agent, type: f32}
  dQ_out: {of: dQ, level: shared, type: f32, engine: bulk_reduce, staging: true}
  dK: {level: registers, scope: agent, type: f32}
  dV: {level: registers, scope: agent, type: f32}
  dK_out: {of: dK, level: shared, type: T, engine: tma, staging: true}
  dV_out: {of: dV, level: shared, type: T, engine: tma, staging: true}
operations:
  Delta: {agent: consumer, unit: vector}
  S: {agent: consumer, unit: tensor, type: T}
  Z: {agent: consumer, unit: vector}
  P: {agent: consumer, unit: vector}
  dV: {agent: consumer, unit: tensor, type: T}
  dP: {agent: consumer, unit: tensor, type: T}
  E: {agent: consumer, unit: vector}
  dS: {agent: consumer, unit: vector}
  dQ: {agent: consumer, unit: tensor, type: T}
  dK: {agent: consumer, unit: tensor, type: T}
)";

}  // namespace

TEST_CASE("attention_backward: keys in groups, queries streamed; dQ is a partial result of every group of keys") {
  const Diagram d = load_diagram("attention_backward");
  const Mapping mapping = parse_mapping(backward_text, "backward.yaml");
  std::mt19937 random(4);
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  for (int round = 0; round < 21; ++round) {
    const Mask mask = masks()[static_cast<std::size_t>(round) % masks().size()];
    const i64 tile_x = 2 * pick(1, 4), tile_q = pick(1, 7);
    const Mapped m(d, mapping, load_machine("h200-sxm", "--gpu"),
                   {{"h", 2}, {"g", 2}, {"q", pick(1, 19)}, {"x", pick(1, 19)}, {"d", 2}, {"dv", 3}}, mask);
    const PlacedDiagram p = m.place({{"q", std::to_string(tile_q)}, {"x", std::to_string(tile_x)}});
    CAPTURE(round);
    CAPTURE(text_of(mask));
    const Kernel k{&d,      m.problem.sizes, mask, "q", "x", "q", tile_q, {{"h", 1}, {"g", 1}, {"x", tile_x}},
                   {"", 1}, {{"x", 2}}};
    std::vector<Move> moves = {
        {"Q", false, When::chunk, 2},  {"K", false, When::once, 2},  {"V", false, When::once, 2},
        {"dO", false, When::chunk, 2}, {"O", false, When::chunk, 2}, {"L", false, When::chunk, 4},
        {"dQ", true, When::chunk, 4},  {"dK", true, When::once, 2},  {"dV", true, When::once, 2}};
    agree(p, "shared", k, Where::block, moves);
    // Each operation reads its own operands: dO for Delta, dV and dP; Q for S and dK; K for S and dQ; V for dP.
    agree(p, "registers", k, Where::agent,
          {{"dO", false, When::chunk, 2},
           {"O", false, When::chunk, 2},
           {"Q", false, When::chunk, 2},
           {"K", false, When::each_iteration, 2},
           {"L", false, When::chunk, 4},
           {"dO", false, When::chunk, 2},
           {"dO", false, When::chunk, 2},
           {"V", false, When::each_iteration, 2},
           {"K", false, When::each_iteration, 2},
           {"Q", false, When::chunk, 2},
           {"dQ", true, When::chunk, 4},
           {"dK", true, When::once, 2},
           {"dV", true, When::once, 2}});
  }
}

TEST_CASE("scores as an input: an array with both axes of the mask, by boxes and by sectors, either axis last") {
  const auto text = [](bool rows_last, const char* engine) {
    const std::string scores = rows_last ? "S[x,q]" : "S[q,x]";
    return std::pair<std::string, std::string>{
        "algorithm: scores\naxes: {q: , x: , d: }\ninputs: [\"" + scores + "\", \"V[x,d]\"]\noperations:\n" + "  - P[" +
            (rows_last ? "x,q" : "q,x") +
            "] = softmax over x (S) mask (q, x)\n  - O[q,d] = contract over x (P, V)\noutputs: [O]\n",
        "mapping: scores\nalgorithm: scores\nruns_on: [sm_90]\nknobs:\n  q: {unit: rows, domain: [8]}\n  x: {unit: "
        "columns, domain: [8]}\n"
        "levels:\n  shared: {group: [q], stream: [x]}\narrays:\n  S: {level: shared, type: f32, engine: " +
            std::string(engine) +
            "}\n"
            "  V: {level: shared, type: T, engine: " +
            std::string(engine) +
            "}\n  O: {level: shared, type: T}\n"
            "operations:\n  P: {unit: vector}\n  O: {unit: vector}\n"};
  };
  std::mt19937 random(7);
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  for (int round = 0; round < 56; ++round) {
    const Mask mask = masks()[static_cast<std::size_t>(round) % masks().size()];
    const bool boxes = round % 2 == 0;
    const auto [algorithm, kernel] = text(round % 4 < 2, boxes ? "tma" : "cp_async");
    const Diagram d = parse_diagram(algorithm, "scores.yaml");
    // Where a mask skips boxes along a row, those count like the mean one: here all alike, whole sectors.
    const i64 step_q = boxes && mask.kind != Mask::Kind::none && round % 4 < 2 ? 8 : 1;
    const i64 step_x = boxes && mask.kind != Mask::Kind::none && round % 4 >= 2 ? 8 : 1;
    const i64 tile_q = step_q * pick(1, 9), tile_x = step_x * pick(1, 9);
    const Mapped m(d, parse_mapping(kernel, "kernel.yaml"), load_machine("h200-sxm", "--gpu"),
                   {{"q", step_q * pick(1, 23)}, {"x", step_x * pick(1, 23)}, {"d", 5}}, mask);
    const PlacedDiagram p = m.place({{"q", std::to_string(tile_q)}, {"x", std::to_string(tile_x)}});
    CAPTURE(round);
    CAPTURE(text_of(mask));
    const Kernel k{&d, m.problem.sizes, mask, "q", "x", "x", tile_x, {{"q", tile_q}}, {"", 1}, {}};
    const Counted counted = boxes ? Counted::boxes : Counted::sectors;
    agree(p, "shared", k, Where::block,
          {{"S", false, When::chunk, 4, false, true, counted},
           {"V", false, When::chunk, 2, false, true, counted},
           {"O", true, When::once, 2}});
  }
}

TEST_CASE("split keys: partial outputs once for each part, chunks from each part's start") {
  const Diagram d = load_diagram("attention");
  std::string text = R"(mapping: split_keys
algorithm: attention
runs_on: [sm_90]
knobs:
  q: {unit: rows, domain: [64]}
  x: {unit: columns, domain: [64]}
  shared.x: {unit: columns, domain: [512]}
levels:
  shared: {group: [b, h, g, q, x], stream: [x]}
arrays:
  Q: {level: shared, type: T, engine: tma}
  K: {level: shared, type: T}
  V: {level: shared, type: T}
  O: {level: shared, type: f32}
operations:
  S: {unit: tensor, type: T}
  P: {unit: vector}
  O: {unit: tensor, type: T}
)";
  const Mapping mapping = parse_mapping(text, "split_keys.yaml");
  std::mt19937 random(5);
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  for (int round = 0; round < 28; ++round) {
    const Mask mask = masks()[static_cast<std::size_t>(round) % masks().size()];
    const i64 tile_q = pick(1, 7), tile_x = pick(1, 5), part = pick(1, 11);
    const Mapped m(d, mapping, load_machine("h200-sxm", "--gpu"),
                   {{"h", 2}, {"q", pick(1, 19)}, {"x", pick(1, 19)}, {"d", 2}, {"dv", 3}}, mask);
    const PlacedDiagram p =
        m.place({{"q", std::to_string(tile_q)}, {"x", std::to_string(tile_x)}, {"shared.x", std::to_string(part)}});
    CAPTURE(round);
    CAPTURE(text_of(mask));
    Diagram with_lse = m.streamed.diagram;
    const Kernel k{
        &with_lse, m.problem.sizes, mask, "q", "x", "x", tile_x, {{"h", 1}, {"q", tile_q}, {"x", part}}, {"", 1}, {}};
    std::vector<Move> moves = {{"Q", false, When::once, 2, false, true, Counted::boxes},
                               {"K", false, When::chunk, 2},
                               {"V", false, When::chunk, 2},
                               {"O", true, When::once, 4}};
    for (const ArrayId output : with_lse.outputs) {  // the log-sum-exp that the combine needs
      const Array& array = with_lse.arrays[static_cast<std::size_t>(output)];
      if (array.name != "O") moves.push_back({array.name.c_str(), true, When::once, 4});
    }
    CHECK(moves.size() == 5);
    agree(p, "shared", k, Where::block, moves);
  }
}

TEST_CASE("on the abstract machine place() is the paper's rule: worked cases and random diagrams' twins") {
  const auto check_all = [](const Streamed& s, const Given& shape, const Given& tile, Mask mask = {}) {
    const Abstract a(s, shape, mask);
    const PlacedDiagram p = a.place(tile);
    const Partition partition = make_partition(a.streamed, a.problem.sizes, tile, "--tile");
    const Transfer expected = transfer(a.streamed, a.problem, partition);
    const LevelTransfer t = transfers(p).back();
    CHECK(t.load.value == expected.load.value);
    CHECK(t.store.value == expected.store.value);
    CHECK(t.groups == group_count(a.streamed, a.problem.sizes, partition));
    CHECK(t.transfer_per_group.value == transfer_per_group(a.streamed, partition).total().value);
    const LevelMemory m = memories(p).back();
    CHECK(m.lower_bound.value == memory_lower_bound(a.streamed, partition).value);
    CHECK(m.live.value == memory_live(a.streamed, partition).value);
    CHECK(m.allocated == m.live);
    return std::pair<i64, i64>{t.transfer().value.get(), m.lower_bound.value.get()};
  };
  const Diagram matmul = load_diagram("matmul"), attention = load_diagram("attention");
  const Streamed product = derive(matmul), heads = derive(attention, roles_of(attention, {"b", "h", "g", "q"}, "x"));
  // Fig. 18: H = 37400, M = 118. Fig. 21: H = 23552, M = 512. Fig. 22 (corrected), Fig. 23: H_g = 5888, 3328; M = 1024,
  // 896.
  CHECK(check_all(product, {{"a", 60}, {"b", 50}, {"c", 40}}, {{"a", 6}, {"c", 8}, {"b", 5}}) ==
        std::pair<i64, i64>{37400, 118});
  CHECK(check_all(heads, {{"q", 96}, {"x", 80}, {"d", 16}}, {{"q", 12}, {"x", 4}}) == std::pair<i64, i64>{23552, 512});
  CHECK(check_all(heads, {{"h", 8}, {"q", 96}, {"x", 80}, {"d", 16}}, {{"h", 2}, {"q", 12}, {"x", 4}}) ==
        std::pair<i64, i64>{4 * 8 * 5888, 1024});
  CHECK(check_all(heads, {{"g", 4}, {"q", 96}, {"x", 80}, {"d", 16}}, {{"g", 2}, {"q", 12}, {"x", 4}}) ==
        std::pair<i64, i64>{2 * 8 * 3328, 896});
  CHECK(check_all(product, {{"a", 480}, {"b", 480}, {"c", 480}}, {{"a", 7}, {"c", 7}, {"b", 1}}).first == 32'025'600);
  CHECK(check_all(product, {{"a", 480}, {"b", 480}, {"c", 480}}, {{"a", 30}, {"c", 32}, {"b", 1}}).first == 7'372'800);
  CHECK(check_all(product, {{"a", 4096}, {"b", 4096}, {"c", 4096}}, {{"a", 192}, {"c", 264}, {"b", 16}}).first ==
        654'311'424);
  std::mt19937 random(6);
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  for (int round = 0; round < 40; ++round) {
    const Mask mask = masks()[static_cast<std::size_t>(round) % masks().size()];
    check_all(heads,
              {{"h", 3}, {"g", 2}, {"q", pick(1, 65)}, {"x", pick(1, 65)}, {"d", pick(1, 7)}, {"dv", pick(1, 7)}},
              {{"h", pick(1, 4)}, {"g", pick(1, 3)}, {"q", pick(1, 70)}, {"x", pick(1, 70)}}, mask);
  }
  for (const char* name : {"mlp", "softmax_contraction", "attention_backward"}) {
    CAPTURE(name);
    const Streamed s = derive(load_diagram(name));
    Given shape, tile;
    for (std::size_t i = 0; i < s.diagram.axes.size(); ++i) {
      const auto axis = static_cast<AxisId>(i);
      shape.emplace_back(s.diagram.axes[i].name, pick(3, 30));
      if (s.stream == axis || s.grouped(axis)) tile.emplace_back(s.diagram.axes[i].name, pick(1, 9));
    }
    check_all(s, shape, tile);
    if (std::string(name) != "mlp") check_all(s, shape, tile, Mask{Mask::Kind::causal, 0, 0});
  }
}

}  // namespace test_resource_transfer
