#include "apps/report/diagram/columns.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "apps/report/diagram/column_maker.hpp"
#include "apps/report/diagram/held.hpp"
#include "apps/report/diagram/places.hpp"
#include "model/base/error.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/accumulator.hpp"
#include "model/fusion/derive.hpp"
#include "model/mapping/place/parts.hpp"

namespace napkin::internal::report {
namespace {

std::string symbol_of(const Operation& operation) {
  switch (operation.kind) {
    case OpKind::contract: return "·";
    case OpKind::sum: return "Σ";
    case OpKind::add: return "+";
    case OpKind::subtract: return "−";
    case OpKind::multiply: return "×";
    case OpKind::divide: return "÷";
    case OpKind::map:
    case OpKind::fold:
    case OpKind::scan: return operation.function;
    default: return std::string(name_of(operation.kind));
  }
}

/// Returns the axis along which a sum concatenates its operands: rows of inputs that begin at different places of that
/// axis and count as 0 elsewhere. Nothing for any other sum.
std::optional<AxisId> joined_along(const Diagram& diagram, const Operation& operation) {
  if (operation.kind != OpKind::add) return std::nullopt;
  std::optional<AxisId> along;
  std::vector<std::int64_t> begins;
  for (const ArrayId input : operation.inputs) {
    const Array& array = diagram.arrays[at(input)];
    if (array.reindexed.size() != 1) return std::nullopt;
    const Reindex& rows = array.reindexed.front();
    const AxisId axis = array.axes[rows.first];
    if (rows.table || rows.strides != std::vector<std::int64_t>{1} || along.value_or(axis) != axis) return std::nullopt;
    along = axis;
    begins.push_back(rows.offset);
  }
  std::sort(begins.begin(), begins.end());
  return std::adjacent_find(begins.begin(), begins.end()) == begins.end() ? along : std::nullopt;
}

}  // namespace

ColumnDiagram ColumnMaker::run() {
  out_.placed = places_.placed() != nullptr;
  out_.levels = places_.levels();
  if (out_.placed) {
    out_.compute = places_.placed()->machine->compute;
    out_.threads = places_.deepest();
    out_.values = places_.placed()->machine->tensor.empty() && places_.placed()->problem->dtype == DType::value;
  }
  bundle_of_.assign(d_.arrays.size(), -1);
  column(Kind::data);
  for (const ArrayId id : d_.inputs) {
    begin(add(d_.arrays[at(id)].name, d_.arrays[at(id)].axes, id), 0, -1);
    if (d_.is_table(id)) std::get<Stretch>(data().events.back()).type = rows_named_by(id);
  }
  const Program program = out_.placed ? program_of(s_, parts_of(*places_.placed())) : program_of(s_);
  steps(program.of(Phase::head));
  if (s_.stream) {
    phase_ = Phase::loop;
    bracket(Kind::open, false, "for each s_" + axis(*s_.stream) + " of " + axis(*s_.stream));
    steps(program.of(Phase::loop));
    end_of_loop();
    bracket(Kind::close, false, "");
  }
  phase_ = Phase::tail;
  steps(program.of(Phase::tail));
  finish();
  return std::move(out_);
}

DiagramColumn& ColumnMaker::column(Kind kind) {
  DiagramColumn& one = out_.columns.emplace_back();
  one.kind = kind;
  one.phase = phase_;
  return one;
}

DiagramColumn& ColumnMaker::data() {
  if (out_.columns.back().kind != Kind::data) column(Kind::data);
  return out_.columns.back();
}

void ColumnMaker::bracket(Kind kind, bool inner, const std::string& title) {
  data();
  DiagramColumn& one = column(kind);
  one.inner = inner;
  one.title = title;
  column(Kind::data);
}

void ColumnMaker::steps(const std::vector<Step>& all) {
  for (const Step& one : all) {
    if (one.kind == Step::Kind::loop) {
      std::string title = "for each " + part(one);
      const Step* inner = &one;
      for (; inner->body.size() == 1 && inner->body[0].kind == Step::Kind::loop; inner = &inner->body[0])
        title += ", " + part(inner->body[0]);
      bracket(Kind::open, true, title);
      steps(inner->body);
      bracket(Kind::close, true, "");
    } else if (one.kind == Step::Kind::statement) {
      statement(one.statement);
    } else {
      piece(one.kind, *one.statement.operation);
    }
  }
}

std::string ColumnMaker::part(const Step& loop) const {
  const std::string& name = loop.part.name;
  return name.find('=') == std::string::npos ? name + " of " + axis(loop.part.axis) : name;
}

void ColumnMaker::statement(const Statement& s) {
  switch (s.kind) {
    case Statement::Kind::load: return load(*s.array);
    case Statement::Kind::store: return store(*s.array);
    case Statement::Kind::initialise: return initialise(s);
    case Statement::Kind::rescale: return scaled(*s.array, "×", factor(*s.operation));
    case Statement::Kind::normalise: return scaled(*s.array, "÷", state(*s.operation));
    case Statement::Kind::compute: return s.array ? statistic(s) : compute(*s.operation);
  }
}

void ColumnMaker::initialise(const Statement& s) {
  Made made;
  made.function.shape = Shape::start;
  if (s.array) {
    made.function.text = initial_value(s_, *s.array) == 0 ? "0" : "−∞";
    made.fresh = {{*s.array, -1}};
    return put(std::move(made));
  }
  const bool softmax = d_.operations[at(*s.operation)].kind == OpKind::softmax;
  const std::string names =
      softmax ? greek(auxiliary("mu", *s.operation)) + ", " + auxiliary("z", *s.operation) : state_names(*s.operation);
  const int id = add(names, state_axes(d_, *s.operation), -1, *s.operation);
  made.function.text = softmax ? "−∞, 0" : "∅";
  made.outputs = {id};
  put(std::move(made));
  begin(id, places_.deepest(), -1);
  bundle(id).first = here() - 1;
}

std::string ColumnMaker::state_names(OpId fold) const {
  std::vector<std::string> names;
  for (const Auxiliary& a : s_.auxiliaries) {
    if (a.owner == fold) names.push_back(a.name);
  }
  return joined(names);
}

void ColumnMaker::scaled(ArrayId array, const std::string& text, int by) {
  Made made;
  made.function.shape = Shape::item;
  made.function.text = text;
  made.function.title = d_.arrays[at(array)].name + " " + text + " " + (by < 0 ? "" : bundle(by).name);
  if (by >= 0) made.inputs = {{by, bundle(by).state_of >= 0}};
  made.outputs = {bundle_of_[at(array)]};
  put(std::move(made));
}

void ColumnMaker::statistic(const Statement& s) {
  Made made;
  made.function.shape = Shape::item;
  const Operation& o = d_.operations[at(*s.operation)];
  made.function.text = o.kind == OpKind::fold     ? o.function
                       : o.outputs.size() == 2    ? "lse"
                       : *s.array == o.outputs[1] ? "max"
                                                  : "Σ";
  made.inputs = {{state(*s.operation), true}};
  made.fresh = {{*s.array, -1}};
  put(std::move(made));
}

ColumnMaker::Made ColumnMaker::begun(OpId id, Shape shape, const std::string& text) {
  Made made;
  const Operation& o = d_.operations[at(id)];
  made.function.shape = shape;
  made.function.text = text;
  made.function.operation = id;
  made.function.title = print_operation(d_, id);
  made.function.consumed = places_.drawn(o.own);
  std::vector<std::string> over;
  for (const AxisId a : made.function.consumed) over.push_back(axis(a));
  made.function.over = joined(over);
  made.function.splits = o.kind == OpKind::contract;
  return made;
}

void ColumnMaker::piece(Step::Kind kind, OpId id) {
  if (kind == Step::Kind::begin) return;
  const ArrayId scores = d_.operations[at(id)].inputs[0];
  const bool raise = kind == Step::Kind::raise, shift = kind == Step::Kind::shift;
  Made made = begun(id, shift ? Shape::item : Shape::box, raise ? "max" : shift ? "δ" : "exp, Σ");
  if (shift) made.function.consumed.clear();
  if (!raise) made.function.over.clear();
  if (!shift) made.inputs = {{bundle_of_[at(scores)], raise || stays(scores, id)}};
  if (raise || shift) made.outputs = {state(id)};
  if (shift) made.fresh = {{-1, id}};
  if (!raise && !shift)
    made.inputs.emplace_back(state(id), true), made.fresh = {{d_.operations[at(id)].outputs[0], -1}};
  put(std::move(made));
}

void ColumnMaker::compute(OpId id) {
  const Operation& o = d_.operations[at(id)];
  const StreamedOp& how = s_.operations[at(id)];
  const bool own = !o.own.empty();
  Made made = begun(id, o.kind == OpKind::softmax ? Shape::triangle : own ? Shape::box : Shape::item, symbol_of(o));
  if (const auto along = joined_along(d_, o); along && places_.drawn(*along)) {
    made.function.shape = Shape::box;
    made.function.text = "join";
    made.function.consumed = {*along};
  }
  for (const ArrayId in : o.inputs) {
    const int from = bundle_of_[at(in)];
    const bool twice =
        std::any_of(made.inputs.begin(), made.inputs.end(), [&](const auto& other) { return other.first == from; });
    if (!twice) made.inputs.emplace_back(from, stays(in, id));
  }
  const bool sums = how.accumulator == AccumulatorKind::sum || how.accumulator == AccumulatorKind::max;
  if (how.accumulator == AccumulatorKind::online_softmax) {
    made.inputs.emplace_back(state(id), true);
    made.fresh = {{o.outputs[0], -1}, {-1, id}};
    return put(std::move(made));
  }
  if (how.accumulator == AccumulatorKind::fold || how.accumulator == AccumulatorKind::scan) {
    made.outputs = {state(id)};
    if (how.accumulator == AccumulatorKind::scan) made.fresh = {{o.outputs[0], -1}};
    return put(std::move(made));
  }
  if (sums && places_.part_apart(o.outputs[0]) >= 0) return add_apart(std::move(made), o.outputs[0]);
  if (sums) {
    made.outputs = {bundle_of_[at(o.outputs[0])]};
    made.function.text += "+";
  } else {
    for (const ArrayId out : o.outputs) made.fresh.emplace_back(out, -1);
  }
  put(std::move(made));
}

void ColumnMaker::add_apart(Made made, ArrayId sum) {
  const int whole = bundle_of_[at(sum)];
  made.fresh = {{sum, -1}};
  made.part = places_.part_apart(sum);
  put(std::move(made));
  const int part = bundle_of_[at(sum)];
  bundle(part).output = false;
  parts_.push_back(part);
  bundle_of_[at(sum)] = whole;
  Made addition;
  addition.function.shape = Shape::item;
  addition.function.text = "+";
  addition.function.title = d_.arrays[at(sum)].name + " += its part";
  addition.inputs = {{part, false}};
  addition.outputs = {whole};
  put(std::move(addition));
}

void ColumnMaker::end_of_loop() {
  data();
  for (const ArrayId id : s_.persistent) use(bundle_of_[at(id)]);
  for (const ArrayId id : s_.maintained) use(bundle_of_[at(id)]);
  for (std::size_t i = 0; i < out_.bundles.size(); ++i) {
    if (out_.bundles[i].state_of >= 0) use(static_cast<int>(i));
  }
}

void ColumnMaker::finish() {
  data();
  for (Bundle& one : out_.bundles) {
    if (one.output) one.last = here();
  }
  add_held(places_, out_);
  add_notes(places_, out_);
}

ColumnDiagram columns_of(const Streamed& streamed) {
  Places places(streamed);
  ColumnDiagram out = ColumnMaker(places).run();
  out.title = streamed.diagram.name;
  return out;
}

ColumnDiagram columns_of(const PlacedDiagram& placed, const std::vector<Granularity>& divisors) {
  Places places(placed, divisors);
  ColumnDiagram out = ColumnMaker(places).run();
  out.title = placed.streamed->diagram.name;
  return out;
}

}  // namespace napkin::internal::report
