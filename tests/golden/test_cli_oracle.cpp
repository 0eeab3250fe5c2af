// The interpreter from the command line: query --check, derive --dump, deps; the ways in which blocks share a result.

#include <cmath>
#include <cstring>
#include <map>

#include "tests/golden/cli.hpp"

namespace test_cli_oracle {

namespace {

using cli::check_refused;
using cli::contents;
using cli::Folder;
using cli::Json;
using cli::keys_of;
using cli::napkin;
using Keys = std::vector<std::string>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Json answer(const std::string& line) {
  const auto run = napkin(line + " --json");
  CAPTURE(line);
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(run.err.empty());
  return run.json();
}

// query --check -------------------------------------------------------------------------------------------------------

TEST_CASE("query --check: counted and predicted, equal, exit 0, nothing on stderr") {
  for (const std::string line : {"query attention --memory 1000 --shape q=300,x=500,d=16",
                                 "query attention --gpu h200-sxm --shape h=4,g=2,q=512,x=1000,d=64 --causal",
                                 "query attention --gpu h200-sxm --shape q=300,x=700,d=64 --window 100,0",
                                 "query matmul --gpu h200-sxm --shape a=1000,b=500,c=300",
                                 "query attention_backward --memory 5000 --shape q=40,x=50,d=8",
                                 "query mlp --memory 5000 --shape m=50,k=20,h=30"}) {
    const auto run = napkin(line + " --check");
    CAPTURE(line);
    CAPTURE(run.err);
    CHECK(run.code == 0);
    CHECK(run.err.empty());
    CHECK(has(run.out, "counted"));
    CHECK(has(run.out, "predicted"));
    CHECK(has(run.out, "equal      yes"));
  }
}

TEST_CASE("query --check --json: the keys, and numbers that are there") {
  const Json check = answer("query attention --memory 512 --shape q=96,x=80,d=16 --tile q=12,x=4 --check")["check"];
  CHECK(keys_of(check) == Keys{"shape", "tile", "counted", "predicted", "output_error", "rounding", "equal"});
  CHECK(check["rounding"].is_null());  // values have no type
  CHECK(keys_of(check["counted"]) == Keys{"load", "store", "memory_live"});
  CHECK(check["counted"] == check["predicted"]);
  CHECK(check["equal"] == true);
  // Three groups of 12 queries, or more where the keys need them: 2 g d + 2 x d values a group.
  const std::int64_t q = check["shape"]["q"], x = check["shape"]["x"];
  CHECK(check["counted"]["load"] == q * 16 + (q + 11) / 12 * 2 * x * 16);
  CHECK(check["counted"]["store"] == q * 16);
  CHECK(check["output_error"].get<double>() < 1e-12);
}

TEST_CASE("query --check of a split: the combine's counts too") {
  const Json check = answer(
      "query attention --gpu h200-sxm --shape h=2,q=128,x=4096,d=64 --kernel flash_decoding"
      " --tile q=64,x=64,shared.x=1024 --check")["check"];
  CHECK(check["equal"] == true);
  const std::int64_t rows = check["shape"]["h"].get<std::int64_t>() * check["shape"]["q"].get<std::int64_t>();
  const std::int64_t x = check["shape"]["x"], part = check["tile"]["x.part"], d = check["shape"]["dv"];
  CHECK((x + part - 1) / part >= 2);
  CHECK(check["counted"]["combine"]["load"] == (x + part - 1) / part * rows * (d + 1));
  CHECK(check["counted"]["combine"]["store"] == rows * (d + 1));
  CHECK(check["predicted"]["combine"] == check["counted"]["combine"]);
}

TEST_CASE("query --check where they part: exit 1. A result that is rounding alone is no result") {
  const Folder folder;
  const std::string path = folder.file("rounding.yaml", R"(algorithm: rounding
axes: {q: , x: }
inputs: ["A[q,x]", "B[q,x]"]
operations:
  - C[q,x] = add (A, B)
  - c[q] = sum over x (C)
  - a[q] = sum over x (A)
  - b[q] = sum over x (B)
  - ab[q] = add (a, b)
  - R[q] = subtract (c, ab)
outputs: [R]
)");
  const auto run = napkin({"query", path, "--memory", "100", "--shape", "q=50,x=400", "--tile", "x=7", "--check"});
  CAPTURE(run.out);
  CHECK(run.code == 1);
  CHECK(run.err.empty());
  CHECK(has(run.out, "counted"));
  CHECK(has(run.out, "predicted"));
  CHECK(has(run.out, "equal      NO"));
  const auto json =
      napkin({"query", path, "--memory", "100", "--shape", "q=50,x=400", "--tile", "x=7", "--check", "--json"});
  CHECK(json.code == 1);
  CHECK(json.json()["check"]["equal"] == false);
}

// derive --dump -------------------------------------------------------------------------------------------------------

struct Npy {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
};

/// Reads numpy's format, version 1.0, '<f8', C order, independently of the program.
Npy npy(const std::string& path) {
  const std::string bytes = contents(path);
  CAPTURE(path);
  REQUIRE(bytes.size() > 10);
  REQUIRE(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t length = static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  const std::string header = bytes.substr(10, length);
  REQUIRE((10 + length) % 64 == 0);
  CHECK(has(header, "'descr': '<f8'"));
  CHECK(has(header, "'fortran_order': False"));
  Npy out;
  std::size_t at = header.find("'shape': (") + 10;
  for (; header[at] != ')'; ++at) {
    if (std::isdigit(static_cast<unsigned char>(header[at])) == 0) continue;
    out.shape.push_back(std::stoll(header.substr(at)));
    while (std::isdigit(static_cast<unsigned char>(header[at + 1])) != 0) ++at;
  }
  out.data.resize((bytes.size() - 10 - length) / sizeof(double));
  std::memcpy(out.data.data(), bytes.data() + 10 + length, out.data.size() * sizeof(double));
  std::size_t volume = 1;
  for (const std::int64_t n : out.shape) volume *= static_cast<std::size_t>(n);
  REQUIRE(out.data.size() == volume);
  return out;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

const std::string small = " --memory 100000 --shape q=3,x=5,d=2 --tile q=2,x=2 ";

TEST_CASE("derive --dump: the online softmax, tile by tile, is the one of the text books") {
  const Folder folder;
  const auto run = napkin("derive attention" + small + "--dump " + (folder / "all"));
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  // O, P, S, mu, delta, z by group and chunk; O's tails; Q, K, V
  CHECK(files_in(folder / "all").size() == 2 * 3 * 6 + 2 + 3);
  CHECK(npy(folder / "all/Q.npy").shape == std::vector<std::int64_t>{1, 1, 1, 3, 2});
  const Npy q = npy(folder / "all/Q.npy"), k = npy(folder / "all/K.npy"),
            scores = npy(folder / "all/S.g0_0_0_0.i0.npy");
  CHECK(scores.data[0] == doctest::Approx(q.data[0] * k.data[0] + q.data[1] * k.data[1]));
  for (const std::string group : {"0_0_0_0", "0_0_0_1"}) {
    const std::int64_t rows = group.back() == '0' ? 2 : 1;
    const auto at = [&](const std::string& name, const std::string& when) {
      return npy(folder / ("all/" + name + ".g" + group + "." + when + ".npy"));
    };
    std::vector<double> mu(2, -INFINITY), z(2, 0);
    for (std::int64_t chunk = 0; chunk < 3; ++chunk) {
      const std::int64_t keys = chunk < 2 ? 2 : 1;
      const std::string when = "i" + std::to_string(chunk);
      const Npy s = at("S", when), p = at("P", when), delta = at("delta", when), m = at("mu", when),
                sum = at("z", when);
      CHECK(s.shape == std::vector<std::int64_t>{1, 1, 1, rows, keys});
      CHECK(p.shape == s.shape);
      CHECK(m.shape == std::vector<std::int64_t>{1, 1, 1, rows});
      CHECK(at("O", when).shape == std::vector<std::int64_t>{1, 1, 1, rows, 2});
      for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
        double top = mu[r], total = 0;
        const std::size_t first = r * static_cast<std::size_t>(keys), last = first + static_cast<std::size_t>(keys);
        for (std::size_t i = first; i < last; ++i) top = std::max(top, s.data[i] / std::sqrt(2));
        CHECK(m.data[r] == doctest::Approx(top));
        CHECK(delta.data[r] == doctest::Approx(std::exp(mu[r] - top)));
        for (std::size_t i = first; i < last; ++i) {
          CHECK(p.data[i] == doctest::Approx(std::exp(s.data[i] / std::sqrt(2) - top)));
          total += p.data[i];
        }
        z[r] = z[r] * std::exp(mu[r] - top) + total;
        mu[r] = top;
        CHECK(sum.data[r] == doctest::Approx(z[r]));
      }
    }
    const Npy last = at("O", "i2"), whole = at("O", "tail");
    for (std::size_t i = 0; i < whole.data.size(); ++i)
      CHECK(whole.data[i] == doctest::Approx(last.data[i] / z[i / 2]));
  }
}

TEST_CASE("derive --dump --at: that intermediate alone, also of a split kernel's parts") {
  const Folder folder;
  REQUIRE(napkin("derive attention" + small + "--at mu --dump " + (folder / "mu")).code == 0);
  CHECK(files_in(folder / "mu") == std::vector<std::string>{"mu.g0_0_0_0.i0.npy", "mu.g0_0_0_0.i1.npy",
                                                            "mu.g0_0_0_0.i2.npy", "mu.g0_0_0_1.i0.npy",
                                                            "mu.g0_0_0_1.i1.npy", "mu.g0_0_0_1.i2.npy"});
  const auto split = napkin(
      "derive attention --gpu h200-sxm --kernel flash_decoding --shape q=64,x=256,d=64"
      " --tile q=64,x=64,shared.x=128 --at lse_P --dump " +
      (folder / "lse"));
  CAPTURE(split.err);
  REQUIRE(split.code == 0);
  for (const std::string& name : files_in(folder / "lse")) CHECK(npy(folder / ("lse/" + name)).shape.back() == 64);
  CHECK(files_in(folder / "lse").size() == 2);
  REQUIRE(napkin("derive attention" + small + "--at Q --dump " + (folder / "q")).code == 0);
  CHECK(files_in(folder / "q") == std::vector<std::string>{"Q.npy"});
}

TEST_CASE("query --check: kernels of cores, keys dealt out to cores among them") {
  const std::string forward = "query attention --gpu ascend-910b2 --shape h=2,q=384,x=1024,d=64 --check --kernel ";
  const std::string backward =
      "query attention_backward --gpu ascend-950pr --shape h=2,q=384,x=384,d=64 --check --kernel ";
  for (const std::string& question : {forward + "ascend_forward --tile q=128,x=128,cube_x=128,handover=barrier",
                                      forward + "ascend_forward_split --tile q=128,x=128,cube_x=128,split=3",
                                      backward + "ascend_backward --tile x=128,q=128,order=even",
                                      backward + "ascend_backward --tile x=128,q=128,order=columns,l0c=added",
                                      backward + "ascend_backward_s1_outer --tile x=128,q=128,order=rows"}) {
    for (const char* mask : {"", " --causal"}) CHECK(answer(question + mask)["check"]["equal"] == true);
  }
}

TEST_CASE("derive --dump --at pv: what a tile of keys adds to O, where the kernel keeps it apart") {
  const Folder folder;
  const std::string ascend = " --gpu ascend-910b2 --shape q=128,x=512,d=64 --tile q=128,x=128,cube_x=128 ";
  REQUIRE(napkin("derive attention" + ascend + "--at pv --dump " + (folder / "pv")).code == 0);
  CHECK(files_in(folder / "pv") == std::vector<std::string>{"pv.g0_0_0_0.i0.npy", "pv.g0_0_0_0.i1.npy",
                                                            "pv.g0_0_0_0.i2.npy", "pv.g0_0_0_0.i3.npy"});
  check_refused(napkin("derive attention" + ascend + "--at PV --dump " + (folder / "x")), "one of S, P, O, pv, mu");
  check_refused(napkin("derive attention" + small + "--at pv --dump " + (folder / "x")), "'pv' is no intermediate");
}

TEST_CASE("derive --dump: what cannot be is said in a line, exit 2, and leaves no folder") {
  const Folder folder;
  check_refused(napkin("derive attention" + small + "--at X --dump " + (folder / "x")), "--at: 'X' is no intermediate");
  check_refused(napkin("derive attention" + small + "--at S"), "--at: has no meaning without --dump");
  check_refused(napkin("derive attention" + small + "--dump"), "--dump");
  check_refused(napkin("derive attention --dump " + (folder / "x")), "--dump: a run needs sizes");
  check_refused(napkin("derive attention --memory 100000 --shape h=99,q=99999,x=99999,d=64 --dump " + (folder / "x")),
                "200 GFLOP");
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
  check_refused(napkin("derive attention" + small + "--dump " + folder.file("file", "")), "cannot be made");
  check_refused(napkin("derive attention" + small + "--dump /proc/napkin"), "cannot be made");
  std::filesystem::create_directories(folder / "taken/S.g0_0_0_0.i0.npy/inside");
  check_refused(napkin("derive attention" + small + "--at S --dump " + (folder / "taken")), "S.g0_0_0_0.i0.npy");
}

// deps ----------------------------------------------------------------------------------------------------------------

TEST_CASE("deps: the nest of seeds 000, corrected, and as it was printed") {
  const auto right = napkin("deps --nest attention");
  CHECK(right.code == 0);
  for (const char* part :
       {"{S3, S6, S12}", "{S4, S7, S13}", "{S8, S10, S11}", "parallel  0 in every vector", "S12   S3   RAW   m[i]"}) {
    CHECK_MESSAGE(has(right.out, part), part);
  }
  CHECK_FALSE(has(right.out, "defects"));
  const auto wrong = napkin("deps --nest attention_listing");
  CHECK(wrong.code == 0);
  for (const char* part : {"loop d is claimed parallel", "l differs from attention_reference",
                           "privatise:", "hoist out of d (changes the result)", "becomes (0, -, +)"}) {
    CHECK_MESSAGE(has(wrong.out, part), part);
  }
  CHECK(has(napkin("deps --nest skewed").out, "j i: S1 -> S1 RAW A[i,j]: (1, -1) becomes (-1, 1)"));
}

TEST_CASE("deps of every algorithm: the labels agree with the dependences") {
  const Json list = answer("list algorithms");
  CHECK(list["algorithms"].size() > 3);
  for (const Json& one : list["algorithms"]) {
    const auto run = napkin("deps " + one["name"].get<std::string>());
    CHECK(run.code == 0);
    CHECK_MESSAGE(has(run.out, "agree: grouped axes are parallel, the streamed axis carries what is maintained"),
                  one["name"]);
  }
}

TEST_CASE("deps --json: the keys of docs/command-line.md") {
  const Json json = answer("deps --nest attention");
  const Keys keys{"command", "name",  "statements", "arrays",   "vector_loops", "edges",
                  "sccs",    "loops", "orders",     "joinings", "transformed"};
  CHECK(keys_of(json) == keys);
  CHECK(json["vector_loops"] == Json({"i", "j", "d"}));
  for (const Json& statement : json["statements"])
    CHECK(keys_of(statement) == Keys{"name", "text", "loops", "operands"});
  for (const Json& edge : json["edges"]) {
    CHECK(keys_of(edge) == Keys{"from", "to", "kind", "vector", "value", "carried_by"});
    CHECK(edge["vector"].size() == 3);
    const std::string kind = edge["kind"];
    CHECK((kind == "RAW" || kind == "WAR" || kind == "WAW"));
  }
  CHECK(json["sccs"] == cli::parse(R"([["S3","S6","S12"],["S4","S7","S13"],["S8","S10","S11"]])"));
  std::map<std::string, bool> parallel;
  for (const Json& loop : json["loops"]) {
    CHECK(keys_of(loop) == Keys{"name", "iterations", "parallel", "verdict", "carried"});
    parallel[loop["name"]] = loop["parallel"];
    CHECK(loop["carried"].empty() == loop["parallel"].get<bool>());
  }
  CHECK(parallel == std::map<std::string, bool>{{"i", true}, {"j", false}, {"d", true}});
  CHECK(json["orders"].size() == 6);
  for (const Json& order : json["orders"]) CHECK(order["legal"] == true);
  Keys of_diagram = keys;
  std::erase(of_diagram, "transformed");
  CHECK(keys_of(answer("deps attention")) == of_diagram);
  const std::string text = napkin("deps attention").out;
  CHECK(has(text, "S[b,h,g,q,x] * d^-1/2"));
  CHECK_FALSE(has(text, "0.577"));
}

TEST_CASE("deps --svg: a picture where graphviz is there, else said so") {
  const Folder folder;
  const auto run = napkin("deps --nest attention --svg " + (folder / "graph.svg"));
  if (cli::run_program({"sh", "-c", "command -v dot"}).code != 0) {
    MESSAGE("SKIP: no graphviz here");
    return check_refused(run, "graphviz");
  }
  CHECK(run.code == 0);
  const std::string picture = contents(folder / "graph.svg");
  CHECK(has(picture, "<svg"));
  CHECK(has(picture, "</svg>"));
  for (const char* name : {"S3", "S10", "S13"}) CHECK(has(picture, name));
  CHECK(files_in(folder / "") == std::vector<std::string>{"graph.svg"});
}

TEST_CASE("deps: bad input") {
  const Folder folder;
  check_refused(napkin("deps"), "ALGORITHM: is missing");
  check_refused(napkin("deps nosuch"), "no such algorithm");
  check_refused(napkin("deps --nest nosuch"), "no such nest");
  check_refused(napkin("deps attention --nest attention"), "one of the two");
  check_refused(napkin("deps --nest"), "--nest");
  check_refused(napkin("deps --nest skewed --svg /proc/napkin/x.svg"), "--svg");
  const std::string bad = folder.file("bad.yaml", "nest: bad\nloops: {i: 3}\nstatements:\n  - S1(i) a[i] = b[k]\n");
  check_refused(napkin("deps --nest " + bad), "bad.yaml:4:");
  check_refused(napkin("deps --nest " + bad + " --json"), "unknown loop 'k'");
}

// Results in parts ----------------------------------------------------------------------------------------------------

TEST_CASE("three ways to share a result among blocks, and a second launch: their costs in query, compare and list") {
  const std::string question = " attention --gpu h200-sxm --shape h=2,q=128,x=4096,d=64 --tile q=64,x=64,shared.x=1024";
  const std::int64_t rows = 2 * 128, parts = 4, row = 4 * parts * rows;  // bytes of one fp32 value a row in all parts
  struct Way {
    const char* kernel;
    const char* by;
    const char* at;
    std::int64_t steps, load, store;
  };
  for (const Way& way : {Way{"split_keys_ordered", "turns", "l2", 4, 66 * row, 66 * row},
                         Way{"split_keys_grid_sync", "barriers", "l2", 3, 2 * row, 66 * row},
                         Way{"split_keys_cluster", "barriers", "cluster", 3, 2 * row, 66 * row},
                         Way{"flash_decoding", "launch", "device", 1, 65 * row, 65 * row + rows * (64 * 2 + 4)}}) {
    const std::string kernel = way.kernel;
    CAPTURE(kernel);
    const Json json =
        answer("query" + question + (kernel == "split_keys_cluster" ? ",cluster=4" : "") + " --kernel " + kernel);
    CHECK(json["legal"] == true);
    const Json combine = json["combine"];
    CHECK(keys_of(combine) == Keys{"by", "at", "parts", "steps", "load", "store", "time"});
    CHECK(combine["by"] == way.by);
    CHECK(combine["at"] == way.at);
    CHECK(combine["parts"] == parts);
    CHECK(combine["steps"] == way.steps);
    CHECK(combine["load"] == way.load);
    CHECK(combine["store"] == way.store);
    CHECK(combine["time"] > 0);
    CHECK(combine["time"] < json["predicted"]["time"]);
    const std::string shape = " attention --shape h=2,q=128,x=4096,d=64 --kernel ";
    const auto compared = napkin("compare" + shape + kernel + " --gpus h200-sxm,h100-sxm --explain");
    CHECK(compared.code == 0);
    CHECK(has(compared.out, "parts of results"));
    CHECK(answer("compare" + shape + kernel + " --gpus h200-sxm")["machines"][0]["combine"]["by"] == way.by);
  }
  std::map<std::string, Json> listed;
  const Json list = answer("list kernels");
  for (const Json& one : list["kernels"]) listed[one["name"]] = one["combine"];
  CHECK(listed.at("split_keys_ordered") == "turns in l2");
  CHECK(listed.at("split_keys_grid_sync") == "barriers in l2");
  CHECK(listed.at("split_keys_cluster") == "barriers in cluster");
  CHECK(listed.at("flash_decoding") == "launch");
  CHECK(listed.at("attention_sm90").is_null());
  CHECK(has(napkin("list kernels").out, "turns in l2"));
}

TEST_CASE("a profile without latencies has no time to wait, rather than none to lose") {
  const std::string question =
      "query attention --gpu paper-h100 --shape h=2,q=128,x=4096,d=64 --tile q=64,x=64,shared.x=1024"
      " --kernel split_keys_grid_sync";
  CHECK(answer(question)["combine"]["time"].is_null());
  CHECK(has(napkin(question + " --explain").out, "unknown"));
}

TEST_CASE("what the ways demand is a violation, and a machine without clusters is an error") {
  const std::string at = " --shape h=16,q=4096,x=4096,d=64 --tile q=64,x=64,shared.x=1024 --kernel ";
  const Json grid = answer("query attention --gpu h200-sxm" + at + "split_keys_grid_sync");
  CHECK(grid["legal"] == false);
  CHECK(grid["violations"][0]["constraint"] == "resident blocks");
  CHECK(grid["violations"][0]["needed"] == 16 * 64 * 4);
  const Json cluster = answer(
      "query attention --gpu h200-sxm --shape q=64,x=4096,d=64"
      " --tile q=64,x=64,shared.x=1024,cluster=2 --kernel split_keys_cluster");
  CHECK(cluster["violations"][0]["constraint"] == "parts");
  check_refused(napkin("query attention --gpu a100-sxm-80" + at + "split_keys_cluster"), "has no level 'cluster'");
}

}  // namespace

}  // namespace test_cli_oracle
