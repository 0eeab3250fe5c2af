#include "apps/report/html/report.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "apps/library/question/revision.hpp"
#include "apps/report/html/html.hpp"
#include "apps/report/html/report_parts.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

struct Made {
  const char* id;
  const char* title;  ///< title in the list of sections
  std::string html;
};

Json landscape_json(const LandscapeAnswer& map) {
  Json rows = Json::array(), columns = Json::array(), cells = Json::array();
  const auto value = [](const KnobValue& knob) { return knob.word.empty() ? Json(knob.number) : Json(knob.word); };
  for (const KnobValue& row : map.rows) rows.push_back(value(row));
  for (const KnobValue& column : map.columns) columns.push_back(value(column));
  for (const LandscapeCell& cell : map.cells)
    cells.push_back({{"time", json_of(cell.time)},
                     {"tile", cell.tile.empty() ? Json(nullptr) : json_of(cell.tile)},
                     {"reason", cell.reason.empty() ? Json(nullptr) : Json(cell.reason)},
                     {"chosen", cell.chosen}});
  return {{"down", map.down}, {"across", map.across}, {"rows", rows}, {"columns", columns}, {"cells", cells}};
}

Json roofline_json(const RooflineAnswer& roofline) {
  Json slopes = Json::array(), tiles = Json::array();
  for (const RooflineSlope& slope : roofline.slopes)
    slopes.push_back({{"level", slope.level}, {"bandwidth", json_of(slope.bandwidth)}});
  for (const RooflineTile& tile : roofline.tiles) {
    Json points = Json::array();
    for (const RooflinePoint& point : tile.points)
      points.push_back({{"level", point.level}, {"intensity", json_of(point.intensity)}});
    tiles.push_back({{"tile", json_of(tile.tile)}, {"rate", json_of(tile.rate)}, {"points", points}});
  }
  return {{"instruction", roofline.instruction},
          {"peak", json_of(roofline.peak)},
          {"clock", json_of(roofline.clock)},
          {"slopes", slopes},
          {"tiles", tiles}};
}

Json beside_json(const BesideAnswer& row) {
  return {{"of", row.recorded ? "recorded" : "published"},
          {"same", row.same},
          {"kernel", row.head.kernel ? Json(*row.head.kernel) : Json(nullptr)},
          {"dtype", row.head.dtype},
          {"mask", json_of(row.head.mask)},
          {"shape", json_of(row.head.shape)},
          {"measured_tflops", json_of(row.measured)},
          {"predicted_tflops", json_of(row.predicted)},
          {"held_out", row.held_out},
          {"source", row.source}};
}

Json sure_json(const ReportAnswer& answer) {
  Json classes = Json::array(), bases = Json::object(), band = nullptr;
  for (const ClassError& error : answer.classes)
    classes.push_back({{"architecture", error.architecture},
                       {"kernel", error.kernel},
                       {"clock", error.by_graph ? "graph" : "bound"},
                       {"of", error.gpu.empty() ? "published" : "recorded"},
                       {"rows", error.rows},
                       {"mean", json_of(error.mean)},
                       {"median", json_of(error.median)},
                       {"ninety", json_of(error.ninety)}});
  if (answer.sensitive) {
    for (const auto& [basis, part] : answer.sensitive->shares_by_basis()) bases[basis] = json_of(part);
  }
  const auto& predicted = answer.query.predicted;
  if (const auto likely = predicted ? predicted->likely() : std::nullopt)
    band = Json::array({json_of(likely->low), json_of(likely->high)});
  return {{"by_graph", predicted && predicted->by_graph()}, {"band", band}, {"classes", classes}, {"bases", bases}};
}

std::string footer_of(std::string_view command) {
  return html::paragraph(fmt::format("Made by {}, sources {}. To make this page again:",
                                     html::code("napkin " NAPKIN_VERSION), html::code(source_revision()))) +
         "<pre>" + html::text(command) + "</pre>\n" +
         html::paragraph(
             "Numbers are predictions unless a table says that they were measured. Sizes of memory count in powers of "
             "1,024 (KiB), transfers and "
             "bandwidths in powers of 1,000 (GB). A multiply-add counts as 2 FLOP.");
}

}  // namespace

std::string html_of(const ReportAnswer& answer, const ColumnDiagram& columns, std::string_view command) {
  const std::array<Made, 9> made = {Made{"answer", "Answer", answer_section(answer)},
                                    Made{"diagram", "Diagram", diagram_section(answer, columns)},
                                    Made{"sure", "How sure", sure_section(answer)},
                                    Made{"measured", "Measured", measured_section(answer)},
                                    Made{"levels", "Bytes and memory", levels_section(answer)},
                                    Made{"roofline", "Roofline", roofline_section(answer)},
                                    Made{"landscape", "Landscape", landscape_section(answer)},
                                    Made{"sensitivity", "Sensitivities", sensitivity_section(answer)},
                                    Made{"glossary", "Names", glossary_section(answer)}};
  html::Page page;
  const Head& head = answer.query.head;
  page.kicker = "Napkin report";
  page.heading = title_of(head);
  page.title =
      page.heading + (answer.query.predicted ? ": " + time_text(answer.query.predicted->time) : "") + " - Napkin";
  page.lead = fmt::format("<p class=\"lead\">{}</p>\n", sentence_of(answer));
  for (const Made& part : made) {
    if (part.html.empty()) continue;
    page.parts.push_back({part.id, part.title});
    page.body += part.html;
  }
  page.footer = footer_of(command);
  return html::page(page);
}

Json json_of(const ReportAnswer& answer) {
  Json json = json_of(answer.query.head, "report");
  json["legal"] = answer.query.legal;
  json["selected"] = answer.picked;
  json["predicted"] = answer.query.predicted ? json_of(*answer.query.predicted) : Json(nullptr);
  json["roofline"] = answer.roofline ? roofline_json(*answer.roofline) : Json(nullptr);
  Json maps = Json::array(), measured = Json::array();
  for (const LandscapeAnswer& map : answer.landscapes) maps.push_back(landscape_json(map));
  json["landscapes"] = maps;
  for (const auto* rows : {&answer.recorded, &answer.published}) {
    for (const BesideAnswer& row : *rows) measured.push_back(beside_json(row));
  }
  json["measured"] = measured;
  json["sure"] = sure_json(answer);
  return json;
}

}  // namespace napkin::internal::report
