#include <doctest/doctest.h>

#include "model/machine/load.hpp"
#include "solver/optimum/multilevel.hpp"
#include "tests/unit/optimum/programs.hpp"

namespace test_multilevel {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

// Luo et al., H800 (model/README.md, "Several levels"): TB/s from device memory, and between the processors of a
// cluster.
const double h800_memory = 1 / 2.04;
const std::vector<ClusterOption> h800 = {{2, 1 / 3.27}, {4, 1 / 2.65}};

std::vector<PowerTerm> power_terms(double alpha, double beta) { return {{alpha, beta, {}, {}}}; }

}  // namespace

TEST_CASE("the three kinds of level: weights and effective memories (erratum P8)") {
  const std::vector<MemoryLevel> levels = {{"l2", LevelKind::cache, 3, 0, 132},
                                           {"cluster", LevelKind::cross_transfer, 0.5, 0, 4},
                                           {"shared", LevelKind::ordinary, 2, 1000, 1},
                                           {"registers", LevelKind::ordinary, 0.1, 100, 1}};
  const auto effective = effective_levels(levels);
  REQUIRE(effective.size() == 4);
  CHECK(effective[0].weight == 3);
  CHECK(effective[0].memory == 132'000);
  CHECK(effective[1].weight == 1.5);
  CHECK(effective[1].memory == 4000);
  CHECK(effective[2].weight == 0.5);
  CHECK(effective[2].memory == 1000);
  CHECK(effective[3].weight == 0.1);
  const std::vector<MemoryLevel> lone = {{"l2", LevelKind::cache, 3, 0, 132}};
  CHECK_THROWS_AS((void)effective_levels(lone), Error);
}

TEST_CASE("the weighted sum equals the bytes on the physical pipes, and the slowest pipe is named") {
  const std::vector<MemoryLevel> levels = {{"l2", LevelKind::cache, 3, 0, 132},
                                           {"cluster", LevelKind::cross_transfer, 0.5, 0, 4},
                                           {"shared", LevelKind::ordinary, 2, 1000, 1}};
  const TransferLaw law = power_law(power_terms(1e6, 0.5));
  const MultiLevelCost cost = multilevel_cost(law, levels, 1);
  double pipes = 0;
  for (const PipeCost& p : cost.pipes) pipes += p.cost;
  CHECK(pipes == doctest::Approx(cost.sum));
  // Theorem 3: w_hc H(N M_c) + w_xc (H(M_c) - H(N M_c)).
  CHECK(cost.pipes[2].transfer == doctest::Approx(law(4000)));
  CHECK(cost.pipes[1].transfer == doctest::Approx(law(1000) - law(4000)));
  CHECK(cost.slowest == doctest::Approx(2 * law(4000)));
  CHECK(cost.bound == "shared");
  CHECK(multilevel_cost(law, levels, 1e9).bound == "compute");
}

TEST_CASE("a law in its box stops falling where everything is read once") {
  const TransferLaw law = optimum_law(matmul(32, 512, 64));
  CHECK(law(4096) == doctest::Approx(32 * 512 + 512 * 64 + 32 * 64));
  CHECK(law(1e9) == doctest::Approx(law(4096)));
}

TEST_CASE("FP32 to FP16: x4 and x2.83 leading, 3.80 and 2.80 with every term (erratum P17)") {
  const std::vector<EffectiveLevel> shared = {{"shared", 1, 227 * 1024}};
  const ClosedForm attention_form = closed_form(attention(4096, 4096, 128), 227 * 1024 / 4);
  Quantisation q = quantisation(attention_form.terms, shared, 4, 2);
  CHECK(q.terms.back().second == doctest::Approx(4));
  CHECK(q.terms.front().second == doctest::Approx(2));
  CHECK(std::round(100 * q.gain) == 380);
  const ClosedForm matmul_form = closed_form(matmul(4096, 4096, 4096), 227 * 1024 / 4);
  q = quantisation(matmul_form.terms, shared, 4, 2);
  CHECK(std::round(100 * q.terms.back().second) == 283);
  CHECK(std::round(100 * q.gain) == 280);
}

TEST_CASE("nested caching: whole factors of the number of children (erratum P19)") {
  const auto check = [](int n, std::int64_t first, std::int64_t second, double ratio) {
    const NestedFactors f = nested_factors(n);
    CHECK(f.factors == std::vector<Count>{first, second});
    CHECK(f.used == first * second);
    CHECK(f.ratio == doctest::Approx(ratio).epsilon(5e-5));
  };
  check(12, 3, 4, 1.0104);
  check(13, 3, 4, 1.0516);
  check(132, 11, 12, 1.0009);
  check(1, 1, 1, 1);
  check(16, 4, 4, 1);
  // One axis alone takes all children.
  CHECK(nested_factors(13, {0b1}, {1.0}, 1).factors == std::vector<Count>{13});
  CHECK_THROWS_AS((void)nested_factors(0), Error);
}

TEST_CASE("cluster size: attention prefers 2, matmul 4, switching at beta = 0.657") {
  const auto factor = [&](const ClusterOption& o, double beta) {
    return (h800_memory - o.weight) * (1 - std::pow(static_cast<double>(o.size), -beta));
  };
  CHECK(h800_memory - h800[0].weight == doctest::Approx(0.18439).epsilon(3e-5));
  CHECK(h800_memory - h800[1].weight == doctest::Approx(0.11284).epsilon(4e-5));
  CHECK(std::round(1e4 * factor(h800[0], 1)) == 922);
  CHECK(std::round(1e4 * factor(h800[1], 1)) == 846);
  CHECK(std::round(1e4 * factor(h800[0], 0.5)) == 540);
  CHECK(std::round(1e4 * factor(h800[1], 0.5)) == 564);

  const double memory = 227 * 1024 / 2.;
  const auto attention_terms = closed_form(attention(4096, 4096, 128), memory).terms;
  const auto matmul_terms = closed_form(matmul(4096, 4096, 4096), memory).terms;
  CHECK(choose_cluster(attention_terms, memory, h800_memory, h800).size == 2);
  CHECK(choose_cluster(matmul_terms, memory, h800_memory, h800).size == 4);
  const auto beta = cluster_switch(h800_memory, h800[0], h800[1]);
  REQUIRE(beta);
  CHECK(std::round(1e3 * *beta) == 657);
  CHECK(choose_cluster(power_terms(1, *beta + 1e-6), memory, h800_memory, h800).size == 2);
  CHECK(choose_cluster(power_terms(1, *beta - 1e-6), memory, h800_memory, h800).size == 4);
}

TEST_CASE("a cross-transfer pipe slower than the parent's is not used (erratum L9)") {
  const ClusterChoice c = choose_cluster(power_terms(1, 1), 1000, 1 / 4.8, h800);
  CHECK(c.size == 1);
  for (const auto& [size, saving] : c.savings) CHECK(saving < 0);
  CHECK_FALSE(cluster_switch(h800_memory, h800[0], h800[0]));
}

TEST_CASE("levels of a machine: the cache holds what its processors hold together") {
  const Machine m = load_machine("h200-sxm", "test");
  const Hertz clock(1.755e9);
  const auto plain = memory_levels_of(m, clock, 2);
  REQUIRE(plain.size() == 2);
  CHECK(plain[0].kind == LevelKind::cache);
  CHECK(plain[0].children == 132);
  CHECK(plain[1].memory == 232448 / 2);
  CHECK(effective_levels(plain)[0].memory == 132. * 232448 / 2);
  const auto clustered = memory_levels_of(m, clock, 2, 2);
  REQUIRE(clustered.size() == 3);
  CHECK(clustered[1].kind == LevelKind::cross_transfer);
  CHECK(memory_levels_of(m, clock, 1, 1, 1024).back().memory == 1024);
}

TEST_CASE("cluster sizes from a machine's profile") {
  const Machine m = load_machine("h800-pcie", "test");
  const auto options = cluster_options(m, Hertz(1.755e9), 1);
  REQUIRE(options.size() >= 2);
  const auto rate = [&](std::int64_t n) {
    for (const ClusterOption& o : options) {
      if (o.size == n) return 1e-12 / o.weight;
    }
    return 0.0;
  };
  CHECK(rate(2) == doctest::Approx(3.27).epsilon(0.01));
  CHECK(rate(4) == doctest::Approx(2.65).epsilon(0.01));
  const double memory = 227 * 1024 / 2.;
  CHECK(choose_cluster(closed_form(attention(4096, 4096, 128), memory).terms, memory, 1e-12 / 2.04, options).size == 2);
  CHECK(choose_cluster(closed_form(matmul(4096, 4096, 4096), memory).terms, memory, 1e-12 / 2.04, options).size == 4);
}

}  // namespace test_multilevel
