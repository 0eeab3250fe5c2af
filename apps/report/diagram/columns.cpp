#include "apps/report/diagram/columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/diagram/held.hpp"
#include "apps/report/diagram/places.hpp"
#include "model/base/error.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/accumulator.hpp"
#include "model/fusion/derive.hpp"
#include "model/mapping/place/parts.hpp"

namespace napkin::report {
namespace {

using Kind = DiagramColumn::Kind;

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

/// Writes an auxiliary as the paper does: "mu.P" with a Greek letter.
std::string greek(const std::string& auxiliary) {
  const std::size_t end = std::min(auxiliary.find('.'), auxiliary.size());
  const std::string letter = auxiliary.substr(0, end) == "mu" ? "μ" : "δ";
  return letter + auxiliary.substr(end);
}

/// The layout of the streamed program's columns, made in one pass.
class Columns {
 public:
  explicit Columns(Places& places) : places_(places), s_(places.streamed()), d_(s_.diagram) {}

  ColumnDiagram run() {
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

 private:
  [[nodiscard]] const std::string& axis(AxisId id) const { return d_.axes[at(id)].name; }
  [[nodiscard]] int here() const { return static_cast<int>(out_.columns.size()) - 1; }
  Bundle& bundle(int id) { return out_.bundles[at(id)]; }

  DiagramColumn& column(Kind kind) {
    DiagramColumn& one = out_.columns.emplace_back();
    one.kind = kind;
    one.phase = phase_;
    return one;
  }
  DiagramColumn& data() {
    if (out_.columns.back().kind != Kind::data) column(Kind::data);
    return out_.columns.back();
  }
  void bracket(Kind kind, bool inner, const std::string& title) {
    data();
    DiagramColumn& one = column(kind);
    one.inner = inner;
    one.title = title;
    column(Kind::data);
  }

  int add(const std::string& name, const std::vector<AxisId>& axes, ArrayId array, OpId state_of = -1) {
    Bundle one;
    one.name = name;
    one.array = array;
    one.state_of = state_of;
    one.axes = places_.drawn(axes);
    one.first = one.last = here();
    one.output = array >= 0 && d_.is_output(array);
    if (array >= 0) one.joined = places_.joined_of(array, one.axes);
    out_.bundles.push_back(one);
    level_.push_back(0);
    const int id = static_cast<int>(out_.bundles.size()) - 1;
    if (array >= 0) bundle_of_[at(array)] = id;
    return id;
  }

  void begin(int id, LevelId level, int variable) {
    level_[at(id)] = level;
    data().events.emplace_back(places_.stretch(id, bundle(id).axes, level, variable));
    use(id);
  }
  void use(int id) { bundle(id).last = std::max(bundle(id).last, here()); }

  /// Names the arrays whose rows a table's entries select, as no function reads the table: "rows of K, V".
  [[nodiscard]] std::string rows_named_by(ArrayId table) const {
    std::vector<std::string> named;
    for (const Array& array : d_.arrays) {
      const bool is = std::any_of(array.reindexed.begin(), array.reindexed.end(),
                                  [&](const Reindex& dimension) { return dimension.table == table; });
      if (is) named.push_back(array.name);
    }
    return "rows of " + joined(named);
  }

  // Moves -------------------------------------------------------------------------------------------------------------

  Move move_of(int id, Trip& trip, bool branch) {
    trip.used = true;
    return {id, trip.from, trip.to, trip.into, trip.store, branch, trip.bytes, trip.size, trip.linked};
  }
  Trip* next(ArrayId array, LevelId from, bool reads, bool stores) {
    for (Trip& trip : places_.trips()) {
      if (trip.used || trip.array != array || trip.from != from) continue;
      if ((reads || !trip.read) && (stores || !trip.store)) return &trip;
    }
    return nullptr;
  }
  void arrive(int id, const Trip& trip, bool staging) {
    if (trip.to == trip.from) return;
    const bool filled =
        trip.variable >= 0 && places_.placed()->variables[at(trip.variable)].level == trip.to && trip.to != 0;
    begin(id, trip.to, filled ? trip.variable : places_.variable_at(bundle(id).array, trip.to, staging));
  }
  void load(ArrayId array) {
    const int id = bundle_of_[at(array)];
    while (Trip* trip = next(array, level_[at(id)], false, false)) {
      data().events.emplace_back(move_of(id, *trip, false));
      arrive(id, *trip, false);
    }
  }
  void store(ArrayId array) {
    const int id = bundle_of_[at(array)];
    for (const Trip& trip : places_.trips()) {  // parts that were added up leave from where the sum lies
      if (!trip.used && trip.array == array && trip.store && next(array, level_[at(id)], true, true) == nullptr)
        level_[at(id)] = trip.from;
    }
    while (Trip* trip = next(array, level_[at(id)], true, true)) {
      data().events.emplace_back(move_of(id, *trip, false));
      arrive(id, *trip, true);
    }
    use(id);
  }
  /// Ends a result's lines where it is made, before an operation needs it.
  void put_down(int id) {
    const ArrayId array = bundle(id).array;
    if (array < 0 || d_.is_output(array)) return;
    while (Trip* trip = next(array, level_[at(id)], false, true)) {
      if (!trip->store) break;
      data().events.emplace_back(move_of(id, *trip, false));
      arrive(id, *trip, false);
    }
  }

  // Functions ---------------------------------------------------------------------------------------------------------

  /// Returns the column in which functions with these inputs and outputs can join others; else a new one.
  int place(const std::vector<int>& ins, const std::vector<int>& outs) {
    const int last = out_.columns.back().kind == Kind::data ? here() - 1 : here();
    if (last >= 1 && out_.columns[at(last)].kind == Kind::functions && out_.columns[at(last)].phase == phase_) {
      const DiagramColumn& column = out_.columns[at(last)];
      bool free = column.functions.size() < 3;
      const auto touches = [](const std::vector<int>& list, int id) {
        return std::find(list.begin(), list.end(), id) != list.end();
      };
      for (const ColumnFunction& other : column.functions) {
        for (const int made : other.outputs) free = free && !touches(ins, made) && !touches(outs, made);
        for (const auto& in : other.inputs) free = free && !touches(outs, in.bundle);
      }
      if (last < here()) {
        for (const auto& event : out_.columns.back().events) {
          const int id = std::visit([](const auto& e) { return e.bundle; }, event);
          free = free && !touches(ins, id);
        }
      }
      if (free) return last;
    }
    data();
    column(Kind::functions);
    return here();
  }

  /// Returns an operand's lines into the functions that use it, from the column of data before.
  ColumnFunction::Input operand(int id, bool stays, int function_column) {
    ColumnFunction::Input in{id, level_[at(id)], stays, -1};
    auto& events = out_.columns[at(function_column - 1)].events;
    in.stays = stays = stays || std::any_of(events.begin(), events.end(), [&](const auto& event) {  // for one beside it
                         const auto* move = std::get_if<Move>(&event);
                         return move != nullptr && move->branch && move->bundle == id;
                       });
    const ArrayId array = bundle(id).array;
    while (array >= 0) {
      Trip* trip = next(array, in.level, true, true);
      if (trip == nullptr || (trip->store && d_.is_output(array))) break;
      events.emplace_back(move_of(id, *trip, stays));
      in.move = static_cast<int>(events.size()) - 1;
      in.level = trip->to;
      if (stays || trip->to == trip->from) continue;
      level_[at(id)] = trip->to;
      events.emplace_back(places_.stretch(id, bundle(id).axes, trip->to, places_.variable_at(array, trip->to, false)));
    }
    bundle(id).last = std::max(bundle(id).last, function_column);
    return in;
  }

  struct Made {
    std::vector<std::pair<int, bool>> inputs;  ///< bundle, and whether it is there afterwards
    std::vector<int> outputs;                  ///< outputs of which those that exist already are updated
    ColumnFunction function;
    std::vector<std::pair<ArrayId, OpId>> fresh = {};  ///< outputs to begin: arrays, or the factor of a softmax
  };

  void put(Made made) {
    std::vector<int> ins, outs = made.outputs;
    for (const auto& [id, stays] : made.inputs) ins.push_back(id);
    const int where = place(ins, outs);
    ColumnFunction& f = made.function;
    for (const auto& [id, stays] : made.inputs) f.inputs.push_back(operand(id, stays, where));
    f.updates = !outs.empty() && f.shape != Shape::start;
    f.level = places_.deepest();
    if (const PlacedOperation* op = f.operation < 0 ? nullptr : places_.operation(f.operation)) {
      if (op->tensor && op->instruction != nullptr && f.splits) f.unit = op->instruction->name;
    }
    f.outputs = outs;
    data();
    for (const auto& [array, owner] : made.fresh) {
      const int id = array >= 0 ? add(d_.arrays[at(array)].name, d_.arrays[at(array)].axes, array)
                                : add(greek(auxiliary("delta", owner)), state_axes(d_, owner), -1);
      bundle(id).first = where;
      const LevelId level = array >= 0 ? places_.made_at(array) : places_.deepest();
      begin(id, level, places_.variable_at(array, level, false));
      f.outputs.push_back(id);
      if (array < 0) factor_of_.emplace_back(owner, id);
    }
    for (const int id : outs) use(id);
    const std::vector<int> all = f.outputs;
    out_.columns[at(where)].functions.push_back(std::move(f));
    for (const int id : all) put_down(id);
  }

  [[nodiscard]] std::string auxiliary(const std::string& kind, OpId softmax) const {
    for (const Auxiliary& a : s_.auxiliaries) {
      if (a.owner == softmax && (a.name == kind || a.name.starts_with(kind + "."))) return a.name;
    }
    return kind;
  }
  [[nodiscard]] int state(OpId softmax) const {
    for (std::size_t i = 0; i < out_.bundles.size(); ++i) {
      if (out_.bundles[i].state_of == softmax) return static_cast<int>(i);
    }
    return -1;
  }
  [[nodiscard]] int factor(OpId softmax) const {
    for (const auto& [owner, id] : factor_of_) {
      if (owner == softmax) return id;
    }
    return -1;
  }

  /// Returns true if the array is used again after that operation.
  [[nodiscard]] bool stays(ArrayId array, OpId reader) const {
    const auto in = [&](const std::vector<ArrayId>& list) {
      return std::find(list.begin(), list.end(), array) != list.end();
    };
    const auto later = d_.consumers(array);
    return in(s_.persistent) || in(s_.maintained) || d_.is_output(array) ||
           std::any_of(later.begin(), later.end(), [&](OpId id) { return id > reader; });
  }

  // The program -------------------------------------------------------------------------------------------------------

  void steps(const std::vector<Step>& all) {
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

  [[nodiscard]] std::string part(const Step& loop) const {
    const std::string& name = loop.part.name;
    return name.find('=') == std::string::npos ? name + " of " + axis(loop.part.axis) : name;
  }

  void statement(const Statement& s) {
    switch (s.kind) {
      case Statement::Kind::load: return load(*s.array);
      case Statement::Kind::store: return store(*s.array);
      case Statement::Kind::initialise: return initialise(s);
      case Statement::Kind::rescale: return scaled(*s.array, "×", factor(*s.operation), *s.operation);
      case Statement::Kind::normalise: return scaled(*s.array, "÷", state(*s.operation), *s.operation);
      case Statement::Kind::compute: return s.array ? statistic(s) : compute(*s.operation);
    }
  }

  void initialise(const Statement& s) {
    Made made;
    made.function.shape = Shape::start;
    if (s.array) {
      made.function.text = initial_value(s_, *s.array) == 0 ? "0" : "−∞";
      made.fresh = {{*s.array, -1}};
      return put(std::move(made));
    }
    const bool softmax = d_.operations[at(*s.operation)].kind == OpKind::softmax;
    const std::string names = softmax ? greek(auxiliary("mu", *s.operation)) + ", " + auxiliary("z", *s.operation)
                                      : state_names(*s.operation);
    const int id = add(names, state_axes(d_, *s.operation), -1, *s.operation);
    made.function.text = softmax ? "−∞, 0" : "∅";
    made.outputs = {id};
    put(std::move(made));
    begin(id, places_.deepest(), -1);
    bundle(id).first = here() - 1;
  }

  /// Returns the names of a fold's state: "Y.n, Y.mean".
  [[nodiscard]] std::string state_names(OpId fold) const {
    std::vector<std::string> names;
    for (const Auxiliary& a : s_.auxiliaries) {
      if (a.owner == fold) names.push_back(a.name);
    }
    return joined(names);
  }

  void scaled(ArrayId array, const std::string& text, int by, OpId softmax) {
    Made made;
    made.function.shape = Shape::item;
    made.function.text = text;
    made.function.title = d_.arrays[at(array)].name + " " + text + " " + (by < 0 ? "" : bundle(by).name);
    static_cast<void>(softmax);
    if (by >= 0) made.inputs = {{by, bundle(by).state_of >= 0}};
    made.outputs = {bundle_of_[at(array)]};
    put(std::move(made));
  }

  void statistic(const Statement& s) {
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

  Made begun(OpId id, Shape shape, const std::string& text) {
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

  /// Adds a piece of a streamed softmax that has a loop of its own.
  void piece(Step::Kind kind, OpId id) {
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

  void compute(OpId id) {
    const Operation& o = d_.operations[at(id)];
    const StreamedOp& how = s_.operations[at(id)];
    const bool own = !o.own.empty();
    Made made = begun(id, o.kind == OpKind::softmax ? Shape::triangle : own ? Shape::box : Shape::item, symbol_of(o));
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
    if (sums) {
      made.outputs = {bundle_of_[at(o.outputs[0])]};
      made.function.text += "+";
    } else {
      for (const ArrayId out : o.outputs) made.fresh.emplace_back(out, -1);
    }
    put(std::move(made));
  }

  /// Extends arrays that every iteration reads or adds to up to the bracket.
  void end_of_loop() {
    data();
    for (const ArrayId id : s_.persistent) use(bundle_of_[at(id)]);
    for (const ArrayId id : s_.maintained) use(bundle_of_[at(id)]);
    for (std::size_t i = 0; i < out_.bundles.size(); ++i) {
      if (out_.bundles[i].state_of >= 0) use(static_cast<int>(i));
    }
  }

  void finish() {
    data();
    for (Bundle& one : out_.bundles) {
      if (one.output) one.last = here();
    }
    add_held(places_, out_);
    add_notes(places_, out_);
  }

  Places& places_;
  const Streamed& s_;
  const Diagram& d_;
  ColumnDiagram out_;
  Phase phase_ = Phase::head;
  std::vector<int> bundle_of_;                   // by ArrayId
  std::vector<LevelId> level_;                   // by bundle: where it lies now
  std::vector<std::pair<OpId, int>> factor_of_;  // of a softmax: the bundle of its delta
};

}  // namespace

ColumnDiagram columns_of(const Streamed& streamed) {
  Places places(streamed);
  ColumnDiagram out = Columns(places).run();
  out.title = streamed.diagram.name;
  return out;
}

ColumnDiagram columns_of(const PlacedDiagram& placed, const std::vector<Granularity>& divisors) {
  Places places(placed, divisors);
  ColumnDiagram out = Columns(places).run();
  out.title = placed.streamed->diagram.name;
  return out;
}

}  // namespace napkin::report
