// Several GPUs from the command line: bytes, times, the ring's length, calls, and bad input.

#include <cmath>

#include "tests/golden/cli.hpp"

namespace test_cli_island {

using cli::check_refused;
using cli::Json;

namespace {

const std::string llama = " --shape h=8,g=4,q=65536,x=65536,d=128";

Json answer(const std::string& line) {
  const auto run = cli::napkin(line + " --json");
  CHECK_MESSAGE(run.code == 0, run.err);
  return run.json();
}

const Json& moved(const Json& way, const std::string& array) {
  for (const Json& one : way["moved"]) {
    if (one["array"] == array) return one;
  }
  FAIL("no array " << array);
  return way;
}

}  // namespace

TEST_CASE("ring attention on eight H100: 7/8 of K and V into each GPU, zigzag balanced, contiguous not") {
  const Json zigzag = answer("query attention --gpu hgx-h100-8 --causal --split ring_attention,order=zigzag" + llama);
  const Json& way = zigzag["ways"][0];
  const std::int64_t whole = 8LL * 65536 * 128 * 2;
  for (const char* array : {"K", "V"}) {
    CHECK(moved(way, array)["received"] == whole * 7 / 8);
    CHECK(moved(way, array)["all"] == whole * 7);
    CHECK(moved(way, array)["by"] == "ring");
  }
  CHECK(moved(way, "Q")["received"] == 0);
  CHECK(way["received"] == 2 * whole * 7 / 8);
  // Every GPU has as many pairs in every step; launches of 2c rows by c keys and of c by 2c take different times.
  CHECK(way["predicted"]["imbalance"].get<double>() < 1.05);
  const Json contiguous =
      answer("query attention --gpu hgx-h100-8 --causal --split ring_attention,order=contiguous" + llama);
  CHECK(contiguous["ways"][0]["received"] == way["received"]);
  CHECK(contiguous["ways"][0]["predicted"]["imbalance"].get<double>() > 1.6);
  CHECK(contiguous["ways"][0]["predicted"]["time"].get<double>() > 1.5 * way["predicted"]["time"].get<double>());
}

TEST_CASE("an island's steps are what one GPU answers, put together") {
  const Json island = answer("query attention --gpu hgx-h100-8 --split ring_attention" + llama);
  const Json& way = island["ways"][0];
  REQUIRE(way["launches"].size() == 1);
  const Json one = answer("query attention --gpu h100-sxm --shape h=8,g=4,q=8192,x=8192,d=128");
  CHECK(way["launches"][0]["launches"] == 64);
  CHECK(way["launches"][0]["tile"] == one["tile"]);
  CHECK(way["launches"][0]["predicted"]["time"] == one["predicted"]["time"]);
  // (eq. 20.7, 20.8) with a hidden ring: eight launches, parts added at the 3119 GB/s that an H100 reads at,
  // each by a launch, 2 us from one to the next.
  CHECK(way["ring"]["hidden"] == true);
  const double values = 8.0 * 4 * 8192 * 128, rows = 8.0 * 4 * 8192;
  const double adding = (values * 6 + rows * 8 + 7 * (values * 10 + rows * 12) + values * 6) / 3119e9 + 9 * 2.0e-6;
  const double time = 8 * one["predicted"]["time"].get<double>() + adding;
  CHECK(way["predicted"]["time"].get<double>() == doctest::Approx(time).epsilon(1e-9));
  const double copy = 8.4e-6 + 2 * 3.4e-6 + 2 * 8.0 * 8192 * 128 * 2 / 370e9;
  CHECK(way["calls"][0]["time"].get<double>() == doctest::Approx(copy).epsilon(1e-9));
}

TEST_CASE("the length from which on the ring is hidden: one step of the grid less, and it is not") {
  const std::string question = "attention --gpu hgx-h100-8 --kernel attention_sm90 --split ring_attention";
  const auto shape = [](std::int64_t n) {
    return " --shape h=8,q=" + std::to_string(n) + ",x=" + std::to_string(n) + ",d=128";
  };
  const Json picked = answer("select " + question + shape(65536));
  const std::int64_t from = picked["ways"][0]["ring"]["hidden_from"];
  CHECK(from % 512 == 0);
  CHECK(answer("query " + question + shape(from))["ways"][0]["ring"]["hidden"] == true);
  CHECK(answer("query " + question + shape(from - 512))["ways"][0]["ring"]["hidden"] == false);
  // The least block of Ring Attention (arXiv 2310.01889): peak over bandwidth. A kernel that reaches less of the peak,
  // on shorter blocks less still, and copies that start late move it by no more than a factor of two each way.
  const double least = 8 * 989.4e12 / 370e9;
  CHECK(static_cast<double>(from) > least / 2);
  CHECK(static_cast<double>(from) < least * 2);
}

TEST_CASE(
    "zhuzilin/ring-flash-attention's times of eight GPUs: none is predicted to be longer, none a quarter shorter") {
  struct Published {
    std::string island, order;
    double a_second;
  };
  // README of revision 01c8baf: Llama 3's heads, causal, 8,192 tokens a GPU, FlashAttention-2, forward.
  for (const Published& row : {Published{"hgx-h800-8", "zigzag", 63.0}, Published{"hgx-h800-8", "contiguous", 38.5},
                               Published{"hgx-a100-8", "zigzag", 38.2}, Published{"hgx-a100-8", "contiguous", 24.0}}) {
    CAPTURE(row.island);
    CAPTURE(row.order);
    const Json way = answer("query attention --causal --kernel flash_attention_2 --gpu " + row.island +
                            " --split ring_attention,order=" + row.order + llama)["ways"][0];
    const double off = way["predicted"]["time"].get<double>() * row.a_second - 1;
    CHECK(off < 0);
    CHECK(off > -0.25);
  }
}

TEST_CASE("selecting among the splits of a problem: the fastest first, what cannot be with its reason") {
  const Json attention = answer("select attention --gpu hgx-h100-8 --causal" + llama);
  REQUIRE(attention["ways"].size() == 4);
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(attention["ways"][i - 1]["predicted"]["time"] <= attention["ways"][i]["predicted"]["time"]);
  CHECK(attention["ways"][0]["split"] == "head_parallel");
  CHECK(attention["ways"][3]["order"] == "contiguous");
  const Json few = answer("select attention --gpu hgx-h100-8 --shape h=4,q=65536,x=65536,d=128");
  REQUIRE(few["refused"].size() == 3);
  CHECK(few["refused"][0]["split"] == "all_to_all_heads");
  CHECK(few["ways"][0]["split"] == "ring_attention");
  const Json product = answer("select matmul --gpu hgx-h100-8 --shape a=8192,b=8192,c=8192");
  CHECK(product["ways"].size() == 3);
  const std::int64_t whole = 8192LL * 8192 * 2;
  for (const Json& way : product["ways"]) {
    const std::int64_t into = way["split"] == "tensor_parallel_all_reduce" ? 2 * whole * 7 / 8 : whole * 7 / 8;
    CHECK(way["received"] == into);
    CHECK(way["predicted"]["time"].get<double>() > way["predicted"]["work"].get<double>());
  }
  CHECK(answer("query attention --gpu hgx-h100-8 --split ring_attention,gpus=4" + llama)["ways"][0]["gpus"] == 4);
}

TEST_CASE("eight GPUs decode by heads or by sequences, and nothing moves; one sequence of few heads is refused") {
  const std::string decode = "select attention --gpu hgx-h100-8 --shape q=1,x=8192,d=128,g=8,";
  for (const char* sizes : {"b=64,h=8", "b=64,h=4", "b=1,h=8"}) {
    CAPTURE(sizes);
    const Json answered = answer(decode + sizes);
    const Json& way = answered["ways"][0];
    CHECK((way["split"] == "head_parallel" || way["split"] == "batch_parallel"));
    CHECK(way["received"] == 0);
    CHECK(way["predicted"]["time"] == way["predicted"]["work"]);
    const std::string one = way["split"] == "head_parallel" ? "b=64,h=1" : std::string("b=8,") + (sizes + 5);
    if (std::string(sizes) != "b=1,h=8") {
      const Json alone = answer("select attention --bundled --gpu h100-sxm --shape q=1,x=8192,d=128,g=8," + one);
      CHECK(way["predicted"]["time"].get<double>() ==
            doctest::Approx(alone["predicted"]["time"].get<double>()).epsilon(1e-9));
    }
  }
  CHECK(cli::napkin(decode + "b=64,h=8").out.find("bound by work: nothing moves") != std::string::npos);
  check_refused(cli::napkin(decode + "b=1,h=4"), "h=4 does not divide into 8 parts");
}

TEST_CASE("the check runs simulated GPUs") {
  for (const std::string& line :
       {"attention --causal --split ring_attention,order=zigzag" + llama, "attention --split all_to_all_heads" + llama,
        std::string("matmul --split tensor_parallel_all_reduce --shape a=4096,b=4096,c=4096")}) {
    CAPTURE(line);
    const Json check = answer("query " + line + " --gpu hgx-h100-8 --check")["check"];
    CHECK(check["equal"] == true);
    CHECK(check["counted"] == check["predicted"]);
  }
}

TEST_CASE("the text says what moves, how long it takes and how sure that is") {
  const auto run = cli::napkin("select attention --gpu hgx-h100-8 --causal --split ring_attention" + llama);
  REQUIRE(run.code == 0);
  for (const char* part :
       {"8 x h100-sxm", "ring_attention", "zigzag", "into each GPU", "117.4 MB", "how sure", "hidden"})
    CHECK_MESSAGE(run.out.find(part) != std::string::npos, part << "\n" << run.out);
  const auto list = cli::napkin("list gpus");
  CHECK(list.out.find("gb200-nvl72") != std::string::npos);
  CHECK(answer("list gpus")["islands"].size() == 7);
}

TEST_CASE("the calls of NCCL in order") {
  const auto ring =
      cli::napkin("select attention --gpu hgx-h100-8 --causal --split ring_attention,order=zigzag --emit nccl" + llama);
  REQUIRE(ring.code == 0);
  CHECK(ring.out.find("parts rank and 15 - rank of 16") != std::string::npos);
  CHECK(ring.out.find("ncclSend(K[t == 0 ? 0 : 2 - t % 2], 8388608, ncclBfloat16, (rank + 1) % 8") !=
        std::string::npos);
  CHECK(ring.out.find("ncclRecv(V[2 - (t + 1) % 2], 8388608, ncclBfloat16, (rank + 7) % 8") != std::string::npos);
  CHECK(ring.out.find("x=4096 d=128") != std::string::npos);  // a launch has half of a block's keys
  const std::string product = "select matmul --gpu hgx-h100-8 --shape a=4096,b=8192,c=2048 --emit nccl --split ";
  CHECK(cli::napkin(product + "tensor_parallel_reduce_scatter")
            .out.find("ncclReduceScatter(C, C_part, 1048576, ncclBfloat16, ncclSum") != std::string::npos);
  CHECK(cli::napkin(product + "tensor_parallel_all_reduce").out.find("ncclAllReduce(C, C, 8388608,") !=
        std::string::npos);
  const std::string gathered = cli::napkin(product + "tensor_parallel_all_gather").out;
  CHECK(gathered.find("ncclAllGather(A_part, A, 4194304,") < gathered.find("launch(work)"));
}

TEST_CASE("islands: bad input gets one clear error") {
  const std::string shape = " --shape h=8,q=65536,x=65536,d=128";
  const std::string on = " --gpu hgx-h100-8" + shape;
  check_refused(cli::napkin("query attention --split rng_attention" + on), "did you mean 'ring_attention'?");
  check_refused(cli::napkin("query attention --split ring_attention,ordr=zigzag" + on), "no knob of a split");
  check_refused(cli::napkin("query attention --split ring_attention,gpus=9" + on), "hgx-h100-8 has 8");
  check_refused(cli::napkin("query attention --split ring_attention,order=zigzag" + on),
                "zigzag balances a causal mask");
  check_refused(cli::napkin("query attention --split ring_attention --window 128,0" + on), "takes no window");
  check_refused(cli::napkin("query attention --split tensor_parallel_all_reduce" + on),
                "divides matmul, not attention");
  check_refused(cli::napkin("query attention --gpu hgx-h100-8 --split all_to_all_heads --shape h=4,q=64,x=64,d=64"),
                "h=4 does not divide into 8 parts");
  check_refused(cli::napkin("query attention --gpu hgx-h100-8 --split ring_attention --shape h=4,q=1001,x=1001,d=64"),
                "q=1001 does not divide into 8 parts");
  check_refused(cli::napkin("query mlp --gpu hgx-h100-8 --shape a=64,b=64,c=64,d=64"), "");
  check_refused(cli::napkin("query attention --gpu h100-sxm --split ring_attention" + shape), "is of several GPUs");
  check_refused(cli::napkin("timeline attention" + on), "is an island of GPUs");
  check_refused(cli::napkin("select attention --emit cpp" + on), "is an island");
  check_refused(cli::napkin("select attention --gpu h100-sxm --emit nccl" + shape), "is of several GPUs");
  check_refused(cli::napkin("query attention --compile" + on), "is of one GPU");
  const cli::Folder folder;
  const std::string file = folder.file("mine.yaml", "name: mine\nabout: x\ngpu: h100-smx\nlevels: {}\ncall: 1\n");
  check_refused(cli::napkin("query attention --gpu " + file + shape), "mine.yaml:3:6: gpu: unknown GPU 'h100-smx'");
}

}  // namespace test_cli_island
