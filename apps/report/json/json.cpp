#include "apps/report/json/json.hpp"

#include <cmath>

#include "apps/report/json/laws.hpp"
#include "apps/report/json/part.hpp"
#include "apps/report/json/standing.hpp"

namespace napkin::internal::report {
namespace {

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Rounds away the noise of floating-point algebra: 240000.00000000015 becomes 240000.
Json clean(double number) {
  const double whole = std::round(number);
  return json_of(std::abs(number - whole) <= 1e-12 * std::abs(whole) ? whole : number);
}

}  // namespace

Json json_of(double number) {
  if (!std::isfinite(number)) return nullptr;
  if (std::floor(number) == number && std::abs(number) < 9e15) return static_cast<std::int64_t>(number);
  return number;
}

Json json_of(const std::optional<double>& number) { return number ? json_of(*number) : Json(nullptr); }

Json json_of(const NamedSizes& sizes) {
  Json object = Json::object();
  for (const auto& [name, size] : sizes) object[name] = size;
  return object;
}

Json json_of(const TileValues& tile) {
  Json object = Json::object();
  for (const KnobValue& knob : tile) {
    object[knob.name] = knob.word.empty() ? Json(knob.number) : Json(knob.word);
  }
  return object;
}

Json json_of(const Mask& mask) {
  switch (mask.kind) {
    case Mask::Kind::none: return "none";
    case Mask::Kind::causal: return "causal";
    case Mask::Kind::window: return {{"window", Json::array({mask.left, mask.right})}};
    case Mask::Kind::prefix: return {{"prefix", mask.left}};
  }
  return nullptr;
}

Json json_of(const PredictedAnswer& predicted) {
  Json json = part_json(predicted);
  if (const auto likely = predicted.likely())
    json["likely"] = {{"mean", json_of(likely->mean)}, {"low", json_of(likely->low)}, {"high", json_of(likely->high)}};
  if (const auto& standing = predicted.standing) json["standing"] = json_of(*standing);
  return json;
}

Json json_of(const std::vector<LevelAnswer>& levels) { return list_json(levels); }

Json json_of(const OptimumAnswer& optimum) {
  Json terms = Json::array();
  for (const auto& term : optimum.terms) {
    terms.push_back({{"alpha", clean(term.alpha)}, {"beta", clean(term.beta)}});
  }
  Json group = Json::object();
  for (const auto& [name, size] : optimum.group) group[name] = clean(size);
  return {{"terms", terms},
          {"transfer", clean(optimum.transfer)},
          {"group", group},
          {"integer", value_json(optimum.integer)}};
}

Json json_of(const std::vector<SequenceLengths>& lengths) {
  Json list = Json::array();
  for (const SequenceLengths& one : lengths) list.push_back(Json::array({one.q, one.x}));
  return list;
}

Json json_of(const CardConditions& conditions) {
  Json json = {{"load", text_of(conditions.load)}};
  if (conditions.clock) json["clock"] = json_of(*conditions.clock);
  if (conditions.limit) json["limit"] = json_of(*conditions.limit);
  if (conditions.cold) json["l2"] = "cold";
  return json;
}

Json json_of(const Head& head, std::string_view command) {
  Json json = {{"command", command},
               {"algorithm", head.algorithm},
               {"gpu", optional_json(head.gpu)},
               {"kernel", optional_json(head.kernel)},
               {"dtype", head.dtype},
               {"mask", json_of(head.mask)},
               {"shape", json_of(head.shape)}};
  if (!head.lengths.empty()) json["lengths"] = json_of(head.lengths);
  if (head.conditions != CardConditions{}) json["conditions"] = json_of(head.conditions);
  json["tile"] = json_of(head.tile);
  return json;
}

Json json_of(const CombineAnswer& combine) { return part_json(combine); }

namespace {

Json counts_json(const CountsAnswer& counts) {
  Json json = {{"load", counts.load}, {"store", counts.store}, {"memory_live", counts.memory_live}};
  if (counts.combine_load > 0) json["combine"] = {{"load", counts.combine_load}, {"store", counts.combine_store}};
  return json;
}

Json check_json(const CheckAnswer& check) {
  Json json;
  for (const auto& [axis, size] : check.shape) json["shape"][axis] = size;
  for (const auto& [axis, size] : check.tile) json["tile"][axis] = size;
  json["counted"] = counts_json(check.counted);
  json["predicted"] = counts_json(check.predicted);
  json["output_error"] = check.output_error;
  json["rounding"] = check.rounding ? json_of(*check.rounding) : Json(nullptr);
  json["equal"] = check.equal;
  return json;
}

Json block_json(const BlockAnswer& block) {
  return {{"registers_per_thread", block.registers_per_thread},
          {"shared_memory", block.shared_memory},
          {"occupancy", {{"blocks_per_sm", block.blocks_per_sm}, {"limited_by", block.limited_by}}}};
}

Json compiled_json(const CompiledAnswer& answer) {
  Json json = block_json(answer.compiled);
  json["static_shared_memory"] = answer.static_shared_memory;
  json["spill_stores"] = answer.spill_stores;
  json["spill_loads"] = answer.spill_loads;
  json["objection"] = answer.objection.empty() ? Json(nullptr) : Json(answer.objection);
  json["planned"] = block_json(answer.planned);
  return json;
}

}  // namespace

namespace {

Json nodes_json(const NodesAnswer& nodes) { return {{"busy", nodes.busy}, {"all", nodes.all}}; }

void add_occupancy(const OccupancyAnswer& fit, Json& json) {
  json["registers"] = {{"per_thread", fit.registers_per_thread}, {"limit", fit.registers_limit}};
  json["shared_memory"] = {{"bytes", fit.shared_memory}, {"limit", fit.shared_memory_limit}};
  json["occupancy"] = {{"blocks_per_sm", fit.blocks_per_sm}, {"limited_by", fit.limited_by}};
}

Json unfused_json(const UnfusedAnswer& apart) {
  return {{"launches", apart.launches},
          {"transfer", apart.transfer},
          {"time", json_of(apart.time)},
          {"fused", {{"transfer", apart.fused}, {"time", json_of(apart.fused_time)}}}};
}

}  // namespace

Json json_of(const QueryAnswer& answer) {
  Json json = json_of(answer.head, "query");
  json["legal"] = answer.legal;
  json["violations"] = list_json(answer.violations);
  json["work"] = part_json(answer.work);
  json["levels"] = json_of(answer.levels);
  json["formula"] = part_json(answer.formula);
  json["optimum"] = value_json(answer.optimum);
  if (const auto& apart = answer.unfused) json["unfused"] = unfused_json(*apart);
  if (const auto& laws = answer.laws) json["laws"] = json_of(*laws, answer.levels, value_bytes_of(answer.head));
  if (answer.predicted) json["predicted"] = json_of(*answer.predicted);
  if (answer.predicted) json["nodes"] = nodes_json(answer.predicted->nodes);
  if (answer.occupancy) add_occupancy(*answer.occupancy, json);
  if (!answer.notes.empty()) json["notes"] = answer.notes;
  if (!answer.launches.empty()) json["launches"] = list_json(answer.launches);
  if (answer.combine) json["combine"] = json_of(*answer.combine);
  if (answer.own_parts) json["own_parts"] = part_json(*answer.own_parts);
  if (answer.best) json["best"] = part_json(*answer.best);
  if (answer.check) json["check"] = check_json(*answer.check);
  if (answer.compiled) json["compiled"] = compiled_json(*answer.compiled);
  return json;
}

Json json_of(const SelectAnswer& answer) {
  Json json = json_of(answer.head, "select");
  json["predicted"] = value_json(answer.predicted);
  if (answer.predicted) json["nodes"] = nodes_json(answer.predicted->nodes);
  json["levels"] = json_of(answer.levels);
  if (answer.combine) json["combine"] = json_of(*answer.combine);
  if (answer.own_parts) json["own_parts"] = part_json(*answer.own_parts);
  add_occupancy(answer.occupancy, json);
  json["alternatives"] = list_json(answer.alternatives);
  json["candidates"] = answer.candidates;
  json["rejected"] = json_of(answer.rejected);
  json["because"] = answer.because;
  if (!answer.notes.empty()) json["notes"] = answer.notes;
  if (!answer.launches.empty()) json["launches"] = list_json(answer.launches);
  if (!answer.kernels.empty()) json["kernels"] = list_json(answer.kernels);
  return json;
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace napkin::internal::report
