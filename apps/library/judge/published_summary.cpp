// How far published rows are off, per GPU and kernel.

#include <algorithm>
#include <cmath>
#include <map>

#include "apps/library/judge/published.hpp"

namespace napkin::internal {
namespace {

using Rows = PublishedRows;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// Returns the value that a `share` of the values does not exceed; at a half, of an even number, the mean of the middle
/// two.
double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

PublishedErrors errors_of(const Rows& rows) {
  PublishedErrors out;
  std::vector<double> signs, sizes, roofline;
  for (const PublishedAnswer* row : rows) {
    signs.push_back(row->error());
    sizes.push_back(std::abs(row->error()));
    roofline.push_back(std::abs(row->roofline_error()));
    out.bounds += row->by_graph ? 0 : 1;
    out.doubtful += row->question.doubt.empty() ? 0 : 1;
  }
  out.rows = rows.size();
  out.gpus = rows.empty() ? 0 : 1;
  out.mean = mean_of(sizes), out.bias = mean_of(signs), out.roofline = mean_of(roofline);
  out.median = quantile_of(sizes, 0.5), out.ninety = quantile_of(sizes, 0.9);
  out.roofline_median = quantile_of(roofline, 0.5);
  out.worst = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  return out;
}

template <class Key>
std::map<Key, Rows> grouped(const Rows& rows, Key (*key)(const PublishedAnswer&)) {
  std::map<Key, Rows> groups;
  for (const PublishedAnswer* row : rows) groups[key(*row)].push_back(row);
  return groups;
}

std::string gpu_of(const PublishedAnswer& row) { return row.gpu; }

Rows those(const Rows& rows, bool (*wanted)(const PublishedAnswer&)) {
  Rows out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out),
               [&](const PublishedAnswer* row) { return wanted(*row); });
  return out;
}

/// Counts of rows by reason, GPU and kernel.
using RowCounts = std::map<std::string, std::map<std::string, std::map<std::string, std::size_t>>>;

std::vector<NotAsked> listed(const RowCounts& counted) {
  std::vector<NotAsked> out;
  for (const auto& [reason, gpus] : counted) {
    NotAsked one{reason, 0, {}};
    for (const auto& [gpu, kernels] : gpus) {
      for (const auto& [kernel, rows] : kernels) one.rows += rows, one.of.push_back({gpu, kernel, rows});
    }
    out.push_back(std::move(one));
  }
  std::stable_sort(out.begin(), out.end(), [](const NotAsked& a, const NotAsked& b) { return a.rows > b.rows; });
  return out;
}

void count_not_asked(const std::vector<PublishedAnswer>& answers, PublishedSummary& out) {
  RowCounts reasons, doubts;
  for (const PublishedAnswer& answer : answers) {
    const PublishedRow& row = answer.row();
    const PublishedQuestion& question = answer.question;
    const std::string direction = row.product() || row.direction == "fwd" ? "" : " " + row.direction;
    const std::string kernel = row.kernel + direction;
    if (!answer.asked()) {
      const bool lesson = question.reason.starts_with("no judge");
      const std::string more = question.detail.empty() ? "" : " (" + question.detail + ")";
      ++reasons[question.reason][row.gpu][lesson ? question.detail : kernel + more];
    } else if (!question.doubt.empty()) {
      ++doubts[question.doubt][row.gpu][kernel];
    }
  }
  out.not_asked = listed(reasons), out.doubts = listed(doubts);
}

}  // namespace

PublishedErrors errors_of_set(const PublishedRows& rows) {
  PublishedErrors out = errors_of(rows);
  std::vector<double> means, biases, roofline;
  out.worst = 0;
  for (const auto& [gpu, of_gpu] : grouped<std::string>(rows, gpu_of)) {
    const PublishedErrors errors = errors_of(of_gpu);
    means.push_back(errors.mean), biases.push_back(errors.bias), roofline.push_back(errors.roofline);
    if (errors.mean > out.worst) out.worst = errors.mean, out.worst_gpu = gpu;
  }
  out.gpus = means.size();
  out.mean = mean_of(means), out.bias = mean_of(biases), out.roofline = mean_of(roofline);
  return out;
}

std::vector<PublishedGroup> errors_by_gpu(const PublishedRows& rows) {
  std::vector<PublishedGroup> out;
  for (const auto& [gpu, of_gpu] : grouped<std::string>(rows, gpu_of)) out.push_back({gpu, "", errors_of(of_gpu)});
  return out;
}

PublishedSummary summarise(const std::vector<PublishedAnswer>& answers) {
  PublishedSummary out;
  out.rows = answers.size();
  Rows asked;
  for (const PublishedAnswer& answer : answers) {
    if (answer.asked()) asked.push_back(&answer);
  }
  const Rows rows = those(asked, [](const PublishedAnswer& row) { return !row.row().backward(); });
  out.backward = errors_of_set(those(asked, [](const PublishedAnswer& row) { return row.row().backward(); }));
  out.all = errors_of_set(rows);
  out.seen = errors_of_set(those(rows, [](const PublishedAnswer& row) { return !kept_aside(row.row()); }));
  out.aside = errors_of_set(those(rows, [](const PublishedAnswer& row) { return kept_aside(row.row()); }));
  out.certain = errors_of_set(those(rows, [](const PublishedAnswer& row) { return row.question.doubt.empty(); }));
  out.gpus = errors_by_gpu(rows);
  out.regimes = regimes_of(asked);
  using Pair = std::pair<std::string, std::string>;
  const auto by_kernel = grouped<Pair>(asked, [](const PublishedAnswer& row) { return Pair(row.gpu, row.kernel); });
  for (const auto& [key, of_kernel] : by_kernel) out.kernels.push_back({key.first, key.second, errors_of(of_kernel)});
  using Class = std::pair<Pair, std::string>;
  const Rows of_one = those(asked, [](const PublishedAnswer& row) { return row.row().algorithms().size() == 1; });
  const auto by_class = grouped<Class>(of_one, [](const PublishedAnswer& row) {
    return Class(Pair(row.architecture, row.kernel), row.by_graph ? "graph" : "bound");
  });
  for (const auto& [key, of_class] : by_class)
    out.classes.push_back({key.first.first, key.first.second, key.second, errors_of(of_class)});
  count_not_asked(answers, out);
  return out;
}

}  // namespace napkin::internal
