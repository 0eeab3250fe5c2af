// Times are continuous: a percent more or less of any number of a machine or count of a mapping changes no time by more
// than a few percent, over all machines and all mappings. Capacities are left out, since the number of blocks that fit
// is whole.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "model/clock/prediction.hpp"
#include "model/clock/run/period.hpp"
#include "model/machine/numbers.hpp"
#include "model/resource/plan.hpp"
#include "solver/space/constraints.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/layout.hpp"

namespace test_continuous_time {

using namespace napkin;
using namespace napkin::internal;
using test::LaidOut;

namespace {

constexpr double step = 0.01;
constexpr double most_elasticity = 5;  // 4.2 occurs where the first-come-first-served order of agents changes

/// Returns true for a capacity, on which resident blocks and the L2's contents depend: a byte less may mean a block
/// less.
bool is_capacity(const MachineNumber& number) { return number.unit.ends_with("B"); }

struct Tried {
  std::string kernel, gpu;
  test::Shape shape;
  Mask mask;
  DType dtype;
  Tile tile;

  [[nodiscard]] double time(const Machine& machine, const Mapping& mapping, Periods& periods) const {
    LaidOut laid(kernel, gpu, shape, dtype, mask);
    const Placer placer(laid.streamed, mapping, machine, laid.problem);
    const PlacedDiagram placed = placer.place(tile);
    return predict(placed, {.periods = &periods}).time.value;
  }
};

/// Returns a question of that kernel with a legal tile; nothing if none was drawn.
std::optional<Tried> draw(std::mt19937_64& random, const std::string& gpu, const std::string& kernel) {
  const Mapping& mapping = test::built_in_mapping(kernel);
  const auto of = [&](const auto& values) { return values[random() % values.size()]; };
  Tried out{kernel, gpu, {}, {}, DType::bf16, {}};
  if (!mapping.dtypes.empty()) out.dtype = parse_dtype(mapping.dtypes.front(), "test");
  const bool product = test::built_in_diagram(mapping.algorithm).find_axis("d") == std::nullopt;
  const std::vector<std::int64_t> lengths{256, 1000, 2048, 8192};
  if (product)
    out.shape = {{"a", of(lengths)}, {"b", 2048}, {"c", of(lengths)}};
  else
    out.shape = {{"b", 2}, {"h", 16}, {"q", of(lengths)}, {"x", of(lengths)}, {"d", 128}};
  if (!product && random() % 2 == 0) out.mask.kind = Mask::Kind::causal;
  for (int tries = 0; tries < 200; ++tries) {
    out.tile.values.clear();
    for (const Knob& knob : mapping.knobs) out.tile.values.push_back(of(knob.domain));
    const LaidOut laid(kernel, gpu, out.shape, out.dtype, out.mask);
    const PlacedDiagram placed = laid.placer->place(out.tile);
    if (violations(placed, plan(placed)).empty()) return out;
  }
  return std::nullopt;
}

/// Checks a question under every change. Returns how many numbers were changed.
int check(const Tried& tried) {
  const Machine& machine = test::built_in_machine(tried.gpu);
  const Mapping& mapping = test::built_in_mapping(tried.kernel);
  Periods periods;
  const double today = tried.time(machine, mapping, periods);
  int changed = 0;
  const auto look = [&](const std::string& name, double factor, double time) {
    ++changed;
    const double elasticity = std::log(time / today) / std::log(factor);
    if (std::abs(elasticity) > most_elasticity)
      FAIL_CHECK(
          fmt::format("{} of {} on {}: x{:.2f} takes x{:.4f}", name, tried.kernel, tried.gpu, factor, time / today));
  };
  const std::vector<MachineNumber> numbers = numbers_of(machine);
  for (const double factor : {1 - step, 1 + step}) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i].whole || numbers[i].value == 0 || is_capacity(numbers[i])) continue;
      look(numbers[i].name, factor, tried.time(with_number_times(machine, i, factor), mapping, periods));
    }
    for (std::size_t o = 0; o < mapping.operations.size(); ++o) {
      for (std::size_t w = 0; w < mapping.operations[o].work.size(); ++w) {
        Mapping other = mapping;
        other.operations[o].work[w].count *= factor;
        look(other.operations[o].output + "." + other.operations[o].work[w].name, factor,
             tried.time(machine, other, periods));
      }
    }
  }
  return changed;
}

/// Returns true if the mapping runs on the machine and finds its levels there: some GPUs of an architecture lack
/// clusters.
bool has_levels(const Mapping& mapping, const Machine& machine) {
  return runs_on(mapping, machine) &&
         std::all_of(mapping.levels.begin(), mapping.levels.end(),
                     [&](const LevelMapping& level) { return machine.find_level(level.level).has_value(); });
}

/// Checks one in so many pairs of a machine and a mapping that runs on it.
void check_pairs(std::size_t one_in) {
  std::mt19937_64 random(38);
  std::size_t pair = 0;
  int changed = 0;
  for (const std::string& gpu : builtin_machines()) {
    for (const std::string& kernel : builtin_mappings()) {
      const Mapping& mapping = test::built_in_mapping(kernel);
      const bool asked = mapping.algorithm == "attention" || mapping.algorithm == "attention_backward" ||
                         mapping.algorithm == "matmul";
      if (!asked || !has_levels(mapping, test::built_in_machine(gpu)) || pair++ % one_in != 0) continue;
      CAPTURE(gpu);
      CAPTURE(kernel);
      if (const auto tried = draw(random, gpu, kernel)) changed += check(*tried);
    }
  }
  CHECK(changed > 1000);
}

}  // namespace

TEST_CASE("a percent of any number changes no time by more than a few percent: one pair in sixteen") {
  check_pairs(16);
}

// Rows of a tile that threads load as they lie meet the banks of shared memory: banks do not become fewer where the
// port is a percent slower.
TEST_CASE("a port that is a percent slower is a percent slower, where rows meet in its banks") {
  for (const std::string gpu : {"rtx-3090", "a100-sxm-80", "h200-sxm", "mi300x"}) {
    const Machine& machine = test::built_in_machine(gpu);
    if (!runs_on(test::built_in_mapping("attention_sm80"), machine)) continue;
    CAPTURE(gpu);
    const LaidOut laid("attention_sm80", gpu, {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}}, DType::bf16);
    const Tried tried{"attention_sm80",
                      gpu,
                      {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}},
                      {},
                      DType::bf16,
                      laid.tile({{"q", "64"}, {"x", "32"}, {"warps", "4"}, {"swizzle", "off"}})};
    CHECK(check(tried) > 100);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("a percent of any number changes no time by more than a few percent, every machine and mapping") {
    check_pairs(1);
  }
}

}  // namespace test_continuous_time
