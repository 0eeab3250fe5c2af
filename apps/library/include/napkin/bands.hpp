#pragma once
// A Band is the range of errors that predictions of a kind have had, with their sign: 16 published speeds of
// flash_attention_2 on sm_80 took 12 % longer than predicted, and eight of ten such calls take from 1.06 to 1.19 times
// as long. The errors are in apps/library/judge/data/errors.json, which script/accuracy writes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace napkin {

/// The regime of a call: the resource that limits it, or its starts and ends.
enum class Regime {
  few_rows,    ///< products whose bytes take twice as long in device memory as their FLOP: 16 rows of activations
  decode,      ///< attention whose bytes take twice as long in device memory as its FLOP: few queries read many keys
  short_call,  ///< calls of which launch, fills and drains take a quarter or more
  many_waves
};
[[nodiscard]] std::string_view name_of(Regime regime);

/// The facts of a prediction by which its error is looked up.
struct PredictionKind {
  std::string kernel, algorithm, architecture, gpu;
  Regime regime = Regime::many_waves;
  bool by_graph = false;     ///< true for the event graph's prediction; false for the fullest pipe's
  bool burst = false;        ///< true for a card that rested, false for a sustained load
  bool counted = true;       ///< true if a compiler counted the tile's registers and instructions; false if a rule
                             ///< guesses them
  bool own_mapping = false;  ///< true for a user's own file
  bool own_machine = false;
  bool operator==(const PredictionKind&) const = default;
};

/// The errors of calls of one kind from one source, each as ln(time found / time predicted).
struct KnownErrors {
  PredictionKind kind;
  bool recorded = false;  ///< true for this project's rows, false for those published by others
  std::string source;     ///< the published row's source, or the folder of tests/measured
  std::vector<double> errors;
};
/// Returns the errors of apps/library/judge/data/errors.json.
[[nodiscard]] const std::vector<KnownErrors>& known_errors();

struct Band {
  double mean = 1;           ///< expected time over the predicted one
  double low = 1, high = 1;  ///< range of eight calls in ten, over the predicted time
  double error = 0;          ///< mean of |found / predicted - 1| over the rows of the kind `of`
  std::int64_t rows = 0;     ///< rows of the kind `of`
  std::int64_t sources = 0;  ///< sources of those rows
  bool recorded = false;     ///< true if any of them is this project's
  std::string of;            ///< nearest kind with rows: "flash_attention_2 on sm_80, many waves"
  std::string wide;          ///< the reason why the band is wide; "": its rows are of this very kind
  /// Returns the mean error with its sign: above 0, calls take longer than predicted.
  [[nodiscard]] double bias() const { return mean - 1; }
  /// Returns half of the width over the mean: the 0.05 of "+-5 %".
  [[nodiscard]] double spread() const { return (high - low) / (2 * mean); }
};

/// Computes the band of a prediction from the errors of similar kinds, the nearest weighted most; `without` leaves out
/// a source. (model/README.md, Bands)
[[nodiscard]] Band band_of(const PredictionKind& kind, std::string_view without = {});
/// Returns the band of all predictions of the event graph on that GPU, or else on its architecture; nothing if no row
/// is known.
[[nodiscard]] std::optional<Band> band_on(const std::string& gpu, const std::string& architecture);

/// The error of a class of predictions: a mapping on an architecture or product, by one clock.
struct ClassError {
  std::string architecture, kernel, algorithm;
  std::string gpu;        ///< product on which this project recorded; "": published by others, for any
  bool by_graph = false;  ///< true for the event graph's predictions; false for the fullest pipe's
  std::int64_t rows = 0;
  double mean = 0, median = 0;   ///< mean and median of |found / predicted - 1|
  std::optional<double> ninety;  ///< error that nine rows in ten do not exceed
  std::optional<double> bias;    ///< mean error with its sign: above 0, predictions are too fast
};
[[nodiscard]] const std::vector<ClassError>& class_errors();
/// Returns the classes of one kernel, those of that architecture and clock first.
[[nodiscard]] std::vector<ClassError> classes_of(const std::string& architecture, const std::string& kernel,
                                                 bool by_graph);

}  // namespace napkin
