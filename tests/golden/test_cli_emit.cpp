// Emitted texts are read by what they are for: a JSON parser, a C++ compiler, Python.

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
  CHECK(text.front() == '{');
  CHECK(text.ends_with("}\n"));
  CHECK(std::count(text.begin(), text.end(), ',') == 3);
}

TEST_CASE("a form that no mapping has there is said so") {
  cli::check_refused(napkin("select attention --gpu a100-sxm-80 --shape q=64,x=64,d=64 --emit fa3"), "--emit");
  cli::check_refused(napkin("select matmul --gpu h200-sxm --shape a=64,b=64,c=64 --emit triton"), "--emit");
}

}  // namespace

}  // namespace test_cli_emit
