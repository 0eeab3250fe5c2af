#include "model/machine/about.hpp"

#include <doctest/doctest.h>

#include <string>

#include "model/machine/load.hpp"
#include "model/machine/numbers.hpp"

namespace test_about {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("every number of every built-in profile has a line, and so have its units and pipes") {
  for (const std::string& name : builtin_machines()) {
    const Machine machine = load_machine(name, "test");
    CAPTURE(name);
    for (const MachineNumber& number : numbers_of(machine)) {
      CAPTURE(number.name);
      CHECK_FALSE(about_number(machine, number.name).empty());
    }
    for (const Unit& unit : machine.units) CHECK_MESSAGE(!about_number(machine, unit.name).empty(), unit.name);
    for (const Pipe& pipe : machine.pipes) CHECK_MESSAGE(!about_number(machine, pipe.name).empty(), pipe.name);
  }
}

TEST_CASE("a line says what the number is; of no number there is none") {
  const Machine machine = load_machine("h200-sxm", "test");
  CHECK(about_number(machine, "constants.tma_box") == "of a thread, for each box that it asks for");
  CHECK(about_number(machine, "fitted.energy_l2_together").starts_with("fitted to runs of whole kernels: of a byte"));
  CHECK(about_number(machine, "pipes.l2.latency") == "L2 -> shared: clocks from asking to having");
  CHECK(about_number(machine, "units.special.co_use.beside[0]").starts_with("special: rate with so many instances"));
  for (const char* name : {"", "tma", "constants.nothing", "units.special.colour", "pipes.none.latency", "levels"})
    CHECK_MESSAGE(about_number(machine, name).empty(), name);
}

}  // namespace test_about
