// The published rows: whole, strictly read, counted by their own convention; and how far the model is from them, held
// to bounds.json. No constant of the model is fitted to them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "apps/library/judge/published_names.hpp"
#include "apps/report/record/published.hpp"
#include "model/machine/load.hpp"
#include "tests/golden/cli.hpp"

namespace test_published {

namespace {

using namespace napkin;
using cli::check_refused;
using cli::Folder;
using cli::Json;

const std::vector<PublishedRow>& rows() {
  static const std::vector<PublishedRow> read = report::parse_published(published_rows_text(), "published.json");
  return read;
}

const std::vector<PublishedAnswer>& answers() {
  static const std::vector<PublishedAnswer> asked = ask_published(rows());
  return asked;
}

std::string row_of(const std::string& changed = R"("b": 4)") {
  return R"([{"gpu": "RTX 3090", "kernel": "FlashAttention-2", "direction": "fwd", "dtype": "fp16", )" + changed +
         R"(, "h": 32, "s": 1024, "d": 128, "causal": false, "tflops": 62, "source": "mine"}])";
}

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
  CHECK(asked == 5);
}

TEST_CASE("gradients of grouped heads are asked of the mapping of that case, others of the plain one") {
  std::size_t grouped = 0;
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked() || answer.row().direction != "bwd") continue;
    const bool is_grouped = answer.row().h_kv.value_or(*answer.row().h) != *answer.row().h;
    CHECK(answer.kernel.ends_with("_backward_grouped") == is_grouped);
    grouped += is_grouped ? 1 : 0;
  }
  CHECK(grouped >= 49);
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

TEST_CASE("every row is asked or has a reason, and none is counted twice") {
  const PublishedSummary summary = summarise(answers());
  const std::size_t asked = summary.all.rows + summary.backward.rows;
  std::size_t counted = asked;
  for (const NotAsked& one : summary.not_asked) {
    std::size_t groups = 0;
    for (const NotAsked::Group& group : one.of) groups += group.rows;
    CHECK(groups == one.rows);
    counted += one.rows;
  }
  CHECK(counted == rows().size());
  CHECK(summary.seen.rows + summary.aside.rows == summary.all.rows);
  std::size_t by_gpu = 0, by_kernel = 0, by_class = 0, both = 0;
  for (const PublishedGroup& one : summary.gpus) by_gpu += one.errors.rows;
  for (const PublishedGroup& one : summary.kernels) by_kernel += one.errors.rows;
  for (const PublishedClass& one : summary.classes) by_class += one.errors.rows;
  CHECK(by_gpu == summary.all.rows);
  for (const PublishedAnswer& answer : answers()) both += answer.asked() && answer.row().direction == "fwd+bwd" ? 1 : 0;
  CHECK(by_kernel == asked);
  CHECK(by_class == asked - both);  // an error of two kernels is of neither's class
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked()) continue;
    CAPTURE(answer.row().where);
    CHECK(answer.tflops > 0);
    CHECK(answer.roofline > 0);
    CHECK(answer.question.ask.gpu == answer.gpu);
  }
}

/// An asked row as a question of the command line, where no clock or power of the source stands beside it; its load
/// does.
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
  std::map<std::string, int> asked;  // of each kernel on each GPU two rows
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

TEST_CASE("every asked row is of one regime, by its sizes") {
  const PublishedSummary summary = summarise(answers());
  std::size_t counted = 0;
  for (const PublishedRegime& regime : summary.regimes) {
    CAPTURE(regime.name);
    CHECK(regime.errors.rows > 0);
    CHECK(regime.repeated <= regime.errors.rows);
    std::size_t of_gpus = 0;
    for (const PublishedGroup& one : regime.gpus) of_gpus += one.errors.rows;
    CHECK(of_gpus == regime.errors.rows);
    counted += regime.errors.rows;
  }
  CHECK(counted == summary.all.rows + summary.backward.rows);
  CHECK(summary.regimes.back().errors.rows == summary.backward.rows);
  CHECK(summary.regimes.back().errors.mean == summary.backward.mean);
}

TEST_CASE("rows of two frameworks that ask one question say how far such times lie apart") {
  const auto asked = [](const std::string& second) {
    std::string text = row_of(R"("b": 4)");
    std::string other = text.substr(1, text.size() - 2);
    other.replace(other.find("62"), 2, "31"), other.replace(other.find("mine"), 4, second);
    text.insert(text.size() - 1, ", " + other);
    const std::vector<PublishedRow> two = report::parse_published(text, "two.json");
    const auto said = summarise(ask_published(two)).regimes;
    CHECK(said[2].name == "attention");
    CHECK(said[2].errors.rows == 2);
    return std::pair(said[2].repeated, said[2].noise);
  };
  CHECK(asked("mine") == std::pair<std::size_t, double>(0, 0));  // one source's own two rows
  const auto [rows, noise] = asked("another's");
  CHECK(rows == 2);
  const double apart = std::sqrt(2.0);  // of times whose ratio is two
  CHECK(noise == doctest::Approx((apart - 1 + 1 - 1 / apart) / 2));
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
  const Folder folder;  // 512 rows of one head to a block: no card has the shared memory
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
  CHECK(asked("h200-sxm", 128)["asked"]["kernel"] == "flash_attention_3");
  CHECK(asked("a100-sxm-80", 128)["asked"]["kernel"] == "flash_attention_2");
  CHECK(asked("gb200", 512)["not_asked"] == "its mapping does not take a size");  // FlashAttention-2's runs there too
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
      ++before;  // two SMs came a day later
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

TEST_CASE("a locked clock and a power limit of the source are the machine's") {
  for (const PublishedAnswer& answer : answers()) {
    if (!answer.asked() || !answer.question.clock) continue;
    CAPTURE(answer.row().where);
    CHECK(answer.predicted.clock <= *answer.question.clock * (1 + 1e-12));
    if (answer.predicted.power && answer.question.power)
      CHECK(*answer.predicted.power <= *answer.question.power * 1.01);
  }
}

TEST_CASE("the errors are those of bounds.json, which script/accuracy writes: none worse, none fewer") {
  const Json bounds = cli::parse(cli::contents(NAPKIN_SOURCE_DIR "/tests/published/bounds.json"));
  const PublishedSummary summary = summarise(answers());
  constexpr double slack = 0.001;  // of a machine's own arithmetic
  const auto hold = [&](const PublishedErrors& errors, const Json& bound) {
    CHECK(errors.rows >= bound["rows"].get<std::size_t>());
    CHECK(errors.mean <= bound["mean"].get<double>() + slack);
    CHECK(errors.median <= bound["median"].get<double>() + slack);
    CHECK(std::abs(errors.bias) <= std::abs(bound["bias"].get<double>()) + slack);
  };
  hold(summary.all, bounds["all"]);
  hold(summary.aside, bounds["aside"]);
  hold(summary.backward, bounds["backward"]);
  CHECK(summary.regimes.size() == bounds["regimes"].size());
  for (const PublishedRegime& regime : summary.regimes) {
    CAPTURE(regime.name);
    hold(regime.errors, bounds["regimes"].at(regime.name));
  }
  CHECK(summary.all.gpus >= bounds["all"]["gpus"].get<std::size_t>());
  std::map<std::string, PublishedErrors> gpus;
  for (const PublishedGroup& one : summary.gpus) gpus[one.gpu] = one.errors;
  for (const auto& bound : bounds["gpus"].items()) {
    CAPTURE(bound.key());
    REQUIRE(gpus.count(bound.key()) == 1);
    hold(gpus[bound.key()], bound.value());
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
