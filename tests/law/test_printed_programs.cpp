// Every program that is printed runs: of each mapping that the program carries, with its smaller loops, and as a loop
// nest; it computes the diagram's values.

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "apps/library/answer/check.hpp"
#include "model/dependence/execute.hpp"
#include "model/dependence/from_streamed.hpp"
#include "model/fusion/pseudocode.hpp"
#include "model/interpret/check.hpp"
#include "model/mapping/place/parts.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_printed_programs {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

namespace {

const CheckLimits some{5e6, 2, {}};

bool has_loops(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.kind == Step::Kind::loop; });
}
bool has_loops(const Program& program) {
  return std::any_of(program.phases.begin(), program.phases.end(), [](const auto& steps) { return has_loops(steps); });
}

// Returns tiles with each knob's first value, except for one knob in turn, which takes every value.
std::vector<Tile> tiles_of(const Mapping& mapping) {
  Tile first;
  for (const Knob& knob : mapping.knobs) first.values.push_back(knob.domain.front());
  std::vector<Tile> tiles = {first};
  for (std::size_t k = 0; k < mapping.knobs.size(); ++k) {
    for (std::size_t i = 1; i < mapping.knobs[k].domain.size(); ++i) {
      tiles.push_back(first);
      tiles.back().values[k] = mapping.knobs[k].domain[i];
    }
  }
  return tiles;
}

// Returns a machine that the mapping runs on, if there is one.
std::optional<Machine> machine_for(const Mapping& mapping) {
  for (const std::string& gpu : builtin_machines()) {
    Machine machine = load_machine(gpu, "test");
    if (runs_on(mapping, machine) &&
        !(mapping.combine && !mapping.combine->at.empty() && !machine.find_level(mapping.combine->at)))
      return machine;
  }
  return std::nullopt;
}

struct Ran {
  int programs = 0, with_loops = 0;
};

void run_all(const std::string& name, Ran& ran) {
  const Mapping mapping = load_mapping(name, "test");
  const Diagram diagram = load_diagram(mapping.algorithm);
  const auto machine = machine_for(mapping);
  REQUIRE(machine);
  const Streamed streamed = streamed_by(mapping, diagram);
  Problem problem;
  problem.sizes.assign(streamed.diagram.axes.size(), 128);
  problem.dtype = mapping.dtypes.empty() ? DType::bf16 : parse_dtype(mapping.dtypes[0], "");
  const Placer placer(streamed, mapping, *machine, problem);
  std::vector<std::string> seen;
  for (const Tile& tile : tiles_of(mapping)) {
    const PlacedDiagram placed = placer.place(tile);
    const PartsOf parts = parts_of(placed);
    if (const bool loops = has_loops(program_of(streamed, parts)); !loops && !seen.empty()) continue;
    const std::string text =
        print_pseudocode(streamed, program_of(streamed, parts)) + "chunk " + std::to_string(placed.block().chunk.get());
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) continue;
    seen.push_back(text);
    const CheckResult result = check(streamed, problem, partition_of(placed), some, parts);
    INFO(name, "\n", text);
    CHECK(result.outputs_agree);
    ++ran.programs;
    ran.with_loops += has_loops(program_of(streamed, parts)) ? 1 : 0;
  }
}

}  // namespace

TEST_CASE("the programs of all mappings compute what their diagrams say, smaller loops and all") {
  Ran ran;
  for (const std::string& name : builtin_mappings()) run_all(name, ran);
  MESSAGE(ran.programs, " programs, ", ran.with_loops, " of them with smaller loops");
  CHECK(ran.with_loops >= 20);
}

TEST_CASE("a softmax in parts whose factor rescales once for all of them is found out") {
  const Mapped mapped("attention", "napkin_fp8", "paper-h100", {{"h", 1}, {"q", 128}, {"x", 128}, {"d", 64}}, {},
                      DType::e4m3);
  const PlacedDiagram placed = mapped.place({{"warpgroups", "1"}, {"q", "128"}, {"x", "64"}, {"u_x", "32"}});
  const PartsOf parts = parts_of(placed);
  const Tensors inputs = random_inputs(mapped.streamed.diagram, mapped.problem.sizes, 1);
  const auto error = [&](const Program& program) {
    RunOptions options;
    options.program = program;
    const Tensors outputs =
        run_streamed(mapped.streamed, mapped.problem, partition_of(placed), inputs, options).outputs;
    return difference(outputs.at("O"), run_unfused(mapped.streamed.diagram, mapped.problem, inputs).outputs.at("O"));
  };
  const Program right = program_of(mapped.streamed, parts);
  CHECK(error(right) < 1e-12);
  Program apart = program_of(mapped.streamed);  // each statement in a loop of its own
  for (Step& step : apart.phases[static_cast<std::size_t>(Phase::loop)]) {
    for (const Part& part : parts(step.statement)) {
      Step inside = step;
      step = {Step::Kind::loop, {}, 0, part, {std::move(inside)}};
    }
  }
  CHECK(error(apart) > 1e-3);
}

namespace {

// Returns the diagram in which arrays with shifted or chosen rows are inputs with the rows as read.
Diagram as_read(Diagram diagram) {
  for (Array& array : diagram.arrays) array.reindexed.clear();
  return diagram;
}

// Returns the index into a tensor of a nest's array at these subscripts; a leading subscript counts equal copies.
std::size_t place_of(const Tensor& tensor, const std::vector<std::int64_t>& at) {
  std::size_t place = 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    place = place * static_cast<std::size_t>(tensor.shape[i]) +
            static_cast<std::size_t>(at[at.size() - tensor.shape.size() + i]);
  return place;
}

}  // namespace

TEST_CASE("the nests that deps prints compute what their diagrams say") {
  for (const std::string& name : builtin_diagrams()) {
    CAPTURE(name);
    const Streamed streamed = derive(load_diagram(name));
    const Diagram read = as_read(streamed.diagram);
    std::vector<std::int64_t> sizes(read.axes.size(), 2);
    if (dependence::nest_of(streamed, sizes).nest.loops.size() > 24) {  // one batch, one head, one column
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (read.axes[i].fallback.index() == 1 || read.axes[i].name.starts_with("d")) sizes[i] = 1;
      }
    }
    Problem problem;
    problem.sizes.assign(sizes.begin(), sizes.end());
    const Tensors inputs = random_inputs(read, problem.sizes, 1);
    const dependence::Store store = dependence::execute(
        dependence::nest_of(streamed, sizes).nest, [&](const std::string& array, const std::vector<std::int64_t>& at) {
          const Tensor& tensor = inputs.at(array);
          return tensor.data[place_of(tensor, at)];
        });
    for (const auto& [output, tensor] : run_unfused(read, problem, inputs).outputs) {
      const std::string& array = output;  // a binding cannot be captured
      CAPTURE(array);
      const auto& cells = store.at(array);
      for (std::size_t i = 0; i < tensor.data.size(); ++i)
        CHECK(cells.cells[cells.cells.size() - tensor.data.size() + i] ==
              doctest::Approx(tensor.data[i]).epsilon(1e-9));
    }
  }
}

}  // namespace test_printed_programs
