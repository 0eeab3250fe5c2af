// The levels of an abstract machine below one another: each with the least transfer that its memory allows.
#include <fmt/format.h>

#include <cmath>

#include "apps/report/json/json.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {

std::string text_of(const std::vector<QueryAnswer>& levels, const Style& style) {
  const Head& head = levels.front().head;
  std::string out =
      style.strong(fmt::format("{} on an abstract machine of {} levels below the top", head.algorithm, levels.size())) +
      "\n" + labelled("shape", text_of(head.shape), style) +
      labelled("work", count_text(levels.front().work.flops) + " FLOP", style);
  Table table({"memory", "moves in and out", "least, real-valued", "groups", "<tile", "<H*"});
  for (const QueryAnswer& answer : levels) {
    const LevelAnswer& low = answer.levels.back();
    const auto& optimum = answer.optimum;
    table.add({count_text(low.memory_limit.value_or(0)), count_text(low.transfer),
               optimum ? number_text(std::round(optimum->transfer)) : "-", count_text(low.groups),
               text_of(answer.head.tile), optimum ? (optimum->exact ? "= " : ">= ") + optimum->formula : ""});
  }
  return out + "\n" + table.text(style, "  ");
}

Json json_of(const std::vector<QueryAnswer>& levels) {
  Json json = {{"command", "query"}, {"algorithm", levels.front().head.algorithm}};
  json["memories"] = Json::array();
  for (const QueryAnswer& answer : levels) json["memories"].push_back(json_of(answer));
  return json;
}

}  // namespace napkin::internal::report
