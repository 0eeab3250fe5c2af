// The published rows are complete, are read strictly, and count FLOP by their own convention.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/library/judge/published_names.hpp"
#include "apps/report/record/published.hpp"
#include "tests/golden/cli.hpp"
#include "tests/published/published_rows.hpp"

namespace test_published {

namespace {

using namespace napkin;
using namespace napkin::internal;
using cli::check_refused;
using cli::Folder;
using cli::Json;
using published::answers;
using published::row_of;
using published::rows;

}  // namespace

TEST_CASE("every published row is there, and its GPU, kernel and source have names") {
  CHECK(rows().size() == 2091);
  std::set<std::string> gpus, sources;
  for (const PublishedRow& row : rows()) {
    gpus.insert(row.gpu);
    sources.insert(row.source);
    CHECK(!row.source.empty());
  }
  CHECK(gpus.size() == 39);
  CHECK(sources.size() == 191);
}

TEST_CASE("operations are counted as the rows count them") {
  PublishedRow row;
  row.direction = "fwd";
  row.b = 4, row.h = 32, row.q = 1024, row.d = 128, row.causal = false;
  CHECK(counted_flops(row) == 4.0 * 4 * 32 * 1024 * 1024 * 128);
  row.causal = true;
  CHECK(counted_flops(row) == 2.0 * 4 * 32 * 1024 * 1024 * 128);
  row.causal = false, row.x = 2048, row.d_v = 64, row.h_kv = 8;
  CHECK(counted_flops(row) == 2.0 * 4 * 32 * 1024 * 2048 * (128 + 64));
  row.direction = "bwd";
  CHECK(counted_flops(row) == 2.0 * 4 * 32 * 1024 * 2048 * (3 * 128 + 2 * 64));
  row.direction = "fwd+bwd";
  CHECK(counted_flops(row) == 2.0 * 4 * 32 * 1024 * 2048 * (4 * 128 + 3 * 64));
  row.direction = "matmul";
  row.m = 2, row.n = 3, row.k = 5;
  CHECK(counted_flops(row) == 60);
}

TEST_CASE("a source is seen or kept aside by its text alone") {
  PublishedRow row;
  row.source = "a";  // FNV-1a, 64 bits: af63dc4c8601ec8c
  CHECK(kept_aside(row));
  row.source = "foobar";  // 85944171f73967e8
  CHECK(kept_aside(row));
  row.source =
      "FlashAttention-2 arXiv 2307.08691 Fig 4 / Dao-AILab/flash-attention "
      "assets/flash2_a100_fwd_bwd_benchmark.png (labels printed on bars)";
  CHECK(!kept_aside(row));
  std::size_t aside = 0;
  for (const PublishedRow& one : rows()) aside += kept_aside(one) ? 1 : 0;
  CHECK(aside == 1247);
}

TEST_CASE("patterns, and tiles in the words of their sources") {
  CHECK(matches("A100*", "A100-SXM4-80GB"));
  CHECK(!matches("A100", "A100-SXM4-80GB"));
  CHECK(matches("*Flash*2*", "torch sdpa (FlashAttention-2)"));
  CHECK(!matches("*Flash*3*", "torch sdpa (FlashAttention-2)"));
  PublishedRow row;
  row.kernel = "FlashAttention-3", row.direction = "fwd", row.dtype = "fp16", row.d = 128, row.causal = false;
  const PublishedKernel* kernel = published_names().kernel(row, row.algorithms().back());
  REQUIRE(kernel != nullptr);
  const auto knobs = [&](const std::string& tile) {
    row.tile = tile;
    const auto tiles = published_tiles(*kernel, "sm_90", row);
    if (tiles.empty()) return std::map<std::string, std::string>{};
    CHECK(tiles.size() == 1);
    return std::map<std::string, std::string>(tiles.front().begin(), tiles.front().end());
  };
  CHECK(knobs("").at("x") == "176");
  CHECK(knobs("").at("cluster") == "2");
  const auto told = knobs("192x128,3WG,cluster 1");
  CHECK(told.at("q") == "192");
  CHECK(told.at("x") == "128");
  CHECK(told.at("warpgroups") == "3");
  CHECK(told.at("cluster") == "1");
  CHECK(knobs("128x128 per softmax warpgroup").empty());
  CHECK(knobs("128x128x64,4w").empty());
}

TEST_CASE("attention on an Ascend 910B2: 15 % in the mean of the rows whose source nobody doubts") {
  double sum = 0;
  int rows = 0;
  for (const PublishedAnswer& answer : answers()) {
    const PublishedRow& row = answer.row();
    if (!answer.asked() || row.gpu != "Ascend 910B2" || !published_names().doubt(row).empty()) continue;
    sum += std::abs(answer.tflops / row.tflops - 1);
    ++rows;
  }
  CHECK(rows == 26);
  CHECK(sum / rows < 0.15);
}

TEST_CASE("two threads ask at once, and get what one gets") {
  const std::vector<PublishedRow> some(rows().begin(), rows().begin() + 40);
  std::vector<std::vector<PublishedAnswer>> asked(2);
  std::thread other([&] { asked[0] = ask_published(some); });
  asked[1] = ask_published(some);
  other.join();
  for (std::size_t i = 0; i < some.size(); ++i) {
    CHECK(asked[0][i].tflops == asked[1][i].tflops);
    CHECK(asked[0][i].tflops == answers()[i].tflops);
    CHECK(asked[0][i].question.reason == answers()[i].question.reason);
  }
}

TEST_CASE("a user's own rows, by the names of profiles and mappings too") {
  const Folder folder;
  const std::string mine = folder.file("mine.json", R"([
    {"gpu": "rtx-3090", "kernel": "flash_attention_2", "direction": "fwd", "dtype": "fp16", "b": 4, "h": 32, "s": 4096,
     "d": 128, "causal": false, "tile": "128x32,4w", "tflops": 71, "source": "mine"},
    {"gpu": "RTX 3090", "kernel": "nobody's", "direction": "fwd", "dtype": "fp16", "b": null, "h": 32, "s": 4096,
     "d": 128, "causal": null, "tflops": 71, "source": "mine"}])");
  const cli::Run run = cli::napkin({"validate", "--published", mine, "--json"});
  REQUIRE(run.code == 0);
  const Json json = run.json();
  CHECK(json["published"]["rows"] == 2);
  CHECK(json["published"]["asked"] == 1);
  CHECK(json["rows"][0]["asked"]["kernel"] == "flash_attention_2");
  CHECK(json["rows"][0]["asked"]["tile"]["x"] == 32);
  CHECK(json["rows"][1]["not_asked"] == "no mapping of the kernel");
  const cli::Run none = cli::napkin({"validate", "--published", folder.file("none.json", "[]")});
  CHECK(none.code == 1);
}

TEST_CASE("a bad row is told with its line and column") {
  const Folder folder;
  const std::pair<std::string, std::string> bad[] = {
      {row_of(R"("b": 0)"), "mine.json:1:"},
      {row_of(R"("b": 0)"), "from 1"},
      {row_of(R"("b": "4")"), "b: is a text"},
      {row_of(R"("b": 4, "b": 4)"), "b"},
      {row_of(R"("b": 4, "batch": 4)"), "batch"},
      {row_of(R"("b": 4, "h_kv": 5)"), "does not divide h"},
      {row_of(R"("x": 4)"), "b"},
      {row_of(R"("b": 4, "m": 3)"), "m"},
      {R"([{"gpu": "RTX 3090"}])", "direction"},
      {R"([1])", "is no row"},
      {R"({})", "is no list"},
      {R"([{"gpu": "RTX 3090", )", "mine.json:1:"},
      {"[\n {\"gpu\": \"x\", \"direction\": \"forward\"}]", "mine.json:2:"},
  };
  for (const auto& one : bad) {
    CAPTURE(one.first);
    check_refused(cli::napkin({"validate", "--published", folder.file("mine.json", one.first)}), one.second);
  }
  std::string zero = row_of();
  zero.replace(zero.find("62"), 2, "0");
  check_refused(cli::napkin({"validate", "--published", folder.file("mine.json", zero)}), "TFLOP/s");
  check_refused(cli::napkin("validate --published /nonexistent.json"), "/nonexistent.json");
  check_refused(cli::napkin("validate --published --gpu h200-sxm"), "stands beside --published");
}

}  // namespace test_published
