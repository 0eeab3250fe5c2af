// napkin validate of an island with GPUs that compute nothing: its calls, the bytes that arrive, and its row.

#include "tests/golden/cli.hpp"
#include "tests/golden/fake_cuda.hpp"

namespace test_validate_island {

namespace {

using cli::fake;
using cli::Json;

const std::vector<std::string> two = {"FAKE_GPUS=2"}, four = {"FAKE_GPUS=4"};

/// Checks the row of a question whose inputs are all zero, so that every output element is right, written or not.
void check_row(const std::string& line, const std::vector<std::string>& gpus) {
  CAPTURE(line);
  const auto run = fake().napkin("validate " + line + " --gpu hgx-h200-8 --rows 8 --settle 0 --pace 0.01 --json", gpus);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json row = run.json();
  CHECK(row["command"] == "validate");
  CHECK(row["gpu"] == "hgx-h200-8");
  CHECK(row["right"] == true);
  CHECK(line.find(row["way"]["split"].get<std::string>()) != std::string::npos);
  CHECK(row["way"]["gpus"] == (gpus == two ? 2 : 4));
  // Bytes that the calls bring into a GPU are H of the level above device memory.
  CHECK(row["measured"]["received"] == row["predicted"]["received"]);
  CHECK(row["measured"]["received"].get<std::int64_t>() > 0);
  CHECK(row["measured"]["work"].get<double>() > 0);
  CHECK(row["predicted"]["time"].get<double>() >= row["predicted"]["work"].get<double>());
  CHECK(row["nccl"] == "2.28.3");
}

}  // namespace

TEST_CASE("every split makes NCCL's calls in pairs, and what arrives is what was predicted") {
  const std::string attention = "attention --shape b=2,h=4,g=2,q=256,x=256,d=64",
                    product = "matmul --shape a=256,b=256,c=512";
  for (const auto& [gpus, p] : {std::pair(two, "gpus=2"), std::pair(four, "gpus=4")}) {
    const std::string with = std::string(",") + p;
    check_row(attention + " --split ring_attention" + with, gpus);
    check_row(attention + " --causal --split ring_attention,order=zigzag" + with, gpus);
    check_row(attention + " --causal --split ring_attention,order=contiguous" + with, gpus);
    check_row(attention + " --causal --split all_to_all_heads" + with, gpus);
    check_row(product + " --split tensor_parallel_all_gather" + with, gpus);
    check_row(product + " --split tensor_parallel_reduce_scatter" + with, gpus);
    check_row(product + " --split tensor_parallel_all_reduce" + with, gpus);
  }
}

TEST_CASE("rows go to a file as they go to stdout, behind those that are there") {
  const cli::Folder folder;
  const std::string file = folder / "rows.jsonl";
  const std::string line =
      "validate attention --gpu hgx-h200-8 --split all_to_all_heads,gpus=2 --shape h=2,q=64,x=64,d=64 --rows 8 "
      "--settle 0 --pace 0.01 --json --out ";
  std::string printed;
  for (int i = 0; i < 2; ++i) {
    const auto run = fake().napkin(line + file, two);
    REQUIRE_MESSAGE(run.code == 0, run.err);
    printed += run.out;
  }
  CHECK(cli::contents(file) == printed);
  cli::check_refused(fake().napkin(line + (folder / "none/rows.jsonl"), two), "cannot be written");
}

TEST_CASE("fewer GPUs than the split has: exit 1, and how to ask for fewer") {
  const auto run =
      fake().napkin("validate attention --gpu hgx-h200-8 --split ring_attention --shape h=8,q=1024,x=1024,d=64", two);
  CHECK(run.code == 1);
  CHECK(run.out.empty());
  CHECK(run.err.find("here are 2; --split NAME,gpus=N takes fewer") != std::string::npos);
}

TEST_CASE("what is of one GPU is refused beside an island, and a split beside one GPU") {
  const std::string line =
      "validate attention --gpu hgx-h200-8 --split ring_attention,gpus=2 --shape h=8,q=1024,x=1024,d=64";
  for (const char* more : {" --sweep", " --counters", " --kernel attention_sm90", " --l2 cold", " --compile"})
    cli::check_refused(fake().napkin(line + more, two), "is of one GPU, and hgx-h200-8 is an island");
  cli::check_refused(
      fake().napkin("validate attention --gpu h200-sxm --split ring_attention --shape h=8,q=1024,x=1024,d=64"),
      "--split: is of several GPUs");
}

}  // namespace test_validate_island
