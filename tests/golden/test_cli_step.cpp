// napkin step from the command line: a step's file, JSON that the schema describes, exit codes, and bad input.
#include <string>

#include "tests/golden/cli.hpp"

namespace test_cli_step {

using cli::check_refused;
using cli::Folder;
using cli::Json;
using cli::napkin;

namespace {

const std::string mine =
    "step: mine\n"
    "about: a product and a pass over it\n"
    "symbols: {t: , n: 4096}\n"
    "tokens: t\n"
    "holds: \"element*(n*n + 2*t*n)\"\n"
    "issue: graph\n"
    "entries:\n"
    "  - name: layer\n"
    "    times: 3\n"
    "    entries:\n"
    "      - {name: product, times: 2, algorithm: matmul, shape: {a: t, b: n, c: n}}\n"
    "      - {name: scale, bytes: \"2*element*t*n\"}\n";

}  // namespace

TEST_CASE("a step of one's own: counts, JSON, and what `query` says of its question") {
  const Folder folder;
  const std::string file = folder.file("mine.yaml", mine);
  const Json json = cli::answer("step " + file + " --gpu h100-sxm --shape t=4096");
  CHECK(json["shape"] == Json({{"t", 4096}, {"n", 4096}}));
  CHECK(json["memory"] == 2 * 3 * 4096 * 4096);
  CHECK(json["issue"] == "graph");
  REQUIRE(json["entries"].size() == 2);
  const Json &product = json["entries"][0], &scale = json["entries"][1];
  CHECK(product["name"] == "layer.product");
  CHECK(product["times"] == 6);
  CHECK(scale["times"] == 3);
  CHECK(scale["bytes"] == 4LL * 4096 * 4096);
  CHECK(json["predicted"]["launches"] == 9);
  const Json one = cli::answer("query matmul --gpu h100-sxm --shape a=4096,b=4096,c=4096");
  CHECK(product["tile"] == one["tile"]);
  CHECK(product["alone"] == one["predicted"]["time"]);
  // Beside passes that wait for memory the products run at a higher clock.
  CHECK(json["predicted"]["clock"].get<double>() > one["predicted"]["clock"].get<double>());
  CHECK(product["time"].get<double>() < product["alone"].get<double>());
  const Json burst = cli::answer("step " + file + " --gpu h100-sxm --shape t=4096 --load burst");
  CHECK(burst["predicted"]["time"].get<double>() < json["predicted"]["time"].get<double>());
  const Json less = cli::answer("step " + file + " --gpu h100-sxm --shape t=4096 --power 400 --issue stream");
  CHECK(less["predicted"]["power"].get<double>() == doctest::Approx(400).epsilon(0.001));
  CHECK(less["conditions"]["limit"] == 400);
  CHECK(less["issue"] == "stream");
}

TEST_CASE("the text answers first; what does not fit exits 1 and says by how much") {
  const auto run = napkin("step llama3-8b --gpu h100-sxm --shape b=4,q=1,x=512");
  REQUIRE(run.code == 0);
  CHECK(run.out.find("tokens/s") < run.out.find("layer.gate_up  "));
  CHECK(run.out.find("left out   the host's own work, sampling, scheduling") != std::string::npos);
  const auto large = napkin("step llama3-70b --gpu h100-sxm --shape q=128");
  CHECK(large.code == 1);
  // 2 B of 80 (855.6 M) + 2 x 1.051 G weights, and 128 keys of 320 KiB
  CHECK(large.err.find("a GPU would hold 141.1 GB, and h100-sxm has 80.0") != std::string::npos);
  CHECK(large.out.find("predicted") != std::string::npos);
}

TEST_CASE("every bundled step is listed") {
  const Json json = napkin("list steps --json").json();
  std::string names;
  for (const Json& step : json["steps"]) names += step["name"].get<std::string>() + " ";
  CHECK(names == "deepseek-v2-lite llama2-70b llama2-7b llama3-70b llama3-8b mixtral-8x7b ");
}

TEST_CASE("bad input of steps is one line with its place") {
  const Folder folder;
  const std::string step = "step " + folder.file("mine.yaml", mine) + " --gpu h100-sxm ";
  check_refused(napkin("step"), "STEP: is missing");
  check_refused(napkin("step llama3-8c --gpu h100-sxm"), "did you mean 'llama3-8b'");
  check_refused(napkin("step llama3-8b"), "--gpu: is missing");
  check_refused(napkin("step llama3-8b --gpu h100 --shape q=1"), "--gpu: unknown GPU");
  check_refused(napkin("step llama3-8b --gpu h100-sxm"), "--shape: q is missing");
  check_refused(napkin(step), "--shape: t is missing");
  check_refused(napkin(step + "--shape t=8,s=1"), "'s' is no symbol of mine");
  check_refused(napkin(step + "--shape t=8 --issue later"), "--issue: is 'later'");
  check_refused(napkin(step + "--shape t=8 --power 0"), "--power");
  check_refused(napkin(step + "--shape t=8 --dtype e2m1"), "whole bytes");
  check_refused(napkin(step + "--shape t=8 --dtype f8"), "--dtype");
  check_refused(napkin("step llama3-8b --gpu h100-sxm --shape q=8,tp=2"), "tp=2, and there is 1 GPU");
  check_refused(napkin("step llama3-8b --gpu hgx-h100-8 --shape q=8,tp=16"), "tp=16, and there are 8 GPUs");
  check_refused(napkin("step llama3-8b --gpu hgx-h100-8 --shape q=8,tp=3"), "is no whole number");
  check_refused(napkin("step " + (folder / "none.yaml") + " --gpu h100-sxm"), "none.yaml");
  std::string other = mine;
  other.replace(other.find("algorithm: matmul"), 17, "algorithm: matmull");
  check_refused(napkin("step " + folder.file("other.yaml", other) + " --gpu h100-sxm --shape t=8"), "matmull");
}

}  // namespace test_cli_step
