// napkin query --compile: the compiler's report compared with the plan. Also --gpu here.

#include <cstdio>

#include "tests/golden/cli.hpp"
#include "tests/golden/fake_cuda.hpp"

namespace test_cli_compile {

namespace {

using cli::check_refused;
using cli::fake;
using cli::Folder;
using cli::Json;
using cli::keys_of;
using cli::words_of;
using Keys = std::vector<std::string>;

const std::string question =
    "query attention --gpu h200-sxm --kernel attention_sm90 --shape h=2,q=512,x=512,d=128 --tile "
    "x=128,q_stages=1,stages=2,warpgroups=2";

void check_keys(const Json& compiled) {
  CHECK(keys_of(compiled) == Keys{"registers_per_thread", "shared_memory", "occupancy", "static_shared_memory",
                                  "spill_stores", "spill_loads", "objection", "planned"});
  CHECK(keys_of(compiled["planned"]) == Keys{"registers_per_thread", "shared_memory", "occupancy"});
  CHECK(keys_of(compiled["occupancy"]) == Keys{"blocks_per_sm", "limited_by"});
}

TEST_CASE("the compiler's numbers beside the plan's") {
  const auto run = fake().napkin(question + " --compile --json");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json answer = run.json();
  CHECK(keys_of(answer).back() == "compiled");
  const Json& compiled = answer["compiled"];
  check_keys(compiled);
  CHECK(compiled["registers_per_thread"] == 168);
  CHECK(compiled["shared_memory"] == 5 * 128 * 128 * 2 + 1024 + 21 * 8);
  CHECK(compiled["static_shared_memory"] == 0);
  CHECK(compiled["spill_stores"] == 0);
  CHECK(compiled["objection"].is_null());
  CHECK(compiled["occupancy"] == Json({{"blocks_per_sm", 1}, {"limited_by", "shared memory"}}));
  CHECK(compiled["planned"] == Json({{"registers_per_thread", 168},
                                     {"shared_memory", compiled["shared_memory"]},
                                     {"occupancy", compiled["occupancy"]}}));
  CHECK_FALSE(cli::napkin(question + " --json").json().contains("compiled"));
}

TEST_CASE("spills are an answer") {
  const std::string other =
      "query attention --gpu h200-sxm --kernel attention_sm90 --shape h=2,q=512,x=512,d=128 --tile x=112,warpgroups=2 "
      "--compile";
  const auto run = fake().napkin(other + " --json", {"FAKE_CUDA_SPILLS=112"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.json()["compiled"]["spill_stores"] == 8);
  CHECK(run.json()["compiled"]["objection"] ==
        "registers spill: 8 bytes stored and 0 bytes loaded a thread, at 168 registers");
  const auto text = fake().napkin(other);  // from the cache
  CHECK(text.out.find("compiled   168 registers a thread at launch") != std::string::npos);
  CHECK(text.out.find("registers spill: 8 bytes") != std::string::npos);
  CHECK(text.out.find("planned    168 registers a thread at launch") != std::string::npos);
}

TEST_CASE("what cannot be compiled: one sentence, exit 1, or exit 2 where no kernel is asked for") {
  auto run = fake().napkin(
      "query attention --gpu h200-sxm --kernel attention_sm90 --shape h=2,q=512,x=512,d=128 --tile x=256,q=256 "
      "--compile");
  CHECK(run.code == 1);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("--compile: the kernel does not take this tile: "));
  CHECK(run.err.find('\n') == run.err.size() - 1);
  const std::string compile = " --shape q=64,x=64,d=64 --compile";
  check_refused(cli::napkin("query attention --gpu h200-sxm --kernel flash_attention_3" + compile),
                "flash_attention_3 has no kernel here");
  check_refused(cli::napkin("query attention --gpu mi300x" + compile), "ck_tile has no kernel here");
  check_refused(cli::napkin("query matmul --gpu ascend-910b2 --shape a=64,b=64,c=64 --compile"),
                "no bundled kernel computes this");
  check_refused(cli::napkin("query attention --memory 1000" + compile), "--memory");
}

TEST_CASE("a compiler that does not open: one sentence, exit 1") {
  const Folder toolkit;
  std::filesystem::create_directory(toolkit / "lib64");
  const std::string library = toolkit.file("lib64/libnvrtc.so.13", "no library");
  const auto run = cli::napkin(words_of(question + " --compile"), {"CUDA_HOME=" + (toolkit / "")});
  CHECK(run.code == 1);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("--compile: cannot open " + library));
  CHECK(run.err.find('\n') == run.err.size() - 1);
}

TEST_CASE("the real compiler, where there is one") {
  const std::vector<std::string> cache{"XDG_CACHE_HOME=" NAPKIN_BINARY_DIR "/kernel-cache"};
  const auto run = cli::napkin(words_of(question + " --compile --json"), cache);
  if (run.code != 0) {
    CHECK(run.code == 1);
    CHECK(run.err ==
          "--compile: no NVRTC on this machine: install the CUDA toolkit (12.4 or later) or set CUDA_HOME to it\n");
    std::puts("SKIP: no NVRTC on this machine");
    return;
  }
  const Json compiled = run.json()["compiled"];
  check_keys(compiled);
  CHECK(compiled["registers_per_thread"] == compiled["planned"]["registers_per_thread"]);
  CHECK(compiled["shared_memory"] == compiled["planned"]["shared_memory"]);
  CHECK(compiled["objection"].is_null());
}

TEST_CASE("the GPU here, by its profile") {
  const auto run = fake().napkin("select attention --gpu here --shape h=2,q=512,x=512,d=128 --json");
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.json()["gpu"] == "h200-sxm");
}

TEST_CASE("no GPU here: one sentence, exit 1") {
  for (const char* command : {"query", "select"}) {
    const auto run = cli::napkin(words_of(std::string(command) + " attention --gpu here --shape q=64,x=64,d=64"),
                                 {"CUDA_VISIBLE_DEVICES="});
    CHECK(run.code == 1);
    CHECK(run.out.empty());
    CHECK(run.err.starts_with("--gpu: no GPU here: "));
    CHECK(run.err.find('\n') == run.err.size() - 1);
  }
}

}  // namespace

}  // namespace test_cli_compile
