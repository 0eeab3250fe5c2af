// The selection along a family of shapes, as text and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "apps/report/json/json.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
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

std::string percent_lost(double loss) { return fmt::format("{:.1f}%", 100 * loss); }

std::string whole_text(const FamilyAnswer& answer, const Style& style) {
  if (!answer.whole) return labelled("one tile", "none fits at every size", style);
  const FamilyDefault& whole = *answer.whole;
  return labelled("one tile",
                  fmt::format("{}{} for the whole range loses {} on the mean and {} at {}",
                              whole.pick.kernel ? *whole.pick.kernel + " " : "", text_of(whole.pick.tile),
                              percent_lost(whole.mean), percent_lost(whole.pick.loss), count_text(whole.worst_at)),
                  style);
}

std::string picks_table(const FamilyAnswer& answer, const Style& style) {
  Table table({fmt::format("{} from", fmt::join(answer.family.axes, ",")), "time", "TFLOP/s", "to", "time", "TFLOP/s",
               "loses", "<kernel", "<tile, where it differs from the one before"});
  const auto time_of = [](const std::optional<PredictedAnswer>& p) { return p ? time_text(p->time) : "-"; };
  const auto rate_of = [](const std::optional<PredictedAnswer>& p) { return p ? tflops_cell(p->tflops) : "-"; };
  const FamilyPick* before = nullptr;
  for (const FamilyPick& pick : answer.picks) {
    const bool other = before == nullptr || pick.kernel != before->kernel;
    const std::string tile = pick.tile.empty() ? "nothing fits"
                             : other           ? text_of(pick.tile)
                                               : differences(pick.tile, before->tile);
    table.add({count_text(pick.from), time_of(pick.predicted_from), rate_of(pick.predicted_from), count_text(pick.to),
               time_of(pick.predicted_to), rate_of(pick.predicted_to), pick.tile.empty() ? "" : percent_lost(pick.loss),
               other ? pick.kernel.value_or(pick.tile.empty() ? "" : "none: a bound") : "", tile});
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
  std::string grid = fmt::format(
      "{} sizes, the ends and the multiples of {} between, each of them selected for; {} piece{} within 1 % of the "
      "best",
      answer.points, answer.family.range.step, answer.picks.size(), answer.picks.size() == 1 ? "" : "s");
  for (const auto& [most, pieces] : answer.wider) grid += fmt::format(", {} within {:.0f} %", pieces, 100 * most);
  std::string machine = answer.head.algorithm + " on " + answer.head.gpu.value_or("") + ", " + answer.head.dtype;
  if (answer.head.mask.kind != Mask::Kind::none) machine += ", " + napkin::text_of(answer.head.mask);
  return style.strong(machine) + "\n" + labelled("shape", shape_text(answer), style) + labelled("grid", grid, style) +
         whole_text(answer, style) + "\n" + picks_table(answer, style);
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
                                   {"predicted_until", predicted(pick.predicted_to)},
                                   {"loss", json_of(pick.loss)}});
  }
  json["pieces"] = Json::array({{{"within", 0.01}, {"pieces", answer.picks.size()}}});
  for (const auto& [most, pieces] : answer.wider) json["pieces"].push_back({{"within", most}, {"pieces", pieces}});
  json["default"] = nullptr;
  if (answer.whole) {
    const FamilyDefault& whole = *answer.whole;
    json["default"] = {{"kernel", whole.pick.kernel ? Json(*whole.pick.kernel) : Json(nullptr)},
                       {"tile", json_of(whole.pick.tile)},
                       {"loss", json_of(whole.pick.loss)},
                       {"mean_loss", json_of(whole.mean)},
                       {"worst_at", shape_json(answer.family, whole.worst_at)}};
  }
  return json;
}

}  // namespace napkin::internal::report
