// The strict reader of mappings: every mistake is reported with its position, the field and a correction.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <algorithm>
#include <memory>

#include "model/base/embedded.hpp"
#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/placed.hpp"
#include "model/mapping/read/load.hpp"
#include "model/mapping/tile.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_load {

namespace {

using namespace napkin;
using namespace napkin::internal;

const std::string good = R"(mapping: small
algorithm: matmul
runs_on: [sm_80+]
knobs:
  a: {unit: rows, domain: [64, 128]}
  c: {unit: columns, domain: {from: 64, to: 16, step: -16}}
  b: {unit: columns, domain: [32]}
  stages: {unit: copies, domain: [2, 1]}
  out: {words: [staged, direct]}
relations:
  - {name: even, when: {out: staged}, left: [a], multiple_of: [16, stages]}
agents:
  warp: {count: [{when: {a: 64}, value: 2}, {value: 4}], threads: 32, splits: [a]}
levels:
  shared: {group: [a, c], stream: [b]}
  registers: {group: [a]}
arrays:
  A: {level: shared, type: T, copies: stages, engine: cp_async}
  B: {level: shared, type: T, copies: stages, engine: cp_async}
  C: {level: registers, scope: agent, type: f32}
  C_out: {of: C, when: {out: staged}, level: shared, type: T, alias: A, staging: true}
operations:
  C: {agent: warp, unit: tensor, type: T, operands: {A: A, B: B}, work: [{name: idle, unit: alu, per: [a, c], per_chunk: {c: 8}}]}
edges:
  - {from: load A, to: C}
  - {from: C.idle, to: store C, distance: -1, tokens: stages}
)";

std::string with(const std::string& from, const std::string& to) { return test::replaced(good, from, to); }

std::string refusal(const std::string& text) {
  return test::refusal_of([&] {
    const Mapping m = parse_mapping(text, "m.yaml");
    check(m, load_diagram("matmul"));
    check(m, load_machine("h200-sxm", "--gpu"), DType::bf16);
  });
}

struct Mistake {
  const char* from;
  const char* to;
  const char* where;  // line and field
  const char* what;
};

}  // namespace

TEST_CASE(
    "work is counted in whole instructions or quotients, per element or per thread; words say how tiles are taken") {
  std::string text = with("words: [staged, direct]",
                          "words: {staged: {tiles: drawn, path: longest_first}, direct: {tiles: launched}}");
  const std::string work = "per: [a, c], per_chunk: {c: 8}";
  text.replace(text.find(work), work.size(), "per: threads, count: 3/8");
  const Mapping m = parse_mapping(text, "m.yaml");
  const WorkMapping& idle = m.operations.front().work.front();
  CHECK(idle.per_thread);
  CHECK(idle.per.empty());
  CHECK(idle.count == 0.375);
  REQUIRE(m.order_knob());
  const Knob& knob = m.knobs[static_cast<std::size_t>(*m.order_knob())];
  CHECK(knob.name == "out");
  CHECK(knob.words == std::vector<std::string>{"staged", "direct"});
  CHECK(knob.orders.front().tiles == OrderWord::Tiles::drawn);
  CHECK(knob.orders.front().path == OrderWord::Path::longest_first);
  CHECK(knob.orders.back().path == OrderWord::Path::rows);
  CHECK_FALSE(parse_mapping(good, "m.yaml").order_knob());
}

TEST_CASE("a good mapping is read as it stands") {
  const Mapping m = parse_mapping(good, "m.yaml");
  CHECK(refusal(good) == "no error");
  CHECK(m.name == "small");
  CHECK(m.knobs[1].domain == std::vector<std::int64_t>{64, 48, 32, 16});
  CHECK(m.knobs[4].words == std::vector<std::string>{"staged", "direct"});
  CHECK(m.relations[0].kind == Relation::Kind::multiple);
  CHECK(m.agents[0].count.size() == 2);
  CHECK(m.variables[3].of == std::vector<std::string>{"C"});
  CHECK_FALSE(m.levels[0].backward);
  CHECK(load_mapping("attention_sm90", "kernel").levels[1].backward);
  CHECK(m.variables[3].output_staging);
  CHECK(m.variables[0].copies[0].second.kind == Value::Kind::knob);
  CHECK(m.edges[1].distance == -1);
}

TEST_CASE("every mistake is found, with its line") {
  const std::vector<Mistake> mistakes = {
      {"mapping: small", "mappin: small", "m.yaml:1", "unknown key 'mappin'"},
      {"algorithm: matmul\n", "", "m.yaml:1", "'algorithm' is missing"},
      {"unit: rows, domain", "unit: rows, domains", "m.yaml:5", "did you mean 'domain'?"},
      {"domain: [64, 128]", "domain: []", "m.yaml:5", "an empty domain"},
      {"domain: [64, 128]", "domain: [64, 64]", "m.yaml:5", "stands twice"},
      {"domain: [64, 128]", "domain: [64, 0]", "m.yaml:5", "0 of an axis"},
      {"step: -16", "step: 16", "m.yaml:6", "never reaches"},
      {"step: -16", "step: 0", "m.yaml:6", "never reaches"},
      {"words: [staged, direct]", "words: [staged, staged]", "m.yaml:9", "stands twice"},
      {"words: [staged, direct]", "words: [staged, direct], unit: rows", "m.yaml:9", "words have no unit"},
      {"words: [staged, direct]", "unit: rows", "m.yaml:9", "needs a domain or words"},
      {"when: {out: staged}, left", "when: {outt: staged}, left", "m.yaml:11", "unknown knob 'outt'"},
      {"when: {out: staged}, left", "when: {out: stage}, left", "m.yaml:11", "unknown 'stage'"},
      {"{when: {a: 64}, value: 2}", "{when: {a: 65}, value: 2}", "m.yaml:13", "not in the domain of 'a'"},
      {"{when: {a: 64}, value: 2}", "{when: {mask: none}, value: 2}", "m.yaml:13", "unknown knob 'mask'"},
      {"threads: 32", "threads: 32, overhead: [{when: {mask: all}, value: 2}, {value: 1}]", "m.yaml:13",
       "unknown 'all'"},
      {"threads: 32", "threads: 32, overhead: [{when: {mask: []}, value: 2}, {value: 1}]", "m.yaml:13", "no mask"},
      {"threads: 32", "threads: 32, overhead: [{when: {mask: [none, causal, window]}, value: 2}]", "m.yaml:13",
       "no alternative"},
      {"multiple_of: [16, stages]", "multiple_of: [16, stagess]", "m.yaml:11", "neither a knob nor an axis: 'stagess'"},
      {"multiple_of: [16, stages]", "multiple_of: [16, axis.z]", "m.yaml:11", "unknown axis 'z'"},
      {"multiple_of: [16, stages]", "multiple_of: [16, axis.]", "m.yaml:11", "not a number, knob or axis"},
      {"multiple_of: [16, stages]", "multiple_of: []", "m.yaml:11", "an empty product"},
      {"multiple_of: [16, stages]", "multiple_of: [out]", "m.yaml:11", "a knob of words"},
      {"multiple_of: [16, stages]", "multiple_of: [16], equal: [2]", "m.yaml:11", "exactly one comparison"},
      {"{value: 4}]", "{when: {a: 64}, value: 4}]", "m.yaml:13", "no alternative for a=128"},
      {"threads: 32", "threads: zero", "m.yaml:13", "neither a knob nor an axis: 'zero'"},
      {"splits: [a]", "splits: [z]", "m.yaml:13", "unknown axis 'z'"},
      {"splits: [a]", "splits: [a, a]", "m.yaml:13", "stands twice"},
      {"stream: [b]", "stream: [b, c]", "m.yaml:15", "more than one streamed axis"},
      {"stream: [b]", "stream: [b], walk: sideways", "m.yaml:15", "unknown 'sideways'"},
      {"  registers: {group: [a]}", "  registers: {group: [a], walk: backward}", "m.yaml:16",
       "a walk without a streamed axis"},
      {"  registers: {group: [a]}", "  registry: {group: [a]}", "m.yaml:16", "no level 'registry'"},
      {"A: {level: shared, ", "A: {", "m.yaml:18", "'level' is missing"},
      {"C_out: {of: C", "C_out: {of: D", "m.yaml:21", "unknown array 'D'"},
      {"engine: cp_async}\n  C:", "engine: dma}\n  C:", "m.yaml:19", "unknown 'dma'"},
      {"engine: cp_async}\n  C:", "engine: cp_async, moved_by: warps}\n  C:", "m.yaml:19", "unknown agent 'warps'"},
      {"type: f32", "type: f33", "m.yaml:20", "f33"},
      {"alias: A", "alias: D", "m.yaml:21", "unknown variable 'D'"},
      {"alias: A", "alias: C", "m.yaml:21", "'C' is at level registers"},
      {"alias: A", "alias: C_out", "m.yaml:21", "aliases in a circle"},
      {"C: {level: registers, scope", "C: {when: {out: direct}, level: registers, scope", "m.yaml:20",
       "array 'C' has no variable for out=staged"},
      {"C: {agent: warp", "C: {agent: warps", "m.yaml:23", "unknown agent 'warps'"},
      {"  C: {agent: warp", "  A: {unit: vector}\n  C: {agent: warp", "m.yaml:23", "no operation computes 'A'"},
      {"unit: tensor, type: T", "unit: tensor", "m.yaml:23", "a tensor operation needs a type"},
      {"unit: tensor", "unit: cube", "m.yaml:23", "unknown 'cube'"},
      {"unit: alu", "unit: sfu", "m.yaml:23", "no machine has a unit 'sfu'"},
      {"operands: {A: A", "operands: {A: D", "m.yaml:23", "unknown variable 'D'"},
      {"operands: {A: A", "operands: {A: B", "m.yaml:23", "does not hold 'A'"},
      {"operands: {A: A", "operands: {A: [{when: {out: direct}, value: A}]", "m.yaml:23",
       "no alternative for out=staged"},
      {"words: [staged, direct]", "words: {staged: {tiles: given}, direct: {tiles: launched}}", "m.yaml:9",
       "unknown 'given'"},
      {"words: [staged, direct]", "words: {staged: {tiles: dealt, path: longest_first}, direct: {tiles: launched}}",
       "m.yaml:9", "the longest tiles first, dealt out"},
      {"words: [staged, direct]", "words: {staged: {tiles: launched, path: hilbert}, direct: {tiles: launched}}",
       "m.yaml:9", "tiles of this path are dealt out"},
      {"words: [staged, direct]", "words: {staged: {tiles: drawn, path: grouped}, direct: {tiles: launched}}",
       "m.yaml:9", "tiles drawn in groups"},
      {"words: [staged, direct]", "words: {staged: {tiles: even, path: grouped}, direct: {tiles: launched}}",
       "m.yaml:9", "row by row"},
      {"runs_on: [sm_80+]", "runs_on: [sm_80+]\nmasks: [all]", "m.yaml:4", "unknown 'all'"},
      {"threads: 32", "threads: 32, registers: {table: nowhere}", "m.yaml:13", "no file 'nowhere.csv'"},
      {"threads: 32", "threads: 32, registers: {table: nowhere, row: 1}", "m.yaml:13", "unknown key 'row'"},
      {"splits: [a]", "repeats: true", "m.yaml:13", "no rows are divided"},
      {"splits: [a]", "splits: {a: deep}", "m.yaml:13", "neither a knob nor an axis: 'deep'"},
      {"stream: [b]", "stream: [b], parts: {b: stages}", "m.yaml:15", "not both grouped and streamed"},
      {"per: [a, c]", "when: {q: 64}, per: [a, c]", "m.yaml:23", "or an axis that 'sizes' lists"},
      {"per: [a, c]", "count: 0.62, per: [a, c]", "m.yaml:23", "'0.62' cannot be counted"},
      {"per: [a, c]", "count: 0, per: [a, c]", "m.yaml:23", "'0' cannot be counted"},
      {"per: [a, c]", "count: 1/0, per: [a, c]", "m.yaml:23", "'1/0' cannot be counted"},
      {"per: [a, c]", "count: -1, per: [a, c]", "m.yaml:23", "'-1' cannot be counted"},
      {"per: [a, c], per_chunk: {c: 8}", "per: warps", "m.yaml:23", "unknown 'warps'"},
      {"per: [a, c], per_chunk: {c: 8}", "per: threads, serial: true, stalls: true", "m.yaml:23",
       "stands beside 'serial'"},
      {"unit: alu", "unit: allu", "m.yaml:23", "no machine has a unit 'allu'"},
      {"per: [a, c]", "per: [a, c, cc]", "m.yaml:23", "unknown axis 'cc'"},
      {"per_chunk: {c: 8}", "per_chunk: {b: 8}", "m.yaml:23", "not in 'per'"},
      {"to: C}", "to: D}", "m.yaml:25", "unknown node 'D'"},
      {"from: C.idle", "from: C.busy", "m.yaml:26", "unknown node 'C.busy'"},
      {"distance: -1", "distance: 1.5", "m.yaml:26", "not a whole number"},
      {"operations:\n", "operations: {}\nmore:\n", "m.yaml:23", "unknown key 'more'"},
      {"type: T, operands", "type: i32, operands", "m.yaml:23", "no tensor instruction for i32"},
  };
  for (const Mistake& m : mistakes) {
    CAPTURE(m.to);
    const std::string said = refusal(with(m.from, m.to));
    CHECK_MESSAGE(said.find(m.where) == 0, said);
    CHECK_MESSAGE(said.find(m.what) != std::string::npos, said);
  }
}

TEST_CASE("an overhead of two numbers: what the compiler takes, and what it keeps where it spills") {
  const auto overhead = [](const char* text) {
    return parse_mapping(with("threads: 32", std::string("threads: 32, overhead: ") + text), "m.yaml")
        .agents[0]
        .overhead;
  };
  CHECK(overhead("[84, 63]").numbers.size() == 2);
  CHECK(overhead("[84, 63]").numbers.back().second.literal == 63);
  CHECK(refusal(with("threads: 32", "threads: 32, overhead: [63, 84]")).find("from 0 to 63") != std::string::npos);
  CHECK(refusal(with("threads: 32", "threads: 32, overhead: [84, 63, 20]")).find("more than two") != std::string::npos);
}

TEST_CASE("an agent's overhead may depend on the problem's mask") {
  const std::string text = with("threads: 32",
                                "threads: 32, overhead: [{when: {mask: causal, stages: 2}, value: 9}, {when: {mask: "
                                "[none, window]}, value: 5}, {value: 7}]");
  const auto overhead = [&](Mask::Kind kind, const std::string& stages) {
    Mask mask;
    mask.kind = kind;
    const testing::Mapped mapped(load_diagram("matmul"), parse_mapping(text, "m.yaml"),
                                 load_machine("h200-sxm", "--gpu"), {{"a", 64}, {"b", 64}, {"c", 64}}, mask);
    return mapped.place({{"stages", stages}}).agents[0].overhead.get();
  };
  CHECK(overhead(Mask::Kind::causal, "2") == 9);
  CHECK(overhead(Mask::Kind::causal, "1") == 7);
  CHECK(overhead(Mask::Kind::none, "2") == 5);
  CHECK(overhead(Mask::Kind::window, "1") == 5);
}

TEST_CASE("work may ask for the mask and for the size of an axis that no block divides") {
  const std::string text = R"(mapping: small
algorithm: attention
runs_on: [sm_80+]
sizes: {d: [64, 128]}
masks: [none, causal]
knobs:
  q: {unit: rows, domain: [64, 128]}
  x: {unit: columns, domain: [64, 128]}
agents:
  warp: {count: 4, threads: 32, splits: [q]}
levels:
  shared: {group: [b, h, g, q], stream: [x]}
  registers: {group: [q]}
arrays:
  Q: {level: shared, type: T}
  K: {level: shared, type: T}
  V: {level: shared, type: T}
  S: {level: registers, scope: agent, type: f32}
  P: {level: registers, scope: agent, type: T, alias: S}
  O: {level: registers, scope: agent, type: f32}
operations:
  S: {agent: warp, unit: tensor, type: T}
  P:
    agent: warp
    unit: vector
    work:
      - {name: wide, unit: alu, per: [q, x], count: 1, when: {d: [128]}}
      - {name: narrow, unit: alu, per: [q, x], count: 3, when: {d: [64], mask: [none, causal]}}
      - {name: cut, unit: alu, per: [q, x], count: 5, when: {mask: causal}}
  O: {agent: warp, unit: tensor, type: T}
)";
  const auto asked = [&](std::int64_t d, Mask::Kind kind) {
    Mask mask;
    mask.kind = kind;
    return std::make_unique<testing::Mapped>(load_diagram("attention"), parse_mapping(text, "m.yaml"),
                                             load_machine("h200-sxm", "--gpu"),
                                             testing::Given{{"q", 256}, {"x", 256}, {"d", d}, {"dv", d}}, mask);
  };
  const auto counts = [&](const PlacedDiagram& placed) {
    std::vector<double> out;
    for (const PlacedWork& work : placed.operations[1].work) out.push_back(work.amount / (64 * 64));
    return out;
  };
  const auto narrow = asked(64, Mask::Kind::causal), wide = asked(128, Mask::Kind::none);
  CHECK(counts(narrow->place({})) == std::vector<double>{3, 5});
  CHECK(counts(wide->place({})) == std::vector<double>{1});
  // The same placer, for a problem with another head size.
  const auto other = asked(64, Mask::Kind::none);
  wide->placer.rebind(other->problem);
  CHECK(counts(wide->place({})) == std::vector<double>{3});
  std::string divided = text;
  divided.replace(divided.find("sizes: {d"), 9, "sizes: {h: [16], d");
  divided.replace(divided.find("when: {d: [128]}"), 16, "when: {h: [16]}");
  CHECK_THROWS_WITH((void)parse_mapping(divided, "m.yaml"), doctest::Contains("divided among blocks"));
}

TEST_CASE("a duplicate name, an operation that is not mapped") {
  CHECK(refusal(with("  B: {level", "  A: {level")).find("stands twice") != std::string::npos);
  CHECK(refusal(with("  b: {unit", "  a: {unit")).find("stands twice") != std::string::npos);
  CHECK(refusal(with("runs_on:", "source: x.cuh\nproposed: true\nruns_on:")).find("is built") != std::string::npos);
  const std::string text = good.substr(0, good.find("operations:")) + "operations: {}\n";
  CHECK(refusal(text).find("operation 'C' of matmul is not mapped") != std::string::npos);
  const std::string other = with("C: {agent: warp", "A: {agent: warp");  // the line on which operations begin
  CHECK(refusal(other).find("m.yaml:") != std::string::npos);
}

TEST_CASE("architectures") {
  Mapping m = parse_mapping(good, "m.yaml");
  Machine machine = load_machine("h200-sxm", "--gpu");
  CHECK(runs_on(m, machine));
  machine.architecture = "sm_75";
  CHECK_FALSE(runs_on(m, machine));
  machine.architecture = "sm_100";
  CHECK(runs_on(m, machine));
  machine.architecture = "gfx942";
  CHECK_FALSE(runs_on(m, machine));
  m.runs_on = {"sm_90"};
  machine.architecture = "sm_90";
  CHECK(runs_on(m, machine));
  machine.architecture = "sm_100";
  CHECK_FALSE(runs_on(m, machine));
}

TEST_CASE("tiles as text") {
  const Mapping m = parse_mapping(good, "m.yaml");
  const Tile tile{{64, 48, 32, 2, 1}};
  CHECK(value_of(m, tile, "c") == 48);
  CHECK(describe(m, tile)[4] == std::pair<std::string, std::string>{"out", "direct"});
  CHECK(describe(m, tile)[0].second == "64");
  CHECK_THROWS_AS((void)value_of(m, tile, "q"), Error);
  CHECK(parse_knob(m.knobs[4], "direct", "--tile") == 1);
  CHECK(parse_knob(m.knobs[0], "96", "--tile") == 96);  // a value outside the domain can be placed, but is not legal
  for (const char* text : {"", "0", "-1", "x", "1.5", "99999999999999999999", "64 "}) {
    CHECK_THROWS_AS((void)parse_knob(m.knobs[0], text, "--tile"), Error);
  }
  CHECK_THROWS_AS((void)parse_knob(m.knobs[4], "off", "--tile"), Error);
}

TEST_CASE("the ideal mapping: a knob for each grouped and streamed axis, bounded by its size") {
  const Streamed s = derive(load_diagram("matmul"));
  const Machine machine = abstract_machine(1000);
  const Sizes sizes = {60, 50, 40};
  const Mapping m = ideal_mapping(s, machine, sizes);
  CHECK(m.knobs.size() == 3);
  for (const Knob& knob : m.knobs) {
    CHECK(std::is_sorted(knob.domain.begin(), knob.domain.end()));
    CHECK(knob.domain.back() == sizes[static_cast<std::size_t>(s.diagram.axis(knob.name))].get());
  }
  CHECK(m.levels[0].level == "low");
  CHECK(ideal_mapping(s, load_machine("h200-sxm", "--gpu")).levels[0].level == "shared");
}

TEST_CASE("the ideal mapping of many large sizes takes coarser steps, and keeps whole axes and the smallest sizes") {
  const Machine machine = load_machine("h200-sxm", "--gpu");
  for (const char* name : {"convolution_2d", "max_pooling", "attention"}) {
    CAPTURE(name);
    const Streamed s = derive(load_diagram(name));
    const Sizes sizes(s.diagram.axes.size(), 30000);
    double tiles = 1;
    for (const Knob& knob : ideal_mapping(s, machine, sizes).knobs) {
      tiles *= static_cast<double>(knob.domain.size());
      for (const std::int64_t size : {1, 8, 16, 32, 30000})
        CHECK(std::count(knob.domain.begin(), knob.domain.end(), size) == 1);
    }
    CHECK(tiles < 1 << 19);  // limit for tiles, the values that pad axes to instructions included
    CHECK(tiles > 1 << 12);
  }
}

TEST_CASE("a mapping's file has its name") {
  const std::string folder = std::filesystem::temp_directory_path().string();
  const auto refused = [&](const std::string& name) -> std::string {
    const std::string path = folder + "/" + name;
    std::ofstream(path) << good;
    try {
      (void)load_mapping(path, "--kernel");
    } catch (const Error& error) {
      std::filesystem::remove(path);
      return error.what();
    }
    std::filesystem::remove(path);
    return "";
  };
  CHECK(refused("small.yaml") == "");
  CHECK(refused("flash_attention_3.yaml").find("mapping: 'small' in a file of another name") != std::string::npos);
  for (const std::string& name : builtin_mappings()) CHECK(load_mapping(name, "--kernel").name == name);
}

namespace {

/// Writes a mapping and what it extends into a folder of their own, and reads the first.
Mapping extending(const std::string& own) {
  const auto folder = std::filesystem::temp_directory_path() / "napkin_extends";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "small.yaml") << good;
  std::ofstream(folder / "own.yaml") << own;
  return load_mapping((folder / "own.yaml").string(), "");
}

}  // namespace

TEST_CASE("an agent that divides rows is always there; another one may be left out under a guard") {
  const std::string count = "count: [{when: {a: 64}, value: 2}, {value: 4}]", range = "a whole number from 1";
  CHECK(refusal(with(count, "count: 0")).find(range) != std::string::npos);
  CHECK(refusal(with(count, "count: [{when: {a: 64}, value: 0}, {value: 4}]")).find(range) != std::string::npos);
  const std::string other = "agents:\n  copier: {threads: 32, count: ";
  CHECK(refusal(with("agents:\n", other + "[{when: {a: 64}, value: 0}, {value: 1}]}\n")) == "no error");
  CHECK(refusal(with("agents:\n", other + "0}\n")).find(range) != std::string::npos);
}

TEST_CASE("a mapping that extends another one says what differs") {
  const Mapping base = parse_mapping(good, "small.yaml");
  const Mapping own = extending(
      "mapping: own\nextends: small\nalgorithm: matmul\n"
      "knobs:\n  stages: {unit: copies, domain: [3]}\n  depth: {unit: rounds, domain: [1]}\n"
      "relations:\n  - {name: even, when: {out: staged}, left: [a], equal: [64]}\n  - {name: odd, left: [b], equal: "
      "[32]}\n"
      "agents:\n  warp: {row_step: 16}\n"
      "operations:\n  C:\n    work:\n      - {name: idle, unit: alu, per: [a, c], count: 3}\n      - {name: more, "
      "unit: alu, per: [a]}\n"
      "edges:\n  - {from: C.idle, to: store C}\n  - {from: C, to: load A, tokens: stages}\n");
  check(own, load_diagram("matmul"));
  CHECK(own.name == "own");
  CHECK(own.runs_on == base.runs_on);
  REQUIRE(own.knobs.size() == base.knobs.size() + 1);  // replaced knobs keep their places, new ones come last
  CHECK(own.knobs[3].domain == std::vector<std::int64_t>{3});
  CHECK(own.knobs[5].name == "depth");
  REQUIRE(own.relations.size() == 2);
  CHECK(own.relations[0].kind == Relation::Kind::equal);
  CHECK(own.agents[0].count.size() == 2);  // as it was
  CHECK(own.agents[0].row_step.literal == 16);
  REQUIRE(own.operations[0].work.size() == 2);
  CHECK(own.operations[0].work[0].count == 3);
  CHECK(own.operations[0].unit == "tensor");
  CHECK(own.edges.size() == base.edges.size() + 1);
  CHECK(own.variables.size() == base.variables.size());
}

TEST_CASE("a mapping that extends several takes what the later ones say by themselves") {
  const Mapping first = load_mapping("flash_attention_3_split", ""),
                both = load_mapping("flash_attention_3_split_softcap", "");
  CHECK(both.algorithm == "soft_capped_attention");
  CHECK(both.combine);
  CHECK(both.knobs.size() == first.knobs.size());  // none of flash_attention_3's, which the second one extends
  CHECK(both.operations.size() == first.operations.size() + 1);
  CHECK(both.operations[1].output == "T");
  CHECK(both.variables.size() == first.variables.size() + 1);
  const auto refused = [](const std::string& of) {
    return test::refusal_of([&] { (void)extending("mapping: own\nextends: " + of + "\nalgorithm: matmul\n"); });
  };
  CHECK(refused("[]").find("own.yaml:2:10: extends: an empty list") != std::string::npos);
  CHECK(refused("[small, smal]").find("own.yaml:2:18: extends[1]: unknown kernel 'smal'") != std::string::npos);
}

TEST_CASE("a mapping packs no axis where it says so, though the one that it extends does") {
  CHECK(load_mapping("flash_attention_2", "").packs.size() == 1);
  CHECK(load_mapping("trtllm_fmha_sm86", "").packs.empty());
  CHECK(test::refusal_of([] {
          (void)extending("mapping: own\nextends: flash_attention_2\npacks: all\n");
        }).find("own.yaml:3:8: packs: ") != std::string::npos);
}

TEST_CASE("mistakes of a mapping that extends another one are named where they stand") {
  const auto refused = [](const std::string& rest) {
    return test::refusal_of([&] { (void)extending("mapping: own\nextends: " + rest); });
  };
  CHECK(refused("smal\nalgorithm: matmul\n").find("own.yaml:2:10: extends: unknown kernel 'smal'") !=
        std::string::npos);
  CHECK(refused("own\nalgorithm: matmul\n").find("unknown kernel 'own'") != std::string::npos);
  CHECK(refused("small\nalgorithm: matmul\nknobs:\n  a: {unit: rows, domain: []}\n")
            .find("knobs.a.domain: an empty domain") != std::string::npos);
}

}  // namespace test_load
