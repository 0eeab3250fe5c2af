// How far published rows are off by regime, and how far rows that ask one question differ among themselves.

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "apps/library/judge/published.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t few_rows = 256, few_queries = 16;

bool is_product(const PublishedRow& row) { return row.product(); }
bool is_forward(const PublishedRow& row) { return !row.product() && !row.backward(); }

struct RegimeOf {
  const char* name;
  bool (*holds)(const PublishedRow& row);
};
constexpr RegimeOf regimes[] = {
    {"products, m <= 256", [](const PublishedRow& row) { return is_product(row) && row.m.value_or(0) <= few_rows; }},
    {"products, m > 256", [](const PublishedRow& row) { return is_product(row) && row.m.value_or(0) > few_rows; }},
    {"attention", [](const PublishedRow& row) { return is_forward(row) && row.q.value_or(0) > few_queries; }},
    {"decoding", [](const PublishedRow& row) { return is_forward(row) && row.q.value_or(0) <= few_queries; }},
    {"backward passes", [](const PublishedRow& row) { return row.backward(); }},
};

/// Writes the facts that make two rows one question; `launches` and `one_by_one` are left out.
std::string question_of(const PublishedAnswer& answer) {
  const PublishedQuestion& question = answer.question;
  std::string text = answer.kernel + " " + answer.row().direction + " " + question.ask.dtype;
  text += question.ask.mask.kind == Mask::Kind::causal ? " causal" : "";
  for (const auto& [axis, size] : question.ask.shape) text += " " + axis + "=" + std::to_string(size);
  for (const KnobValue& knob : answer.tile)
    text += " " + knob.name + "=" + (knob.word.empty() ? std::to_string(knob.number) : knob.word);
  for (const double number : {question.clock.value_or(0), question.power.value_or(0), question.held.value_or(0),
                              question.host, question.burst ? 1.0 : 0.0, question.cold_l2 ? 1.0 : 0.0})
    text += " " + std::to_string(number);
  return text + " " + question.ahead;
}

/// Sets the regime's noise: the mean distance of rows from the geometric mean of their question, over questions that
/// several kernels or sources have.
void set_noise(const PublishedRows& rows, PublishedRegime& regime) {
  std::map<std::pair<std::string, std::string>, PublishedRows> questions;
  for (const PublishedAnswer* row : rows) questions[{row->gpu, question_of(*row)}].push_back(row);
  std::map<std::string, std::pair<double, double>> of_gpu;  // sum of distances, rows
  for (const auto& [key, same] : questions) {
    std::set<std::pair<std::string, std::string>> whose;
    double logarithms = 0;
    for (const PublishedAnswer* row : same) {
      whose.insert({row->row().kernel, row->row().source});
      logarithms += std::log(row->row().tflops);
    }
    if (whose.size() < 2) continue;
    const double mean = std::exp(logarithms / static_cast<double>(same.size()));
    auto& [distances, count] = of_gpu[key.first];
    for (const PublishedAnswer* row : same) distances += std::abs(mean / row->row().tflops - 1), count += 1;
    regime.repeated += same.size();
  }
  for (const auto& [gpu, sum] : of_gpu) regime.noise += sum.first / sum.second / static_cast<double>(of_gpu.size());
}

}  // namespace

std::vector<PublishedRegime> regimes_of(const PublishedRows& asked) {
  std::vector<PublishedRegime> out;
  for (const RegimeOf& regime : regimes) {
    PublishedRows rows;
    for (const PublishedAnswer* row : asked) {
      if (regime.holds(row->row())) rows.push_back(row);
    }
    PublishedRegime& one = out.emplace_back();
    one.name = regime.name;
    one.errors = errors_of_set(rows), one.gpus = errors_by_gpu(rows);
    set_noise(rows, one);
  }
  return out;
}

}  // namespace napkin::internal
