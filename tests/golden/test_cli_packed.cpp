// --lengths: answers equal those for batches and single sequences; records and replay; refusals.

#include <string>
#include <vector>

#include "tests/golden/cli.hpp"
#include "tests/golden/fake_cuda.hpp"
#include "tests/golden/recorded_row.hpp"

namespace test_cli_packed {

namespace {

using cli::check_refused;
using cli::fake;
using cli::Folder;
using cli::Json;
using cli::keys_of;
using cli::napkin;

const std::string on_h200 = " attention --gpu h200-sxm --shape h=16,d=128";
const std::string tile = " --tile q=128,x=128,cluster=1 ";

Json query(const std::string& rest) {
  const auto run = napkin("query" + on_h200 + rest + " --json");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return run.json();
}

TEST_CASE("a batch of one length is that batch, by either name") {
  for (const std::string mask : {"", " --causal", " --window 300,0"}) {
    CAPTURE(mask);
    const Json batch = query(",b=3,q=1000,x=1300" + tile + mask);
    for (const std::string lengths : {"1000x1300,1000x1300,1000x1300", "3*1000x1300"}) {
      const Json packed = query(" --lengths " + lengths + tile + mask);
      CHECK(packed["lengths"] == Json({{1000, 1300}, {1000, 1300}, {1000, 1300}}));
      for (const char* key : {"shape", "tile", "legal", "work", "levels", "predicted"}) {
        CAPTURE(key);
        CHECK(packed[key] == batch[key]);
      }
    }
  }
}

TEST_CASE("the head has lengths only where they were asked for") {
  const Json packed = query(" --lengths 512,1x4096,0" + tile);
  CHECK(keys_of(packed) ==
        std::vector<std::string>{"command", "algorithm", "gpu",   "kernel",     "dtype",         "mask",     "shape",
                                 "lengths", "tile",      "legal", "violations", "work",          "levels",   "formula",
                                 "optimum", "predicted", "nodes", "registers",  "shared_memory", "occupancy"});
  CHECK(packed["lengths"] == Json({{512, 512}, {1, 4096}, {0, 0}}));
  CHECK(packed["shape"]["b"] == 3);
  CHECK(packed["shape"]["q"] == 512);
  CHECK(packed["shape"]["x"] == 4096);
  CHECK(packed["optimum"].is_null());
  CHECK_FALSE(query(",q=512,x=512" + tile).contains("lengths"));
  // A size that is given twice with the same value is no mistake.
  CHECK(query(",b=3,q=512,x=4096 --lengths 512,1x4096,0" + tile)["predicted"] == packed["predicted"]);
}

TEST_CASE("bytes and work are sums over the sequences, in whatever order") {
  for (const std::string mask : {"", " --causal"}) {
    const Json packed = query(" --lengths 512,1x4096,0,700" + tile + mask),
               turned = query(" --lengths 0,700,1x4096,512" + tile + mask);
    Json sum = {{"levels", {Json::object(), Json::object(), Json::object(), Json::object()}}};
    for (const std::string alone : {",q=512,x=512", ",q=1,x=4096", ",q=700,x=700"}) {
      const Json one = query(alone + tile + mask);
      for (const char* key : {"flops", "executed_flops", "exponentials"})
        sum[key] = sum.value(key, 0LL) + one["work"][key].get<long long>();
      for (std::size_t l = 0; l < one["levels"].size(); ++l) {
        for (const char* key : {"load", "store"})
          sum["levels"][l][key] = sum["levels"][l].value(key, 0LL) + one["levels"][l][key].get<long long>();
      }
    }
    for (const char* key : {"flops", "executed_flops", "exponentials"}) CHECK(packed["work"][key] == sum[key]);
    for (std::size_t l = 0; l < packed["levels"].size(); ++l) {
      for (const char* key : {"load", "store"}) CHECK(packed["levels"][l][key] == sum["levels"][l][key]);
      for (const char* key : {"load", "store", "transfer", "groups"})
        CHECK(turned["levels"][l][key] == packed["levels"][l][key]);
    }
    CHECK(turned["work"] == packed["work"]);
    CHECK(turned["predicted"]["time"].get<double>() ==
          doctest::Approx(packed["predicted"]["time"].get<double>()).epsilon(0.2));
  }
}

TEST_CASE("sequences without keys or queries: zeros are stored, nothing is read") {
  const Json some = query(" --lengths 512" + tile), more = query(" --lengths 512,100x0,0x4096,0" + tile);
  CHECK(more["work"] == some["work"]);
  CHECK(more["levels"][0]["load"] == some["levels"][0]["load"]);
  CHECK(more["levels"][0]["store"].get<long long>() ==
        some["levels"][0]["store"].get<long long>() + 16 * 100 * 128 * 2);
  CHECK(more["predicted"]["time"] >= some["predicted"]["time"]);
}

TEST_CASE("select and compare take lengths; blocks of a cluster do not") {
  const auto run = napkin("select" + on_h200 + " --kernel attention_sm90 --lengths 8192,512,512,64 --json");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json answer = run.json();
  CHECK(answer["tile"]["cluster"] == 1);
  CHECK(answer["lengths"][0] == Json({8192, 8192}));
  const auto one =
      napkin("query" + on_h200 +
             " --kernel attention_sm90 --lengths 8192,512,512,64 --tile cluster=2,order=persistent --json");
  REQUIRE(one.code == 0);
  CHECK(one.json()["legal"] == false);
  CHECK(one.json()["violations"][0]["constraint"] == "cluster lengths");
  const auto masked = napkin("query" + on_h200 +
                             ",q=640,x=640 --kernel attention_sm90 --causal --tile cluster=2,order=persistent --json");
  REQUIRE(masked.code == 0);
  CHECK(masked.json()["violations"][0]["constraint"] == "cluster mask");
  const auto compared =
      napkin("compare attention --gpus h200-sxm,a100-sxm-80 --shape h=16,d=128 --lengths 8192,512,1x64 --json");
  REQUIRE_MESSAGE(compared.code == 0, compared.err);
  CHECK(compared.json()["lengths"] == Json({{8192, 8192}, {512, 512}, {1, 64}}));
  for (const Json& machine : compared.json()["machines"]) {
    CHECK(machine["laws"].is_null());
    CHECK(machine["predicted"]["time"] > 0);
  }
}

TEST_CASE("the abstract machine adds up sequences too") {
  const std::string start = "query attention --memory 20000 --json --tile q=32,x=1 --shape d=64";
  const auto packed = napkin(start + " --lengths 100,30x200,0"), first = napkin(start + ",q=100,x=100"),
             second = napkin(start + ",q=30,x=200");
  for (const auto* run : {&packed, &first, &second}) REQUIRE_MESSAGE(run->code == 0, run->err);
  const auto moved = [](const cli::Run& run) { return run.json()["levels"][0]["transfer"].get<long long>(); };
  CHECK(moved(packed) == moved(first) + moved(second));
}

TEST_CASE("lengths that are none, and what they stand beside") {
  struct Bad {
    const char *rest, *says;
  };
  const Bad bad[] = {
      {" --lengths -1,5", "--lengths"},
      {" --lengths 512,many", "no whole number"},
      {" --lengths 512,,4", "between two commas"},
      {" --lengths 512x", "no whole number"},
      {" --lengths 512x4x4", "no whole number"},
      {" --lengths 0*512", "number of sequences"},
      {" --lengths *512", "number of sequences"},
      {" --lengths 3.5", "no whole number"},
      {" --lengths 99999999999999999999", "64 bits"},
      {" --lengths 2000000*1", "sequences"},
      {" --lengths 0,0", "no sequence has queries and keys"},
      {" --lengths 5x0,0x5", "no sequence has queries and keys"},
      {",q=513 --lengths 512,4", "q=513 stands beside --lengths, by which it is 512"},
      {",x=5 --lengths 512,4", "--shape: x=5"},
      {",b=3 --lengths 512,4", "--shape: b=3"},
      {" --lengths 512 --check", "--check"},
      {" --lengths 9000000000000000000,9000000000000000000", "--shape"},
      {" --lengths", "has no value"},
  };
  for (const Bad& one : bad) {
    CAPTURE(one.rest);
    check_refused(napkin("query" + on_h200 + one.rest), one.says);
  }
  check_refused(napkin("query matmul --gpu h200-sxm --shape a=64,b=64,c=64 --lengths 64"), "no operation with a mask");
  check_refused(napkin("query softmax_contraction --gpu h200-sxm --shape d=64 --lengths 64"), "no axis b");
  check_refused(napkin("select attention --gpu h200-sxm --shape d=64,h=1..8 --lengths 64"), "--lengths");
  check_refused(napkin("timeline" + on_h200 + " --lengths 64"), "is no option");
  check_refused(napkin("validate attention --shape h=2,d=128 --lengths 64 --dump /tmp"),
                "--lengths: stands beside --dump");
}

TEST_CASE("validate measures packed batches: rows keep their lengths, and are predicted anew") {
  const Folder folder;
  const std::string out = folder / "rows.jsonl";
  // Each row sees one key, of which all values are 0: the fake's output is right.
  const std::string line =
      "validate attention --kernel attention_sm90 --shape h=2,d=128 --lengths 512x1,0,7x1,0x64 --lengths 300x1 --json "
      "--out " +
      out;
  const auto run = fake().napkin(line);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const std::string rows = cli::contents(out);
  const Json row = cli::parse(rows.substr(0, rows.find('\n')));
  CHECK(row["lengths"] == Json({{512, 1}, {0, 0}, {7, 1}, {0, 64}}));
  CHECK(row["shape"]["b"] == 4);
  CHECK(row["split"] == "held-out");
  CHECK(row["measured"]["max_error"] == 0);
  CHECK(cli::parse(rows.substr(rows.find('\n') + 1))["lengths"] == Json({{300, 1}}));
  const auto replayed = napkin({"validate", "--json", "--replay", out});
  REQUIRE_MESSAGE(replayed.code == 0, replayed.err);
  CHECK(replayed.json()["kernels"]["attention_sm90"]["held-out"]["rows"] == 2);
  REQUIRE(fake().napkin(line + " --resume").code == 0);
  CHECK(cli::contents(out) == rows);
  CHECK(fake().napkin(line, {"FAKE_CUDA_WRONG=1"}).code == 1);
}

TEST_CASE("a recorded row's lengths: two batches are two questions; a malformed list is refused") {
  Json row = cli::recorded_row(128, 1e-4);
  row["shape"]["b"] = 2;
  row["lengths"] = {{2048, 2048}, {1, 512}};
  Json other = row;
  other["lengths"][1] = {2, 512};
  const Folder folder;
  const auto both = napkin({"validate", "--json", "--replay", folder.file("both.jsonl", cli::lines_of({row, other}))});
  REQUIRE_MESSAGE(both.code == 0, both.err);
  CHECK(both.json()["kernels"]["attention_sm90"]["held-out"]["rows"] == 2);
  for (const Json& bad : {Json::array(), Json({{1, 2, 3}}), Json({{1, -2}}), Json({{2048, 2048}, "x"}), Json(5),
                          Json({{2048, 2048}, {0.5, 1}})}) {
    CAPTURE(bad.dump());
    row["lengths"] = bad;
    check_refused(napkin({"validate", "--replay", folder.file("bad.jsonl", cli::lines_of({row}))}), "bad.jsonl:1");
  }
  row["lengths"] = {{2048, 2048}, {1, 512}, {4, 4}};  // three lengths, where the shape has b = 2
  check_refused(napkin({"validate", "--replay", folder.file("bad.jsonl", cli::lines_of({row}))}), "b=2");
}

}  // namespace

}  // namespace test_cli_packed
