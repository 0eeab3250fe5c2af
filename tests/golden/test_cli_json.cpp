// The JSON of every command: its keys, and that its numbers agree with each other and with sums by hand.

#include <algorithm>
#include <map>
#include <set>

#include "tests/golden/cli.hpp"

namespace test_cli_json {

namespace {

using cli::Json;
using cli::keys_of;
using cli::napkin;
using Keys = std::vector<std::string>;

const std::string shape = " --shape b=2,h=16,q=8192,x=8192,d=128 ";
const Keys head = {"command", "algorithm", "gpu", "kernel", "dtype", "mask", "shape", "tile"};
const Keys level = {"name",
                    "groups",
                    "load",
                    "store",
                    "transfer",
                    "delivered",
                    "transfer_per_group",
                    "memory_lower_bound",
                    "memory_live",
                    "memory",
                    "memory_limit",
                    "bandwidth",
                    "time"};
const Keys predicted = {"cycles", "clock", "power", "time", "tflops", "bound", "pipes"};

Keys operator+(Keys a, const Keys& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Returns the answer to a line, which must be one object on one line, with exit code 0.
Json answer(const std::string& line) {
  const auto run = napkin(line);
  CAPTURE(line);
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(run.err.empty());
  CHECK(run.out.find('\n') == run.out.size() - 1);
  return run.json();  // a parser of JSON refuses NaN and Infinity
}

/// Checks a prediction; `flops` are the question's, if known.
void check_prediction(const Json& json, const Json& flops = nullptr) {
  Keys known = predicted;  // a runner-up has no other keys
  for (const char* key : {"at_least", "likely", "standing"}) {
    if (json.contains(key)) known.emplace_back(key);
  }
  CHECK(keys_of(json) == known);
  const auto number = [&](const char* key) { return json[key].get<double>(); };
  CHECK(number("clock") > 1e8);
  CHECK(number("cycles") > 0);
  CHECK(number("time") >= number("cycles") / number("clock"));  // time also has the launch's begin and end
  if (!flops.is_null())
    CHECK(number("tflops") * 1e12 * number("time") == doctest::Approx(flops.get<double>()).epsilon(1e-9));
  CHECK_FALSE(json["pipes"].empty());
  double busiest = 0;
  for (const auto& [name, busy] : json["pipes"].items()) {
    CHECK(busy >= 0);
    CHECK(busy <= 1.0000001);
    busiest = std::max(busiest, busy.get<double>());
  }
  const std::string bound = json["bound"];
  if (json["pipes"].contains(bound)) CHECK(json["pipes"][bound] == busiest);
}

/// Checks the levels; `fits`: true for a legal tile.
void check_levels(const Json& levels, bool fits = true) {
  REQUIRE(levels.is_array());
  REQUIRE_FALSE(levels.empty());
  for (Json one : levels) {
    if (one.contains("hit_rate")) {
      CHECK((one["name"] == "l2" || one["name"] == "infinity_cache"));
      CHECK(one["hit_rate"] <= 1);
      CHECK(one["hit_rate_apart"] <= one["hit_rate"]);
      CHECK(one["hit_rate_apart"] >= 0);
      one.erase("hit_rate");
      one.erase("hit_rate_apart");
    }
    CHECK(keys_of(one) == level);
    const auto whole = [&](const char* key) { return one[key].get<std::int64_t>(); };
    CHECK(whole("transfer") == whole("load") + whole("store"));
    CHECK(whole("groups") > 0);
    CHECK(whole("transfer_per_group") * whole("groups") >= whole("transfer"));  // groups at an edge move less
    CHECK(whole("memory_live") >= whole("memory_lower_bound"));
    if (fits && !one["memory_limit"].is_null()) CHECK(whole("memory") <= whole("memory_limit"));
    if (!one["bandwidth"].is_null())
      CHECK(one["time"].get<double>() ==
            doctest::Approx(one["transfer"].get<double>() / one["bandwidth"].get<double>()).epsilon(1e-9));
  }
}

/// Checks the bytes that attention of `shape` moves, with 2 bytes a value: every block reads all keys and values of its
/// head.
void check_attention_bytes(const Json& json) {
  const std::int64_t q = json["tile"]["q"], array = 2 * 16 * 8192 * 128 * 2, blocks = 2 * 16 * ((8192 + q - 1) / q);
  bool found = false;
  for (const Json& one : json["levels"]) {
    CHECK(one["store"] == array);
    if (one["name"] == "l2") CHECK(one["load"] == 3 * array);
    if (one["name"] != "shared") continue;
    CHECK(one["groups"] == blocks);
    CHECK(one["load"] == array + blocks * 8192 * (128 + 128) * 2);
    found = true;
  }
  CHECK(found);
}

TEST_CASE("query on a GPU") {
  const Json json = answer("query attention --gpu h200-sxm --dtype bf16 --json" + shape);
  CHECK(keys_of(json) == head + Keys{"legal", "violations", "work", "levels", "formula", "optimum", "unfused", "laws",
                                     "predicted", "nodes", "registers", "shared_memory", "occupancy"});
  CHECK(json["registers"]["per_thread"].get<int>() <= json["registers"]["limit"].get<int>());
  CHECK(json["occupancy"]["blocks_per_sm"].get<int>() >= 1);
  CHECK(json["command"] == "query");
  CHECK(json["algorithm"] == "attention");
  CHECK(json["gpu"] == "h200-sxm");
  CHECK(json["kernel"] == "attention_sm90");
  CHECK(json["dtype"] == "bf16");
  CHECK(json["mask"] == "none");
  CHECK(json["shape"] == Json({{"b", 2}, {"h", 16}, {"g", 1}, {"q", 8192}, {"x", 8192}, {"d", 128}, {"dv", 128}}));
  CHECK(json["tile"]["q"].is_number_integer());
  CHECK(json["tile"]["pingpong"].is_string());
  CHECK(json["legal"] == true);
  CHECK(json["violations"] == Json::array());
  CHECK(keys_of(json["work"]) == Keys{"flops", "executed_flops", "exponentials"});
  CHECK(json["work"]["flops"] == 4LL * 2 * 16 * 8192 * 8192 * 128);
  check_levels(json["levels"]);
  check_attention_bytes(json);
  CHECK(keys_of(json["formula"]) == Keys{"transfer", "memory"});
  CHECK(keys_of(json["optimum"]) == Keys{"terms", "transfer", "group", "integer"});
  CHECK(keys_of(json["optimum"]["integer"]) == Keys{"transfer", "group"});
  CHECK(keys_of(json["laws"]) == Keys{"levels", "bound", "weighted", "tile_weighted", "computing", "flops_per_second",
                                      "computing_energy", "crossings", "clusters", "minima", "caching"});
  for (const Json& term : json["optimum"]["terms"]) CHECK(keys_of(term) == Keys{"alpha", "beta"});
  CHECK(json["optimum"]["integer"]["transfer"].get<double>() >= json["optimum"]["transfer"].get<double>());
  CHECK(json["work"]["exponentials"] >= 2LL * 16 * 8192 * 8192);
  check_prediction(json["predicted"], json["work"]["flops"]);
}

TEST_CASE("masks") {
  CHECK(answer("query attention --gpu h200-sxm --causal --json" + shape)["mask"] == "causal");
  CHECK(answer("query attention --gpu h200-sxm --window 1023,0 --json" + shape)["mask"] ==
        Json({{"window", {1023, 0}}}));
  CHECK(answer("query attention --gpu h200-sxm --window 9223372036854775807,9223372036854775807 --json" +
               shape)["mask"]["window"][1] == 2 * 8192);  // the window is cut to the array
}

TEST_CASE("a violated constraint is data, and the answer is still given") {
  const Json json =
      answer("query attention --gpu h200-sxm --json --kernel attention_sm90 --tile q=192,x=256,stages=4" + shape);
  CHECK(json["legal"] == false);
  REQUIRE_FALSE(json["violations"].empty());
  for (const Json& violation : json["violations"]) {
    CHECK(keys_of(violation) == Keys{"constraint", "needed", "available", "text"});
    CHECK(violation["needed"] > violation["available"]);
  }
  CHECK(json["tile"]["q"] == 192);
  CHECK(json["tile"]["x"] == 256);
  CHECK(json["tile"]["stages"] == 4);
  check_levels(json["levels"], false);
}

TEST_CASE("no bundled kernel: another's; none at all: the ideal mapping, whose time is a bound") {
  CHECK(answer("query attention --gpu mi300x --json" + shape)["kernel"] == "ck_tile");
  CHECK(napkin("select attention --gpu mi300x --json" + shape).code == 0);
  CHECK(answer("query attention --gpu ascend-910b2 --json" + shape)["kernel"] == "ascend_forward");
  const std::string product = " --shape a=4096,b=4096,c=4096 --json";
  const Json json = answer("query matmul --gpu ascend-910b2" + product);
  CHECK(json["kernel"].is_null());
  CHECK(json["predicted"]["at_least"] == true);
  check_levels(json["levels"]);
  const auto run = napkin("select matmul --gpu ascend-910b2" + product);
  CHECK(run.code == 1);
  CHECK(run.json()["kernel"].is_null());
  CHECK(answer("query mlp --gpu mi300x --shape m=128,k=128,h=128 --json")["kernel"].is_null());
  for (const auto& [gpu, kernels] :
       std::map<std::string, std::set<std::string>>{{"a100-sxm-80", {"vendor_matmul_sm80", "triton_matmul_sm80"}},
                                                    {"rtx-4090", {"vendor_matmul_sm80", "triton_matmul_sm80"}},
                                                    {"mi300x", {"vendor_matmul_gfx942"}},
                                                    {"h200-sxm", {"matmul_sm90"}}}) {
    CHECK(kernels.contains(answer("query matmul --gpu " + gpu + product)["kernel"].get<std::string>()));
    CHECK(answer("select matmul --gpu " + gpu + product)["kernel"].is_string());
  }
}

TEST_CASE("query on the abstract machine") {
  const Json json = answer("query attention --memory 512 --shape q=96,x=80,d=16 --json");
  CHECK(keys_of(json) == head + Keys{"legal", "violations", "work", "levels", "formula", "optimum"});
  CHECK(json["gpu"].is_null());
  CHECK(json["kernel"].is_null());
  REQUIRE(json["levels"].size() == 1);
  CHECK(json["levels"][0]["name"] == "low");
  CHECK(json["levels"][0]["memory"] == json["levels"][0]["memory_live"]);
  CHECK(json["levels"][0]["memory_limit"] == 512);
  CHECK(json["levels"][0]["bandwidth"].is_null());
}

TEST_CASE("select") {
  const Json json = answer("select attention --gpu h200-sxm --dtype bf16 --top 4 --json" + shape);
  CHECK(keys_of(json) == head + Keys{"predicted", "nodes", "levels", "registers", "shared_memory", "occupancy",
                                     "alternatives", "candidates", "rejected", "because", "kernels"});
  CHECK(json["command"] == "select");
  check_prediction(json["predicted"]);
  check_levels(json["levels"]);
  check_attention_bytes(json);
  CHECK(keys_of(json["registers"]) == Keys{"per_thread", "limit"});
  CHECK(json["registers"]["per_thread"] <= json["registers"]["limit"]);
  CHECK(keys_of(json["shared_memory"]) == Keys{"bytes", "limit"});
  CHECK(json["shared_memory"]["bytes"] <= json["shared_memory"]["limit"]);
  CHECK(keys_of(json["occupancy"]) == Keys{"blocks_per_sm", "limited_by"});
  REQUIRE(json["alternatives"].size() == 3);
  double before = json["predicted"]["time"];
  for (const Json& other : json["alternatives"]) {
    CHECK(keys_of(other) == Keys{"tile", "predicted"});
    CHECK(keys_of(other["tile"]) == keys_of(json["tile"]));
    CHECK(keys_of(other["predicted"]) == predicted);
    CHECK(other["predicted"]["time"] >= before);
    before = other["predicted"]["time"];
  }
  CHECK(json["candidates"] > 1000);
  std::int64_t rejected = 0;
  for (const auto& [constraint, count] : json["rejected"].items()) rejected += count.get<std::int64_t>();
  CHECK(rejected > 0);
  CHECK(rejected < json["candidates"]);
  CHECK(json["because"].get<std::string>().size() > 20);
}

TEST_CASE("query answers about the tile that select selects") {
  const Json selected = answer("select attention --gpu h200-sxm --json" + shape);
  Json queried = answer("query attention --gpu h200-sxm --json" + shape);
  CHECK(queried["levels"][0].erase("hit_rate") == 1);  // a key of query's answers alone
  CHECK(queried["levels"][0].erase("hit_rate_apart") == 1);
  CHECK(queried["tile"] == selected["tile"]);
  CHECK(queried["predicted"] == selected["predicted"]);
  CHECK(queried["levels"] == selected["levels"]);
}

TEST_CASE("query's time counts what device memory sends again, and how much longer loads wait for it") {
  const auto asked = [](const std::string& gpu, const std::string& order) {
    return answer("query attention --gpu " + gpu +
                  " --shape b=16,h=16,q=4096,x=4096,d=128 --kernel flash_from_scratch --json --tile "
                  "q=64,x=64,warps=4,o_in=over_q,order=" +
                  order);
  };
  const Json fastest = asked("gb10", "queries_fastest"), slowest = asked("gb10", "queries_slowest");
  CHECK(slowest["predicted"]["bound"] == "device");
  const Json& l2 = slowest["levels"][0];
  CHECK(slowest["predicted"]["time"].get<double>() >= l2["delivered"].get<double>() / l2["bandwidth"].get<double>());
  CHECK(fastest["predicted"]["time"] < slowest["predicted"]["time"]);
  CHECK(fastest["levels"][0]["hit_rate"] > 0.97);
  CHECK(l2["hit_rate"] < 0.02);
  // Heads as the fastest axis: about 3 and 1 % by the kernel's author, who counts 16.83 TFLOP/s of half of the FLOPs.
  for (const std::string gpu : {"rtx-3090", "a100-sxm-40"}) {
    const Json in_order = asked(gpu, "queries_fastest"), by_heads = asked(gpu, "heads_fastest");
    const double longer = by_heads["predicted"]["time"].get<double>() / in_order["predicted"]["time"].get<double>() - 1;
    CAPTURE(gpu);
    CHECK(longer > 0.01);
    CHECK(longer < 0.03);
    if (gpu == "rtx-3090")
      CHECK(in_order["predicted"]["tflops"].get<double>() == doctest::Approx(2 * 16.83).epsilon(0.08));
  }
}

TEST_CASE("a rate that its own profile disputes is said in answers of kernels that use it, and of no others") {
  const auto notes = [](const std::string& question) {
    return answer(question + " --json").value("notes", Json::array());
  };
  const std::string ascend = " attention_backward --gpu ascend-950pr --shape h=1,q=4096,x=4096,d=128";
  for (const std::string command : {"query", "select"}) {
    const Json said = notes(command + ascend);
    REQUIRE(said.size() == 1);
    CHECK(said[0].get<std::string>().starts_with(
        "units.fp32.rate is disputed: 32 results/clk here, 64 results/clk by another source (derived: 256 B/clk"));
  }
  CHECK(notes("query attention_backward --gpu ascend-950pr --shape h=1,q=4096,x=4096,d=128 --kernel ideal").empty());
  CHECK(notes("query attention --gpu h200-sxm" + shape).empty());
}

TEST_CASE("derive") {
  const Json json = answer("derive attention --json");
  CHECK(keys_of(json) == head + Keys{"diagram", "axes", "steps", "labels", "pseudocode", "divisors", "parts", "stages",
                                     "expansion", "columns", "table"});
  CHECK(json["table"].is_null());
  for (const Json& axis : json["axes"]) CHECK(keys_of(axis) == Keys{"name", "role", "streamable", "why"});
  const Json with = answer("derive attention --gpu h200-sxm --json" + shape);
  CHECK(keys_of(with) == keys_of(json));
  CHECK(with["table"]["variables"].size() > 3);
  CHECK(with["gpu"] == "h200-sxm");
}

TEST_CASE("compare") {
  const Json json = answer("compare attention --gpus h200-sxm,a100-sxm-80 --dtype bf16,f16 --json" + shape);
  CHECK(keys_of(json) == Keys{"command", "algorithm", "mask", "shape", "machines", "one_standing", "quantisation"});
  REQUIRE(json["machines"].size() == 4);
  CHECK(json["machines"][0]["gpu"] == "h200-sxm");
  CHECK(json["machines"][1]["dtype"] == "f16");
  CHECK(json["machines"][3]["gpu"] == "a100-sxm-80");
  for (const Json& machine : json["machines"]) {
    CHECK(keys_of(machine) == Keys{"gpu", "kernel", "dtype", "tile", "predicted", "levels", "because", "laws"});
    const Json selected = answer("select attention --json --gpu " + machine["gpu"].get<std::string>() + " --dtype " +
                                 machine["dtype"].get<std::string>() + shape);
    CHECK(machine["tile"] == selected["tile"]);
    CHECK(machine["predicted"] == selected["predicted"]);
    CHECK(machine["levels"] == selected["levels"]);
  }
}

TEST_CASE("list") {
  for (const char* kind : {"gpus", "algorithms", "kernels"}) {
    const Json json = answer(std::string("list ") + kind + " --json");
    const bool gpus = kind == std::string("gpus");
    CHECK(keys_of(json) == (gpus ? Keys{"command", kind, "islands"} : Keys{"command", kind}));
    CHECK(json[kind].size() > 3);
    for (const Json& one : json[kind]) CHECK(one["about"].get<std::string>().size() > 3);
  }
  std::set<std::string> listed, shipped;
  const Json gpus = answer("list gpus --json")["gpus"];
  for (const Json& one : gpus) listed.insert(one["name"].get<std::string>());
  for (const auto& file : std::filesystem::directory_iterator(NAPKIN_SOURCE_DIR "/hardware_profiles")) {
    if (file.path().extension() == ".yaml") shipped.insert(file.path().stem().string());
  }
  CHECK(listed == shipped);
}

}  // namespace

}  // namespace test_cli_json
