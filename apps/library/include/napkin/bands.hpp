#pragma once
// A Band says how far predictions of a kind have been off, with their sign: 16 published speeds of flash_attention_2 on
// sm_80 took 12 % longer than predicted, and eight of ten such calls take from 1.06 to 1.19 times as long. What was
// found is in apps/library/judge/data/errors.json, which script/accuracy writes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace napkin {

struct Machine;

/// The regime of a call: which resource limits it, or whether its starts and ends do.
enum class Regime {
  few_rows,    ///< of products: device memory alone takes twice as long as they do, as with 16 rows of activations
  decode,      ///< attention whose device memory alone takes twice as long: few queries read many keys
  short_call,  ///< launch, fills and drains are a quarter of the time or more
  many_waves
};
[[nodiscard]] std::string_view name_of(Regime regime);

/// Facts of a prediction by which its error is looked up.
struct PredictionKind {
  std::string kernel, algorithm, architecture, gpu;
  Regime regime = Regime::many_waves;
  bool by_graph = false;     ///< the event graph's; else the fullest pipe's
  bool burst = false;        ///< of a card that rested; else sustained
  bool counted = true;       ///< a compiler counted the tile's registers and instructions; else a rule guesses them
  bool own_mapping = false;  ///< a file of the user's
  bool own_machine = false;
  bool operator==(const PredictionKind&) const = default;
};

/// Calls of one kind from one source, each as ln(time found / time predicted).
struct KnownErrors {
  PredictionKind kind;
  bool recorded = false;  ///< by this project; else published by others
  std::string source;     ///< the published row's, or the folder of tests/measured
  std::vector<double> errors;
};
/// apps/library/judge/data/errors.json.
[[nodiscard]] const std::vector<KnownErrors>& known_errors();

struct Band {
  double mean = 1;           ///< expected time over the predicted one
  double low = 1, high = 1;  ///< eight of ten calls take from `low` to `high` times the predicted time
  double error = 0;          ///< the mean of |found / predicted - 1| of the rows of `of`
  std::int64_t rows = 0;     ///< of `of`
  std::int64_t sources = 0;  ///< that those rows are from
  bool recorded = false;     ///< any of them by this project
  std::string of;            ///< the nearest kind that was compared: "flash_attention_2 on sm_80, many waves"
  std::string wide;          ///< why the band is wide; "": it is of this very kind
  /// The mean error with its sign: above 0, calls take longer than predicted.
  [[nodiscard]] double bias() const { return mean - 1; }
  /// Half of the width, over the mean: "+-5 % around that".
  [[nodiscard]] double spread() const { return (high - low) / (2 * mean); }
};

/// The band of a prediction, from what was found of kinds like it, the nearest weighing most; `without` leaves out one
/// source. (model/README.md, Bands)
[[nodiscard]] Band band_of(const PredictionKind& kind, std::string_view without = {});
/// Returns the band of all that the event graph has predicted on that product or architecture; nothing without a row.
[[nodiscard]] std::optional<Band> band_of(const Machine& machine);

/// How far off predictions of one class were: one mapping's on one architecture or product, by one clock.
struct ClassError {
  std::string architecture, kernel, algorithm;
  std::string gpu;        ///< recorded by this project on that product; "": published by others, of any
  bool by_graph = false;  ///< the event graph's predictions; else the fullest pipe's
  std::int64_t rows = 0;
  double mean = 0, median = 0;   ///< of |found / predicted - 1|
  std::optional<double> ninety;  ///< nine rows of ten are at most so far off
  std::optional<double> bias;    ///< mean of the errors with their signs: above 0, predictions are too fast
};
[[nodiscard]] const std::vector<ClassError>& class_errors();
/// The classes of one kernel, those of that architecture and clock first.
[[nodiscard]] std::vector<ClassError> classes_of(const Machine& machine, const std::string& kernel, bool by_graph);

}  // namespace napkin
