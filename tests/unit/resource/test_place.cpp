// The placed diagram: extents, groups, variables, crossings and operations, compared with small cases worked out by
// hand.

#include <doctest/doctest.h>

#include <algorithm>

#include "model/resource/resources.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_place {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Abstract;
using napkin::internal::testing::Mapped;

const PlacedLevel& level(const PlacedDiagram& p, const char* name) { return *p.find_level(p.machine->level(name)); }

Count extent(const PlacedDiagram& p, const char* level_name, const char* axis) {
  return level(p, level_name).extent[static_cast<std::size_t>(p.streamed->diagram.axis(axis))];
}

const Variable& variable(const PlacedDiagram& p, const std::string& name) {
  for (const Variable& v : p.variables) {
    if (p.mapping->variables[static_cast<std::size_t>(v.mapping)].name == name) return v;
  }
  throw Error("test", "no variable " + name);
}

bool has_variable(const PlacedDiagram& p, const std::string& name) {
  for (const Variable& v : p.variables) {
    if (p.mapping->variables[static_cast<std::size_t>(v.mapping)].name == name) return true;
  }
  return false;
}

std::string crossings(const PlacedDiagram& p, const char* into) {
  std::string out;
  for (const Crossing& c : p.crossings) {
    if (c.into != p.machine->level(into)) continue;
    const char* phase = c.phase == Phase::head ? "head" : c.phase == Phase::loop ? "loop" : "tail";
    out += std::string(c.store ? "store " : "load ") +
           p.streamed->diagram.arrays[static_cast<std::size_t>(c.array)].name + " " + phase +
           (c.reread ? " reread " : " ") + std::string(name_of(c.type)) + "; ";
  }
  return out;
}

}  // namespace

TEST_CASE("attention_sm90: levels, agents, variables") {
  const Mapped m("attention", "attention_sm90", "h200-sxm",
                 {{"b", 2}, {"h", 3}, {"g", 2}, {"q", 1000}, {"x", 500}, {"d", 128}, {"dv", 64}});
  const PlacedDiagram p = m.place({{"q", "96"},
                                   {"g", "2"},
                                   {"x", "176"},
                                   {"warpgroups", "3"},
                                   {"stages", "3"},
                                   {"cluster", "2"},
                                   {"overlap", "on"}});
  CHECK(p.levels.size() == 4);
  CHECK(level(p, "shared").groups == Count(2 * 3 * 1 * 11));
  CHECK(level(p, "cluster").groups == Count(2 * 3 * 1 * 6));
  CHECK(level(p, "registers").groups == Count(2 * 3 * 11 * 3));
  CHECK(level(p, "l2").groups == Count(1));
  CHECK(p.blocks == Count(66));
  CHECK(p.cluster == Count(2));
  CHECK(p.threads == Count(512));
  CHECK(extent(p, "shared", "q") == Count(96));
  CHECK(extent(p, "registers", "q") == Count(32));  // 96 among 3
  CHECK(extent(p, "registers", "g") == Count(2));
  CHECK(level(p, "shared").chunk == Count(176));
  CHECK(level(p, "shared").staged);
  CHECK_FALSE(level(p, "l2").staged);
  CHECK(p.agents[1].rows == Count(64));
  CHECK(p.agents[1].registers == Count(160));
  CHECK(p.agents[0].registers == Count(32));
  CHECK(variable(p, "Q").elements == Count(192 * 128));
  CHECK(variable(p, "K").elements == Count(176 * 128));
  CHECK(variable(p, "V").elements == Count(176 * 64));
  CHECK(variable(p, "V").copies == Count(3));
  CHECK(variable(p, "K").bytes() == Bytes(3 * 176 * 128 * 2));
  CHECK(variable(p, "S").elements == Count(64 * 176));
  CHECK(variable(p, "S").type == DType::f32);
  CHECK(variable(p, "O_out").elements == Count(192 * 64));
  CHECK(variable(p, "K").multicast);
  CHECK_FALSE(variable(p, "Q").multicast);
  CHECK(has_variable(p, "P"));
  CHECK_FALSE(has_variable(p, "P_shared"));
  CHECK_FALSE(has_variable(p, "P_in_place"));
}

TEST_CASE("attention_sm90: what crosses, by where P lives") {
  const Mapped m("attention", "attention_sm90", "h200-sxm", {{"h", 2}, {"q", 128}, {"x", 256}, {"d", 64}});
  const PlacedDiagram in_registers = m.place({{"p_in", "registers"}});
  CHECK(crossings(in_registers, "shared") ==
        "load Q head bf16; load K loop bf16; load V loop bf16; store O tail bf16; ");
  CHECK(crossings(in_registers, "registers") ==
        "store O tail bf16; load Q loop reread bf16; load K loop bf16; load V loop bf16; ");
  const PlacedDiagram in_shared = m.place({{"p_in", "shared"}});
  CHECK(crossings(in_shared, "registers") ==
        "store P loop bf16; store O tail bf16; load Q loop reread bf16; load K loop bf16; load P loop bf16; load V "
        "loop bf16; ");
  CHECK(in_registers.operations[2].a_from_registers);
  CHECK_FALSE(in_shared.operations[2].a_from_registers);
  CHECK_FALSE(in_registers.operations[0].a_from_registers);
}

TEST_CASE("attention_sm80: Q in registers crosses once; no cluster on Ampere; mma.sync on every machine") {
  for (const char* gpu : {"a100-sxm-80", "h200-sxm", "b200"}) {
    CAPTURE(gpu);
    const Mapped m("attention", "attention_sm80", gpu, {{"h", 2}, {"q", 128}, {"x", 256}, {"d", 64}});
    const PlacedDiagram kept = m.place({{"q_in", "registers"}, {"q", "64"}, {"warps", "4"}});
    CHECK(crossings(kept, "registers") == "load Q head bf16; store O tail bf16; load K loop bf16; load V loop bf16; ");
    CHECK(variable(kept, "Q_fragments").elements == Count(16 * 64));
    CHECK(kept.operations[0].instruction->name == "mma.sync");
    CHECK(kept.levels.size() == 3);
    CHECK(kept.threads == Count(128));
  }
}

TEST_CASE("operations: m, n, k and vector work of one iteration") {
  const Mapped m("attention", "attention_sm90", "h200-sxm",
                 {{"h", 2}, {"g", 4}, {"q", 512}, {"x", 512}, {"d", 128}, {"dv", 64}});
  const PlacedDiagram p = m.place({{"q", "32"}, {"g", "4"}, {"x", "80"}, {"warpgroups", "2"}, {"rescale", "always"}});
  CHECK(p.operations[0].m == Count(128));
  CHECK(p.operations[0].n == Count(80));
  CHECK(p.operations[0].k == Count(128));
  CHECK(p.operations[2].m == Count(128));
  CHECK(p.operations[2].n == Count(64));
  CHECK(p.operations[2].k == Count(80));
  const PlacedOperation& softmax = p.operations[1];
  const auto work = [&](const std::string& name) {
    const auto found = std::find_if(softmax.work.begin(), softmax.work.end(),
                                    [&](const PlacedWork& w) { return w.mapping->name == name; });
    REQUIRE(found != softmax.work.end());
    return *found;
  };
  CHECK(work("max").amount + work("max_second").amount == doctest::Approx(128 * 80));
  CHECK(work("delta").amount == doctest::Approx(128));
  CHECK(work("rescale").amount == doctest::Approx(128 * 64));
  CHECK(p.machine->units[static_cast<std::size_t>(work("exp").unit)].name == "special");
}

TEST_CASE("placing into the same object again gives the same as anew, whatever was there") {
  const Mapped m("attention", "attention_sm90", "h200-sxm", {{"h", 2}, {"q", 700}, {"x", 333}, {"d", 64}},
                 Mask{Mask::Kind::causal, 0, 0});
  PlacedDiagram reused;
  for (const char* p_in : {"registers", "shared", "registers"}) {
    for (const char* x : {"48", "128"}) {
      for (const char* cluster : {"2", "1"}) {
        const Tile tile = m.tile({{"p_in", p_in}, {"x", x}, {"cluster", cluster}});
        m.placer.place(tile, reused);
        const PlacedDiagram anew = m.placer.place(tile);
        CHECK(reused.crossings.size() == anew.crossings.size());
        CHECK(reused.variables.size() == anew.variables.size());
        const auto a = transfers(reused), b = transfers(anew);
        for (std::size_t i = 0; i < a.size(); ++i) {
          CHECK(a[i].load == b[i].load);
          CHECK(a[i].store == b[i].store);
          CHECK(a[i].delivered == b[i].delivered);
        }
      }
    }
  }
}

TEST_CASE("the same alternatives again: every buffer stays where it is") {
  const Mapped m("attention", "attention_sm90", "h200-sxm", {{"h", 2}, {"q", 700}, {"x", 333}, {"d", 64}});
  PlacedDiagram p = m.place({{"x", "48"}});
  const auto buffers = [&] {
    std::vector<const void*> out = {p.levels.data(), p.variables.data(),  p.crossings.data(),
                                    p.agents.data(), p.operations.data(), p.tile.values.data()};
    for (const PlacedLevel& l : p.levels) out.insert(out.end(), {l.extent.data(), l.groups_of.data()});
    for (const PlacedAgent& a : p.agents) out.push_back(a.extent.data());
    for (const Variable& v : p.variables) out.push_back(v.arrays.data());
    for (const PlacedOperation& o : p.operations) out.insert(out.end(), {o.operands.data(), o.work.data()});
    return out;
  };
  const auto before = buffers();
  m.placer.place(m.tile({{"x", "176"}, {"q", "192"}, {"warpgroups", "3"}, {"stages", "1"}}), p);
  CHECK(buffers() == before);
  CHECK(p.block().chunk == Count(176));
}

TEST_CASE("Placer refuses what does not fit") {
  const Diagram attention = load_diagram("attention"), matmul = load_diagram("matmul");
  const Machine h200 = load_machine("h200-sxm", "--gpu"), v100 = load_machine("v100-sxm2", "--gpu");
  const Mapping sm90 = load_mapping("attention_sm90", "--kernel");
  const Streamed right = derive(attention, mapped_roles(sm90, attention)),
                 other = derive(attention, roles_of(attention, {"b", "h", "g"}, "x"));
  const Streamed product = derive(matmul);
  Problem problem{resolve_sizes(attention, {{"q", 64}, {"x", 64}, {"d", 64}}, ""), {}, DType::bf16};
  CHECK_NOTHROW(Placer(right, sm90, h200, problem));
  CHECK_THROWS_AS(Placer(product, sm90, h200, problem), Error);
  CHECK_THROWS_AS(Placer(other, sm90, h200, problem), Error);
  CHECK_THROWS_AS(Placer(right, sm90, v100, problem), Error);  // no bf16 tensor instruction
  CHECK_THROWS_AS((void)Placer(right, sm90, h200, problem).place(Tile{{1, 2}}), Error);
}

TEST_CASE("huge sizes overflow, they never wrap") {
  const Mapped m(
      "attention", "attention_sm90", "h200-sxm",
      {{"h", std::int64_t{1} << 40}, {"q", std::int64_t{1} << 40}, {"x", std::int64_t{1} << 40}, {"d", 128}});
  CHECK_THROWS_AS((void)transfers(m.place({})), Overflow);
  const Mapped n("matmul", "matmul_sm90", "h200-sxm",
                 {{"a", std::int64_t{1} << 62}, {"b", std::int64_t{1} << 62}, {"c", 1}});
  CHECK_THROWS_AS((void)transfers(n.place({})), Overflow);
}

TEST_CASE("axes split and streamed at once: a split-K product, chunk and part each by its knob") {
  const Mapping split = parse_mapping(R"(mapping: split_k
algorithm: matmul
runs_on: [sm_90]
knobs:
  a: {unit: rows, domain: [64]}
  c: {unit: columns, domain: [32]}
  b: {unit: columns, domain: [16]}
  shared.b: {unit: columns, domain: [100]}
agents: {warp: {count: 1, threads: 128, splits: [a]}}
levels:
  shared: {group: [a, c, b], stream: [b]}
  registers: {group: [a]}
arrays:
  A: {level: shared, type: T}
  B: {level: shared, type: T}
  C: {level: registers, scope: agent, type: f32}
operations:
  C: {agent: warp, unit: tensor, type: T, operands: {A: A, B: B}}
)",
                                      "split_k.yaml");
  const Mapped m(load_diagram("matmul"), split, load_machine("h200-sxm", "--gpu"), {{"a", 128}, {"b", 250}, {"c", 64}});
  const PlacedDiagram p = m.place({});
  CHECK(p.block().groups == Count(2 * 2 * 3));
  CHECK(p.block().chunk == Count(16));
  CHECK(p.walk.all_chunks == Count(7 + 7 + 4));
  for (const LevelTransfer& t : transfers(p)) {
    if (t.level != p.block().level) continue;
    CHECK(t.load == Bytes((128 * 250 * 2 + 250 * 64 * 2) * 2));
    CHECK(t.store == Bytes(128 * 64 * 4 * 3));  // a partial result for each of three parts
  }
}

}  // namespace test_place
