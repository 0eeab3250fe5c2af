#include "model/interpret/operation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace napkin::internal::interpret {
namespace {

template <class T>
constexpr T nothing_seen = -std::numeric_limits<T>::infinity();

/// Calls f(target value, part value) along the target's axes.
template <class T, class F>
void zip(Block<T>& target, const Block<T>& part, F&& f) {
  walk<2>(target.shape(), {strides_along(target.axes, target), strides_along(target.axes, part)},
          [&](const auto& at, std::int64_t n, const auto& step) {
            T* to = target.data.data() + at[0];
            const T* from = part.data.data() + at[1];
            for (std::int64_t i = 0; i < n; ++i) f(to[i * step[0]], from[i * step[1]]);
          });
}

/// Calls f(state value, part value) for every value of `part`: several meet one state value.
template <class T, class F>
void fold(Block<T>& state, const Block<T>& part, F&& f) {
  walk<2>(part.shape(), {strides_along(part.axes, state), strides_along(part.axes, part)},
          [&](const auto& at, std::int64_t n, const auto& step) {
            T* to = state.data.data() + at[0];
            const T* from = part.data.data() + at[1];
            for (std::int64_t i = 0; i < n; ++i) f(to[i * step[0]], from[i * step[1]]);
          });
}

template <class T>
using Function = T (*)(T);

template <class T>
Function<T> function_of(const std::string& name) {
  static const std::vector<std::pair<std::string, Function<T>>> table = {
      {"exp", [](T x) { return std::exp(x); }},
      {"log", [](T x) { return std::log(x); }},
      {"identity", [](T x) { return x; }},
      {"negate", [](T x) { return -x; }},
      {"relu", [](T x) { return x > T(0) ? x : T(0); }},
      {"gelu", [](T x) { return T(0.5) * x * (T(1) + std::erf(x / std::sqrt(T(2)))); }},
      {"silu", [](T x) { return x / (T(1) + std::exp(-x)); }},
      {"tanh", [](T x) { return std::tanh(x); }},
      {"sigmoid", [](T x) { return T(1) / (T(1) + std::exp(-x)); }},
      {"square", [](T x) { return x * x; }},
      {"sqrt", [](T x) { return std::sqrt(x); }},
      {"rsqrt", [](T x) { return T(1) / std::sqrt(x); }},
      {"abs", [](T x) { return std::abs(x); }},
      {"reciprocal", [](T x) { return T(1) / x; }},
      {"relu_slope", [](T x) { return x > T(0) ? T(1) : T(0); }},
      {"gelu_slope",
       [](T x) {
         return T(0.5) * (T(1) + std::erf(x / std::sqrt(T(2)))) +
                x * std::exp(-x * x / T(2)) / std::sqrt(T(2) * std::numbers::pi_v<T>);
       }},
      {"silu_slope",
       [](T x) {
         const T sigmoid = T(1) / (T(1) + std::exp(-x));
         return sigmoid * (T(1) + x * (T(1) - sigmoid));
       }},
      {"tanh_slope", [](T x) { return T(1) - std::tanh(x) * std::tanh(x); }},
      {"sigmoid_slope", [](T x) { return T(1) / (T(2) + std::exp(-x) + std::exp(x)); }},
      {"abs_slope", [](T x) { return x > T(0)   ? T(1)
                                     : x < T(0) ? T(-1)
                                                : T(0); }},
      {"is_zero", [](T x) { return x == T(0) ? T(1) : T(0); }}};
  for (const auto& [known, function] : table) {
    if (known == name) return function;
  }
  throw Error("map", "unknown function '" + name + "'", one_of(name, map_functions()));
}

/// Sets masked values to `hidden`.
template <class T>
void apply_mask(const Question& question, const Operation& op, Block<T>& values, T hidden) {
  const Mask& mask = question.problem.mask;
  if (!op.mask || mask.kind == Mask::Kind::none) return;
  const auto [row_axis, column_axis] = *op.mask;
  const std::int64_t rows = question.problem.sizes[index(row_axis)].get();
  const std::int64_t columns = question.problem.sizes[index(column_axis)].get();
  std::int64_t first_row = 0, first_column = 0;
  for (std::size_t i = 0; i < values.axes.size(); ++i) {
    if (values.axes[i] == row_axis) first_row = values.spans[i].first;
    if (values.axes[i] == column_axis) first_column = values.spans[i].first;
  }
  walk<3>(
      values.shape(),
      {strides_along(values.axes, values), index_along(values.axes, row_axis), index_along(values.axes, column_axis)},
      [&](const auto& at, std::int64_t n, const auto& step) {
        for (std::int64_t i = 0; i < n; ++i) {
          const bool seen =
              sees(mask, first_row + at[1] + i * step[1], first_column + at[2] + i * step[2], rows, columns);
          if (!seen) values.data[index(at[0] + i * step[0])] = hidden;
        }
      });
}

template <class T>
Block<T> state_block(const Question& question, const Operation& op, const Box& box, T fill) {
  std::vector<AxisId> axes;
  for (AxisId a : question.array(op.outputs[0]).axes) {
    if (!op.owns(a)) axes.push_back(a);
  }
  return Block<T>(axes, box, fill);
}

template <class T>
std::vector<Block<T>> softmax(const Question& question, OpId id, const Block<T>& scores, const Box& box) {
  const Operation& op = question.operation(id);
  std::vector<Block<T>> results;
  results.push_back(scaled_scores(question, id, scores, box));
  Block<T> mu = state_block(question, op, box, nothing_seen<T>);
  Block<T> z = state_block(question, op, box, T(0));
  raise_to_maximum(mu, results[0]);
  exponentials(results[0], mu, z);
  divide_rows(results[0], z);
  for (std::size_t i = 1; i < op.outputs.size(); ++i) {
    results.emplace_back(question.array(op.outputs[i]).axes, box, T(0));
    copy_common(softmax_statistic(op, i, mu, z), results[i]);
  }
  return results;
}

template <class T>
std::vector<Block<T>> folded(const Question& question, OpId id, const std::vector<const Block<T>*>& inputs,
                             const Box& box) {
  const Operation& op = question.operation(id);
  std::vector<Block<T>> state, results;
  for (const FoldValue& value : question.diagram.fold_of(op).state)
    state.push_back(state_block(question, op, box, static_cast<T>(value.empty)));
  if (op.kind == OpKind::scan) {
    results.push_back(fold_elements(question, id, inputs, box, state));
  } else {
    static_cast<void>(fold_elements(question, id, inputs, box, state));
    results.push_back(fold_result(question, id, state, box));
  }
  return results;
}

template <class T>
Block<T> elementwise(const Question& question, const Operation& op, const std::vector<const Block<T>*>& inputs,
                     Block<T> result) {
  copy_common(*inputs[0], result);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    switch (op.kind) {
      case OpKind::add: zip(result, *inputs[i], [](T& to, T from) { to += from; }); break;
      case OpKind::subtract: zip(result, *inputs[i], [](T& to, T from) { to -= from; }); break;
      case OpKind::divide: zip(result, *inputs[i], [](T& to, T from) { to /= from; }); break;
      default: zip(result, *inputs[i], [](T& to, T from) { to *= from; });
    }
  }
  apply_mask(question, op, result, T(0));
  return result;
}

template <class T>
Block<T> map(const Question& question, const Operation& op, const Block<T>& input, Block<T> result) {
  copy_common(input, result);
  const auto scale = static_cast<T>(value_of(op.scale, question.problem.sizes));
  for (T& value : result.data) value *= scale;
  const Function<T> function = function_of<T>(op.function);
  for (T& value : result.data) value = function(value);
  apply_mask(question, op, result, T(0));
  return result;
}

}  // namespace

bool sees(const Mask& mask, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
  // columns to the right of the diagonal, which is aligned bottom-right
  const std::int64_t ahead = column - (row + columns - rows);
  switch (mask.kind) {
    case Mask::Kind::none: return true;
    case Mask::Kind::causal: return ahead <= 0;
    case Mask::Kind::window: return ahead <= mask.right && -ahead <= mask.left;
    case Mask::Kind::prefix: return ahead <= 0 || column < mask.left;
  }
  return true;
}

template <class T>
std::vector<Block<T>> evaluate(const Question& question, OpId id, const std::vector<const Block<T>*>& inputs,
                               const Box& box) {
  const Operation& op = question.operation(id);
  const std::vector<AxisId>& axes = question.array(op.outputs[0]).axes;
  if (op.kind == OpKind::softmax) return softmax(question, id, *inputs[0], box);
  if (op.kind == OpKind::fold || op.kind == OpKind::scan) return folded(question, id, inputs, box);
  std::vector<Block<T>> results;
  switch (op.kind) {
    case OpKind::contract:
      results.push_back(
          contract(inputs, op.own, axes, box, static_cast<T>(value_of(op.scale, question.problem.sizes))));
      break;
    case OpKind::sum: {
      results.emplace_back(axes, box, T(0));
      fold(results[0], *inputs[0], [](T& to, T from) { to += from; });
      const auto scale = static_cast<T>(value_of(op.scale, question.problem.sizes));
      for (T& value : results[0].data) value *= scale;
      break;
    }
    case OpKind::max:
      results.emplace_back(axes, box, nothing_seen<T>);
      fold(results[0], *inputs[0], [](T& to, T from) { to = std::max(to, from); });
      break;
    case OpKind::map: results.push_back(map(question, op, *inputs[0], Block<T>(axes, box, T(0)))); break;
    default: results.push_back(elementwise(question, op, inputs, Block<T>(axes, box, T(0))));
  }
  return results;
}

template <class T>
Block<T> scaled_scores(const Question& question, OpId id, const Block<T>& scores, const Box& box) {
  const Operation& op = question.operation(id);
  Block<T> values(question.array(op.outputs[0]).axes, box, T(0));
  copy_common(scores, values);
  const auto scale = static_cast<T>(value_of(op.scale, question.problem.sizes));
  for (T& value : values.data) value *= scale;
  apply_mask(question, op, values, nothing_seen<T>);
  return values;
}

template <class T>
void raise_to_maximum(Block<T>& state, const Block<T>& values) {
  fold(state, values, [](T& to, T from) { to = std::max(to, from); });
}

template <class T>
void exponentials(Block<T>& values, const Block<T>& mu, Block<T>& z) {
  zip(values, mu, [](T& value, T maximum) { value = maximum == nothing_seen<T> ? T(0) : std::exp(value - maximum); });
  fold(z, values, [](T& to, T from) { to += from; });
}

template <class T>
void multiply_rows(Block<T>& target, const Block<T>& factor) {
  zip(target, factor, [](T& to, T by) { to *= by; });
}

template <class T>
void divide_rows(Block<T>& target, const Block<T>& z) {
  zip(target, z, [](T& to, T by) { to = by == T(0) ? T(0) : to / by; });
}

template <class T>
Block<T> log_sum_exp(const Block<T>& mu, const Block<T>& z) {
  Block<T> result = mu;
  zip(result, z, [](T& to, T sum) { to = sum == T(0) ? nothing_seen<T> : to + std::log(sum); });
  return result;
}

template <class T>
Block<T> softmax_statistic(const Operation& op, std::size_t output, const Block<T>& mu, const Block<T>& z) {
  if (op.outputs.size() == 2) return log_sum_exp(mu, z);
  return output == 1 ? mu : z;
}

template <class T>
Block<T> fold_elements(const Question& question, OpId id, const std::vector<const Block<T>*>& inputs, const Box& box,
                       std::vector<Block<T>>& state) {
  const Operation& op = question.operation(id);
  const Fold& fold = question.diagram.fold_of(op);
  // The elements of a row are contiguous.
  std::vector<AxisId> axes = state[0].axes;
  axes.push_back(op.own[0]);
  Box all = box;
  for (const Block<T>* input : inputs) {
    if (const Span* span = span_on(*input, op.own[0])) all[index(op.own[0])] = *span;
  }
  std::vector<Block<T>> elements(inputs.size(), Block<T>(axes, all, T(0)));
  for (std::size_t i = 0; i < inputs.size(); ++i) copy_common(*inputs[i], elements[i]);
  Block<T> results(axes, all, T(0));
  const std::size_t length = index(all[index(op.own[0])].size());
  std::vector<double> element(inputs.size());
  for (std::size_t row = 0; row < state[0].data.size(); ++row) {
    Fold::State now;
    for (const Block<T>& value : state) now.push_back(static_cast<double>(value.data[row]));
    for (std::size_t k = row * length; k < (row + 1) * length; ++k) {
      for (std::size_t i = 0; i < element.size(); ++i) element[i] = static_cast<double>(elements[i].data[k]);
      now = fold.merge(now, fold.each(element));
      results.data[k] = static_cast<T>(fold.result(now));
    }
    for (std::size_t i = 0; i < now.size(); ++i) state[i].data[row] = static_cast<T>(now[i]);
  }
  if (op.kind != OpKind::scan) return {};
  Block<T> ordered(question.array(op.outputs[0]).axes, all, T(0));
  copy_common(results, ordered);
  return ordered;
}

template <class T>
Block<T> fold_result(const Question& question, OpId id, const std::vector<Block<T>>& state, const Box& box) {
  const Operation& op = question.operation(id);
  Block<T> made(state[0].axes, box, T(0));
  Fold::State now(state.size());
  for (std::size_t row = 0; row < made.data.size(); ++row) {
    for (std::size_t i = 0; i < now.size(); ++i) now[i] = static_cast<double>(state[i].data[row]);
    made.data[row] = static_cast<T>(question.diagram.fold_of(op).result(now));
  }
  return made;
}

template <class T>
void add_into(Block<T>& target, const Block<T>& part) {
  zip(target, part, [](T& to, T from) { to += from; });
}

template <class T>
void maximum_into(Block<T>& target, const Block<T>& part) {
  zip(target, part, [](T& to, T from) { to = std::max(to, from); });
}

#define NAPKIN_INSTANTIATE(T)                                                                                      \
  template std::vector<Block<T>> evaluate(const Question&, OpId, const std::vector<const Block<T>*>&, const Box&); \
  template Block<T> scaled_scores(const Question&, OpId, const Block<T>&, const Box&);                             \
  template void raise_to_maximum(Block<T>&, const Block<T>&);                                                      \
  template void exponentials(Block<T>&, const Block<T>&, Block<T>&);                                               \
  template void multiply_rows(Block<T>&, const Block<T>&);                                                         \
  template void divide_rows(Block<T>&, const Block<T>&);                                                           \
  template Block<T> log_sum_exp(const Block<T>&, const Block<T>&);                                                 \
  template Block<T> softmax_statistic(const Operation&, std::size_t, const Block<T>&, const Block<T>&);            \
  template Block<T> fold_elements(const Question&, OpId, const std::vector<const Block<T>*>&, const Box&,          \
                                  std::vector<Block<T>>&);                                                         \
  template Block<T> fold_result(const Question&, OpId, const std::vector<Block<T>>&, const Box&);                  \
  template void add_into(Block<T>&, const Block<T>&);                                                              \
  template void maximum_into(Block<T>&, const Block<T>&);
NAPKIN_INSTANTIATE(double)
NAPKIN_INSTANTIATE(float)
#undef NAPKIN_INSTANTIATE

}  // namespace napkin::internal::interpret
