// Tables of registers: the values of rows, and mistakes, each reported with its position, the column and a correction.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "model/mapping/read/load.hpp"
#include "model/mapping/register_table.hpp"
#include "model/mapping/tile.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_register_table {

namespace {

using namespace napkin;
using namespace napkin::internal;

const std::string good =
    "# A comment: of no matter.\n"
    "# compiler: NVRTC 13.0\n"
    "# date: 2026-11-23\n"
    "# revision: 1234567\n"
    "# command: by hand\n"
    "x,turns,mask,registers,kept,spilled,needless\n"
    "*,on,*,24,7,1,0\n"
    "64|32,off,none|causal,30,2,0,0\n"
    "16,off,none|causal,41,0,3,1\n"
    "*,off,window,33,0,0,0\n";

std::vector<Knob> knobs() {
  Knob x, turns, warps;
  x.name = "x";
  x.domain = {64, 32, 16};
  turns.name = "turns";
  turns.domain = {0, 1};
  turns.words = {"on", "off"};
  warps.name = "warps";
  warps.domain = {4, 8};
  return {warps, x, turns};
}

std::string with(const std::string& from, const std::string& to) { return test::replaced(good, from, to); }

std::string refusal(const std::string& text) {
  return test::refusal_of([&] { return RegisterTable(text, "t.csv", knobs()); });
}

std::int64_t of(std::int64_t x, bool turns, Mask::Kind mask) {
  static const RegisterTable table(good, "t.csv", knobs());
  return table.of(Tile{{4, x, turns ? 0 : 1}}, mask);
}

}  // namespace

TEST_CASE("each combination has its row's number") {
  const RegisterTable table(good, "t.csv", knobs());
  CHECK(table.rows() == 4);
  CHECK(table.knobs() == std::vector<int>{1, 2});
  CHECK(table.asks_for_mask());
  CHECK(table.text() == good);
  for (const Mask::Kind mask : {Mask::Kind::none, Mask::Kind::causal, Mask::Kind::window}) {
    const bool window = mask == Mask::Kind::window;
    for (const std::int64_t x : {64, 32, 16}) {
      CHECK(of(x, true, mask) == 24);
      CHECK(of(x, false, mask) == (window ? 33 : x == 16 ? 41 : 30));
    }
  }
}

TEST_CASE("a value that no row knows takes the largest number of the rows that agree otherwise") {
  CHECK(of(40, true, Mask::Kind::none) == 24);
  CHECK(of(40, false, Mask::Kind::none) == 41);
  CHECK(of(1, false, Mask::Kind::window) == 33);
}

TEST_CASE("the bundled tables: every row is read, though a program reads those that it asks for alone") {
  std::size_t rows = 0;
  for (const std::string& name : builtin_mappings()) {
    CAPTURE(name);
    const Mapping mapping = load_mapping(name, "name");
    const auto read = [&](const RegisterTable* table) { rows += table == nullptr ? 0 : table->rows(); };
    for (const Agent& agent : mapping.agents) {
      CHECK_NOTHROW(read(agent.overhead.table.get()));
      for (const auto& [guard, value] : agent.registers) CHECK_NOTHROW(read(value.table.get()));
    }
  }
  CHECK(rows > 800);
}

TEST_CASE("a table whose rows are read when they are asked for says then what is wrong with them") {
  const RegisterTable table(with("*,on,*,24", "*,on,*,2x"), "t.csv", knobs(), {}, RegisterTable::Rows::when_asked);
  CHECK(table.knobs() == std::vector<int>{1, 2});
  CHECK_THROWS_AS((void)table.rows(), Error);
  const RegisterTable right(good, "t.csv", knobs(), {}, RegisterTable::Rows::when_asked);
  CHECK(right.of(Tile{{4, 64, 0}}, Mask::Kind::none) == 24);
}

TEST_CASE("a table of one number and no column") {
  const std::string text = good.substr(0, good.find("x,turns")) + "registers,kept,spilled,needless\n32,5,6,7\n";
  const RegisterTable table(text, "t.csv", knobs());
  CHECK(table.of(Tile{{4, 64, 0}}, Mask::Kind::causal) == 32);
  CHECK_FALSE(table.asks_for_mask());
}

TEST_CASE("every mistake is found, with its place") {
  struct Mistake {
    const char *from, *to, *where, *what;
  };
  const std::vector<Mistake> mistakes = {
      {"# compiler: NVRTC 13.0\n", "", "t.csv: '# compiler: ...' is missing", ""},
      {"# date: 2026-11-23", "# compiler: NVRTC", "t.csv:3:1: compiler", "stands twice"},
      {"# date: 2026-11-23", "# date: ", "t.csv:3:1: date", "is empty"},
      {"x,turns,mask", "x,turn,mask", "t.csv:6:3: turn", "unknown column: did you mean 'turns'?"},
      {"x,turns,mask", "x,turns,x", "t.csv:6:9: x", "stands twice"},
      {"registers,kept", "kept,registers", "t.csv:6:14: kept", "unknown column"},
      {"registers,kept", "register,kept", "t.csv:6:1: registers", "is not where it belongs"},
      {"kept,spilled,needless\n", "kept,spilled\n", "t.csv:6:1", "is not where it belongs"},
      {"*,on,*,24,7,1,0", "*,on,*,24,7,1", "t.csv:7:1: row", "6 cells: one for each of the 7 columns"},
      {"*,on,*,24,7,1,0", "", "t.csv:7:1: row", "1 cells"},
      {"*,on,*,24", "*,on,*,-4", "t.csv:7:8: registers", "'-4' is no number"},
      {"*,on,*,24", "*,on,*,256", "t.csv:7:8: registers", "from 0 to 255"},
      {"*,on,*,24", "*,on,*,2x", "t.csv:7:8: registers", "'2x' is no number"},
      {"*,on,*,24,7", "*,on,*,24,", "t.csv:7:11: kept", "'' is no number"},
      {"64|32,off", "64|40,off", "t.csv:8:4: x", "unknown '40'"},
      {"64|32,off", "64|64,off", "t.csv:8:4: x", "'64' stands twice"},
      {"none|causal,30", "none|all,30", "t.csv:8:16: mask", "unknown 'all'"},
      {"16,off,none|causal", "32|16,off,none|causal", "t.csv:9:1: row",
       "another row speaks of x=32,turns=off,mask=none"},
      {"16,off,none|causal,41,0,3,1\n", "", "t.csv:6:1: row", "no row speaks of x=16,turns=off,mask=none"},
  };
  CHECK(refusal(good) == "no error");
  for (const Mistake& m : mistakes) {
    CAPTURE(m.to);
    const std::string said = refusal(with(m.from, m.to));
    CHECK_MESSAGE(said.find(m.where) == 0, said);
    CHECK_MESSAGE(said.find(m.what) != std::string::npos, said);
  }
  CHECK(refusal("") == "t.csv: a table without columns: knobs, mask, registers, kept, spilled, needless");
}

TEST_CASE("a table tells architectures apart; of one that it does not name the largest number counts") {
  const std::string text = good.substr(0, good.find("x,turns")) +
                           "turns,architecture,registers,alu\n*,sm_80|sm_86,100,7\non,sm_90,110,9\noff,sm_90,120,3\n";
  TableKeys keys;
  keys.architectures = {"sm_80", "sm_86", "sm_90"};
  const RegisterTable table(text, "t.csv", knobs(), keys);
  CHECK(table.axes().empty());
  CHECK_FALSE(table.asks_for_mask());
  const Tile on{{4, 64, 0}}, off{{4, 64, 1}};
  const auto alu = [&](const char* architecture, const Tile& tile) {
    return table.at(1, table.base(Mask::Kind::none, {}, architecture), tile);
  };
  CHECK(alu("sm_80", on) == 7);
  CHECK(alu("sm_86", off) == 7);
  CHECK(alu("sm_90", on) == 9);
  CHECK(alu("sm_90", off) == 3);
  CHECK(alu("sm_130", off) == 7);
  std::string unknown = text;
  unknown.replace(unknown.find("sm_86"), 5, "sm_75");
  keys.architectures = {"sm_80", "sm_90"};
  keys.others = {"sm_75"};
  const RegisterTable without(unknown, "t.csv", knobs(), keys);  // it does not run there
  CHECK(without.at(1, without.base(Mask::Kind::none, {}, "sm_80"), off) == 7);
  CHECK(without.at(1, without.base(Mask::Kind::none, {}, "sm_90"), off) == 3);
  keys.others = {};
  CHECK_THROWS_WITH_AS(RegisterTable(unknown, "t.csv", knobs(), keys),
                       doctest::Contains("t.csv:7:9: architecture: unknown 'sm_75'"), Error);
}

TEST_CASE("rows of another mapping's table say nothing of numbers that this one lacks") {
  std::vector<Knob> narrow = knobs();
  narrow[1].domain.pop_back();
  TableKeys keys;
  CHECK_THROWS_AS(RegisterTable(good, "t.csv", narrow, keys), Error);
  keys.of_another = true;
  const RegisterTable table(good, "t.csv", narrow, keys), whole(good, "t.csv", knobs());
  for (const std::int64_t x : narrow[1].domain)
    CHECK(table.of(Tile{{4, x, 0}}, Mask::Kind::none) == whole.of(Tile{{4, x, 0}}, Mask::Kind::none));
  CHECK_THROWS_WITH_AS(RegisterTable(test::replaced(good, "*,on,", "*,up,"), "t.csv", narrow, keys),
                       doctest::Contains("unknown 'up'"), Error);
  CHECK_THROWS_AS(RegisterTable(test::replaced(good, "16,off", ",off"), "t.csv", narrow, keys), Error);
}

TEST_CASE("a table of a peer's kernel has axes too, and as many numbers as were counted") {
  const std::string text = good.substr(0, good.find("x,turns")) +
                           "turns,d,mask,registers,alu\n*,64,none,100,7\n*,64,causal,110,0\n"
                           "on,128,*,200,20\noff,128,*,255,40\n";
  TableKeys keys;
  keys.axes = {{"d", {64, 128}}};
  keys.masks = {Mask::Kind::none, Mask::Kind::causal};
  const RegisterTable table(text, "t.csv", knobs(), keys);
  CHECK(table.axes() == std::vector<std::string>{"d"});
  CHECK(table.numbers() == std::vector<std::string>{"registers", "alu"});
  REQUIRE(table.find("alu").has_value());
  CHECK_FALSE(table.find("fp32").has_value());
  const Tile on{{4, 64, 0}}, off{{4, 64, 1}};
  CHECK(table.at(0, table.base(Mask::Kind::none, {64}), on) == 100);
  CHECK(table.at(1, table.base(Mask::Kind::none, {64}), off) == 7);
  CHECK(table.at(1, table.base(Mask::Kind::causal, {64}), off) == 0);
  CHECK(table.at(0, table.base(Mask::Kind::causal, {128}), on) == 200);
  CHECK(table.at(1, table.base(Mask::Kind::none, {128}), off) == 40);
  // no row has that size, so that the largest number counts
  CHECK(table.at(1, table.base(Mask::Kind::none, {96}), off) == 40);
  const auto refused = [&](const std::string& from, const std::string& to) -> std::string {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    try {
      (void)RegisterTable(changed, "t.csv", knobs(), keys);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(refused("registers,alu", "registers,registers").find("t.csv:6:24: registers: stands twice") == 0);
  CHECK(refused("registers,alu", "registers,a-u").find("t.csv:6:24: a-u: not a name") == 0);
  CHECK(refused("*,64,causal,110,0", "*,64,window,110,0").find("unknown 'window'") != std::string::npos);
  CHECK(refused("*,64,causal,110,0", "*,96,causal,110,0").find("unknown '96'") != std::string::npos);
  CHECK(refused("*,64,causal,110,0", "*,64,causal,110,-1").find("alu: '-1' is no number") != std::string::npos);
}

TEST_CASE("a mapping names the table beside it, else a built-in one; nothing but a plain name") {
  const std::filesystem::path folder = std::filesystem::path(NAPKIN_BINARY_DIR) / "register_table";
  std::filesystem::create_directories(folder);
  const auto mapping = [&](const std::string& table) {
    std::ofstream(folder / "m.yaml")
        << "mapping: m\nalgorithm: matmul\nruns_on: [sm_80+]\n"
           "knobs:\n  a: {unit: rows, domain: [64]}\n  c: {unit: columns, domain: [64]}\n"
           "  x: {unit: columns, domain: [64, 32, 16]}\n  turns: {words: [on, off]}\n"
           "agents:\n  warp: {count: 4, threads: 32, overhead: {" +
               table +
               "}, splits: [a]}\n"
               "levels:\n  shared: {group: [a, c], stream: [b], sizes: {b: x}}\n"
               "arrays:\n  A: {level: shared, type: T}\n  B: {level: shared, type: T}\n"
               "  C: {level: registers, scope: agent, type: f32}\n"
               "operations:\n  C: {agent: warp, unit: tensor, type: T, operands: {A: A, B: B}}\n";
    return load_mapping((folder / "m.yaml").string(), "--kernel");
  };
  const auto refused = [&](const std::string& table) -> std::string {
    try {
      (void)mapping(table);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  std::ofstream(folder / "beside.csv") << good;
  testing::Mapped mapped(load_diagram("matmul"), mapping("table: beside"), load_machine("h200-sxm", "--gpu"),
                         {{"a", 64}, {"b", 64}, {"c", 64}});
  CHECK(mapped.place({{"turns", "on"}}).agents[0].overhead.get() == 24);
  CHECK(mapped.place({{"turns", "off"}, {"x", "16"}}).agents[0].overhead.get() == 41);
  PlacedDiagram again = mapped.place({{"turns", "off"}, {"x", "16"}});
  mapped.placer.place(mapped.tile({{"turns", "off"}, {"x", "32"}}), again);
  CHECK(again.agents[0].overhead.get() == 30);

  std::ofstream(folder / "beside.csv") << with("*,on,*,24", "*,on,*,24x");
  CHECK(refused("table: beside").find("register_table/beside.csv:7:8: registers: '24x'") != std::string::npos);
  CHECK(refused("table: nowhere").find("m.yaml:10:51: agents.warp.overhead.table: no file 'nowhere.csv'") !=
        std::string::npos);
  CHECK(refused("table: ../m").find("not the name of a table") != std::string::npos);
  CHECK(refused("tables: beside").find("unknown key 'tables'") != std::string::npos);
  // The built-in one of that name is found from anywhere; it needs knobs that this mapping lacks.
  CHECK(refused("table: attention_sm90.registers").find("kernels/attention/sm90/attention_sm90.registers.csv:8:1") !=
        std::string::npos);
}

TEST_CASE("a mapping that extends another one may read other tables in place of its tables") {
  const std::filesystem::path folder = std::filesystem::path(NAPKIN_BINARY_DIR) / "register_table";
  std::filesystem::create_directories(folder);
  const auto mapping = [&](const std::string& tables) {
    std::ofstream(folder / "own.yaml") << "mapping: own\nextends: triton_sm80\nalgorithm: attention\ntables: " + tables;
    return load_mapping((folder / "own.yaml").string(), "--kernel");
  };
  const auto refused = [&](const std::string& tables) -> std::string {
    try {
      (void)mapping(tables);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto registers = [](const Mapping& of, const char* gpu) {
    testing::Mapped mapped(load_diagram("attention"), of, load_machine(gpu, "--gpu"),
                           {{"q", 4096}, {"x", 4096}, {"d", 64}, {"dv", 64}});
    return mapped.place({{"q", "128"}, {"x", "128"}, {"warps", "8"}, {"stages", "3"}}).agents[0].registers->get();
  };
  CHECK(registers(load_mapping("triton_sm80", ""), "a100-sxm-80") == 190);
  CHECK(registers(mapping("{triton_sm80.compiled: triton_sm120.compiled}"), "a100-sxm-80") == 212);
  CHECK(registers(load_mapping("triton_sm120", ""), "rtx-5090") == 212);
  CHECK(refused("{triton_sm80.compile: triton_sm120.compiled}")
            .find("own.yaml:4:10: tables: no value is of a table 'triton_sm80.compile': did you mean "
                  "'triton_sm80.compiled'?") != std::string::npos);
  CHECK(refused("{triton_sm80.compiled: nowhere}").find("no file 'nowhere.csv' beside this one") != std::string::npos);
  CHECK(refused("{triton_sm80.compiled: ../m}").find("not the name of a table") != std::string::npos);
}

TEST_CASE("the bundled kernels' tables") {
  for (const char* name : {"attention_sm90", "attention_sm80"}) {
    const Mapping mapping = load_mapping(name, "--kernel");
    for (const Agent& agent : mapping.agents) {
      CHECK(agent.overhead.numbers.empty());
      CHECK((agent.overhead.table != nullptr) == (agent.name == "consumer"));
    }
  }
}

}  // namespace test_register_table
