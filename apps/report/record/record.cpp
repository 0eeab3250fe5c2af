#include "apps/report/record/record.hpp"

#include "apps/report/json/part.hpp"

namespace napkin::internal::report {
Json json_of(const ValidationRow& row) {
  Json json = json_of(row.head, "validate");
  if (!row.levels.empty()) json["levels"] = json_of(row.levels);
  if (row.predicted) json["predicted"] = json_of(*row.predicted);
  json["split"] = row.split;
  json["sweep"] = row.sweep ? Json(*row.sweep) : Json(nullptr);
  json["selected"] = row.selected;
  json["measured"] = part_json(row.measured);
  json["device"] = row.from.device;
  json["driver"] = row.from.driver;
  json["cuda"] = row.from.cuda;
  json["date"] = row.from.date;
  json["revision"] = row.from.revision;
  if (row.source_hash) json["source_hash"] = *row.source_hash;
  return json;
}

}  // namespace napkin::internal::report
