// Nest -> text.

#include <array>
#include <charconv>
#include <cmath>

#include "model/base/yaml_write.hpp"
#include "model/dependence/text.hpp"

namespace napkin::internal::dependence {
namespace {

std::string number_text(double value) {
  if (std::isinf(value)) return value < 0 ? "-infinity" : "infinity";
  std::array<char, 32> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

std::string loop_list(const Nest& nest, const std::vector<LoopId>& loops, const char* separator) {
  std::vector<std::string> names;
  for (LoopId l : loops) names.push_back(loop_name(nest, l));
  return joined(names, separator);
}

std::string subscript_text(const Nest& nest, const Subscript& s) {
  if (!s.loop) return std::to_string(s.offset);
  std::string text = loop_name(nest, *s.loop);
  if (s.offset > 0) text += "+";
  if (s.offset != 0) text += std::to_string(s.offset);
  return text;
}

int precedence(Expression::Kind kind) {
  switch (kind) {
    case Expression::Kind::add:
    case Expression::Kind::subtract: return 1;
    case Expression::Kind::multiply:
    case Expression::Kind::divide: return 2;
    default: return 3;
  }
}

const char* symbol(Expression::Kind kind) {
  switch (kind) {
    case Expression::Kind::add: return " + ";
    case Expression::Kind::subtract: return " - ";
    case Expression::Kind::multiply: return " * ";
    default: return " / ";
  }
}

/// Prints an expression, in brackets if it binds less than `least`: parsing the text gives the same tree.
std::string expression_text(const Nest& nest, const Expression& e, int least) {
  const int binding = precedence(e.kind);
  std::string text;
  switch (e.kind) {
    case Expression::Kind::number: return number_text(e.number);
    case Expression::Kind::reference: return print_reference(nest, e.reference);
    case Expression::Kind::negate: return "-" + expression_text(nest, e.operands[0], 3);
    case Expression::Kind::call: {
      std::vector<std::string> operands;
      for (const Expression& operand : e.operands) operands.push_back(expression_text(nest, operand, 0));
      return e.function + "(" + joined(operands) + ")";
    }
    default:
      text = expression_text(nest, e.operands[0], binding) + symbol(e.kind) +
             expression_text(nest, e.operands[1], binding + 1);
  }
  return binding < least ? "(" + text + ")" : text;
}

std::string loop_entry(const Loop& loop) {
  const std::string begin = loop.begin == 0 ? "" : std::to_string(loop.begin) + "..";
  return yaml::written(loop.name) + ": " + begin + std::to_string(loop.end);
}

std::string claims_text(const Nest& nest) {
  std::vector<std::string> claims;
  if (!nest.claimed_parallel.empty()) {
    claims.push_back("parallel: [" + loop_list(nest, nest.claimed_parallel, ", ") + "]");
  }
  if (!nest.same_as.empty()) claims.push_back("same_as: " + yaml::written(nest.same_as));
  return claims.empty() ? "" : "claims: {" + joined(claims) + "}\n";
}

}  // namespace

std::string print_reference(const Nest& nest, const Reference& r) {
  if (r.subscripts.empty()) return r.array;
  std::vector<std::string> subscripts;
  for (const Subscript& s : r.subscripts) subscripts.push_back(subscript_text(nest, s));
  return r.array + "[" + joined(subscripts, ",") + "]";
}

std::string print_expression(const Nest& nest, const Expression& e) { return expression_text(nest, e, 0); }

std::string print_statement(const Nest& nest, const Statement& s) {
  return s.name + "(" + loop_list(nest, s.loops, ",") + ") " + print_reference(nest, s.target) + " = " +
         print_expression(nest, s.value);
}

std::string print(const Nest& nest) {
  std::vector<std::string> loops, arrays;
  for (const Loop& l : nest.loops) loops.push_back(loop_entry(l));
  for (const MemoryArray& a : nest.arrays) {
    arrays.push_back(yaml::written(a.name) + ": " + (a.initial ? number_text(*a.initial) : ""));
  }
  std::string text = "nest: " + yaml::written(nest.name) + "\n";
  if (!nest.about.empty()) text += "about: " + yaml::written(nest.about) + "\n";
  text += "loops: {" + joined(loops) + "}\n";
  if (!arrays.empty()) text += "arrays: {" + joined(arrays) + "}\n";
  text += "statements:\n";
  for (const Statement& s : nest.statements) text += "  - " + print_statement(nest, s) + "\n";
  std::vector<std::string> outputs;
  for (const std::string& name : nest.outputs) outputs.push_back(yaml::written(name));
  if (!outputs.empty()) text += "outputs: [" + joined(outputs) + "]\n";
  return text + claims_text(nest);
}

}  // namespace napkin::internal::dependence
