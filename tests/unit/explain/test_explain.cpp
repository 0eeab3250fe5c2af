// The reason of a selection: the limit, the obstacles to the next larger sizes, the cause of the runner-up's longer
// time.
#include <doctest/doctest.h>

#include <map>
#include <regex>

#include "solver/explain/explain.hpp"
#include "solver/explain/larger.hpp"
#include "solver/space/enumerate.hpp"
#include "tests/support/case_count.hpp"
#include "tests/unit/select/case.hpp"

namespace test_explain {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Case;

namespace {

/// Returns the case, made once for each d.
const Case& attention(std::int64_t d) {
  static std::map<std::int64_t, Case> made;
  const auto found = made.find(d);
  if (found != made.end()) return found->second;
  return made.emplace(d, Case("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", d}}))
      .first->second;
}

Tables& shared_tables() {
  static Tables tables;
  return tables;
}

struct Asked {
  Selector selector;
  Selection selection;
  Asked(const Setup& setup, int top, Tables& tables = shared_tables())
      : selector(setup, tables), selection(selector.rank(top)) {}
};

}  // namespace

TEST_CASE("the reason names what binds, what stops the next larger tile, and what the runner-up loses on") {
  const Case& c = attention(128);
  const Setup setup = c.setup();
  Asked asked(setup, 3);
  REQUIRE(asked.selection.runner_up);
  CHECK(asked.selection.runner_up->prediction.time > asked.selection.ranked.front().prediction.time);
  const std::string because = explain(asked.selector, asked.selection).sentence;
  CAPTURE(because);
  CHECK(because.find(asked.selection.ranked.front().prediction.bound + " binds: an iteration takes ") == 0);
  CHECK(std::regex_search(because, std::regex("; x=[0-9]+( with [a-z=0-9,]+)? fits and is ")));
  CHECK(std::regex_search(because, std::regex("; q=192 with warpgroups=3[a-z_=0-9,]* fits and is ")));
  CHECK(because.find("it loses on ") != std::string::npos);
  CHECK(because.find('\n') == std::string::npos);
}

TEST_CASE("the next larger size is refused for what stops it with every other knob free") {
  const Case& c = attention(256);
  const Setup setup = c.setup();
  Asked asked(setup, 1);
  const std::string because = explain(asked.selector, asked.selection).sentence;
  CAPTURE(because);
  CHECK(std::regex_search(because,
                          std::regex("; q=192 with warpgroups=3[a-z_=0-9,]* does not fit: registers \\(needed ")));
  CHECK(because.find("available 160)") != std::string::npos);
}

TEST_CASE("a larger size fits where some tile of it is legal") {
  int fit = 0, refused = 0, left = test::rounds(3);
  for (const std::int64_t d : {256, 192, 64}) {
    if (left-- <= 0) break;
    const Case& c = attention(d);
    const Setup setup = c.setup();
    Selector selector(setup, shared_tables());
    const Space space = space_of(setup);
    for (const char* name : {"q", "x"}) {
      const KnobId knob = *c.mapping.find_knob(name);
      Tile tile = space.tile(0);
      tile.values[static_cast<std::size_t>(knob)] = 1;
      while (const auto larger = next_larger(selector, tile, knob)) {
        CHECK(larger->value > tile.values[static_cast<std::size_t>(knob)]);
        CHECK(larger->fits == selector.best_with(knob, larger->value).has_value());
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

TEST_CASE("nothing is explained if nothing fits") {
  Case c = attention(128);
  c.restrict("x", {256});
  c.restrict("stages", {4});
  const Setup setup = c.setup();
  Tables tables;
  Asked asked(setup, 5, tables);
  CHECK(explain(asked.selector, asked.selection).sentence.empty());
  CHECK(explain(asked.selector, asked.selection).reasons.empty());
}

}  // namespace test_explain
