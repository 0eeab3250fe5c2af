// Text -> statement. Names of loops are resolved here, where columns are known.

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "model/dependence/parse.hpp"
#include "model/dependence/text.hpp"

namespace napkin::internal::dependence {
namespace {

constexpr std::int64_t max_offset = 1'000'000;
constexpr int max_depth = 200;
constexpr int max_nodes = 2000;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return c == '_' || is_letter(c) || is_digit(c); }

}  // namespace

bool is_name(std::string_view word) {
  return !word.empty() && word.size() <= 64 && is_letter(word[0]) && std::all_of(word.begin(), word.end(), is_word);
}

bool is_reserved(std::string_view word) { return word == "infinity" || find_function(word) != nullptr; }

namespace {

/// Line of text, with the place of each of its characters.
class Cursor {
 public:
  Cursor(const std::string& text, std::string field, std::function<Location(std::size_t)> place)
      : text_(text), field_(std::move(field)), place_(std::move(place)) {
    skip();
  }

  [[noreturn]] void fail(std::size_t offset, const std::string& what, const std::string& right) const {
    throw Error(place_(offset), field_, what, right);
  }
  [[nodiscard]] Location place(std::size_t offset) const { return place_(offset); }
  [[nodiscard]] std::size_t offset() const { return at_; }
  [[nodiscard]] bool done() const { return at_ == text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }

  bool accept(char symbol) {
    if (peek() != symbol) return false;
    ++at_;
    skip();
    return true;
  }
  void expect(char symbol, const std::string& after) {
    if (!accept(symbol)) fail(at_, found(), std::string("'") + symbol + "' " + after);
  }
  std::string word(const std::string& wanted) {
    const std::size_t begin = at_;
    while (is_word(peek())) ++at_;
    const std::string text = text_.substr(begin, at_ - begin);
    if (text.empty()) fail(begin, found(), wanted);
    if (!is_name(text)) fail(begin, "'" + text + "' is not a name", wanted + ": a letter, then letters, digits or _");
    skip();
    return text;
  }
  double number() {
    double value = 0;
    const auto [stop, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc{} || !std::isfinite(value)) fail(at_, found(), "a finite number such as 0.125");
    advance(stop);
    return value;
  }
  std::int64_t integer(std::int64_t most) {
    std::int64_t value = 0;
    const auto [stop, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc{} || !is_digit(peek()) || value > most) {
      fail(at_, found(), "a whole number of at most " + std::to_string(most));
    }
    advance(stop);
    return value;
  }
  [[nodiscard]] std::string found() const {
    if (done()) return "the line ends here";
    return "unexpected '" + text_.substr(at_, std::min<std::size_t>(12, text_.find(' ', at_) - at_)) + "'";
  }

 private:
  void skip() {
    while (peek() == ' ') ++at_;
  }
  void advance(const char* stop) {
    at_ = static_cast<std::size_t>(stop - text_.data());
    skip();
  }

  const std::string& text_;
  std::string field_;
  std::function<Location(std::size_t)> place_;
  std::size_t at_ = 0;
};

class StatementParser {
 public:
  StatementParser(const Nest& nest, Cursor& line) : nest_(nest), line_(line) {}

  Statement run() {
    Statement s;
    s.location = line_.place(line_.offset());
    s.name = line_.word("a statement's name, as in S1(i,j) s = q * k");
    loops(s);
    const std::size_t at = line_.offset();
    s.target = reference(line_.word("what is assigned"), at);
    line_.expect('=', "after what is assigned");
    s.value = expression();
    if (!line_.done()) line_.fail(line_.offset(), line_.found(), "an operator or the end of the line");
    return s;
  }

 private:
  LoopId loop() {
    const std::size_t at = line_.offset();
    const std::string name = line_.word("a loop");
    if (const auto id = nest_.find_loop(name)) return *id;
    line_.fail(at, "unknown loop '" + name + "'", one_of(name, loop_names(nest_)));
  }

  void loops(Statement& s) {
    line_.expect('(', "and the loops that the statement stands in: S1(i,j)");
    if (line_.accept(')')) return;
    do {
      const std::size_t at = line_.offset();
      const LoopId id = loop();
      if (!s.loops.empty() && s.loops.back() >= id) {
        line_.fail(at, "loop '" + nest_.loops[static_cast<std::size_t>(id)].name + "' out of order",
                   "each loop once, outermost first: " + joined(loop_names(nest_)));
      }
      s.loops.push_back(id);
    } while (line_.accept(','));
    line_.expect(')', "or ',' after a loop");
  }

  Subscript subscript() {
    Subscript s;
    if (is_letter(line_.peek())) {
      s.loop = loop();
      if (line_.accept('+'))
        s.offset = line_.integer(max_offset);
      else if (line_.accept('-'))
        s.offset = -line_.integer(max_offset);
    } else if (line_.accept('-')) {
      s.offset = -line_.integer(max_offset);
    } else {
      s.offset = line_.integer(max_offset);
    }
    if (line_.peek() != ',' && line_.peek() != ']') {
      line_.fail(line_.offset(), line_.found(),
                 "',' or ']': a subscript is a loop, a loop + or - a number, or a number");
    }
    return s;
  }

  Reference reference(const std::string& name, std::size_t at) {
    if (is_reserved(name)) line_.fail(at, "'" + name + "' is a word of the language", "another name");
    Reference r{name, {}};
    if (!line_.accept('[')) return r;
    do r.subscripts.push_back(subscript());
    while (line_.accept(','));
    line_.expect(']', "after the subscripts");
    return r;
  }

  /// A level of brackets or signs: refuses too deep an input before the call stack overflows.
  class Deeper {
   public:
    explicit Deeper(StatementParser& parser) : parser_(parser) {
      if (++parser_.depth_ > max_depth) parser_.line_.fail(parser_.line_.offset(), "too deep", "at most 200 levels");
    }
    ~Deeper() { --parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    StatementParser& parser_;
  };

  /// Parses operands joined by two operators of one precedence, `symbols`, from the left.
  template <class Operand>
  Expression chain(const char* symbols, Expression::Kind first, Expression::Kind second, Operand&& operand) {
    Expression left = operand();
    for (;;) {
      const bool is_first = line_.accept(symbols[0]);
      if (!is_first && !line_.accept(symbols[1])) return left;
      count_node();
      Expression both;
      both.kind = is_first ? first : second;
      both.operands.push_back(std::move(left));
      both.operands.push_back(operand());
      left = std::move(both);
    }
  }

  Expression expression() {
    const Deeper deeper(*this);
    return chain("+-", Expression::Kind::add, Expression::Kind::subtract, [this] { return term(); });
  }
  Expression term() {
    return chain("*/", Expression::Kind::multiply, Expression::Kind::divide, [this] { return factor(); });
  }

  /// Counts a node of the tree; the bound on them bounds its depth too.
  void count_node() {
    if (++nodes_ > max_nodes)
      line_.fail(line_.offset(), "too long an expression", "at most 2000 operands and operators");
  }

  Expression factor() {
    const Deeper deeper(*this);
    count_node();
    Expression e;
    if (line_.accept('-')) {
      e.kind = Expression::Kind::negate;
      e.operands.push_back(factor());
    } else if (line_.accept('(')) {
      e = expression();
      line_.expect(')', "or an operator");
    } else if (is_letter(line_.peek())) {
      e = named();
    } else {
      e.number = line_.number();
    }
    return e;
  }

  Expression named() {
    const std::size_t at = line_.offset();
    const std::string name = line_.word("a name");
    Expression e;
    if (name == "infinity") {
      e.number = std::numeric_limits<double>::infinity();
    } else if (line_.peek() == '(') {
      e = call(name, at);
    } else {
      e.kind = Expression::Kind::reference;
      e.reference = reference(name, at);
    }
    return e;
  }

  Expression call(const std::string& name, std::size_t at) {
    const Function* function = find_function(name);
    if (function == nullptr) {
      std::vector<std::string> known;
      for (const Function& f : functions()) known.emplace_back(f.name);
      line_.fail(at, "unknown function '" + name + "'", one_of(name, known));
    }
    Expression e;
    e.kind = Expression::Kind::call;
    e.function = name;
    line_.expect('(', "after a function");
    do e.operands.push_back(expression());
    while (line_.accept(','));
    line_.expect(')', "or ',' after an operand");
    if (e.operands.size() != function->operands) {
      line_.fail(at, name + " of " + std::to_string(e.operands.size()) + " operands",
                 std::to_string(function->operands) + " operands");
    }
    return e;
  }

  const Nest& nest_;
  Cursor& line_;
  int depth_ = 0;
  int nodes_ = 0;
};

}  // namespace

Statement read_statement(const Nest& nest, const std::string& text, const std::string& field,
                         std::function<Location(std::size_t)> place) {
  Cursor line(text, field, std::move(place));
  return StatementParser(nest, line).run();
}

Statement parse_statement(const Nest& nest, const std::string& text, const std::string& where) {
  return read_statement(nest, text, "", [&where](std::size_t offset) {
    return Location{where, 1, static_cast<int>(offset) + 1};
  });
}

}  // namespace napkin::internal::dependence
