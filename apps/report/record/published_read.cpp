// The strict reader of published rows. JSON is YAML's flow style, whose reader knows lines and columns.

#include <algorithm>

#include "apps/report/record/published.hpp"
#include "model/base/yaml.hpp"

namespace napkin::internal::report {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 40;
constexpr double fastest = 1e7;  // TFLOP/s

const std::vector<std::string>& attention_keys() {
  static const std::vector<std::string> keys = {"gpu",  "kernel", "direction", "dtype", "b",   "h",
                                                "h_kv", "s",      "x",         "d",     "d_v", "causal",
                                                "tile", "tflops", "source",    "note"};
  return keys;
}

const std::vector<std::string>& product_keys() {
  static const std::vector<std::string> keys = {"gpu", "kernel", "direction", "dtype",  "m",   "n",
                                                "k",   "tile",   "tflops",    "source", "note"};
  return keys;
}

std::string text(const yaml::Node& row, const char* key) {
  const yaml::Node& value = row.at(key);
  if (value.is_null() || !value.is_scalar() || !value.is_quoted()) value.fail("is no text", "a text in quotes");
  return value.text();
}

/// Returns the key's text; empty if the key is missing or null.
std::string maybe_text(const yaml::Node& row, const char* key) {
  const yaml::Node* value = row.find(key);
  if (value == nullptr || value->is_null()) return "";
  return text(row, key);
}

/// Returns the key's size; nothing if the key is null: not stated.
std::optional<std::int64_t> size(const yaml::Node& row, const char* key) {
  const yaml::Node& value = row.at(key);
  if (value.is_null()) return std::nullopt;
  if (value.is_quoted()) value.fail("is a text", "a whole number from 1, or null where it is not stated");
  return value.integer(1, largest);
}

std::optional<std::int64_t> maybe_size(const yaml::Node& row, const char* key) {
  return row.find(key) == nullptr ? std::nullopt : size(row, key);
}

std::optional<bool> truth(const yaml::Node& row, const char* key) {
  const yaml::Node& value = row.at(key);
  if (value.is_null()) return std::nullopt;
  if (value.is_quoted() || (value.text() != "true" && value.text() != "false"))
    value.fail("is no truth value", "true, false, or null where it is not stated");
  return value.boolean();
}

double speed(const yaml::Node& row) {
  const yaml::Node& value = row.at("tflops");
  if (value.is_null() || value.is_quoted()) value.fail("is no number", "TFLOP/s, a number above 0");
  const double found = value.number();
  if (!(found > 0 && found < fastest)) value.fail("is " + value.text(), "TFLOP/s, a number above 0");
  return found;
}

void read_attention(const yaml::Node& node, PublishedRow& row) {
  row.b = size(node, "b"), row.h = size(node, "h"), row.q = size(node, "s"), row.d = size(node, "d");
  row.h_kv = maybe_size(node, "h_kv"), row.x = maybe_size(node, "x"), row.d_v = maybe_size(node, "d_v");
  row.causal = truth(node, "causal");
  if (row.h && row.h_kv && *row.h % *row.h_kv != 0)
    node.at("h_kv").fail("does not divide h",
                         "as many query heads for each key head: a divisor of " + std::to_string(*row.h));
}

PublishedRow read_row(const yaml::Node& node) {
  if (!node.is_map()) node.fail("is no row", "{\"gpu\": ..., \"kernel\": ..., ...}");
  PublishedRow row;
  row.where = node.location().text();
  row.direction = text(node, "direction");
  const std::vector<std::string> directions = {"fwd", "bwd", "fwd+bwd", "matmul"};
  if (std::find(directions.begin(), directions.end(), row.direction) == directions.end())
    node.at("direction").fail("is '" + row.direction + "'", one_of(row.direction, directions));
  node.allow(row.product() ? product_keys() : attention_keys());
  row.gpu = text(node, "gpu"), row.kernel = text(node, "kernel"), row.dtype = text(node, "dtype");
  row.source = text(node, "source");
  row.tile = maybe_text(node, "tile"), row.note = maybe_text(node, "note");
  row.tflops = speed(node);
  if (row.product())
    row.m = size(node, "m"), row.n = size(node, "n"), row.k = size(node, "k");
  else
    read_attention(node, row);
  return row;
}

}  // namespace

std::vector<PublishedRow> parse_published(std::string_view text, const std::string& file) {
  const yaml::Document parsed = yaml::parse(text, file);
  const yaml::Node& document = parsed.root();
  if (!document.is_sequence()) document.fail("is no list of rows", "[{\"gpu\": ..., \"kernel\": ..., ...}, ...]");
  std::vector<PublishedRow> rows;
  for (const yaml::Node& node : document.items()) rows.push_back(read_row(node));
  return rows;
}

}  // namespace napkin::internal::report
