// Text -> nest. The rules of a nest are check()'s.

#include "model/dependence/parse.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "model/base/yaml.hpp"
#include "model/dependence/library.hpp"
#include "model/dependence/text.hpp"

namespace napkin::internal::dependence {
namespace {

constexpr std::int64_t max_end = std::int64_t{1} << 40;

class NestParser {
 public:
  explicit NestParser(const yaml::Node& root) : root_(root) {}

  Nest run() {
    root_.allow({"nest", "about", "loops", "arrays", "statements", "outputs", "claims"});
    nest_.name = name(root_.at("nest"));
    if (const yaml::Node* about = root_.find("about"); about != nullptr && !about->is_null()) {
      nest_.about = about->text();
    }
    if (const yaml::Node& node = root_.at("loops"); !node.is_null()) loops(node);
    if (const yaml::Node* node = root_.find("arrays"); node != nullptr && !node->is_null()) arrays(*node);
    statements(root_.at("statements"));
    if (const yaml::Node* node = root_.find("outputs"); node != nullptr && !node->is_null()) outputs(*node);
    if (const yaml::Node* node = root_.find("claims"); node != nullptr && !node->is_null()) claims(*node);
    check(nest_);
    return std::move(nest_);
  }

 private:
  static std::string name(const yaml::Node& node) {
    if (!is_name(node.text())) node.fail("'" + node.text() + "' is not a name", "a letter, then letters, digits or _");
    return node.text();
  }
  static void check_key(const std::string& key, const yaml::Node& value) {
    const Location& at = value.key_location();
    if (!is_name(key))
      throw Error(at, value.path(), "'" + key + "' is not a name", "a letter, then letters, digits or _");
    if (is_reserved(key)) throw Error(at, value.path(), "'" + key + "' is a word of the language", "another name");
  }

  void loops(const yaml::Node& node) {
    if (node.entries().size() > max_loops) node.fail("too many loops", "at most 64");
    for (const auto& [key, value] : node.entries()) {
      check_key(key, value);
      nest_.loops.push_back(range(key, value));
    }
  }

  static Loop range(const std::string& key, const yaml::Node& value) {
    Loop loop{key, 0, 1, value.location()};
    const std::string& text = value.text();
    const std::size_t dots = text.find("..");
    const auto whole = [&](std::string_view digits) {
      std::int64_t number = 0;
      const auto [stop, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (digits.empty() || code != std::errc{} || stop != digits.data() + digits.size() || number > max_end ||
          number < -max_end) {
        value.fail("'" + text + "' is not a range", "a count, or begin..end: 1..4 is 1, 2, 3");
      }
      return number;
    };
    const std::string_view all = text;
    if (dots != std::string::npos) loop.begin = whole(all.substr(0, dots));
    loop.end = whole(dots == std::string::npos ? all : all.substr(dots + 2));
    return loop;
  }

  void arrays(const yaml::Node& node) {
    for (const auto& [key, value] : node.entries()) {
      check_key(key, value);
      MemoryArray array{key, std::nullopt, value.key_location()};
      if (!value.is_null()) array.initial = initial(value);
      nest_.arrays.push_back(std::move(array));
    }
  }

  static double initial(const yaml::Node& value) {
    if (value.text() == "infinity") return std::numeric_limits<double>::infinity();
    if (value.text() == "-infinity") return -std::numeric_limits<double>::infinity();
    return value.number();
  }

  void statements(const yaml::Node& node) {
    if (node.items().empty()) node.fail("an empty list", "at least a statement");
    if (node.items().size() > max_statements) node.fail("too long a list", "at most 512 statements");
    for (const yaml::Node& item : node.items()) {
      nest_.statements.push_back(read_statement(nest_, item.text(), item.path(),
                                                [&item](std::size_t offset) { return item.at_offset(offset); }));
    }
  }

  void outputs(const yaml::Node& node) {
    std::vector<std::string> known;
    for (const MemoryArray& a : nest_.arrays) known.push_back(a.name);
    for (const yaml::Node& item : node.items()) {
      const std::string& text = item.text();
      if (nest_.find_array(text) == nullptr) item.fail("unknown array '" + text + "'", one_of(text, known));
      if (std::find(nest_.outputs.begin(), nest_.outputs.end(), text) != nest_.outputs.end()) {
        item.fail("'" + text + "' is listed twice", "each output once");
      }
      nest_.outputs.push_back(text);
    }
  }

  std::string built_in(const yaml::Node& node) {
    const std::vector<std::string> known = builtin_nests();
    if (std::find(known.begin(), known.end(), node.text()) == known.end())
      node.fail("no nest '" + node.text() + "' is built in", one_of(node.text(), known));
    return node.text();
  }

  void claims(const yaml::Node& node) {
    node.allow({"parallel", "same_as"});
    if (const yaml::Node* other = node.find("same_as"); other != nullptr) nest_.same_as = built_in(*other);
    const yaml::Node* parallel = node.find("parallel");
    if (parallel == nullptr) return;
    for (const yaml::Node& item : parallel->items()) {
      const auto id = nest_.find_loop(item.text());
      if (!id) item.fail("unknown loop '" + item.text() + "'", one_of(item.text(), loop_names(nest_)));
      nest_.claimed_parallel.push_back(*id);
    }
  }

  const yaml::Node& root_;
  Nest nest_;
};

}  // namespace

Nest read_nest(const yaml::Node& root) { return NestParser(root).run(); }

Nest parse_nest(std::string_view text, const std::string& file) {
  const yaml::Document document = yaml::parse(text, file);
  return read_nest(document.root());
}

}  // namespace napkin::internal::dependence
