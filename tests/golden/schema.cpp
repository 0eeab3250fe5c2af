#include "tests/golden/schema.hpp"

#include <algorithm>
#include <fstream>

namespace cli {
namespace {

using Json = nlohmann::ordered_json;

const Json& whole_schema() {
  static const Json schema = [] {
    std::ifstream in(std::string(NAPKIN_SOURCE_DIR) + "/docs/schema/answers.schema.json");
    return Json::parse(in);
  }();
  return schema;
}

bool is_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return false;
}

bool has_type(const Json& value, const Json& types) {
  if (types.is_string()) return is_type(value, types.get<std::string>());
  return std::any_of(types.begin(), types.end(),
                     [&](const Json& type) { return is_type(value, type.get<std::string>()); });
}

std::string error_of(const Json& value, const Json& schema, const std::string& path);

std::string error_in_object(const Json& value, const Json& schema, const std::string& path) {
  const Json none = Json::object();
  const Json& properties = schema.contains("properties") ? schema["properties"] : none;
  for (const Json& key : schema.value("required", Json::array())) {
    if (!value.contains(key.get<std::string>())) return path + ": has no '" + key.get<std::string>() + "'";
  }
  for (const auto& [key, item] : value.items()) {
    const std::string below = path.empty() ? key : path + "." + key;
    if (properties.contains(key)) {
      if (std::string error = error_of(item, properties[key], below); !error.empty()) return error;
      continue;
    }
    if (!schema.contains("additionalProperties")) continue;
    const Json& others = schema["additionalProperties"];
    if (others.is_boolean() && !others.get<bool>()) return below + ": is no key of the schema";
    if (others.is_object()) {
      if (std::string error = error_of(item, others, below); !error.empty()) return error;
    }
  }
  return "";
}

std::string error_of(const Json& value, const Json& schema, const std::string& path) {
  if (schema.contains("$ref")) {
    const std::string name = schema["$ref"].get<std::string>().substr(std::string("#/$defs/").size());
    return error_of(value, whole_schema()["$defs"].at(name), path);
  }
  if (schema.contains("oneOf")) {
    int fitting = 0;
    std::string last;
    for (const Json& one : schema["oneOf"]) {
      const std::string error = error_of(value, one, path);
      if (error.empty()) ++fitting;
      if (last.empty() || error.size() > last.size()) last = error;
    }
    return fitting == 1 ? "" : path + ": fits " + std::to_string(fitting) + " forms; " + last;
  }
  if (schema.contains("const") && value != schema["const"]) return path + ": is not " + schema["const"].dump();
  if (schema.contains("enum") && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    return path + ": " + value.dump() + " is none of " + schema["enum"].dump();
  if (schema.contains("type") && !has_type(value, schema["type"]))
    return path + ": " + value.dump().substr(0, 60) + " is no " + schema["type"].dump();
  if (schema.contains("minimum") && value.is_number() && value < schema["minimum"])
    return path + ": " + value.dump() + " is below " + schema["minimum"].dump();
  if (value.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string below = path + "[" + std::to_string(i) + "]";
      if (std::string error = error_of(value[i], schema["items"], below); !error.empty()) return error;
    }
  }
  return value.is_object() ? error_in_object(value, schema, path) : "";
}

/// Returns the name of an answer's definition, by its command; select over a range is "family", of several GPUs
/// "island", query of several memories "levels of memory".
std::string definition_of(const Json& answer) {
  if (answer.contains("ways")) return "island";
  if (answer.contains("memories")) return "levels of memory";
  const std::string command = answer.value("command", "");
  return command == "select" && answer.contains("breakpoints") ? "family" : command;
}

}  // namespace

std::string schema_error(const Json& answer) {
  if (!answer.is_object() || !answer.contains("command")) return "";  // an emitted tile, a summary
  const std::string name = definition_of(answer);
  // rows are checked by their reader, and findings have no definition
  if (name == "validate" || name == "calibrate") return "";
  if (!whole_schema()["$defs"].contains(name)) return "command: '" + name + "' has no schema";
  return error_of(answer, whole_schema()["$defs"][name], "");
}

}  // namespace cli
