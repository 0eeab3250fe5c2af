// The oracle against the model: for random diagrams, roles, shapes, masks and tiles, the interpreter's counts equal the
// two rules' predictions, and the streamed program computes the diagram's values.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <sstream>

#include "model/fusion/combine.hpp"
#include "model/fusion/pseudocode.hpp"
#include "model/interpret/run.hpp"
#include "tests/law/interpret_builder.hpp"
#include "tests/support/case_count.hpp"

#if NAPKIN_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace test_interpret_random {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

namespace {

std::string differing(const std::string& what, Count counted, Count predicted) {
  return what + ": counted " + std::to_string(counted.get()) + ", predicted " + std::to_string(predicted.get()) + "\n";
}

// Computes every result of the diagram unfused, intermediate ones too.
Tensors all_results(Diagram d, const Problem& problem, const Tensors& inputs) {
  d.outputs.clear();
  for (const Operation& op : d.operations) d.outputs.insert(d.outputs.end(), op.outputs.begin(), op.outputs.end());
  return run_unfused(d, problem, inputs).outputs;
}

// Returns the counts of a level that differ from the two rules for its tile.
std::string differing_counts(const InterpretCase& c, const Partition& p, const LevelCounts& level) {
  std::string found;
  for (const TransferTerm& term : transfer_terms(c.streamed)) {
    const auto i = static_cast<std::size_t>(term.array);
    const Count counted = term.store ? level.arrays[i].stored : level.arrays[i].loaded;
    const Count predicted = transfer_of(c.streamed, term, c.problem, p).value;
    const std::string name = level.name + " " + c.streamed.diagram.arrays[i].name;
    if (counted != predicted) found += differing(name + (term.store ? " stored" : " loaded"), counted, predicted);
  }
  const Transfer total = transfer(c.streamed, c.problem, p);
  if (level.loaded() != total.load.value) found += differing("loads", level.loaded(), total.load.value);
  if (level.stored() != total.store.value) found += differing("stores", level.stored(), total.store.value);
  const Count groups = group_count(c.streamed, c.problem.sizes, p);
  if (level.groups != groups) found += differing("groups", level.groups, groups);
  const Count live = memory_live(c.streamed, p).value;
  if (level.peak != live) found += differing(level.name + " peak", level.peak, live);
  // Without a mask the first group is a full one, and so is its first chunk.
  if (c.masked() ? level.peak_held > live : level.peak_held != live) found += differing("held", level.peak_held, live);
  return found;
}

// Returns the differences of the launch that combines partial results, array by array.
std::string differing_combine(const InterpretCase& c, const LevelCounts& counted) {
  const auto launch = combine_launch(c.streamed);
  const Problem problem = launch ? combine_problem(*launch, c.problem, c.partition.group) : Problem{};
  if (!launch || !has_parts(*launch, problem))
    return counted.loaded() == Count(0) && counted.stored() == Count(0) ? "" : "a combine of nothing\n";
  std::string found;
  const Partition all = make_partition(launch->streamed, problem.sizes, {}, "combine");
  const Diagram& d = launch->streamed.diagram;
  for (const TransferTerm& term : transfer_terms(launch->streamed)) {
    const std::vector<ArrayId>& among = term.store ? d.outputs : d.inputs;
    const auto which = std::find(among.begin(), among.end(), term.array) - among.begin();
    const auto whole = static_cast<std::size_t>(launch->whole[static_cast<std::size_t>(which)]);
    const Count count = term.store ? counted.arrays[whole].stored : counted.arrays[whole].loaded;
    const Count predicted = transfer_of(launch->streamed, term, problem, all).value;
    const std::string name = "combine " + d.arrays[static_cast<std::size_t>(term.array)].name;
    if (count != predicted) found += differing(name, count, predicted);
  }
  const Transfer total = combine_transfer(c.streamed, c.problem, c.partition);
  if (counted.loaded() != total.load.value) found += differing("combine loads", counted.loaded(), total.load.value);
  if (counted.stored() != total.store.value) found += differing("combine stores", counted.stored(), total.store.value);
  return found;
}

std::string differing_outputs(const Tensors& all, const Tensors& streamed) {
  double top = 0, apart = 0, top_of_all = 0;
  for (const auto& [name, tensor] : all) top_of_all = std::max(top_of_all, largest(tensor));
  for (const auto& [name, tensor] : streamed) {
    top = std::max(top, largest(all.at(name)));
    apart = std::max(apart, difference(all.at(name), tensor));
  }
  // If the diagram subtracts a value from itself, only the rounding of the operands remains.
  if (apart <= 1e-12 * top || apart <= 4 * std::numeric_limits<double>::epsilon() * top_of_all) return "";
  std::ostringstream text;
  text << "outputs: " << apart << " apart, the largest being " << top << "\n";
  return text.str();
}

// Returns random parts of any axis for statements.
PartsOf random_parts(const InterpretCase& c, std::uint64_t seed) {
  return [&c, random = std::mt19937_64(seed)](const Statement&) mutable {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < c.problem.sizes.size(); ++i) {
      const auto size = static_cast<std::int64_t>(1 + random() % 3);
      if (random() % 3 == 0) parts.push_back({static_cast<AxisId>(i), size, std::to_string(size), random() % 2 == 0});
    }
    std::shuffle(parts.begin(), parts.end(), random);
    return parts;
  };
}

// Returns the differences of the program with smaller loops, whose values and transfers must be those without them.
std::string differing_in_parts(const InterpretCase& c, std::uint64_t seed, const Tensors& inputs, const Tensors& all,
                               RunOptions options, const Counts& counts) {
  options.program = program_of(c.streamed, random_parts(c, seed));
  const Run run = run_streamed(c.streamed, c.problem, c.partition, inputs, options);
  std::string found = differing_outputs(all, run.outputs);
  for (std::size_t i = 0; i < counts.levels.size(); ++i) {
    if (counts.levels[i].arrays != run.counts.levels[i].arrays) found += "moves in parts\n";
  }
  return found.empty() ? found : found + print_pseudocode(c.streamed, *options.program);
}

// Returns the differences; "" if there are none.
std::string disagreement(const InterpretCase& c, std::uint64_t seed) {
  const Tensors inputs = random_inputs(c.streamed.diagram, c.problem.sizes, seed);
  RunOptions options;
  if (c.nested) options.nested = {{"inner", *c.nested}};
  const Run run = run_streamed(c.streamed, c.problem, c.partition, inputs, options);
  const Tensors all = all_results(c.streamed.diagram, c.problem, inputs);
  const std::string wrong = differing_outputs(all, run.outputs) + differing_combine(c, run.counts.combine) +
                            differing_in_parts(c, seed, inputs, all, options, run.counts);
  if (c.nested) {  // the first level only stages: its transfers are those of a single level, its memory is not
    LevelCounts outer = run.counts.levels[0];
    outer.peak = memory_live(c.streamed, c.partition).value;
    outer.peak_held = c.masked() ? Count(0) : outer.peak;
    return wrong + differing_counts(c, c.partition, outer) + differing_counts(c, *c.nested, run.counts.levels[1]);
  }
  return wrong + differing_counts(c, c.partition, run.counts.levels[0]);
}

struct Shares {
  int cases = 0, two_streamed = 0, heads = 0, masked = 0, ragged = 0, split = 0, skipping = 0, nested = 0;

  void add(const InterpretCase& c) {
    ++cases;
    two_streamed += c.streamed_operations() >= 2 ? 1 : 0;
    heads += c.grouped_heads() ? 1 : 0;
    masked += c.masked() ? 1 : 0;
    ragged += c.ragged() ? 1 : 0;
    split += c.split() ? 1 : 0;
    nested += c.nested ? 1 : 0;
    skipping += c.masked() && c.streamed.skips ? 1 : 0;
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream all;
    all << cases << " cases: " << two_streamed << " with two streamed operations, " << heads << " with grouped heads, "
        << masked << " masked (" << skipping << " leave out chunks), " << ragged << " with ragged groups, " << split
        << " with splits, " << nested << " with a second level";
    return all.str();
  }
};

#if NAPKIN_HAVE_RAPIDCHECK

Shares check_random_cases(int cases, std::uint64_t seed) {
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = cases;
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = "counted equals predicted, streamed equals unfused";
  Shares shares;
  const auto tapes = rc::gen::resize(
      rc::kNominalSize, rc::gen::container<std::vector<std::uint16_t>>(100, rc::gen::arbitrary<std::uint16_t>()));
  const auto result = rc::detail::checkTestable(
      [&] {
        const std::vector<std::uint16_t> numbers = *tapes;
        const InterpretCase c = case_from(numbers);
        shares.add(c);
        const std::string wrong = disagreement(c, numbers[0]);
        if (!wrong.empty()) RC_FAIL(wrong + c.text());
      },
      metadata, params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  INFO(message.str());
  CHECK(result.template is<rc::detail::SuccessResult>());
  return shares;
}

#else  // without librapidcheck: the same questions from other tapes, and a failure is not shrunk

Shares check_random_cases(int cases, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Shares shares;
  for (int i = 0; i < cases; ++i) {
    std::vector<std::uint16_t> tape(100);
    for (auto& number : tape) number = static_cast<std::uint16_t>(random());
    const InterpretCase c = case_from(tape);
    shares.add(c);
    const std::string wrong = disagreement(c, tape[0]);
    if (wrong.empty()) continue;
    const std::string report = wrong + c.text();
    FAIL_CHECK(report);
    break;
  }
  return shares;
}

#endif

void check_shares(const Shares& shares) {
  INFO(shares.text());
  CHECK(4 * shares.two_streamed >= shares.cases);
  CHECK(4 * shares.heads >= shares.cases);
  CHECK(4 * shares.masked >= shares.cases);
  CHECK(4 * shares.ragged >= shares.cases);
  CHECK(20 * shares.split >= shares.cases);
  CHECK(5 * shares.nested >= shares.cases);
  CHECK(10 * shares.skipping >= shares.cases);
}

}  // namespace

TEST_CASE("random diagrams: counted equals predicted, streamed equals unfused") {
  check_shares(check_random_cases(napkin::internal::test::rounds(20000), 20240607));
}

TEST_SUITE("slow") {
  TEST_CASE("random diagrams, many more") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) check_shares(check_random_cases(50000, seed));
  }
}

}  // namespace test_interpret_random
