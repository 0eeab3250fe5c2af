// napkin timeline from the command line.
#include <algorithm>

#include "tests/golden/cli.hpp"

namespace test_cli_timeline {

namespace {

using cli::Folder;
using cli::Json;
using cli::napkin;

const std::string fa3 =
    "timeline attention --gpu h200-sxm --shape b=2,h=16,q=8192,x=8192,d=128 --kernel flash_attention_3 "
    "--tile q=128,x=176,warpgroups=2,cluster=2,p_in=registers,order=persistent";

TEST_CASE("text names the pipe, the critical cycle and the contention, and draws the lanes") {
  const auto run = napkin(fa3);
  REQUIRE(run.code == 0);
  CHECK(run.err.empty());
  for (const char* part : {"iteration", "contention", "issue beside the tensor unit", "P.exp[", "consumer 1", "tensor",
                           "copies", "load K"}) {
    CAPTURE(std::string(part));
    CHECK(run.out.find(part) != std::string::npos);
  }
}

TEST_CASE("JSON: the bounds are below the period, and the spans are the run's") {
  const auto run = napkin(fa3 + " --json --iterations 4");
  REQUIRE(run.code == 0);
  const Json json = run.json();
  const double period = json["period"]["cycles"];
  CHECK(json["command"] == "timeline");
  CHECK(json["kernel"] == "flash_attention_3");
  CHECK(json["period"]["pipe"]["cycles"].get<double>() <= period);
  CHECK(json["period"]["critical_cycle"]["cycles"].get<double>() <= period);
  CHECK(json["pipes"]["tensor"].get<double>() == doctest::Approx(2816 / period).epsilon(1e-6));
  std::size_t tensor = 0;
  for (const Json& span : json["spans"]) {
    CHECK(span["end"].get<double>() >= span["start"].get<double>());
    tensor += span["node"] == "S" ? 1 : 0;
  }
  CHECK(tensor == 2 * 4);
}

TEST_CASE("one time from one clock: what query predicts, also of several blocks on a node and of untimed machines") {
  const std::string shape = " --shape h=16,q=4096,x=4096,d=128";
  for (const char* on : {"h200-sxm", "h200-sxm --kernel attention_sm80", "a100-sxm-80", "b200"}) {
    const std::string question = std::string("attention --gpu ") + on + shape;
    CAPTURE(question);
    const Json timeline = napkin("timeline " + question + " --json").json();
    const double time = timeline["predicted"]["time"], clocks = timeline["predicted"]["cycles"];
    CHECK(clocks / timeline["predicted"]["clock"].get<double>() <= time * 1.0000001);
    if (timeline["timed"] == true) {
      const Json query = napkin("query " + question + " --json").json();
      CHECK(time == doctest::Approx(query["predicted"]["time"].get<double>()).epsilon(1e-9));
    }
    double before = time;
    for (const char* more : {"0.05", "0.5", "2"}) {
      const double longer =
          napkin("timeline " + question + " --overhead P=" + more + " --json").json()["predicted"]["cycles"];
      CHECK(longer >= clocks * 0.999999);
      before = std::max(before, longer);
    }
    // overhead shows in the launch's cycles where a node holds a single block
    if (std::string(on) == "h200-sxm") CHECK(before > clocks);
  }
}

TEST_CASE("a block takes no less than nothing at its ends, however few iterations it has") {
  for (const std::string question : {"matmul --gpu h200-sxm --kernel thunderkittens_gemm --shape a=512,b=4096,c=512",
                                     "attention --gpu h200-sxm --causal --shape h=16,q=64,x=64,d=128",
                                     "attention --gpu rtx-a6000 --causal --shape h=16,q=300,x=300,d=128",
                                     "attention --gpu mi300x --causal --shape h=16,q=1024,x=1024,d=128"}) {
    CAPTURE(question);
    const auto run = napkin("timeline " + question + " --json");
    REQUIRE(run.code == 0);
    CHECK(run.json()["period"]["first_block"].get<double>() >= 0);
    CHECK(run.json()["period"]["next_block"].get<double>() >= 0);
  }
}

TEST_CASE("where no kernel is known there is no time line, and the error says so") {
  const std::string shape = "timeline attention --shape h=16,q=512,x=512,d=128 --gpu ";
  cli::check_refused(napkin(shape + "ascend-950pr"),
                     "--kernel: the ideal mapping has no order of steps to draw, and no kernel is known that runs "
                     "attention on ascend-950pr: a kernel with edges");
  cli::check_refused(napkin(shape + "h200-sxm --kernel ideal"), "--kernel: the ideal mapping has no order of steps");
}

TEST_CASE("pictures and traces are written whole") {
  const Folder folder;
  const auto run = napkin(fa3 + " --svg " + folder / "t.svg" + " --perfetto " + folder / "t.json");
  REQUIRE(run.code == 0);
  const std::string svg = cli::contents(folder / "t.svg");
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("consumer 1") != std::string::npos);
  const Json trace = cli::parse(cli::contents(folder / "t.json"));
  std::size_t spans = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++spans;
    CHECK(event["dur"].get<double>() >= 0);
  }
  CHECK(spans > 50);
}

TEST_CASE("cores: a lane each, four rounds of 512 keys, and no more of them drawn than a block has") {
  const std::string question =
      "timeline attention --gpu ascend-910b2 --dtype f16 --shape q=128,x=512,d=128 --tile "
      "q=128,x=128,cube_x=128,preload=";
  const auto run = napkin(question + "1");
  REQUIRE(run.code == 0);
  for (const char* part :
       {"4.0 iterations", "the busiest has 4 of 4 iterations", "the first 4 iterations", "cube_mte2", "mte1", "fixpipe",
        "vector_mte2", "vector_mte3", "tensor", "vector 0", "store pv", "load pv_in"}) {
    CAPTURE(std::string(part));
    CHECK(run.out.find(part) != std::string::npos);
  }
  const Json json = napkin(question + "1 --json").json();
  CHECK(json["iterations"]["mean_block"] == 4);
  CHECK(json["iterations"]["busiest_node"] == 4);
  CHECK(json["iterations"]["all"] == 4);
  for (const char* bad : {"-1", "two"}) {
    const auto refused = napkin(question + bad);
    CAPTURE(std::string(bad));
    CHECK(refused.code == 2);
    CHECK(refused.out.empty());
    CHECK(refused.err.find("--tile") != std::string::npos);
  }
}

TEST_CASE("cores: how a triangle is dealt out shows in the busiest node's iterations") {
  const std::string question =
      "timeline attention_backward --gpu ascend-950pr --causal --dtype f16 --shape h=4,q=4096,x=4096,d=128 --kernel "
      "ascend_backward --tile x=128,q=128,preload=1,order=";
  CHECK(napkin(question + "even").out.find("32: the busiest has 66 of 2,112 iterations") != std::string::npos);
  CHECK(napkin(question + "columns").out.find("32: the busiest has 128 of 2,112 iterations") != std::string::npos);
}

TEST_CASE("bad input is one message and exit 2") {
  struct Bad {
    const char* line;
    const char* says;
  };
  for (const Bad& bad :
       {Bad{"timeline attention --shape q=8,x=8,d=64", "--gpu"},
        {"timeline attention --gpu h200-sxm --shape q=8192,x=8192,d=128 --iterations 0", "--iterations"},
        {"timeline attention --gpu h200-sxm --shape q=8192,x=8192,d=128 --iterations 1001", "1 to 1000"},
        {"timeline attention --gpu h200-sxm --shape q=8192,x=8192,d=128 --svg /nowhere/t.svg", "--svg"},
        {"timeline matmul --gpu ascend-910b2 --shape a=4096,b=4096,c=4096", "edges"}}) {
    CAPTURE(std::string(bad.line));
    const auto run = napkin(bad.line);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(run.err.find(bad.says) != std::string::npos);
  }
}

}  // namespace

}  // namespace test_cli_timeline
