#pragma once
// complete_row() reads recorded rows whose common members are written once: after the line
// {"shared": {"device": "NVIDIA H200"}} each row has that device, until a later such line says another.

#include <string>
#include <utility>

#include "model/base/error.hpp"

namespace napkin::internal::report {

/// Adds the members of `shared` to a row that lacks them, and returns true. A line {"shared": {...}} is no row: its
/// members replace those of `shared`, a null removes one, and the result is false. Throws Error at `where`.
template <class Json>
bool complete_row(Json& row, Json& shared, const std::string& where) {
  if (!shared.is_object()) shared = Json::object();
  if (!row.is_object()) throw Error(where, "is no object", "{...}");
  if (!row.contains("shared")) {
    Json whole = shared;
    whole.update(row);
    row = std::move(whole);
    return true;
  }
  if (row.size() != 1 || !row["shared"].is_object())
    throw Error(where, "shared is no object alone in its line", R"({"shared": {...}})");
  for (const auto& [key, value] : row["shared"].items()) {
    if (value.is_null())
      shared.erase(key);
    else
      shared[key] = value;
  }
  return false;
}

}  // namespace napkin::internal::report
