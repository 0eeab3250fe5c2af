#include "apps/library/question/setups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "apps/library/question/catalog.hpp"
#include "apps/library/question/words.hpp"
#include "model/base/library.hpp"
#include "model/diagram/library.hpp"
#include "model/fusion/counterpart.hpp"
#include "model/fusion/derive.hpp"
#include "model/mapping/asked.hpp"
#include "model/mapping/read/load.hpp"
#include "solver/select/select.hpp"

namespace napkin::internal {
namespace {

/// Returns the built-in algorithm that has the diagram's structure, and whose kernels therefore compute it; "" if there
/// is none.
std::string builtin_name(const Question& question, Catalog& catalog) {
  if (!names_file(question.ask.algorithm)) return question.diagram->name;
  Diagram diagram = *question.diagram;
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

/// Returns the value that an axis without a knob has in every tile: 1 if it is grouped, its size if it is whole.
std::optional<std::int64_t> unchangeable(const Question& question, const Mapping& mapping, const std::string& name) {
  const auto axis = question.diagram->find_axis(name);
  if (!axis) return std::nullopt;
  for (const LevelMapping& level : mapping.levels) {
    if (lists(level.group, name)) return 1;
    if (lists(level.stream, name)) return std::nullopt;
  }
  return question.problem.sizes[static_cast<std::size_t>(*axis)].get();
}

/// Throws Error if a value makes many times as many agents of a block, or blocks of a cluster, as the kernel is made
/// for: a run of that many takes minutes, and says nothing.
void check_number(const Mapping& mapping, KnobId id, std::int64_t value) {
  constexpr std::int64_t many = 16;
  const auto names = [&](const Value& number) { return number.kind == Value::Kind::knob && number.knob == id; };
  const bool counts = std::any_of(mapping.agents.begin(), mapping.agents.end(),
                                  [&](const Agent& agent) {
                                    return std::any_of(agent.count.begin(), agent.count.end(),
                                                       [&](const auto& each) { return names(each.second); });
                                  }) ||
                      std::any_of(mapping.levels.begin(), mapping.levels.end(),
                                  [&](const LevelMapping& level) { return level.nodes && names(*level.nodes); });
  const Knob& knob = mapping.knobs[static_cast<std::size_t>(id)];
  const std::int64_t most = *std::max_element(knob.domain.begin(), knob.domain.end());
  if (!counts || value / many <= most) return;
  throw Error("--tile",
              fmt::format("{}={}: more than {} times what {} is made for", knob.name, value, many, mapping.name),
              fmt::format("at most {}", many * most));
}

/// Returns the user's --tile as knobs of the mapping.
std::vector<std::pair<KnobId, std::int64_t>> fixed_knobs(const Question& question, const Mapping& mapping) {
  const LevelMapping* home = block_level(mapping);
  const std::string prefix = home == nullptr ? std::string() : home->level + ".";
  std::vector<std::pair<KnobId, std::int64_t>> fixed;
  for (const auto& [name, text] : question.ask.tile) {
    auto knob = mapping.find_knob(name);
    const bool at_home = !prefix.empty() && name.starts_with(prefix);
    const std::string plain = at_home ? name.substr(prefix.size()) : name;
    if (!knob) knob = mapping.find_knob(plain);
    if (!knob) {
      const auto only = unchangeable(question, mapping, plain);
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
    check_number(mapping, *knob, value);
    fixed.emplace_back(*knob, value);
  }
  return fixed;
}

Setup setup_of(const Question& question, Catalog& catalog, const std::shared_ptr<const Mapping>& mapping) {
  Setup setup = catalog.setup(question.diagram, mapping, question.machine);
  setup.fixed = fixed_knobs(question, *mapping);
  setup.problem = asked_of(*mapping, *question.diagram, question.problem);
  return setup;
}

/// Makes the setup of a kernel; nothing if it cannot run there or does not take the type, the mask or these sizes.
std::optional<Setup> fitting_setup(const Question& question, Catalog& catalog,
                                   const std::shared_ptr<const Mapping>& mapping) {
  if (!runs_on(*mapping, *question.machine) || !takes_type(*mapping, question.problem.dtype)) return std::nullopt;
  if (!takes_mask(*mapping, question.problem.mask.kind)) return std::nullopt;
  if (!supports_sizes(*mapping, *question.diagram, question.problem.sizes)) return std::nullopt;
  if (!catalog.has_all(question.machine, mapping, question.problem.dtype)) return std::nullopt;
  return setup_of(question, catalog, mapping);
}

/// Explains a size that the kernel does not take: "takes d up to 192 only, not 256"; "" if it takes all, or is made for
/// larger ones.
std::string refused_size(const Question& question, const Mapping& mapping) {
  for (const auto& [axis, sizes] : mapping.head_sizes) {
    const std::int64_t size = question.problem.sizes[static_cast<std::size_t>(question.diagram->axis(axis))].get();
    if (mapping.size_for(axis, size)) continue;
    const bool larger = std::any_of(mapping.above.begin(), mapping.above.end(), [&, &axis = axis](const auto& of) {
      return of.first == axis && size <= of.second;
    });
    if (larger) continue;
    const auto most = static_cast<double>(*std::max_element(sizes.begin(), sizes.end()));
    return words_of({"size of " + axis, static_cast<double>(size), most}, question, mapping);
  }
  return "";
}

}  // namespace

Setup ideal_setup(const Question& question) {
  Setup setup;
  setup.streamed = std::make_shared<const Streamed>(derive(*question.diagram));
  setup.mapping =
      std::make_shared<const Mapping>(ideal_mapping(*setup.streamed, *question.machine, question.problem.sizes));
  setup.machine = question.machine;
  setup.workspace = make_workspace(question.tables);
  setup.ideal = true;
  setup.fixed = fixed_knobs(question, *setup.mapping);
  setup.problem = question.problem;
  return setup;
}

namespace {

/// Returns the names of the kernels that compute an algorithm, as the words of an error have them.
std::string kernels_of(const std::string& algorithm, const std::string& like, Catalog& catalog) {
  std::vector<std::string> names;
  for (const bool bundled : {true, false}) {
    if (algorithm.empty()) break;
    const std::vector<std::string>& some = catalog.kernels(algorithm, bundled);
    names.insert(names.end(), some.begin(), some.end());
  }
  return names.empty() ? "a mapping of your own for it (docs/own-kernel.md): no built-in one computes it"
                       : one_of(like, names);
}

}  // namespace

Setup named_setup(const Question& question, Catalog& catalog) {
  const auto mapping = catalog.mapping(question.ask.kernel, "--kernel");
  if (mapping->algorithm != question.diagram->name && mapping->algorithm != builtin_name(question, catalog)) {
    throw Error("--kernel", mapping->name + " computes " + mapping->algorithm + ", not " + question.diagram->name,
                kernels_of(builtin_name(question, catalog), mapping->name, catalog));
  }
  check(*mapping, *question.machine, question.problem.dtype);
  return setup_of(question, catalog, mapping);
}

std::vector<Setup> kernel_setups(const Question& question, Catalog& catalog, bool bundled) {
  std::vector<Setup> setups;
  if (question.abstract()) return setups;
  const std::string algorithm = builtin_name(question, catalog);
  if (algorithm.empty()) return setups;
  std::vector<std::shared_ptr<const Mapping>> kernels;
  for (const std::string& name : catalog.kernels(algorithm, bundled))
    kernels.push_back(catalog.mapping(name, "--kernel"));
  // If the user gives a tile and no kernel, kernels that divide a row's keys among blocks come after the others.
  std::stable_partition(kernels.begin(), kernels.end(), [&](const auto& mapping) {
    return std::none_of(mapping->levels.begin(), mapping->levels.end(), [](const LevelMapping& level) {
      return std::any_of(level.stream.begin(), level.stream.end(),
                         [&](const std::string& axis) { return lists(level.group, axis); });
    });
  });
  std::stable_partition(kernels.begin(), kernels.end(),
                        [&](const auto& mapping) { return lists(mapping->runs_on, question.machine->architecture); });
  std::optional<Error> refused;
  for (const auto& mapping : kernels) {
    try {
      if (auto setup = fitting_setup(question, catalog, mapping)) setups.push_back(std::move(*setup));
    } catch (const Error& error) {  // a knob that this kernel lacks: another may have it
      if (!refused) refused = error;
    }
  }
  if (setups.empty() && refused) throw *refused;
  return setups;
}

bool by_fastest_instruction(const Question& question, const Setup& setup) {
  const auto& all = setup.mapping->operations;
  return std::all_of(all.begin(), all.end(), [&](const OperationMapping& op) {
    if (op.unit != "tensor" || op.instruction.empty()) return true;
    const DType type = op.type == "T" ? question.problem.dtype : parse_dtype(op.type, setup.mapping->file);
    const TensorInstruction* fastest = question.machine->tensor_for(type);
    return std::any_of(op.instruction.begin(), op.instruction.end(), [&](const auto& named) {
      const TensorInstruction* own = question.machine->tensor_for(type, named.second);
      return own != nullptr && own->flop_per_clock >= fastest->flop_per_clock;
    });
  });
}

std::vector<Setup> all_setups(const Question& question, Catalog& catalog) {
  std::vector<Setup> all;
  std::optional<Error> refused;
  for (const bool bundled : {true, false}) {
    try {
      for (Setup& setup : kernel_setups(question, catalog, bundled)) all.push_back(std::move(setup));
    } catch (const Overflow&) {
      throw;
    } catch (const Error& error) {  // no kernel has the user's knobs
      if (!refused) refused = error;
    }
  }
  if (all.empty() && refused) throw *refused;
  return all;
}

std::vector<Setup> ranked_setups(const Question& question, Catalog& catalog) {
  if (question.ask.bundled) return kernel_setups(question, catalog, true);
  std::vector<Setup> all = all_setups(question, catalog);
  const auto is_bundled = [](const Setup& setup) { return setup.bundled(); };
  const bool ours = !question.ask.tile.empty() || question.ask.compile;
  if (ours && std::any_of(all.begin(), all.end(), is_bundled))
    std::erase_if(all, [&](const Setup& setup) { return !is_bundled(setup); });
  return all;
}

namespace {

/// Returns the shortest of the names that the name begins with, up to an underscore: flash_attention_4 of
/// flash_attention_4_wide.
const std::string& family_of(const std::string& name, const std::vector<std::string>& names) {
  const std::string* out = &name;
  for (const std::string& other : names) {
    if (other.size() < out->size() && name.starts_with(other) && name[other.size()] == '_') out = &other;
  }
  return *out;
}

}  // namespace

std::string asked_as_known(const Question& question, Catalog& catalog) {
  for (const std::string& name : builtin_diagrams()) {
    if (name == question.diagram->name || (catalog.kernels(name, true).empty() && catalog.kernels(name, false).empty()))
      continue;
    const auto known = catalog.diagram(name);
    const auto axes = counterpart(*question.diagram, *known);
    if (!axes) continue;
    Sizes sizes(known->axes.size(), Count(1));
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      if ((*axes)[a]) sizes[a] = question.problem.sizes[static_cast<std::size_t>(*(*axes)[a])];
    }
    std::vector<std::string> shape;
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      const auto& fallback = known->axes[a].fallback;
      const auto* size = std::get_if<std::int64_t>(&fallback);
      const auto* other = std::get_if<AxisId>(&fallback);
      const bool is_default = (size != nullptr && sizes[a] == Count(*size)) ||
                              (other != nullptr && sizes[a] == sizes[static_cast<std::size_t>(*other)]);
      if (!is_default) shape.push_back(known->axes[a].name + "=" + std::to_string(sizes[a].get()));
    }
    return name + " computes the same, and has kernels: --shape " + joined(shape, ",");
  }
  return "";
}

std::vector<std::string> kept_out_by_sizes(const Question& question, Catalog& catalog) {
  std::vector<std::string> names;
  const std::string algorithm = builtin_name(question, catalog);
  for (const bool bundled : {true, false}) {
    if (algorithm.empty() || (question.ask.bundled && !bundled)) continue;
    const std::vector<std::string>& some = catalog.kernels(algorithm, bundled);
    names.insert(names.end(), some.begin(), some.end());
  }
  const auto answers = [&](const std::string& name) {  // of the same library, in a case of these sizes
    return std::any_of(question.setups.begin(), question.setups.end(), [&](const Setup& setup) {
      return family_of(setup.mapping->name, names) == family_of(name, names);
    });
  };
  std::vector<std::pair<std::string, std::string>> by_reason;
  for (const std::string& name : names) {
    const auto mapping = catalog.mapping(name, "--kernel");
    if (!lists(mapping->runs_on, question.machine->architecture)) continue;
    if (!takes_type(*mapping, question.problem.dtype)) continue;
    const std::string reason = refused_size(question, *mapping);
    if (reason.empty() || answers(name)) continue;
    const auto known =
        std::find_if(by_reason.begin(), by_reason.end(), [&](const auto& r) { return r.first == reason; });
    if (known != by_reason.end())
      known->second += ", " + name;
    else
      by_reason.emplace_back(reason, name);
  }
  std::vector<std::string> out;
  for (const auto& [reason, kernels] : by_reason) out.push_back(kernels + ": " + reason);
  return out;
}

}  // namespace napkin::internal
