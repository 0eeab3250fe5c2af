// The analyses of loop nests against slow twins: random small nests run, every access is recorded, and the analysis
// must agree with the trace exactly.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "model/dependence/execute.hpp"
#include "model/dependence/graph.hpp"
#include "model/dependence/order.hpp"
#include "model/dependence/text.hpp"
#include "model/dependence/traffic.hpp"
#include "model/dependence/transform.hpp"
#include "tests/support/case_count.hpp"

namespace test_dependence_trace {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::dependence;
using dependence::Reference;  // not the mappings', nor the pseudocode's
using dependence::Statement;
using Random = std::mt19937;

std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

// Returns a valid nest of up to three loops and four statements over two small arrays and a temporary; or nothing,
// where the choices break a rule of nests.
std::optional<Nest> random_nest(Random& random) {
  Nest nest;
  nest.name = "random";
  const std::size_t loops = 1 + below(random, 3);
  for (std::size_t l = 0; l < loops; ++l) {
    const auto begin = static_cast<std::int64_t>(below(random, 3)) - 1;
    nest.loops.push_back(
        {std::string(1, "ijk"[l]), begin, begin + 1 + static_cast<std::int64_t>(below(random, 4)), {}});
  }
  const std::size_t ranks[] = {below(random, 3), 1 + below(random, 2), below(random, 2)};
  const auto reference = [&](std::size_t array, const std::vector<LoopId>& in) {
    Reference r{array == 0 ? "A" : array == 1 ? "B" : "t", {}};
    for (std::size_t i = 0; i < ranks[array]; ++i) {
      Subscript s{std::nullopt, static_cast<std::int64_t>(below(random, 3)) - 1};
      if (!in.empty() && below(random, 5) > 0) s.loop = in[below(random, in.size())];
      r.subscripts.push_back(s);
    }
    return r;
  };
  const std::size_t statements = 1 + below(random, 4);
  for (std::size_t i = 0; i < statements; ++i) {
    Statement s;
    s.name = "S" + std::to_string(i + 1);
    for (std::size_t l = 0; l < loops; ++l) {
      if (below(random, 4) > 0) s.loops.push_back(static_cast<LoopId>(l));
    }
    Expression e, other;
    e.kind = other.kind = Expression::Kind::reference;
    e.reference = reference(below(random, i == 0 ? 2 : 3), s.loops);
    other.reference = reference(below(random, 2), s.loops);
    s.value.kind = Expression::Kind::subtract;
    s.value.operands = {e, other};
    s.target = reference(below(random, 3), s.loops);
    nest.statements.push_back(std::move(s));
  }
  for (const std::string& name : nest.array_names()) {
    if (name != "t") nest.arrays.push_back({name, std::nullopt, {}});
  }
  for (const MemoryArray& a : nest.arrays) nest.outputs.push_back(a.name);
  try {
    check(nest);
    (void)execute(nest, arbitrary_values(0));
  } catch (const Error&) {
    return std::nullopt;
  }
  return nest;
}

std::vector<Access> trace_of(const Nest& nest) {
  std::vector<Access> trace;
  (void)execute(nest, arbitrary_values(0), own_order(nest), [&](const Access& a) { trace.push_back(a); });
  return trace;
}

// from, to, kind, array, level (or -1)
using Key = std::tuple<StatementId, StatementId, int, std::string, int>;
using Bounds = std::vector<std::pair<std::int64_t, std::int64_t>>;

void widen(std::map<Key, Bounds>& all, const Key& key, const Bounds& bounds) {
  const auto [at, fresh] = all.emplace(key, bounds);
  if (fresh) return;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    at->second[i].first = std::min(at->second[i].first, bounds[i].first);
    at->second[i].second = std::max(at->second[i].second, bounds[i].second);
  }
}

bool depend(const Access& a, const Access& b) {
  return a.array == b.array && a.subscripts == b.subscripts && (a.write || b.write);
}
bool same_instance(const Access& a, const Access& b) {
  return a.statement == b.statement && a.iteration == b.iteration;
}

std::map<Key, Bounds> traced(const Nest& nest) {
  const std::vector<Access> trace = trace_of(nest);
  std::map<Key, Bounds> all;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    for (std::size_t j = i + 1; j < trace.size(); ++j) {
      const Access &a = trace[i], &b = trace[j];
      if (!depend(a, b) || same_instance(a, b)) continue;
      int level = -1;
      Bounds bounds;
      for (std::size_t l = 0; l < a.iteration.size(); ++l) {
        const std::int64_t distance = b.iteration[l] - a.iteration[l];
        bounds.emplace_back(distance, distance);
        if (level < 0 && distance != 0) level = static_cast<int>(l);
      }
      const Kind kind = !a.write ? Kind::war : b.write ? Kind::waw : Kind::raw;
      widen(all, {a.statement, b.statement, static_cast<int>(kind), a.array, level}, bounds);
    }
  }
  return all;
}

std::map<Key, Bounds> analysed(const Nest& nest) {
  std::map<Key, Bounds> all;
  for (const Dependence& d : dependences(nest)) {
    Bounds bounds;
    for (const Component& c : d.vector) bounds.emplace_back(c.least, c.most);
    widen(all, {d.from, d.to, static_cast<int>(d.kind), d.source.array, d.level ? *d.level : -1}, bounds);
  }
  return all;
}

// Returns true if every two accesses that depend on each other stay in their order.
bool keeps_all(const Nest& nest, const std::vector<LoopId>& order) {
  std::map<std::pair<StatementId, std::vector<std::int64_t>>, std::size_t> place;
  std::size_t clock = 0;
  (void)execute(
      nest, [](const std::string&, const auto&) { return 0.0; }, order,
      [&](const Access& a) {
        place[{a.statement, a.iteration}] = clock++;
      });
  const std::vector<Access> trace = trace_of(nest);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    for (std::size_t j = i + 1; j < trace.size(); ++j) {
      if (!depend(trace[i], trace[j]) || same_instance(trace[i], trace[j])) continue;
      if (place.at({trace[i].statement, trace[i].iteration}) > place.at({trace[j].statement, trace[j].iteration}))
        return false;
    }
  }
  return true;
}

template <class F>
void for_random_nests(int count, std::uint32_t seed, F&& f) {
  Random random(seed);
  for (int made = 0; made < count;) {
    const auto nest = random_nest(random);
    if (!nest) continue;
    ++made;
    const std::string text = print(*nest);
    CAPTURE(text);
    f(*nest);
  }
}

TEST_CASE("dependences are those of the trace, with the same bounds in every loop") {
  std::size_t found = 0;
  for_random_nests(3000, 1, [&](const Nest& nest) {
    const auto expected = traced(nest);
    found += expected.size();
    CHECK(analysed(nest) == expected);
    CHECK(parse_nest(print(nest), "printed") == nest);
  });
  CHECK(found > 10000);
}

TEST_CASE("an order is legal exactly where it keeps every dependent pair of accesses") {
  int legal = 0, illegal = 0;
  for_random_nests(1000, 2, [&](const Nest& nest) {
    const std::vector<Dependence> all = dependences(nest);
    for (const Order& order : orders(nest, all, nest.loops.size())) {
      bool keeps = false;
      try {
        keeps = keeps_all(nest, order.loops);
      } catch (const Error&) {  // a temporary read before it is written
      }
      CHECK(order.legal() == keeps);
      (keeps ? legal : illegal) += 1;
      if (!order.legal()) continue;
      const Given given = arbitrary_values(9);
      const Store own = execute(nest, given), other = execute(nest, given, order.loops);
      for (const std::string& name : nest.outputs) CHECK(own.at(name).cells == other.at(name).cells);
    }
  });
  CHECK(legal > 500);
  CHECK(illegal > 500);
}

TEST_CASE("steps that claim to preserve the outputs do") {
  int hoisted = 0;
  for_random_nests(test::rounds(20000), 3, [&](const Nest& nest) {
    const Given given = arbitrary_values(4);
    const Store own = execute(nest, given);
    for (const dependence::Step& step : improve(nest)) {
      REQUIRE(step.preserves);
      hoisted += step.name == "privatise" ? 0 : 1;
      const std::string after = step.name + "\n" + print(step.nest);
      CAPTURE(after);
      const Store other = execute(step.nest, given);
      for (const std::string& name : nest.outputs) CHECK(own.at(name).cells == other.at(name).cells);
    }
  });
  CHECK(hoisted > test::rounds(20));
}

// Returns the values that a reference fetches if the cache keeps those that it touched in the previous iteration of the
// outer loops.
std::int64_t fetched(const Nest& nest, const Statement& s, const Reference& r, const std::vector<LoopId>& order,
                     std::size_t cached) {
  std::vector<std::int64_t> at;
  for (const Loop& l : nest.loops) at.push_back(l.begin);
  const std::size_t outer = order.size() - cached;
  std::set<std::vector<std::int64_t>> held;
  std::int64_t count = 0;
  const auto touched = [&] {
    std::set<std::vector<std::int64_t>> cells{{}};
    for (const Subscript& sub : r.subscripts) {
      std::set<std::vector<std::int64_t>> longer;
      const bool inside = sub.loop && std::find(order.begin() + static_cast<std::ptrdiff_t>(outer), order.end(),
                                                *sub.loop) != order.end();
      for (std::vector<std::int64_t> cell : cells) {
        const auto l = static_cast<std::size_t>(sub.loop.value_or(0));
        const std::int64_t first = !sub.loop ? 0 : inside ? nest.loops[l].begin : at[l];
        const std::int64_t last = !sub.loop ? 0 : inside ? nest.loops[l].end - 1 : at[l];
        for (std::int64_t v = first; v <= last; ++v) {
          cell.push_back(v + sub.offset);
          longer.insert(cell);
          cell.pop_back();
        }
      }
      cells = std::move(longer);
    }
    return cells;
  };
  for (bool more = true; more;) {
    bool runs = true;
    for (std::size_t i = 0; i < outer; ++i) {
      const auto l = static_cast<std::size_t>(order[i]);
      runs = runs && (s.in(order[i]) || at[l] == nest.loops[l].begin);
    }
    if (runs) {
      const auto cells = touched();
      for (const auto& cell : cells) count += held.count(cell) == 0 ? 1 : 0;
      held = cells;
    }
    more = false;
    for (std::size_t i = outer; i-- > 0 && !more;) {
      const auto l = static_cast<std::size_t>(order[i]);
      more = ++at[l] < nest.loops[l].end;
      if (!more) at[l] = nest.loops[l].begin;
    }
  }
  return count;
}

TEST_CASE("traffic of matrix products in every order is what a small cache fetches") {
  Random random(4);
  for (int trial = 0; trial < 200; ++trial) {
    std::ostringstream text;
    text << "nest: matmul\nloops: {i: " << 1 + random() % 5 << ", j: " << 1 + random() % 5
         << ", k: " << 1 + random() % 5 << "}\narrays: {A: , B: , C: 0, R: }\nstatements:\n  - S0(i) r[i] = R[i]\n"
         << "  - S1(i,j,k) C[i,j] = C[i,j] + A[i,k] * B[k,j] * r[i]\noutputs: [C]\n";
    const Nest nest = parse_nest(text.str(), "matmul");
    const Statement& s = nest.statements[1];
    const auto all = dependences(nest);
    for (const Order& order : orders(nest, all, 3)) {
      for (std::size_t cached = 0; cached <= 3; ++cached) {
        std::int64_t load = 0;
        for (const Reference& r : s.reads()) {
          load += fetched(nest, s, nest.is_temporary(r.array) ? nest.statements[0].value.reference : r, order.loops,
                          cached);
        }
        const LoopTraffic traffic = traffic_of(nest, all, order.loops, cached);
        CAPTURE(text.str());
        CAPTURE(cached);
        CHECK(traffic.load.get() == load);
        CHECK(traffic.store.get() == fetched(nest, s, s.target, order.loops, cached));
      }
    }
  }
}

}  // namespace

}  // namespace test_dependence_trace
