#include "model/fusion/pseudocode.hpp"

#include <algorithm>

#include "model/diagram/normalised.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"

namespace napkin::internal {
namespace {

/// The labels of axes: g_q if q is grouped, s_x if x streams, else the name.
class Labels {
 public:
  explicit Labels(const Streamed& s) : s_(s) {}

  [[nodiscard]] std::string of(AxisId axis) const {
    const std::string& name = s_.diagram.axes[static_cast<std::size_t>(axis)].name;
    if (s_.stream == axis) return "s_" + name;
    return s_.grouped(axis) ? "g_" + name : name;
  }
  [[nodiscard]] std::string list(const std::vector<AxisId>& axes) const {
    std::vector<std::string> words;
    for (AxisId a : axes) words.push_back(of(a));
    return "[" + joined(words, ",") + "]";
  }
  [[nodiscard]] std::string array(ArrayId id) const {
    return print_array(s_.diagram, id, [&](AxisId axis) { return of(axis); });
  }

 private:
  const Streamed& s_;
};

class Pseudocode {
 public:
  Pseudocode(const Streamed& s, const Program& program, const Colours& colours)
      : s_(s), d_(s.diagram), program_(program), colours_(colours), labels_(s) {}

  std::string run() {
    std::vector<std::string> groups;
    for (std::size_t i = 0; i < s_.roles.size(); ++i) {
      const auto axis = static_cast<AxisId>(i);
      if (s_.grouped(axis)) groups.push_back(axis_name(axis) + " by g_" + axis_name(axis));
    }
    if (!groups.empty()) {
      line("for each group of " + joined(groups) + ", in parallel:");
      ++depth_;
    }
    steps(program_.of(Phase::head));
    if (s_.stream) {
      line("for each chunk s_" + axis_name(*s_.stream) + " of " + axis_name(*s_.stream) + visited() + ":");
      ++depth_;
      steps(program_.of(Phase::loop));
      --depth_;
    }
    steps(program_.of(Phase::tail));
    depth_ = 0;
    for (const Combine& c : s_.combines) combine(c);
    return std::move(text_);
  }

 private:
  const std::string& axis_name(AxisId id) const { return d_.axes[static_cast<std::size_t>(id)].name; }
  const std::string& name(ArrayId id) const { return d_.arrays[static_cast<std::size_t>(id)].name; }
  const Operation& op(OpId id) const { return d_.operations[static_cast<std::size_t>(id)]; }
  const StreamedOp& part(OpId id) const { return s_.operations[static_cast<std::size_t>(id)]; }

  void line(const std::string& text) {
    std::string whole = std::string(static_cast<std::size_t>(2 * depth_), ' ') + text;
    if (!colour_.empty()) {
      constexpr std::size_t column = 56;
      whole += std::string(std::max(whole.size() + 2, column) - whole.size(), ' ') + colour_;
      colour_.clear();
    }
    text_ += whole + "\n";
  }

  std::string visited() const {
    if (!s_.skips) return "";
    return " that the mask (" + axis_name((*s_.skips)[0]) + ", " + axis_name((*s_.skips)[1]) + ") leaves visible";
  }

  void steps(const std::vector<Step>& all) {
    for (const Step& one : all) step(one);
  }

  /// Writes a step. A statement's colour stands after its first line.
  void step(const Step& one) {
    if (one.kind == Step::Kind::loop) {
      line("for each " + one.part.name + " of " + labels_.of(one.part.axis) + ":");
      ++depth_;
      steps(one.body);
      --depth_;
      return;
    }
    if (colours_) colour_ = colours_(one.statement);
    one.kind == Step::Kind::statement ? statement(one.statement) : piece(one.kind, *one.statement.operation);
    colour_.clear();
  }

  /// Returns the note that a product may go in parts, whose sums add up; "" if it may not, or if steps have colours.
  std::string parts(OpId id) const {
    if (colours_ || (op(id).kind != OpKind::contract && op(id).kind != OpKind::sum)) return "";
    std::vector<std::string> axes;
    for (AxisId a : op(id).own) axes.push_back("u_" + axis_name(a) + " of " + labels_.of(a));
    return "      (may go in parts " + joined(axes) + ": they add up)";
  }

  void statement(const Statement& s) {
    switch (s.kind) {
      case Statement::Kind::initialise: return initialise(s);
      case Statement::Kind::load: return line("load " + labels_.array(*s.array));
      case Statement::Kind::store: return line(store(*s.array));
      case Statement::Kind::rescale: return line(name(*s.array) + " *= " + auxiliary("delta", *s.operation));
      case Statement::Kind::normalise:
        return line(name(*s.array) + " /= " + auxiliary("z", *s.operation) + "      (rows with z = 0 stay 0)");
      case Statement::Kind::compute: return compute(s);
    }
  }

  std::string store(ArrayId id) const {
    const Combine* c = s_.combine_of(id);
    return "store " + labels_.array(id) +
           (c == nullptr ? "" : "      (partial: one for each group of " + axes_of(id) + ")");
  }

  std::string axes_of(ArrayId id) const {
    std::vector<std::string> axes;
    for (const Combine& c : s_.combines) {
      if (c.array == id) axes.push_back(axis_name(c.axis));
    }
    return joined(axes);
  }

  std::string auxiliary(const std::string& kind, OpId softmax) const {
    for (const Auxiliary& a : s_.auxiliaries) {
      if (a.owner == softmax && (a.name == kind || a.name.starts_with(kind + "."))) return a.name;
    }
    return kind;
  }

  void initialise(const Statement& s) {
    if (s.array) {
      const bool zero = initial_value(s_, *s.array) == 0;
      return line(labels_.array(*s.array) + " = " + (zero ? "0" : "-infinity"));
    }
    const bool softmax = op(*s.operation).kind == OpKind::softmax;
    for (const Auxiliary& a : s_.auxiliaries) {
      if (a.owner != *s.operation) continue;
      if (!softmax) line(a.name + labels_.list(a.axes) + " = " + print_scale(d_, Scale{a.initial, std::nullopt, 0, 1}));
      if (!softmax || a.name.starts_with("delta")) continue;
      line(a.name + labels_.list(a.axes) + " = " + (a.name.starts_with("mu") ? "-infinity" : "0"));
    }
  }

  /// Returns the operation as in the diagram, without its output: "contract over x (P, V) scale d^-1/2".
  std::string right_side(OpId id) const {
    const std::string text = print_operation(d_, id);
    return text.substr(text.find(" = ") + 3);
  }

  void compute(const Statement& s) {
    const OpId id = *s.operation;
    const std::string out = name(op(id).outputs[0]);
    if (s.array && part(id).accumulator == AccumulatorKind::fold)
      return line(labels_.array(*s.array) + " = " + d_.fold_of(op(id)).result.text() + "      (of " + out + ".*)");
    if (s.array && op(id).outputs.size() > 2)
      return line(labels_.array(*s.array) + " = " + auxiliary(*s.array == op(id).outputs[1] ? "mu" : "z", id));
    if (s.array) {
      return line(labels_.array(*s.array) + " = " + auxiliary("mu", id) + " + log " + auxiliary("z", id));
    }
    if (part(id).accumulator == AccumulatorKind::online_softmax) return online_softmax(id);
    if (op(id).kind == OpKind::softmax) return whole_softmax(id);
    if (part(id).accumulator == AccumulatorKind::fold || part(id).accumulator == AccumulatorKind::scan) return fold(id);
    if (part(id).accumulator == AccumulatorKind::sum) return line(out + " += " + right_side(id) + parts(id));
    if (part(id).accumulator == AccumulatorKind::max) return line(out + " = max(" + out + ", " + right_side(id) + ")");
    std::vector<std::string> outputs;
    for (ArrayId a : op(id).outputs) outputs.push_back(labels_.array(a));
    line(joined(outputs) + " = " + right_side(id) + parts(id));
  }

  /// Writes a fold by eq. 4.5: the state of all elements before, a, is merged with that of each element, b.
  void fold(OpId id) {
    const Fold& f = d_.fold_of(op(id));
    const std::string out = name(op(id).outputs[0]);
    std::vector<std::string> of;
    for (std::size_t i = 0; i < f.of.size(); ++i) of.push_back(f.of[i] + " of " + name(op(id).inputs[i]));
    line("for each " + axis_name(op(id).own[0]) + " of " + labels_.of(op(id).own[0]) + ", " + joined(of) + ":");
    ++depth_;
    for (const FoldValue& v : f.state)
      line(out + "." + v.name + "' = " + v.merge.text() + "      (a: " + out + ".*, b." + v.name + " = " +
           v.each.text() + ")");
    line(out + ".* = " + out + ".*'");
    if (part(id).accumulator == AccumulatorKind::scan) line(labels_.array(op(id).outputs[0]) + " = " + f.result.text());
    --depth_;
  }

  /// Writes an online softmax by eq. 4.2 and eq. 4.3, with erratum P10: the state's letters are the auxiliaries' names.
  void online_softmax(OpId id) {
    const std::string mu = auxiliary("mu", id), delta = auxiliary("delta", id), z = auxiliary("z", id);
    line(mu + "' = max(" + mu + ", " + largest(id) + ")" + masked(id));
    line(delta + " = exp(" + mu + " - " + mu + "'); " + mu + " = " + mu + "'");
    exponentials(id);
    if (is_normalised(op(id))) {
      line(z + "' = " + delta + " * " + z + " + " + sum(id));
      line(delta + " *= " + z + " / " + z + "'; " + z + " = " + z + "'");
      return line(name(op(id).outputs[0]) + " /= " + z + "      (rows with z = 0 stay 0)");
    }
    line(z + " = " + delta + " * " + z + " + " + sum(id));
  }

  /// Writes a softmax that holds whole rows.
  void whole_softmax(OpId id) {
    const std::vector<ArrayId>& outputs = op(id).outputs;
    const std::string mu = "mu." + name(outputs[0]), z = "z." + name(outputs[0]);
    line(mu + " = " + largest(id) + masked(id));
    line(labels_.array(outputs[0]) + " = exp(" + scaled_argument(id) + " - " + mu + ")");
    line(z + " = " + sum(id));
    line(name(outputs[0]) + " /= " + z + "      (rows with z = 0 stay 0)");
    if (outputs.size() == 2) line(labels_.array(outputs[1]) + " = " + mu + " + log " + z);
    if (outputs.size() > 2) line(labels_.array(outputs[1]) + " = " + mu + "; " + labels_.array(outputs[2]) + " = " + z);
  }

  /// Writes a piece of a softmax whose parts of a chunk share their maximum.
  void piece(Step::Kind kind, OpId id) {
    const std::string mu = auxiliary("mu", id), delta = auxiliary("delta", id), z = auxiliary("z", id);
    switch (kind) {
      case Step::Kind::begin: return line(mu + "' = " + mu);
      case Step::Kind::raise: return line(mu + "' = max(" + mu + "', " + largest(id) + ")" + masked(id));
      case Step::Kind::shift:
        return line(delta + " = exp(" + mu + " - " + mu + "'); " + mu + " = " + mu + "'; " + z + " *= " + delta);
      default: exponentials(id); return line(z + " += " + sum(id));
    }
  }

  void exponentials(OpId id) {
    line(labels_.array(op(id).outputs[0]) + " = exp(" + scaled_argument(id) + " - " + auxiliary("mu", id) + ")");
  }
  std::string largest(OpId id) const { return "max" + over(id) + " of " + scaled_argument(id); }
  std::string sum(OpId id) const { return "sum" + over(id) + " of " + name(op(id).outputs[0]); }
  std::string over(OpId id) const {
    std::vector<std::string> own;
    for (AxisId a : op(id).own) own.push_back(axis_name(a));
    return " over " + joined(own, ",");
  }

  std::string scaled_argument(OpId id) const {
    const std::string text = right_side(id);
    const std::size_t at = text.find(" scale ");
    std::string argument = name(op(id).inputs[0]);
    if (at == std::string::npos) return argument;
    const std::size_t begin = at + 7;
    return text.substr(begin, text.find(' ', begin) - begin) + " * " + argument;
  }

  std::string masked(OpId id) const {
    if (!op(id).mask) return "";
    return "      (masked (" + axis_name((*op(id).mask)[0]) + ", " + axis_name((*op(id).mask)[1]) +
           "): " + (op(id).kind == OpKind::softmax ? "-infinity" : "0") + ")";
  }

  void combine(const Combine& c) {
    const std::string array = name(c.array), over = axis_name(c.axis);
    std::string how = "sum of the parts";
    if (c.kind == Combine::Kind::max) how = "maximum of the parts";
    if (c.kind == Combine::Kind::log_sum_exp) how = "log of the sum of exp(parts)";
    if (c.kind == Combine::Kind::weighted) {
      const std::string lse = name(*c.log_sum_exp);
      how = "sum of exp(" + lse + "_i - " + lse + ") * part_i";
    }
    line("combine the groups of " + over + ": " + array + " = " + how);
  }

  const Streamed& s_;
  const Diagram& d_;
  const Program& program_;
  const Colours& colours_;
  Labels labels_;
  std::string text_, colour_;
  int depth_ = 0;
};

std::string role_text(AxisRole role) {
  switch (role) {
    case AxisRole::whole: return "whole";
    case AxisRole::group: return "group";
    case AxisRole::stream: return "stream";
    case AxisRole::split: return "split";
  }
  return {};
}

}  // namespace

std::string print_labels(const Streamed& s) {
  const Labels labels(s);
  const Diagram& d = s.diagram;
  std::string text;
  for (std::size_t i = 0; i < d.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    text += d.axes[i].name + (labels.of(axis) == d.axes[i].name ? "" : " -> " + labels.of(axis)) + "  (" +
            role_text(s.roles[i]) + (s.stream == axis && s.grouped(axis) ? ", streamed within its groups" : "") + ")\n";
  }
  text += "\n";
  std::vector<std::string> inputs, outputs;
  for (ArrayId id : d.inputs) inputs.push_back(labels.array(id));
  for (ArrayId id : d.outputs) outputs.push_back(d.arrays[static_cast<std::size_t>(id)].name);
  text += "inputs   " + joined(inputs) + "\n";
  for (std::size_t i = 0; i < d.operations.size(); ++i) {
    const std::string operation = print_operation(d, static_cast<OpId>(i));
    std::vector<std::string> results;
    for (ArrayId id : d.operations[i].outputs) results.push_back(labels.array(id));
    text += "         " + joined(results) + operation.substr(operation.find(" = ")) + "\n";
  }
  return text + "outputs  " + joined(outputs) + "\n";
}

std::string print_pseudocode(const Streamed& streamed, const Program& program, const Colours& colours) {
  return Pseudocode(streamed, program, colours).run();
}

std::string print_pseudocode(const Streamed& streamed) { return print_pseudocode(streamed, program_of(streamed)); }

std::string print_steps(const Streamed& streamed) {
  std::string text;
  for (std::size_t i = 0; i < streamed.steps.size(); ++i) {
    const DerivationStep& step = streamed.steps[i];
    text += std::to_string(i + 1) + ". " + step.rule + ": " + step.text + "\n";
  }
  return text;
}

}  // namespace napkin::internal
