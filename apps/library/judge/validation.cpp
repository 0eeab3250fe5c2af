#include "apps/library/judge/validation.hpp"

#include <algorithm>
#include <ctime>

#include "model/base/error.hpp"
#include "model/diagram/packing.hpp"

namespace napkin::internal {
namespace {

std::int64_t size_of(const Head& head, const std::string& axis) {
  for (const auto& [name, size] : head.shape) {
    if (name == axis) return size;
  }
  return 0;
}

/// A separator of parts in question_key() and row_key(): it occurs in no name.
constexpr char between = '|';

}  // namespace

std::string split_of(const Head& head) {
  bool calibration = false;
  if (!head.lengths.empty()) return "held-out";
  if (head.algorithm == "attention") {
    const std::int64_t d = size_of(head, "d");
    calibration = head.mask.kind == Mask::Kind::none && (d == 64 || d == 128) && size_of(head, "dv") == d &&
                  size_of(head, "q") == 4096 && size_of(head, "x") == 4096;
  } else if (head.algorithm == "matmul") {
    calibration = size_of(head, "a") == 4096 && size_of(head, "b") == 4096 && size_of(head, "c") == 4096;
  }
  return calibration ? "calibration" : "held-out";
}

std::string question_key(const Head& head) {
  std::string key = head.algorithm + between + head.gpu.value_or("") + between + head.kernel.value_or("") + between +
                    head.dtype + between + text_of(head.mask) + between;
  for (const auto& [name, size] : head.shape) key += name + "=" + std::to_string(size) + ",";
  if (!head.lengths.empty()) key += "lengths=" + text_of(head.lengths);
  if (head.conditions != CardConditions{}) key += between + text_of(head.conditions);
  return key;
}

std::string row_key(const Head& head) {
  std::string key = question_key(head) + between;
  for (const KnobValue& knob : head.tile) {
    key += knob.name + "=" + (knob.word.empty() ? std::to_string(knob.number) : knob.word) + ",";
  }
  return key;
}

ScoredRow as_recorded(const ValidationRow& row) {
  if (!row.predicted) throw Error("predicted", "is missing", "a row as napkin validate writes it");
  return {&row, *row.predicted, row.levels, {}};
}

bool is_right(const MeasuredAnswer& measured) {
  if (!measured.reference_error) return true;  // not compared
  return measured.max_error && *measured.max_error <= 2 * *measured.reference_error + 1e-5;
}

std::vector<ScoredRow> newest(const std::vector<ScoredRow>& rows) {
  std::map<std::string, std::size_t> latest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [at, first] = latest.emplace(row_key(rows[i].row->head), i);
    if (!first && rows[i].row->from.date >= rows[at->second].row->from.date) at->second = i;
  }
  std::vector<ScoredRow> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (latest.at(row_key(rows[i].row->head)) == i) out.push_back(rows[i]);
  }
  return out;
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32] = {};
  static_cast<void>(std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

}  // namespace napkin::internal
