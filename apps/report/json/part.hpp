#pragma once
// part_json makes the JSON of a part of an answer from its Fields: {"flops": 8, "executed_flops": 8, ...} of a
// WorkAnswer.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "apps/report/json/fields.hpp"
#include "apps/report/json/json.hpp"

namespace napkin::internal::report {

template <class T>
Json value_json(const T& value);

template <class Part>
Json part_json(const Part& part) {
  Json json = Json::object();
  each_field<Part>([&](const auto& field) {
    const auto& value = std::invoke(field.member, part);
    using T = std::remove_cvref_t<decltype(value)>;
    bool none = false;  // true for an empty text, a false flag, or a missing number
    if constexpr (std::is_same_v<T, std::string>) none = value.empty();
    if constexpr (std::is_same_v<T, bool> || requires { value.has_value(); }) none = !value;
    if (none && (field.as == As::left_out || field.as == As::if_true)) return;
    json[field.name] = none && field.as == As::or_null ? Json(nullptr) : value_json(value);
  });
  return json;
}

/// Writes JSON of a number, a text, a part, several of them, or numbers by name.
template <class T>
Json value_json(const T& value) {
  if constexpr (requires { value.has_value(); }) {
    return value ? value_json(*value) : Json(nullptr);
  } else if constexpr (std::is_same_v<T, std::vector<std::pair<std::string, double>>>) {
    Json object = Json::object();
    for (const auto& [name, number] : value) object[name] = json_of(number);
    return object;
  } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::string> ||
                       std::is_same_v<T, std::vector<std::string>>) {
    return value;
  } else if constexpr (requires { json_of(value); }) {
    return json_of(value);
  } else {
    return part_json(value);
  }
}

/// Writes a list of parts.
template <class Part>
Json list_json(const std::vector<Part>& parts) {
  Json list = Json::array();
  for (const Part& part : parts) list.push_back(value_json(part));
  return list;
}

}  // namespace napkin::internal::report
