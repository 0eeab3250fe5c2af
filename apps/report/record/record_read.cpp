// The strict reader of recorded rows.

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "apps/report/json/fields.hpp"
#include "apps/report/record/record.hpp"
#include "apps/report/record/shared.hpp"
#include "model/base/error.hpp"
#include "model/base/file.hpp"

namespace napkin::internal::report {
namespace {

/// A JSON object whose keys must all be read.
class Reader {
 public:
  Reader(const Json& json, std::string where, std::string path)
      : json_(json), where_(std::move(where)), path_(std::move(path)) {
    if (!json_.is_object()) fail("", "is no object", "{...}");
  }

  const Json& at(const std::string& key) {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(key, "is missing", "a row as napkin validate writes it");
    taken_.insert(key);
    return *found;
  }
  [[nodiscard]] std::string text(const std::string& key) {
    const Json& value = at(key);
    if (!value.is_string()) fail(key, "is no text", "a text in quotes");
    return value.get<std::string>();
  }
  [[nodiscard]] double number(const std::string& key, double least = 0) {
    const Json& value = at(key);
    if (!value.is_number()) fail(key, "is no number", "a number");
    const double found = value.get<double>();
    if (!std::isfinite(found) || found < least) fail(key, "is " + value.dump(), "a finite number, not negative");
    return found;
  }
  [[nodiscard]] double positive(const std::string& key) {
    const double found = number(key);
    if (found <= 0) fail(key, "is 0", "a number above 0");
    return found;
  }
  [[nodiscard]] std::optional<double> maybe(const std::string& key) {
    if (at(key).is_null()) return std::nullopt;
    return number(key);
  }
  [[nodiscard]] std::int64_t whole(const std::string& key) {
    const Json& value = at(key);
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<std::uint64_t>() < (std::uint64_t{1} << 63U));
    if (!fits || value.get<std::int64_t>() < 0) fail(key, "is no whole number", "a whole number from 0");
    return value.get<std::int64_t>();
  }
  [[nodiscard]] std::optional<std::int64_t> maybe_whole(const std::string& key) {
    if (at(key).is_null()) return std::nullopt;
    return whole(key);
  }
  /// Returns true if the key is present; its only value is true.
  [[nodiscard]] bool flagged(const std::string& key) {
    if (json_.find(key) == json_.end()) return false;
    if (at(key) != Json(true)) fail(key, "is " + json_.at(key).dump(), "true, or nothing");
    return true;
  }
  [[nodiscard]] Reader object(const std::string& key) { return {at(key), where_, name(key)}; }
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] std::string name(const std::string& key) const {
    return path_.empty() || key.empty() ? path_ + key : path_ + "." + key;
  }
  [[nodiscard]] const Json& json() const { return json_; }
  /// Throws Error for a key that was not read.
  void finish() {
    for (const auto& [key, value] : json_.items()) {
      if (taken_.find(key) == taken_.end()) fail(key, "is unknown", "leave it out");
    }
  }
  [[noreturn]] void fail(const std::string& key, const std::string& what, const std::string& right) const {
    const std::string field = name(key);
    throw Error(where_, field.empty() ? what : field + " " + what, right);
  }

 private:
  const Json& json_;
  std::string where_, path_;
  std::set<std::string> taken_;
};

Mask read_mask(Reader& row) {
  const Json& json = row.at("mask");
  Mask mask;
  if (json == "none") return mask;
  if (json == "causal") {
    mask.kind = Mask::Kind::causal;
    return mask;
  }
  const std::string right = R"("none", "causal", {"window": [L, R]} or {"prefix": N})";
  if (json.is_object() && json.size() == 1 && json.contains("prefix")) {
    const Json& columns = json["prefix"];
    if (!columns.is_number_integer() || columns.get<std::int64_t>() < 1) row.fail("mask", "is no mask", right);
    return {Mask::Kind::prefix, columns.get<std::int64_t>(), 0};
  }
  if (!json.is_object() || json.size() != 1 || !json.contains("window")) row.fail("mask", "is no mask", right);
  const Json& sides = json["window"];
  const auto side = [&](std::size_t i) {
    if (!sides.is_array() || sides.size() != 2 || !sides[i].is_number_integer() || sides[i].get<std::int64_t>() < 0) {
      row.fail("mask", "is no mask", right);
    }
    return sides[i].get<std::int64_t>();
  };
  return {Mask::Kind::window, side(0), side(1)};
}

/// Reads [[q, x], ...] of packed sequences; other rows have no such key.
std::vector<SequenceLengths> read_lengths(Reader& row) {
  if (!row.json().contains("lengths")) return {};
  const Json& list = row.at("lengths");
  const std::string right = "[[queries, keys], ...], whole numbers from 0";
  if (!list.is_array() || list.empty()) row.fail("lengths", "is no list of lengths", right);
  const auto length = [&](const Json& pair, std::size_t i) {
    if (!pair.is_array() || pair.size() != 2 || !pair[i].is_number_integer() || pair[i].get<std::int64_t>() < 0)
      row.fail("lengths", "has no such pair", right);
    return pair[i].get<std::int64_t>();
  };
  std::vector<SequenceLengths> out;
  for (const Json& pair : list) out.push_back({length(pair, 0), length(pair, 1)});
  return out;
}

CardConditions read_conditions(Reader conditions) {
  const auto has = [&](const char* key) { return conditions.json().contains(key); };
  const auto place = [&](const char* key) { return conditions.where() + ": " + conditions.name(key); };
  CardConditions out;
  out.load = parse_card_load(conditions.text("load"), place("load"));
  if (has("clock")) out.clock = conditions.positive("clock");
  if (has("limit")) out.limit = conditions.positive("limit");
  if (has("l2")) out.cold = parse_l2(conditions.text("l2"), place("l2"));
  conditions.finish();
  return out;
}

Head read_head(Reader& row) {
  Head head;
  if (row.text("command") != "validate") row.fail("command", "is not 'validate'", "a row as napkin validate writes it");
  head.algorithm = row.text("algorithm");
  head.gpu = row.text("gpu");
  head.kernel = row.text("kernel");
  head.dtype = row.text("dtype");
  head.mask = read_mask(row);
  Reader shape = row.object("shape");
  for (const auto& [axis, size] : shape.json().items()) {
    head.shape.emplace_back(axis, shape.whole(axis));
    if (head.shape.back().second < 1) shape.fail(axis, "is 0", "a whole number from 1");
  }
  head.lengths = read_lengths(row);
  if (row.json().contains("conditions")) head.conditions = read_conditions(row.object("conditions"));
  Reader tile = row.object("tile");
  for (const auto& [knob, value] : tile.json().items()) {
    if (value.is_string()) {
      head.tile.push_back({knob, 0, tile.text(knob)});
    } else {
      head.tile.push_back({knob, tile.whole(knob), ""});
    }
  }
  return head;
}

/// Reads numbers by name, finite and not negative.
std::vector<std::pair<std::string, double>> read_numbers(Reader numbers) {
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [name, number] : numbers.json().items()) out.emplace_back(name, numbers.number(name));
  return out;
}

/// Reads the value of a field, by its type.
template <class T>
T read_value(Reader& part, const std::string& key) {
  if constexpr (std::is_same_v<T, std::string>) {
    return part.text(key);
  } else if constexpr (std::is_same_v<T, double>) {
    return part.number(key);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return part.whole(key);
  } else if constexpr (std::is_same_v<T, bool>) {
    return part.flagged(key);
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    return part.maybe(key);
  } else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
    return part.maybe_whole(key);
  } else {
    return read_numbers(part.object(key));
  }
}

template <class Part>
Part read_fields(Reader& part) {
  Part out;
  each_field<Part>([&](const auto& field) {
    if (field.as == As::left_out && !part.json().contains(field.name)) return;
    using T = std::remove_cvref_t<decltype(out.*field.member)>;
    out.*field.member = read_value<T>(part, field.name);
  });
  return out;
}

LevelAnswer read_level(Reader level) {
  LevelAnswer out = read_fields<LevelAnswer>(level);
  level.finish();
  return out;
}

/// Reads levels, whose computed values recordings leave out.
std::vector<LevelAnswer> read_levels(Reader& row) {
  if (!row.json().contains("levels")) return {};
  const Json& json = row.at("levels");
  if (!json.is_array()) row.fail("levels", "is no list", "[...]");
  std::vector<LevelAnswer> out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    out.push_back(read_level(Reader(json[i], row.where(), "levels[" + std::to_string(i) + "]")));
  }
  return out;
}

PredictedAnswer read_predicted(Reader predicted) {
  PredictedAnswer out = read_fields<PredictedAnswer>(predicted);
  static_cast<void>(predicted.positive("time"));
  for (const char* found_anew : {"likely", "standing"}) {
    if (predicted.json().contains(found_anew)) (void)predicted.at(found_anew);
  }
  predicted.finish();
  return out;
}

MeasuredAnswer read_measured(Reader measured) {
  MeasuredAnswer out = read_fields<MeasuredAnswer>(measured);
  static_cast<void>(measured.positive("time"));
  if (out.l2 != "cold" && out.l2 != "warm") measured.fail("l2", "is '" + out.l2 + "'", "cold or warm");
  measured.finish();
  return out;
}

/// Parses a line. Throws Error for repeated keys, of which nlohmann keeps the last.
Json parse_strictly(std::string_view line, const std::string& where) {
  std::vector<std::set<std::string>> open;
  std::string repeated;
  const auto watch = [&](int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end && !open.empty()) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      repeated = parsed.get<std::string>();
    return true;
  };
  try {
    Json json = Json::parse(line, watch);
    if (!repeated.empty()) throw Error(where, repeated + " stands there twice", "give it once");
    return json;
  } catch (const nlohmann::json::exception& error) {
    throw Error(where, "is no JSON", "one whole object a line, as napkin validate writes it");
  }
}

ValidationRow row_of(const Json& json, const std::string& where) {
  Reader row(json, where, "");
  ValidationRow out;
  out.head = read_head(row);
  out.levels = read_levels(row);
  if (json.contains("predicted")) out.predicted = read_predicted(row.object("predicted"));
  out.split = row.text("split");
  if (out.split != split_of(out.head))
    row.fail("split", "is '" + out.split + "'", split_of(out.head) + ", by the rule fixed beforehand");
  if (!row.at("sweep").is_null()) out.sweep = row.text("sweep");
  const Json& selected = row.at("selected");
  if (!selected.is_boolean()) row.fail("selected", "is no truth value", "true or false");
  out.selected = selected.get<bool>();
  out.measured = read_measured(row.object("measured"));
  out.from = {row.text("device"), row.text("driver"), row.text("cuda"), row.text("date"), row.text("revision")};
  if (json.contains("source_hash")) out.source_hash = row.text("source_hash");
  row.finish();
  return out;
}

}  // namespace

std::vector<RecordedRow> parse_rows(std::string_view text, const std::string& file) {
  std::vector<RecordedRow> out;
  Json shared;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const std::string where = file + ":" + std::to_string(number);
    Json row = parse_strictly(line, where);
    if (complete_row(row, shared, where)) out.push_back({row_of(row, where), where});
  }
  return out;
}

std::vector<RecordedRow> read_rows(const std::string& file, const std::string& where) {
  constexpr std::size_t most = std::size_t{1} << 30;
  return parse_rows(read_file(file, most, where), file);
}

}  // namespace napkin::internal::report
