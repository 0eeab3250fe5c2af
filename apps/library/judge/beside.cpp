#include "apps/library/judge/beside.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/library/judge/published_names.hpp"
#include "apps/library/judge/replay.hpp"
#include "model/base/error.hpp"
#include "model/base/library.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal {
namespace {

using Json = nlohmann::ordered_json;

/// Distances, in doublings of a size, that another kernel, type or mask adds.
constexpr double other_kernel = 6, other_type = 3, other_mask = 4;
constexpr double far = 12;  // largest distance, in doublings, of a call that is shown beside the question

Mask mask_of(const Json& json) {
  Mask mask;
  if (json.is_string()) {
    if (json == "causal") mask.kind = Mask::Kind::causal;
    return mask;
  }
  if (json.contains("prefix")) return {Mask::Kind::prefix, json.at("prefix"), 0};
  mask.kind = Mask::Kind::window;
  mask.left = json.at("window").at(0), mask.right = json.at("window").at(1);
  return mask;
}

RecordedBest recorded_of(const Json& json) {
  RecordedBest out;
  out.head.algorithm = json.at("algorithm"), out.head.dtype = json.at("dtype");
  out.head.gpu = json.at("gpu").get<std::string>(), out.head.kernel = json.at("kernel").get<std::string>();
  out.head.mask = mask_of(json.at("mask"));
  for (const auto& [axis, size] : json.at("shape").items()) out.head.shape.emplace_back(axis, size.get<std::int64_t>());
  for (const auto& [knob, value] : json.at("tile").items()) {
    if (value.is_string())
      out.head.tile.push_back({knob, 0, value.get<std::string>()});
    else
      out.head.tile.push_back({knob, value.get<std::int64_t>(), ""});
  }
  out.time = json.at("time"), out.split = json.at("split"), out.date = json.at("date"), out.file = json.at("file");
  return out;
}

double doublings(const NamedSizes& a, const NamedSizes& b) {
  std::map<std::string, double> sizes;
  for (const auto& [axis, size] : a) sizes[axis] += std::log2(static_cast<double>(size));
  for (const auto& [axis, size] : b) sizes[axis] -= std::log2(static_cast<double>(size));
  double sum = 0;
  for (const auto& [axis, difference] : sizes) sum += std::abs(difference);
  return sum;
}

/// Returns indices of the nearest, the nearest first.
std::vector<std::size_t> nearest(const std::vector<double>& distances, std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    if (distances[i] <= far) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distances[a] < distances[b]; });
  order.resize(std::min(order.size(), most));
  return order;
}

bool same_question(const Head& a, const Head& b) {
  return a.dtype == b.dtype && a.mask == b.mask && doublings(a.shape, b.shape) == 0;
}

BesideAnswer answer_of(const RecordedBest& row, const Head& head) {
  Ask ask;
  ask.algorithm = row.head.algorithm, ask.gpu = row.head.gpu.value(), ask.kernel = row.head.kernel.value();
  ask.dtype = row.head.dtype, ask.mask = row.head.mask, ask.shape = row.head.shape;
  const auto measurable = measurable_of(ask);
  const Tile tile = tile_of(*measurable->setup->mapping, row.head.tile);
  const PredictedAnswer predicted = predict_tile(*measurable, tile, Rereads::none).predicted;
  BesideAnswer out;
  out.head = row.head;
  out.recorded = true;
  out.same = same_question(row.head, head) && row.head.kernel == head.kernel;
  out.predicted = predicted.tflops;
  out.measured = predicted.tflops * predicted.time / row.time;
  out.source = row.file, out.date = row.date, out.held_out = row.split == "held-out";
  return out;
}

/// Makes the head of a published row; fields that the row does not state are `like`'s.
Head head_of(const PublishedRow& row, const Head& like) {
  Head out;
  out.algorithm = row.algorithms().back();
  const std::string* profile = published_names().profile(row.gpu);
  out.gpu = profile != nullptr ? *profile : row.gpu;
  out.dtype = published_names().dtype(row.dtype);
  if (row.causal == true) out.mask.kind = Mask::Kind::causal;
  if (const PublishedKernel* kernel = published_names().kernel(row, out.algorithm)) {
    const auto& mappings = kernel->mappings;
    if (!mappings.empty()) out.kernel = mappings.front();
    if (like.kernel && std::find(mappings.begin(), mappings.end(), *like.kernel) != mappings.end())
      out.kernel = like.kernel;
  }
  if (row.latent())
    out.shape = {{"b", row.b.value_or(1)}, {"h", row.h.value_or(1)},
                 {"q", row.q.value_or(1)}, {"x", row.x.value_or(row.q.value_or(1))},
                 {"c", *row.d_v},          {"r", *row.d - *row.d_v}};
  else if (row.product())
    out.shape = {{"a", row.m.value_or(1)}, {"b", row.k.value_or(1)}, {"c", row.n.value_or(1)}};
  else
    out.shape = {{"b", row.b.value_or(1)},
                 {"h", row.h_kv.value_or(row.h.value_or(1))},
                 {"g", row.h.value_or(1) / std::max<std::int64_t>(row.h_kv.value_or(row.h.value_or(1)), 1)},
                 {"q", row.q.value_or(1)},
                 {"x", row.x.value_or(row.q.value_or(1))},
                 {"d", row.d.value_or(1)},
                 {"dv", row.d_v.value_or(row.d.value_or(1))}};
  return out;
}

}  // namespace

const std::vector<RecordedBest>& recorded_bests() {
  static const std::vector<RecordedBest> all = [] {
    std::vector<RecordedBest> out;
    for (const Json& row : Json::parse(embedded_file("apps/library/judge/data/fastest.json").text))
      out.push_back(recorded_of(row));
    return out;
  }();
  return all;
}

double distance_of(const Head& a, const Head& b) {
  if (a.algorithm != b.algorithm || a.gpu != b.gpu || !a.lengths.empty() || !b.lengths.empty())
    return std::numeric_limits<double>::infinity();
  return doublings(a.shape, b.shape) + (a.kernel == b.kernel ? 0 : other_kernel) +
         (a.dtype == b.dtype ? 0 : other_type) + (a.mask == b.mask ? 0 : other_mask);
}

std::vector<BesideAnswer> recorded_beside(const Head& head, std::size_t most) {
  std::vector<double> distances;
  for (const RecordedBest& row : recorded_bests()) distances.push_back(distance_of(row.head, head));
  std::vector<BesideAnswer> out;
  for (const std::size_t i : nearest(distances, most)) out.push_back(answer_of(recorded_bests()[i], head));
  return out;
}

std::vector<BesideAnswer> published_beside(const Head& head, const std::vector<PublishedRow>& rows, std::size_t most) {
  std::vector<double> distances;
  std::vector<Head> heads;
  for (const PublishedRow& row : rows) {
    heads.push_back(head_of(row, head));
    const bool of_one = row.algorithms().size() == 1;
    distances.push_back(of_one ? distance_of(heads.back(), head) : std::numeric_limits<double>::infinity());
  }
  std::vector<BesideAnswer> out;
  for (const std::size_t i : nearest(distances, rows.size())) {
    if (out.size() >= most) break;
    const PublishedAnswer answer = ask_published({rows[i]}).front();
    if (!answer.asked()) continue;
    BesideAnswer one;
    one.head = heads[i];
    one.head.kernel = answer.kernel, one.head.tile = answer.tile;
    one.same = same_question(one.head, head) && one.head.kernel == head.kernel;
    one.measured = rows[i].tflops, one.predicted = answer.tflops;
    one.source = rows[i].source, one.doubt = answer.question.doubt;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace napkin::internal
