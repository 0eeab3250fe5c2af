// A prefix mask from the command line: --prefix N of query and select, compared with two calls of other masks and with
// the interpreter.

#include "tests/golden/cli.hpp"

namespace test_cli_prefix {

namespace {

using cli::check_refused;
using cli::Json;
using cli::napkin;

Json answer(const std::string& line) {
  const auto run = napkin(line + " --json");
  CAPTURE(line);
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  return run.json();
}

}  // namespace

TEST_CASE("a prefix does the work of a call of its own rows and one of the causal rest") {
  const std::string machine = "query attention --gpu h100-sxm --kernel ideal --dtype f16 --shape h=4,d=64,";
  for (const int prefix : {128, 1024, 4096}) {
    CAPTURE(prefix);
    const std::string rows = std::to_string(prefix), rest = std::to_string(4096 - prefix);
    const Json whole = answer(machine + "q=4096,x=4096 --prefix " + rows);
    CHECK(whole["mask"] == Json{{"prefix", prefix}});
    std::int64_t flops = answer(machine + "q=" + rows + ",x=" + rows)["work"]["flops"].get<std::int64_t>();
    if (prefix < 4096) flops += answer(machine + "q=" + rest + ",x=4096 --causal")["work"]["flops"].get<std::int64_t>();
    CHECK(whole["work"]["flops"] == flops);
  }
}

TEST_CASE("the interpreter counts what is predicted under a prefix") {
  for (const char* line :
       {"query attention --memory 4096 --shape q=300,x=400,d=16 --prefix 77 --check",
        "query attention --gpu h100-sxm --kernel ideal --shape h=2,q=512,x=640,d=64 --prefix 100 --check"}) {
    const Json found = answer(line);
    CAPTURE(line);
    CHECK(found["check"]["equal"] == true);
  }
}

TEST_CASE("no kernel takes a prefix, and says so; what is no prefix is refused") {
  const std::string question = "attention --gpu h100-sxm --shape h=4,q=512,x=512,d=64 --prefix 64";
  const auto bound = napkin("query " + question + " --json");
  CHECK(bound.json()["kernel"] == nullptr);
  CHECK(bound.json()["predicted"]["at_least"] == true);
  const auto none = napkin("select " + question + " --kernel flash_attention_3");
  CHECK(none.code == 1);
  CHECK(none.out.find("mask keeps out all tiles") != std::string::npos);
  check_refused(napkin("query attention --gpu h100-sxm --shape h=4,q=512,x=512,d=64 --prefix 0"), "--prefix: N is 0");
  check_refused(napkin("query attention --gpu h100-sxm --shape h=4,q=512,x=512,d=64 --prefix 9 --causal"),
                "--prefix: stands beside --causal");
  check_refused(napkin("query matmul --gpu h100-sxm --shape a=64,b=64,c=64 --prefix 3"),
                "--prefix: matmul has no operation with a mask");
}

}  // namespace test_cli_prefix
