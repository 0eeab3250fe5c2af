// napkin show: a file that the program carries, as it is: a GPU's or an architecture's profile, several GPUs, a
// mapping, a diagram, a model's step.

#include <array>
#include <utility>

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/json/json.hpp"
#include "model/base/embedded.hpp"
#include "model/machine/load.hpp"

namespace napkin::internal::cli {
namespace {

using report::Json;

/// The folders whose files have names that users type, and the kind of their files; the longest path first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> folders = {
    {{"hardware_profiles/architectures/", "architecture"},
     {"hardware_profiles/islands/", "island"},
     {"hardware_profiles/", "gpu"},
     {"kernels/", "mapping"},
     {"model/diagram/algorithms/", "algorithm"},
     {"apps/library/ask/steps/", "step"}}};

std::string_view kind_of_path(std::string_view path) {
  if (!path.ends_with(".yaml")) return "";
  for (const auto& [folder, kind] : folders) {
    if (path.starts_with(folder)) return kind;
  }
  return "";
}

std::string stem_of(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return std::string(file.substr(0, file.rfind('.')));
}

/// Resolves a profile's other name to its first one.
std::string first_name(const std::string& name) {
  for (const auto& [alias, profile] : builtin_aliases()) {
    if (alias == name) return profile;
  }
  return name;
}

const EmbeddedFile& find_shown(const std::string& name) {
  const std::string wanted = first_name(name);
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (kind_of_path(file.path).empty()) continue;
    names.push_back(stem_of(file.path));
    if (names.back() == wanted) return file;
  }
  throw Error("napkin show", "unknown name " + in_quotes(name), one_of(name, names));
}

Reply run_show(const Arguments& arguments, const report::Style& style) {
  static_cast<void>(style);
  const std::string name = arguments.need_operand("napkin show", "a name that napkin list prints");
  const EmbeddedFile& file = find_shown(name);
  if (!arguments.has("--json")) return {std::string(file.text), "", 0};
  const Json json = {{"command", "show"},
                     {"name", stem_of(file.path)},
                     {"kind", kind_of_path(file.path)},
                     {"path", file.path},
                     {"text", file.text}};
  return {report::line_of(json), "", 0};
}

}  // namespace

Command show_command() {
  return {"show",
          "a bundled profile, mapping, diagram or model's step, as its YAML",
          {"NAME", "", "a name that napkin list prints, an architecture's (sm_90) or an island's"},
          {json_option()},
          run_show};
}

}  // namespace napkin::internal::cli
