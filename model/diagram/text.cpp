// Diagram -> text.

#include "model/diagram/text.hpp"

#include <array>
#include <cctype>
#include <charconv>

namespace napkin {
namespace {

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

// YAML reads these plain words as something else than a word.
bool is_reserved(const std::string& word) { return word == "null" || word == "Null" || word == "NULL" || word == "~"; }

// A plain word where YAML reads it back as it stands, else a double-quoted one.
std::string scalar(const std::string& word) {
  bool plain = !word.empty() && !is_reserved(word) && std::isalpha(static_cast<unsigned char>(word[0])) != 0;
  for (char c : word) plain = plain && (c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0);
  if (plain) return word;
  constexpr char digits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += "\\x";
      quoted += digits[byte >> 4];
      quoted += digits[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string axis_list(const Diagram& d, const std::vector<AxisId>& axes, const char* separator) {
  std::vector<std::string> names;
  for (AxisId a : axes) names.push_back(d.axes[static_cast<std::size_t>(a)].name);
  return joined(names, separator);
}

std::string array_text(const Diagram& d, ArrayId id) {
  const Array& a = d.arrays[static_cast<std::size_t>(id)];
  return a.name + "[" + axis_list(d, a.axes, ",") + "]";
}

std::string axis_entry(const Diagram& d, const Axis& axis) {
  std::string text = scalar(axis.name) + ": ";
  if (const auto* number = std::get_if<std::int64_t>(&axis.fallback)) text += std::to_string(*number);
  if (const auto* other = std::get_if<AxisId>(&axis.fallback)) {
    text += scalar(d.axes[static_cast<std::size_t>(*other)].name);
  }
  return text;
}

}  // namespace

std::string print_scale(const Diagram& d, const Scale& scale) {
  if (!scale.axis) return number_text(scale.factor);
  std::string text = scale.factor == 1.0 ? "" : number_text(scale.factor) + "*";
  text += d.axes[static_cast<std::size_t>(*scale.axis)].name + "^" + std::to_string(scale.numerator);
  if (scale.denominator != 1) text += "/" + std::to_string(scale.denominator);
  return text;
}

std::string print_operation(const Diagram& d, OpId id) {
  const Operation& op = d.operations[static_cast<std::size_t>(id)];
  std::vector<std::string> outputs, inputs;
  for (ArrayId a : op.outputs) outputs.push_back(array_text(d, a));
  for (ArrayId a : op.inputs) inputs.push_back(d.arrays[static_cast<std::size_t>(a)].name);
  std::string text = joined(outputs) + " = " + std::string(name_of(op.kind));
  if (op.kind == OpKind::map) text += " " + op.function;
  if (!op.own.empty()) text += " over " + axis_list(d, op.own, ", ");
  text += " (" + joined(inputs) + ")";
  if (!(op.scale == Scale{})) text += " scale " + print_scale(d, op.scale);
  if (op.mask) text += " mask (" + axis_list(d, {(*op.mask)[0], (*op.mask)[1]}, ", ") + ")";
  return text;
}

std::string print(const Diagram& d) {
  std::vector<std::string> axes, inputs, outputs;
  for (const Axis& a : d.axes) axes.push_back(axis_entry(d, a));
  for (ArrayId id : d.inputs) inputs.push_back("\"" + array_text(d, id) + "\"");
  for (ArrayId id : d.outputs) outputs.push_back(scalar(d.arrays[static_cast<std::size_t>(id)].name));
  std::string text = "algorithm: " + scalar(d.name) + "\n";
  if (!d.about.empty()) text += "about: " + scalar(d.about) + "\n";
  text += "axes: {" + joined(axes) + "}\ninputs: [" + joined(inputs) + "]\noperations:\n";
  for (std::size_t i = 0; i < d.operations.size(); ++i) {
    text += "  - " + print_operation(d, static_cast<OpId>(i)) + "\n";
  }
  return text + "outputs: [" + joined(outputs) + "]\n";
}

}  // namespace napkin
