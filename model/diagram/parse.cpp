// Text -> diagram. Names are resolved here, where columns are known; the rules of the IR are check()'s.

#include <cctype>
#include <numeric>

#include "model/base/yaml.hpp"
#include "model/diagram/normalised.hpp"
#include "model/diagram/parse_fold.hpp"
#include "model/diagram/parse_line.hpp"
#include "model/diagram/text.hpp"

namespace napkin::internal {
namespace {

using namespace diagram_text;

constexpr std::size_t max_axes = 64;
constexpr std::size_t max_operations = 1024;
/// An operation as written: all names are words until every definition is known.
struct WrittenOperation {
  Line line;
  std::vector<WrittenArray> outputs;
  OpKind kind = OpKind::copy;
  Word function;
  std::vector<Word> own, inputs;
  Word scale_axis;
  Scale scale;
  std::vector<Word> mask;
  std::optional<DType> type;
};

constexpr OpKind all_kinds[] = {OpKind::contract, OpKind::softmax, OpKind::map,      OpKind::sum,
                                OpKind::max,      OpKind::add,     OpKind::subtract, OpKind::multiply,
                                OpKind::divide,   OpKind::copy,    OpKind::fold,     OpKind::scan};

OpKind parse_kind(Line& line) {
  const Word w = line.word("an operation's kind");
  std::vector<std::string> names;
  for (OpKind kind : all_kinds) {
    if (w.text == name_of(kind)) return kind;
    names.emplace_back(name_of(kind));
  }
  line.fail(w, "unknown operation '" + w.text + "'", one_of(w.text, names));
}

void parse_scale(Line& line, WrittenOperation& op) {
  if (!line.sees_word()) {
    op.scale.factor = line.number();
    if (!line.accept('*')) return;
  }
  op.scale_axis = line.word("an axis and its power: d^-1/2");
  line.expect('^', "and a power after the axis: d^-1/2");
  const std::size_t at = line.offset();
  op.scale.numerator = line.integer();
  if (line.accept('/')) op.scale.denominator = line.integer();
  if (op.scale.denominator < 1) line.fail(at, "a power with a denominator below 1", "for example -1/2");
  const int common = std::gcd(op.scale.numerator, op.scale.denominator);
  op.scale.numerator /= common;
  op.scale.denominator /= common;
}

DType parse_type(Line& line) {
  const Word w = line.word("a type");
  try {
    return parse_dtype(w.text, {});
  } catch (const Error&) {
    line.fail(w, "unknown type '" + w.text + "'", one_of(w.text, dtype_names()));
  }
}

void parse_attributes(Line& line, WrittenOperation& op) {
  bool scaled = false;
  while (!line.done()) {
    if (!line.sees_word()) line.expect_end();
    const Word w = line.word("an attribute");
    if (w.text == "scale") {
      if (scaled) line.fail(w, "a second scale", "one scale");
      parse_scale(line, op);
      scaled = true;
    } else if (w.text == "mask") {
      if (!op.mask.empty()) line.fail(w, "a second mask", "one mask");
      line.expect('(', "after mask: mask (row, column)");
      op.mask.push_back(line.word("the mask's row axis"));
      line.expect(',', "between the mask's two axes");
      op.mask.push_back(line.word("the mask's column axis"));
      line.expect(')', "after the mask's two axes");
    } else if (w.text == "type") {
      if (op.type) line.fail(w, "a second type", "one type");
      op.type = parse_type(line);
    } else {
      line.fail(w, "unknown attribute '" + w.text + "'", one_of(w.text, {"scale", "mask", "type"}));
    }
  }
}

WrittenOperation parse_operation(const yaml::Node& node) {
  WrittenOperation op{Line(node), {}, {}, {}, {}, {}, {}, {}, {}, {}};
  Line& line = op.line;
  do {
    op.outputs.push_back(line.array());
    for (const WrittenIndex& index : op.outputs.back().indices)
      line.fail(index.of, "a computed array that is read by other axes", "plain axes; only an input's rows are chosen");
  } while (line.accept(','));
  line.expect('=', "after the outputs");
  op.kind = parse_kind(line);
  const bool folds = op.kind == OpKind::fold || op.kind == OpKind::scan;
  if (op.kind == OpKind::map || folds)
    op.function = line.word(folds ? "the name of one of folds" : "the function that map applies");
  if (line.sees_word()) {
    Word w = line.word("over");
    if (op.kind == OpKind::softmax && w.text == normalised_word) {
      op.function = w;
      w = line.word("over");
    }
    if (w.text != "over") line.fail(w, "unexpected '" + w.text + "'", "'over AXIS' or '(ARRAY, ...)'");
    do op.own.push_back(line.word("an axis"));
    while (line.accept(','));
  }
  line.expect('(', "before the operands");
  do op.inputs.push_back(line.word("an array"));
  while (line.accept(','));
  line.expect(')', "or ',' after an operand");
  parse_attributes(line, op);
  return op;
}

class DiagramParser {
 public:
  explicit DiagramParser(const yaml::Node& root) : root_(root) {}

  Diagram run() {
    root_.allow({"algorithm", "about", "axes", "roles", "folds", "inputs", "operations", "outputs"});
    const yaml::Node& name = root_.at("algorithm");
    d_.name = name.text();
    if (!is_name(d_.name)) name.fail("'" + d_.name + "' is not a name", "a letter, then letters, digits or _");
    if (const yaml::Node* about = root_.find("about"); about != nullptr && !about->is_null()) d_.about = about->text();
    axes(root_.at("axes"));
    if (const yaml::Node* given = root_.find("roles")) roles(*given);
    if (const yaml::Node* given = root_.find("folds")) d_.folds = read_folds(*given);
    for (const yaml::Node& node : some(root_.at("inputs"), "an input")) input(node);
    operations(some(root_.at("operations"), "an operation"));
    for (const yaml::Node& node : some(root_.at("outputs"), "an output")) output(node);
    check(d_);
    return std::move(d_);
  }

 private:
  static yaml::Children<const yaml::Node&> some(const yaml::Node& node, const std::string& what) {
    if (node.items().empty()) node.fail("an empty list", "at least " + what);
    if (node.items().size() > max_operations) node.fail("too long a list", "at most 1024 entries");
    return node.items();
  }

  void axes(const yaml::Node& node) {
    if (node.entries().size() > max_axes) node.fail("too many axes", "at most 64");
    for (const auto& [name, value] : node.entries()) {
      if (!is_name(name)) value.fail("'" + name + "' is not a name for an axis", "a letter, then letters, digits or _");
      d_.axes.push_back(Axis{name, {}, value.location()});
    }
    std::size_t i = 0;
    for (const auto& [name, value] : node.entries()) {
      Axis& axis = d_.axes[i++];
      if (value.is_null()) continue;
      const std::string& text = value.text();
      if (!value.is_quoted() && (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-')) {
        axis.fallback = value.integer(1, INT64_MAX);
      } else if (const auto other = d_.find_axis(text)) {
        axis.fallback = *other;
      } else {
        value.fail("unknown axis '" + text + "'", "a number, nothing, or " + one_of(text, d_.axis_names()));
      }
    }
  }

  void roles(const yaml::Node& node) {
    for (const auto& [name, value] : node.entries()) {
      const auto axis = d_.find_axis(name);
      if (!axis) value.fail("unknown axis '" + name + "'", one_of(name, d_.axis_names()));
      const std::string role = value.choice({"group", "stream", "whole"});
      d_.axes[static_cast<std::size_t>(*axis)].role = role == "group"    ? AxisRole::group
                                                      : role == "stream" ? AxisRole::stream
                                                                         : AxisRole::whole;
    }
  }

  AxisId resolve_axis(const Line& line, const Word& word) const {
    if (const auto id = d_.find_axis(word.text)) return *id;
    line.fail(word, "unknown axis '" + word.text + "'", one_of(word.text, d_.axis_names()));
  }

  ArrayId define(const Line& line, const WrittenArray& written) {
    if (d_.find_array(written.name.text)) {
      line.fail(written.name, "array '" + written.name.text + "' is defined twice",
                "a new name: every array is assigned once");
    }
    Array a{written.name.text, {}, line.at(written.name)};
    for (const Word& w : written.axes) {
      const AxisId id = resolve_axis(line, w);
      if (a.has(id)) line.fail(w, "axis '" + w.text + "' stands twice", "each axis once");
      a.axes.push_back(id);
    }
    for (const WrittenIndex& index : written.indices) a.reindexed.push_back(reindex(line, index, written, a));
    d_.arrays.push_back(std::move(a));
    return static_cast<ArrayId>(d_.arrays.size()) - 1;
  }

  Reindex reindex(const Line& line, const WrittenIndex& index, const WrittenArray& written, const Array& array) {
    Reindex out{resolve_axis(line, index.of), index.first, index.strides, index.offset, {}};
    if (array.has(out.of)) line.fail(index.of, "axis '" + index.of.text + "' stands twice", "each axis once");
    if (!index.table) return out;
    const auto table = d_.find_array(index.table->text);
    if (!table) {
      line.fail(*index.table, "unknown table '" + index.table->text + "'",
                "an input that stands before '" + written.name.text + "'" +
                    (array_names().empty() ? "" : ": " + one_of(index.table->text, array_names())));
    }
    Array& rows = d_.arrays[static_cast<std::size_t>(*table)];
    const auto first = array.axes.begin() + static_cast<std::ptrdiff_t>(index.first);
    const auto count = static_cast<std::ptrdiff_t>(index.strides.size());
    if (!std::equal(rows.axes.begin(), rows.axes.end(), first, first + count)) {
      std::vector<std::string> names;
      for (AxisId a : rows.axes) names.push_back(d_.axes[static_cast<std::size_t>(a)].name);
      line.fail(*index.table, "table " + rows.name + " has other axes", rows.name + "[" + joined(names, ",") + "]");
    }
    if (!rows.type) rows.type = DType::i32;
    out.table = table;
    return out;
  }

  void input(const yaml::Node& node) {
    Line line(node);
    const WrittenArray written = line.array();
    std::optional<DType> type;
    if (line.sees_word()) {
      const Word w = line.word("type");
      if (w.text != "type") line.fail(w, "unknown attribute '" + w.text + "'", "'type NAME' or nothing");
      type = parse_type(line);
    }
    if (!line.done()) line.fail(line.offset(), "more text after the array", "one array an entry");
    d_.inputs.push_back(define(line, written));
    d_.arrays.back().type = type;
  }

  void operations(const yaml::Children<const yaml::Node&>& nodes) {
    std::vector<WrittenOperation> written;
    for (const yaml::Node& node : nodes) written.push_back(parse_operation(node));
    for (const WrittenOperation& op : written) {
      Operation resolved;
      resolved.kind = op.kind;
      resolved.function = op.function.text;
      resolved.location = op.line.at({});
      for (const Word& w : op.own) resolved.own.push_back(resolve_axis(op.line, w));
      for (const Word& w : op.inputs) resolved.inputs.push_back(resolve_array(op.line, w, written));
      resolved.scale = op.scale;
      if (!op.scale_axis.text.empty()) resolved.scale.axis = resolve_axis(op.line, op.scale_axis);
      if (!op.mask.empty()) {
        resolved.mask = {resolve_axis(op.line, op.mask[0]), resolve_axis(op.line, op.mask[1])};
      }
      for (const WrittenArray& a : op.outputs) resolved.outputs.push_back(define(op.line, a));
      d_.arrays[static_cast<std::size_t>(resolved.outputs[0])].type = op.type;
      d_.operations.push_back(std::move(resolved));
    }
  }

  ArrayId resolve_array(const Line& line, const Word& word, const std::vector<WrittenOperation>& written) const {
    if (const auto id = d_.find_array(word.text)) return *id;
    for (const WrittenOperation& op : written) {
      for (const WrittenArray& a : op.outputs) {
        if (a.name.text != word.text) continue;
        line.fail(word, "array '" + word.text + "' is used before it exists",
                  "operations in execution order, without a cycle (it is computed in line " +
                      std::to_string(op.line.at(a.name).line) + ")");
      }
    }
    line.fail(word, "unknown array '" + word.text + "'", one_of(word.text, array_names()));
  }

  void output(const yaml::Node& node) {
    const auto id = d_.find_array(node.text());
    if (!id) node.fail("unknown array '" + node.text() + "'", one_of(node.text(), array_names()));
    if (d_.is_input(*id)) node.fail("'" + node.text() + "' is an input", "a computed array: copy the input");
    if (d_.is_output(*id)) node.fail("'" + node.text() + "' is listed twice", "each output once");
    d_.outputs.push_back(*id);
  }

  std::vector<std::string> array_names() const {
    std::vector<std::string> names;
    for (const Array& a : d_.arrays) names.push_back(a.name);
    return names;
  }

  const yaml::Node& root_;
  Diagram d_;
};

}  // namespace

Diagram read_diagram(const yaml::Node& root) { return DiagramParser(root).run(); }

Diagram parse_diagram(std::string_view text, const std::string& file) {
  const yaml::Document document = yaml::parse(text, file);
  return read_diagram(document.root());
}

}  // namespace napkin::internal
