// napkin calibrate from the command line: refused options, its behaviour without a GPU, and the fit of recorded
// readings.

#include <algorithm>
#include <set>

#include "tests/golden/cli.hpp"
#include "tests/golden/fake_cuda.hpp"

namespace test_calibrate {

namespace {

using cli::Json;
using Words = std::vector<std::string>;

const std::string readings =
    R"({"command":"calibrate","experiment":"waiting","with":{"for":"mbarrier_round"},"quantity":"round","unit":"clk","values":[31.2,31.4,31.3],"device":"NVIDIA H200","driver":"580.1","cuda":"13.0","date":"2026-11-21T20:00:00Z","revision":"abc"})"
    "\n"
    R"({"command":"calibrate","experiment":"vector_alone","with":{"work":"ex2","groups":"2"},"quantity":"rate","unit":"instructions/clk","values":[0.5],"device":"NVIDIA H200","driver":"580.1","cuda":"13.0","date":"2026-11-21T20:00:00Z","revision":"abc"})"
    "\n";

TEST_CASE("the experiments are listed, and each may be asked for") {
  const auto run = cli::napkin(Words{"calibrate", "--list", "--json"});
  REQUIRE(run.code == 0);
  std::set<std::string> names;
  const Json listed = run.json();
  for (const Json& one : listed["experiments"]) {
    CHECK(names.insert(one["name"].get<std::string>()).second);
    CHECK_FALSE(one["about"].get<std::string>().empty());
  }
  CHECK(names.contains("tensor_time"));
  CHECK(names.contains("power"));
  CHECK(cli::napkin(Words{"calibrate", "--list"}).out.find("tensor_time") != std::string::npos);
}

TEST_CASE("no GPU: one sentence, exit 1, no file") {
  const cli::Folder folder;
  const auto run = cli::napkin(Words{"calibrate", "--out", folder / "p.yaml", "--record", folder / "r.jsonl"},
                               {"CUDA_VISIBLE_DEVICES="});
  CHECK(run.code == 1);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("no GPU to calibrate: "));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK_FALSE(std::filesystem::exists(folder / "p.yaml"));
  CHECK_FALSE(std::filesystem::exists(folder / "r.jsonl"));
}

TEST_CASE("a GPU that counts nothing: exit 1 with the experiment's name, and the old profile stays") {
  const cli::Folder folder;
  const std::string profile = folder.file("p.yaml", "old\n");
  const auto run = cli::fake().napkin("calibrate --only waiting,l2_bandwidth --out " + profile);
  CHECK(run.code == 1);
  CHECK(run.err.find("no profile written: l2_bandwidth: ") != std::string::npos);
  CHECK(cli::contents(profile) == "old\n");
}

TEST_CASE("bad input: exit 2, and what would be right") {
  const cli::Folder folder;
  const auto refused = [&](const Words& words, const std::string& says) {
    Words all{"calibrate"};
    all.insert(all.end(), words.begin(), words.end());
    const auto run = cli::napkin(all);
    CAPTURE(run.err);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(run.err.find(says) != std::string::npos);
  };
  refused({}, "--out: is missing");
  refused({"--out", folder / "p.yaml", "--only", "latenzy"}, "did you mean 'latency'");
  refused({"--out", folder / "p.yaml", "--only", "latency,"}, "--only");
  refused({"--out", folder / "p.yaml", "--gpu", "h2000"}, "--gpu");
  refused({"--out", folder / "p.yaml", "--jobs", "0"}, "--jobs");
  refused({"--island"}, "--gpu: is missing");
  refused({"--island", "--gpu", "hgx-h200-2", "--out", folder / "p.yaml"}, "--out: stands beside --island");
  refused({"--out", folder / "p.yaml", "--power", "--only", "latency"}, "--only: stands beside --power");
  refused({"--out", folder / "p.yaml", "--replay", folder / "none.jsonl"}, "--gpu: is missing");
  refused({"--out", folder / "p.yaml", "--gpu", "h200-sxm", "--replay", folder / "none.jsonl"}, "none.jsonl");
  refused({"--out", folder / "p.yaml", "--gpu", "h200-sxm", "--replay", folder.file("empty.jsonl", "")}, "no readings");
  const std::string good = folder.file("r.jsonl", readings);
  refused({"--out", folder / "p.yaml", "--gpu", "h200-sxm", "--replay", good, "--record", folder / "s.jsonl"},
          "--record");
  refused({"--out", folder / "no/such/folder/p.yaml", "--gpu", "h200-sxm", "--replay", good}, "--out");
  const auto broken = [&](const std::string& from, const std::string& to, const std::string& says) {
    std::string text = readings;
    text.replace(text.find(from), from.size(), to);
    refused({"--out", folder / "p.yaml", "--gpu", "h200-sxm", "--replay", folder.file("broken.jsonl", text)}, says);
  };
  broken("[31.2,31.4,31.3]", "[]", "broken.jsonl:1: values");
  broken("[31.2,31.4,31.3]", "[null]", "broken.jsonl:1: values");
  broken("\"quantity\"", "\"quality\"", "quality is unknown");
  broken("\"calibrate\"", "\"validate\"", "command");
  broken("\"for\":\"mbarrier_round\"", "\"for\":128", "with.for");
  broken("{\"command\"", "\"command\"", "no JSON object");
  CHECK_FALSE(std::filesystem::exists(folder / "p.yaml"));
}

TEST_CASE("recorded readings become a profile that answers questions") {
  const cli::Folder folder;
  const std::string rows = folder.file("r.jsonl", readings), profile = folder / "p.yaml";
  const auto run = cli::napkin(Words{"calibrate", "--gpu", "h200-sxm", "--replay", rows, "--out", profile, "--json"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json findings = run.json()["findings"];
  REQUIRE(findings.size() == 2);
  CHECK(findings[0]["name"] == "units.special.rate");
  CHECK(findings[0]["value"] == 16);
  CHECK(findings[1]["name"] == "constants.handover_mbarrier");
  CHECK(findings[1]["value"].get<double>() == doctest::Approx(31.3));
  CHECK(findings[1]["spread"].get<double>() > 0);
  CHECK(findings[1]["before"] == 190);
  const std::string product = cli::contents(profile);
  CHECK(std::count(product.begin(), product.end(), '\n') < 40);
  const std::string text = cli::contents(folder / "architectures/sm_90.yaml");
  CHECK(text.find("handover_mbarrier: {value: 31.3, unit: clk, measured: {tool: \"napkin ") != std::string::npos);
  CHECK(text.find("date: \"2026-11-21\", driver: \"580.1\", spread: 0.0") != std::string::npos);
  const auto query =
      cli::napkin({"query", "attention", "--gpu", profile, "--shape", "h=16,q=4096,x=4096,d=128", "--json"});
  REQUIRE_MESSAGE(query.code == 0, query.err);
  CHECK(query.json()["predicted"]["time"].get<double>() > 0);
}

TEST_CASE("readings of another product or architecture, or of two GPUs, are refused") {
  const cli::Folder folder;
  const std::string rows = folder.file("r.jsonl", readings);
  for (const std::string gpu : {"h20", "h100-sxm", "a100-sxm-80", "mi300x"}) {
    const auto run = cli::napkin(Words{"calibrate", "--gpu", gpu, "--replay", rows, "--out", folder / "p.yaml"});
    cli::check_refused(run, "the readings are of NVIDIA H200, the profile is of " + gpu);
  }
  std::string two = readings;
  two.replace(two.rfind("NVIDIA H200"), 11, "NVIDIA H100");
  const auto mixed = cli::napkin(
      Words{"calibrate", "--gpu", "h200-sxm", "--replay", folder.file("two.jsonl", two), "--out", folder / "p.yaml"});
  cli::check_refused(mixed, "readings of NVIDIA H100 among readings of NVIDIA H200");
  CHECK_FALSE(std::filesystem::exists(folder / "p.yaml"));
  CHECK_FALSE(std::filesystem::exists(folder / "architectures"));
}

TEST_CASE("a profile that cannot be written is refused before anything is, and before minutes of measuring") {
  const cli::Folder folder;
  std::filesystem::create_directories(folder / "in/place");
  const std::string rows = folder.file("r.jsonl", readings);
  for (const std::string& out : {folder / "in/place", folder / "none/p.yaml"}) {
    const auto run = cli::napkin(Words{"calibrate", "--gpu", "h200-sxm", "--replay", rows, "--out", out});
    cli::check_refused(run, "--out: '" + out + "' cannot be written");
    cli::check_refused(cli::napkin(Words{"calibrate", "--gpu", "h200-sxm", "--out", out}), "--out: '" + out);
  }
  CHECK_FALSE(std::filesystem::exists(folder / "in/architectures"));
}

TEST_CASE("an architecture that somebody wrote is not written over") {
  const cli::Folder folder;
  std::filesystem::create_directories(folder / "architectures");
  const std::string rows = folder.file("r.jsonl", readings), mine = folder.file("architectures/sm_90.yaml", "mine\n");
  const Words words = {"calibrate", "--gpu", "h200-sxm", "--replay", rows, "--out", folder / "p.yaml"};
  cli::check_refused(cli::napkin(words), "is there already, and not by napkin calibrate");
  CHECK(cli::contents(mine) == "mine\n");
}

/// Returns the readings of a card whose products take 5 % more energy than the H200 profile has.
std::string readings_of_card() {
  const double clock = 1.5e9, flops = 8e14, idle = 120, watts = 1.05 * (8.284 + 0.5736e-12 * flops);
  std::string out;
  const auto add = [&](const std::string& load, const std::string& quantity, double value) {
    out +=
        R"({"command":"calibrate","experiment":"power_card","with":{"load":")" + load + R"("},"quantity":")" +
        quantity + R"(","unit":"1","values":[)" + std::to_string(value) +
        R"(],"device":"NVIDIA H200","driver":"580.1","cuda":"13.0","date":"2026-11-28T13:00:00Z","revision":"abc"})" +
        "\n";
  };
  add("rest", "power", idle);
  add("tensor", "clock", clock);
  add("tensor", "power", idle + watts);
  add("tensor", "flops", flops);
  return out;
}

TEST_CASE("--power: one factor of a card's energies, in a product's file of its own, and --gpu here takes it") {
  const cli::Folder folder;
  const std::string rows = folder.file("r.jsonl", readings_of_card()), card = folder / "card.yaml";
  const auto run =
      cli::napkin(Words{"calibrate", "--power", "--gpu", "h200-sxm", "--replay", rows, "--out", card, "--json"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json findings = run.json()["findings"];
  REQUIRE(findings.size() == 2);
  CHECK(findings[1]["name"] == "constants.energy_of_card");
  CHECK(findings[1]["value"].get<double>() == doctest::Approx(1.05));
  CHECK_FALSE(std::filesystem::exists(folder / "architectures"));
  const std::string product = cli::contents(card);
  CHECK(std::count(product.begin(), product.end(), '\n') < 40);

  const std::string question = " --shape h=16,q=8192,x=8192,d=128 --json";
  const auto clock = [](const cli::Run& asked) {
    REQUIRE_MESSAGE(asked.code == 0, asked.err);
    return asked.json()["predicted"]["clock"].get<double>();
  };
  const double ours = clock(cli::napkin("query attention --gpu " + card + question)),
               product_s = clock(cli::napkin("query attention --gpu h200-sxm" + question));
  CHECK(ours < 0.99 * product_s);
  CHECK(ours > 0.96 * product_s);
  std::filesystem::create_directories(folder / "napkin/cards");
  std::filesystem::copy_file(card, folder / "napkin/cards/GPU-000102030405060708090a0b0c0d0e0f.yaml");
  const std::vector<std::string> home = {"XDG_CONFIG_HOME=" + (folder / "")};
  CHECK(clock(cli::fake().napkin("query attention --gpu here" + question, home)) == ours);
  CHECK(clock(cli::fake().napkin("query attention --gpu here" + question)) == product_s);
}

TEST_CASE("--only takes from recorded readings what it names") {
  const cli::Folder folder;
  const std::string rows = folder.file("r.jsonl", readings);
  const auto run = cli::napkin(Words{"calibrate", "--gpu", "h200-sxm", "--replay", rows, "--out", folder / "p.yaml",
                                     "--only", "waiting", "--json"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.json()["findings"].size() == 1);
}

}  // namespace

}  // namespace test_calibrate
