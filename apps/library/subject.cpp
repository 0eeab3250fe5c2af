#include "apps/library/subject.hpp"

#include <algorithm>

#include "apps/library/here.hpp"
#include "model/diagram/library.hpp"
#include "model/diagram/packing.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/load.hpp"

namespace napkin {
namespace {

Machine machine_of(const Ask& ask) {
  if (ask.memory) {
    if (!ask.gpu.empty()) throw Error("--memory", "stands beside --gpu", "give one of the two");
    if (!ask.kernel.empty())
      throw Error("--kernel", "has no meaning with --memory", "leave it out: no kernel runs on the abstract machine");
    if (!ask.dtype.empty())
      throw Error("--dtype", "has no meaning with --memory", "leave it out: the abstract machine counts values");
    return abstract_machine(Count(*ask.memory));
  }
  if (ask.gpu.empty()) throw Error("--gpu", "is missing", "a profile's name or a path to a YAML file, or here");
  return load_machine(ask.gpu == "here" ? profile_here() : ask.gpu, "--gpu");
}

/// A window beyond the array sees no more than the array: cut, so that sums of its ends cannot overflow.
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

/// A kernel computes the built-in algorithm of its mapping's name: a user's own diagram of that name must be the same.
bool is_builtin(const Diagram& diagram) {
  const std::vector<std::string> names = builtin_diagrams();
  if (std::find(names.begin(), names.end(), diagram.name) == names.end()) return false;
  Diagram original = load_diagram(diagram.name);
  original.about = diagram.about;
  return original == diagram;
}

bool supports_sizes(const Mapping& mapping, const Diagram& diagram, const Sizes& sizes) {
  return std::all_of(mapping.head_sizes.begin(), mapping.head_sizes.end(), [&](const auto& rule) {
    const auto axis = diagram.find_axis(rule.first);
    if (!axis) return false;
    const std::int64_t size = sizes[static_cast<std::size_t>(*axis)].get();
    return std::find(rule.second.begin(), rule.second.end(), size) != rule.second.end();
  });
}

bool takes_type(const Mapping& mapping, DType dtype) {
  const std::string name(name_of(dtype));
  return mapping.dtypes.empty() ||
         std::find(mapping.dtypes.begin(), mapping.dtypes.end(), name) != mapping.dtypes.end();
}

/// The level whose axes --tile addresses without a level's name: the lowest with a streamed axis, else with a grouped
/// one.
const LevelMapping* block_level(const Mapping& mapping) {
  const LevelMapping* found = nullptr;
  for (const LevelMapping& level : mapping.levels) {
    if (!level.stream.empty() || (found == nullptr && !level.group.empty())) found = &level;
  }
  return found;
}

std::vector<std::string> knob_names(const Mapping& mapping) {
  std::vector<std::string> names;
  for (const Knob& knob : mapping.knobs) names.push_back(knob.name);
  return names;
}

/// What an axis without a knob has in any case: 1 where it is grouped, its size where it is whole.
std::optional<std::int64_t> unchangeable(const Subject& subject, const Mapping& mapping, const std::string& name) {
  const auto axis = subject.diagram.find_axis(name);
  if (!axis) return std::nullopt;
  for (const LevelMapping& level : mapping.levels) {
    if (std::find(level.group.begin(), level.group.end(), name) != level.group.end()) return 1;
    if (std::find(level.stream.begin(), level.stream.end(), name) != level.stream.end()) return std::nullopt;
  }
  return subject.problem.sizes[static_cast<std::size_t>(*axis)].get();
}

/// The user's --tile as knobs of the mapping.
std::vector<std::pair<KnobId, std::int64_t>> fixed_knobs(const Subject& subject, const Mapping& mapping) {
  const LevelMapping* home = block_level(mapping);
  const std::string prefix = home == nullptr ? std::string() : home->level + ".";
  std::vector<std::pair<KnobId, std::int64_t>> fixed;
  for (const auto& [name, text] : subject.ask.tile) {
    auto knob = mapping.find_knob(name);
    const bool at_home = !prefix.empty() && name.starts_with(prefix);
    const std::string plain = at_home ? name.substr(prefix.size()) : name;
    if (!knob) knob = mapping.find_knob(plain);
    if (!knob) {
      const auto only = unchangeable(subject, mapping, plain);
      if (only && text == std::to_string(*only)) continue;
      const std::string what = only ? plain + " is always " + std::to_string(*only) + " here"
                                    : in_quotes(name) + " is no knob of " + mapping.name;
      throw Error("--tile", what, one_of(name, knob_names(mapping)));
    }
    for (const auto& [earlier, value] : fixed) {
      if (earlier == *knob) throw Error("--tile", plain + " is given twice", "give it once");
    }
    fixed.emplace_back(*knob, parse_knob(mapping.knobs[static_cast<std::size_t>(*knob)], text, "--tile"));
  }
  return fixed;
}

std::unique_ptr<Layout> layout_of(const Subject& subject, Mapping mapping) {
  auto layout = std::make_unique<Layout>();
  layout->streamed = derive(subject.diagram, mapped_roles(mapping, subject.diagram));
  layout->mapping = std::move(mapping);
  layout->fixed = fixed_knobs(subject, layout->mapping);
  return layout;
}

std::unique_ptr<Layout> ideal_layout(const Subject& subject) {
  auto layout = std::make_unique<Layout>();
  layout->streamed = derive(subject.diagram);
  layout->mapping = ideal_mapping(layout->streamed, subject.machine, subject.problem.sizes);
  layout->ideal = true;
  layout->fixed = fixed_knobs(subject, layout->mapping);
  return layout;
}

/// The user's kernel. Whether it runs there is a matter of constraints, which the answer names; here only what cannot
/// be laid out.
std::unique_ptr<Layout> named_layout(const Subject& subject) {
  Mapping mapping = load_mapping(subject.ask.kernel, "--kernel");
  if (mapping.algorithm != subject.diagram.name) {
    throw Error("--kernel", mapping.name + " computes " + mapping.algorithm + ", not " + subject.diagram.name,
                "one of napkin list kernels");
  }
  check(mapping, subject.diagram);
  check(mapping, subject.machine, subject.problem.dtype);
  return layout_of(subject, std::move(mapping));
}

/// Every bundled kernel that can compute the subject.
std::vector<Mapping> bundled(const Subject& subject) {
  std::vector<Mapping> fitting;
  if (subject.abstract() || !is_builtin(subject.diagram)) return fitting;
  for (const std::string& name : bundled_mappings(subject.diagram.name)) {
    Mapping mapping = load_mapping(name, "--kernel");
    if (!runs_on(mapping, subject.machine) || !takes_type(mapping, subject.problem.dtype)) continue;
    if (supports_sizes(mapping, subject.diagram, subject.problem.sizes)) fitting.push_back(std::move(mapping));
  }
  return fitting;
}

}  // namespace

Subject load_subject(const Ask& ask) {
  Subject subject{ask, load_diagram(ask.algorithm), machine_of(ask), {}};
  turn_to(subject, ask.shape);
  subject.problem.dtype = ask.memory ? DType::value : parse_dtype(ask.dtype.empty() ? "bf16" : ask.dtype, "--dtype");
  return subject;
}

namespace {

/// The shape with what the lengths say of it. What stands there already must say the same.
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

}  // namespace

void turn_to(Subject& subject, const NamedSizes& shape) {
  subject.ask.shape = shape;
  Packing& packing = subject.problem.packing;
  packing = {};
  if (!subject.ask.lengths.empty()) {
    packing = packing_axes(subject.diagram, "--lengths");
    packing.sequences = subject.ask.lengths;
  }
  subject.problem.sizes = resolve_sizes(
      subject.diagram, packing.sequences.empty() ? shape : completed(subject.diagram, shape, packing), "--shape");
  subject.problem.mask = usable(subject.ask.mask, subject.diagram, subject.problem.sizes);
}

Layouts layouts_of(const Subject& subject) {
  Layouts layouts;
  if (!subject.ask.kernel.empty()) {
    layouts.push_back(named_layout(subject));
    return layouts;
  }
  std::optional<Error> refused;
  for (Mapping& mapping : bundled(subject)) {
    try {
      layouts.push_back(layout_of(subject, std::move(mapping)));
    } catch (const Error& error) {  // a knob that this kernel lacks: another may have it
      if (!refused) refused = error;
    }
  }
  if (layouts.empty() && refused) throw *refused;
  if (layouts.empty()) layouts.push_back(ideal_layout(subject));
  return layouts;
}

Question question_of(const Subject& subject, const Layout& layout) {
  return {&layout.streamed, &layout.mapping, &subject.machine, subject.problem, layout.fixed};
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

Head head_of(const Subject& subject, const Layout& layout, const Tile* tile) {
  Head head;
  head.algorithm = subject.diagram.name;
  if (!subject.abstract()) head.gpu = subject.machine.name;
  if (!layout.ideal) head.kernel = layout.mapping.name;
  head.dtype = std::string(name_of(subject.problem.dtype));
  head.mask = subject.ask.mask;
  for (std::size_t i = 0; i < subject.diagram.axes.size(); ++i) {
    head.shape.emplace_back(subject.diagram.axes[i].name, subject.problem.sizes[i].get());
  }
  if (tile != nullptr) head.tile = values_of(layout.mapping, *tile);
  head.lengths = subject.ask.lengths;
  return head;
}

}  // namespace napkin
