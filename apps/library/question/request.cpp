#include "apps/library/question/request.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "apps/library/question/catalog.hpp"
#include "apps/library/question/compilable.hpp"
#include "apps/library/question/layouts.hpp"
#include "apps/library/question/workspace.hpp"
#include "model/diagram/packing.hpp"
#include "model/island/island.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/tile.hpp"

namespace napkin {
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
  if (!ask.split.empty())
    throw Error("--split", "is of several GPUs, and " + ask.gpu + " is one", one_of("", builtin_islands()));
  return catalog.machine(ask.gpu == "here" ? catalog.gpu_here() : ask.gpu, ask.conditions);
}

/// Cuts the mask's ends to the array's: elements beyond are not seen, and sums of the ends cannot overflow.
Mask usable(const Mask& mask, const Diagram& diagram, const Sizes& sizes) {
  if (mask.kind == Mask::Kind::none) return mask;
  const auto planes = mask_axes(diagram);
  const std::string option = mask.kind == Mask::Kind::causal ? "--causal" : "--window";
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

/// Restores the mask as the user gave it; a side without limit ends at the array's end.
Mask as_asked(Mask asked, const Mask& cut) {
  constexpr std::int64_t without_limit = std::numeric_limits<std::int64_t>::max();  // (parse_window)
  if (asked.left == without_limit) asked.left = cut.left;
  if (asked.right == without_limit) asked.right = cut.right;
  return asked;
}

/// Completes the shape from the lengths. A size that is already given must agree with them.
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

Question Layout::question() const { return {streamed.get(), mapping.get(), machine.get(), problem, fixed}; }

Layout Layout::on(std::shared_ptr<const Machine> other) const {
  Layout out = *this;
  out.machine = std::move(other);
  out.workspace = make_workspace();
  return out;
}

Request resolve_problem(const Ask& ask, Catalog& catalog) {
  if (ask.check && !ask.lengths.empty())
    throw Error("--check", "stands beside --lengths",
                "leave one of the two out: what is run and counted is sequences of one length");
  Request request;
  request.ask = ask;
  request.tables = catalog.tables();
  request.diagram = catalog.diagram(ask.algorithm);
  request.machine = machine_of(ask, catalog);
  request.problem = at_shape([&] { return problem_of(ask, *request.diagram); });
  request.diagram = catalog.at_sizes(request.diagram, request.problem.sizes);
  return request;
}

Request make_request(const Ask& ask, Catalog& catalog) {
  Request request = resolve_problem(ask, catalog);
  at_shape([&] {
    if (ask.kernel == "ideal") {
      request.layouts.push_back(ideal_layout(request));
    } else if (!ask.kernel.empty()) {
      request.layouts.push_back(named_layout(request, catalog));
    } else {
      request.layouts = ranked_layouts(request, catalog);
      if (!request.abstract()) request.left_out = kept_out_by_sizes(request, catalog);
    }
    if (request.layouts.empty()) request.layouts.push_back(ideal_layout(request));
  });
  if (ask.compile) check_compilable(request);
  return request;
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

Head head_of(const Request& request, const Layout& layout, const Tile* tile) {
  Head head;
  head.algorithm = request.diagram->name;
  if (!request.abstract()) head.gpu = request.machine->name;
  if (!layout.ideal) head.kernel = layout.mapping->name;
  head.bundled = layout.bundled();
  head.terms = vocabulary_of(*request.machine);
  head.dtype = std::string(name_of(request.problem.dtype));
  head.mask = as_asked(request.ask.mask, request.problem.mask);
  head.conditions = request.ask.conditions;
  for (std::size_t i = 0; i < request.diagram->axes.size(); ++i) {
    head.shape.emplace_back(request.diagram->axes[i].name, request.problem.sizes[i].get());
  }
  if (tile != nullptr) head.tile = values_of(*layout.mapping, *tile);
  head.lengths = request.ask.lengths;
  return head;
}

}  // namespace napkin
