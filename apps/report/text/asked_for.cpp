// The parts of an answer that are there where they were asked for: the best tile, --check and --compile.
#include <fmt/format.h>

#include "apps/report/text/brief.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

std::string block_text(const BlockAnswer& block) {
  return fmt::format("{} registers a thread at launch, {} of shared memory; {} block{} an SM{}{}",
                     block.registers_per_thread, memory_text(block.shared_memory), block.blocks_per_sm,
                     block.blocks_per_sm == 1 ? "" : "s", block.limited_by.empty() ? "" : ", limited by ",
                     block.limited_by);
}

std::string compiled_text(const CompiledAnswer& answer, const Style& style) {
  std::string text = block_text(answer.compiled);
  text += answer.objection.empty() ? "; no spills" : "; " + answer.objection;
  if (answer.static_shared_memory > 0)
    text += "; " + memory_text(answer.static_shared_memory) + " of the shared memory is static";
  return entry("compiled", text, style) + entry("planned", block_text(answer.planned), style);
}

std::string check_text(const CheckAnswer& check, const Style& style) {
  std::string at;
  for (const auto& [axis, size] : check.shape) at += fmt::format("{}{}={}", at.empty() ? "" : " ", axis, size);
  at += "; tile";
  for (const auto& [axis, size] : check.tile) at += fmt::format(" {}={}", axis, size);
  const auto row = [](const CountsAnswer& counts) {
    const std::string text = fmt::format("load {}, store {}, live {} values", count_text(counts.load),
                                         count_text(counts.store), count_text(counts.memory_live));
    if (counts.combine_load == 0) return text;
    return text + fmt::format("; combine loads {}, stores {}", count_text(counts.combine_load),
                              count_text(counts.combine_store));
  };
  return entry("check", "at " + at, style) + entry("counted", row(check.counted), style) +
         entry("predicted", row(check.predicted), style) +
         entry(
             "equal",
             fmt::format("{}; outputs differ by {:.1e} of the largest", check.equal ? "yes" : "NO", check.output_error),
             style) +
         (check.rounding
              ? entry("rounding",
                      fmt::format("{:.1e} of the largest output is lost to the types of the kernel's arrays, "
                                  "with f32 accumulators",
                                  *check.rounding),
                      style)
              : "");
}

}  // namespace

std::string best_entry(const QueryAnswer& answer, const Style& style) {
  if (!answer.best) return "";
  if (answer.best->loss <= 0) return entry("best", "no other tile of " + *answer.head.kernel + " is faster", style);
  return entry(
      "best",
      fmt::format("{} takes {}: the given tile takes {:.1f} % longer", differences(answer.best->tile, answer.head.tile),
                  time_text(answer.best->time), 100 * answer.best->loss),
      style);
}

std::string asked_for(const QueryAnswer& answer, const Style& style) {
  std::string text;
  if (answer.check) text += "\n" + check_text(*answer.check, style);
  if (answer.compiled) text += "\n" + compiled_text(*answer.compiled, style);
  return text;
}

}  // namespace napkin::internal::report
