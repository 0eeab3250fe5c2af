// transfers() compared with a simulated kernel: every group, every chunk, every value that moves.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include "model/diagram/text.hpp"
#include "model/fusion/partition.hpp"
#include "model/resource/resources.hpp"
#include "tests/law/transfer_twin.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_resource_transfer {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Abstract;
using napkin::internal::testing::agree;
using napkin::internal::testing::Given;
using napkin::internal::testing::Kernel;
using napkin::internal::testing::Mapped;
using napkin::internal::testing::Move;
using napkin::internal::testing::Text;
using napkin::internal::testing::Where;
using i64 = std::int64_t;

const std::vector<Mask>& masks() {
  static const std::vector<Mask> all = {
      {Mask::Kind::none, 0, 0},     {Mask::Kind::causal, 0, 0}, {Mask::Kind::window, 0, 0},
      {Mask::Kind::window, 3, 2},   {Mask::Kind::window, 5, 0}, {Mask::Kind::window, 0, 6},
      {Mask::Kind::window, 40, 40}, {Mask::Kind::prefix, 2, 0}, {Mask::Kind::prefix, 11, 0}};
  return all;
}

using When = Move::When;
using Counted = Move::Counted;

}  // namespace

TEST_CASE(
    "attention_sm90: all levels, masks, grouped queries, ragged tiles, clusters, P in registers and in shared memory") {
  const Diagram d = load_diagram("attention");
  Mapping mapping = load_mapping("attention_sm90", "--kernel");
  mapping.padded.clear();  // law.padded_heads checks padded widths
  std::mt19937 random(1);
  const auto pick = [&](i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(random); };
  for (int round = 0; round < 60; ++round) {
    const Mask mask = masks()[static_cast<std::size_t>(round) % masks().size()];
    const i64 g = pick(1, 3), q = pick(1, 23), x = pick(1, 23), tile_q = pick(1, 9), tile_x = pick(1, 9),
              tile_g = pick(1, 3);
    const i64 cluster = pick(1, 2), warpgroups = tile_q % 2 == 0 ? 2 : 1;
    const bool shared_p = round % 2 == 0;
    // A mask sees rows unequally often: there only rows that all begin at one place of their lines are counted exactly.
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
        &d,  m.problem.sizes, {}, "a", "b", "b", tile_b, {{"a", tile_a}, {"c", tile_c}}, {"a", cluster}, {{"a", 2}},
        true};
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
    // Where a mask skips boxes along a row, boxes count like the mean one: here each box is whole sectors.
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
