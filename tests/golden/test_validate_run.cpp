// napkin validate with a GPU, which is tests/golden/fake_cuda: the rows that it writes and their order, the rows that
// it skips, and its message without a GPU.

#include <cmath>
#include <map>
#include <set>

#include "kernels/jit/source.hpp"
#include "tests/golden/cli.hpp"
#include "tests/golden/fake_cuda.hpp"

namespace test_validate_run {

namespace {

using cli::fake;
using cli::Folder;
using cli::Json;
using cli::keys_of;
using cli::words_of;
using Keys = std::vector<std::string>;

/// Each row sees one key, of which all values are 0: the fake's output is right.
const std::string shape = " --kernel attention_sm90 --shape h=2,q=512,x=1,d=128 ";
const std::string small_sweep = " --sweep --tiles 6 --random 3 --pace 0.01 --settle 0.1 --seed 5 ";

std::vector<Json> rows_in(const std::string& file) {
  std::vector<Json> rows;
  std::istringstream text(cli::contents(file));
  for (std::string line; std::getline(text, line);) rows.push_back(cli::parse(line));
  return rows;
}

std::map<std::string, int> times_of_tiles(const std::vector<Json>& rows) {
  std::map<std::string, int> times;
  for (const Json& row : rows) ++times[row["shape"].dump() + row["tile"].dump()];
  return times;
}

TEST_CASE("no GPU: exit 1 and one clear sentence") {
  const auto run = cli::napkin(words_of("validate attention" + shape), {"CUDA_VISIBLE_DEVICES="});
  CHECK(run.code == 1);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("no GPU to validate on: "));
  CHECK(run.err.find('\n') == run.err.size() - 1);
}

TEST_CASE("--compile: into the cache, without a GPU") {
  const cli::Folder folder;
  const std::string command =
      "validate matmul --compile --gpu h200-sxm --shape a=512,b=512,c=512 --tile "
      "a=64,c=32,b=64,warpgroups=1,stages=2,cluster=1,order=grid";
  const auto run = cli::napkin(words_of(command), {"CUDA_VISIBLE_DEVICES=", "XDG_CACHE_HOME=" + (folder / "")});
  if (run.code == 1) {
    CHECK(run.err.starts_with("no NVRTC"));
    std::printf("SKIP: no NVRTC\n");
    return;
  }
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.out.starts_with("2 variants compiled, 0 refused"));  // the plain variant and the one that counts its cycles
  const auto entries = std::filesystem::directory_iterator(folder / "napkin");
  CHECK(std::distance(begin(entries), end(entries)) == 2);
}

TEST_CASE("bad options are bad input, GPU or none") {
  for (const auto& [line, says] : std::vector<std::pair<std::string, std::string>>{
           {"validate", "ALGORITHM"},
           {"validate attention", "--shape: is missing"},
           {"validate attention extra" + shape, "'extra' is one word too many"},
           {"validate attention --shard 3" + shape, "I/N"},
           {"validate attention --shard 3/2" + shape, "I/N"},
           {"validate attention --shard 0/2" + shape, "--shard"},
           {"validate attention --resume" + shape, "--out"},
           {"validate attention --tiles 5" + shape, "--sweep"},
           {"validate attention --sweep --within 0.5" + shape, "--within"},
           {"validate attention --sweep --within 1.5x" + shape, "--within"},
           {"validate attention --sweep --tiles -1" + shape, "--tiles"},
           {"validate attention --l2 hot" + shape, "warm or cold"},
           {"validate attention --rows 0" + shape, "--rows"},
           {"validate attention --compile" + shape, "--gpu: is missing"},
       }) {
    const std::string tried = line;
    CAPTURE(tried);
    cli::check_refused(cli::napkin(line), says);
  }
}

TEST_CASE("a row has exactly the keys that docs/command-line.md lists") {
  const auto run = fake().napkin("validate attention --json" + shape);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.out.find('\n') == run.out.size() - 1);
  const Json row = run.json();
  CHECK(keys_of(row) == Keys{"command", "algorithm", "gpu",       "kernel", "dtype",    "mask",       "shape",
                             "tile",    "levels",    "predicted", "split",  "sweep",    "selected",   "measured",
                             "device",  "driver",    "cuda",      "date",   "revision", "source_hash"});
  CHECK(row["source_hash"] == napkin::internal::kernel_source_hash("attention_sm90"));
  CHECK(keys_of(row["measured"]) == Keys{"time", "time_spread", "runs", "l2", "cycles", "clock", "power",
                                         "registers_per_thread", "shared_memory", "l2_to_sm_bytes", "dram_read_bytes",
                                         "dram_write_bytes", "max_error", "reference_error"});
  CHECK(keys_of(row["predicted"]) == Keys{"cycles", "clock", "power", "time", "tflops", "bound", "pipes"});
  CHECK(row["command"] == "validate");
  CHECK(row["gpu"] == "h200-sxm");
  CHECK(row["device"] == "NVIDIA H200");
  CHECK(row["cuda"] == "13.0");
  CHECK(row["sweep"].is_null());
  CHECK(row["selected"] == true);
  CHECK(row["split"] == "held-out");
  CHECK(row["measured"]["max_error"] == 0);
  CHECK(row["measured"]["l2"] == "warm");
  const double x = row["tile"]["x"];
  CHECK(row["measured"]["time"].get<double>() ==
        doctest::Approx(100e-6 + 10e-6 * std::fabs(x - 64) / 16).epsilon(0.001));
  CHECK(row["date"].get<std::string>().size() == 20);
}

TEST_CASE("every bundled kernel is measured the same way") {
  for (const auto& [line, kernel] : std::vector<std::pair<std::string, std::string>>{
           {"validate attention --kernel attention_sm80 --shape h=2,q=512,x=1,d=128 --json", "attention_sm80"},
           {"validate matmul --shape a=300,b=64,c=136 --json", "matmul_sm90"}}) {
    const auto run = fake().napkin(line);
    REQUIRE_MESSAGE(run.code == 0, run.err);
    CHECK(run.json()["kernel"] == kernel);
    CHECK(run.json()["measured"]["max_error"] == 0);
    CHECK(fake().napkin(line, {"FAKE_CUDA_WRONG=1"}).code == 1);
  }
}

TEST_CASE("several shapes, masks and given tiles") {
  const Folder folder;
  const std::string out = folder / "rows.jsonl";
  auto run = fake().napkin("validate attention" + shape + "--shape h=4,q=512,x=1,d=64 --window 600,600 --out " + out);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  run = fake().napkin("validate attention" + shape + "--tile warpgroups=2,stages=4,x=32 --out " + out);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.err.empty());
  CHECK(run.out.find("attention_sm90, held-out: 1 rows") != std::string::npos);
  const auto rows = rows_in(out);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["mask"] == Json({{"window", {600, 600}}}));
  CHECK(rows[1]["shape"]["d"] == 64);
  CHECK(rows[2]["tile"]["x"] == 32);
  CHECK(rows[2]["selected"] == false);
}

TEST_CASE("--resume skips what is there; a line cut short goes") {
  const Folder folder;
  const std::string out = folder / "rows.jsonl",
                    line = "validate attention" + shape + "--shape h=4,q=512,x=1,d=64 --out " + out;
  REQUIRE(fake().napkin(line).code == 0);
  const std::string whole = cli::contents(out);
  REQUIRE(fake().napkin(line + " --resume").code == 0);
  CHECK(cli::contents(out) == whole);
  // The file as after a crash in the middle of the second row.
  const std::string first = whole.substr(0, whole.find('\n') + 1);
  static_cast<void>(folder.file("rows.jsonl", first + whole.substr(first.size(), 100)));
  REQUIRE(fake().napkin(line + " --resume").code == 0);
  CHECK(cli::contents(out).starts_with(first));
  CHECK(times_of_tiles(rows_in(out)).size() == 2);
  CHECK(rows_in(out).size() == 2);
  REQUIRE(fake().napkin(line).code == 0);  // without the option rows are measured again and appended
  CHECK(rows_in(out).size() == 4);
  // A recording without predictions cannot be continued, since a summary compares predictions made before the run.
  Json bare = cli::parse(first);
  bare.erase("predicted");
  static_cast<void>(folder.file("rows.jsonl", bare.dump() + "\n"));
  cli::check_refused(fake().napkin(line + " --resume"), "rows.jsonl:1: predicted is missing");
}

TEST_CASE("--shard: each shape in one share") {
  const Folder folder;
  std::set<std::string> seen;
  for (const char* shard : {"1/2", "2/2"}) {
    const std::string out = folder / (std::string("part") + shard[0]);
    std::string line = "validate attention --kernel attention_sm90 --shard " + std::string(shard) + " --out " + out;
    for (const int q : {128, 256, 512}) line += " --shape h=2,x=1,d=128,q=" + std::to_string(q);
    REQUIRE(fake().napkin(line).code == 0);
    for (const Json& row : rows_in(out)) CHECK(seen.insert(row["shape"].dump()).second);
    CHECK(rows_in(out).size() == (shard[0] == '1' ? 2 : 1));
  }
  CHECK(seen.size() == 3);
}

TEST_CASE("a sweep: one id with its seed, each tile once, the pick and those near the best again at the end") {
  const Folder folder;
  const std::string out = folder / "rows.jsonl";
  const auto run = fake().napkin("validate attention" + shape + small_sweep + "--out " + out);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const auto rows = rows_in(out);
  const std::string id = rows.front()["sweep"];
  CHECK(id.ends_with(" seed=5"));
  for (const Json& row : rows) CHECK(row["sweep"] == id);
  const auto times = times_of_tiles(rows);
  CHECK(times.size() >= 10);  // the selected tile, 6 near it, 3 others, and experts' tiles
  // The last row is the second one of the selected tile.
  CHECK(rows.back()["selected"] == true);
  CHECK(times.at(rows.back()["shape"].dump() + rows.back()["tile"].dump()) == 2);
  double best = 1;
  for (const Json& row : rows) best = std::min(best, row["measured"]["time"].get<double>());
  std::set<std::string> first_pass;
  for (const Json& row : rows) {
    const bool again = !first_pass.insert(row["tile"].dump()).second;
    if (again && row["selected"] == false) CHECK(row["measured"]["time"].get<double>() <= 1.12 * best);
  }
  CHECK(run.out.find("regret over 1 held-out sweep") != std::string::npos);
  CHECK(run.out.find("the reference tile's time moved by 0.0%") != std::string::npos);
  // The same seed takes the same tiles in the same order.
  const std::string second = folder / "second.jsonl";
  REQUIRE(fake().napkin("validate attention" + shape + small_sweep + "--out " + second).code == 0);
  const auto others = rows_in(second);
  REQUIRE(others.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i]["tile"] == others[i]["tile"]);
  // The recording can be replayed.
  const auto replayed = cli::napkin({"validate", "--json", "--replay", out});
  REQUIRE_MESSAGE(replayed.code == 0, replayed.err);
  CHECK(replayed.json()["kernels"]["attention_sm90"]["held-out"]["rows"] == times.size());
  CHECK(replayed.json()["regret"]["sweeps"] == 1);
}

TEST_CASE("a sweep that was broken off goes on as the same sweep") {
  const Folder folder;
  const std::string out = folder / "rows.jsonl",
                    line = "validate attention" + shape + small_sweep + "--resume --out " + out;
  REQUIRE(fake().napkin(line).code == 0);
  const auto whole = rows_in(out);
  const std::string text = cli::contents(out);
  std::size_t cut = 0;
  for (int i = 0; i < 4; ++i) cut = text.find('\n', cut) + 1;
  static_cast<void>(folder.file("rows.jsonl", text.substr(0, cut + 50)));
  REQUIRE(fake().napkin(line).code == 0);
  const auto rows = rows_in(out);
  CHECK(times_of_tiles(rows) == times_of_tiles(whole));
  for (const Json& row : rows) CHECK(row["sweep"] == whole.front()["sweep"]);
  const std::string finished = cli::contents(out);
  REQUIRE(fake().napkin(line).code == 0);
  CHECK(cli::contents(out) == finished);
}

TEST_CASE("tiles that spill are said to be rejected, the others measured") {
  const Folder folder;
  const std::string out = folder / "rows.jsonl";
  // Experts' tiles of d = 128 have 128, 176 and 192 keys.
  const auto run = fake().napkin("validate attention" + shape + small_sweep + "--out " + out,
                                 {"FAKE_CUDA_SPILLS=128", "XDG_CACHE_HOME=" + (folder / "cache")});
  CHECK(run.code == 0);
  CHECK(run.out.find("rejected: ") != std::string::npos);
  CHECK(run.out.find("registers spill: 8 bytes stored") != std::string::npos);
  for (const Json& row : rows_in(out)) CHECK(row["tile"]["x"] != 128);
}

TEST_CASE("a wrong result is not hidden: exit 1, the row says so") {
  const Folder folder;
  const std::string out = folder / "rows.jsonl";
  const auto run = fake().napkin("validate attention" + shape + "--out " + out, {"FAKE_CUDA_WRONG=1"});
  CHECK(run.code == 1);
  CHECK(run.out.find("WRONG: ") != std::string::npos);
  CHECK(run.out.find("elements not written") != std::string::npos);
  CHECK(rows_in(out).at(0)["measured"]["max_error"].is_null());
}

TEST_CASE("a file that cannot be written, a kernel that cannot be launched, a shape that fits nothing") {
  cli::check_refused(fake().napkin("validate attention --out /nonexistent/rows.jsonl" + shape), "--out");
  cli::check_refused(fake().napkin("validate attention --kernel flash_attention_3 --shape h=2,q=512,x=1,d=128"),
                     "has no kernel that is one launch here");
  cli::check_refused(fake().napkin("validate attention --kernel attention_sm90 --shape h=2,q=512,x=1"), "--shape");
  const auto run = fake().napkin("validate attention --dtype f32 --shape h=2,q=512,x=1,d=128");
  CHECK(run.code != 0);
}

}  // namespace

}  // namespace test_validate_run
