// A search that has met its kind of question against ranking every tile in full: what it keeps of graphs must bound the
// next question's tiles too.
#include <doctest/doctest.h>

#include <random>

#include "solver/select/select.hpp"
#include "tests/rounds.hpp"
#include "tests/unit/select/case.hpp"

namespace test_select_next {

using namespace napkin;
using napkin::testing::Case;

TEST_CASE("by the event graph: the next questions of a kind, long and short, one after the other") {
  std::mt19937 random(53);
  const std::vector<Mask> masks{{}, {Mask::Kind::causal, 0, 0}, {Mask::Kind::window, 700, 0}};
  for (const std::int64_t d : {64, 128}) {
    Case c("attention_sm90", "h200-sxm", {{"h", 16}, {"q", 1024}, {"x", 1024}, {"d", d}});
    c.restrict("x", {176, 128, 64});
    c.restrict("stages", {2, 1});
    const Objective kept = graph_objective();
    Selector selector(kept, 1);
    for (int round = 0; round < test::rounds(30); ++round) {
      Question question = c.question();
      question.problem.mask = masks[random() % masks.size()];
      const auto length = std::uniform_int_distribution<std::int64_t>(300, round % 2 == 0 ? 2500 : 9000)(random);
      question.problem.sizes[static_cast<std::size_t>(c.streamed.diagram.axis("q"))] = Count(length);
      question.problem.sizes[static_cast<std::size_t>(c.streamed.diagram.axis("x"))] =
          Count(round % 5 == 0 ? length + 333 : length);
      const Selection asked = selector.select(question, 5);
      const Selection full = select_exhaustively(question, 5, kept).selection;
      CAPTURE(d);
      CAPTURE(round);
      CAPTURE(length);
      REQUIRE(asked.ranked.size() == full.ranked.size());
      for (std::size_t i = 0; i < full.ranked.size(); ++i) {
        CAPTURE(i);
        CHECK(asked.ranked[i].tile.values == full.ranked[i].tile.values);
        CHECK(asked.ranked[i].prediction.time == full.ranked[i].prediction.time);
        CHECK(asked.ranked[i].prediction.iteration == full.ranked[i].prediction.iteration);
      }
      CHECK(asked.runner_up.has_value() == full.runner_up.has_value());
      if (asked.runner_up && full.runner_up) CHECK(asked.runner_up->tile.values == full.runner_up->tile.values);
    }
  }
}

}  // namespace test_select_next
