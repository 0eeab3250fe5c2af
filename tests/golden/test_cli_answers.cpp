// Questions with known answers, asked from the command line.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>

#include "tests/golden/cli.hpp"

namespace test_cli_answers {

namespace {

using cli::Folder;
using cli::Json;
using cli::napkin;

Json level(const Json& json, const std::string& name) {
  for (const Json& one : json["levels"]) {
    if (one["name"] == name) return one;
  }
  FAIL("no level " << name);
  return {};
}

TEST_CASE("kernels are compared by one clock: the roofline's optimism does not beat the event graph's") {
  for (const auto& [d, kernel] : {std::pair{"64", "attention_sm90"}, {"32", "attention_sm90"}}) {
    const auto run = napkin({"select", "attention", "--json", "--gpu", "h200-sxm", "--causal", "--bundled", "--shape",
                             std::string("b=16,h=32,q=1024,x=1024,d=") + d});
    REQUIRE(run.code == 0);
    CHECK(run.json()["kernel"] == kernel);
  }
}

TEST_CASE("the headline number: attention's load into shared memory") {
  const Json json = cli::answer(
      "query attention --gpu h200-sxm --shape b=2,h=16,q=8192,x=8192,d=128 --dtype bf16 --tile q=128,x=128");
  CHECK(json["tile"]["q"] == 128);
  CHECK(json["tile"]["x"] == 128);
  CHECK(level(json, "shared")["load"] == 8657043456LL);
  CHECK(level(json, "shared")["groups"] == 2 * 16 * 64);
}

/// Worked cases of the paper: sizes, tile, transfers and memory.
struct Vector {
  const char* name;
  const char* line;
  std::int64_t per_group, groups, transfer, memory;
};
constexpr Vector vectors[] = {
    {"Fig. 18", "matmul --memory 118 --shape a=60,b=50,c=40 --tile a=6,c=8,b=5", 748, 50, 37400, 118},
    {"Fig. 21", "attention --memory 512 --shape q=96,x=80,d=16 --tile q=12,x=4", 2944, 8, 23552, 512},
    {"multi-head", "attention --memory 1024 --shape h=8,q=96,x=80,d=16 --tile h=2,q=12,x=4", 5888, 32, 188416, 1024},
    {"grouped queries", "attention --memory 896 --shape g=4,q=96,x=80,d=16 --tile g=2,q=12,x=4", 3328, 16, 53248, 896},
};

TEST_CASE("the abstract machine's vectors") {
  for (const Vector& vector : vectors) {
    CAPTURE(std::string(vector.name));
    const Json json = cli::answer(std::string("query ") + vector.line);
    const Json low = level(json, "low");
    CHECK(low["transfer_per_group"] == vector.per_group);
    CHECK(low["groups"] == vector.groups);
    CHECK(low["transfer"] == vector.transfer);
    CHECK(low["memory_lower_bound"] == vector.memory);
    CHECK(json["legal"] == true);
  }
  CHECK(cli::answer("query attention --memory 511 --shape q=96,x=80,d=16 --tile q=12,x=4")["legal"] == false);
}

TEST_CASE("matmul's exact optimum") {
  struct Optimum {
    std::int64_t memory, transfer, a, c;
  };
  for (const auto& [memory, transfer, a, c] :
       {Optimum{64, 32025600, 7, 7}, {1024, 7372800, 30, 32}, {65536, 1152000, 240, 270}}) {
    const Json json = cli::answer("query matmul --memory " + std::to_string(memory) + " --shape a=480,b=480,c=480");
    CHECK(json["optimum"]["integer"]["transfer"] == transfer);
    CHECK(json["optimum"]["integer"]["group"] == Json({{"a", a}, {"c", c}}));
    CHECK(json["tile"] == Json({{"a", a}, {"b", 1}, {"c", c}}));  // without --tile the answer has the optimum's tile
    CHECK(level(json, "low")["transfer"] == transfer);
    CHECK(json["optimum"]["transfer"].get<double>() <= static_cast<double>(transfer));
  }
}

TEST_CASE("axes that no array lacks have groups of 1; given sizes are kept and the others follow") {
  const Json whole = cli::answer("query attention --memory 4096 --shape b=2,h=4,g=2,q=256,x=256,d=16");
  CHECK(whole["tile"]["b"] == 1);
  CHECK(whole["tile"]["h"] == 1);
  CHECK(whole["tile"]["g"] == 2);  // K and V lack it: a group of 1 would read them twice
  CHECK(whole["tile"]["x"] == 1);
  CHECK(level(whole, "low")["transfer"] == whole["optimum"]["integer"]["transfer"]);
  const Json fixed = cli::answer("query matmul --memory 1024 --shape a=480,b=480,c=480 --tile a=16");
  CHECK(fixed["tile"]["a"] == 16);
  CHECK(fixed["tile"]["c"] == 59);  // 16 + 59 + 16 c <= 1024, and 480 / 59 rounds up to 9 groups
  CHECK(fixed["legal"] == true);
}

TEST_CASE("closed forms as data") {
  const Json attention = cli::answer("query attention --memory 4096 --shape q=100000,x=100000,d=16");
  REQUIRE(attention["optimum"]["terms"].size() == 2);
  CHECK(attention["optimum"]["terms"][0] == Json({{"alpha", 2LL * 100000 * 16}, {"beta", 0}}));
  CHECK(attention["optimum"]["terms"][1] == Json({{"alpha", 4LL * 100000 * 100000 * 16 * 16}, {"beta", 1}}));
  const Json matmul = cli::answer("query matmul --memory 4096 --shape a=5000,b=4000,c=3000");
  REQUIRE(matmul["optimum"]["terms"].size() == 2);
  CHECK(matmul["optimum"]["terms"][1]["beta"] == 0.5);
  CHECK(matmul["optimum"]["terms"][1]["alpha"].get<double>() == doctest::Approx(2.0 * 5000 * 4000 * 3000));
}

TEST_CASE("a shared.q is the q of the level where a block lives; an axis without a knob may be given its only size") {
  const std::string line = "query attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128 --tile ";
  const Json plain = cli::answer(line + "q=128,x=128");
  CHECK(cli::answer(line + "shared.q=128,shared.x=128") == plain);
  CHECK(cli::answer(line + "q=128,x=128,h=1,d=128") == plain);
}

TEST_CASE("a user's own files work exactly as built-in ones") {
  const Folder folder;
  const auto derived = cli::answer("derive attention");
  const std::string mine = folder.file("mine.yaml", derived["diagram"].get<std::string>());
  const std::string rest = " --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128";
  CHECK(cli::answer("query " + mine + rest) == cli::answer("query attention" + rest));

  const std::string other =
      folder.file("two.yaml",
                  "algorithm: two\naxes: {m: , k: , n: }\ninputs: [\"A[m,k]\", \"B[k,n]\"]\noperations:\n"
                  "  - C[m,n] = contract over k (A, B)\n  - D[m,n] = map relu (C)\noutputs: [D]\n");
  const Json own = cli::answer("query " + other + " --gpu h200-sxm --shape m=512,k=512,n=512");
  CHECK(own["algorithm"] == "two");
  CHECK(own["kernel"].is_null());
  CHECK(own["work"]["flops"] == 2LL * 512 * 512 * 512);
}

TEST_CASE("select says which tile and why") {
  const auto run = napkin("select attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128 --dtype bf16");
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  for (const char* part :
       {"attention on h200-sxm", "attention_sm90", "q=", "x=", "limited by the tensor cores", "TFLOP/s"}) {
    CHECK_MESSAGE(run.out.find(part) != std::string::npos, part);
  }
  CHECK(run.out.find('\033') == std::string::npos);  // no colours, as the output is no terminal
}

/// Returns the labels of an answer's entries in order; the first line has none.
std::vector<std::string> labels_of(const std::string& text) {
  std::vector<std::string> labels;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > 11 && line[0] != ' ' && line[0] != '(' && line[10] == ' ')
      labels.push_back(line.substr(0, line.find_last_not_of(' ', 10) + 1));
  }
  return labels;
}

/// Returns an entry with its lines joined.
std::string entry_of(const std::string& text, const std::string& label) {
  const std::size_t from = text.find("\n" + label + " ");
  if (from == std::string::npos) return "";
  std::size_t to = text.find('\n', from + 1);
  while (text.compare(to + 1, 11, "           ") == 0) to = text.find('\n', to + 1);
  return std::regex_replace(text.substr(from + 12, to - from - 12), std::regex("\n +"), " ");
}

TEST_CASE("the first five lines answer, why takes two, and --explain says the rest") {
  for (const std::string question :
       {"attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128", "matmul --gpu b200 --shape a=4096,b=4096,c=4096",
        "attention --gpu mi300x --shape h=16,q=4096,x=4096,d=128", "matmul --gpu rtx-4090 --shape a=512,b=512,c=512",
        "attention --gpu ascend-910b2 --dtype f16 --shape h=16,q=4096,x=4096,d=128",
        "attention --gpu h200-sxm --shape b=8,h=8,g=4,q=1,x=8192,d=128"}) {
    for (const std::string command : {"select ", "query "}) {
      CAPTURE(command + question);
      const std::string brief = napkin(command + question).out, all = napkin(command + question + " --explain").out;
      CAPTURE(brief);
      const std::vector<std::string> labels = labels_of(brief);
      REQUIRE(labels.size() >= 5);
      CHECK(std::vector(labels.begin(), labels.begin() + 5) ==
            std::vector<std::string>{"takes", "moves", "kernel", "how sure", "why"});
      CHECK(entry_of(brief, "why").size() <= 178);  // two lines of 89
      CHECK(entry_of(brief, "why").find(" the limit") != std::string::npos);
      for (const char* label : {"kernel", "takes", "moves"}) CHECK(entry_of(brief, label) == entry_of(all, label));
      CHECK(brief.find("moves over") == std::string::npos);
      CHECK(all.find("moves over") != std::string::npos);
      CHECK(all.size() > 2 * brief.size());
    }
  }
}

TEST_CASE("an answer's first lines have the numbers of its JSON") {
  const std::string question = "select attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128";
  const Json json = cli::answer(question);
  const std::string text = napkin(question).out;
  CHECK(entry_of(text, "takes")
            .starts_with(fmt::format("{:.1f} us for 549.8 GFLOP: {:.1f} TFLOP/s",
                                     1e6 * json["predicted"]["time"].get<double>(),
                                     json["predicted"]["tflops"].get<double>())));
  CHECK(entry_of(text, "moves") == "100.7 MB from and 33.55 MB to device memory; 4.362 GB over L2 -> shared");
  CHECK(level(json, "l2")["load"] == 100663296);
  CHECK(level(json, "shared")["transfer"] == 4362076160);
  CHECK(entry_of(text, "why") ==
        "the tensor cores are the limit: 2048 of 2048 clk an iteration; the longest chain of waits takes 1413");
}

TEST_CASE("one name for a route in levels, pipes and reasons") {
  const std::string text = napkin("select attention --gpu h200-sxm --explain --shape b=8,h=8,g=4,q=1,x=8192,d=128").out;
  CAPTURE(text);
  CHECK(entry_of(text, "why").starts_with("device -> L2 is the limit, busy "));
  CHECK(entry_of(text, "busy").find("device -> L2 ") != std::string::npos);
  CHECK(entry_of(text, "busy").find("L2 -> shared ") != std::string::npos);
  CHECK(text.find("\n  device -> L2 ") != std::string::npos);
  CHECK(text.find("\n  L2 -> shared ") != std::string::npos);
  CHECK(std::regex_search(text, std::regex("\n +1 +[0-9.]+ us +[0-9.]+ +device -> L2 +as above")));
}

TEST_CASE("the alternatives are other sizes, not equals of the tile in knobs that size nothing") {
  const Json json = cli::answer("select attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128 --top 20");
  const auto sizes_of = [](const Json& tile) {
    return std::vector<Json>{tile["warpgroups"], tile["g"], tile["q"], tile["x"]};
  };
  std::vector<std::vector<Json>> seen{sizes_of(json["tile"])};
  REQUIRE(json["alternatives"].size() == 19);
  for (const Json& other : json["alternatives"]) {
    CHECK(std::find(seen.begin(), seen.end(), sizes_of(other["tile"])) == seen.end());
    seen.push_back(sizes_of(other["tile"]));
  }
}

TEST_CASE("nothing fits: exit 1, and the answer says what kept tiles out") {
  const auto run = napkin(
      "select attention --gpu h200-sxm --shape q=8192,x=8192,d=128 --kernel attention_sm90 --tile x=256,stages=4,q=192 "
      "--json");
  CHECK(run.code == 1);
  const Json json = run.json();
  CHECK(json["predicted"].is_null());
  CHECK(json["tile"].empty());
  CHECK_FALSE(json["rejected"].empty());
  CHECK_FALSE(json["because"].get<std::string>().empty());
}

TEST_CASE("pictures are whole XML, and nothing else is left in the folder") {
  for (const char* algorithm : {"attention", "matmul", "mlp", "softmax_contraction", "attention_backward"}) {
    const Folder folder;
    const std::string path = folder / "picture.svg";
    const auto run = napkin(std::string("derive ") + algorithm + " --svg " + path);
    CHECK(run.code == 0);
    const std::string svg = cli::contents(path);
    CHECK(svg.starts_with("<svg "));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(std::distance(std::filesystem::directory_iterator(folder / "."), {}) == 1);
    const auto parsed =
        cli::run_program({"python3", "-c", "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])", path});
    CHECK_MESSAGE(parsed.code == 0, parsed.err);
  }
}

TEST_CASE("cluster sizes with the H800's numbers: attention prefers 2, matmul 4 (eq. 7.5)") {
  const auto cluster_of = [](const std::string& line) {
    const Json json = cli::answer(line);
    for (const Json& cluster : json["machines"][0]["laws"]["clusters"]) {
      if (cluster["from"] == "device" && cluster["measured"] == false) return cluster["size"].get<int>();
    }
    return 0;
  };
  CHECK(cluster_of("compare attention --gpus h800-pcie --shape q=32768,x=32768,d=128") == 2);
  CHECK(cluster_of("compare matmul --gpus h800-pcie --shape a=8192,b=8192,c=8192") == 4);
}

TEST_CASE("the least b at the M of the paper's machine, and the weights of its levels (B.1, eq. 7.1)") {
  const std::string question = "query matmul --gpu paper-h100 --dtype f16 --shape a=4096,b=4096,c=4096";
  const Json laws = cli::answer(question)["laws"];
  REQUIRE(laws["minima"].size() == 2);
  const auto least = [&](std::size_t level) { return laws["minima"][level]["least"]["b at this M"].get<double>(); };
  CHECK(least(0) == doctest::Approx(347.6).epsilon(2e-4));
  CHECK(least(1) == doctest::Approx(159.7).epsilon(4e-4));
  for (const Json& one : laws["levels"]) {
    REQUIRE(one["factors"].size() == 1);
    CHECK(one["factors"][0]["beta"] == 0.5);
    const double weight = one["time"].get<double>() / one["transfer"].get<double>();
    CHECK(one["factors"][0]["factor"].get<double>() ==
          doctest::Approx(weight / std::sqrt(one["memory"].get<double>())));
  }
  const std::string text = napkin(question + " --explain").out;
  CHECK(entry_of(text, "fed").find("b at this M >= 348") != std::string::npos);
  CHECK(entry_of(text, "fed").find("b at this M >= 160") != std::string::npos);
  CHECK(text.find("weights    w M^-0.5: l2 ") != std::string::npos);
}

TEST_CASE("fused beside unfused: bytes of every array once, and a launch's bound for each operation") {
  const Json json = cli::answer("query attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128");
  const std::int64_t rows = 16LL * 8192 * 128 * 2, scores = 16LL * 8192 * 8192;  // bytes of Q, K, V, O; values of S, P
  CHECK(json["unfused"]["launches"] == 3);
  CHECK(json["unfused"]["fused"]["transfer"] == 4 * rows);
  // S is kept in fp32 or in bf16, as the diagram says; it is written and read, and so is P.
  const std::int64_t between = json["unfused"]["transfer"].get<std::int64_t>() - 4 * rows;
  CHECK((between == 4 * scores * 2 || between == 2 * scores * 4 + 2 * scores * 2 || between == 4 * scores * 4));
  CHECK(json["unfused"]["time"].get<double>() > json["unfused"]["fused"]["time"].get<double>());
  CHECK(json["unfused"]["fused"]["time"].get<double>() <= json["predicted"]["time"].get<double>());
  CHECK_FALSE(cli::answer("query matmul --gpu h200-sxm --shape a=512,b=512,c=512").contains("unfused"));
  CHECK_FALSE(cli::answer("query attention --memory 512 --shape q=96,x=80,d=16").contains("unfused"));
  const std::string text = napkin("query attention --explain --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128").out;
  CHECK(text.find("\nunfused    a launch for each of 3 operations moves ") != std::string::npos);
}

TEST_CASE("three levels of an abstract machine: each has the optimum of its own memory, and their groups nest") {
  for (const std::string question : {"matmul --shape a=4096,b=4096,c=4096", "attention --shape q=4096,x=4096,d=64"}) {
    const Json both = cli::answer("query " + question + " --memory 58112,1024");
    REQUIRE(both["memories"].size() == 2);
    CHECK(both["memories"][0] == cli::answer("query " + question + " --memory 58112"));
    CHECK(both["memories"][1] == cli::answer("query " + question + " --memory 1024"));
    for (const auto& [axis, size] : both["memories"][1]["tile"].items())
      CHECK(size <= both["memories"][0]["tile"][axis]);
    CHECK(level(both["memories"][0], "low")["transfer"] < level(both["memories"][1], "low")["transfer"]);
    const std::string text = napkin("query " + question + " --memory 58112,1024").out;
    CHECK(text.find("of 2 levels below the top") != std::string::npos);
    CHECK(text.find("\n  58,112 ") != std::string::npos);
  }
  for (const char* wrong : {"1024,58112", "64,64", "64,", "64,x"})
    cli::check_refused(napkin("query matmul --shape a=8,b=8,c=8 --memory " + std::string(wrong)), "--memory");
  cli::check_refused(napkin("query matmul --shape a=8,b=8,c=8 --memory 64,16 --tile a=2"), "--tile");
  cli::check_refused(napkin("select matmul --shape a=8,b=8,c=8 --memory 64,16"), "--memory");
}

TEST_CASE("the quantisation law: half the bytes move four times less of attention's leading term (beta = 1)") {
  const Json json = cli::answer("compare attention --gpus paper-h100 --shape q=32768,x=32768,d=128 --dtype f16,e4m3");
  REQUIRE(json["quantisation"].size() == 1);
  bool found = false;
  for (const Json& term : json["quantisation"][0]["terms"]) {
    if (term["beta"].get<double>() != doctest::Approx(1)) continue;
    found = true;
    CHECK(term["gain"].get<double>() == doctest::Approx(4));
  }
  CHECK(found);
}

TEST_CASE("f32 moves four and 2.83 times as long as f16, also where no tensor unit takes it (section 4.3)") {
  for (const auto& [question, beta, gain] : {std::tuple{"attention --shape q=32768,x=32768,d=128", 1.0, 4.0},
                                             std::tuple{"matmul --shape a=8192,b=8192,c=8192", 0.5, 2.8284}}) {
    const Json json = cli::answer(std::string("compare ") + question + " --gpus paper-h100 --dtype f32,f16");
    REQUIRE(json["quantisation"].size() == 1);
    CHECK(json["quantisation"][0]["from"] == "f32");
    double found = 0;
    for (const Json& term : json["quantisation"][0]["terms"]) {
      if (term["beta"].get<double>() == doctest::Approx(beta)) found = term["gain"].get<double>();
    }
    CHECK(found == doctest::Approx(gain).epsilon(1e-4));
  }
}

TEST_CASE("compare --prices: a call costs its time's share of the hour, and joules are watts by seconds") {
  const std::string question =
      "compare attention --gpus h200-sxm,a100-sxm-80,h100-pcie --shape h=16,q=8192,x=8192,d=128";
  const Json json = cli::answer(question + " --prices h200-sxm=3.6,a100-sxm-80=1.8");
  for (const auto& [machine, hour] : {std::pair{0, 3.6}, std::pair{1, 1.8}}) {
    const Json& one = json["machines"][machine];
    CHECK(one["cost"]["hour"] == hour);
    CHECK(one["cost"]["call"].get<double>() == doctest::Approx(hour / 3600 * one["predicted"]["time"].get<double>()));
    CHECK(one["cost"]["joules"].get<double>() ==
          doctest::Approx(one["predicted"]["power"].get<double>() * one["predicted"]["time"].get<double>()));
  }
  CHECK_FALSE(json["machines"][2].contains("cost"));
  const std::string text = napkin(question + " --prices h200-sxm=3.6,a100-sxm-80=1.8").out;
  CHECK(text.find("a million calls") != std::string::npos);
  for (const char* wrong : {"h200-sxm", "h200-sxm=0", "h200-sxm=-1", "h200-sxm=x", "h200-sxm=1x", "b200=3",
                            "h200-sxm=1,h200-sxm=2", "h200-sxm=inf", "h200-sxm=nan"})
    cli::check_refused(napkin(question + " --prices " + wrong), "--prices");
}

TEST_CASE("a type that one machine lacks is said in its row") {
  const Json json =
      cli::answer("compare attention --gpus h200-sxm,a100-sxm-80 --shape q=4096,x=4096,d=128 --dtype e4m3");
  CHECK(json["machines"][1]["predicted"].is_null());
  CHECK(json["machines"][1]["because"].get<std::string>().find("e4m3") != std::string::npos);
}

TEST_CASE("help and version go to stdout") {
  CHECK(napkin("--help").out.find("select") != std::string::npos);
  CHECK(napkin("--version").out.starts_with("napkin "));
  for (const char* command : {"query", "select", "derive", "compare", "list"}) {
    const auto run = napkin(std::string(command) + " --help");
    CHECK(run.code == 0);
    CHECK(run.out.find(std::string("usage: napkin ") + command) == 0);
  }
}

}  // namespace

}  // namespace test_cli_answers
