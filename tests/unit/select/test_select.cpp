// Selection: the answer, its reason, and what is said when nothing fits.
#include <doctest/doctest.h>

#include <regex>

#include "solver/select/larger.hpp"
#include "solver/select/select.hpp"
#include "tests/unit/select/case.hpp"

namespace test_select {

using namespace napkin;
using napkin::testing::Case;

namespace {

Case attention(std::int64_t d) {
  return Case("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", d}});
}

}  // namespace

TEST_CASE("at least a thousand legal tiles at each head size, and every candidate is accounted for") {
  for (const std::int64_t d : {64, 96, 128, 192, 256}) {
    const Case c = attention(d);
    const Selection selection = select(c.question(), 5);
    const Tally counted = tally(c.question());
    CAPTURE(d);
    CHECK(counted.legal >= Count(1000));
    Count sum = counted.legal;
    for (const auto& [name, count] : counted.rejected) sum += count;
    CHECK(sum == selection.candidates);
    CHECK(selection.ranked.size() == 5);
  }
}

TEST_CASE("the reason names what binds, what stops the next larger tile, and what the runner-up loses on") {
  const Case c = attention(128);
  const Selection selection = select(c.question(), 3);
  REQUIRE(selection.runner_up);
  CHECK(selection.runner_up->prediction.time > selection.ranked.front().prediction.time);
  const std::string because = explain(c.question(), selection);
  CAPTURE(because);
  CHECK(because.find(selection.ranked.front().prediction.bound + " binds, busy ") == 0);
  CHECK(std::regex_search(because, std::regex("; x=[0-9]+( with [a-z=0-9,]+)? fits and is ")));
  CHECK(std::regex_search(because, std::regex("; q=192 with warpgroups=3[a-z_=0-9,]* fits and is ")));
  CHECK(because.find("it loses on ") != std::string::npos);
  CHECK(because.find('\n') == std::string::npos);
}

TEST_CASE("the next larger size is refused for what stops it with every other knob free") {
  const Case c = attention(256);
  const std::string because = explain(c.question(), select(c.question(), 1));
  CHECK(std::regex_search(because,
                          std::regex("; q=192 with warpgroups=3[a-z=0-9,]* does not fit: registers \\(needed ")));
  CHECK(because.find("available 160)") != std::string::npos);
}

TEST_CASE("a larger size fits where some tile of it is legal") {
  int fit = 0, refused = 0;
  for (const std::int64_t d : {64, 192, 256}) {
    const Case c = attention(d);
    const Rules rules(c.streamed, c.mapping, c.machine, c.problem);
    const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
    const Space space = space_of(c.question());
    for (const char* name : {"q", "x"}) {
      const KnobId knob = *c.mapping.find_knob(name);
      Tile tile = space.tile(0);
      tile.values[static_cast<std::size_t>(knob)] = 1;
      while (const auto larger = next_larger(space, rules, placer, tile, knob)) {
        CHECK(larger->value > tile.values[static_cast<std::size_t>(knob)]);
        Question question = c.question();
        question.fixed = {{knob, larger->value}};
        CHECK(larger->fits == !select(question, 1).ranked.empty());
        CHECK(larger->rule.empty() == larger->fits);
        CHECK((larger->fits || larger->excess.needed > larger->excess.available));
        ++(larger->fits ? fit : refused);
        tile.values[static_cast<std::size_t>(knob)] = larger->value;
      }
    }
  }
  CHECK(fit > 0);
  CHECK(refused > 0);
}

TEST_CASE("nothing fits: no tile, and the nearest constraint") {
  Case c = attention(128);
  c.restrict("x", {256});
  c.restrict("stages", {4});
  const Selection selection = select(c.question(), 5);
  CHECK(selection.ranked.empty());
  const Tally counted = tally(c.question());
  CHECK(counted.legal == Count(0));
  CHECK(nearest_constraint(counted) == "rows");  // most candidates fail there; all others fail for memory
  CHECK(explain(c.question(), selection).empty());
  CHECK_FALSE(selection.runner_up);
}

TEST_CASE("a fixed knob stays, in the domain or not") {
  const Case c = attention(128);
  Question question = c.question();
  question.fixed = {{*c.mapping.find_knob("x"), 80}, {*c.mapping.find_knob("stages"), 1}};
  for (const Ranked& one : select(question, 4).ranked) {
    CHECK(value_of(c.mapping, one.tile, "x") == 80);
    CHECK(value_of(c.mapping, one.tile, "stages") == 1);
  }
  question.fixed = {{*c.mapping.find_knob("x"), 100}};
  CHECK(select(question, 4).ranked.empty());
  CHECK(tally(question).legal == Count(0));
}

TEST_CASE("ties are broken by the order of preference") {
  const Case c = attention(128);
  const Selection selection = select(c.question(), 3);
  REQUIRE(selection.ranked.size() == 3);
  CHECK(selection.ranked[0].prediction.time == selection.ranked[2].prediction.time);
  CHECK(value_of(c.mapping, selection.ranked[0].tile, "order") == 0);
  CHECK(value_of(c.mapping, selection.ranked[1].tile, "order") > 0);  // the next that the pick's cluster allows
}

TEST_CASE("a selector remembers by value, and forgets the oldest") {
  const Case a = attention(128), b = attention(64);
  Selector selector({}, 1);
  const Tile first = selector.select(a.question(), 1).ranked.front().tile;
  const Selection* again = &selector.select(a.question(), 1);
  CHECK(again == &selector.select(a.question(), 1));
  CHECK(again->ranked.front().tile == first);
  Question other = a.question();
  other.problem.mask.kind = Mask::Kind::causal;
  // One answer at a time: with room for one, the next question ends the life of this one's answer.
  const Seconds causal = selector.select(other, 1).ranked.front().prediction.time;
  const Seconds full = selector.select(a.question(), 1).ranked.front().prediction.time;
  CHECK(causal < full);
  CHECK(selector.select(b.question(), 1).ranked.front().tile.values ==
        select(b.question(), 1).ranked.front().tile.values);
  CHECK(selector.select(a.question(), 1).ranked.front().tile == first);
}

}  // namespace test_select
