// The two rules, checked by the sources' numbers.

#include <doctest/doctest.h>

#include <algorithm>

#include "model/diagram/library.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/partition.hpp"

namespace test_partition {

namespace {

using namespace napkin;
using namespace napkin::internal;

struct Case {
  Streamed streamed;
  Problem problem;
  Partition partition;

  Case(Streamed s, const std::vector<std::pair<std::string, std::int64_t>>& shape,
       const std::vector<std::pair<std::string, std::int64_t>>& tile, Mask mask = {})
      : streamed(std::move(s)),
        problem{resolve_sizes(streamed.diagram, shape, "--shape"), mask, DType::value},
        partition(make_partition(streamed, problem.sizes, tile, "--tile")) {}

  std::int64_t groups() const { return group_count(streamed, problem.sizes, partition).get(); }
  std::int64_t per_group() const { return transfer_per_group(streamed, partition).total().value.get(); }
  std::int64_t total() const { return transfer(streamed, problem, partition).total().value.get(); }
  std::int64_t drawn() const { return memory_lower_bound(streamed, partition).value.get(); }
  std::int64_t live() const { return memory_live(streamed, partition).value.get(); }
};

Case attention(const std::vector<std::pair<std::string, std::int64_t>>& shape,
               const std::vector<std::pair<std::string, std::int64_t>>& tile, Mask mask = {}) {
  return {derive(load_diagram("attention")), shape, tile, mask};
}

TEST_CASE("Fig. 18, matmul: N=50, H_g=748, M=118, H=37400") {
  const Case c(derive(load_diagram("matmul")), {{"a", 60}, {"b", 50}, {"c", 40}}, {{"a", 6}, {"c", 8}, {"b", 5}});
  CHECK(c.groups() == 50);
  CHECK(c.per_group() == 748);
  CHECK(c.drawn() == 118);
  CHECK(c.live() == 118);
  CHECK(c.total() == 37400);
}

TEST_CASE("Fig. 21, attention: H_g=2944, M=512, H=23552; live as in erratum P14") {
  const Case c = attention({{"q", 96}, {"x", 80}, {"d", 16}}, {{"q", 12}, {"x", 4}});
  CHECK(c.groups() == 8);
  CHECK(c.per_group() == 2944);
  CHECK(c.drawn() == 512);
  CHECK(c.total() == 23552);
  CHECK(c.live() == 2 * 12 * 16 + std::max(2 * 4 * 16, 12 * 4 + 4 * 16) + 3 * 12);
}

TEST_CASE("attention's memories, over group sizes: 2gd+2sd while gs <= 2gd+sd, and erratum P14") {
  for (std::int64_t d : {1, 4, 16}) {
    for (std::int64_t g : {1, 7, 64}) {
      for (std::int64_t s : {1, 5, 64}) {
        const Case c = attention({{"q", 64}, {"x", 64}, {"d", d}}, {{"q", g}, {"x", s}});
        CHECK(c.drawn() == std::max(2 * g * d + 2 * s * d, g * s + s * d));
        if (g * s <= 2 * g * d + s * d) CHECK(c.drawn() == 2 * g * d + 2 * s * d);
        CHECK(c.live() == 2 * g * d + std::max(2 * s * d, g * s + s * d) + 3 * g);
      }
    }
  }
}

TEST_CASE("Fig. 22 (erratum P2), MHA with h=8, g_h=2: H_g=5888, M=1024") {
  const Case c = attention({{"q", 96}, {"x", 80}, {"d", 16}, {"h", 8}}, {{"q", 12}, {"x", 4}, {"h", 2}});
  CHECK(c.per_group() == 5888);
  CHECK(c.drawn() == 1024);
  CHECK(c.groups() == 32);
  CHECK(c.total() == 32 * 5888);
}

TEST_CASE("Fig. 23, GQA with g=4, g_g=2: H_g=3328, M=896") {
  const Case c = attention({{"q", 96}, {"x", 80}, {"d", 16}, {"g", 4}}, {{"q", 12}, {"x", 4}, {"g", 2}});
  CHECK(c.per_group() == 3328);
  CHECK(c.drawn() == 896);
}

TEST_CASE("Fig. 9, softmax-contraction neither streamed nor grouped: H = qx+xd+qd, M = qx+xd") {
  const Diagram d = load_diagram("softmax_contraction");
  const Case c(derive(d, roles_of(d, {}, "")), {{"q", 12}, {"x", 40}, {"d", 8}}, {});
  CHECK(c.groups() == 1);
  CHECK(c.total() == 12 * 40 + 40 * 8 + 12 * 8);
  CHECK(c.drawn() == 12 * 40 + 40 * 8);
  CHECK(c.live() == 12 * 40 + 40 * 8);
}

TEST_CASE("matmul 480^3: the exact transfers of the known optima") {
  const auto h = [](std::int64_t ga, std::int64_t gc) {
    return Case(derive(load_diagram("matmul")), {{"a", 480}, {"b", 480}, {"c", 480}}, {{"a", ga}, {"c", gc}}).total();
  };
  CHECK(h(7, 7) == 32'025'600);
  CHECK(h(30, 32) == 7'372'800);
  CHECK(h(240, 270) == 1'152'000);
}

TEST_CASE("a ragged last group adds a re-read of what it lacks, and nothing to what it carries") {
  const Case c = attention({{"q", 100}, {"x", 80}, {"d", 16}}, {{"q", 12}, {"x", 7}});
  CHECK(c.groups() == 9);
  CHECK(c.total() == 2 * 100 * 16 + 9 * 2 * 80 * 16);
}

TEST_CASE("the query of the issue: 8,657,043,456 bytes in bf16") {
  const Case c = attention({{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}}, {{"q", 128}, {"x", 128}});
  CHECK(2 * transfer(c.streamed, c.problem, c.partition).load.value.get() == 8'657'043'456);
}

TEST_CASE("a causal mask counts visited chunks only, clipped to the array") {
  const Case c = attention({{"q", 5}, {"x", 5}, {"d", 1}}, {{"q", 2}, {"x", 2}}, {Mask::Kind::causal, 0, 0});
  // Rows 0-1 visit columns 0-1, rows 2-3 columns 0-3, row 4 columns 0-4.
  CHECK(transfer(c.streamed, c.problem, c.partition).load == Values(5 + 2 * (2 + 4 + 5)));
  CHECK(c.per_group() == 2 * 2 + 2 * 5);
}

TEST_CASE("a split stores partial results once for every group, its log-sum-exp too") {
  const Diagram d = load_diagram("attention");
  const Case c(derive(d, roles_of(d, {"q", "x"}, "")), {{"q", 8}, {"x", 100}, {"d", 4}}, {{"q", 8}, {"x", 30}});
  const Transfer t = transfer(c.streamed, c.problem, c.partition);
  CHECK(t.load == Values(4 * 8 * 4 + 2 * 100 * 4));
  CHECK(t.store == Values(4 * (8 * 4 + 8)));
}

TEST_CASE("backward with keys split: dQ is stored once for every group of keys") {
  const Diagram d = load_diagram("attention_backward");
  const Case c(derive(d, roles_of(d, {"b", "h", "x"}, "q")), {{"q", 64}, {"x", 64}, {"d", 8}}, {{"x", 16}, {"q", 4}});
  const Transfer t = transfer(c.streamed, c.problem, c.partition);
  CHECK(t.store == Values(4 * 64 * 8 + 2 * 64 * 8));
  CHECK(t.load == Values(4 * (3 * 64 * 8 + 64) + 2 * 64 * 8));
}

TEST_CASE("three operands that lack two axes each") {
  const Diagram d = parse_diagram(
      "algorithm: three\naxes: {i: , j: , k: , b: }\ninputs: ['A[i,b]', 'B[j,b]', 'C[k,b]']\n"
      "operations: ['T[i,j,k] = contract over b (A, B, C)']\noutputs: [T]\n",
      "three.yaml");
  const Case c(derive(d), {{"i", 8}, {"j", 9}, {"k", 10}, {"b", 6}}, {{"i", 2}, {"j", 4}, {"k", 5}, {"b", 3}});
  const auto terms = transfer_terms(c.streamed);
  REQUIRE(terms.size() == 4);
  for (int t = 0; t < 3; ++t) {
    CHECK(terms[static_cast<std::size_t>(t)].lacking.size() == 2);
    CHECK(terms[static_cast<std::size_t>(t)].carried.size() == 1);
  }
  CHECK(terms[3].store);
  CHECK(terms[3].lacking.empty());
  CHECK(c.total() == 8 * 6 * 3 * 2 + 9 * 6 * 4 * 2 + 10 * 6 * 4 * 3 + 8 * 9 * 10);
  CHECK(c.drawn() == 2 * 4 * 5 + 3 * (2 + 4 + 5));
}

TEST_CASE("tiles: named axes must be grouped or streamed, once, at least 1; too large ones are cut") {
  const Streamed s = derive(load_diagram("attention"));
  const Sizes sizes = resolve_sizes(s.diagram, {{"q", 10}, {"x", 10}, {"d", 4}}, "--shape");
  const auto error = [&](const std::vector<std::pair<std::string, std::int64_t>>& tile) -> std::string {
    try {
      (void)make_partition(s, sizes, tile, "--tile");
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  CHECK(error({{"d", 2}}) == "--tile: axis 'd' is neither grouped nor streamed: one of b, h, g, q, x");
  CHECK(error({{"q", 0}}) == "--tile: q=0: a whole number of at least 1");
  CHECK(error({{"q", 1}, {"q", 2}}) == "--tile: axis 'q' stands twice: each axis once");
  const Partition p = make_partition(s, sizes, {{"q", 64}, {"x", 64}}, "--tile");
  CHECK(p.group[static_cast<std::size_t>(s.diagram.axis("q"))] == Count(10));
  CHECK(p.chunk == Count(10));
}

TEST_CASE("huge sizes are refused, never wrapped, and named") {
  const std::int64_t huge = std::int64_t{1} << 62;
  const Case c = attention({{"q", huge}, {"x", huge}, {"d", 1}}, {{"q", 1}, {"x", 1}});
  CHECK_THROWS_WITH_AS((void)c.total(),
                       "the number of values moved of array K does not fit 64 bits: use smaller sizes (the largest "
                       "count is 9223372036854775807)",
                       Overflow);
  CHECK(c.drawn() == 4);
  const Case masked = attention({{"q", huge}, {"x", huge}, {"d", 1}}, {{"q", 1}, {"x", 1}}, {Mask::Kind::causal, 0, 0});
  CHECK_THROWS_AS((void)masked.total(), Overflow);
}

}  // namespace

}  // namespace test_partition
