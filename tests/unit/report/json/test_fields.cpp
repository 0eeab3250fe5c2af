// The fields of an answer's parts are those of the schema, and JSON and Python get no others.

#include "apps/report/json/fields.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "apps/report/json/part.hpp"

namespace test_fields {

namespace {

using namespace napkin;
using namespace napkin::internal;
using report::As;
using report::Json;
using Names = std::set<std::string>;

Json definitions() {
  std::ifstream file(NAPKIN_SOURCE_DIR "/docs/schema/answers.schema.json");
  return Json::parse(file)["$defs"];
}

Names properties_of(const Json& schema) {
  Names out;
  for (const auto& [name, value] : schema["properties"].items()) out.insert(name);
  return out;
}

/// Checks that the schema has the part's fields, those required that JSON always has, and those of `more` beside.
template <class Part>
void check_schema(const Json& schema, const Names& more = {}) {
  Names all = more, always;
  report::each_field<Part>([&](const auto& field) {
    CHECK(all.insert(field.name).second);
    if (field.as == As::always || field.as == As::or_null) always.insert(field.name);
  });
  CHECK(properties_of(schema) == all);
  CHECK(schema["required"].get<Names>() == always);
}

TEST_CASE("the schema has the fields of each part, and no other") {
  const Json defs = definitions();
  check_schema<LevelAnswer>(defs["level"]);
  check_schema<Band>(defs["band"]);
  check_schema<CombineAnswer>(defs["combine"]);
  check_schema<LaunchAnswer>(defs["launch"]);
  check_schema<KernelAnswer>(defs["kernel"]);
  check_schema<AlternativeAnswer>(defs["alternative"]);
  check_schema<PredictedAnswer>(defs["predicted"], {"likely", "standing"});
  const Json& query = defs["query"]["properties"];
  check_schema<WorkAnswer>(query["work"]);
  check_schema<FormulaAnswer>(query["formula"]);
  check_schema<BestTileAnswer>(query["best"]);
  check_schema<ViolationAnswer>(query["violations"]["items"]);
}

TEST_CASE("a field without a value is null, left out or an empty text's null, as it says") {
  LevelAnswer level;
  level.name = "shared";
  Json json = report::part_json(level);
  CHECK(json["bandwidth"].is_null());
  CHECK_FALSE(json.contains("hit_rate"));
  level.hit_rate = std::optional(0.5);
  CHECK(report::part_json(level)["hit_rate"] == 0.5);

  PredictedAnswer predicted;
  CHECK_FALSE(report::part_json(predicted).contains("at_least"));
  predicted.at_least = true;
  CHECK(report::part_json(predicted)["at_least"] == true);

  Band band;
  CHECK(report::part_json(band)["wide"].is_null());
  CHECK(report::part_json(band)["bias"] == 0);
  band.wide = "of another product";
  CHECK(report::part_json(band)["wide"] == "of another product");
}

}  // namespace

}  // namespace test_fields
