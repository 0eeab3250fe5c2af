#include "model/diagram/formula.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

struct FormulaFunction {
  std::string_view name;
  std::size_t operands;
  double (*of)(const double*);
};

constexpr std::array<FormulaFunction, 14> functions = {{
    {"+", 2, [](const double* v) { return v[0] + v[1]; }},
    {"-", 2, [](const double* v) { return v[0] - v[1]; }},
    {"*", 2, [](const double* v) { return v[0] * v[1]; }},
    {"/", 2, [](const double* v) { return v[0] / v[1]; }},
    {"negative", 1, [](const double* v) { return -v[0]; }},
    {"max", 2, [](const double* v) { return std::max(v[0], v[1]); }},
    {"min", 2, [](const double* v) { return std::min(v[0], v[1]); }},
    {"exp", 1, [](const double* v) { return std::exp(v[0]); }},
    {"log", 1, [](const double* v) { return std::log(v[0]); }},
    {"sqrt", 1, [](const double* v) { return std::sqrt(v[0]); }},
    {"abs", 1, [](const double* v) { return std::abs(v[0]); }},
    {"less", 2, [](const double* v) { return v[0] < v[1] ? 1.0 : 0.0; }},
    {"equal", 2, [](const double* v) { return v[0] == v[1] ? 1.0 : 0.0; }},
    {"where", 3, [](const double* v) { return v[0] != 0 ? v[1] : v[2]; }},
}};
constexpr std::size_t first_word = 4;  // index of the first function that is written as a word; "negative" is "-"

constexpr int deepest = 64;  // levels of parentheses and of signs in one another

}  // namespace

class FormulaParser {
 public:
  FormulaParser(std::string_view text, const std::vector<std::string>& names, const Formula::Refuse& refuse)
      : text_(text), names_(names), refuse_(refuse) {}

  Formula run() {
    out_.text_ = std::string(text_);
    skip();
    sum();
    if (at_ < text_.size()) fail("unexpected '" + std::string(text_.substr(at_, 12)) + "'", "the end of the formula");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& right) const {
    refuse_(at_, what, right);
    throw Error("formula", what, right);
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char symbol) {
    if (at_ >= text_.size() || text_[at_] != symbol) return false;
    ++at_;
    skip();
    return true;
  }
  void expect(char symbol) {
    if (!accept(symbol)) fail("a part is missing", std::string("'") + symbol + "' here");
  }
  void push(std::string_view function) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
      if (functions[i].name == function) out_.steps_.push_back({Formula::Step::Kind::function, 0, i});
    }
  }

  void sum() {
    if (++depth_ > deepest) fail("too many parentheses in one another", "at most " + std::to_string(deepest));
    product();
    for (;;) {
      const bool plus = accept('+');
      if (!plus && !accept('-')) break;
      product();
      push(plus ? "+" : "-");
    }
    --depth_;
  }
  void product() {
    factor();
    for (;;) {
      const bool times = accept('*');
      if (!times && !accept('/')) return;
      factor();
      push(times ? "*" : "/");
    }
  }
  void factor() {
    if (accept('-')) {
      if (++depth_ > deepest) fail("too many signs in front of one another", "one");
      factor();
      --depth_;
      return push("negative");
    }
    if (accept('(')) {
      sum();
      return expect(')');
    }
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.'))
      return number();
    word();
  }
  void number() {
    double value = 0;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc{} || !std::isfinite(value)) fail("a number that cannot be read", "for example 0.5");
    out_.steps_.push_back({Formula::Step::Kind::constant, value, 0});
    at_ = static_cast<std::size_t>(end - text_.data());
    skip();
  }
  void word() {
    std::size_t end = at_;
    const auto inner = [&](char c) { return c == '_' || c == '.' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    while (end < text_.size() && inner(text_[end])) ++end;
    const std::string name(text_.substr(at_, end - at_));
    if (name.empty())
      fail(at_ < text_.size() ? "unexpected '" + std::string(text_.substr(at_, 12)) + "'" : "it ends",
           "a number, a name, or a function");
    const auto value = std::find(names_.begin(), names_.end(), name);
    if (value != names_.end()) {
      out_.steps_.push_back({Formula::Step::Kind::value, 0, static_cast<std::size_t>(value - names_.begin())});
      at_ = end;
      return skip();
    }
    const auto function = std::find_if(functions.begin() + first_word + 1, functions.end(),
                                       [&](const FormulaFunction& f) { return f.name == name; });
    if (function == functions.end()) {
      std::vector<std::string> known = names_;
      for (auto f = functions.begin() + first_word + 1; f != functions.end(); ++f) known.emplace_back(f->name);
      fail("unknown name '" + name + "'", one_of(name, known));
    }
    at_ = end;
    skip();
    expect('(');
    for (std::size_t i = 0; i < function->operands; ++i) {
      if (i > 0) expect(',');
      sum();
    }
    expect(')');
    push(function->name);
  }

  std::string_view text_;
  const std::vector<std::string>& names_;
  const Formula::Refuse& refuse_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Formula out_;
};

Formula Formula::parse(std::string_view text, const std::vector<std::string>& names, const Refuse& refuse) {
  return FormulaParser(text, names, refuse).run();
}

double Formula::operator()(const std::vector<double>& values) const {
  std::vector<double> stack;
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::constant) {
      stack.push_back(step.constant);
    } else if (step.kind == Step::Kind::value) {
      stack.push_back(values[step.index]);
    } else {
      const FormulaFunction& f = functions[step.index];
      const std::size_t first = stack.size() - f.operands;
      stack[first] = f.of(stack.data() + first);
      stack.resize(first + 1);
    }
  }
  return stack.empty() ? 0 : stack.back();
}

}  // namespace napkin::internal
