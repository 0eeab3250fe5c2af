#include "apps/library/question/layouts.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "apps/library/question/catalog.hpp"
#include "apps/library/question/words.hpp"
#include "apps/library/question/workspace.hpp"
#include "model/base/library.hpp"
#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/mapping/asked.hpp"
#include "model/mapping/read/load.hpp"

namespace napkin {
namespace {

/// Returns the built-in algorithm with the diagram's structure, whatever its name; "" if there is none. Its kernels
/// then compute it.
std::string builtin_name(const Request& request, Catalog& catalog) {
  if (!names_file(request.ask.algorithm)) return request.diagram->name;
  Diagram diagram = *request.diagram;
  for (const std::string& name : builtin_diagrams()) {
    const auto original = catalog.diagram(name);
    diagram.name = original->name;
    diagram.about = original->about;
    if (diagram == *original) return name;
  }
  return "";
}

bool supports_sizes(const Mapping& mapping, const Diagram& diagram, const Sizes& sizes) {
  return std::all_of(mapping.head_sizes.begin(), mapping.head_sizes.end(), [&](const auto& rule) {
    const auto axis = diagram.find_axis(rule.first);
    return axis && mapping.size_for(rule.first, sizes[static_cast<std::size_t>(*axis)].get()).has_value();
  });
}

bool takes_type(const Mapping& mapping, DType dtype) {
  const std::string name(name_of(dtype));
  return mapping.dtypes.empty() ||
         std::find(mapping.dtypes.begin(), mapping.dtypes.end(), name) != mapping.dtypes.end();
}

/// Returns the level whose axes --tile addresses without naming a level: the lowest with a streamed axis, else the
/// lowest with a grouped one.
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

/// Returns the value that an axis without a knob has in any tile: 1 if it is grouped, its size if it is whole.
std::optional<std::int64_t> unchangeable(const Request& request, const Mapping& mapping, const std::string& name) {
  const auto axis = request.diagram->find_axis(name);
  if (!axis) return std::nullopt;
  for (const LevelMapping& level : mapping.levels) {
    if (lists(level.group, name)) return 1;
    if (lists(level.stream, name)) return std::nullopt;
  }
  return request.problem.sizes[static_cast<std::size_t>(*axis)].get();
}

/// Returns the user's --tile as knobs of the mapping.
std::vector<std::pair<KnobId, std::int64_t>> fixed_knobs(const Request& request, const Mapping& mapping) {
  const LevelMapping* home = block_level(mapping);
  const std::string prefix = home == nullptr ? std::string() : home->level + ".";
  std::vector<std::pair<KnobId, std::int64_t>> fixed;
  for (const auto& [name, text] : request.ask.tile) {
    auto knob = mapping.find_knob(name);
    const bool at_home = !prefix.empty() && name.starts_with(prefix);
    const std::string plain = at_home ? name.substr(prefix.size()) : name;
    if (!knob) knob = mapping.find_knob(plain);
    if (!knob) {
      const auto only = unchangeable(request, mapping, plain);
      if (only && text == std::to_string(*only)) continue;
      const std::string what = only ? plain + " is always " + std::to_string(*only) + " here"
                                    : in_quotes(name) + " is no knob of " + mapping.name;
      throw Error("--tile", what, one_of(name, knob_names(mapping)));
    }
    for (const auto& [earlier, value] : fixed) {
      if (earlier == *knob) throw Error("--tile", plain + " is given twice", "give it once");
    }
    const std::int64_t value = parse_knob(mapping.knobs[static_cast<std::size_t>(*knob)], text, "--tile");
    check_described(mapping, *knob, value, "--tile");
    fixed.emplace_back(*knob, value);
  }
  return fixed;
}

bool takes_mask(const Mapping& mapping, Mask::Kind mask) {
  return mapping.masks.empty() || std::find(mapping.masks.begin(), mapping.masks.end(), mask) != mapping.masks.end();
}

/// Returns true if the machine has what the mapping names: levels, and instructions for the type.
bool has_all(const Machine& machine, const Mapping& mapping, DType dtype) {
  try {
    check(mapping, machine, dtype);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Layout laid_out(const Request& request, Catalog& catalog, const std::shared_ptr<const Mapping>& mapping) {
  Layout layout = catalog.layout(request.diagram, mapping, request.machine);
  layout.fixed = fixed_knobs(request, *mapping);
  layout.problem = asked_of(*mapping, *request.diagram, request.problem);
  return layout;
}

/// Lays out a kernel; nothing if it cannot run there or does not take the type or these sizes.
std::optional<Layout> layout_of(const Request& request, Catalog& catalog, const std::string& name) {
  const auto mapping = catalog.mapping(name, "--kernel");
  if (!runs_on(*mapping, *request.machine) || !takes_type(*mapping, request.problem.dtype)) return std::nullopt;
  if (!takes_mask(*mapping, request.problem.mask.kind)) return std::nullopt;
  if (!supports_sizes(*mapping, *request.diagram, request.problem.sizes)) return std::nullopt;
  if (!has_all(*request.machine, *mapping, request.problem.dtype)) return std::nullopt;
  return laid_out(request, catalog, mapping);
}

/// Explains a size that the kernel does not take: "takes d up to 192 only, not 256"; "" if it takes all.
std::string refused_size(const Request& request, const Mapping& mapping) {
  for (const auto& [axis, sizes] : mapping.head_sizes) {
    const std::int64_t size = request.problem.sizes[static_cast<std::size_t>(request.diagram->axis(axis))].get();
    if (mapping.size_for(axis, size)) continue;
    const auto most = static_cast<double>(*std::max_element(sizes.begin(), sizes.end()));
    return words_of({"size of " + axis, static_cast<double>(size), most}, request, mapping);
  }
  return "";
}

}  // namespace

Layout ideal_layout(const Request& request) {
  Layout layout;
  layout.streamed = std::make_shared<const Streamed>(derive(*request.diagram));
  layout.mapping =
      std::make_shared<const Mapping>(ideal_mapping(*layout.streamed, *request.machine, request.problem.sizes));
  layout.machine = request.machine;
  layout.workspace = make_workspace(request.tables);
  layout.ideal = true;
  layout.fixed = fixed_knobs(request, *layout.mapping);
  layout.problem = request.problem;
  return layout;
}

Layout named_layout(const Request& request, Catalog& catalog) {
  const auto mapping = catalog.mapping(request.ask.kernel, "--kernel");
  if (mapping->algorithm != request.diagram->name && mapping->algorithm != builtin_name(request, catalog)) {
    throw Error("--kernel", mapping->name + " computes " + mapping->algorithm + ", not " + request.diagram->name,
                "one of napkin list kernels");
  }
  check(*mapping, *request.machine, request.problem.dtype);
  return laid_out(request, catalog, mapping);
}

std::vector<Layout> kernel_layouts(const Request& request, Catalog& catalog, bool bundled) {
  std::vector<Layout> layouts;
  if (request.abstract()) return layouts;
  const std::string algorithm = builtin_name(request, catalog);
  std::vector<std::string> names = algorithm.empty() ? std::vector<std::string>() : catalog.kernels(algorithm, bundled);
  // A kernel that deals a row's keys out to blocks answers behind the others for a tile without a kernel's name.
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) {
    const auto& levels = catalog.mapping(name, "--kernel")->levels;
    return std::none_of(levels.begin(), levels.end(), [](const LevelMapping& level) {
      return std::any_of(level.stream.begin(), level.stream.end(),
                         [&](const std::string& axis) { return lists(level.group, axis); });
    });
  });
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) {
    return lists(catalog.mapping(name, "--kernel")->runs_on, request.machine->architecture);
  });
  std::optional<Error> refused;
  for (const std::string& name : names) {
    try {
      if (auto layout = layout_of(request, catalog, name)) layouts.push_back(std::move(*layout));
    } catch (const Error& error) {  // a knob that this kernel lacks: another may have it
      if (!refused) refused = error;
    }
  }
  if (layouts.empty() && refused) throw *refused;
  return layouts;
}

bool by_fastest_instruction(const Request& request, const Layout& layout) {
  const auto& all = layout.mapping->operations;
  return std::all_of(all.begin(), all.end(), [&](const OperationMapping& op) {
    if (op.unit != "tensor" || op.instruction.empty()) return true;
    const DType type = op.type == "T" ? request.problem.dtype : parse_dtype(op.type, layout.mapping->file);
    const TensorInstruction* fastest = request.machine->tensor_for(type);
    return std::any_of(op.instruction.begin(), op.instruction.end(),
                       [&](const auto& named) { return fastest != nullptr && named.second == fastest->name; });
  });
}

std::vector<Layout> all_layouts(const Request& request, Catalog& catalog) {
  std::vector<Layout> all;
  std::optional<Error> refused;
  for (const bool bundled : {true, false}) {
    try {
      for (Layout& layout : kernel_layouts(request, catalog, bundled)) all.push_back(std::move(layout));
    } catch (const Overflow&) {
      throw;
    } catch (const Error& error) {  // none of them has the user's knobs
      if (!refused) refused = error;
    }
  }
  if (all.empty() && refused) throw *refused;
  return all;
}

std::vector<Layout> ranked_layouts(const Request& request, Catalog& catalog) {
  if (request.ask.bundled) return kernel_layouts(request, catalog, true);
  std::vector<Layout> all = all_layouts(request, catalog);
  const auto is_bundled = [](const Layout& layout) { return layout.bundled(); };
  const bool ours = !request.ask.tile.empty() || request.ask.compile;
  if (ours && std::any_of(all.begin(), all.end(), is_bundled))
    std::erase_if(all, [&](const Layout& layout) { return !is_bundled(layout); });
  return all;
}

std::vector<std::string> kept_out_by_sizes(const Request& request, Catalog& catalog) {
  std::vector<std::pair<std::string, std::string>> by_reason;
  const std::string algorithm = builtin_name(request, catalog);
  for (const bool bundled : {true, false}) {
    if (algorithm.empty() || (request.ask.bundled && !bundled)) continue;
    for (const std::string& name : catalog.kernels(algorithm, bundled)) {
      const auto mapping = catalog.mapping(name, "--kernel");
      if (!lists(mapping->runs_on, request.machine->architecture)) continue;
      if (!takes_type(*mapping, request.problem.dtype)) continue;
      const std::string reason = refused_size(request, *mapping);
      const auto known =
          std::find_if(by_reason.begin(), by_reason.end(), [&](const auto& r) { return r.first == reason; });
      if (known != by_reason.end())
        known->second += ", " + name;
      else if (!reason.empty())
        by_reason.emplace_back(reason, name);
    }
  }
  std::vector<std::string> out;
  for (const auto& [reason, names] : by_reason) out.push_back(names + ": " + reason);
  return out;
}

}  // namespace napkin
