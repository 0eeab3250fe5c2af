#include "apps/napkin/validate_island.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "apps/library/call/island_measure.hpp"
#include "apps/napkin/progress.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/record/record.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"
#include "kernels/jit/failure.hpp"
#include "kernels/jit/source.hpp"

namespace napkin::internal::cli {
namespace {

report::Json json_of(const IslandTimes& times) {
  return {{"time", times.time}, {"work", times.work}, {"copies", times.copies}, {"received", times.received}};
}

report::Json json_of(const IslandRow& row) {
  report::Json json = report::json_of(row.head, "validate");
  json["way"] = {{"split", row.split}, {"order", row.order}, {"gpus", row.gpus}};
  json["predicted"] = json_of(row.predicted);
  json["measured"] = json_of(row.measured);
  json["measured"]["max_error"] = report::json_of(row.result.max_error);
  json["measured"]["reference_error"] = report::json_of(row.result.reference_error);
  json["right"] = row.result.good();
  json["device"] = row.from.device;
  json["driver"] = row.from.driver;
  json["cuda"] = row.from.cuda;
  json["nccl"] = row.nccl;
  json["date"] = row.from.date;
  json["revision"] = row.from.revision;
  if (row.head.kernel) json["source_hash"] = kernel_source_hash(*row.head.kernel);
  return json;
}

std::string beside(double predicted, double measured) {
  if (!(measured > 0)) return report::time_text(measured);
  return fmt::format("{} ({:+.1f} %)", report::time_text(measured), 100 * (predicted / measured - 1));
}

std::string shape_text(const Head& head) {
  std::string text;
  for (const auto& [axis, size] : head.shape) {
    if (size != 1) text += fmt::format("{}{}={}", text.empty() ? "" : " ", axis, size);
  }
  return head.mask.kind == Mask::Kind::none ? text : text + " " + text_of(head.mask);
}

/// Prints measured times, each with the prediction's error, and the means of the errors' sizes.
std::string text_of(const std::vector<IslandRow>& rows, const report::Style& style) {
  report::Table table({"<shape", "<split", "GPUs", "time", "copies alone", "work alone", "into each GPU", "<result"});
  double time = 0, copies = 0;
  int moving = 0;
  for (const IslandRow& row : rows) {
    table.add({shape_text(row.head), row.split + " " + row.order, std::to_string(row.gpus),
               beside(row.predicted.time, row.measured.time), beside(row.predicted.copies, row.measured.copies),
               beside(row.predicted.work, row.measured.work),
               report::transfer_text(row.measured.received) +
                   (row.measured.received == row.predicted.received ? "" : " (NOT as predicted)"),
               row.result.good() ? "right" : "WRONG"});
    time += std::abs(row.predicted.time / row.measured.time - 1);
    if (row.measured.copies > 0) copies += std::abs(row.predicted.copies / row.measured.copies - 1);
    moving += row.measured.copies > 0 ? 1 : 0;
  }
  const auto n = static_cast<double>(rows.size());
  return table.text(style) + fmt::format("\n{} questions: time {:.1f} % off in the mean, copies {:.1f} %\n",
                                         rows.size(), 100 * time / n, moving > 0 ? 100 * copies / moving : 0.0);
}

void check_options(const ValidateOptions& options) {
  const Ask& ask = options.asks.front();
  for (const auto& [given, option] : {std::pair{options.sweep, "--sweep"},
                                      {options.counters, "--counters"},
                                      {options.compile, "--compile"},
                                      {!options.dump.empty(), "--dump"},
                                      {options.resume, "--resume"},
                                      {!ask.kernel.empty(), "--kernel"},
                                      {!ask.tile.empty(), "--tile"},
                                      {options.l2 == L2State::cold, "--l2"}}) {
    if (given) throw Error(option, "is of one GPU, and " + ask.gpu + " is an island", "leave it out");
  }
}

}  // namespace

Reply validate_island(const ValidateOptions& options, const report::Style& style) {
  check_options(options);
  std::optional<report::RowFile> file;
  if (options.out) file.emplace(*options.out, "--out");
  std::vector<IslandRow> rows;
  IslandInstrument instrument;
  Progress progress;
  progress.begin("measuring", options.asks.size());
  std::string lines;
  for (std::size_t i = 0; i < options.asks.size(); ++i) {
    if (!options.shard.has(i)) continue;
    try {
      rows.push_back(instrument.measure(default_session(), options.asks[i],
                                        {.warm = options.settle, .time = options.pace, .rows = options.rows}));
    } catch (const CudaFailure& failure) {
      progress.clear();
      return {"", std::string(failure.what()) + "\n", 1};
    }
    const report::Json json = json_of(rows.back());
    lines += report::line_of(json);
    if (file) file->append(json);
    progress.step("");
  }
  progress.clear();
  const bool wrong = std::any_of(rows.begin(), rows.end(), [](const IslandRow& row) {
    return !row.result.good() || row.measured.received != row.predicted.received;
  });
  if (rows.empty()) return {"", "no question is in this share\n", 0};
  const std::string text = text_of(rows, style);
  return options.json ? Reply{lines, text, wrong ? 1 : 0} : Reply{text, "", wrong ? 1 : 0};
}

}  // namespace napkin::internal::cli
