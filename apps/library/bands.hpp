#pragma once
// A Band says how far predictions of a class have been off: 6.6 % in the mean of 83 published speeds of
// flash_attention_2 on sm_90. Classes are of a mapping, an architecture and a clock; their errors are those of
// apps/library/judge/data/classes.json, which script/accuracy writes. Internal to apps/.

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
  bool recorded = false;  ///< on that very product, by this program's kernels; else published by others
  std::string of;         ///< "flash_attention_2 on sm_90", "attention on sm_90"
  /// `ninety`; where only the mean is known, that of errors which spread as a normal distribution does.
  [[nodiscard]] double nine_of_ten() const;
};

/// The class that is nearest to a prediction: of the mapping on that product, of it on that architecture, of any
/// mapping of the algorithm there. Nothing where nothing was recorded or published.
[[nodiscard]] std::optional<Band> band_of(const Machine& machine, const std::string& algorithm,
                                          const std::string& kernel, bool by_graph);

/// Of whatever the event graph has predicted on that product or architecture.
[[nodiscard]] std::optional<Band> band_of(const Machine& machine);

}  // namespace napkin
