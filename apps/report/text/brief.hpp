#pragma once
// A Brief holds the parts of an answer that its first lines print: question, kernel and tile, time, bytes moved, and
// how sure the prediction is. Internal to apps/report.

#include <string>
#include <string_view>
#include <vector>

#include "apps/report/table.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal::report {

/// The parts of an answer that its first lines print.
struct Brief {
  const Head& head;
  const std::optional<PredictedAnswer>& predicted;
  const WorkAnswer& work;
  const std::vector<LevelAnswer>& levels;
  const std::vector<LaunchAnswer>& launches;
};

/// Writes "attention on h200-sxm, bf16: h=16 q=8192 ..."
[[nodiscard]] std::string asked_line(const Head& head, const Style& style);
/// Writes "kernel     attention_sm90: q=128 x=128 ..."; on the abstract machine the tile alone.
[[nodiscard]] std::string kernel_line(const Brief& brief, const Style& style);
/// Writes "takes      781.4 us for 549.8 GFLOP: 703.5 TFLOP/s, limited by the tensor cores; 1.378 GHz, 700 W".
[[nodiscard]] std::string takes_line(const Brief& brief, const Style& style);
/// Writes "moves      100.7 MB from and 33.55 MB to device memory; 4.362 GB over L2 -> shared".
[[nodiscard]] std::string moves_line(const Brief& brief, const Style& style);
/// Writes "how sure   likely 749.9 us to 853.4 us, by 2,355 recorded times of attention_sm90 on h200-sxm, many waves"
[[nodiscard]] std::string sure_line(const Brief& brief, const Style& style);

/// Writes how much longer the given tile takes than the best tile of its kernel, and by which knobs they differ.
[[nodiscard]] std::string best_entry(const QueryAnswer& answer, const Style& style);
/// Writes the parts that are printed only if asked for: the interpreter's counts, the compiled kernel.
[[nodiscard]] std::string asked_for(const QueryAnswer& answer, const Style& style);

/// Writes an entry of an answer: "label      text", wrapped to the page's width.
[[nodiscard]] std::string entry(std::string_view label, std::string_view text, const Style& style);

}  // namespace napkin::internal::report
