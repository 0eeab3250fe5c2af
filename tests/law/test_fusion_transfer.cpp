// H and M of a streamed diagram against slow twins: loops over every group, chunk and masked pair; liveness of the
// program with its loop written out twice.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "model/diagram/library.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/partition.hpp"
#include "tests/unit/diagram/random_diagram.hpp"

namespace test_fusion_transfer {

namespace {

using namespace napkin;
using namespace napkin::internal;
using i64 = std::int64_t;

struct Range {
  i64 first, last;
};

std::size_t index(int id) { return static_cast<std::size_t>(id); }

bool sees(const Mask& mask, i64 row, i64 column, i64 rows, i64 columns) {
  const i64 diagonal = row + columns - rows;
  if (mask.kind == Mask::Kind::causal) return column <= diagonal;
  if (mask.kind == Mask::Kind::window) return diagonal - mask.left <= column && column <= diagonal + mask.right;
  if (mask.kind == Mask::Kind::prefix) return column < mask.left || column <= diagonal;
  return true;
}

// Counts the transfers of every group's program.
class Counter {
 public:
  Counter(const Streamed& s, const Problem& p, const Partition& t) : s_(s), p_(p), t_(t) {}

  Transfer run() {
    std::vector<Range> ranges;
    for (const Count size : p_.sizes) ranges.push_back({0, size.get()});
    groups(0, ranges);
    return {Values(load_), Values(store_)};
  }

 private:
  void groups(std::size_t axis, std::vector<Range>& ranges) {
    if (axis == ranges.size()) return group(ranges);
    if (!s_.grouped(static_cast<AxisId>(axis))) return groups(axis + 1, ranges);
    const i64 size = p_.sizes[axis].get(), g = t_.group[axis].get();
    for (i64 first = 0; first < size; first += g) {
      ranges[axis] = {first, std::min(first + g, size)};
      groups(axis + 1, ranges);
    }
    ranges[axis] = {0, size};
  }

  void group(const std::vector<Range>& ranges) {
    for (ArrayId in : s_.diagram.inputs) load_ += moved(in, ranges, false);
    for (ArrayId out : s_.diagram.outputs) store_ += moved(out, ranges, true);
  }

  i64 moved(ArrayId array, const std::vector<Range>& ranges, bool store) const {
    const auto& axes = s_.diagram.arrays[index(array)].axes;
    i64 rest = 1;
    for (AxisId a : axes) {
      if (a != s_.stream) rest *= ranges[index(a)].last - ranges[index(a)].first;
    }
    if (!s_.stream || !s_.diagram.arrays[index(array)].has(*s_.stream)) return rest;
    const Range stream = ranges[index(*s_.stream)];
    bool partial_sum = false;
    for (const Combine& c : s_.combines) partial_sum |= c.array == array && c.kind == Combine::Kind::sum;
    i64 seen = 0;
    for (i64 first = stream.first; first < stream.last; first += t_.chunk.get()) {
      const Range chunk{first, std::min(first + t_.chunk.get(), stream.last)};
      if (visited(ranges, chunk) || (store && !partial_sum)) seen += chunk.last - chunk.first;
    }
    return rest * seen;
  }

  bool visited(const std::vector<Range>& ranges, const Range& chunk) const {
    if (!s_.skips || p_.mask.kind == Mask::Kind::none) return true;
    const auto [row, column] = *s_.skips;
    const Range rows = row == *s_.stream ? chunk : ranges[index(row)];
    const Range columns = column == *s_.stream ? chunk : ranges[index(column)];
    for (i64 i = rows.first; i < rows.last; ++i) {
      for (i64 j = columns.first; j < columns.last; ++j) {
        if (sees(p_.mask, i, j, p_.sizes[index(row)].get(), p_.sizes[index(column)].get())) return true;
      }
    }
    return false;
  }

  const Streamed& s_;
  const Problem& p_;
  const Partition& t_;
  i64 load_ = 0, store_ = 0;
};

// Returns the largest sum of arrays that a later statement of head, loop, loop, tail still touches, plus all
// auxiliaries.
Values unrolled_peak(const Streamed& s, const Partition& partition) {
  std::vector<Statement> program = s.head;
  for (const auto* part : {&s.loop, &s.loop, &s.tail}) program.insert(program.end(), part->begin(), part->end());
  const auto reads = [&](const Statement& t) -> std::vector<ArrayId> {
    if (t.kind == Statement::Kind::load || t.kind == Statement::Kind::initialise) return {};
    if (t.kind != Statement::Kind::compute) return {*t.array};
    if (t.array) return {};
    std::vector<ArrayId> all = s.diagram.operations[index(*t.operation)].inputs;
    const auto kind = s.operations[index(*t.operation)].accumulator;
    if (kind == AccumulatorKind::sum || kind == AccumulatorKind::max) {
      all.push_back(s.diagram.operations[index(*t.operation)].outputs[0]);  // y = y + ...
    }
    return all;
  };
  const auto writes = [&](const Statement& t) -> std::vector<ArrayId> {
    if (t.kind == Statement::Kind::store) return {};
    if (t.kind != Statement::Kind::compute || t.array)
      return t.array ? std::vector<ArrayId>{*t.array} : std::vector<ArrayId>{};
    const auto& outputs = s.diagram.operations[index(*t.operation)].outputs;
    if (s.operations[index(*t.operation)].accumulator == AccumulatorKind::online_softmax) return {outputs[0]};
    return outputs;
  };
  Values peak;
  std::map<ArrayId, bool> there;
  Values auxiliaries;
  for (const Auxiliary& a : s.auxiliaries) auxiliaries += held(s, a.axes, partition);
  for (std::size_t t = 0; t < program.size(); ++t) {
    for (ArrayId w : writes(program[t])) there[w] = true;
    Values sum = auxiliaries;
    for (auto& [array, exists] : there) {
      bool needed = false, overwritten = false;
      for (std::size_t u = t + 1; u < program.size() && !needed && !overwritten; ++u) {
        for (ArrayId r : reads(program[u])) needed = needed || r == array;
        for (ArrayId w : writes(program[u])) overwritten = overwritten || w == array;
      }
      exists = exists && needed;
      if (exists) sum += held(s, s.diagram.arrays[index(array)].axes, partition);
    }
    peak = std::max(peak, sum);
  }
  return peak;
}

Partition random_partition(const Streamed& s, const Sizes& sizes, std::mt19937& random) {
  Partition p{sizes, 1};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto any = [&] { return Count(1 + static_cast<i64>(random() % static_cast<unsigned>(sizes[i].get()))); };
    if (s.grouped(static_cast<AxisId>(i))) p.group[i] = any();
    if (s.stream == static_cast<AxisId>(i)) p.chunk = any();
  }
  return p;
}

Mask random_mask(std::mt19937& random) {
  switch (random() % 4) {
    case 0: return {};
    case 1: return {Mask::Kind::causal, 0, 0};
    case 2: return {Mask::Kind::prefix, 1 + static_cast<i64>(random() % 9), 0};
    default: return {Mask::Kind::window, static_cast<i64>(random() % 9), static_cast<i64>(random() % 5)};
  }
}

struct Case {
  Streamed streamed;
  Problem problem;
  Partition partition;
};

// Calls check for many (roles, sizes, tile, mask) of built-in and random diagrams.
void for_many_cases(const std::function<void(const Case&)>& check) {
  std::mt19937 random(3);
  const auto try_roles = [&](const Diagram& d, const std::vector<AxisRole>& roles) {
    std::optional<Streamed> s;
    try {
      s = derive(d, roles);
    } catch (const Error&) {
      return;  // derive() refuses these roles
    }
    for (int i = 0; i < 6; ++i) {
      Sizes sizes;
      for (std::size_t a = 0; a < d.axes.size(); ++a) sizes.emplace_back(1 + static_cast<i64>(random() % 7));
      check({*s, {sizes, random_mask(random), DType::value}, random_partition(*s, sizes, random)});
    }
  };
  std::vector<Diagram> diagrams;
  // The programs written out here know no halo and no table of rows: tests/law/test_reindex.cpp counts rows one by one.
  const auto reindexed = [](const Array& array) { return !array.reindexed.empty(); };
  for (const std::string& name : builtin_diagrams()) {
    Diagram d = load_diagram(name);
    if (std::none_of(d.arrays.begin(), d.arrays.end(), reindexed)) diagrams.push_back(std::move(d));
  }
  for (int i = 0; i < 60; ++i) {
    std::vector<std::uint8_t> choices(random() % 120);
    for (auto& c : choices) c = static_cast<std::uint8_t>(random());
    diagrams.push_back(testing::make_diagram(choices));
  }
  for (const Diagram& d : diagrams) {
    for (int i = 0; i < 12; ++i) {
      std::vector<AxisRole> roles(d.axes.size(), AxisRole::whole);
      for (AxisRole& r : roles) r = random() % 2 == 0 ? AxisRole::group : AxisRole::whole;
      if (i % 4 != 0) roles[random() % roles.size()] = AxisRole::stream;
      try_roles(d, roles);
    }
    if (const Streamed s = derive(d); true) try_roles(d, s.roles);
  }
}

TEST_CASE("transfers equal counting every group and chunk, with masks") {
  int masked = 0, split = 0, ragged = 0, cases = 0;
  for_many_cases([&](const Case& c) {
    CAPTURE(print(c.streamed.diagram));
    CAPTURE(text_of(c.problem.mask));
    REQUIRE(transfer(c.streamed, c.problem, c.partition) == Counter(c.streamed, c.problem, c.partition).run());
    ++cases;
    masked += c.streamed.skips && c.problem.mask.kind != Mask::Kind::none ? 1 : 0;
    split += c.streamed.combines.empty() ? 0 : 1;
    for (std::size_t i = 0; i < c.partition.group.size(); ++i) {
      ragged += c.problem.sizes[i] % c.partition.group[i] != Count(0) ? 1 : 0;
    }
  });
  CHECK(cases > 1000);
  CHECK(masked > 50);
  CHECK(split > 200);
  CHECK(ragged > 200);
}

TEST_CASE("attention and its backward over 1, 7, 65, every mask, both streamed sides") {
  const Diagram forward = load_diagram("attention"), backward = load_diagram("attention_backward");
  const std::vector<Streamed> programs = {derive(forward),
                                          derive(forward, roles_of(forward, {"q", "x"}, "")),  // flash-decode
                                          derive(forward, roles_of(forward, {}, "q")),         // q streams: O does too
                                          derive(backward),
                                          derive(backward, roles_of(backward, {"x"}, "q")),
                                          derive(backward, roles_of(backward, {"q"}, "x")),
                                          derive(backward, roles_of(backward, {"q", "g", "x"}, ""))};
  for (const Streamed& s : programs) {
    for (i64 q : {1, 7, 65}) {
      for (i64 x : {1, 7, 65}) {
        for (const Mask& mask :
             {Mask{}, Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 5, 2}, Mask{Mask::Kind::prefix, 5, 0}}) {
          const Problem p{resolve_sizes(s.diagram, {{"q", q}, {"x", x}, {"d", 2}, {"g", 3}}, ""), mask, DType::value};
          for (i64 g : {1, 4, 64}) {
            for (i64 chunk : {1, 3, 32}) {
              Partition t = make_partition(s, p.sizes, {}, "");
              for (const char* name : {"q", "x"}) {
                const AxisId axis = s.diagram.axis(name);
                if (s.grouped(axis)) t.group[index(axis)] = std::min(Count(g), p.sizes[index(axis)]);
              }
              t.chunk = std::min(Count(chunk), p.sizes[index(*s.stream)]);
              REQUIRE(transfer(s, p, t) == Counter(s, p, t).run());
            }
          }
        }
      }
    }
  }
}

TEST_CASE("live memory equals the liveness of the program with its loop written out") {
  for_many_cases([](const Case& c) {
    CAPTURE(print(c.streamed.diagram));
    REQUIRE(memory_live(c.streamed, c.partition) == unrolled_peak(c.streamed, c.partition));
    REQUIRE(memory_lower_bound(c.streamed, c.partition) <= memory_live(c.streamed, c.partition));
  });
}

TEST_CASE("the twins notice planted faults") {
  using Fault = std::function<void(Case&)>;
  const std::map<std::string, Fault> transfer_faults = {
      {"a grouped axis missed",
       [](Case& c) {
         for (auto& r : c.streamed.roles)
           if (r == AxisRole::group) {
             r = AxisRole::whole;
             break;
           }
       }},
      {"a split axis missed",
       [](Case& c) {
         for (auto& r : c.streamed.roles)
           if (r == AxisRole::split) {
             r = AxisRole::whole;
             break;
           }
       }},
      {"a mask one column off",
       [](Case& c) {
         if (c.problem.mask.kind == Mask::Kind::window) ++c.problem.mask.right;
       }},
      {"masked chunks loaded all the same", [](Case& c) { c.streamed.skips.reset(); }},
      {"chunks of another size", [](Case& c) { c.partition.chunk += 1; }},
      {"the last ragged group dropped",
       [](Case& c) {
         for (std::size_t i = 0; i < c.partition.group.size(); ++i) {
           if (c.streamed.grouped(static_cast<AxisId>(i)))
             c.problem.sizes[i] = c.problem.sizes[i] / c.partition.group[i] * c.partition.group[i];
         }
       }},
      {"a partial result stored where it is zero", [](Case& c) { c.streamed.combines.clear(); }},
      {"an output forgotten", [](Case& c) { c.streamed.diagram.outputs.pop_back(); }}};
  for (const auto& [name, fault] : transfer_faults) {
    int noticed = 0;
    for_many_cases([&, &apply = fault](const Case& c) {
      Case broken = c;
      apply(broken);
      noticed += transfer(broken.streamed, broken.problem, broken.partition) ==
                         Counter(c.streamed, c.problem, c.partition).run()
                     ? 0
                     : 1;
    });
    const std::string planted = name;  // clang 14 captures no structured binding
    CAPTURE(planted);
    CHECK(noticed > 0);
  }
  const std::map<std::string, Fault> memory_faults = {
      {"an auxiliary forgotten",
       [](Case& c) {
         if (!c.streamed.auxiliaries.empty()) c.streamed.auxiliaries.pop_back();
       }},
      {"nothing maintained",
       [](Case& c) {
         std::erase_if(c.streamed.head, [](const Statement& s) { return s.kind == Statement::Kind::initialise; });
       }},
      {"a whole stream instead of a chunk", [](Case& c) { c.streamed.stream.reset(); }}};
  for (const auto& [name, fault] : memory_faults) {
    int noticed = 0;
    for_many_cases([&, &apply = fault](const Case& c) {
      Case broken = c;
      apply(broken);
      noticed += memory_live(broken.streamed, broken.partition) == unrolled_peak(c.streamed, c.partition) ? 0 : 1;
    });
    const std::string planted = name;  // clang 14 captures no structured binding
    CAPTURE(planted);
    CHECK(noticed > 0);
  }
}

}  // namespace

}  // namespace test_fusion_transfer
