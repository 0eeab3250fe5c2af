#include "model/dependence/from_streamed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/dependence/build.hpp"
#include "model/dependence/nest_writer.hpp"
#include "model/diagram/normalised.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/partition.hpp"

namespace napkin::internal::dependence {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class Builder : NestWriter {
 public:
  using NestWriter::NestWriter;

  StreamedNest run() {
    for (const auto& [phase, program] :
         {std::pair{Phase::head, &s_.head}, {Phase::loop, &s_.loop}, {Phase::tail, &s_.tail}}) {
      phase_ = phase;
      for (const internal::Statement& statement : *program) translate(statement);
    }
    combine_all();
    check(result_.nest);
    return std::move(result_);
  }

 private:
  void translate(const internal::Statement& s) {
    switch (s.kind) {
      case internal::Statement::Kind::initialise: return initialise(s);
      case internal::Statement::Kind::load: {
        const Pass pass = inner(array(*s.array).axes);
        declare(names_of_arrays_[at(*s.array)], std::nullopt);
        return emit(low(*s.array, pass), chosen(*s.array, pass), pass);
      }
      case internal::Statement::Kind::store: return store(*s.array);
      case internal::Statement::Kind::rescale: {
        const Pass pass = inner(array(*s.array).axes);
        return emit(low(*s.array, pass), use(low(*s.array, pass)) * use(state(*s.operation, 1, pass)), pass);
      }
      case internal::Statement::Kind::normalise: {
        const Pass pass = inner(array(*s.array).axes);
        return emit(low(*s.array, pass), use(low(*s.array, pass)) / use(state(*s.operation, 2, pass)), pass);
      }
      case internal::Statement::Kind::compute: return compute(s);
    }
  }

  /// Returns the value that a load reads. Rows that a table names depend on its entries: row_at(K[b,n,h,r,d],
  /// page_low[b,n]).
  Expression chosen(ArrayId id, const Pass& pass) {
    Expression value = use(global(id, pass));
    for (const ArrayId table : tables_of(array(id))) value = row_at(std::move(value), use(low(table, pass)));
    return value;
  }

  void initialise(const internal::Statement& s) {
    if (s.array) {
      const Pass pass = inner(array(*s.array).axes);
      return emit(low(*s.array, pass), number(initial_value(s_, *s.array)), pass);
    }
    const Pass pass = inner(state_axes(*s.operation));
    emit(state(*s.operation, 0, pass), number(-infinity), pass);
    emit(state(*s.operation, 2, pass), number(0), pass);
  }

  void store(ArrayId id) {
    const Pass pass = inner(array(id).axes);
    const Reference target = global(id, pass);
    declare(target.array, 0.0);
    emit(target, use(low(id, pass)), pass);
    if (parts_[at(id)].empty()) result_.nest.outputs.push_back(target.array);
  }

  Expression scaled(const Operation& o, Expression e) const {
    double factor = o.scale.factor;
    if (o.scale.axis) {
      factor *= std::pow(static_cast<double>(sizes_[at(*o.scale.axis)]),
                         static_cast<double>(o.scale.numerator) / o.scale.denominator);
    }
    return factor == 1.0 ? e : std::move(e) * number(factor);
  }

  void compute(const internal::Statement& s) {
    const Operation& o = op(*s.operation);
    const bool online = s_.operations[at(*s.operation)].accumulator == AccumulatorKind::online_softmax;
    if (s.array) {  // a statistic of a streamed softmax
      const Pass pass = inner(array(*s.array).axes);
      if (o.outputs.size() > 2)
        return emit(low(*s.array, pass), use(state(*s.operation, *s.array == o.outputs[1] ? 0 : 2, pass)), pass);
      emit(low(*s.array, pass), use(state(*s.operation, 0, pass)) + call("log", use(state(*s.operation, 2, pass))),
           pass);
    } else if (online) {
      online_softmax(*s.operation);
    } else if (o.kind == OpKind::softmax) {
      whole_softmax(o);
    } else if (o.kind == OpKind::contract || o.kind == OpKind::sum || o.kind == OpKind::max) {
      reduce(*s.operation);
    } else {
      const Pass pass = inner(array(o.outputs[0]).axes);
      emit(low(o.outputs[0], pass), elementwise(o, pass), pass);
    }
  }

  Expression elementwise(const Operation& o, const Pass& pass) const {
    Expression e = use(low(o.inputs[0], pass));
    if (o.kind == OpKind::map) return map_of(o.function, scaled(o, std::move(e)));
    for (std::size_t i = 1; i < o.inputs.size(); ++i) {
      Expression next = use(low(o.inputs[i], pass));
      if (o.kind == OpKind::add) e = std::move(e) + std::move(next);
      if (o.kind == OpKind::subtract) e = std::move(e) - std::move(next);
      if (o.kind == OpKind::multiply) e = std::move(e) * std::move(next);
      if (o.kind == OpKind::divide) e = std::move(e) / std::move(next);
    }
    return e;
  }

  void reduce(OpId id) {
    const Operation& o = op(id);
    const ArrayId out = o.outputs[0];
    const auto kind = s_.operations[at(id)].accumulator;
    const Pass outside = inner(array(out).axes);
    const bool maximum = o.kind == OpKind::max;
    if (kind != AccumulatorKind::sum && kind != AccumulatorKind::max) {
      emit(low(out, outside), number(maximum ? -infinity : 0), outside);
    }
    const Pass pass = inner(o.own, outside);
    Expression value = use(low(o.inputs[0], pass));
    for (std::size_t i = 1; i < o.inputs.size(); ++i) value = std::move(value) * use(low(o.inputs[i], pass));
    value = scaled(o, std::move(value));
    Expression old = use(low(out, pass));
    emit(low(out, pass), maximum ? larger(std::move(old), std::move(value)) : std::move(old) + std::move(value), pass);
  }

  /// Writes eq. 4.2 and eq. 4.3, with the new maximum in a value of its own.
  void online_softmax(OpId id) {
    const Operation& o = op(id);
    const Pass row = inner(state_axes(id));
    const std::string renewed = names_.fresh("mu_new");
    const auto maximum = [&](const Pass& pass) { return low(renewed, state_axes(id), pass, true); };
    emit(maximum(row), use(state(id, 0, row)), row);
    const Pass first = inner(o.own, row);
    emit(maximum(first), larger(use(maximum(first)), scaled(o, use(low(o.inputs[0], first)))), first);
    emit(state(id, 1, row), call("exp", use(state(id, 0, row)) - use(maximum(row))), row);
    emit(state(id, 0, row), use(maximum(row)), row);
    emit(state(id, 2, row), use(state(id, 1, row)) * use(state(id, 2, row)), row);
    if (is_normalised(o)) emit(state(id, 1, row), use(state(id, 2, row)), row);
    const Pass second = inner(o.own, row);
    emit(low(o.outputs[0], second), call("exp", scaled(o, use(low(o.inputs[0], second))) - use(maximum(second))),
         second);
    emit(state(id, 2, second), use(state(id, 2, second)) + use(low(o.outputs[0], second)), second);
    if (!is_normalised(o)) return;
    emit(state(id, 1, row), use(state(id, 1, row)) / use(state(id, 2, row)), row);  // eq. 4.4
    const Pass third = inner(o.own, row);
    emit(low(o.outputs[0], third), use(low(o.outputs[0], third)) / use(state(id, 2, third)), third);
  }

  /// Writes a softmax that holds its rows: maximum, sum, quotient.
  void whole_softmax(const Operation& o) {
    Axes rows;
    for (AxisId axis : array(o.outputs[0]).axes) {
      if (!o.owns(axis)) rows.push_back(axis);
    }
    const std::string top = names_.fresh("top"), sum = names_.fresh("sum");
    const Pass row = inner(rows);
    const auto at = [&](const std::string& name, const Pass& pass) { return low(name, rows, pass, false); };
    const auto argument = [&](const Pass& pass) { return scaled(o, use(low(o.inputs[0], pass))); };
    emit(at(top, row), number(-infinity), row);
    const Pass first = inner(o.own, row);
    emit(at(top, first), larger(use(at(top, first)), argument(first)), first);
    emit(at(sum, row), number(0), row);
    const Pass second = inner(o.own, row);
    emit(at(sum, second), use(at(sum, second)) + call("exp", argument(second) - use(at(top, second))), second);
    if (o.outputs.size() == 2) emit(low(o.outputs[1], row), use(at(top, row)) + call("log", use(at(sum, row))), row);
    if (o.outputs.size() > 2) {
      emit(low(o.outputs[1], row), use(at(top, row)), row);
      emit(low(o.outputs[2], row), use(at(sum, row)), row);
    }
    const Pass third = inner(o.own, row);
    emit(low(o.outputs[0], third), call("exp", argument(third) - use(at(top, third))) / use(at(sum, third)), third);
  }

  /// Writes the launch that makes partial results whole (eq. 19.1).
  void combine_all() {
    std::vector<ArrayId> done;
    for (const bool weighted : {false, true}) {  // the log-sum-exp comes first: the weights need it
      for (const Combine& c : s_.combines) {
        if ((c.kind == Combine::Kind::weighted) != weighted || std::count(done.begin(), done.end(), c.array) > 0)
          continue;
        done.push_back(c.array);
        combine(c);
      }
    }
  }

  void combine(const Combine& c) {
    const std::string& name = names_of_arrays_[at(c.array)];
    const bool maximum = c.kind == Combine::Kind::max;
    declare(name, maximum ? -infinity : 0.0);
    result_.nest.outputs.push_back(name);
    const Pass whole = all_loops(array(c.array).axes);
    const Axes split = split_axes(c.array);
    const Pass each = all_loops(split, whole);
    const auto own = [&](const Pass& pass) { return use(combined(c.array, pass)); };
    const Expression own_part = use(part(c.array, each));
    if (c.kind == Combine::Kind::log_sum_exp) {
      Reference top{names_.fresh("top"), combined(c.array, whole).subscripts};
      emit_in({}, top, number(-infinity), whole);
      emit_in({}, top, larger(use(top), own_part), each);
      const Pass again = all_loops(split, whole);
      emit_in({}, combined(c.array, again), own(again) + call("exp", use(part(c.array, again)) - use(top)), again);
      emit_in({}, combined(c.array, whole), use(top) + call("log", own(whole)), whole);
    } else if (c.kind == Combine::Kind::weighted) {
      const ArrayId lse = *c.log_sum_exp;
      emit_in({}, combined(c.array, each),
              own(each) + call("exp", use(part(lse, each)) - use(combined(lse, each))) * own_part, each);
    } else {
      emit_in({}, combined(c.array, each), maximum ? larger(own(each), own_part) : own(each) + own_part, each);
    }
  }
};

void refuse_folds(const Diagram& d) {
  for (const Operation& o : d.operations) {
    if (o.kind == OpKind::fold || o.kind == OpKind::scan)
      throw Error(o.location, "", "fold " + o.function + " (" + d.arrays[at(o.outputs[0])].name + ") has no loop nest",
                  "a diagram without folds; their states carry the axis from element to element");
  }
}

}  // namespace

StreamedNest nest_of(const Streamed& streamed, const std::vector<std::int64_t>& sizes) {
  refuse_folds(streamed.diagram);
  return Builder(streamed, sizes).run();
}

StreamedNest nest_of(const Streamed& streamed) {
  return nest_of(streamed, std::vector<std::int64_t>(streamed.diagram.axes.size(), 3));
}

}  // namespace napkin::internal::dependence
