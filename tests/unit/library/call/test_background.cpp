// Work in the background runs in order, gives its results, and stops when asked; calls of new lengths do not wait for
// their own tile.
#include "apps/library/call/background.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "model/base/file.hpp"
#include "napkin/napkin.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/processes.hpp"
#include "tests/unit/library/call/fake_driver.hpp"

namespace test_background {

using namespace napkin;
using namespace napkin::internal;
using test::fake_driver;

namespace {

void wait_for(const Coming& coming) {
  while (!coming.done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

AttentionArgs args_of(std::int64_t queries, std::int64_t keys) {
  AttentionArgs args;
  args.sizes = {.h = 8, .g = 4, .q = queries, .x = keys, .d = 128};
  const auto rows = [&](std::uintptr_t at, std::int64_t heads) {
    return DeviceRows{reinterpret_cast<void*>(at), keys * heads * 128, 128, heads * 128};
  };
  args.q = rows(0x10000, 32);
  args.k = rows(0x20000, 8);
  args.v = rows(0x30000, 8);
  args.o = rows(0x40000, 32);
  args.device = 1;  // a device for which no call was made before
  return args;
}

std::string launched(const AttentionArgs& args) {
  attention(args);
  return fake_driver().last();
}

/// Runs a program that selects in the background. Returns "" if a new length launched the known tile, and its own once
/// that was there; otherwise the difference.
std::string said_by_a_program() {
  const AttentionArgs first = args_of(512, 1920), next = args_of(512, 2048);
  const std::string known = launched(first);
  AttentionArgs own = next;
  own.sizes.b = 2;  // another call of the same kind, for which a tile is selected in the end
  std::string now = launched(next);
  if (now != known) return "a new length waited for its own tile";
  for (int i = 0; i < 200000 && now == known; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    now = launched(next);
  }
  if (now == known) return "its own tile never came";
  if (launched(first) != known) return "an earlier length lost its tile";
  if (launched(own) != now) return "the latest tile of a kind launches its calls";
  return "";
}

void set(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): in a child process of one thread
}

/// Launches a call in a process of its own, in which the compiler objects to the variant `spills`.
std::string launched_apart(const AttentionArgs& args, const std::string& spills = "") {
  return test::said_in_a_process([&] {
    set("FAKE_GPUS", "2");
    if (!spills.empty()) set("FAKE_CUDA_SPILLS_VARIANT", spills);
    return launched(args);
  });
}

/// Removes all of the cache but the kernels in which that text stands.
void keep_kernels_of(const std::string& variant) {
  std::vector<std::filesystem::path> others;
  for (const auto& entry : std::filesystem::directory_iterator(fake_driver().cache())) {
    const bool kernel = entry.path().extension() == ".kernel";
    if (!kernel || read_file(entry.path().string(), std::size_t{1} << 24, "cache").find(variant) == std::string::npos)
      others.push_back(entry.path());
  }
  for (const auto& path : others) std::filesystem::remove_all(path);
}

}  // namespace

TEST_CASE("work in the background is done in its order, and a failure is no selection") {
  std::string order;
  Background background;
  const auto first = background.begin([&] { return order += "a", nullptr; });
  const auto failing = background.begin([&]() -> std::unique_ptr<Selected> { throw std::runtime_error("no"); });
  const auto last = background.begin([&] { return order += "b", nullptr; });
  wait_for(*last);
  CHECK((first->done() && failing->done()));
  CHECK(order == "ab");
  CHECK(failing->take() == nullptr);
  background.stop();
  const auto late = background.begin([&] { return order += "c", nullptr; });
  CHECK((late->done() && late->take() == nullptr));
  CHECK(order == "ab");
}

TEST_CASE("where told so, a call of new lengths launches a known tile, and its own once that is selected") {
  if (test::rounds(100) < 20) return;  // two selections take a minute in a sanitizer's run
  static_cast<void>(fake_driver());
  const std::string said = test::said_in_a_process([] {  // the switch is read once
    ::setenv("NAPKIN_BACKGROUND", "1", 1);               // NOLINT(concurrency-mt-unsafe)
    ::setenv("FAKE_GPUS", "2", 1);                       // NOLINT(concurrency-mt-unsafe)
    return said_by_a_program();
  });
  CHECK(said == "");
}

TEST_CASE("where told so, a first call launches the fastest compiled tile, and the best one once that is compiled") {
  if (test::rounds(100) < 20) return;
  static_cast<void>(fake_driver());
  const AttentionArgs args = args_of(640, 640);
  const std::string best = launched_apart(args);
  std::filesystem::remove_all(fake_driver().cache());
  const std::string next = launched_apart(args, best);
  REQUIRE(next != best);
  keep_kernels_of(next);
  const std::string said = test::said_in_a_process([&] {
    set("NAPKIN_BACKGROUND", "1");
    set("FAKE_GPUS", "2");
    if (launched(args) != next) return std::string("the first call waited for the compiler");
    for (int i = 0; i < 200000 && launched(args) == next; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return launched(args) == best ? std::string() : std::string("the best tile never came");
  });
  CHECK(said == "");
}

}  // namespace test_background
