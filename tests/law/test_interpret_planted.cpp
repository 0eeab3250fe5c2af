// The oracle can fail: copies of the two rules with one fault each, and streamed programs with an accumulator that is
// not one, are all found out by the interpreter's counts and values.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "model/diagram/library.hpp"
#include "model/interpret/run.hpp"
#include "tests/law/interpret_builder.hpp"

namespace test_interpret_planted {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

namespace {

std::size_t index(int id) { return static_cast<std::size_t>(id); }

enum class Fault {
  none,
  // transfer
  ceiling_dropped,      ///< a/g rounded down: the ragged last group moves nothing
  group_axis_missed,    ///< an array that lacks two grouped axes is moved again for one of them only
  carried_axis_moved,   ///< an array is moved again also for groups of an axis that it carries
  partial_stored_once,  ///< the partial results of a split count as one output
  partial_read_once,    ///< the launch that combines them reads one of them
  mask_off_by_one,      ///< the diagonal is left out
  mask_top_left,        ///< the mask is aligned at the top left
  chunks_not_skipped,   ///< a masked run loads every chunk
  chunk_not_clipped,    ///< the last chunk is moved as if it were a whole one
  first_row_decides,    ///< a group visits what its first row sees
  zeros_not_stored,     ///< an output is not written where the mask leaves zeros
  // memory
  auxiliary_forgotten,   ///< z
  maintained_forgotten,  ///< what the loop accumulates is not there at the start of an iteration
  persistent_dropped,    ///< Q is gone after its first use
  stream_held_whole,     ///< the streamed axis at full size
  inputs_linger,         ///< an operation's output stands beside its dead inputs
  ragged_group_held,     ///< the last group instead of a full one
};

const std::map<Fault, std::string> faults = {{Fault::ceiling_dropped, "a ceiling dropped"},
                                             {Fault::group_axis_missed, "a group axis missed"},
                                             {Fault::carried_axis_moved, "moved again for an axis that it carries"},
                                             {Fault::partial_stored_once, "partial results stored once"},
                                             {Fault::partial_read_once, "partial results read once"},
                                             {Fault::mask_off_by_one, "a mask off by one"},
                                             {Fault::mask_top_left, "a mask aligned at the top left"},
                                             {Fault::chunks_not_skipped, "masked chunks loaded"},
                                             {Fault::chunk_not_clipped, "the last chunk not clipped"},
                                             {Fault::first_row_decides, "the first row decides for its group"},
                                             {Fault::zeros_not_stored, "zeros not stored"},
                                             {Fault::auxiliary_forgotten, "an auxiliary forgotten"},
                                             {Fault::maintained_forgotten, "the maintained output forgotten"},
                                             {Fault::persistent_dropped, "a persistent input dropped"},
                                             {Fault::stream_held_whole, "the stream held whole"},
                                             {Fault::inputs_linger, "dead inputs linger"},
                                             {Fault::ragged_group_held, "the ragged group held"}};

/// The two rules, written once more for the tests, with at most one fault.
class Rules {
 public:
  Rules(const InterpretCase& c, Fault fault) : s_(c.streamed), problem_(c.problem), p_(c.partition), fault_(fault) {}

  [[nodiscard]] Count moved(ArrayId array, bool store) const {
    const Array& a = s_.diagram.arrays[index(array)];
    const bool masked = skips(array, store);
    Count product = masked ? visited(a) : Count(1);
    int lacking = 0;
    for (std::size_t i = 0; i < problem_.sizes.size(); ++i) {
      const auto axis = static_cast<AxisId>(i);
      if (masked && in_mask(axis)) continue;
      const bool missed = fault_ == Fault::group_axis_missed && lacking > 0;
      const bool once = fault_ == Fault::partial_stored_once && store && s_.roles[i] == AxisRole::split;
      if (a.has(axis)) product *= problem_.sizes[i];
      if (!s_.grouped(axis)) continue;
      if (a.has(axis) && fault_ == Fault::carried_axis_moved) product *= groups(axis);
      if (!a.has(axis) && !missed && !once) product *= groups(axis);
      lacking += a.has(axis) ? 0 : 1;
    }
    return product;
  }

  // By the launch that combines partial results: all of them, masked or not. Parts that are all alone are the results.
  [[nodiscard]] Count combined(ArrayId array) const {
    const bool in_parts = std::any_of(s_.combines.begin(), s_.combines.end(),
                                      [&](const Combine& c) { return groups(c.axis) > Count(1); });
    if (s_.combine_of(array) == nullptr || !in_parts) return 0;
    Count product = 1;
    for (AxisId axis : s_.diagram.arrays[index(array)].axes) product *= size(axis);
    for (const Combine& c : s_.combines) {
      if (c.array == array && fault_ != Fault::partial_read_once) product *= groups(c.axis);
    }
    return product;
  }

  [[nodiscard]] Count live() const {
    Count most = 0;
    const std::vector<Column> all = columns(s_, ColumnView::live);
    for (std::size_t i = 0; i < all.size(); ++i) {
      Column column = all[i];
      change(column, i == 0 ? nullptr : &all[i - 1]);
      most = std::max(most, size_of(column));
    }
    return most;
  }

 private:
  bool in_mask(AxisId axis) const { return axis == (*s_.skips)[0] || axis == (*s_.skips)[1]; }
  Count size(AxisId axis) const { return problem_.sizes[index(axis)]; }

  Count groups(AxisId axis) const {
    const Count g = p_.group[index(axis)];
    return fault_ == Fault::ceiling_dropped ? size(axis) / g : ceil_div(size(axis), g);
  }

  bool skips(ArrayId array, bool store) const {
    if (!s_.skips || problem_.mask.kind == Mask::Kind::none || fault_ == Fault::chunks_not_skipped) return false;
    if (!s_.diagram.arrays[index(array)].has(*s_.stream)) return false;
    const Combine* combine = s_.combine_of(array);
    const bool sum = combine != nullptr && combine->kind == Combine::Kind::sum;
    return !store || sum || fault_ == Fault::zeros_not_stored;
  }

  bool sees(std::int64_t i, std::int64_t j) const {
    const std::int64_t rows = size((*s_.skips)[0]).get(), columns = size((*s_.skips)[1]).get();
    const std::int64_t shift = fault_ == Fault::mask_top_left ? 0 : columns - rows;
    const Mask& m = problem_.mask;
    const bool window = m.kind == Mask::Kind::window;
    const std::int64_t last = i + shift + (window ? m.right : 0) - (fault_ == Fault::mask_off_by_one ? 1 : 0);
    if (m.kind == Mask::Kind::prefix && j < m.left) return true;
    return j <= last && (!window || j >= i + shift - m.left);
  }

  bool sees_any(Span other, Span chunk) const {
    if (fault_ == Fault::first_row_decides) other.last = other.first + 1;
    const bool rows_stream = (*s_.skips)[0] == *s_.stream;
    for (std::int64_t o = other.first; o < other.last; ++o) {
      for (std::int64_t c = chunk.first; c < chunk.last; ++c) {
        if (rows_stream ? sees(c, o) : sees(o, c)) return true;
      }
    }
    return false;
  }

  // Over the groups of the mask's two axes: streamed indices in visited chunks, times the other axis's where it is
  // carried.
  Count visited(const Array& a) const {
    const AxisId stream = *s_.stream;
    const AxisId other = (*s_.skips)[0] == stream ? (*s_.skips)[1] : (*s_.skips)[0];
    Count sum = 0;
    for (std::int64_t o = 0; o < size(other).get(); o += p_.group[index(other)].get()) {
      const std::int64_t o_last = std::min((p_.group[index(other)] + o).get(), size(other).get());
      for (std::int64_t x = 0; x < size(stream).get(); x += p_.group[index(stream)].get()) {
        const std::int64_t x_last = std::min((p_.group[index(stream)] + x).get(), size(stream).get());
        for (std::int64_t c = x; c < x_last; c += p_.chunk.get()) {
          const std::int64_t c_last = std::min((p_.chunk + c).get(), x_last);
          if (!sees_any({o, o_last}, {c, c_last})) continue;
          sum += Count(a.has(other) ? o_last - o : 1) *
                 (fault_ == Fault::chunk_not_clipped ? p_.chunk : Count(c_last - c));
        }
      }
    }
    return sum;
  }

  void change(Column& column, const Column* before) const {
    auto& arrays = column.arrays;
    const auto drop = [&](const std::vector<ArrayId>& those) {
      for (ArrayId id : those) arrays.erase(std::remove(arrays.begin(), arrays.end(), id), arrays.end());
    };
    if (fault_ == Fault::auxiliary_forgotten && !column.auxiliaries.empty()) column.auxiliaries.pop_back();
    if (fault_ == Fault::maintained_forgotten && column.phase == Phase::loop) drop(s_.maintained);
    if (fault_ == Fault::persistent_dropped && column.phase == Phase::loop && column.after) drop(s_.persistent);
    if (fault_ == Fault::inputs_linger && column.after && before != nullptr) {
      for (ArrayId in : s_.diagram.operations[index(*column.after)].inputs) {
        if (std::find(arrays.begin(), arrays.end(), in) == arrays.end()) arrays.push_back(in);
      }
    }
  }

  Count size_of(const Column& column) const {
    Count sum = 0;
    for (ArrayId id : column.arrays) sum += held(s_.diagram.arrays[index(id)].axes);
    for (int aux : column.auxiliaries) sum += held(s_.auxiliaries[index(aux)].axes);
    return sum;
  }

  Count held(const std::vector<AxisId>& axes) const {
    Count product = 1;
    for (AxisId a : axes) {
      Count g = p_.group[index(a)];
      if (fault_ == Fault::ragged_group_held && size(a) % g != 0) g = size(a) % g;
      if (s_.stream == a && fault_ != Fault::stream_held_whole) g = std::min(g, p_.chunk);
      product *= g;
    }
    return product;
  }

  const Streamed& s_;
  const Problem& problem_;
  const Partition& p_;
  Fault fault_;
};

struct Counted {
  InterpretCase question;
  LevelCounts low, combine;
};

bool agree(const Counted& c, Fault fault) {
  const Rules rules(c.question, fault);
  const Diagram& d = c.question.streamed.diagram;
  for (ArrayId in : d.inputs) {
    if (c.low.arrays[index(in)].loaded != rules.moved(in, false)) return false;
  }
  for (ArrayId out : d.outputs) {
    if (c.low.arrays[index(out)].stored != rules.moved(out, true)) return false;
    if (c.combine.arrays[index(out)].loaded != rules.combined(out)) return false;
  }
  return c.low.peak == rules.live();
}

const std::vector<Counted>& counted_cases() {
  static const std::vector<Counted> all = [] {
    std::vector<Counted> cases;
    std::mt19937 random(99);
    for (int i = 0; i < 1500; ++i) {
      std::vector<std::uint16_t> tape(100);
      for (auto& number : tape) number = static_cast<std::uint16_t>(random());
      InterpretCase c = case_from(tape);
      const Run run =
          run_streamed(c.streamed, c.problem, c.partition, random_inputs(c.streamed.diagram, c.problem.sizes, 1));
      cases.push_back({std::move(c), run.counts.levels[0], run.counts.combine});
    }
    return cases;
  }();
  return all;
}

// Attention as derived, into which a fault is put.
struct Spoilt {
  Diagram d = load_diagram("attention");
  Streamed s = derive(d);
  Problem problem{resolve_sizes(d, {{"q", 6}, {"x", 9}, {"d", 4}}, "shape"), {}, DType::value};
  Partition p = make_partition(s, problem.sizes, {{"q", 3}, {"x", 2}}, "tile");

  // Returns the largest difference from the unfused outputs.
  [[nodiscard]] double error() const {
    Tensors inputs = random_inputs(d, problem.sizes, 5);
    for (double& v : inputs.at("Q").data) v *= 4;  // so that the running maximum matters
    return difference(run_unfused(d, problem, inputs).outputs.at("O"),
                      run_streamed(s, problem, p, inputs).outputs.at("O"));
  }
  void drop(Statement::Kind kind) {
    for (auto* part : {&s.head, &s.loop, &s.tail}) {
      part->erase(std::remove_if(part->begin(), part->end(), [&](const Statement& t) { return t.kind == kind; }),
                  part->end());
    }
  }
  StreamedOp& operation(const std::string& output) { return s.operations[index(*d.producer(d.array(output)))]; }
};

}  // namespace

TEST_CASE("the rules without a fault agree with every count") {
  for (const Counted& c : counted_cases()) {
    if (!agree(c, Fault::none)) FAIL_CHECK(c.question.text());
  }
}

TEST_CASE("each planted fault is found") {
  for (const auto& planted : faults) {
    const Fault fault = planted.first;
    CAPTURE(planted.second);
    int found = 0;
    for (const Counted& c : counted_cases()) found += agree(c, fault) ? 0 : 1;
    CHECK(found > 0);
  }
}

TEST_CASE("attention as derived is right") { CHECK(Spoilt().error() < 1e-13); }

TEST_CASE("an accumulator that is not one: a softmax chunk by chunk is no softmax") {
  Spoilt a;
  a.operation("P").accumulator = AccumulatorKind::concatenate;
  a.drop(Statement::Kind::rescale);
  a.drop(Statement::Kind::normalise);
  CHECK(a.error() > 1e-2);
}

TEST_CASE("the rescale left out, as S10 of the dependence analysis has it, gives a wrong result (erratum S0.1)") {
  Spoilt a;
  a.drop(Statement::Kind::rescale);
  CHECK(a.error() > 1e-2);
}

TEST_CASE("the last normalisation left out gives a wrong result") {
  Spoilt a;
  a.drop(Statement::Kind::normalise);
  CHECK(a.error() > 1e-2);
}

TEST_CASE("a maximum is not accumulated by a sum") {
  Spoilt a;
  a.operation("O").accumulator = AccumulatorKind::max;
  CHECK(a.error() > 1e-2);
}

}  // namespace test_interpret_planted
