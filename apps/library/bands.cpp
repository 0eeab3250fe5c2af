#include "apps/library/bands.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "model/base/library.hpp"

namespace napkin {
namespace {

std::optional<double> maybe(const nlohmann::json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<double>();
}

ClassError class_of(const nlohmann::json& row) {
  ClassError out;
  out.architecture = row.at("architecture").get<std::string>();
  if (row.at("gpu").is_string()) out.gpu = row.at("gpu").get<std::string>();
  out.kernel = row.at("kernel").get<std::string>();
  out.algorithm = row.at("algorithm").get<std::string>();
  out.by_graph = row.at("clock").get<std::string>() == "graph";
  out.rows = row.at("rows").get<std::int64_t>();
  out.mean = row.at("mean").get<double>();
  out.median = row.at("median").get<double>();
  out.ninety = maybe(row.at("ninety"));
  out.bias = maybe(row.at("bias"));
  return out;
}

/// The classes that are chosen, as one, each row of them counting once.
std::optional<Band> together(const std::function<bool(const ClassError&)>& chosen, std::string of) {
  Band out;
  int classes = 0;
  for (const ClassError& each : class_errors()) {
    if (!chosen(each)) continue;
    out.error += each.mean * static_cast<double>(each.rows);
    out.rows += each.rows;
    out.recorded = !each.gpu.empty();
    out.ninety = ++classes == 1 ? each.ninety : std::nullopt;
  }
  if (out.rows == 0) return std::nullopt;
  out.error /= static_cast<double>(out.rows);
  out.of = std::move(of);
  return out;
}

}  // namespace

const std::vector<ClassError>& class_errors() {
  static const std::vector<ClassError> all = [] {
    std::vector<ClassError> out;
    for (const auto& row : nlohmann::json::parse(embedded_file("apps/library/judge/data/classes.json").text))
      out.push_back(class_of(row));
    return out;
  }();
  return all;
}

std::vector<ClassError> classes_of(const Machine& machine, const std::string& kernel, bool by_graph) {
  std::vector<ClassError> out;
  for (const ClassError& error : class_errors()) {
    if (error.kernel == kernel) out.push_back(error);
  }
  std::stable_partition(out.begin(), out.end(), [&](const ClassError& error) {
    return error.architecture == machine.architecture && error.by_graph == by_graph;
  });
  return out;
}

/// The absolute values of a normal distribution have their ninth decile at 1.645 standard deviations, their mean at
/// 0.798.
double Band::nine_of_ten() const {
  constexpr double decile_over_mean = 1.645 / 0.798;
  return ninety.value_or(decile_over_mean * error);
}

std::optional<Band> band_of(const Machine& machine, const std::string& algorithm, const std::string& kernel,
                            bool by_graph) {
  const auto here = [&](const ClassError& each) { return each.gpu == machine.name && each.by_graph == by_graph; };
  const auto published = [&](const ClassError& each) {
    return each.gpu.empty() && each.architecture == machine.architecture && each.by_graph == by_graph;
  };
  const std::string on = " on " + machine.architecture;
  const auto here_kernel = [&](const ClassError& each) { return here(each) && each.kernel == kernel; };
  if (auto found = together(here_kernel, kernel + " on " + machine.name)) return found;
  const auto of_kernel = [&](const ClassError& each) { return published(each) && each.kernel == kernel; };
  if (auto found = together(of_kernel, kernel + on)) return found;
  const auto of_algorithm = [&](const ClassError& each) { return published(each) && each.algorithm == algorithm; };
  return together(of_algorithm, algorithm + on);
}

std::optional<Band> band_of(const Machine& machine) {
  const auto recorded = [&](const ClassError& each) { return each.gpu == machine.name && each.by_graph; };
  if (auto found = together(recorded, machine.name)) return found;
  const auto published = [&](const ClassError& each) {
    return each.gpu.empty() && each.architecture == machine.architecture && each.by_graph;
  };
  return together(published, machine.architecture);
}

}  // namespace napkin
