#pragma once
// A PublishedRow is a speed that others published: "FlashAttention-2, forward, on an A100 SXM 80 GB at b = 16, h = 32,
// s = 1024, d = 64 reached 160 TFLOP/s", and ask_published predicts the row's question. data/published.json has the
// rows, and data/names.yaml has the meanings of their words. Nothing is ever fitted to them. Internal to apps/.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "napkin/answers.hpp"
#include "napkin/ask.hpp"

namespace napkin::internal {

/// A row in the words of its source.
struct PublishedRow {
  std::string gpu, kernel, direction, dtype;             ///< direction: "fwd", "bwd", "fwd+bwd", "matmul"
  std::optional<std::int64_t> b, h, h_kv, q, x, d, d_v;  ///< sizes of attention; none: not stated
  std::optional<std::int64_t> m, n, k;                   ///< sizes of a product
  std::optional<bool> causal;
  std::string tile;  ///< "128x64,4w"; empty: not stated
  double tflops = 0;
  std::string source, note;
  std::string where;  ///< file:line:column

  [[nodiscard]] bool product() const { return direction == "matmul"; }
  /// Returns the algorithms that run, in order: attention and attention_backward for "fwd+bwd".
  [[nodiscard]] std::vector<std::string> algorithms() const;
  /// Returns true for heads that share one latent of 512 values and 64 rotary ones; the 512 values are also the values
  /// V.
  [[nodiscard]] bool latent() const { return h_kv == 1 && d == 576 && d_v == 512; }
  [[nodiscard]] bool backward() const { return direction == "bwd" || direction == "fwd+bwd"; }
};

/// Returns true if the row is in the half of the rows that was set aside while the model was developed: the top bit of
/// the 64-bit FNV-1a hash of its source's text. The split was made before any error was known.
[[nodiscard]] bool kept_aside(const PublishedRow& row);

/// Returns the floating-point operations that a row's TFLOP/s counts: forward 2 b h q x (d + d_v), backward 2 b h q x
/// (3 d + 2 d_v), half for a causal square; product 2 m n k.
[[nodiscard]] double counted_flops(const PublishedRow& row);

/// A row as a question, or the reason why it cannot be asked.
struct PublishedQuestion {
  const PublishedRow* row = nullptr;
  std::string reason;  ///< the kind of reason why it cannot be asked: "no mapping of the kernel"; empty: it can
  std::string detail;  ///< details of the reason
  std::string doubt;   ///< the reason why its source is doubtful; empty: it is not
  Ask ask;
  std::optional<double> clock, power;  ///< the clock that the source locked (Hz), the limit that it set (W)
  std::optional<double> held;          ///< clock that the source read during the timing (Hz), at any power
  double host = 0;                     ///< seconds that the host takes for a call; 0: the source times launches alone
  bool burst = false;                  ///< true if a few launches were timed after a rest
  double launches = 0;                 ///< launches from the rest to the middle of the timed ones; 0: not stated
  bool cold_l2 = false;                ///< true if other data fill the L2 before each launch
  std::string ahead;                   ///< algorithm that runs ahead within the timed call; empty: none
  bool one_by_one = false;             ///< true if every call begins on an idle stream, after the host's own time
};

struct PublishedAnswer {
  PublishedQuestion question;  ///< the question; if it has a reason, the fields below are not set
  /// The model's names; kernel: "A + B" for two passes. Tile and prediction are then the last pass's.
  std::string gpu, architecture, kernel;
  TileValues tile;  ///< a legal tile: a row without one is not asked
  PredictedAnswer predicted;
  bool by_graph = false;  ///< true for the event graph; false for a bound by the fullest pipe
  bool divided = false;   ///< true if the last pass' blocks share the keys of a row
  PredictionKind kind;    ///< kind of the last pass
  double seconds = 0;     ///< seconds of a call as the source timed it: all passes, what runs ahead of them, and the
                          ///< host's time if its timer saw it
  double roofline_seconds = 0;  ///< seconds of that call by the fullest pipe alone
  double tflops = 0;            ///< TFLOP/s in the row's convention
  double roofline = 0;          ///< TFLOP/s of that tile by the fullest pipe alone

  [[nodiscard]] const PublishedRow& row() const { return *question.row; }
  [[nodiscard]] bool asked() const { return question.reason.empty(); }
  /// Returns predicted over published speed, minus one: +0.5 for a prediction that is 50 % too fast.
  [[nodiscard]] double error() const { return tflops / row().tflops - 1; }
  [[nodiscard]] double roofline_error() const { return roofline / row().tflops - 1; }
};

/// The rows that the program carries, and their path in the repository.
inline constexpr std::string_view published_rows_path = "apps/library/judge/data/published.json";
[[nodiscard]] std::string_view published_rows_text();

/// Asks the model each row, as `query` answers it. Keeps pointers to the rows. Safe from several threads.
[[nodiscard]] std::vector<PublishedAnswer> ask_published(const std::vector<PublishedRow>& rows,
                                                         const std::function<void(std::size_t)>& progress = {});

struct PublishedErrors {
  std::size_t rows = 0, bounds = 0, doubtful = 0, gpus = 0;
  double mean = 0;      ///< mean of the rows' absolute errors; for a set: the mean of its GPUs' means
  double median = 0;    ///< median of the rows' absolute errors
  double worst = 0;     ///< worst row's error; for a set: the worst GPU's mean
  double bias = 0;      ///< the mean of the signed errors, taken as `mean` is
  double ninety = 0;    ///< error that nine rows in ten do not exceed
  double roofline = 0;  ///< `mean` by the fullest pipe alone
  double roofline_median = 0;
  std::string worst_gpu;
};

struct PublishedGroup {
  std::string gpu, kernel;  ///< kernel empty: all of the GPU
  PublishedErrors errors;
};

/// The errors of all rows of one architecture, mapping and clock.
struct PublishedClass {
  std::string architecture, kernel, clock;  ///< clock: "graph", "bound"
  PublishedErrors errors;
};

/// Rows that share a reason for not being asked, or a doubt.
struct NotAsked {
  std::string reason;
  std::size_t rows = 0;
  struct Group {
    std::string gpu, kernel;  ///< names as published
    std::size_t rows = 0;
  };
  std::vector<Group> of;
};

/// Rows of one regime, by their sizes alone: products of up to 256 rows and of more, attention of up to 16 queries a
/// sequence (decoding) and of more, backward passes.
struct PublishedRegime {
  std::string name;  ///< "products, m <= 256"
  PublishedErrors errors;
  std::vector<PublishedGroup> gpus;
  /// Rows whose question another row of the regime asks too, for another framework or from another source.
  std::size_t repeated = 0;
  double noise = 0;  ///< mean distance of these rows from their question's mean, averaged over GPUs
};

struct PublishedSummary {
  std::size_t rows = 0;
  /// Errors of forward passes and products: of all, of rows seen, of rows set aside, and of certain rows, which leaves
  /// out doubtful ones. Errors of backward passes.
  PublishedErrors all, seen, aside, certain, backward;
  std::vector<PublishedGroup> gpus;     ///< errors of forward passes and products, by GPU
  std::vector<PublishedGroup> kernels;  ///< errors of all rows, by kernel
  std::vector<PublishedClass> classes;
  std::vector<PublishedRegime> regimes;  ///< regimes of all rows, those without a row too
  std::vector<NotAsked> not_asked;
  std::vector<NotAsked> doubts;
};
[[nodiscard]] PublishedSummary summarise(const std::vector<PublishedAnswer>& answers);

using PublishedRows = std::vector<const PublishedAnswer*>;
/// Computes the errors of a set in which each GPU counts once, whatever the number of its rows.
[[nodiscard]] PublishedErrors errors_of_set(const PublishedRows& rows);
/// Computes each GPU's errors.
[[nodiscard]] std::vector<PublishedGroup> errors_by_gpu(const PublishedRows& rows);
/// Divides asked rows into regimes.
[[nodiscard]] std::vector<PublishedRegime> regimes_of(const PublishedRows& asked);

}  // namespace napkin::internal
