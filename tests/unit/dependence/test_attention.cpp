// The thirteen statements of the scalar forward pass: the transformations that their dependences allow, and three
// errors of the source. (model/README.md, "Dependences"; errata S0.1, S0.2, S0.3)

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "model/dependence/defects.hpp"
#include "model/dependence/execute.hpp"
#include "model/dependence/library.hpp"
#include "model/dependence/order.hpp"
#include "model/dependence/text.hpp"
#include "model/dependence/traffic.hpp"
#include "model/dependence/transform.hpp"

namespace test_attention {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::dependence;
using Sets = std::vector<std::vector<std::string>>;

constexpr const char* corrected =
    "S10(i,j,d) o_ijd = o_id * l_i * exp(m_i - m_ij) / l_ij + exp(S_ij - m_ij) * v_jd / l_ij";

Sets recurrences_of(const Nest& nest) {
  Sets sets;
  for (const auto& members : recurrences(graph_of(nest, dependences(nest)))) {
    sets.emplace_back();
    for (StatementId s : members) sets.back().push_back(nest.statements[static_cast<std::size_t>(s)].name);
    std::sort(sets.back().begin(), sets.back().end(),
              [](const auto& a, const auto& b) { return std::stoi(a.substr(1)) < std::stoi(b.substr(1)); });
  }
  std::sort(sets.begin(), sets.end(),
            [](const auto& a, const auto& b) { return std::stoi(a[0].substr(1)) < std::stoi(b[0].substr(1)); });
  return sets;
}

bool parallel(const Nest& nest, const std::string& loop) {
  return loop_verdicts(nest, dependences(nest))[static_cast<std::size_t>(nest.loop(loop))].parallel;
}

std::vector<LoopId> order_of(const Nest& nest, const std::string& names) {
  std::vector<LoopId> order;
  for (char c : names) order.push_back(nest.loop(std::string(1, c)));
  return order;
}

Order judged(const Nest& nest, const std::string& names) {
  return judge(nest, dependences(nest), order_of(nest, names));
}

std::set<std::string> flow(const Nest& nest) {
  std::set<std::string> edges;
  for (const Dependence& d : dependences(nest)) {
    if (d.kind != dependence::Kind::raw) continue;
    edges.insert(nest.statements[static_cast<std::size_t>(d.from)].name.substr(1) + ">" +
                 nest.statements[static_cast<std::size_t>(d.to)].name.substr(1));
  }
  return edges;
}

// Returns a value of one query and five keys, whose exponentials sum to 1.505 of the largest.
double query_key_value(const std::string& array, const std::vector<std::int64_t>& at) {
  const double keys[] = {std::log(0.3), std::log(0.15), 0.0, std::log(0.05), std::log(0.005)};
  const auto i = static_cast<double>(at[0]);
  if (array == "Q") return 1.0;
  if (array == "K") return keys[at[0]];
  return std::sin(1.0 + i + 7.0 * static_cast<double>(at[1]));
}

// Computes softmax(Q K) V in float64 by its definition.
double expected_output(const Given& given, std::int64_t i, std::int64_t d) {
  double top = -1e300, sum = 0, output = 0;
  for (std::int64_t j = 0; j < 5; ++j) top = std::max(top, given("Q", {i}) * given("K", {j}));
  for (std::int64_t j = 0; j < 5; ++j) {
    const double weight = std::exp(given("Q", {i}) * given("K", {j}) - top);
    sum += weight;
    output += weight * given("V", {j, d});
  }
  return output / sum;
}

double worst_error(const Nest& nest, const Given& given) {
  const Store store = execute(nest, given);
  double worst = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t d = 0; d < 3; ++d) {
      worst = std::max(worst, std::abs(store.at("O").at({i, d}) - expected_output(given, i, d)));
    }
  }
  return worst;
}

const Sets expected_sets = {{"S3", "S6", "S12"}, {"S4", "S7", "S13"}, {"S8", "S10", "S11"}};

TEST_CASE("three recurrences: the maximum, the sum, the output") {
  CHECK(recurrences_of(load_nest("attention")) == expected_sets);
  CHECK(recurrences_of(load_nest("attention_listing")) == expected_sets);
}

TEST_CASE("the edges are those of the dependence analysis; the corrected S10 adds 3>10") {
  const std::set<std::string> listed = {"1>5",  "2>5", "5>6",  "3>7",  "5>7", "6>7",  "4>10", "5>10", "6>10",  "7>10",
                                        "9>10", "3>6", "6>12", "12>3", "4>7", "7>13", "13>4", "8>10", "10>11", "11>8"};
  CHECK(flow(load_nest("attention_listing")) == listed);
  std::set<std::string> right = listed;
  right.insert("3>10");
  CHECK(flow(load_nest("attention")) == right);
}

TEST_CASE("i and d are parallel, j carries the three recurrences") {
  const Nest nest = load_nest("attention");
  const std::vector<Dependence> all = dependences(nest);
  const std::vector<LoopVerdict> verdicts = loop_verdicts(nest, all);
  CHECK(verdicts[0].parallel);
  CHECK_FALSE(verdicts[1].parallel);
  CHECK(verdicts[2].parallel);
  CHECK(verdicts[0].carried.empty());
  CHECK(verdicts[2].carried.empty());
  std::set<std::string> carried;
  for (std::size_t i : verdicts[1].carried) {
    if (all[i].kind == dependence::Kind::raw) carried.insert(text_of(nest, all[i]));
  }
  CHECK(carried == std::set<std::string>{"S12 -> S3 RAW m[i] (0, +, .)", "S13 -> S4 RAW l[i] (0, +, .)",
                                         "S11 -> S8 RAW O[i,d] (0, +, 0)"});
}

TEST_CASE("all six orders are legal after hoisting, and give the same values") {
  const Nest nest = load_nest("attention");
  const std::vector<Order> all = orders(nest, dependences(nest), 3);
  CHECK(all.size() == 6);
  const Given given = arbitrary_values(1);
  const Store own = execute(nest, given);
  for (const Order& order : all) {
    CHECK(order.legal());
    const Store other = execute(nest, given, order.loops);
    for (const std::string& name : nest.outputs) CHECK(other.at(name).cells == own.at(name).cells);
  }
}

TEST_CASE("before hoisting j<->d is not legal: (0, +, *) would become negative") {
  const Nest nest = privatise(load_nest("attention_listing")).nest;
  CHECK(parallel(nest, "i"));
  CHECK_FALSE(parallel(nest, "j"));
  CHECK_FALSE(parallel(nest, "d"));
  std::set<std::string> vectors;
  for (const Dependence& d : dependences(nest)) {
    if (d.kind == dependence::Kind::raw && d.source.array == "l") vectors.insert(text_of(d.vector));
  }
  CHECK(vectors == std::set<std::string>{"(0, 0, +)", "(0, +, *)"});
  CHECK(judged(nest, "ijd").legal());
  const Order order = judged(nest, "idj");
  REQUIRE_FALSE(order.legal());
  CHECK(text_of(order.refusal->vector) == "(0, +, -)");
  CHECK(text_of(order.refusal->permuted) == "(0, -, +)");
}

TEST_CASE("in the listing as written l is summed d times: 4.515, not 1.505 (erratum S0.2)") {
  const Given given = query_key_value;
  CHECK(execute(load_nest("attention_listing"), given).at("l").at({0}) == doctest::Approx(4.515).epsilon(1e-12));
  CHECK(execute(load_nest("attention"), given).at("l").at({0}) == doctest::Approx(1.505).epsilon(1e-12));
  CHECK(execute(load_nest("attention_reference"), given).at("l").at({0}) == doctest::Approx(1.505).epsilon(1e-12));
}

TEST_CASE("S10 without exp(m_i - m_ij) is wrong wherever the maximum moves (erratum S0.1)") {
  const Nest listing = load_nest("attention_listing");
  const auto hoisted = [](const Nest& nest) { return improve(nest).back().nest; };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Given given = arbitrary_values(seed);
    CHECK(worst_error(hoisted(replace(listing, corrected, "").nest), given) < 1e-14);
    CHECK(worst_error(load_nest("attention"), given) < 1e-14);
    CHECK(worst_error(load_nest("attention_reference"), given) < 1e-14);
    CHECK(worst_error(hoisted(listing), given) > 1e-2);
    CHECK(worst_error(replace(listing, corrected, "").nest, given) > 1e-3);  // right formula, repeated for every d
  }
  // Falling scores: the maximum never moves after the first key, and the missing factor is 1.
  const Given falling = [](const std::string& array, const std::vector<std::int64_t>& at) {
    if (array == "Q") return 1.0;
    return array == "K" ? -static_cast<double>(at[0]) : query_key_value(array, at);
  };
  CHECK(worst_error(hoisted(listing), falling) < 1e-14);
}

TEST_CASE("m and l read before loop j: every key meets the initial state (erratum S0.3)") {
  const Nest wanted = load_nest("attention");
  std::string text = print(wanted);
  const auto put = [&](const std::string& from, const std::string& to) {
    std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  };
  const std::string key = "  - S2(i,j) k_j[i,j] = K[j]\n";
  put(key, "");
  put("  - S5(", key + "  - S5(");
  put("S3(i,j)", "S3(i)");
  put("S4(i,j)", "S4(i)");
  put("m_i[i,j]", "m_i[i]");
  put("l_i[i,j]", "l_i[i]");
  const Nest lifted = parse_nest(text, "lifted");
  std::string found;
  for (const Defect& defect : find_defects(lifted)) found += defect.text + "\n";
  for (const char* name : {"O", "m", "l"})
    CHECK_MESSAGE(found.find(std::string(name) + " differs from attention_reference") != std::string::npos, found);
  CHECK(find_defects(wanted).empty());
}

TEST_CASE("the steps lead from the listing to the corrected nest") {
  const Step fixed =
      replace(load_nest("attention_listing"), corrected, "the output is rescaled by the sum's own factor");
  const std::vector<Step> steps = improve(fixed.nest);
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].name == "privatise");
  CHECK(steps[0].preserves);
  CHECK(steps[1].name == "hoist out of d");
  CHECK_FALSE(steps[1].preserves);
  CHECK(steps[1].text.starts_with("S1, S2, S3, S4, S5, S6, S7, S12, S13 do not depend on d"));
  CHECK(steps[2].name == "hoist out of j");
  CHECK(steps[2].text.starts_with("S1 do"));
  CHECK(steps[2].preserves);
  const Nest wanted = load_nest("attention");
  Nest last = steps.back().nest;
  last.name = wanted.name;
  last.about = wanted.about;
  CHECK(last == wanted);
  const Given given = arbitrary_values(3);
  const Store as_listed = execute(fixed.nest, given), as_private = execute(steps[0].nest, given);
  for (const char* name : {"O", "m", "l"}) CHECK(as_listed.at(name).cells == as_private.at(name).cells);
}

TEST_CASE("steps that would be wrong are refused") {
  const Nest listing = load_nest("attention_listing");
  CHECK_THROWS_WITH_AS((void)hoist(privatise(listing).nest, {"S9"}, "d"),
                       "attention_listing: S9 depends on d by V[j,d]: leave it there", Error);
  CHECK_THROWS_AS((void)hoist(privatise(listing).nest, {"S12"}, "d"), Error);  // S6 stays, and writes what it takes
  CHECK_THROWS_AS((void)hoist(listing, {"S5"}, "d"), Error);                   // shared temporaries
  CHECK(hoistable(privatise(listing).nest, "d", false) == std::vector<std::string>{"S1", "S2", "S5"});
  CHECK_THROWS_AS((void)hoist(listing, {"S14"}, "d"), Error);
  CHECK_THROWS_AS((void)replace(listing, "S14(i) x = 1", ""), Error);
}

TEST_CASE("the defects of the listing are found, the corrected nest has none") {
  const std::vector<Defect> defects = find_defects(load_nest("attention_listing"));
  REQUIRE(defects.size() == 3);
  CHECK(defects[0].text.find("loop d is claimed parallel") != std::string::npos);
  CHECK(defects[1].text.find("O differs from attention_reference") != std::string::npos);
  CHECK(defects[2].text.find("l differs from attention_reference") != std::string::npos);
  CHECK(find_defects(load_nest("attention")).empty());
  CHECK(find_defects(load_nest("attention_reference")).empty());
  // Hoisting alone mends l, not O.
  const std::vector<Defect> left = find_defects(improve(load_nest("attention_listing")).back().nest);
  REQUIRE(left.size() == 1);
  CHECK(left[0].text.find("O differs") != std::string::npos);
}

TEST_CASE("A[i-1,j+1]: the interchange is refused with its vector (1, -1)") {
  const Nest nest = load_nest("skewed");
  const std::vector<Dependence> all = dependences(nest);
  REQUIRE(all.size() == 1);
  CHECK(text_of(nest, all[0]) == "S1 -> S1 RAW A[i,j] (1, -1)");
  CHECK(judged(nest, "ij").legal());
  const Order order = judged(nest, "ji");
  REQUIRE_FALSE(order.legal());
  CHECK(text_of(order.refusal->permuted) == "(-1, 1)");
  CHECK(order.refusal->text == "S1 -> S1 RAW A[i,j]: (1, -1) becomes (-1, 1)");
  const Given given = arbitrary_values(7);
  CHECK(execute(nest, given).at("A").cells != execute(nest, given, order.loops).at("A").cells);
}

TEST_CASE("traffic: j inside re-reads K and V for every i, i inside re-reads m, l and O for every j") {
  const Nest nest = load_nest("attention");
  const std::vector<Dependence> all = dependences(nest);
  const auto of = [&](const std::string& names) { return traffic_of(nest, all, order_of(nest, names), 1); };
  CHECK(formula(loop_names(nest), of("ijd"), false) == "3 i + i j + i d + i j d");  // Q m l, K, O, V
  CHECK(formula(loop_names(nest), of("ijd"), true) == "2 i + i d");
  CHECK(formula(loop_names(nest), of("jid"), false) == "j + 3 i j + j d + i j d");  // K, Q m l, V, O
  CHECK(formula(loop_names(nest), of("jid"), true) == "2 i j + i j d");
  CHECK(of("ijd").load.get() == 3 * 4 + 4 * 5 + 4 * 3 + 4 * 5 * 3);
  CHECK(of("jid").store.get() == 2 * 4 * 5 + 4 * 5 * 3);
}

}  // namespace

}  // namespace test_attention
