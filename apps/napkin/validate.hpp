#pragma once
// ValidateOptions holds the options of `napkin validate`; the functions do its work: measure, replay, dump.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/library/judge/sweep.hpp"
#include "apps/napkin/command.hpp"
#include "kernels/runtime/measure.hpp"

namespace napkin::internal::cli {

/// A share of the questions: the I-th of N, from 1.
struct Shard {
  std::int64_t index = 1, count = 1;
  [[nodiscard]] bool has(std::size_t question) const {
    return static_cast<std::int64_t>(question) % count == index - 1;
  }
};
/// Parses "I/N". Throws Error.
[[nodiscard]] Shard parse_shard(const std::string& text);

struct ValidateOptions {
  std::vector<Ask> asks;  ///< questions, one for each shape; empty gpu: the GPU here
  bool sweep = false, counters = false, resume = false, json = false;
  std::optional<std::string> out;
  Shard shard;
  SweepOptions tiles;
  std::optional<std::uint64_t> seed;  ///< seed; none: a new one each sweep
  L2State l2 = L2State::warm;
  std::optional<CardLoad> load;       ///< load that is measured; none: runs end as soon as the median is known
  std::int64_t rows = 64;             ///< rows of a result that are compared with float64
  double pace = 0.25;                 ///< seconds of one tile of a sweep
  double settle = 20;                 ///< seconds of work before a run's first sweep
  std::int64_t jobs = 1;              ///< threads that compile
  bool compile = false;               ///< true to compile, and nothing else
  std::string dump;                   ///< folder for intermediates, in place of measurements; empty: none are written
  std::vector<std::string> observed;  ///< arrays to dump; empty: all
};

/// Opens the GPU, or sets `why` to the reason why there is none to validate on.
[[nodiscard]] std::unique_ptr<Runtime> runtime_here(std::string& why, Objections objections);

/// Measures on the GPU here.
[[nodiscard]] Reply measure_here(const ValidateOptions& options, const report::Style& style);

/// Compiles what measure_here() would run on the questions' GPU, into the cache. Needs no GPU.
[[nodiscard]] Reply compile_here(const ValidateOptions& options);

/// Runs the kernel's debug variant once on the GPU here and writes its intermediates as `napkin derive --dump` does.
[[nodiscard]] Reply dump_here(const ValidateOptions& options);

/// Predicts what others published; no files: the built-in rows.
[[nodiscard]] Reply published(const std::vector<std::string>& files, bool json, const report::Style& style);

/// Predicts recorded rows again.
[[nodiscard]] Reply replay(const std::vector<std::string>& files, bool json, const report::Style& style);

}  // namespace napkin::internal::cli
