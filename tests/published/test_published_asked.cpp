// The question that is made of a published row: its mapping, tile, clock and load; and the rows for which none is made.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "apps/library/judge/published_names.hpp"
#include "apps/report/record/published.hpp"
#include "model/machine/load.hpp"
#include "tests/golden/cli.hpp"
#include "tests/published/published_rows.hpp"

namespace test_published_asked {

namespace {

using namespace napkin;
using namespace napkin::internal;
using cli::Folder;
using cli::Json;
using published::answers;

/// Returns the row's question as options of the command line, without the source's clock and power but with its load.
std::string question_of(const PublishedAnswer& answer) {
  const Ask& ask = answer.question.ask;
  std::string text = ask.algorithm + " --gpu " + answer.gpu + " --kernel " + answer.kernel + " --dtype " + ask.dtype;
  if (ask.mask.kind == Mask::Kind::causal) text += " --causal";
  if (ask.conditions.load.kind == CardLoad::Kind::burst) text += " --load burst";
  if (ask.conditions.cold) text += " --l2 cold";
  std::string shape, tile;
  for (const auto& [axis, size] : ask.shape) shape += (shape.empty() ? "" : ",") + axis + "=" + std::to_string(size);
  for (const KnobValue& knob : answer.tile)
    tile += (tile.empty() ? "" : ",") + knob.name + "=" + (knob.word.empty() ? std::to_string(knob.number) : knob.word);
  return text + " --shape " + shape + " --tile " + tile;
}

}  // namespace

TEST_CASE("a row of one latent for all heads is asked as that, and a mask halves squares alone") {
  PublishedRow row;
  row.direction = "fwd", row.b = 2, row.h = 128, row.h_kv = 1, row.q = 2, row.x = 4096, row.d = 576, row.d_v = 512;
  row.causal = true;
  CHECK(row.algorithms() == std::vector<std::string>{"latent_attention"});
  CHECK(counted_flops(row) == 2.0 * 2 * 128 * 2 * 4096 * (576 + 512));
  row.d = 192, row.d_v = 128;
  CHECK(row.algorithms() == std::vector<std::string>{"attention"});
  row.h_kv = 128, row.d = 576, row.d_v = 512;
  CHECK(row.algorithms() == std::vector<std::string>{"attention"});
  std::size_t asked = 0;
  for (const PublishedAnswer& answer : answers()) asked += answer.asked() && answer.kernel == "flash_mla" ? 1 : 0;
  CHECK(asked == 7);
}

TEST_CASE("gradients of grouped heads are asked of the mapping of that case, others of the plain one") {
  std::size_t grouped = 0;
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked() || answer.row().direction != "bwd") continue;
    const bool is_grouped = answer.row().h_kv.value_or(*answer.row().h) != *answer.row().h;
    CHECK(answer.kernel.ends_with("_grouped") == is_grouped);
    grouped += is_grouped ? 1 : 0;
  }
  CHECK(grouped >= 49);
}

TEST_CASE("of a tile of both passes each pass takes its own words") {
  PublishedRow row;
  row.kernel = "FlashAttention-2", row.direction = "fwd+bwd", row.dtype = "fp16", row.d = 64, row.causal = false;
  row.tile = "fwd 128x64,4w; bwd 64x128,8w";
  CHECK(row.algorithms() == std::vector<std::string>{"attention", "attention_backward"});
  std::map<std::string, std::string> of[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const PublishedKernel* kernel = published_names().kernel(row, row.algorithms()[i]);
    REQUIRE(kernel != nullptr);
    const auto tiles = published_tiles(*kernel, "sm_80", row);
    REQUIRE(tiles.size() == 1);
    of[i] = {tiles.front().begin(), tiles.front().end()};
  }
  CHECK(of[0].at("q") == "128");
  CHECK(of[0].at("x") == "64");
  CHECK(of[0].at("warps") == "4");
  CHECK(of[1].at("q") == "64");
  CHECK(of[1].at("x") == "128");
  CHECK(of[1].at("warps") == "8");
}

TEST_CASE("a row of both passes takes as long as the two together") {
  std::size_t both = 0;
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked() || answer.row().direction != "fwd+bwd") continue;
    ++both;
    PublishedRow forward = answer.row(), backward = answer.row();
    forward.direction = "fwd", backward.direction = "bwd";
    if (both > 1) continue;  // one row for all: the rule is one
    const std::vector<PublishedRow> apart{forward, backward};
    const auto asked = ask_published(apart);
    REQUIRE(asked[0].asked());
    REQUIRE(asked[1].asked());
    CHECK(answer.seconds == doctest::Approx(asked[0].seconds + asked[1].seconds));
    CHECK(answer.kernel == asked[0].kernel + " + " + asked[1].kernel);
  }
  CHECK(both == 48);
}

TEST_CASE("a profile's alias is its name: an A800 is an A100 SXM of 80 GB") {
  std::size_t rows = 0;
  for (const PublishedAnswer& answer : answers()) {
    if (answer.row().gpu != "A800") continue;
    ++rows;
    CHECK(answer.asked());
    CHECK(answer.gpu == "a100-sxm-80");
  }
  CHECK(rows == 6);
}

TEST_CASE("an autotuner's tiles are those that its source tried") {
  PublishedRow row;
  row.kernel = "Triton", row.direction = "fwd", row.dtype = "fp16", row.d = 128, row.causal = false;
  const auto tiles = [&](const std::string& source) {
    row.source = source;
    const PublishedKernel* kernel = published_names().kernel(row, row.algorithms().back());
    REQUIRE(kernel != nullptr);
    return published_tiles(*kernel, "sm_90", row);
  };
  CHECK(tiles("mine") == std::vector<TileText>{{}});
  const std::vector<TileText> tried = tiles("FlashAttention-3 arXiv 2407.08608 Figs 5-7");
  CHECK(tried.size() == 8);  // 64 and 128 rows, 32 and 64 keys, 3 and 4 stages
  for (const TileText& one : tried) {
    const std::map<std::string, std::string> knobs(one.begin(), one.end());
    CHECK(knobs.at("warps") == "4");
    CHECK(knobs.at("x") != "128");
  }
}

TEST_CASE("a timer that sees the host counts its time: at least that in a row, beside the kernel's one by one") {
  std::size_t row_by_row = 0, one_by_one = 0, bound_by_host = 0;
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked()) continue;
    const double host = answer.question.host, kernel = answer.predicted.time;
    CHECK(answer.tflops == doctest::Approx(counted_flops(answer.row()) / answer.seconds / 1e12));
    if (answer.row().algorithms().size() > 1) continue;
    if (!answer.question.ahead.empty()) {
      CHECK(answer.seconds > kernel);
      continue;
    }
    CHECK(answer.seconds == (answer.question.one_by_one ? host + kernel : std::max(host, kernel)));
    if (host <= 0) continue;
    (answer.question.one_by_one ? one_by_one : row_by_row) += 1;
    if (answer.seconds == host) ++bound_by_host;
  }
  CHECK(row_by_row > 0);
  CHECK(one_by_one > 0);
  CHECK(bound_by_host > 0);
  CHECK(bound_by_host < row_by_row);
}

TEST_CASE("a library that divides the keys by its own rule is asked so where the rule does, and as a whole elsewhere") {
  std::size_t divided = 0, whole = 0;
  for (const PublishedAnswer& answer : answers()) {
    const PublishedKernel* first = published_names().kernel(answer.row(), "attention");
    if (!answer.asked() || first == nullptr || !first->divided) continue;
    CAPTURE(answer.row().where);
    CHECK(answer.divided == (answer.kernel == first->mappings.front()));
    // Blocks of four fifths of the SMs are enough: the rule of hopper/heuristics.h.
    const std::int64_t blocks = *answer.row().b * *answer.row().h * ((*answer.row().q + 191) / 192);
    CHECK(answer.divided == (10 * blocks < 8 * 132));
    ++(answer.divided ? divided : whole);
  }
  CHECK(divided >= 2);
  CHECK(whole > divided);
}

TEST_CASE("a burst is asked of calls that are over before it: the others of such a source count as sustained") {
  std::size_t bursts = 0, later = 0;
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked() || answer.question.launches == 0) continue;
    CAPTURE(answer.row().where);
    const Machine machine = load_machine(answer.gpu, "--gpu");
    const double until = answer.question.launches * answer.predicted.time, holds = machine.constant("burst_time");
    CHECK((answer.question.ask.conditions.load.kind == CardLoad::Kind::burst) == answer.question.burst);
    // A burst's clock is at most some fifth above the sustained one.
    CHECK(until < (answer.question.burst ? holds : HUGE_VAL));
    CHECK(until > (answer.question.burst ? 0 : 0.8 * holds));
    ++(answer.question.burst ? bursts : later);
  }
  CHECK(bursts > 200);
  CHECK(later > 0);
}

TEST_CASE("a row is asked as query answers it: its tile is legal, and the time is query's to the last digit") {
  std::map<std::string, int> asked;  // number of rows asked, of each kernel on each GPU: at most two
  for (const PublishedAnswer& answer : answers()) {
    const PublishedQuestion& question = answer.question;
    if (!answer.asked() || answer.row().algorithms().size() > 1 || question.clock || question.power || question.held)
      continue;
    if (++asked[answer.gpu + answer.kernel] > 2) continue;
    const std::string line = question_of(answer);
    CAPTURE(line);
    const Json json = cli::parse(cli::napkin_forked("query " + line + " --json").out);
    CHECK(json["legal"] == true);
    CHECK(json["predicted"]["time"].get<double>() == answer.predicted.time);
    CHECK(json["predicted"]["bound"] == answer.predicted.bound);
  }
  CHECK(asked.size() > 40);
}

TEST_CASE("serving stores keys and values first: a row that says so is asked with the least time of that") {
  int rows = 0;
  for (const PublishedAnswer& answer : answers()) {
    const bool says = answer.row().note.find("copy of K and V into the cache is in the time") != std::string::npos;
    if (!answer.asked() || !says) continue;
    ++rows;
    const PublishedRow& row = answer.row();
    CAPTURE(row.where);
    CHECK(answer.question.ahead == "cache_write");
    const double ahead = answer.seconds - answer.predicted.time;
    const double bytes =
        8.0 * static_cast<double>(*row.b * row.h_kv.value_or(*row.h) * *row.q * *row.d);  // read, stored
    CHECK(ahead > bytes / 8e12);                                                          // no card here is faster
    CHECK(ahead < bytes / 0.3e12 + 10e-6);
  }
  CHECK(rows > 20);
}

TEST_CASE("FlashInfer's rows by cp.async have a whole group in a tile, and keys such that two blocks share a node") {
  int rows = 0;
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked() || answer.kernel != "flashinfer_fa2") continue;
    ++rows;
    std::map<std::string, std::int64_t> tile;
    for (const KnobValue& knob : answer.tile) tile[knob.name] = knob.number;
    const PublishedRow& row = answer.row();
    CAPTURE(row.where);
    CHECK(tile["g"] == *row.h / row.h_kv.value_or(*row.h));
    CHECK(tile["g"] * tile["q"] == (*row.d == 256 ? 64 : 128));
    const std::int64_t bytes = 2 * *row.d * (tile["g"] * tile["q"] + 2 * tile["x"]);
    const std::int64_t node = answer.gpu == "a100-sxm-80" ? 164 : 100;
    CHECK(2 * bytes <= node * 1024);
    CHECK((tile["x"] == 64 ||
           2 * (bytes + 4 * *row.d * tile["x"]) > node * 1024));  // a power of two; the next does not fit
  }
  CHECK(rows == 18);
}

TEST_CASE("FlashAttention-3 with keys in pages packs all heads of a group") {
  int grouped = 0;
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked() || answer.kernel != "flash_attention_3_paged") continue;
    const std::int64_t group = *answer.row().h / answer.row().h_kv.value_or(*answer.row().h);
    CAPTURE(answer.row().where);
    for (const KnobValue& knob : answer.tile) {
      if (knob.name == "g") CHECK(knob.number == group);
    }
    grouped += group > 1 ? 1 : 0;
  }
  CHECK(grouped > 15);
}

TEST_CASE("what has no legal tile is not asked, and counted with the constraint") {
  const PublishedSummary summary = summarise(answers());
  std::size_t rows = 0;
  for (const PublishedAnswer& answer : answers()) {
    if (answer.question.reason != "its mapping has no legal tile for it") continue;
    ++rows;
    CHECK(!answer.question.detail.empty());
  }
  REQUIRE(rows > 0);
  const auto is = [](const NotAsked& one) { return one.reason == "its mapping has no legal tile for it"; };
  const auto counted = std::find_if(summary.not_asked.begin(), summary.not_asked.end(), is);
  REQUIRE(counted != summary.not_asked.end());
  CHECK(counted->rows == rows);
  const std::string text = report::text_of(summary, {});
  CHECK(text.find("its mapping has no legal tile for it, ") != std::string::npos);
  CHECK(report::json_of(summary).dump().find("P through shared memory") != std::string::npos);
  const Folder folder;  // a block of 128 x 128 at d = 256 exceeds an RTX 3090's shared memory
  const std::string mine = folder.file("mine.json", R"([
    {"gpu": "rtx-3090", "kernel": "flash_attention_2", "direction": "fwd", "dtype": "fp16", "b": 4, "h": 32, "s": 4096,
     "d": 256, "causal": false, "tile": "128x128,4w", "tflops": 71, "source": "mine"}])");
  const Json row = cli::napkin({"validate", "--published", mine, "--json"}).json()["rows"][0];
  CHECK(row["not_asked"] == "its mapping has no legal tile for it");
  CHECK(row["detail"].get<std::string>().size() > 0);
}

TEST_CASE("the kernel of an architecture stands for a library's there, and another architecture's never does") {
  const Folder folder;
  const auto asked = [&](const std::string& gpu, int d) {
    const std::string row = R"([{"gpu": ")" + gpu + R"(", "kernel": "cuDNN 9.27", "direction": "fwd", "dtype": "bf16",
      "b": 1, "h": 16, "s": 4096, "d": )" +
                            std::to_string(d) + R"(, "causal": true, "tflops": 500, "source": "mine"}])";
    return cli::napkin({"validate", "--published", folder.file("mine.json", row), "--json"}).json()["rows"][0];
  };
  CHECK(asked("gb200", 128)["asked"]["kernel"] == "flash_attention_4");
  CHECK(asked("h200-sxm", 128)["asked"]["kernel"] == "cudnn_attention_sm90");
  CHECK(asked("a100-sxm-80", 128)["asked"]["kernel"] == "flash_attention_2");
  // FlashAttention-2's mapping covers that GPU too
  CHECK(asked("gb200", 512)["not_asked"] == "its mapping does not take a size");
}

TEST_CASE("a library that decodes one query by a kernel of its own is not asked about several by that kernel") {
  int one = 0, several = 0;
  for (const PublishedAnswer& answer : answers()) {
    const PublishedRow& row = answer.row();
    if (!matches("cuDNN*decode*", row.kernel) || row.d != 128) continue;
    CAPTURE(row.where);
    CHECK(answer.asked() == (row.q == 1));
    ++(row.q == 1 ? one : several);
    if (!answer.asked()) CHECK(answer.question.reason == "no mapping of the kernel");
  }
  CHECK(one > 10);
  CHECK(several == 2);
}

TEST_CASE("FlashAttention-4 is asked as it was on the row's day, and cold where each launch has operands of its own") {
  int before = 0, cold = 0;
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked()) continue;
    CAPTURE(answer.row().where);
    if (matches("*PR #2280*", answer.row().source) && answer.row().direction == "fwd") {
      ++before;  // the mapping of two SMs is a day younger
      for (const KnobValue& knob : answer.tile) {
        if (knob.name == "sms") CHECK(knob.number == 1);
      }
    }
    if (!matches("ROCm/aiter@*", answer.row().source) || !answer.row().product()) continue;
    ++cold;
    CHECK(answer.question.ask.conditions.cold);
    for (const KnobValue& knob : answer.tile) {
      if (knob.name == "split" && answer.row().kernel == "AITER asm bf16gemm") CHECK(knob.number == 1);
    }
  }
  CHECK(before == 1);
  CHECK(cold == 23);
}

TEST_CASE("a locked clock and a power limit of the source are the machine's") {
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked() || !answer.question.clock) continue;
    CAPTURE(answer.row().where);
    CHECK(answer.predicted.clock <= *answer.question.clock * (1 + 1e-12));
    if (answer.predicted.power && answer.question.power)
      CHECK(*answer.predicted.power <= *answer.question.power * 1.01);
  }
}

}  // namespace test_published_asked
