// A step's file at given symbols, and every mistake in it with its place.
#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "apps/library/ask/step_file.hpp"
#include "napkin/ask.hpp"
#include "tests/support/mistakes.hpp"

namespace test_step_file {

using namespace napkin;
using namespace napkin::internal;

namespace {

std::int64_t value(const std::string& text, std::int64_t least = 0) {
  const yaml::Document document = yaml::parse("n: \"" + text + "\"\n", "f.yaml");
  return amount_of(document.root().at("n"), {{"a", 12}, {"b", 5}, {"e", 8}, {"k", 2}}, least);
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(value(text, 1));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("amounts: precedence, brackets, functions") {
  CHECK(value("7") == 7);
  CHECK(value("a + 2*b - 1") == 21);
  CHECK(value("(a + 2) * b / 7") == 10);
  CHECK(value("a/3/2") == 2);
  CHECK(value("ceil(a, b)") == 3);
  CHECK(value("min(a, b, 9) + max(a, b)") == 17);
  CHECK(value("touched(e, k, 1)") == 2);     // its own
  CHECK(value("touched(e, k, 4)") == 5);     // 8 (1 - (3/4)^4) = 5.47
  CHECK(value("touched(e, k, 1000)") == 8);  // all
  CHECK(value("touched(e, e, 1)") == 8);
}

TEST_CASE("amounts that are none are refused at their character") {
  const std::pair<const char*, const char*> cases[] = {
      {"a/b", "12 / 5 is no whole number"},
      {"a/0", "12 / 0 is no whole number"},
      {"c", "'c' is no symbol here"},
      {"a b", "'b' is left over"},
      {"a +", "a size is missing"},
      {"(a", "a bracket is not closed"},
      {"7x", "'7x' is no whole number"},
      {"sqrt(a)", "'sqrt' is no function"},
      {"ceil(a)", "ceil takes 2"},
      {"touched(k, e, 1)", "k not from 1"},
      {"b - a", "is -7"},
      {"9223372036854775807*a", "product"},
      {"a % b", "'% b' is left over"},
      {"99999999999999999999", "is no whole number"},
  };
  for (const auto& one : cases) {
    const std::string text = one.first, what = one.second, said = refusal(text);
    CHECK_MESSAGE(said.find(what) != std::string::npos, text << " -> " << said);
    CHECK_MESSAGE(said.starts_with("f.yaml:1:"), said);
  }
  CHECK(refusal("a + c").find("f.yaml:1:9: n: ") == 0);
  CHECK(refusal(std::string(100, '(') + "a").find("brackets") != std::string::npos);
}

TEST_CASE("every bundled step can be read for one token and for many, on one GPU and on eight") {
  REQUIRE(builtin_steps().size() >= 6);
  for (const std::string& name : builtin_steps()) {
    CHECK_FALSE(notes_of_step(name).about.empty());
    for (const std::int64_t gpus : {1, 8}) {
      StepAsk ask;
      ask.step = name;
      ask.shape = {{"b", 2}, {"q", 3}, {"x", 7}};
      const ModelStep step = load_step(ask, gpus);
      CHECK(step.tokens == 6);
      CHECK(step.gpus == (step.shape.back().first == "tp" ? gpus : 1));
      CHECK(*step.holds > 1e9);
      bool collective = false;
      for (const StepEntry& entry : step.entries)
        collective = collective || entry.kind == StepEntryAnswer::Kind::collective;
      CHECK(collective == (step.gpus > 1));
    }
  }
}

TEST_CASE("Llama 3 8B by hand: its weights' bytes and its FLOP a token") {
  StepAsk ask;
  ask.step = "llama3-8b";
  ask.shape = {{"q", 1}, {"x", 1}};
  const ModelStep step = load_step(ask, 1);
  CHECK(*step.holds == 2 * (8030261248 - 32 * 2 * 4096 - 4096) + 2 * 32 * 2 * 8 * 128);  // without the norms' gains
  std::int64_t weights = 0;
  for (const StepEntry& entry : step.entries) {
    if (entry.ask.algorithm != "matmul") continue;
    std::int64_t product = entry.times;
    for (const auto& [axis, size] : entry.ask.shape) product *= axis == "a" ? 1 : size;
    weights += product;
  }
  CHECK(weights == 8030261248 - 32 * 2 * 4096 - 4096 - 128256 * 4096);  // and without the embedding
}

TEST_CASE("mistakes in a step's file and in its symbols") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("napkin-step-" + std::to_string(getpid()) + ".yaml");
  const std::string good =
      "step: mine\nabout: a product\nsymbols: {t: , n: 2*t}\ntokens: t\nentries:\n"
      "  - {name: one, algorithm: matmul, shape: {a: t, b: n, c: 64}}\n";
  const auto refused = [&](const std::string& text, const NamedSizes& shape = {{"t", 4}}, std::int64_t gpus = 1) {
    StepAsk ask;
    std::ofstream(path) << text;
    ask.step = path.string();
    ask.shape = shape;
    try {
      static_cast<void>(load_step(ask, gpus));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto with = [&](const std::string& from, const std::string& to) { return test::replaced(good, from, to); };
  CHECK(refused(good) == "accepted");
  const auto has = [](const std::string& said, const std::string& what) {
    CHECK_MESSAGE(said.find(what) != std::string::npos, said);
  };
  has(refused(good, {}), "--shape: t is missing");
  has(refused(good, {{"t", 4}, {"z", 1}}), "'z' is no symbol of mine");
  has(refused(with("tokens: t\n", "")), "tokens");
  has(refused(with("tokens: t", "tokens: 0")), ":4:9: tokens: is 0");
  has(refused(with("b: n", "b: m")), ":6:53: entries[0].shape.b: 'm' is no symbol here");
  has(refused(with("algorithm: matmul, shape: {a: t, b: n, c: 64}", "times: 2")), "says nothing that runs");
  has(refused(with("algorithm: matmul, shape: {a: t, b: n, c: 64}", "bytes: 0")), "is 0");
  has(refused(with("algorithm: matmul, shape: {a: t, b: n, c: 64}", "all_reduce: 4, all_gather: 4")), "second");
  has(refused(with("algorithm: matmul", "algorithm: matmul, mask: full")), "mask");
  has(refused(with("tokens: t", "gpus: p\ntokens: t")), "'p' is no symbol");
  has(refused(with("tokens: t", "gpus: t\ntokens: t")), "t=4, and there is 1 GPU");
  has(refused(with("tokens: t", "issue: soon\ntokens: t")), "issue");
  has(refused(with("tokens: t", "sizes: {n: 3}\ntokens: t")), "n is there already");
  has(refused(with("symbols: {t:", "symbols: {element: 2, t:")), "another name");
  has(refused(good + "  - {name: one, bytes: 4}\n"), "'one' is there already");
  has(refused(with("entries:\n", "more: 1\nentries:\n")), "more");
  std::filesystem::remove(path);
  StepAsk unknown;
  unknown.step = "llama3-9b";
  CHECK_THROWS_AS(static_cast<void>(load_step(unknown, 1)), Error);
}

}  // namespace test_step_file
