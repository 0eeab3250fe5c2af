// Emitted text is read back by a JSON parser, C++ compilers and Python.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "solver/emit/emit.hpp"
#include "solver/emit/identifier.hpp"
#include "tests/support/gpu_of_mapping.hpp"
#include "tests/unit/select/case.hpp"

namespace test_emit {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Case;
using napkin::internal::testing::Shape;

namespace {

namespace fs = std::filesystem;

const Shape shape{{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}};

/// An empty folder for one test, removed at the end.
struct Folder {
  fs::path path;
  explicit Folder(const std::string& name)
      : path(fs::temp_directory_path() / ("napkin-" + name + "-" + std::to_string(std::rand()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void write(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
  [[nodiscard]] int run(const std::string& command) const {
    return std::system(("cd '" + path.string() + "' && " + command + " > log.txt 2>&1").c_str());
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in(path / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

#ifndef NAPKIN_CXX
#define NAPKIN_CXX "c++"
#endif

std::string header_of(const Case& c, const Shape& tile) {
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const PlacedDiagram placed = placer.place(c.tile(tile));
  return emit_cpp(placed, plan(placed));
}

}  // namespace

TEST_CASE("JSON: kernel and tile, numbers as numbers, words as words") {
  const Case c("attention_sm90", "h200-sxm", shape);
  const Tile tile = c.tile({{"x", 176}});
  const std::string text = emit_json(c.mapping, tile);
  CHECK(text.find('\n') == text.size() - 1);
  const auto json = nlohmann::json::parse(text);
  CHECK(json.size() == 2);
  CHECK(json["kernel"] == "attention_sm90");
  CHECK(json["tile"]["x"] == 176);
  CHECK(json["tile"]["p_in"] == "registers");
  Tile back;
  for (const Knob& knob : c.mapping.knobs) {
    const auto& value = json["tile"][knob.name];
    back.values.push_back(parse_knob(
        knob, value.is_string() ? value.get<std::string>() : std::to_string(value.get<std::int64_t>()), "test"));
  }
  CHECK(back == tile);
}

TEST_CASE("the C++ header compiles alone, as C++17 and C++20, and holds every number") {
  const Case c("attention_sm90", "h200-sxm", shape);
  const Folder folder("header");
  folder.write("tile.hpp", header_of(c, {{"x", 176}, {"q_stages", 1}}));
  const auto staged = std::find_if(c.mapping.variables.begin(), c.mapping.variables.end(),
                                   [](const VariableMapping& v) { return v.name == "O_out"; });
  REQUIRE(staged != c.mapping.variables.end());
  folder.write("main.cpp", "#define ALIAS " + staged->alias + R"(
#include "tile.hpp"
using T = napkin_tile::AttentionSm90;
static_assert(T::q == 128 && T::x == 176 && T::warpgroups == 2 && T::stages == 2 && T::cluster == 1);
static_assert(T::p_in == T::PIn::registers && T::overlap && T::pingpong && T::order == T::Order::persistent);
static_assert(T::Extent::q == 128 && T::Extent::x == 176 && T::Extent::d == 128 && T::Extent::b == 1);
static_assert(T::Shared::limit == 232448 && T::Shared::total <= T::Shared::limit && T::Shared::Q % 1024 == 0);
static_assert(T::Shared::K != T::Shared::V && T::Shared::O_out == T::Shared::ALIAS);
static_assert(T::Threads::total == 384 && T::Threads::consumer_registers == 240 && T::Threads::producer_registers == 24);
int main() { return T::blocks_per_sm == 1 ? 0 : 1; }
)");
  for (const char* standard : {"17", "20"}) {
    const int rc = folder.run(std::string(NAPKIN_CXX) + " -std=c++" + standard +
                              " -Wall -Wextra -Wpedantic -Werror main.cpp -o main && ./main");
    INFO(folder.read("log.txt") << folder.read("tile.hpp"));
    CHECK(rc == 0);
  }
}

TEST_CASE("a header of a tile that does not fit does not compile, and says why") {
  const Case c("attention_sm90", "h200-sxm", shape);
  const Folder folder("misfit");
  folder.write("tile.hpp", header_of(c, {{"x", 256}, {"stages", 4}}));
  CHECK(folder.run(std::string(NAPKIN_CXX) + " -std=c++17 -fsyntax-only -x c++ tile.hpp") != 0);
  CHECK(folder.read("log.txt").find("more shared memory than a block may have") != std::string::npos);
}

TEST_CASE("headers of every mapping compile") {
  for (const std::string& name : builtin_mappings()) {
    const Mapping mapping = load_mapping(name, "test");
    const Shape sizes = mapping.algorithm == "matmul" ? Shape{{"a", 4096}, {"b", 4096}, {"c", 4096}} : shape;
    const std::string gpu = test::home_gpu(mapping);
    const bool cuda = mapping.runs_on.empty() || mapping.runs_on.front().rfind("sm_", 0) == 0;
    if (!cuda || gpu.empty() || (mapping.algorithm != "matmul" && mapping.algorithm != "attention")) continue;
    const Case c(name, gpu, sizes, {}, parse_dtype(mapping.dtypes.empty() ? "bf16" : mapping.dtypes.front(), "test"));
    const Folder folder("each");
    std::string text = header_of(c, {});
    for (std::size_t at = 0; (at = text.find("static_assert", at)) != std::string::npos;)
      text.replace(at, 13, "//");  // legal or not
    folder.write("tile.hpp", text);
    folder.write("main.cpp", "#include \"tile.hpp\"\n");
    const int rc = folder.run(std::string(NAPKIN_CXX) + " -std=c++17 -Wall -Wextra -Werror -fsyntax-only main.cpp");
    INFO(name << ": " << folder.read("log.txt"));
    CHECK(rc == 0);
  }
}

TEST_CASE("Triton reads the list of configurations") {
  const Case c("triton", "h200-sxm", shape);
  const Folder folder("triton");
  folder.write("configs.txt",
               emit_triton(c.mapping, {c.tile({{"q", 128}, {"x", 64}, {"warps", 8}, {"stages", 3}}), c.tile({})}));
  folder.write("read.py", R"(import ast, types
text = open('configs.txt').read()
ast.parse(text, mode='eval')
class Config:
    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1):
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas = kwargs, num_warps, num_stages, num_ctas
configs = eval(text, {'triton': types.SimpleNamespace(Config=Config)})
assert len(configs) == 2
assert configs[0].kwargs == {'BLOCK_M': 128, 'BLOCK_N': 64}, configs[0].kwargs
assert (configs[0].num_warps, configs[0].num_stages) == (8, 3)
)");
  const int rc = folder.run("python3 read.py");
  INFO(folder.read("log.txt") << folder.read("configs.txt"));
  CHECK(rc == 0);
}

TEST_CASE("FlashAttention-3's tuple") {
  const Case c("flash_attention_3", "h200-sxm", shape);
  CHECK(emit_fa3(c.mapping, c.tile({{"x", 176}})) == "{128, 176, true, true}\n");
  CHECK(emit_fa3(c.mapping, c.tile({{"x", 192}, {"q", 96}, {"g", 2}, {"p_in", 1}, {"overlap", 1}})) ==
        "{192, 192, false, false}\n");
}

TEST_CASE("FlashAttention-4's configurations: each once, in order, as Python reads them") {
  const Case c("flash_attention_3", "h200-sxm", shape);
  const std::vector<Tile> tiles = {c.tile({{"x", 176}}), c.tile({{"x", 176}}), c.tile({{"x", 128}, {"p_in", 1}})};
  CHECK(emit_fa4(c.mapping, tiles, "attention") ==
        "# attention\n[\n"
        "    FwdConfig(m_block_size=128, n_block_size=176, mma_pv_is_rs=True, intra_wg_overlap=True),\n"
        "    FwdConfig(m_block_size=128, n_block_size=128, mma_pv_is_rs=False, intra_wg_overlap=True),\n]\n");
}

TEST_CASE("a form that a mapping does not have is an error that says so") {
  const Case c("attention_sm90", "h200-sxm", shape);
  CHECK_THROWS_WITH((void)emit_triton(c.mapping, {c.tile({})}),
                    "--emit triton: mapping attention_sm90 has no Triton form: a mapping whose 'emit' is triton");
  CHECK_THROWS_AS((void)emit_fa3(c.mapping, c.tile({})), Error);
}

TEST_CASE("names become identifiers") {
  CHECK(emit::identifier("registers.q") == "registers_q");
  CHECK(emit::identifier("register") == "register_");
  CHECK(emit::identifier("2x") == "_2x");
  CHECK(emit::type_identifier("p_in") == "PIn");
  CHECK(emit::type_identifier("80") == "T80");
  CHECK(emit::upper_identifier("q") == "Q");
}

}  // namespace test_emit
