#include "apps/report/diagram/json.hpp"

namespace napkin::internal::report {
namespace {

std::string phase_name(Phase phase) { return phase == Phase::head ? "head" : phase == Phase::loop ? "loop" : "tail"; }

std::string kind_name(DiagramColumn::Kind kind) {
  switch (kind) {
    case DiagramColumn::Kind::data: return "data";
    case DiagramColumn::Kind::functions: return "functions";
    case DiagramColumn::Kind::open: return "open";
    case DiagramColumn::Kind::close: return "close";
  }
  return "";
}

class ColumnWriter {
 public:
  explicit ColumnWriter(const ColumnDiagram& diagram) : d_(diagram) {}

  Json run() {
    Json levels = Json::array(), bundles = Json::array(), columns = Json::array();
    for (const DiagramLevel& level : d_.levels) {
      if (level.used) levels.push_back(level_json(level));
    }
    for (const Bundle& bundle : d_.bundles) {
      bundles.push_back({{"name", bundle.name}, {"output", bundle.output}, {"columns", {bundle.first, bundle.last}}});
    }
    for (const DiagramColumn& column : d_.columns) columns.push_back(column_json(column));
    return {{"unit", !d_.placed ? Json(nullptr) : Json(d_.values ? "values" : "bytes")},
            {"levels", levels},
            {"bundles", bundles},
            {"columns", columns},
            {"formulas", d_.formulas},
            {"notes", d_.notes}};
  }

 private:
  [[nodiscard]] const std::string& name(LevelId level) const { return d_.levels[at(level)].name; }
  [[nodiscard]] const std::string& bundle(int id) const { return d_.bundles[at(id)].name; }

  [[nodiscard]] Json level_json(const DiagramLevel& level) const {
    Json out = {{"name", level.name}, {"cache", level.kind == LevelKind::cache}};
    if (!d_.placed || level.level == 0) return out;
    out["groups"] = level.groups;
    out["load"] = level.load;
    out["store"] = level.store;
    out["transfer_per_group"] = level.per_group;
    out["memory_lower_bound"] = level.drawn;
    out["memory_live"] = level.live;
    out["memory"] = level.allocated;
    out["memory_limit"] = level.limit ? Json(*level.limit) : Json(nullptr);
    return out;
  }

  [[nodiscard]] Json event_json(const Stretch& stretch) const {
    Json axes = Json::array();
    for (const AxisTag& tag : stretch.axes) {
      axes.push_back(
          {{"label", tag.label}, {"size", tag.size ? Json(*tag.size) : Json(nullptr)}, {"divisor", tag.divisor}});
    }
    return {{"array", bundle(stretch.bundle)}, {"level", name(stretch.level)},
            {"variable", stretch.name},        {"type", stretch.type},
            {"copies", stretch.copies},        {"axes", axes}};
  }
  [[nodiscard]] Json event_json(const Move& move) const {
    return {{"array", bundle(move.bundle)}, {"from", name(move.from)},
            {"to", name(move.to)},          {"into", name(move.into)},
            {"store", move.store},          {"moved", move.bytes ? Json(*move.bytes) : Json(nullptr)},
            {"blocks", move.linked}};
  }

  [[nodiscard]] Json function_json(const ColumnFunction& f) const {
    Json inputs = Json::array(), outputs = Json::array();
    for (const auto& in : f.inputs)
      inputs.push_back({{"array", bundle(in.bundle)}, {"level", name(in.level)}, {"stays", in.stays}});
    for (const int id : f.outputs) outputs.push_back(bundle(id));
    return {{"function", f.text}, {"over", f.over},     {"unit", f.unit},      {"operation", f.title},
            {"inputs", inputs},   {"outputs", outputs}, {"updates", f.updates}};
  }

  [[nodiscard]] Json column_json(const DiagramColumn& column) const {
    Json out = {{"kind", kind_name(column.kind)}, {"phase", phase_name(column.phase)}};
    if (column.kind == DiagramColumn::Kind::data) {
      Json events = Json::array(), held = Json::object();
      for (const auto& event : column.events)
        events.push_back(std::visit([this](const auto& one) { return event_json(one); }, event));
      for (const LevelHeld& one : column.held) held[name(one.level)] = one.bytes;
      out["events"] = events;
      out["memory"] = d_.placed ? held : Json(column.values);
    } else if (column.kind == DiagramColumn::Kind::functions) {
      Json functions = Json::array();
      for (const ColumnFunction& f : column.functions) functions.push_back(function_json(f));
      out["functions"] = functions;
    } else {
      out["inner"] = column.inner;
      out["title"] = column.title;
    }
    return out;
  }

  const ColumnDiagram& d_;
};

}  // namespace

Json json_of(const ColumnDiagram& diagram) { return ColumnWriter(diagram).run(); }

}  // namespace napkin::internal::report
