#pragma once
// read_folds() reads the section "folds" of a diagram's file: functions of the author's own. Internal to the folder.

#include <vector>

#include "model/base/yaml.hpp"
#include "model/diagram/fold.hpp"

namespace napkin::internal::diagram_text {

[[nodiscard]] std::vector<Fold> read_folds(const yaml::Node& node);

}  // namespace napkin::internal::diagram_text
