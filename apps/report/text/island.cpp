#include "apps/report/text/island.hpp"

#include <fmt/format.h>

#include <cmath>

#include "apps/report/json/standing.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr std::size_t island_width = 100, label_width = 11;

std::string line(std::string_view label, std::string_view text, const Style& style) {
  std::string padded(label);
  padded.resize(label_width, ' ');
  return style.faint(padded) + wrapped(text, island_width - label_width, std::string(label_width, ' ')) + "\n";
}

std::string way_text(const DividedAnswer& way) {
  return fmt::format("{}, {}, {} GPUs", way.split, way.order, way.gpus);
}

std::string moved_table(const DividedAnswer& way, const Style& style) {
  Table table({"<array", "at home", "<travels", "<when", "into each GPU", "into all"});
  for (const MovedAnswer& one : way.moved) {
    const bool moves = one.by != "none";
    table.add({one.array, transfer_text(one.at_home), moves ? one.by : "stays",
               moves ? (one.by == "ring" ? "beside the work"
                        : one.after      ? "after it"
                                         : "before it")
                     : "",
               transfer_text(one.received), transfer_text(one.all)});
  }
  return table.text(style, "  ");
}

std::string calls_table(const DividedAnswer& way, const Style& style) {
  Table table({"<call", "<of", "calls", "time of one", "<limited by"});
  for (const TransportAnswer& one : way.transports)
    table.add({one.by, joined(one.arrays, " "), count_text(one.calls), time_text(one.time), one.level});
  return way.transports.empty() ? "" : table.text(style, "  ") + "\n";
}

std::string mask_word(const Mask& mask) { return mask.kind == Mask::Kind::none ? "" : text_of(mask); }

std::string launches_table(const DividedAnswer& way, const Style& style) {
  Table table({"<launch", "<mask", "launches", "time", "adding", "<kernel", "<tile"});
  for (const DeviceLaunchAnswer& one : way.launches) {
    table.add({text_of(one.shape), mask_word(one.mask), count_text(one.launches),
               (one.predicted.at_least ? ">= " : "") + time_text(one.predicted.time),
               one.adding > 0 ? time_text(one.adding) : "", one.kernel.value_or("ideal"), text_of(one.tile)});
  }
  return table.text(style, "  ");
}

std::string prediction_line(const DividedAnswer& way) {
  std::string copies =
      fmt::format("{} of work, {} of copies that nothing hides", time_text(way.work), time_text(way.exposed));
  if (way.transports.empty())
    copies = "nothing moves between GPUs";
  else if (!(way.exposed > 0))
    copies = time_text(way.work) + " of work, which hides all copies";
  return fmt::format("{}{}  {}{} of all GPUs  bound by {}: {}", way.at_least ? "at least " : "", time_text(way.time),
                     way.at_least ? "at most " : "", tflops_text(way.tflops), way.bound, copies);
}

std::string ring_line(const DividedAnswer& way) {
  std::string text = way.hidden ? "hidden" : "not hidden";
  if (way.hidden_from) text += fmt::format("; hidden from {} on", count_text(*way.hidden_from));
  return text;
}

std::string check_lines(const DevicesCheck& check, const Style& style) {
  std::string text = line("check", "on simulated GPUs at " + text_of(check.shape), style);
  for (const auto& [array, counts] : check.counted) {
    text += line(
        "",
        fmt::format("{}: {} values counted, {} predicted", array, count_text(counts.first), count_text(counts.second)),
        style);
  }
  return text + line("equal",
                     fmt::format("{}; outputs differ by {:.1e} of the largest", check.equal ? "yes" : "NO",
                                 check.output_error),
                     style);
}

std::string sharing_line(const SharingAnswer& least, const DividedAnswer& way) {
  const auto bytes = [](double n) { return transfer_text(static_cast<std::int64_t>(std::llround(n))); };
  if (!(least.between >= 1))
    return "nothing has to pass between GPUs that hold the data evenly: H*(M) - H*(N M) = 0, M = " +
           memory_text(static_cast<std::int64_t>(std::llround(least.memory))) + " of each";
  double all = 0;
  for (const MovedAnswer& one : way.moved) all += static_cast<double>(one.all);
  return fmt::format(
      "{} pass between GPUs that hold the data evenly: H*(M) - H*(N M) = {} - {}, M = {} of each; {} at the rate of "
      "the "
      "links. This way moves {}",
      bytes(least.between), bytes(least.apart), bytes(least.together),
      memory_text(static_cast<std::int64_t>(std::llround(least.memory))), time_text(least.time), bytes(all));
}

std::string ways_table(const IslandAnswer& answer, const Style& style) {
  Table table({"rank", "time", "TFLOP/s", "<bound by", "into each GPU", "a GPU holds", "<split", "<ring"});
  int rank = 0;
  for (const DividedAnswer& way : answer.ways) {
    table.add({std::to_string(++rank), (way.at_least ? ">= " : "") + time_text(way.time), tflops_cell(way.tflops),
               way.bound, transfer_text(way.received), memory_text(way.memory), way.split + " " + way.order,
               way.ring ? ring_line(way) : ""});
  }
  return table.text(style, "  ");
}

Json way_json(const DividedAnswer& way) {
  Json json = {{"split", way.split}, {"order", way.order}, {"gpus", way.gpus}};
  json["moved"] = Json::array();
  for (const MovedAnswer& one : way.moved)
    json["moved"].push_back({{"array", one.array},
                             {"by", one.by},
                             {"after", one.after},
                             {"at_home", one.at_home},
                             {"received", one.received},
                             {"all", one.all}});
  json["received"] = way.received;
  json["calls"] = Json::array();
  for (const TransportAnswer& one : way.transports)
    json["calls"].push_back({{"by", one.by},
                             {"arrays", one.arrays},
                             {"after", one.after},
                             {"calls", one.calls},
                             {"received", one.received},
                             {"time", json_of(one.time)},
                             {"level", one.level}});
  json["launches"] = Json::array();
  for (const DeviceLaunchAnswer& one : way.launches)
    json["launches"].push_back({{"shape", json_of(one.shape)},
                                {"mask", json_of(one.mask)},
                                {"launches", one.launches},
                                {"kernel", one.kernel ? Json(*one.kernel) : Json(nullptr)},
                                {"tile", json_of(one.tile)},
                                {"adding", json_of(one.adding)},
                                {"predicted", json_of(one.predicted)}});
  json["memory"] = way.memory;
  json["memory_limit"] = way.memory_limit ? Json(*way.memory_limit) : Json(nullptr);
  json["predicted"] = {{"time", json_of(way.time)},       {"work", json_of(way.work)},
                       {"exposed", json_of(way.exposed)}, {"bound", way.bound},
                       {"tflops", json_of(way.tflops)},   {"imbalance", json_of(way.imbalance)},
                       {"at_least", way.at_least},        {"standing", json_of(way.standing)}};
  if (way.ring)
    json["ring"] = {{"hidden", way.hidden}, {"hidden_from", way.hidden_from ? Json(*way.hidden_from) : Json(nullptr)}};
  return json;
}

Json check_json(const DevicesCheck& check) {
  Json counted = Json::object(), predicted = Json::object();
  for (const auto& [array, counts] : check.counted) {
    counted[array] = counts.first;
    predicted[array] = counts.second;
  }
  return {{"shape", json_of(check.shape)},
          {"counted", counted},
          {"predicted", predicted},
          {"output_error", check.output_error},
          {"equal", check.equal}};
}

}  // namespace

std::string text_of(const IslandAnswer& answer, const Style& style) {
  std::string text =
      style.strong(fmt::format("{} on {} ({} x {}), {}{}", answer.head.algorithm, answer.head.gpu.value_or(""),
                               answer.gpus, answer.product, answer.head.dtype,
                               answer.head.mask.kind == Mask::Kind::none ? "" : ", " + text_of(answer.head.mask))) +
      "\n" + line("shape", text_of(answer.head.shape), style);
  if (answer.ways.empty()) return text + line("split", "none", style) + line("why", answer.because, style);
  const DividedAnswer& best = answer.ways.front();
  text += line("split", style.strong(way_text(best)), style) + line("why", answer.because, style) +
          line("predicted", prediction_line(best), style);
  std::string_view label = "how sure";
  for (const std::string& each : lines_of(best.standing)) {
    text += line(label, each, style);
    label = "";
  }
  if (best.ring) text += line("ring", ring_line(best), style);
  if (best.imbalance > 1 + 1e-9)
    text += line("balance", fmt::format("the GPU with most works {:.2f} times the mean", best.imbalance), style);
  text += line("holds", memory_text(best.memory) + (best.memory_limit ? " of " + memory_text(*best.memory_limit) : ""),
               style);
  if (answer.sharing) text += line("least", sharing_line(*answer.sharing, best), style);
  text += "\n" + moved_table(best, style) + "\n" + calls_table(best, style) + launches_table(best, style);
  if (answer.ways.size() > 1) text += "\n" + ways_table(answer, style);
  for (const auto& [split, why] : answer.refused) text += line("not", split + ": " + why, style);
  if (answer.check) text += "\n" + check_lines(*answer.check, style);
  return text;
}

Json json_of(const IslandAnswer& answer, std::string_view command) {
  Json json = json_of(answer.head, command);
  json["island"] = {{"gpu", answer.product}, {"gpus", answer.gpus}};
  json["ways"] = Json::array();
  for (const DividedAnswer& way : answer.ways) json["ways"].push_back(way_json(way));
  json["refused"] = Json::array();
  for (const auto& [split, why] : answer.refused) json["refused"].push_back({{"split", split}, {"because", why}});
  json["because"] = answer.because;
  if (answer.sharing)
    json["sharing"] = {{"memory", json_of(answer.sharing->memory)},
                       {"apart", json_of(answer.sharing->apart)},
                       {"together", json_of(answer.sharing->together)},
                       {"between", json_of(answer.sharing->between)},
                       {"time", json_of(answer.sharing->time)}};
  if (answer.check) json["check"] = check_json(*answer.check);
  return json;
}

}  // namespace napkin::internal::report
