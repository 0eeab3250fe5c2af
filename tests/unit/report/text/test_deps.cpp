// The report of dependences: the JSON, the text, the graph.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "apps/report/text/deps.hpp"
#include "apps/report/text/graphviz.hpp"
#include "model/dependence/from_streamed.hpp"
#include "model/dependence/library.hpp"
#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"

namespace test_deps {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::report;

std::set<std::string> keys_of(const Json& json) {
  std::set<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  return keys;
}

TEST_CASE("the corrected forward pass as JSON") {
  const Json json = json_of(dependences_of(dependence::load_nest("attention")));
  CHECK(keys_of(json) == std::set<std::string>{"command", "name", "statements", "arrays", "vector_loops", "edges",
                                               "sccs", "loops", "orders"});
  CHECK(json["vector_loops"] == Json({"i", "j", "d"}));
  CHECK(json["sccs"] == Json::parse(R"([["S3","S6","S12"],["S4","S7","S13"],["S8","S10","S11"]])"));
  CHECK(json["loops"][0]["name"] == "i");
  CHECK(json["loops"][0]["parallel"] == true);
  CHECK(json["loops"][1]["parallel"] == false);
  CHECK(json["loops"][2]["parallel"] == true);
  CHECK(json["loops"][2]["carried"].empty());
  CHECK(json["orders"].size() == 6);
  for (const Json& order : json["orders"]) {
    CHECK(order["legal"] == true);
    CHECK(order["why"].is_null());
  }
  CHECK(json["orders"][0]["traffic"]["load_formula"] == "3 i + i j + i d + i j d");
  std::set<std::string> told;
  for (const Json& edge : json["edges"]) {
    CHECK(keys_of(edge) == std::set<std::string>{"from", "to", "kind", "vector", "value", "carried_by"});
    CHECK(edge["vector"].size() == 3);
    CHECK(told.insert(edge.dump()).second);
  }
  CHECK(std::count_if(told.begin(), told.end(), [](const std::string& edge) {
          return edge.starts_with(R"({"from":"S12","to":"S3","kind":"RAW","vector":["0","+",null],"value":)") &&
                 edge.ends_with(R"(,"carried_by":"j"})");
        }) == 1);
}

TEST_CASE("the refused interchange as JSON and as text") {
  const Dependences found = dependences_of(dependence::load_nest("skewed"));
  const Json json = json_of(found);
  CHECK(json["edges"].dump() ==
        R"([{"from":"S1","to":"S1","kind":"RAW","vector":["1","-1"],"value":"A[i,j]","carried_by":"i"}])");
  CHECK(json["orders"][1]["legal"] == false);
  CHECK(json["orders"][1]["why"] == "S1 -> S1 RAW A[i,j]: (1, -1) becomes (-1, 1)");
  CHECK(json["orders"][1]["traffic"].is_null());
  CHECK(text_of(found, {}).find("j i: S1 -> S1 RAW A[i,j]: (1, -1) becomes (-1, 1)") != std::string::npos);
  // The picture has the vector, the recurrence's name, and the indices of a statement that is short.
  const std::string dot = dot_of(found);
  CHECK(dot.find("RAW i (1, -1)") != std::string::npos);
  CHECK(dot.find("label=\"SCC1\"") != std::string::npos);
  CHECK(dot.find("\\nA[") != std::string::npos);
}

TEST_CASE("every built-in algorithm reports, without numbers for sizes that it does not have") {
  for (const std::string& name : builtin_diagrams()) {
    CAPTURE(name);
    const Streamed streamed = derive(load_diagram(name));
    const Dependences found = dependences_of(dependence::nest_of(streamed), streamed.diagram);
    const Json json = json_of(found);
    for (const Json& order : json["orders"]) {
      CHECK(order["legal"] == true);
      CHECK(order["traffic"]["load"].is_null());
    }
    CHECK_FALSE(text_of(found, {}).empty());
    CHECK(dot_of(found).starts_with("digraph"));
  }
}

TEST_CASE("attention: with the keys outside, Q is read again for every key, and stored nowhere") {
  const Diagram diagram = load_diagram("attention");
  const Streamed streamed = derive(diagram, roles_of(diagram, {"q"}, "x"));
  const Dependences found = dependences_of(dependence::nest_of(streamed), streamed.diagram);
  REQUIRE(found.orders.size() == 2);
  CHECK(formula(found.names, found.traffic[0], false) == "q b h g d + q x b h d + q x b h dv");
  CHECK(formula(found.names, found.traffic[0], true) == "q b h g dv");
  CHECK(formula(found.names, found.traffic[1], true) == "2 q x b h g + q b h g dv + q x b h g dv");
  CHECK(formula(found.names, found.traffic[1], false) ==
        "x b h d + x b h dv + 2 q x b h g + q x b h g d + q x b h g dv");
}

TEST_CASE("the argument on the order of loops (eq. 18.5), for the streamed program in names of axes") {
  const Streamed streamed = derive(load_diagram("softmax_contraction"));
  const Dependences found = dependences_of(dependence::nest_of(streamed), streamed.diagram);
  std::string text;
  for (std::size_t i = 0; i < found.orders.size(); ++i) {
    for (std::size_t l = 0; l < found.outer; ++l)
      text += found.nest.loops[static_cast<std::size_t>(found.orders[i].loops[l])].name + " ";
    text += "| " + formula(found.names, found.traffic[i], false) + " | " +
            formula(found.names, found.traffic[i], true) + "\n";
  }
  CHECK(text ==
        "q x | q x + q x d | q d\n"                            // S once, V again for every query; O once
        "x q | 3 q x + x d + q x d | 2 q x + q d + q x d\n");  // V once; mu, z and O again for every key
}

}  // namespace

}  // namespace test_deps
