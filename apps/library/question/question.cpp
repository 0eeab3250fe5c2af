#include "apps/library/question/question.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "apps/library/question/catalog.hpp"
#include "apps/library/question/compilable.hpp"
#include "apps/library/question/setups.hpp"
#include "model/diagram/packing.hpp"
#include "model/island/island.hpp"
#include "model/machine/load.hpp"
#include "model/machine/vocabulary_of.hpp"
#include "model/mapping/tile.hpp"
#include "solver/space/workspace.hpp"

namespace napkin::internal {
namespace {

std::shared_ptr<const Machine> machine_of(const Ask& ask, Catalog& catalog) {
  if (ask.memory) {
    if (!ask.gpu.empty()) throw Error("--memory", "stands beside --gpu", "give one of the two");
    if (!ask.kernel.empty())
      throw Error("--kernel", "has no meaning with --memory", "leave it out: no kernel runs on the abstract machine");
    if (!ask.dtype.empty())
      throw Error("--dtype", "has no meaning with --memory", "leave it out: the abstract machine counts values");
    if (ask.conditions != CardConditions{})
      throw Error(ask.conditions.clock ? "--clock" : "--load", "has no meaning with --memory",
                  "leave it out: the abstract machine has no clock");
    return std::make_shared<const Machine>(abstract_machine(Count(*ask.memory)));
  }
  if (ask.gpu.empty()) throw Error("--gpu", "is missing", "a profile's name or a path to a YAML file, or here");
  if (is_island(ask.gpu)) {
    const std::string gpu = load_island(ask.gpu, "--gpu").gpu;
    throw Error("--gpu", ask.gpu + " is an island of GPUs",
                "query or select, which ask several GPUs, or one of them: " + gpu);
  }
  auto machine = catalog.machine(ask.gpu == "here" ? catalog.gpu_here() : ask.gpu, ask.conditions);
  if (!ask.split.empty())
    throw Error("--split", "is of several GPUs, and " + ask.gpu + " is one", one_of("", builtin_islands()));
  return machine;
}

/// Cuts the mask's ends to the array's: elements beyond do not exist, and sums with the ends cannot overflow.
Mask usable(const Mask& mask, const Diagram& diagram, const Sizes& sizes) {
  if (mask.kind == Mask::Kind::none) return mask;
  const auto planes = mask_axes(diagram);
  const std::string option = "--" + text_of(mask).substr(0, text_of(mask).find(' '));
  if (planes.empty()) throw Error(option, diagram.name + " has no operation with a mask", "leave it out");
  std::int64_t widest = 0;
  for (const auto& [rows, columns] : planes) {
    const Count sum = sizes[static_cast<std::size_t>(rows)] + sizes[static_cast<std::size_t>(columns)];
    widest = std::max(widest, sum.get());
  }
  Mask cut = mask;
  cut.left = std::min(cut.left, widest);
  cut.right = std::min(cut.right, widest);
  return cut;
}

/// Restores the mask as the user gave it, with a side without a limit cut to the array's end.
Mask as_asked(Mask asked, const Mask& cut) {
  constexpr std::int64_t without_limit = std::numeric_limits<std::int64_t>::max();  // (parse_window)
  if (asked.left == without_limit) asked.left = cut.left;
  if (asked.right == without_limit) asked.right = cut.right;
  return asked;
}

/// Adds the sizes that follow from the lengths to the shape. A size that is already given must agree with them.
NamedSizes completed(const Diagram& diagram, NamedSizes shape, const Packing& packing) {
  const SequenceLengths longest = longest_of(packing.sequences, "--lengths");
  const std::pair<AxisId, std::int64_t> known[] = {
      {packing.batch, std::ssize(packing.sequences)}, {packing.rows, longest.q}, {packing.columns, longest.x}};
  for (const auto& [axis, size] : known) {
    const std::string& name = diagram.axes[static_cast<std::size_t>(axis)].name;
    const auto given =
        std::find_if(shape.begin(), shape.end(), [&name = name](const auto& one) { return one.first == name; });
    if (given == shape.end()) {
      shape.emplace_back(name, size);
    } else if (given->second != size) {
      throw Error("--shape",
                  name + "=" + std::to_string(given->second) + " stands beside --lengths, by which it is " +
                      std::to_string(size),
                  "leave " + name + " out");
    }
  }
  return shape;
}

Problem problem_of(const Ask& ask, const Diagram& diagram) {
  Problem problem;
  if (!ask.lengths.empty()) {
    problem.packing = packing_axes(diagram, "--lengths");
    problem.packing.sequences = ask.lengths;
  }
  problem.sizes = resolve_sizes(
      diagram, ask.lengths.empty() ? ask.shape : completed(diagram, ask.shape, problem.packing), "--shape");
  problem.mask = usable(ask.mask, diagram, problem.sizes);
  problem.dtype = ask.memory ? DType::value : parse_dtype(ask.dtype.empty() ? "bf16" : ask.dtype, "--dtype");
  return problem;
}

}  // namespace

Question resolve_problem(const Ask& ask, Catalog& catalog) {
  if (ask.check && !ask.lengths.empty())
    throw Error("--check", "stands beside --lengths",
                "leave one of the two out: what is run and counted is sequences of one length");
  Question question;
  question.ask = ask;
  question.tables = catalog.tables();
  question.diagram = catalog.diagram(ask.algorithm);
  question.machine = machine_of(ask, catalog);
  question.problem = at_shape([&] { return problem_of(ask, *question.diagram); });
  question.diagram = catalog.at_sizes(question.diagram, question.problem.sizes);
  return question;
}

Question make_question(const Ask& ask, Catalog& catalog) {
  Question question = resolve_problem(ask, catalog);
  at_shape([&] {
    if (ask.kernel == "ideal") {
      question.setups.push_back(ideal_setup(question));
    } else if (!ask.kernel.empty()) {
      question.setups.push_back(named_setup(question, catalog));
    } else {
      question.setups = ranked_setups(question, catalog);
      if (!question.abstract()) question.left_out = kept_out_by_sizes(question, catalog);
      const bool unknown = question.setups.empty() && !question.abstract();
      if (std::string known = unknown ? asked_as_known(question, catalog) : ""; !known.empty())
        question.left_out.push_back(std::move(known));
    }
    if (question.setups.empty()) question.setups.push_back(ideal_setup(question));
  });
  if (ask.compile) check_compilable(question);
  return question;
}

TileValues values_of(const Mapping& mapping, const Tile& tile) {
  TileValues values;
  const auto described = describe(mapping, tile);
  for (std::size_t i = 0; i < described.size(); ++i) {
    const bool word = !mapping.knobs[i].words.empty();
    values.push_back({described[i].first, tile.values[i], word ? described[i].second : std::string()});
  }
  return values;
}

Head head_of(const Question& question, const Setup& setup, const Tile* tile) {
  Head head;
  head.algorithm = question.diagram->name;
  if (!question.abstract()) head.gpu = question.machine->name;
  if (!setup.ideal) head.kernel = setup.mapping->name;
  head.bundled = setup.bundled();
  head.terms = vocabulary_of(*question.machine);
  head.dtype = std::string(name_of(question.problem.dtype));
  head.mask = as_asked(question.ask.mask, question.problem.mask);
  head.conditions = question.ask.conditions;
  for (std::size_t i = 0; i < question.diagram->axes.size(); ++i) {
    head.shape.emplace_back(question.diagram->axes[i].name, question.problem.sizes[i].get());
  }
  if (tile != nullptr) head.tile = values_of(*setup.mapping, *tile);
  head.lengths = question.ask.lengths;
  return head;
}

}  // namespace napkin::internal
