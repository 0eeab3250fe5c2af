// napkin validate --replay: recorded rows get new predictions, and other files are refused.

#include "tests/golden/recorded_row.hpp"

namespace test_validate_replay {

namespace {

using cli::check_refused;
using cli::Folder;
using cli::Json;
using cli::keys_of;
using cli::lines_of;
using cli::napkin;
using cli::recorded_row;
using Keys = std::vector<std::string>;

/// Returns today's predicted time of the row's tile.
double predicted(const Json& row) { return row["predicted"]["time"]; }

Json replayed(const std::vector<std::string>& files) {
  std::vector<std::string> words{"validate", "--json", "--replay"};
  words.insert(words.end(), files.begin(), files.end());
  const cli::Run run = napkin(words);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.err.empty());
  return run.json();
}

/// Returns four tiles of one sweep, whose made-up measurements contradict the order of the predictions.
std::vector<Json> sweep() {
  std::vector<Json> rows;
  for (const std::int64_t x : {64, 128, 176, 16}) rows.push_back(recorded_row(x, 1));
  for (Json& row : rows) row["sweep"] = "2026-11-21T10:00:00Z sweep seed=1";
  return rows;
}

TEST_CASE("errors are those of today's predictions, whatever was recorded") {
  const Folder folder;
  Json row = recorded_row(128, 1);
  row["measured"]["time"] = predicted(row) / 1.25;
  row["measured"]["cycles"] = row["predicted"]["cycles"].get<double>() / 0.9;
  row["measured"]["clock"] = row["predicted"]["clock"].get<double>() * 2;
  row["predicted"]["time"] = 12345;  // a bad prediction of that day
  const Json json = replayed({folder.file("a.jsonl", lines_of({row}))});
  CHECK(keys_of(json) == Keys{"kernels", "regret", "without_fitted"});
  CHECK(keys_of(json["without_fitted"]) == Keys{"kernels", "regret"});
  CHECK(json["without_fitted"]["kernels"]["attention_sm90"]["held-out"]["time_error"]["mean"].get<double>() !=
        doctest::Approx(0.25));
  CHECK(keys_of(json["kernels"]) == Keys{"attention_sm90"});
  CHECK(keys_of(json["kernels"]["attention_sm90"]) == Keys{"held-out"});
  const Json split = json["kernels"]["attention_sm90"]["held-out"];
  CHECK(keys_of(split) == Keys{"rows", "time_error", "cycles_error", "clock_error", "power_error", "spearman"});
  CHECK(split["rows"] == 1);
  CHECK(keys_of(split["time_error"]) == Keys{"mean", "median", "worst"});
  CHECK(split["time_error"]["mean"].get<double>() == doctest::Approx(0.25));
  CHECK(split["cycles_error"]["worst"].get<double>() == doctest::Approx(0.1));
  // Both clocks are cycles over time, not NVML's reading: 0.9 / 1.25.
  CHECK(split["clock_error"]["worst"].get<double>() == doctest::Approx(0.28).epsilon(1e-3));
  CHECK(split["power_error"]["worst"].is_null());
  CHECK(split["spearman"].is_null());
  CHECK(json["regret"] == Json({{"sweeps", 0},
                                {"mean", nullptr},
                                {"worst", nullptr},
                                {"top3_mean", nullptr},
                                {"top3_worst", nullptr},
                                {"best_in_top3", nullptr}}));
}

TEST_CASE("a row without levels and prediction replays to the same summary") {
  const Folder folder;
  Json whole = recorded_row(128, 1);
  whole["measured"]["l2_to_sm_bytes"] = 1e9;
  Json bare = whole;
  bare.erase("levels");
  bare.erase("predicted");
  const Json all = replayed({folder.file("whole.jsonl", lines_of({whole}))});
  CHECK(all["kernels"]["attention_sm90"]["held-out"]["transfer_error"].contains("shared, delivered"));
  CHECK(replayed({folder.file("bare.jsonl", lines_of({bare}))}) == all);
}

TEST_CASE("without cycles the clock is held to NVML's reading") {
  const Folder folder;
  Json row = recorded_row(128, 1);
  row["measured"]["cycles"] = nullptr;
  row["measured"]["clock"] = row["predicted"]["clock"].get<double>() * 2;
  const Json json = replayed({folder.file("a.jsonl", lines_of({row}))});
  CHECK(json["kernels"]["attention_sm90"]["held-out"]["clock_error"]["worst"].get<double>() == doctest::Approx(0.5));
}

TEST_CASE("a row is predicted under the conditions that it was recorded under") {
  const std::string question = "h=16,q=128,x=1024,d=128";
  const double time = predicted(recorded_row(128, 1, question));
  const Folder folder;
  for (const std::string under : {"--load burst", "--clock 1.2", "--l2 cold", "--load 0.5 --clock 1.2 --l2 cold"}) {
    CAPTURE(under);
    Json row = recorded_row(128, 1, question, under);
    if (under != "--load burst") CHECK(predicted(row) > 1.01 * time);
    row["measured"]["time"] = predicted(row);
    row["measured"]["power"] = row["predicted"]["power"];
    const Json split = replayed({folder.file("a.jsonl", lines_of({row}))})["kernels"]["attention_sm90"]["held-out"];
    CHECK(split["time_error"]["worst"].get<double>() == doctest::Approx(0).epsilon(1e-9));
    CHECK(split["power_error"]["worst"].get<double>() == doctest::Approx(0).epsilon(1e-9));
  }
}

TEST_CASE("a sweep: rank correlation and regret by hand") {
  std::vector<Json> rows = sweep();
  // Sorted by prediction; the tile predicted best takes 1.3 as measured, the one predicted worst takes 1.
  std::sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) { return predicted(a) < predicted(b); });
  REQUIRE(predicted(rows[0]) < predicted(rows[1]));
  REQUIRE(predicted(rows[1]) < predicted(rows[2]));
  REQUIRE(predicted(rows[2]) < predicted(rows[3]));
  const double times[] = {1.3, 1.1, 1.2, 1};
  for (std::size_t i = 0; i < 4; ++i) rows[i]["measured"]["time"] = times[i];
  const Folder folder;
  const std::string first = folder.file("a.jsonl", lines_of({rows[0], rows[1]})),
                    second = folder.file("b.jsonl", lines_of({rows[2], rows[3]}));
  const Json json = replayed({first, second});
  // Ranks 1 2 3 4 against 4 2 3 1: 1 - 6 (9 + 0 + 0 + 9) / 60 = -0.8.
  CHECK(json["kernels"]["attention_sm90"]["held-out"]["spearman"].get<double>() == doctest::Approx(-0.8));
  CHECK(json["regret"]["sweeps"] == 1);
  CHECK(json["regret"]["mean"].get<double>() == doctest::Approx(0.3));
  CHECK(json["regret"]["worst"].get<double>() == doctest::Approx(0.3));
  CHECK(json["regret"]["best_in_top3"] == 0);
  CHECK(napkin({"validate", "--replay", first, second, first, second}).code == 0);
  const auto text = napkin({"validate", "--replay", first, second});
  CHECK(text.code == 0);
  CHECK(text.out.find("regret over 1 held-out sweep: mean 30.00%") != std::string::npos);
}

TEST_CASE("a row that is none is told by file and line") {
  const Folder folder;
  const Json good = recorded_row(128, 1e-3);
  const auto refuse = [&](const std::function<void(Json&)>& spoil, const std::string& says) {
    Json row = good;
    spoil(row);
    const std::string file = folder.file("bad.jsonl", lines_of({good, row}));
    CAPTURE(says);
    const auto run = napkin({"validate", "--replay", file});
    check_refused(run, "bad.jsonl:2");
    CHECK_MESSAGE(run.err.find(says) != std::string::npos, run.err);
  };
  refuse([](Json& row) { row.erase("date"); }, "date is missing");
  refuse([](Json& row) { row["extra"] = 1; }, "extra is unknown");
  refuse([](Json& row) { row["measured"]["extra"] = 1; }, "measured.extra is unknown");
  refuse([](Json& row) { row["measured"].erase("time"); }, "measured.time is missing");
  refuse([](Json& row) { row["measured"]["time"] = 0; }, "measured.time is 0");
  refuse([](Json& row) { row["measured"]["time"] = -1; }, "measured.time");
  refuse([](Json& row) { row["measured"]["time"] = nullptr; }, "measured.time is no number");
  refuse([](Json& row) { row["measured"]["l2"] = "tepid"; }, "cold or warm");
  refuse([](Json& row) { row["conditions"] = {{"load", "heavy"}}; }, "conditions.load");
  refuse([](Json& row) { row["conditions"] = {{"load", "burst"}, {"l2", "tepid"}}; }, "conditions.l2");
  refuse([](Json& row) { row["conditions"] = {{"load", "burst"}, {"clock", 0}}; }, "conditions.clock is 0");
  refuse([](Json& row) { row["conditions"] = {{"load", "burst"}, {"fan", 1}}; }, "conditions.fan is unknown");
  refuse([](Json& row) { row["split"] = "calibration"; }, "held-out, by the rule fixed beforehand");
  refuse([](Json& row) { row["command"] = "query"; }, "command");
  refuse([](Json& row) { row["kernel"] = nullptr; }, "kernel");
  refuse([](Json& row) { row["kernel"] = "attention_sm91"; }, "attention_sm91");
  refuse([](Json& row) { row["gpu"] = "h300"; }, "h300");
  refuse([](Json& row) { row["mask"] = "some"; }, "mask");
  refuse([](Json& row) { row["mask"] = {{"window", {1}}}; }, "mask");
  refuse([](Json& row) { row["shape"]["d"] = 0; }, "shape.d");
  refuse([](Json& row) { row["shape"].erase("q"); }, "q");
  refuse([](Json& row) { row["tile"].erase("stages"); }, "stages");
  refuse([](Json& row) { row["tile"]["depth"] = 1; }, "depth");
  refuse([](Json& row) { row["tile"]["overlap"] = "maybe"; }, "overlap");
  refuse([](Json& row) { row["levels"] = 3; }, "levels");
  refuse([](Json& row) { row["selected"] = "yes"; }, "selected");
  refuse([](Json& row) { row = Json::array(); }, "is no object");
}

TEST_CASE("lines that are no JSON, keys that stand twice, files that are none") {
  const Folder folder;
  const Json good = recorded_row(128, 1e-3);
  const std::string twice = "{\"command\":\"validate\"," + good.dump().substr(1);
  for (const auto& line : {std::pair<std::string, std::string>{"{", ":1"},
                           {good.dump() + "\n" + good.dump().substr(0, 100), ":2"},
                           {good.dump() + good.dump(), ":1"},
                           {"\n\n" + twice, ":3: command stands there twice"},
                           {"nan\n", ":1"}}) {
    const std::string &text = line.first, &says = line.second;  // clang 14 captures no structured binding
    CAPTURE(text.substr(0, 50));
    check_refused(napkin({"validate", "--replay", folder.file("bad.jsonl", text)}), "bad.jsonl" + says);
  }
  check_refused(napkin({"validate", "--replay", folder / "none.jsonl"}), "cannot be read");
  check_refused(napkin("validate --replay"), "--replay: has no value");
  check_refused(napkin("validate attention --sweep --replay x.jsonl"), "--sweep: stands beside --replay");
  check_refused(napkin({"validate", "--replay", folder.file("empty.jsonl", "\n")}), "empty.jsonl");
}

TEST_CASE("a newer row supersedes across files") {
  const Folder folder;
  Json older = recorded_row(128, 1), newer = older;
  older["measured"]["time"] = predicted(older) * 3;
  newer["measured"]["time"] = predicted(older) / 1.1;
  newer["date"] = "2026-11-22T10:00:00Z";
  const Json json =
      replayed({folder.file("new.jsonl", lines_of({newer})), folder.file("old.jsonl", lines_of({older}))});
  CHECK(json["kernels"]["attention_sm90"]["held-out"]["rows"] == 1);
  CHECK(json["kernels"]["attention_sm90"]["held-out"]["time_error"]["worst"].get<double>() == doctest::Approx(0.1));
}

}  // namespace

}  // namespace test_validate_replay
