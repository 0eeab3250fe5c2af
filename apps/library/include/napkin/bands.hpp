#pragma once
// A Band says how far predictions of a class have been off: 6.6 % in the mean of 83 published speeds of
// flash_attention_2 on sm_90. Classes are of a mapping, an architecture and a clock; their errors are those of
// apps/library/judge/data/classes.json, which script/accuracy writes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/machine/machine.hpp"

namespace napkin {

/// How far off predictions of one class were: one mapping's on one architecture or product, by one clock.
struct ClassError {
  std::string architecture, kernel, algorithm;
  std::string gpu;        ///< recorded by this project on that product; "": published by others, of any
  bool by_graph = false;  ///< the event graph's predictions; else the fullest pipe's
  std::int64_t rows = 0;
  double mean = 0, median = 0;   ///< of |predicted / measured - 1|
  std::optional<double> ninety;  ///< nine rows of ten are at most so far off
  std::optional<double> bias;    ///< mean of the signed errors of the speed: above 0, predictions are too fast
};
/// apps/library/judge/data/classes.json, which script/accuracy writes.
[[nodiscard]] const std::vector<ClassError>& class_errors();
/// The classes of one kernel, those of that architecture and clock first.
[[nodiscard]] std::vector<ClassError> classes_of(const Machine& machine, const std::string& kernel, bool by_graph);

struct Band {
  double error = 0;              ///< the mean of |predicted / found - 1|
  std::optional<double> ninety;  ///< nine of ten errors are at most this, where that is known
  std::int64_t rows = 0;
  std::optional<double> bias;  ///< the mean of those errors with their signs, of the speed; above 0: predicted too fast
  bool recorded = false;       ///< by this program's kernels; else published by others
  std::string of;              ///< "flash_attention_2 on sm_90"
  /// `ninety`; where only the mean is known, that of errors which spread as a normal distribution does.
  [[nodiscard]] double nine_of_ten() const;
  /// Whether nearly all errors have the bias' sign.
  [[nodiscard]] bool one_sided() const;
};

/// The class that is nearest to a prediction: the mapping's on that product, else published on that architecture, else
/// recorded there on other products. Nothing where nothing of the mapping was recorded or published there: how far off
/// other kernels' predictions are says nothing of this one.
[[nodiscard]] std::optional<Band> band_of(const Machine& machine, const std::string& kernel, bool by_graph);

/// Of whatever the event graph has predicted on that product or architecture.
[[nodiscard]] std::optional<Band> band_of(const Machine& machine);

}  // namespace napkin
