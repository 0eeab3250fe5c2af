// The mappings that the program carries: each is found by its name, and fits its algorithm and a machine.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/placed.hpp"
#include "model/mapping/read/load.hpp"
#include "model/mapping/tile.hpp"

namespace test_bundled {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE(
    "bundled kernels by their files' keys: those whose mapping says so, proposed ones and those of pages by name "
    "alone") {
  for (const char* algorithm : {"attention", "matmul", "mlp"}) {
    std::vector<std::string> bundled, peers;
    for (const std::string& name : builtin_mappings()) {
      const Mapping mapping = load_mapping(name, "test");
      const bool of_pages = name == "flash_attention_2_paged" || name == "flash_attention_3_paged";  // layout: paged
      if (mapping.algorithm == algorithm && !mapping.proposed && !of_pages)
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
    CHECK_NOTHROW(check(m, main_launch(m, d)));
    const Streamed s = streamed_by(m, d);
    bool somewhere = false;
    for (const std::string& gpu : builtin_machines()) {
      const Machine machine = load_machine(gpu, "--gpu");
      if (!runs_on(m, machine)) continue;
      // the profile lacks that level
      if (m.combine && !m.combine->at.empty() && !machine.find_level(m.combine->at)) continue;
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

TEST_CASE("of a knob whose every value has its own alternative, another value is refused") {
  for (const std::string& name : builtin_mappings()) {
    const Mapping mapping = load_mapping(name, "test");
    for (KnobId id = 0; id < static_cast<KnobId>(mapping.knobs.size()); ++id) {
      const Knob& knob = mapping.knobs[static_cast<std::size_t>(id)];
      if (!knob.words.empty()) continue;
      for (const Agent& agent : mapping.agents) {
        for (const Guarded<Value>* all : {&agent.count, &agent.registers, &agent.overhead.numbers}) {
          const auto asks = [&](const auto& one) {
            return one.first.all.size() == 1 && one.first.all.front().first == id;
          };
          if (all->empty() || !std::all_of(all->begin(), all->end(), asks)) continue;
          CAPTURE(name);
          CAPTURE(knob.name);
          CHECK_THROWS_AS(check_described(mapping, id, 977, "test"), Error);  // no alternative has that value
        }
      }
    }
  }
}

}  // namespace test_bundled
