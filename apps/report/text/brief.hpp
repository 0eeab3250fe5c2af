#pragma once
// A Brief is the first lines of an answer: what was asked, by which kernel and tile, how long it takes, what it moves,
// and how sure that is. Internal to apps/report.

#include <string>
#include <string_view>
#include <vector>

#include "apps/report/table.hpp"
#include "napkin/answers.hpp"

namespace napkin::report {

/// Parts of an answer that its first lines tell.
struct Brief {
  const Head& head;
  const std::optional<PredictedAnswer>& predicted;
  const WorkAnswer& work;
  const std::vector<LevelAnswer>& levels;
  const std::vector<LaunchAnswer>& launches;
};

/// "attention on h200-sxm, bf16: h=16 q=8192 ..."
[[nodiscard]] std::string asked_line(const Head& head, const Style& style);
/// "kernel     attention_sm90: q=128 x=128 ..."; on the abstract machine the tile alone.
[[nodiscard]] std::string kernel_line(const Brief& brief, const Style& style);
/// "takes      781.4 us for 549.8 GFLOP: 703.5 TFLOP/s, limited by the tensor cores; 1.378 GHz, 700 W"
[[nodiscard]] std::string takes_line(const Brief& brief, const Style& style);
/// "moves      100.7 MB from and 33.55 MB to device memory; 4.362 GB over L2 -> shared"
[[nodiscard]] std::string moves_line(const Brief& brief, const Style& style);
/// "how sure   likely 749.9 us to 853.4 us, by 2,355 recorded times of attention_sm90 on h200-sxm, many waves"
[[nodiscard]] std::string sure_line(const Brief& brief, const Style& style);

/// What was asked for beside the answer: the interpreter's counts, the compiled kernel.
[[nodiscard]] std::string asked_for(const QueryAnswer& answer, const Style& style);

/// One line of an answer: "label      text", broken where it is long.
[[nodiscard]] std::string entry(std::string_view label, std::string_view text, const Style& style);

}  // namespace napkin::report
