// Published speeds beside their predictions, as table and JSON.

#include <fmt/format.h>

#include "apps/report/record/published.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

std::string percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }
std::string signed_percent(double fraction) { return fmt::format("{:+.1f} %", 100 * fraction); }

std::string rows_text(std::size_t rows) {
  return count_text(static_cast<std::int64_t>(rows)) + (rows == 1 ? " row" : " rows");
}

void add(Table& table, const std::string& gpu, const std::string& kernel, const PublishedErrors& e) {
  table.add({gpu, kernel, count_text(static_cast<std::int64_t>(e.rows)), percent(e.mean), percent(e.median),
             signed_percent(e.bias), percent(e.worst), percent(e.roofline),
             e.bounds == 0 ? "" : fmt::format("{} of {}", e.bounds, e.rows),
             e.doubtful == 0 ? "" : std::to_string(e.doubtful)});
}

std::string set_text(const std::string& name, const PublishedErrors& e) {
  if (e.rows == 0) return "";
  const std::string text = fmt::format(
      "{}: {} on {} GPU{}: {} off in the mean of the GPUs, {} in the median row, bias {}, worst GPU {} with {}; by the "
      "roofline alone {} and {}",
      name, rows_text(e.rows), e.gpus, e.gpus == 1 ? "" : "s", percent(e.mean), percent(e.median),
      signed_percent(e.bias), e.worst_gpu, percent(e.worst), percent(e.roofline), percent(e.roofline_median));
  return wrapped(text, 110, "  ") + "\n";
}

std::string regimes_text(const std::vector<PublishedRegime>& regimes, const Style& style) {
  Table table({"<regime", "rows", "GPUs", "mean of the GPUs", "median row", "bias", "rows asked twice", "their noise"});
  for (const PublishedRegime& one : regimes) {
    const PublishedErrors& e = one.errors;
    if (e.rows == 0) continue;
    table.add({one.name, count_text(static_cast<std::int64_t>(e.rows)), std::to_string(e.gpus), percent(e.mean),
               percent(e.median), signed_percent(e.bias),
               one.repeated == 0 ? "" : count_text(static_cast<std::int64_t>(one.repeated)),
               one.repeated == 0 ? "" : percent(one.noise)});
  }
  return "\n" + table.text(style);
}

std::string list_text(const std::string& head, const std::vector<NotAsked>& list) {
  if (list.empty()) return "";
  std::string text = "\n" + head + "\n";
  for (const NotAsked& one : list) {
    std::vector<std::string> groups;  // texts by GPU
    std::string gpu;
    for (const NotAsked::Group& group : one.of) {
      const std::string rows = group.rows == 1 ? "" : fmt::format(" {}", group.rows);
      if (group.gpu == gpu)
        groups.back() += ", " + group.kernel + rows;
      else
        groups.push_back(group.gpu + ": " + group.kernel + rows);
      gpu = group.gpu;
    }
    text += "  " + wrapped(one.reason + ", " + rows_text(one.rows) + ". " + joined(groups, "; "), 108, "    ") + "\n";
  }
  return text;
}

Json errors_json(const PublishedErrors& e, bool set) {
  Json json = {{"rows", e.rows},
               {"mean", json_of(e.mean)},
               {"median", json_of(e.median)},
               {"bias", json_of(e.bias)},
               {"worst", json_of(e.worst)},
               {"ninety", json_of(e.ninety)},
               {"roofline_mean", json_of(e.roofline)},
               {"roofline_median", json_of(e.roofline_median)},
               {"bounds", e.bounds},
               {"doubtful", e.doubtful}};
  if (set) {
    json["gpus"] = e.gpus;
    json["worst_gpu"] = e.worst_gpu.empty() ? Json(nullptr) : Json(e.worst_gpu);
  }
  return json;
}

Json gpus_json(const std::vector<PublishedGroup>& groups) {
  Json json = Json::array();
  for (const PublishedGroup& one : groups) {
    json.push_back({{"gpu", one.gpu}});
    json.back().update(errors_json(one.errors, false));
  }
  return json;
}

Json list_json(const std::vector<NotAsked>& list) {
  Json json = Json::array();
  for (const NotAsked& one : list) {
    Json of = Json::array();
    for (const NotAsked::Group& group : one.of)
      of.push_back({{"gpu", group.gpu}, {"kernel", group.kernel}, {"rows", group.rows}});
    json.push_back({{"reason", one.reason}, {"rows", one.rows}, {"groups", of}});
  }
  return json;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class Number>
void put(Json& json, const char* key, const std::optional<Number>& number) {
  if (number) json[key] = *number;
}

}  // namespace

std::string text_of(const PublishedSummary& summary, const Style& style) {
  Table table(
      {"<GPU", "<kernel", "rows", "error: mean", "median", "bias", "worst", "roofline: mean", "bounds", "doubtful"});
  for (const PublishedGroup& gpu : summary.gpus) {
    std::size_t kernels = 0;
    for (const PublishedGroup& kernel : summary.kernels) {
      if (kernel.gpu != gpu.gpu) continue;
      add(table, kernel.gpu, kernel.kernel, kernel.errors);
      ++kernels;
    }
    if (kernels > 1) add(table, gpu.gpu, "all", gpu.errors);
  }
  std::string text =
      fmt::format("{} of {} published rows can be asked; an error is predicted over published TFLOP/s, minus one\n",
                  summary.all.rows + summary.backward.rows, summary.rows);
  if (summary.all.rows + summary.backward.rows > 0) text += "\n" + table.text(style) + "\n";
  text += set_text("all", summary.all) + set_text("seen sources", summary.seen) +
          set_text("sources kept aside", summary.aside);
  if (summary.all.doubtful > 0) text += set_text("without doubtful sources", summary.certain);
  text += set_text("backward passes, not in these", summary.backward);
  if (summary.all.rows + summary.backward.rows > 0) text += regimes_text(summary.regimes, style);
  text += list_text("Doubtful, and counted above:", summary.doubts);
  return text + list_text("Not asked:", summary.not_asked);
}

Json json_of(const PublishedSummary& summary) {
  Json kernels = Json::array(), classes = Json::array(), regimes = Json::array();
  for (const PublishedRegime& one : summary.regimes) {
    regimes.push_back({{"regime", one.name}});
    regimes.back().update(errors_json(one.errors, true));
    regimes.back().update({{"repeated", one.repeated},
                           {"noise", one.repeated == 0 ? Json(nullptr) : json_of(one.noise)},
                           {"of", gpus_json(one.gpus)}});
  }
  for (const PublishedGroup& one : summary.kernels) {
    kernels.push_back({{"gpu", one.gpu}, {"kernel", one.kernel}});
    kernels.back().update(errors_json(one.errors, false));
  }
  for (const PublishedClass& one : summary.classes) {
    classes.push_back({{"architecture", one.architecture}, {"kernel", one.kernel}, {"clock", one.clock}});
    classes.back().update(errors_json(one.errors, false));
  }
  return {{"rows", summary.rows},
          {"asked", summary.all.rows + summary.backward.rows},
          {"all", errors_json(summary.all, true)},
          {"seen", errors_json(summary.seen, true)},
          {"aside", errors_json(summary.aside, true)},
          {"without_doubtful", errors_json(summary.certain, true)},
          {"backward", errors_json(summary.backward, true)},
          {"regimes", regimes},
          {"gpus", gpus_json(summary.gpus)},
          {"kernels", kernels},
          {"classes", classes},
          {"not_asked", list_json(summary.not_asked)},
          {"doubtful", list_json(summary.doubts)}};
}

Json json_of(const PublishedAnswer& answer) {
  const PublishedRow& row = answer.row();
  Json shape = Json::object();
  put(shape, "b", row.b), put(shape, "h", row.h), put(shape, "h_kv", row.h_kv), put(shape, "s", row.q);
  put(shape, "x", row.x), put(shape, "d", row.d), put(shape, "d_v", row.d_v), put(shape, "causal", row.causal);
  put(shape, "m", row.m), put(shape, "n", row.n), put(shape, "k", row.k);
  Json json = {{"at", row.where},
               {"gpu", row.gpu},
               {"kernel", row.kernel},
               {"direction", row.direction},
               {"dtype", row.dtype},
               {"shape", shape},
               {"tflops", json_of(row.tflops)},
               {"source", row.source},
               {"aside", kept_aside(row)},
               {"doubt", text_or_null(answer.question.doubt)}};
  if (!answer.asked()) {
    json["not_asked"] = answer.question.reason;
    json["detail"] = text_or_null(answer.question.detail);
    return json;
  }
  json["asked"] = {{"gpu", answer.gpu},
                   {"architecture", answer.architecture},
                   {"kernel", answer.kernel},
                   {"tile", json_of(answer.tile)},
                   {"clock", answer.by_graph ? "graph" : "bound"},
                   {"tflops", json_of(answer.tflops)},
                   {"error", json_of(answer.error())},
                   {"roofline_tflops", json_of(answer.roofline)},
                   {"roofline_error", json_of(answer.roofline_error())},
                   {"predicted", json_of(answer.predicted)}};
  return json;
}

}  // namespace napkin::internal::report
