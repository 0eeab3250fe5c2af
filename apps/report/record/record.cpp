#include "apps/report/record/record.hpp"

namespace napkin::report {
namespace {

Json measured_json(const MeasuredAnswer& m) {
  return {{"time", json_of(m.time)},
          {"time_spread", json_of(m.time_spread)},
          {"runs", m.runs},
          {"l2", m.l2},
          {"cycles", json_of(m.cycles)},
          {"clock", json_of(m.clock)},
          {"power", json_of(m.power)},
          {"registers_per_thread", m.registers_per_thread},
          {"shared_memory", m.shared_memory},
          {"l2_to_sm_bytes", json_of(m.l2_to_sm_bytes)},
          {"dram_read_bytes", json_of(m.dram_read_bytes)},
          {"dram_write_bytes", json_of(m.dram_write_bytes)},
          {"max_error", json_of(m.max_error)},
          {"reference_error", json_of(m.reference_error)}};
}

}  // namespace

Json json_of(const ValidationRow& row) {
  Json json = json_of(row.head, "validate");
  if (!row.levels.empty()) json["levels"] = json_of(row.levels);
  if (row.predicted) json["predicted"] = json_of(*row.predicted);
  json["split"] = row.split;
  json["sweep"] = row.sweep ? Json(*row.sweep) : Json(nullptr);
  json["selected"] = row.selected;
  json["measured"] = measured_json(row.measured);
  json["device"] = row.from.device;
  json["driver"] = row.from.driver;
  json["cuda"] = row.from.cuda;
  json["date"] = row.from.date;
  json["revision"] = row.from.revision;
  if (row.source_hash) json["source_hash"] = *row.source_hash;
  return json;
}

}  // namespace napkin::report
