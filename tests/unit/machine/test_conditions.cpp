// The load and the clock under which a card runs a kernel.
#include <doctest/doctest.h>

#include "model/base/embedded.hpp"
#include "model/base/error.hpp"
#include "model/machine/load.hpp"
#include "model/machine/under.hpp"

namespace test_conditions {

using namespace napkin;
using namespace napkin::internal;

double limit_of(const Machine& machine, CardLoad::Kind kind, double fraction = 1) {
  return power_limit(machine, {kind, fraction}, "--load").value;
}

TEST_CASE("a load is read as it is written, and anything else is refused with what would be right") {
  for (const char* text : {"sustained", "burst", "0.3", "1"}) CHECK(text_of(parse_card_load(text, "--load")) == text);
  for (const char* text : {"", "0", "-0.5", "1.5", "nan", "inf", "0.3x", "Burst"})
    CHECK_THROWS_WITH_AS((void)parse_card_load(text, "--load"), doctest::Contains("the fraction of the time"), Error);
}

TEST_CASE("a fraction's limit lies between the sustained and the burst limit, and falls as the fraction grows") {
  const Machine machine = load_machine("h100-sxm", "--gpu");
  const double sustained = limit_of(machine, CardLoad::Kind::sustained),
               burst = limit_of(machine, CardLoad::Kind::burst);
  CHECK(burst > sustained);
  CHECK(limit_of(machine, CardLoad::Kind::fraction, 1) == sustained);
  CHECK(limit_of(machine, CardLoad::Kind::fraction, 0.01) == burst);
  double before = burst;
  for (double fraction = 0.02; fraction <= 1; fraction += 0.02) {
    const double limit = limit_of(machine, CardLoad::Kind::fraction, fraction);
    CHECK(limit <= before);
    CHECK(limit >= sustained);
    // The mean over load and rest keeps to the board's limit.
    CHECK(fraction * limit + (1 - fraction) * machine.power.idle->value <= sustained * (1 + 1e-12));
    before = limit;
  }
}

TEST_CASE("cold caches keep nothing of the call before") {
  CHECK(parse_l2("cold", "--l2"));
  CHECK_FALSE(parse_l2("warm", "--l2"));
  CHECK_THROWS_WITH_AS((void)parse_l2("hot", "--l2"), "--l2: is 'hot': warm or cold", Error);
  const Machine warm = load_machine("h100-sxm", "--gpu");
  CardConditions conditions;
  conditions.cold = true;
  CHECK(warm.constant_or("l2_working_set", 0) > 0);
  CHECK(under(warm, conditions).constant_or("l2_working_set", 1) == 0);
  CHECK(text_of(conditions) != text_of(CardConditions{}));  // the text is the key of stored machines and answers
}

TEST_CASE("a limit that the idle card takes alone leaves nothing for work") {
  const Machine machine = load_machine("h100-sxm", "--gpu");
  CardConditions conditions;
  conditions.limit = machine.power.idle->value;
  CHECK_THROWS_WITH_AS((void)under(machine, conditions), doctest::Contains("--power: "), Error);
  conditions.limit = machine.power.idle->value + 1;
  CHECK(under(machine, conditions).power.limit->value == *conditions.limit);
}

TEST_CASE("a machine whose burst was not measured says so") {
  const Machine machine = load_machine("mi300x", "--gpu");
  CHECK(limit_of(machine, CardLoad::Kind::sustained) == machine.power.limit->value);
  CHECK_THROWS_WITH_AS(limit_of(machine, CardLoad::Kind::burst), doctest::Contains("no power.burst"), Error);
}

TEST_CASE("a burst may take its architecture's share of the limit; what a profile states goes before") {
  for (const char* name : {"h100-sxm", "h200-sxm", "a100-sxm-80", "b200", "l40s", "rtx-4090", "rtx-pro-6000-server"}) {
    CAPTURE(name);
    const Machine machine = load_machine(name, "--gpu");
    const double share = machine.constant("burst_share");
    CHECK(share > 1.2);
    CHECK(machine.power.burst->value == doctest::Approx(share * machine.power.limit->value));
  }
  std::string text;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == "hardware_profiles/h100-sxm.yaml") text = file.text;
  }
  const std::size_t idle = text.find("  idle:");
  text.insert(idle, "  burst: {value: 870, unit: W, source: stated}\n");
  CHECK(parse_machine(text, "mine.yaml").power.burst->value == 870);
}

TEST_CASE("the driver holds a clock up to the maximum, and every clock of the machine falls to it") {
  const Machine machine = load_machine("h200-sxm", "--gpu");
  const Machine held = under(machine, {{}, 1.2e9, {}, false, {}});
  CHECK(held.clocks.maximum->value == 1.2e9);
  CHECK(held.clocks.tensor->value == 1.2e9);
  CHECK(held.constant("clock_beside_tensor") < machine.constant("clock_beside_tensor"));
  CHECK(held.power.limit->value == machine.power.limit->value);
  CHECK_THROWS_WITH_AS((void)under(machine, {{}, 2.5e9, {}, false, {}}), doctest::Contains("above the maximum"), Error);
  CHECK(under(machine, {}).power.limit->value == machine.power.limit->value);
}

}  // namespace test_conditions
