#include "apps/report/record/record_text.hpp"

#include <fmt/format.h>

#include "apps/report/text/text.hpp"
#include "apps/report/units.hpp"
#include "model/diagram/packing.hpp"

namespace napkin::internal::report {
namespace {

Json errors_json(const std::optional<ErrorSummary>& errors) {
  if (!errors) return {{"mean", nullptr}, {"median", nullptr}, {"worst", nullptr}};
  return {{"mean", json_of(errors->mean)}, {"median", json_of(errors->median)}, {"worst", json_of(errors->worst)}};
}

Json split_json(const SplitSummary& split) {
  Json json = {{"rows", split.rows},
               {"time_error", errors_json(split.time)},
               {"cycles_error", errors_json(split.cycles)},
               {"clock_error", errors_json(split.clock)},
               {"power_error", errors_json(split.power)},
               {"spearman", json_of(split.spearman)}};
  for (const auto& [level, errors] : split.transfer) json["transfer_error"][level] = errors_json(errors);
  return json;
}

std::string fraction_text(double fraction) { return fmt::format("{:.2f}%", 100 * fraction); }

void add_errors(Table& table, const std::string& kernel, const std::string& split, const std::string& what,
                const std::optional<ErrorSummary>& errors, const std::optional<ErrorSummary>& measured) {
  if (!errors) return;
  std::vector<std::string> row{kernel,
                               split,
                               what,
                               count_text(static_cast<std::int64_t>(errors->rows)),
                               fraction_text(errors->mean),
                               fraction_text(errors->median),
                               fraction_text(errors->worst),
                               "",
                               "",
                               ""};
  if (measured) {
    row[7] = fraction_text(measured->mean);
    row[8] = fraction_text(measured->median);
    row[9] = fraction_text(measured->worst);
  }
  table.add(std::move(row));
}

std::string regret_text(const RegretSummary& regret) {
  if (regret.sweeps == 0) return "";
  return fmt::format(
      "regret over {} held-out sweep{}: mean {}, worst {}; the fastest of the three best predicted: mean {}, worst {}, "
      "the best tile itself in {}",
      regret.sweeps, regret.sweeps == 1 ? "" : "s", fraction_text(*regret.mean), fraction_text(*regret.worst),
      fraction_text(*regret.top3_mean), fraction_text(*regret.top3_worst), percent_text(*regret.best_in_top3));
}

std::string error_of(const std::optional<double>& predicted, const std::optional<double>& measured) {
  if (!predicted || !measured || *measured <= 0) return "";
  return fmt::format("{:+.1f}%", 100 * (*predicted / *measured - 1));
}

std::string scaled(const std::optional<double>& value, double unit, int digits) {
  return value ? fmt::format("{:.{}f}", *value / unit, digits) : "";
}

std::string shape_text(const Head& head) {
  const std::string lengths = head.lengths.empty() ? "" : " lengths " + internal::text_of(head.lengths);
  return text_of(head.shape) + lengths + (head.mask.kind == Mask::Kind::none ? "" : " " + text_of(head.mask));
}

}  // namespace

Json json_of(const ValidationSummary& summary) {
  Json kernels = Json::object();
  for (const auto& [kernel, splits] : summary.kernels) {
    for (const auto& [name, split] : splits) kernels[kernel][name] = split_json(split);
  }
  const RegretSummary& regret = summary.regret;
  return {{"kernels", kernels},
          {"regret",
           {{"sweeps", regret.sweeps},
            {"mean", json_of(regret.mean)},
            {"worst", json_of(regret.worst)},
            {"top3_mean", json_of(regret.top3_mean)},
            {"top3_worst", json_of(regret.top3_worst)},
            {"best_in_top3", json_of(regret.best_in_top3)}}}};
}

std::string text_of(const ValidationSummary& summary, const Style& style, const ValidationSummary* measured) {
  std::string text;
  Table table(
      {"<kernel", "<split", "<error of", "rows", "mean", "median", "worst", "unfitted: mean", "median", "worst"});
  for (const auto& [kernel, splits] : summary.kernels) {
    for (const auto& [name, split] : splits) {
      text += fmt::format("{}, {}: {} rows", kernel, name, count_text(static_cast<std::int64_t>(split.rows)));
      if (split.spearman) text += fmt::format(", rank correlation of times {:.3f}", *split.spearman);
      text += "\n";
      const SplitSummary beside = measured != nullptr ? measured->kernels.at(kernel).at(name) : SplitSummary{};
      add_errors(table, kernel, name, "time", split.time, beside.time);
      add_errors(table, kernel, name, "cycles", split.cycles, beside.cycles);
      add_errors(table, kernel, name, "clock", split.clock, beside.clock);
      add_errors(table, kernel, name, "power", split.power, beside.power);
      for (const auto& [level, errors] : split.transfer)
        add_errors(table, kernel, name, "transfer, " + level, errors, std::nullopt);
    }
  }
  if (!summary.kernels.empty()) text += "\n" + table.text(style);
  if (measured != nullptr && !summary.kernels.empty())
    text += "unfitted: without the constants that were fitted to whole kernels\n";
  const std::string regret = regret_text(summary.regret);
  if (!regret.empty()) text += "\n" + regret + "\n";
  if (measured != nullptr && !regret.empty()) text += "unfitted: " + regret_text(measured->regret) + "\n";
  return text;
}

std::string table_of(const std::vector<const ValidationRow*>& rows, const Style& style) {
  Table table({"<shape", "<tile", "predicted", "measured", "error", "cycles", "clock GHz", "error", "power W", "error",
               "L2>SM", "max error", "of its type"});
  for (const ValidationRow* row : rows) {
    const MeasuredAnswer& m = row->measured;
    const PredictedAnswer& p = row->predicted.value();
    std::optional<double> delivered;
    for (const LevelAnswer& level : row->levels) {
      if (level.name == "shared" && level.delivered) delivered = static_cast<double>(*level.delivered);
    }
    table.add({shape_text(row->head), text_of(row->head.tile), time_text(p.time), time_text(m.time),
               error_of(p.time, m.time), error_of(p.cycles, m.cycles), scaled(m.clock, 1e9, 3),
               error_of(p.clock, m.clock), scaled(m.power, 1, 0), error_of(p.power, m.power),
               error_of(delivered, m.l2_to_sm_bytes), m.max_error ? fmt::format("{:.1e}", *m.max_error) : "wrong",
               m.reference_error ? fmt::format("{:.1e}", *m.reference_error) : ""});
  }
  return table.text(style);
}

}  // namespace napkin::internal::report
