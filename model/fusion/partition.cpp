#include "model/fusion/partition.hpp"

#include <algorithm>

#include "model/diagram/reindex.hpp"

namespace napkin::internal {
namespace {

/// Statements between which an array is held, numbered over head, loop and tail: defined after `from`, needed up to and
/// including `to`.
struct Lifetime {
  std::ptrdiff_t from = -1, to = -1;
  /// Returns true if the array is in the column right after statement t.
  [[nodiscard]] bool covers(std::ptrdiff_t t) const { return from >= 0 && from <= t && t < to; }
};

/// The program as one line of statements, with the two places where the loop begins and ends.
class Timeline {
 public:
  Timeline(const Streamed& streamed, ColumnView view) : s_(streamed), view_(view) {
    for (const auto* part : {&s_.head, &s_.loop, &s_.tail}) all_.insert(all_.end(), part->begin(), part->end());
    loop_begin_ = std::ssize(s_.head);
    loop_end_ = loop_begin_ + std::ssize(s_.loop);
    live_.resize(s_.diagram.arrays.size());
    for (std::ptrdiff_t t = 0; t < std::ssize(all_); ++t) touch(all_[index_of(t)], t);
    if (view_ == ColumnView::live) carry_round_the_loop();
  }

  [[nodiscard]] std::vector<Column> columns() const {
    std::vector<Column> found;
    input_column(found, Phase::head, 0, loop_begin_);
    input_column(found, Phase::loop, loop_begin_, loop_end_);
    input_column(found, Phase::tail, loop_end_, std::ssize(all_));
    return found;
  }

 private:
  static std::size_t index_of(std::ptrdiff_t t) { return static_cast<std::size_t>(t); }

  void define(ArrayId array, std::ptrdiff_t t) {
    Lifetime& life = live_[at(array)];
    if (life.from < 0) life.from = t;
  }
  void need(ArrayId array, std::ptrdiff_t t) { live_[at(array)].to = t; }

  void touch(const Statement& statement, std::ptrdiff_t t) {
    switch (statement.kind) {
      case Statement::Kind::initialise:
        if (statement.array && view_ == ColumnView::live) define(*statement.array, t);
        break;
      case Statement::Kind::load:
        define(*statement.array, t);
        for (ArrayId table : tables_of(s_.diagram.arrays[at(*statement.array)])) need(table, t);
        break;
      case Statement::Kind::store:
      case Statement::Kind::normalise: need(*statement.array, t); break;
      case Statement::Kind::rescale: break;
      case Statement::Kind::compute: compute(statement, t);
    }
  }

  void compute(const Statement& statement, std::ptrdiff_t t) {
    if (statement.array) return define(*statement.array, t);  // the log-sum-exp, which the tail computes from mu and z
    const Operation& op = s_.diagram.operations[at(*statement.operation)];
    for (ArrayId in : op.inputs) need(in, t);
    const auto kind = s_.operations[at(*statement.operation)].accumulator;
    if (kind == AccumulatorKind::fold) return;  // the tail makes its result from the state
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (i == 0 || kind != AccumulatorKind::online_softmax) define(op.outputs[i], t);
    }
  }

  /// Extends to the loop's end what the next iteration needs too: arrays from the head that the loop reads, and arrays
  /// that the loop maintains.
  void carry_round_the_loop() {
    for (Lifetime& life : live_) {
      if (life.from >= 0 && life.from < loop_begin_ && life.to >= loop_begin_) {
        life.to = std::max(life.to, loop_end_);
      }
    }
  }

  /// Adds the input column of a phase, then one column after each of its operations.
  void input_column(std::vector<Column>& found, Phase phase, std::ptrdiff_t begin, std::ptrdiff_t end) const {
    std::ptrdiff_t t = begin;
    while (t < end && all_[index_of(t)].kind != Statement::Kind::compute &&
           all_[index_of(t)].kind != Statement::Kind::rescale && all_[index_of(t)].kind != Statement::Kind::store) {
      ++t;
    }
    if (begin < end) found.push_back(column(phase, std::nullopt, t - 1));
    for (; t < end; ++t) {
      if (all_[index_of(t)].kind == Statement::Kind::compute) {
        found.push_back(column(phase, all_[index_of(t)].operation, t));
      }
    }
  }

  Column column(Phase phase, std::optional<OpId> after, std::ptrdiff_t t) const {
    Column c{phase, after, {}, {}};
    const bool stream_input = phase == Phase::loop && !after;
    for (std::size_t i = 0; i < live_.size(); ++i) {
      const auto id = static_cast<ArrayId>(i);
      const bool maintained = std::find(s_.maintained.begin(), s_.maintained.end(), id) != s_.maintained.end();
      if (live_[i].covers(t) || (stream_input && maintained)) c.arrays.push_back(id);
    }
    if (view_ == ColumnView::live) {
      for (std::size_t i = 0; i < s_.auxiliaries.size(); ++i) c.auxiliaries.push_back(static_cast<int>(i));
    }
    return c;
  }

  const Streamed& s_;
  ColumnView view_;
  std::vector<Statement> all_;
  std::ptrdiff_t loop_begin_ = 0, loop_end_ = 0;
  std::vector<Lifetime> live_;
};

Count size_of(const Streamed& s, AxisId axis, const Partition& partition) {
  const Count group = partition.group[at(axis)];
  return s.stream == axis ? std::min(partition.chunk, group) : group;
}

std::string size_text(const std::string& name, std::int64_t size) { return name + "=" + std::to_string(size); }

}  // namespace

Partition make_partition(const Streamed& streamed, const Sizes& sizes,
                         const std::vector<std::pair<std::string, std::int64_t>>& given, const std::string& where) {
  const Diagram& d = streamed.diagram;
  Partition p{sizes, 1};
  std::vector<std::string> labelled;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    if (streamed.grouped(axis)) p.group[i] = 1;
    if (streamed.grouped(axis) || streamed.stream == axis) labelled.push_back(d.axes[i].name);
  }
  std::vector<bool> seen(sizes.size(), false);
  for (const auto& [name, size] : given) {
    const auto axis = d.find_axis(name);
    if (!axis || (!streamed.grouped(*axis) && streamed.stream != *axis)) {
      throw Error(where, axis ? "axis '" + name + "' is neither grouped nor streamed" : "no axis '" + name + "'",
                  one_of(name, labelled));
    }
    if (size < 1) throw Error(where, size_text(name, size), "a whole number of at least 1");
    if (seen[at(*axis)]) throw Error(where, "axis '" + name + "' stands twice", "each axis once");
    seen[at(*axis)] = true;
    Count& slot = streamed.grouped(*axis) ? p.group[at(*axis)] : p.chunk;
    slot = std::min(Count(size), sizes[at(*axis)]);
  }
  return p;
}

Count group_count(const Streamed& streamed, const Sizes& sizes, const Partition& partition) {
  Count groups = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (streamed.grouped(static_cast<AxisId>(i))) groups *= ceil_div(sizes[i], partition.group[i]);
  }
  return groups;
}

Values held(const Streamed& streamed, const std::vector<AxisId>& axes, const Partition& partition) {
  Count product = 1;
  for (AxisId a : axes) product *= size_of(streamed, a, partition);
  return Values(product);
}

Values held(const Streamed& streamed, const Array& array, const Partition& partition) {
  return Values(part_of(array, [&](AxisId axis) { return size_of(streamed, axis, partition); }));
}

std::vector<ArrayId> tables_of(const Array& array) {
  std::vector<ArrayId> tables;
  for (const Reindex& dimension : array.reindexed) {
    if (dimension.table) tables.push_back(*dimension.table);
  }
  return tables;
}

std::vector<Column> columns(const Streamed& streamed, ColumnView view) { return Timeline(streamed, view).columns(); }

Values column_size(const Streamed& streamed, const Column& column, const Partition& partition) {
  Values sum;
  for (ArrayId id : column.arrays) sum += held(streamed, streamed.diagram.arrays[at(id)], partition);
  for (int aux : column.auxiliaries) sum += held(streamed, streamed.auxiliaries[at(aux)].axes, partition);
  return sum;
}

Values memory(const Streamed& streamed, const Partition& partition, ColumnView view) {
  Values largest;
  for (const Column& c : columns(streamed, view)) largest = std::max(largest, column_size(streamed, c, partition));
  return largest;
}

Values memory_lower_bound(const Streamed& streamed, const Partition& partition) {
  return memory(streamed, partition, ColumnView::drawn);
}

Values memory_live(const Streamed& streamed, const Partition& partition) {
  return memory(streamed, partition, ColumnView::live);
}

}  // namespace napkin::internal
