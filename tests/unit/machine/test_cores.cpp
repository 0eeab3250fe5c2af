#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "model/machine/load.hpp"
#include "model/machine/write.hpp"

namespace test_machine_cores {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("a cube core and two vector cores, each with its memories") {
  for (const char* name : {"ascend-910b2", "ascend-950pr"}) {
    const Machine machine = load_machine(name, "--gpu");
    REQUIRE(machine.cores.size() == 2);
    const auto core_of = [&](const char* level) { return machine.core_of(machine.level(level)); };
    CHECK(core_of("l0c") == machine.core("cube"));
    CHECK(core_of("l1") == machine.core("cube"));
    CHECK(core_of("ub") == machine.core("vector"));
    CHECK(core_of("l2") == nullptr);
    CHECK(machine.core("tensor") == nullptr);
    CHECK(machine.per_compute_node(machine.level("ub")) == 2);
    CHECK(machine.per_compute_node(machine.level("l0c")) == 1);
    const Machine again = parse_machine(profile_text(machine), "written.yaml");
    CHECK(again.cores.size() == 2);
    CHECK(again.find_pipe("l0c_l2")->engine == "fixpipe");
  }
  // Paths between cores that one of the two chips lacks.
  const Machine a2 = load_machine("ascend-910b2", "--gpu"), a5 = load_machine("ascend-950pr", "--gpu");
  CHECK(a2.pipe_between(a2.level("l0c"), a2.level("ub")) == nullptr);
  CHECK(a5.pipe_between(a5.level("l0c"), a5.level("ub"))->engine == "fixpipe");
  CHECK(a5.pipe_between(a5.level("ub"), a5.level("l1"))->engine == "vector_mte3");
}

TEST_CASE("cores that are none are told with their place") {
  const std::string good = profile_text(load_machine("ascend-910b2", "--gpu"));
  for (const auto& [from, to, says] :
       std::vector<std::array<std::string, 3>>{{"  vector: ub", "  vector: up", "unknown level 'up'"},
                                               {"  vector: ub", "  vector: l1", "the cores 'cube' are its nodes"},
                                               {"  vector: ub", "  vector: l2", "not an ordinary level"},
                                               {"  vector: ub", "  Vector: ub", "core name 'Vector'"},
                                               {"engine: fixpipe", "engine: FixPipe", "engine name 'FixPipe'"}}) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    try {
      (void)parse_machine(text, "bad.yaml");
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.where().starts_with("bad.yaml:"));
      CHECK(error.problem().find(says) != std::string::npos);
    }
  }
}

}  // namespace test_machine_cores
