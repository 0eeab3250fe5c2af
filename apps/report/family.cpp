// The selection along a family of shapes, as text and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "apps/report/json.hpp"
#include "apps/report/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::report {
namespace {

bool runs(const ShapeFamily& family, const std::string& axis) {
  return std::find(family.axes.begin(), family.axes.end(), axis) != family.axes.end();
}

std::string shape_text(const FamilyAnswer& answer) {
  const SizeRange& range = answer.family.range;
  std::string text;
  for (const auto& [name, size] : answer.head.shape) {
    const std::string value =
        runs(answer.family, name) ? fmt::format("{}..{}", range.from, range.to) : std::to_string(size);
    text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  return text;
}

std::string picks_table(const FamilyAnswer& answer, const Style& style) {
  Table table({fmt::format("{} from", fmt::join(answer.family.axes, ",")), "time", "TFLOP/s", "to", "time", "TFLOP/s",
               "<kernel", "<tile, where it differs from the one before"});
  const auto time_of = [](const std::optional<PredictedAnswer>& p) { return p ? time_text(p->time) : "-"; };
  const auto rate_of = [](const std::optional<PredictedAnswer>& p) {
    return p ? fmt::format("{:.1f}", p->tflops) : "-";
  };
  const FamilyPick* before = nullptr;
  for (const FamilyPick& pick : answer.picks) {
    const bool other = before == nullptr || pick.kernel != before->kernel;
    const std::string tile = pick.tile.empty() ? "nothing fits"
                             : other           ? text_of(pick.tile)
                                               : differences(pick.tile, before->tile);
    table.add({count_text(pick.from), time_of(pick.predicted_from), rate_of(pick.predicted_from), count_text(pick.to),
               time_of(pick.predicted_to), rate_of(pick.predicted_to),
               other ? pick.kernel.value_or(pick.tile.empty() ? "" : "none bundled") : "", tile});
    before = &pick;
  }
  return table.text(style, "  ");
}

Json shape_json(const ShapeFamily& family, std::int64_t size) {
  Json shape = Json::object();
  for (const std::string& axis : family.axes) shape[axis] = size;
  return shape;
}

}  // namespace

std::string text_of(const FamilyAnswer& answer, const Style& style) {
  const std::string grid = fmt::format(
      "{} sizes, the ends and the multiples of {} between, each of them selected for; the pick changes {} time{}",
      answer.points, answer.family.range.step, answer.picks.size() - 1, answer.picks.size() == 2 ? "" : "s");
  std::string machine = answer.head.algorithm + " on " + answer.head.gpu.value_or("") + ", " + answer.head.dtype;
  if (answer.head.mask.kind == Mask::Kind::causal) machine += ", causal";
  if (answer.head.mask.kind == Mask::Kind::window)
    machine += fmt::format(", window {},{}", answer.head.mask.left, answer.head.mask.right);
  return style.strong(machine) + "\n" + labelled("shape", shape_text(answer), style) + labelled("grid", grid, style) +
         "\n" + picks_table(answer, style);
}

Json json_of(const FamilyAnswer& answer) {
  Json json = json_of(answer.head, "select");
  json.erase("kernel");
  json.erase("tile");
  const SizeRange& range = answer.family.range;
  for (const std::string& axis : answer.family.axes)
    json["shape"][axis] = {{"from", range.from}, {"to", range.to}, {"step", range.step}};
  json["points"] = answer.points;
  json["breakpoints"] = Json::array();
  const auto predicted = [](const std::optional<PredictedAnswer>& p) { return p ? json_of(*p) : Json(nullptr); };
  for (const FamilyPick& pick : answer.picks) {
    json["breakpoints"].push_back({{"shape", shape_json(answer.family, pick.from)},
                                   {"until", shape_json(answer.family, pick.to)},
                                   {"kernel", pick.kernel ? Json(*pick.kernel) : Json(nullptr)},
                                   {"tile", json_of(pick.tile)},
                                   {"predicted", predicted(pick.predicted_from)},
                                   {"predicted_until", predicted(pick.predicted_to)}});
  }
  return json;
}

}  // namespace napkin::report
