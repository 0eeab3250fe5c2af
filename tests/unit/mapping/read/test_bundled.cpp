// The mappings that the program carries: each is found by its name, and fits its algorithm and a machine.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/placed.hpp"
#include "model/mapping/read/load.hpp"

namespace test_bundled {

using namespace napkin;

TEST_CASE("bundled kernels by their files' keys: those whose mapping says so, proposed ones by name alone") {
  for (const char* algorithm : {"attention", "matmul", "mlp"}) {
    std::vector<std::string> bundled, peers;
    for (const std::string& name : builtin_mappings()) {
      const Mapping mapping = load_mapping(name, "test");
      if (mapping.algorithm == algorithm && !mapping.proposed)
        (mapping.source.empty() ? peers : bundled).push_back(name);
    }
    CHECK(bundled_mappings(algorithm) == bundled);
    CHECK(peers_mappings(algorithm) == peers);
  }
  CHECK(load_mapping("napkin_fa3", "test").proposed);
  CHECK_FALSE(load_mapping("flash_attention_3", "test").proposed);
}

TEST_CASE("every embedded mapping is found by its own name and fits its algorithm and a machine") {
  const std::vector<std::string> names = builtin_mappings();
  CHECK(names.size() >= 3);
  for (const std::string& name : names) {
    CAPTURE(name);
    const Mapping m = load_mapping(name, "--kernel");
    CHECK(m.name == name);
    const Diagram d = load_diagram(m.algorithm);
    CHECK_NOTHROW(check(m, d));
    const Streamed s = streamed_by(m, d);
    bool somewhere = false;
    for (const std::string& gpu : builtin_machines()) {
      const Machine machine = load_machine(gpu, "--gpu");
      if (!runs_on(m, machine)) continue;
      if (m.combine && !m.combine->at.empty() && !machine.find_level(m.combine->at)) continue;  // a profile without
      somewhere = true;
      Problem problem;
      problem.sizes.assign(s.diagram.axes.size(), 128);
      problem.dtype = m.dtypes.empty() ? DType::bf16 : parse_dtype(m.dtypes[0], "");
      Tile tile;
      for (const Knob& knob : m.knobs) tile.values.push_back(knob.domain[0]);
      CHECK_NOTHROW(static_cast<void>(Placer(s, m, machine, problem).place(tile)));
    }
    CHECK(somewhere);
  }
}

TEST_CASE("an unknown mapping lists the known ones") {
  try {
    (void)load_mapping("attention_sm99", "--kernel");
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("--kernel: unknown kernel 'attention_sm99': did you mean 'attention_sm") == 0);
  }
  CHECK_THROWS_AS((void)load_mapping("/nowhere/m.yaml", "--kernel"), Error);
}

}  // namespace test_bundled
