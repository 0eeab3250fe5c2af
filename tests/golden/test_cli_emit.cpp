// Emitted texts are read by a JSON parser, a C++ compiler and Python.

#include "tests/golden/cli.hpp"

namespace test_cli_emit {

namespace {

using cli::Folder;
using cli::Json;
using cli::napkin;

const std::string question = "select attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128 --dtype bf16 ";

std::string emitted(const std::string& rest) {
  const auto run = napkin(question + rest);
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(run.err.empty());
  return run.out;
}

TEST_CASE("json: kernel and tile, as select chose") {
  const Json json = cli::parse(emitted("--emit json"));
  const Json selected = cli::parse(emitted("--json"));
  CHECK(cli::keys_of(json) == std::vector<std::string>{"kernel", "tile"});
  CHECK(json["kernel"] == selected["kernel"]);
  CHECK(json["tile"] == selected["tile"]);
}

TEST_CASE("cpp: a header that a compiler reads alone") {
  const Folder folder;
  const std::string header = folder.file("configuration.hpp", emitted("--emit cpp"));
  const std::string source =
      folder.file("main.cpp", "#include \"configuration.hpp\"\n#include \"configuration.hpp\"\nint main() {}\n");
  const auto run = cli::run_program(
      {NAPKIN_CXX, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", source});
  CHECK_MESSAGE(run.code == 0, run.err);
}

TEST_CASE("cpp: two headers of one kernel stand together, and each has the tile that select reports") {
  const Folder folder;
  const std::string first = "select attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128 --bundled ";
  const std::string second = "select attention --gpu h200-sxm --shape h=16,q=1024,x=1024,d=128 --causal --bundled ";
  std::string source = "#include \"a.hpp\"\n#include \"b.hpp\"\n#include \"c.hpp\"\n";
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"a.hpp", first}, {"b.hpp", second}, {"c.hpp", first + "--tile x=96 "}};
  for (const auto& [name, line] : headers) {
    const std::string text = napkin(line + "--emit cpp").out;
    (void)folder.file(name, text);
    const std::string opening = "inline namespace ";
    const std::size_t at = text.find(opening);
    REQUIRE(at != std::string::npos);
    const std::string scope =
        text.substr(at + opening.size(), text.find(' ', at + opening.size()) - at - opening.size());
    const Json selected = cli::parse(napkin(line + "--json").out);
    for (const auto& [knob, value] : selected["tile"].items()) {
      if (value.is_number())
        source += "static_assert(napkin_tile::" + scope + "::AttentionSm90::" + knob + " == " + value.dump() + ");\n";
    }
    for (const std::string& part : {std::string("attention on h200-sxm, bf16"), std::string("kernel attention_sm90"),
                                    "q=" + selected["shape"]["q"].dump()})
      CHECK(text.substr(0, text.find("namespace")).find(part) != std::string::npos);
  }
  const auto run = cli::run_program({NAPKIN_CXX, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                     folder.file("main.cpp", source + "int main() {}\n")});
  CHECK_MESSAGE(run.code == 0, run.err);
}

TEST_CASE("triton and fa3 say for which question and kernel") {
  for (const std::string form : {"triton", "fa3"}) {
    const std::string text = emitted("--emit " + form);
    CHECK(text.find("attention on h200-sxm, bf16: b=1 h=16 g=1 q=8192 x=8192 d=128 dv=128; kernel ") < text.find('\n'));
  }
}

TEST_CASE("triton: a list that Python evaluates, one configuration for each of the best") {
  const Folder folder;
  const std::string path = folder.file("configurations.txt", emitted("--emit triton --top 3"));
  const std::string program =
      "import sys\n"
      "class triton:\n"
      "  class Config:\n"
      "    def __init__(self, values, num_warps, num_stages): self.values = values; assert num_warps in (4, 8) and "
      "num_stages >= 1\n"
      "text = open(sys.argv[1]).read()\n"
      "scope = {'triton': triton}\n"
      "try:\n  configs = eval(text, scope)\n"
      "except SyntaxError:\n  exec(text, scope); configs = next(v for v in scope.values() if isinstance(v, list))\n"
      "assert len(configs) == 3, len(configs)\n"
      "assert all(v > 0 for c in configs for v in c.values.values())\n";
  const auto run = cli::run_program({"python3", "-c", program, path});
  CHECK_MESSAGE(run.code == 0, run.err);
}

TEST_CASE("fa3: FlashAttention-3's tuple") {
  const std::string text = emitted("--emit fa3");
  const std::string tuple = text.substr(text.find('\n') + 1);
  CHECK(text.starts_with("// attention on h200-sxm"));
  CHECK(tuple.front() == '{');
  CHECK(tuple.ends_with("}\n"));
  CHECK(std::count(tuple.begin(), tuple.end(), ',') == 3);
}

TEST_CASE("fa4: FlashAttention-4's configurations, which Python evaluates: the first is fa3's tuple") {
  const Folder folder;
  const std::string path = folder.file("configurations.txt", emitted("--emit fa4 --top 8"));
  const std::string tuple = emitted("--emit fa3");
  const std::string program =
      "import dataclasses, sys\n"
      "@dataclasses.dataclass(frozen=True)\n"
      "class FwdConfig:\n  m_block_size: int\n  n_block_size: int\n  mma_pv_is_rs: bool\n  intra_wg_overlap: bool\n"
      "configs = eval(open(sys.argv[1]).read())\n"
      "assert 1 <= len(configs) <= 8 and len(set(configs)) == len(configs), configs\n"
      "first = ', '.join(str(v).lower() for v in dataclasses.astuple(configs[0]))\n"
      "assert '{' + first + '}' in sys.argv[2], (first, sys.argv[2])\n";
  const auto run = cli::run_program({"python3", "-c", program, path, tuple});
  CHECK_MESSAGE(run.code == 0, run.err);
}

TEST_CASE("a form that no mapping has there is said so") {
  cli::check_refused(napkin("select attention --gpu a100-sxm-80 --shape q=64,x=64,d=64 --emit fa3"), "--emit");
  cli::check_refused(napkin("select mlp --gpu h200-sxm --shape m=64,k=64,h=64 --emit triton"), "--emit");
}

}  // namespace

}  // namespace test_cli_emit
