// Answers that looked right and were not: each case misled a user.

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

#include "tests/golden/cli.hpp"

namespace test_cli_mislead {

namespace {

using cli::check_refused;
using cli::Folder;
using cli::Json;
using cli::napkin;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Returns the answer to a line for which no tile may fit.
Json answer(const std::string& line) { return cli::answer(line, 1); }

}  // namespace

TEST_CASE("a percentage is of the tile that the words before it name") {
  for (const std::string line : {"select attention --gpu h200-sxm --shape h=16,q=4096,x=4096,d=128",
                                 "select attention --gpu h200-sxm --shape h=16,q=1,x=8192,d=128",
                                 "select attention --gpu a100-sxm-80 --shape h=16,q=1000,x=1000,d=64 --causal",
                                 "select matmul --gpu h200-sxm --shape a=4096,b=4096,c=4096"}) {
    const Json json = answer(line);
    const std::string because = json["because"];
    CAPTURE(because);
    const std::regex clause("; ([a-z_]+=[^ ;]+)(?: with ([^ ;]+))? fits and is ([0-9.]+) % slower");
    int clauses = 0;
    for (std::sregex_iterator at(because.begin(), because.end(), clause), end; at != end; ++at) {
      Json tile = json["tile"];
      std::string changes = (*at)[1].str() + ((*at)[2].matched ? "," + (*at)[2].str() : "");
      std::string text;
      for (const auto& [knob, value] : tile.items()) {
        const std::regex named("(?:^|,)" + knob + "=([^,]+)");
        std::smatch found;
        const std::string given = value.is_string() ? value.get<std::string>() : value.dump();
        text += (text.empty() ? "" : ",") + knob + "=" +
                (std::regex_search(changes, found, named) ? found[1].str() : given);
      }
      const Json other =
          answer("query" + line.substr(6) + " --kernel " + json["kernel"].get<std::string>() + " --tile " + text);
      CHECK(other["legal"] == true);
      const double slower =
          100 * (other["predicted"]["time"].get<double>() / json["predicted"]["time"].get<double>() - 1);
      CHECK(slower == doctest::Approx(std::stod((*at)[3].str())).epsilon(0.06));
      ++clauses;
    }
    CHECK(clauses + (has(because, "takes as long") ? 1 : 0) + (has(because, "does not fit") ? 1 : 0) >= 1);
  }
}

TEST_CASE("no reason without content") {
  for (const char* gpu : {"h200-sxm", "a100-sxm-80", "mi300x", "rtx-4090", "ascend-910b2"}) {
    for (const char* shape : {"h=16,q=1,x=8192,d=128", "h=1,q=64,x=64,d=64", "h=16,q=4096,x=4096,d=128"}) {
      const auto run = napkin(std::string("select attention --gpu ") + gpu + " --shape " + shape);
      CAPTURE(run.out);
      CHECK_FALSE(
          std::regex_search(std::regex_replace(run.out, std::regex("\n {11}"), " "), std::regex("limited by *(\n|$)")));
      CHECK_FALSE(std::regex_search(run.out, std::regex("[0-9]e[-+][0-9]+ %")));
      std::smatch twice;
      const std::regex instead("([0-9.]+ [a-z]+) instead\\s+of ([0-9.]+ [a-z]+)");
      for (std::sregex_iterator at(run.out.begin(), run.out.end(), instead), end; at != end; ++at)
        CHECK((*at)[1].str() != (*at)[2].str());
    }
  }
  const Json few = answer("select attention --gpu h200-sxm --kernel attention_sm90 --shape h=16,q=1,x=8192,d=128");
  CHECK(few["because"].get<std::string>().starts_with("16 of 132 SMs have work; l2 binds"));
  CHECK(few["nodes"] == Json({{"busy", 16}, {"all", 132}}));
  CHECK(
      has(napkin("query attention --gpu h200-sxm --kernel attention_sm90 --shape h=16,q=1,x=8192,d=128 --explain").out,
          "16 of 132 SMs have work"));
}

TEST_CASE("the words of the machine's makers") {
  const std::string amd = napkin("select attention --gpu mi300x --explain --shape h=16,q=4096,x=4096,d=128").out;
  CHECK(std::regex_search(
      amd, std::regex("LDS(, [0-9]+ of [0-9]+ registers a\\s+thread)?;\\s+[0-9]+\\s+blocks?\\s+a\\s+CU")));
  CHECK_FALSE(has(amd, "an SM"));
  const std::string ascend =
      napkin("select attention --gpu ascend-910b2 --explain --shape h=16,q=4096,x=4096,d=128").out;
  CHECK(has(ascend, "an AI core"));
  CHECK_FALSE(has(ascend, "SM"));
  CHECK_FALSE(has(ascend, "shared memory"));
}

TEST_CASE("select without --kernel knows the kernels that run there, a split of the keys among them") {
  const std::string decode = "select attention --gpu h200-sxm --shape h=16,q=1,x=8192,d=128";
  CHECK(answer(decode)["kernel"] == "attention_decode_sm90");
  CHECK_FALSE(has(napkin(decode).out, "not bundled"));
  const Json json = answer(decode + " --bundled");
  CHECK(json["kernel"] == "attention_decode_sm90");
  std::map<std::string, double> times;
  for (const Json& kernel : json["kernels"]) {
    if (!kernel["predicted"].is_null()) times[kernel["kernel"]] = kernel["predicted"]["time"];
  }
  REQUIRE(times.contains("flash_decoding"));
  CHECK_FALSE(times.contains("split_keys_cluster"));  // a kernel that is only proposed
  CHECK(times["flash_decoding"] * 2 < times["attention_sm90"]);
  CHECK(times["attention_decode_sm90"] < times["flash_decoding"]);
  // No bundled kernel splits keys on an A100: the answer names a faster kernel of another library.
  const std::string ampere = "select attention --gpu a100-sxm-80 --shape h=16,q=1,x=8192,d=128";
  CHECK(has(napkin(ampere).out, "flashinfer_decode_rows16, not bundled"));
  const std::string text = napkin(ampere + " --bundled").out;
  CHECK(has(std::regex_replace(text, std::regex("\n {11}"), " "), "flashinfer_decode_rows16, which is not bundled"));

  const auto fp8 =
      napkin("select attention --gpu h200-sxm --shape h=16,q=4096,x=4096,d=128 --dtype e4m3 --bundled --json");
  CHECK(fp8.code == 0);
  CHECK_FALSE(fp8.json()["kernel"].is_null());
  const Json kernels = fp8.json()["kernels"];
  CHECK(std::any_of(kernels.begin(), kernels.end(),
                    [](const Json& k) { return k["kernel"] == "flash_attention_3_fp8"; }));
  CHECK(fp8.json()["kernel"] == "attention_fp8_sm90");  // bundled
}

TEST_CASE("compare --kernels all: the fastest first, each as select has it, none below the bound") {
  const std::string question = " --gpu h200-sxm --shape h=16,q=2048,x=2048,d=128";
  const Json json = answer("compare attention --kernels all" + question);
  double before = 0, bound = 0;
  std::set<std::string> names;
  for (const Json& machine : json["machines"]) {
    if (machine["predicted"].is_null()) continue;
    const double time = machine["predicted"]["time"];
    if (machine["kernel"].is_null()) {
      CHECK(machine["predicted"]["at_least"] == true);
      bound = time;
      continue;
    }
    names.insert(machine["kernel"].get<std::string>());
    CHECK(time >= before);
    before = time;
  }
  CHECK(names.contains("attention_sm90"));
  CHECK(names.contains("flash_attention_3"));
  CHECK(bound > 0);
  const Json one = answer("select attention --kernel flash_attention_3" + question);
  for (const Json& machine : json["machines"]) {
    if (machine["predicted"].is_null()) continue;
    CHECK(machine["predicted"]["time"].get<double>() >= bound);
    if (machine["kernel"] == "flash_attention_3") CHECK(machine["predicted"]["time"] == one["predicted"]["time"]);
  }
  check_refused(napkin("compare attention --kernels all --gpus h200-sxm --shape q=1,x=1,d=64"),
                "--gpus: stands beside");
  check_refused(napkin("compare attention --gpu h200-sxm --shape q=1,x=1,d=64"), "--gpu: stands without --kernels");
  check_refused(napkin("compare attention --kernels attention_sm91 --gpu h200-sxm --shape q=1,x=1,d=64"),
                "--kernels: unknown kernel 'attention_sm91': did you mean 'attention_sm90'");
}

TEST_CASE("a user's diagram that is attention by its structure finds attention's kernels") {
  const Folder folder;
  std::string text = cli::contents(std::string(NAPKIN_SOURCE_DIR) + "/model/diagram/algorithms/attention.yaml");
  const std::string name = "algorithm: attention";
  text.replace(text.find(name), name.size(), "algorithm: mine");
  const std::string question = " --gpu h200-sxm --shape h=16,q=2048,x=2048,d=128";
  const Json mine = answer("select " + folder.file("mine.yaml", text) + question);
  const Json theirs = answer("select attention" + question);
  CHECK(mine["algorithm"] == "mine");
  CHECK(mine["kernel"] == "attention_sm90");
  CHECK(mine["predicted"]["time"] == theirs["predicted"]["time"]);
}

TEST_CASE("nothing fits only where nothing does: an axis shorter than an instruction is padded") {
  for (const char* gpu : {"a100-sxm-80", "h200-sxm", "mi300x", "v100-sxm2"}) {
    const Json json =
        answer(std::string("select matmul --shape a=4096,b=4096,c=1 --kernel ideal --dtype f16 --gpu ") + gpu);
    CAPTURE(gpu);
    CHECK_FALSE(json["tile"].empty());
    CHECK(json["predicted"]["time"].get<double>() > 0);
  }
}

TEST_CASE("a knob that no search turns is named where it alone would make a tile fit") {
  const std::string question =
      "select attention --gpu h200-sxm --bundled --dtype e4m3 --json --shape h=16,q=4096,x=4096,d=";
  const auto because = [](const cli::Run& run) { return run.json()["because"].get<std::string>(); };
  const auto wide = napkin(question + "256");  // a running sum in e4m3 loses V's mean, so that it must be asked for
  CHECK(wide.code == 1);
  CHECK(has(because(wide), "accumulate=running fits and is the user's to ask for (where O is summed"));
  CHECK(has(because(wide), "lose a quarter of V's mean"));
  const auto asked = napkin(question + "256 --tile accumulate=running");
  CHECK(asked.code == 0);
  const auto refused = napkin(question + "256 --tile accumulate=chunk");
  CHECK(refused.code == 1);
  CHECK_FALSE(has(because(refused), "accumulate"));
  const auto narrow = napkin(question + "128 --tile x=64,warpgroups=3,q=192,stages=3");
  CHECK(narrow.code == 1);
  CHECK_FALSE(has(because(narrow), "the user's to ask for"));
}

TEST_CASE("a level that takes longer at its bandwidth than the call is explained") {
  const std::string question = "query matmul --shape a=4096,b=4096,c=4096 --gpu ";
  for (const char* gpu : {"h800-pcie", "h200-sxm", "h100-sxm"}) {
    const Json json = answer(question + gpu);
    CAPTURE(gpu);
    for (const Json& level : json["levels"]) {
      if (level["time"].is_null() || level["time"] <= json["predicted"]["time"]) continue;
      const Json notes = json.value("notes", Json::array());
      CHECK(std::any_of(notes.begin(), notes.end(), [&](const Json& note) {
        return note.get<std::string>().starts_with(level["name"].get<std::string>() + " shows ");
      }));
    }
  }
  CHECK(has(napkin(question + "h800-pcie").out, "what several read at a time"));
}

TEST_CASE("nothing fits one launch: the algorithm is cut, and its launches' transfers are its own") {
  for (const std::string line : {"mlp --gpu h200-sxm --shape m=4096,k=4096,h=16384",
                                 "attention_backward --kernel ideal --gpu h200-sxm --shape q=8192,x=8192,d=128"}) {
    const Json json = answer("query " + line), selected = answer("select " + line);
    CAPTURE(line);
    REQUIRE(json.contains("launches"));
    CHECK(json["launches"].size() >= 2);
    CHECK(json["legal"] == true);
    CHECK(json["launches"] == selected["launches"]);
    for (std::size_t l = 0; l < json["levels"].size(); ++l) {
      std::int64_t load = 0, store = 0;
      for (const Json& launch : json["launches"]) {
        load += launch["levels"][l]["load"].get<std::int64_t>();
        store += launch["levels"][l]["store"].get<std::int64_t>();
        if (!launch["levels"][l]["memory_limit"].is_null())
          CHECK(launch["levels"][l]["memory"] <= launch["levels"][l]["memory_limit"]);
      }
      CHECK(json["levels"][l]["load"] == load);
      CHECK(json["levels"][l]["store"] == store);
    }
    // Results that one launch leaves for another are stored and loaded; the last result is the algorithm's.
    std::set<std::string> made;
    for (const Json& launch : json["launches"]) {
      for (const Json& name : launch["outputs"]) made.insert(name.get<std::string>());
    }
    CHECK(made.contains(line.starts_with("mlp") ? "Y" : "dQ"));
    const std::string text = napkin("select " + line).out;
    CHECK(has(text, "a tile for each of " + std::to_string(json["launches"].size()) + " launches"));
    CHECK(has(text, "\ntakes      at least "));
    CHECK(has(napkin("select " + line + " --explain").out, "whose own bounds add up to "));
  }
  const Json mlp = answer("query mlp --gpu h200-sxm --shape m=4096,k=4096,h=16384");
  REQUIRE(mlp["launches"].size() == 2);
  CHECK(mlp["launches"][0]["outputs"] == Json({"A"}));
  CHECK(mlp["launches"][1]["inputs"] == Json({"A", "W2"}));
}

TEST_CASE("what device memory does not hold is not legal") {
  const std::string line = " attention --gpu h200-sxm --shape h=131072,q=8192,x=8192,d=128";
  const Json json = answer("query" + line + " --kernel attention_sm90");
  CHECK(json["legal"] == false);
  CHECK(json["violations"][0]["constraint"] == "device memory");
  CHECK(json["violations"][0]["needed"] == 4 * 131072LL * 8192 * 128 * 2);
  CHECK(napkin("select" + line).code == 1);
  CHECK(answer("query attention --gpu h200-sxm --shape h=1024,q=8192,x=8192,d=128")["legal"] == true);
}

TEST_CASE("divisors of parts of an axis are enforced in napkin_fp8, with their cause") {
  const std::string line =
      "query attention --gpu h200-sxm --dtype e4m3 --kernel napkin_fp8 --shape q=4096,x=4096,d=128 --tile ";
  CHECK(answer(line + "x=64,u_x=64,d_block=32,d_step=8")["legal"] == true);
  const Json json = answer(line + "x=48,u_x=12,d_step=2");
  CHECK(json["legal"] == false);
  std::string words;
  for (const Json& violation : json["violations"]) words += violation["text"].get<std::string>() + "; ";
  CHECK(has(words, "wgmma k of O"));
  CHECK(has(words, "16-byte reads of dO"));
}

TEST_CASE("a closed form is an equality only where it gives the minimum") {
  const auto given = [](const std::string& line) {
    const Json optimum = answer("query " + line)["optimum"];
    const std::string text = napkin("query " + line).out;
    const bool equal = has(text, ": H* = "), below = has(text, ": H* >= ");
    CHECK(equal != below);
    return std::pair(equal, optimum);
  };
  bool both[2] = {false, false};
  for (const std::string& shape : {std::string("a=1000,b=1000,c=1000"), std::string("a=8,b=8,c=8"),
                                   std::string("a=1000,b=8,c=8"), std::string("a=3,b=1000,c=1000")}) {
    CAPTURE(shape);
    const auto result = given("matmul --memory 4096 --shape " + shape);
    double sum = 0;
    for (const Json& term : result.second["terms"])
      sum += term["alpha"].get<double>() * std::pow(4096, -term["beta"].get<double>());
    const double transfer = result.second["transfer"];
    CHECK(result.first == (std::abs(sum - transfer) <= 1e-6 * transfer));
    both[result.first ? 1 : 0] = true;
  }
  CHECK(both[1]);
}

TEST_CASE("a law of all pairs says so under a mask, and no least is more than what a tile moves") {
  const std::string masked =
      napkin("query attention --gpu h200-sxm --shape q=8192,x=8192,d=128 --window 128,0 --explain").out;
  CHECK(has(masked, "H = 2 q d + 2 q x d / g_q of all pairs"));
  CHECK(has(masked, "/ M of all"));
  CHECK(has(masked, "at least where caches hold what their nodes do, of all pairs\n"));
  CHECK(has(masked, "that meet every constraint, of the pairs"));
  CHECK(has(std::regex_replace(masked, std::regex("\n +"), " "), "at their peak, of all pairs"));
  const std::string plain = napkin("query attention --gpu h200-sxm --shape q=8192,x=8192,d=128 --explain").out;
  CHECK(!has(plain, "all pairs"));
  const std::string compared =
      napkin("compare attention --gpus h200-sxm,h100-sxm --shape q=8192,x=8192,d=128 --causal --explain").out;
  CHECK(has(compared, "least H of any tile, one level at a time, of all pairs"));
}

TEST_CASE("the rows of a border count in the formulas, which say so, and not in the least of whole groups") {
  const Folder folder;
  const std::string path = folder.file("strided.yaml",
                                       "algorithm: strided\naxes: {i: , k: 5, x: , c: , o: c}\n"
                                       "inputs: [\"X[x: 3*i + 2*k - 4, c]\", \"W[k,c,o]\"]\noperations:\n"
                                       "  - Y[i,o] = contract over k, c (X, W)\noutputs: [Y]\n");
  const std::string line = "query " + path + " --memory 2000 --shape i=17,x=40,c=6";
  const Json json = answer(line);
  const Json& low = json["levels"][0];
  CHECK(json["optimum"]["integer"]["transfer"] == low["load"].get<int>() + low["store"].get<int>());
  CHECK(json["optimum"]["integer"]["transfer"] == 40 * 6 + 5 * 6 * 6 + 17 * 6);  // bytes of X, W and Y, each once
  CHECK(has(napkin(line).out, "with the rows of the border"));
}

TEST_CASE("derive names the divisors of a kernel's sizes with their causes") {
  const Json json =
      answer("derive attention --gpu h200-sxm --dtype e4m3 --kernel napkin_fp8 --shape q=4096,x=4096,d=128");
  std::string causes;
  for (const Json& one : json["divisors"]) {
    for (const Json& cause : one["causes"]) causes += cause["cause"].get<std::string>() + ";";
  }
  CHECK(has(causes, "coalescing of V"));
  CHECK(has(causes, "wgmma"));
  CHECK(has(napkin("derive attention --show labels --gpu h200-sxm --dtype e4m3 --kernel napkin_fp8 "
                   "--shape q=4096,x=4096,d=128")
                .out,
            "keys of a subloop (wgmma k of O): u_x="));
}

TEST_CASE("the ideal mapping by its name is no want of a kernel") {
  const Json json = answer("select attention --gpu h200-sxm --shape q=112,x=8192,d=128 --kernel ideal");
  CHECK_FALSE(has(json["because"], "no kernel is known"));
  CHECK(has(json["because"], "the ideal mapping is no kernel"));
  // Of an algorithm that no kernel runs there, it is.
  CHECK(has(answer("select layer_norm --gpu h200-sxm --shape m=4096,k=1024")["because"], "no kernel is known"));
}

TEST_CASE("a type that a machine has no instruction for: the machine says so, with the types that it has") {
  for (const std::string line : {"select attention --gpu v100-sxm2 --shape q=64,x=64,d=64",
                                 "query matmul --gpu a100-sxm-80 --shape a=64,b=64,c=64 --dtype e4m3"}) {
    const auto run = napkin(line);
    CAPTURE(run.err);
    CHECK(run.code == 2);
    CHECK(has(run.err, ": no tensor instruction for "));
    CHECK(has(run.err, "--dtype with one of "));
    CHECK(has(run.err, "f16"));
    CHECK_FALSE(has(run.err, "operations"));
  }
}

TEST_CASE("a card that may take no more than it takes idle has no time, nor have tokens that are not among the keys") {
  const std::string step = "step llama3-8b --gpu h100-sxm --shape b=64,q=1,x=4096";
  check_refused(napkin(step + " --power 100"), "--power: 100 W is not above the idle power of h100-sxm");
  check_refused(napkin("step llama3-8b --gpu h100-sxm --shape b=1,q=8,x=4"), "x from 8");
}

TEST_CASE("cards that cannot take a condition are rows of a comparison, with the reason") {
  const std::string line = "compare attention --load burst --shape h=8,q=4096,x=4096,d=128 --gpus ";
  const Json machines = cli::answer(line + "mi300x,h100-sxm")["machines"];
  REQUIRE(machines.size() == 2);
  CHECK(has(machines[0]["because"], "no power.burst"));
  CHECK(machines[1]["predicted"]["time"].get<double>() > 0);
  check_refused(napkin(line + "mi300x"), "no power.burst");
}

TEST_CASE("of kernels whose instructions are equally fast the fastest is the head") {
  for (const std::string question :
       {"mi300x --shape b=32,h=8,g=8,q=1,x=4096,d=64", "mi355x --shape h=1,g=8,q=64,x=512,d=128",
        "mi300x --shape b=8,h=8,g=4,q=1,x=8192,d=128", "mi355x --shape b=4,h=8,g=8,q=4,x=4096,d=128"}) {
    const Json json = answer("select attention --gpu " + question);
    CAPTURE(question);
    REQUIRE(json["kernels"].size() > 1);
    for (const Json& kernel : json["kernels"]) {
      CAPTURE(kernel.dump());
      if (kernel.contains("predicted") && kernel["predicted"].is_object())
        CHECK(kernel["predicted"]["time"].get<double>() > 0.98 * json["predicted"]["time"].get<double>());
    }
  }
}

TEST_CASE("keys that a window hides from all rows take no room in the L2") {
  const auto time = [](const char* keys) {
    return answer(std::string("query attention --gpu h100-sxm --kernel attention_sm90 --window 127,0 --shape "
                              "b=16,h=8,g=8,q=1,d=128,x=") +
                  keys)["predicted"]["time"]
        .get<double>();
  };
  CHECK(time("131072") == doctest::Approx(time("256")).epsilon(0.01));
}

}  // namespace test_cli_mislead
