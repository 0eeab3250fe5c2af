// embedded_files() are the YAML files and kernel sources that the build embeds, so that the program runs from any
// directory.
#pragma once

#include <span>
#include <string_view>

namespace napkin::internal {

struct EmbeddedFile {
  std::string_view path;  // relative to the repository root, e.g. "hardware_profiles/h200-sxm.yaml"
  std::string_view text;
  std::string_view tree = {};  // values of a YAML file, as model/base/yaml_bytes.hpp writes them
};

/// Returns the embedded files, sorted by path. Defined in the library napkin::embedded, which the build generates.
std::span<const EmbeddedFile> embedded_files();

}  // namespace napkin::internal
