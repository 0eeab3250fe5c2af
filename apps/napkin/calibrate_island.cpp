// napkin calibrate --island: times the library's calls between the GPUs here, of several sizes.

#include <fmt/format.h>

#include <algorithm>

#include "apps/library/call/island_measure.hpp"
#include "apps/library/question/revision.hpp"
#include "apps/napkin/calibrate.hpp"
#include "apps/report/file.hpp"
#include "apps/report/units.hpp"
#include "kernels/jit/failure.hpp"
#include "kernels/runtime/driver_version.hpp"
#include "model/island/island.hpp"

namespace napkin::internal::cli {
namespace {

double value_of(const Readings& readings, const Reading& like, std::string_view quantity) {
  const auto found = matching(readings, like.experiment, quantity, like.with);
  return found.empty() ? 0 : estimate(found.front()->values).value;
}

std::string table_of(const Readings& readings, const report::Style& style) {
  report::Table table({"<call", "bytes of a GPU", "into each GPU", "time", "rate into each"});
  for (const Reading* reading : matching(readings, "links", "call")) {
    const double seconds = estimate(reading->values).value, bytes = value_of(readings, *reading, "received");
    table.add({std::string(reading->parameter("by")),
               report::transfer_text(std::stoll(std::string(reading->parameter("bytes")))),
               report::transfer_text(static_cast<std::int64_t>(bytes)), report::time_text(seconds),
               seconds > 0 ? report::rate_text(bytes / seconds) : ""});
  }
  return table.text(style);
}

}  // namespace

Reply calibrate_island(const CalibrateOptions& options, const report::Style& style) {
  const Island island = load_island(options.gpu, "--gpu");
  const int gpus = std::min(static_cast<int>(island.gpus().get()), device_count());
  if (gpus < 2)
    throw CudaFailure(
        fmt::format("no island to calibrate: {} of {}'s {} GPUs are here", gpus, island.name, island.gpus().get()));
  IslandInstrument instrument;
  const Readings readings = instrument.links(gpus);
  const MeasuredBy from{Device().properties().name, driver_version(), "", now_utc(), std::string(source_revision())};
  std::string rows;
  for (const Reading& reading : readings) rows += report::line_of(report::json_of(report::ReadingRow{reading, from}));
  if (options.record) report::write_file(*options.record, rows, "--record");
  return options.json ? Reply{rows, table_of(readings, style), 0} : Reply{table_of(readings, style), "", 0};
}

}  // namespace napkin::internal::cli
