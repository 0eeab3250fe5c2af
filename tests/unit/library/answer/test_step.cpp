// A step compared with the answers to its single questions.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "napkin/napkin.hpp"

namespace test_model_step {

using namespace napkin;

namespace {

StepAnswer asked(const std::string& name, const std::string& gpu, const std::string& shape) {
  StepAsk ask;
  ask.step = name;
  ask.gpu = gpu;
  ask.shape = parse_shape(shape);
  return napkin::step(ask);
}

const StepEntryAnswer& entry(const StepAnswer& answer, const std::string& name) {
  for (const StepEntryAnswer& one : answer.entries) {
    if (one.name == name) return one;
  }
  FAIL("no entry " << name);
  return answer.entries.front();
}

/// Checks the sums that hold for every step.
void check_sums(const StepAnswer& answer) {
  double time = 0, share = 0, flops = 0, energy = 0;
  std::int64_t bytes = 0, launches = 0;
  for (const StepEntryAnswer& one : answer.entries) {
    const auto times = static_cast<double>(one.times);
    time += times * one.time;
    share += one.share;
    flops += times * one.flops;
    energy += times * one.energy.value_or(0);
    if (one.kind != StepEntryAnswer::Kind::collective) bytes += one.times * one.bytes;
    launches += one.times;
  }
  CHECK(answer.time == doctest::Approx(time));
  CHECK(share == doctest::Approx(1));
  CHECK(answer.flops == doctest::Approx(flops * static_cast<double>(answer.gpus)));
  CHECK(answer.bytes == bytes);
  CHECK(answer.launches == launches);
  CHECK(answer.gaps < answer.time);
  CHECK(answer.tokens_per_second == doctest::Approx(static_cast<double>(answer.tokens) / answer.time));
  if (!answer.energy) return;
  CHECK(*answer.energy == doctest::Approx(energy * static_cast<double>(answer.gpus)));
  CHECK(*answer.power * answer.time * static_cast<double>(answer.gpus) ==
        doctest::Approx(*answer.energy).epsilon(0.01));
}

}  // namespace

TEST_CASE("a prefill: one clock between its launches', power at the limit, FLOP of the model") {
  const StepAnswer answer = asked("llama3-8b", "h100-sxm", "q=2048");
  REQUIRE(answer.found);
  check_sums(answer);
  CHECK(*answer.power == doctest::Approx(700).epsilon(1e-3));
  CHECK(answer.clock_source == "held at the power limit");
  // 2 FLOP a weight and token but for embedding and head, of the head for one token, and the attention's causal pairs.
  const double weights = 32 * 218103808.0, pairs = 2048.0 * 2049 / 2;
  CHECK(answer.flops == doctest::Approx(2 * weights * 2048 + 2 * 128256.0 * 4096 + 32 * 32 * 4 * 128 * pairs));
  // A launch bound by cycles takes another time at another clock, in proportion to them.
  const StepEntryAnswer& product = entry(answer, "layer.down");
  Ask alone;
  alone.algorithm = product.algorithm;
  alone.gpu = "h100-sxm";
  alone.shape = product.shape;
  alone.kernel = *product.kernel;
  const auto query_alone = query(alone);
  CHECK(*product.alone == query_alone->predicted->time);
  const double gap = 2e-6;
  CHECK((product.time - gap) * answer.clock ==
        doctest::Approx((*product.alone - gap) * query_alone->predicted->clock).epsilon(1e-3));
}

TEST_CASE("a decode step: device memory's bytes bound it, and a graph is no slower than a stream") {
  StepAsk ask;
  ask.step = "llama3-8b";
  ask.gpu = "h100-sxm";
  ask.shape = parse_shape("b=8,q=1,x=1024");
  const StepAnswer stream = step(ask);
  ask.issue = Issue::graph;
  const StepAnswer graph = step(ask);
  check_sums(stream);
  check_sums(graph);
  CHECK(graph.time < stream.time);
  CHECK(graph.launches == stream.launches);
  // In a stream launches begin at least launch_overhead apart; weights and cache are read once.
  CHECK(entry(stream, "layer.norm_ffn").time == doctest::Approx(3.2e-6));
  CHECK(entry(stream, "layer.norm_ffn").bound == "launch");
  // bytes without those of the embedding
  const double least = static_cast<double>(*stream.memory) - 2.0 * 128256 * 4096;
  CHECK(static_cast<double>(stream.bytes) > least);
  CHECK(stream.time > least / 3.2e12);
  CHECK(stream.time < 1.5 * least / 3.2e12);
}

TEST_CASE("a step of one question is that question; its launches many times take many times as long") {
  StepAsk ask;
  ask.step = "llama3-8b";
  ask.gpu = "a100-sxm-80";
  ask.shape = parse_shape("q=512");
  ask.conditions.limit = 330;
  const StepAnswer less = step(ask);
  ask.conditions.limit.reset();
  const StepAnswer more = step(ask);
  check_sums(less);
  if (more.power && *more.power > 330) CHECK(less.clock < more.clock);
  CHECK(less.time >= more.time * (1 - 1e-9));
}

TEST_CASE("several GPUs: each does its part, and the calls between them are the island's") {
  const StepAnswer one = asked("llama3-70b", "hgx-h100-8", "b=16,q=1,x=1024,tp=1");
  const StepAnswer eight = asked("llama3-70b", "hgx-h100-8", "b=16,q=1,x=1024");
  CHECK_FALSE(one.found);  // 140 GB
  CHECK(one.because.find("80") != std::string::npos);
  CHECK(eight.found);
  CHECK(eight.gpus == 8);
  check_sums(one);
  check_sums(eight);
  CHECK(eight.flops == doctest::Approx(one.flops));
  CHECK(eight.time < one.time);
  const StepEntryAnswer& call = entry(eight, "layer.reduce_ffn");
  CHECK(call.bytes == 2 * 7 * 16 * 8192 * 2 / 8);
  CHECK(call.bound == "nvlink");
  for (const StepEntryAnswer& each : one.entries) CHECK(each.kind != StepEntryAnswer::Kind::collective);
}

TEST_CASE("experts: a token reads two of eight, many tokens read all; latent attention has a kernel of its own") {
  const StepAnswer few = asked("mixtral-8x7b", "mi300x", "b=1,q=1,x=128");
  const StepAnswer many = asked("mixtral-8x7b", "mi300x", "b=256,q=1,x=128");
  const double expert = 3.0 * 4096 * 14336 * 2;
  const auto read = [](const StepAnswer& answer) {
    return static_cast<double>(entry(answer, "layer.gate_up").bytes + entry(answer, "layer.down").bytes);
  };
  CHECK(read(few) == doctest::Approx(2 * expert).epsilon(0.01));
  CHECK(read(many) == doctest::Approx(8 * expert).epsilon(0.05));
  const StepAnswer latent = asked("deepseek-v2-lite", "h100-sxm", "b=8,x=1024");
  CHECK(latent.found);
  CHECK_FALSE(latent.at_least);
  CHECK(entry(latent, "attention.latent_attention").kernel == "flash_mla");
  CHECK(latent.energy);
  check_sums(latent);
}

TEST_CASE("a step's mistakes stand where they are") {
  StepAsk ask;
  ask.step = "llama3-8b";
  ask.shape = parse_shape("q=16");
  CHECK_THROWS_AS(static_cast<void>(step(ask)), Error);  // no GPU
  ask.gpu = "h100-sxm";
  ask.shape = parse_shape("q=16,tp=8");
  CHECK_THROWS_AS(static_cast<void>(step(ask)), Error);  // one GPU
  ask.gpu = "hgx-h100-8";
  ask.shape = parse_shape("q=16,tp=3");
  try {
    static_cast<void>(step(ask));
    FAIL("3 GPUs cannot share 6144 columns");
  } catch (const Error& error) {
    CHECK(error.where().find("llama3-8b.yaml:") != std::string::npos);
    CHECK(error.problem().find("no whole number") != std::string::npos);
  }
}

}  // namespace test_model_step
