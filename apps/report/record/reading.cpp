#include "apps/report/record/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/report/record/shared.hpp"
#include "model/base/error.hpp"
#include "model/machine/number.hpp"

namespace napkin::internal::report {
namespace {

constexpr std::array text_keys = {"command", "experiment", "quantity", "unit",    "device",
                                  "driver",  "cuda",       "date",     "revision"};

const Json& at(const Json& row, const char* key, const std::string& where) {
  const auto found = row.find(key);
  if (found == row.end())
    throw Error(where, std::string(key) + " is missing", "a row as napkin calibrate --record writes it");
  return *found;
}

std::string text_at(const Json& row, const char* key, const std::string& where) {
  const Json& value = at(row, key, where);
  if (!value.is_string()) throw Error(where, std::string(key) + " is no text", "a text in quotes");
  return value.get<std::string>();
}

Conditions conditions_at(const Json& row, const std::string& where) {
  const Json& with = at(row, "with", where);
  if (!with.is_object()) throw Error(where, "with is no object", R"({"n": "128"})");
  Conditions out;
  for (const auto& [name, value] : with.items()) {
    if (!value.is_string()) throw Error(where, "with." + name + " is no text", "a text in quotes");
    out.emplace(name, value.get<std::string>());
  }
  return out;
}

std::vector<double> values_at(const Json& row, const std::string& where) {
  const Json& values = at(row, "values", where);
  if (!values.is_array() || values.empty()) throw Error(where, "values is no list", "one number or more");
  std::vector<double> out;
  for (const Json& value : values) {
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      throw Error(where, "values has " + value.dump(), "finite numbers");
    out.push_back(value.get<double>());
  }
  return out;
}

void check_keys(const Json& row, const std::string& where) {
  for (const auto& [key, value] : row.items()) {
    const bool known =
        key == "with" || key == "values" || std::find(text_keys.begin(), text_keys.end(), key) != text_keys.end();
    if (!known) throw Error(where, key + " is unknown", "leave it out");
  }
}

Json parse_line(std::string_view line, const std::string& where) {
  Json row = Json::parse(line, nullptr, false);
  if (row.is_discarded() || !row.is_object())
    throw Error(where, "is no JSON object", "a row as napkin calibrate --record writes it");
  return row;
}

ReadingRow reading_of(const Json& row, const std::string& where) {
  check_keys(row, where);
  if (text_at(row, "command", where) != "calibrate")
    throw Error(where, "command is not 'calibrate'", "a row as napkin calibrate --record writes it");
  ReadingRow out;
  out.reading = {text_at(row, "experiment", where), conditions_at(row, where), text_at(row, "quantity", where),
                 text_at(row, "unit", where), values_at(row, where)};
  out.from = {text_at(row, "device", where), text_at(row, "driver", where), text_at(row, "cuda", where),
              text_at(row, "date", where), text_at(row, "revision", where)};
  return out;
}

std::string short_number(double value) { return fmt::format("{:.4g}", value); }

std::string change_text(const Finding& finding, double value) {
  if (!finding.before || *finding.before == 0) return "";
  return fmt::format("{:+.1f} %", 100 * (value / *finding.before - 1));
}

const TensorInstruction* timed(const Calibration& calibration) {
  const TensorInstruction* product = calibration.machine.tensor_for(DType::bf16);
  return product != nullptr && !product->timing.empty() && product->timing_from.measured() ? product : nullptr;
}

}  // namespace

Json json_of(const ReadingRow& row) {
  Json with = Json::object();
  for (const auto& [name, value] : row.reading.with) with[name] = value;
  Json values = Json::array();
  for (const double value : row.reading.values) values.push_back(json_of(value));
  return {{"command", "calibrate"},
          {"experiment", row.reading.experiment},
          {"with", with},
          {"quantity", row.reading.quantity},
          {"unit", row.reading.unit},
          {"values", values},
          {"device", row.from.device},
          {"driver", row.from.driver},
          {"cuda", row.from.cuda},
          {"date", row.from.date},
          {"revision", row.from.revision}};
}

std::vector<ReadingRow> parse_readings(std::string_view text, const std::string& file) {
  std::vector<ReadingRow> out;
  Json shared;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::string where = file + ":" + std::to_string(number);
    if (!line.empty()) {
      Json row = parse_line(line, where);
      if (complete_row(row, shared, where)) out.push_back(reading_of(row, where));
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string table_of(const Calibration& calibration, const Style& style) {
  Table table({"<number", "measured", "<unit", "spread", "base", "change", "<remark"});
  for (const Finding& finding : calibration.findings) {
    const double value = finding.number.value / profile::factor_of(finding.number.unit);
    table.add({finding.name, short_number(value), finding.number.unit,
               fmt::format("{:.1f} %", 100 * finding.number.from.spread.value_or(0)),
               finding.before ? short_number(*finding.before) : "-", change_text(finding, value),
               finding.placed ? "" : "not placed: " + finding.why});
  }
  std::string out = table.text(style);
  const TensorInstruction* product = timed(calibration);
  if (product == nullptr) return out;
  Table rows({"n", "A shared", "A registers", "alone, A shared", "alone, A registers"});
  const auto cell = [](double clocks) { return clocks > 0 ? short_number(clocks) : std::string(); };
  for (const InstructionTiming& row : product->timing) {
    rows.add({std::to_string(row.n.get()), cell(row.clocks_shared), cell(row.clocks_registers),
              cell(row.latency_shared), cell(row.latency_registers)});
  }
  return out + "\nclocks of " + product->name + " m64 n k16, " + product->timing_from.tool + " " +
         product->timing_from.date + "\n" + rows.text(style);
}

Json json_of(const Calibration& calibration) {
  Json findings = Json::array();
  for (const Finding& finding : calibration.findings) {
    const double factor = profile::factor_of(finding.number.unit);
    findings.push_back({{"name", finding.name},
                        {"value", json_of(finding.number.value)},
                        {"spread", json_of(finding.number.from.spread.value_or(0))},
                        {"runs", finding.runs},
                        {"before", finding.before ? json_of(*finding.before * factor) : Json(nullptr)},
                        {"placed", finding.placed},
                        {"unit", finding.number.unit}});
  }
  Json rows = Json::array();
  if (const TensorInstruction* product = timed(calibration)) {
    for (const InstructionTiming& row : product->timing) {
      rows.push_back({{"n", row.n.get()},
                      {"a_shared", json_of(row.clocks_shared)},
                      {"a_registers", json_of(row.clocks_registers)}});
    }
  }
  return {{"findings", findings}, {"tensor", rows}};
}

}  // namespace napkin::internal::report
