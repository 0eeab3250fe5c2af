#include "model/dependence/execute.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/base/count.hpp"
#include "model/dependence/text.hpp"

namespace napkin::internal::dependence {
namespace {

constexpr std::int64_t most_work = std::int64_t{1} << 24;

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

class Run {
 public:
  Run(const Nest& nest, const Given& given, const std::vector<LoopId>& order,
      const std::function<void(const Access&)>& observe)
      : nest_(nest), order_(order), observe_(observe), at_(nest.loops.size()) {
    refuse_huge();
    allocate();
    for (const MemoryArray& a : nest_.arrays) fill(a, given);
    for (std::size_t s = 0; s < nest_.statements.size(); ++s) place(static_cast<StatementId>(s));
  }

  Store run() {
    for (std::size_t l = 0; l < at_.size(); ++l) at_[l] = nest_.loops[l].begin;
    do {
      for (std::size_t s = 0; s < nest_.statements.size(); ++s) {
        if (runs_here(s)) statement(static_cast<StatementId>(s));
      }
    } while (next());
    return std::move(store_);
  }

 private:
  const Loop& loop(LoopId id) const { return nest_.loops[static_cast<std::size_t>(id)]; }

  void refuse_huge() const {
    Count iterations = 1;
    for (const Loop& l : nest_.loops) iterations *= l.size();
    if (iterations > most_work) throw Error(nest_.name, "too many iterations to run", "at most 2^24");
  }

  void allocate() {
    for (const Statement& s : nest_.statements) {
      widen(s.target);
      for_each_reference(s.value, [&](const Reference& r) { widen(r); });
    }
    for (auto& [name, values] : store_) {
      Count cells = 1;
      for (std::int64_t size : values.size) cells *= size;
      if (cells > most_work) throw Error(nest_.name, "'" + name + "' has too many cells to run", "at most 2^24");
      values.cells.assign(static_cast<std::size_t>(cells.get()), std::numeric_limits<double>::quiet_NaN());
      values.written.assign(values.cells.size(), false);
    }
  }

  void widen(const Reference& r) {
    const bool fresh = store_.find(r.array) == store_.end();
    Cells& v = store_[r.array];
    for (std::size_t i = 0; i < r.subscripts.size(); ++i) {
      const Subscript& s = r.subscripts[i];
      const std::int64_t low = s.offset + (s.loop ? loop(*s.loop).begin : 0);
      const std::int64_t end = s.offset + (s.loop ? loop(*s.loop).end : 1);
      if (fresh) {
        v.first.push_back(low);
        v.size.push_back(end - low);
        continue;
      }
      const std::int64_t old_end = v.first[i] + v.size[i];
      v.first[i] = std::min(v.first[i], low);
      v.size[i] = std::max(old_end, end) - v.first[i];
    }
  }

  void fill(const MemoryArray& a, const Given& given) {
    Cells& v = store_.at(a.name);
    std::vector<std::int64_t> subscripts = v.first;
    for (std::size_t c = 0; c < v.cells.size(); ++c) {
      v.cells[c] = a.initial ? *a.initial : given(a.name, subscripts);
      v.written[c] = true;
      for (std::size_t i = subscripts.size(); i-- > 0;) {
        if (++subscripts[i] < v.first[i] + v.size[i]) break;
        subscripts[i] = v.first[i];
      }
    }
  }

  /// Finds the iterations that run a statement: of each loop that it is not in, the first alone or the last alone.
  void place(StatementId id) {
    std::vector<std::int64_t> pinned(nest_.loops.size(), std::numeric_limits<std::int64_t>::min());
    const Statement& s = nest_.statements[static_cast<std::size_t>(id)];
    for (std::size_t l = 0; l < pinned.size(); ++l) {
      const auto loop_id = static_cast<LoopId>(l);
      if (s.in(loop_id)) continue;
      pinned[l] = nest_.stands_after(id, loop_id) ? nest_.loops[l].end - 1 : nest_.loops[l].begin;
    }
    pinned_.push_back(std::move(pinned));
  }

  bool runs_here(std::size_t s) const {
    for (std::size_t l = 0; l < at_.size(); ++l) {
      if (pinned_[s][l] != std::numeric_limits<std::int64_t>::min() && pinned_[s][l] != at_[l]) return false;
    }
    return true;
  }

  bool next() {
    for (std::size_t i = order_.size(); i-- > 0;) {
      const auto l = static_cast<std::size_t>(order_[i]);
      if (++at_[l] < nest_.loops[l].end) return true;
      at_[l] = nest_.loops[l].begin;
    }
    return false;
  }

  std::vector<std::int64_t> subscripts_of(const Reference& r) const {
    std::vector<std::int64_t> subscripts;
    for (const Subscript& s : r.subscripts) {
      subscripts.push_back(s.offset + (s.loop ? at_[static_cast<std::size_t>(*s.loop)] : 0));
    }
    return subscripts;
  }

  void statement(StatementId id) {
    current_ = id;
    const Statement& s = nest_.statements[static_cast<std::size_t>(id)];
    const double value = evaluate(s.value);
    const std::vector<std::int64_t> subscripts = subscripts_of(s.target);
    if (observe_) observe_({id, at_, s.target.array, subscripts, true});
    Cells& v = store_.at(s.target.array);
    const std::size_t cell = v.index(subscripts);
    v.cells[cell] = value;
    v.written[cell] = true;
  }

  double read(const Reference& r) {
    const std::vector<std::int64_t> subscripts = subscripts_of(r);
    if (observe_) observe_({current_, at_, r.array, subscripts, false});
    const Cells& v = store_.at(r.array);
    const std::size_t cell = v.index(subscripts);
    if (!v.written[cell]) {
      const Statement& s = nest_.statements[static_cast<std::size_t>(current_)];
      throw Error(s.location, s.name, print_reference(nest_, r) + " is read before it is written",
                  "a statement that writes it in an earlier or the same iteration");
    }
    return v.cells[cell];
  }

  double evaluate(const Expression& e) {
    using Kind = Expression::Kind;
    if (e.kind == Kind::number) return e.number;
    if (e.kind == Kind::reference) return read(e.reference);
    const double a = evaluate(e.operands[0]);
    if (e.kind == Kind::negate) return -a;
    const double b = e.operands.size() > 1 ? evaluate(e.operands[1]) : 0;
    switch (e.kind) {
      case Kind::add: return a + b;
      case Kind::subtract: return a - b;
      case Kind::multiply: return a * b;
      case Kind::divide: return a / b;
      default: return applied(e.function, a, b);
    }
  }

  const Nest& nest_;
  const std::vector<LoopId>& order_;
  const std::function<void(const Access&)>& observe_;
  std::vector<std::int64_t> at_;
  std::vector<std::vector<std::int64_t>> pinned_;
  StatementId current_ = 0;
  Store store_;
};

}  // namespace

double applied(const std::string& name, double a, double b) {
  if (name == "exp") return std::exp(a);
  if (name == "log") return std::log(a);
  if (name == "sqrt") return std::sqrt(a);
  if (name == "tanh") return std::tanh(a);
  if (name == "erf") return std::erf(a);
  if (name == "abs") return std::abs(a);
  if (name == "max") return std::max(a, b);
  if (name == "min") return std::min(a, b);
  // arrays are stored in the order in which they are read, so that row b is already in its place
  if (name == "row_at") return a;
  throw Error(name, "unknown function", "one that the language has");
}

std::size_t Cells::index(const std::vector<std::int64_t>& subscripts) const {
  if (subscripts.size() != size.size())
    throw Error("a cell", "wrong number of subscripts", std::to_string(size.size()));
  std::int64_t cell = 0;
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    const std::int64_t offset = subscripts[i] - first[i];
    if (offset < 0 || offset >= size[i]) throw Error("a cell", "subscript outside the array", "one that the nest uses");
    cell = cell * size[i] + offset;
  }
  return static_cast<std::size_t>(cell);
}

double Cells::at(const std::vector<std::int64_t>& subscripts) const { return cells[index(subscripts)]; }

Given arbitrary_values(std::uint64_t seed) {
  return [seed](const std::string& array, const std::vector<std::int64_t>& subscripts) {
    std::uint64_t state = mixed(seed + 0x9e3779b97f4a7c15U);
    for (const char c : array) state = mixed(state ^ static_cast<std::uint8_t>(c));
    for (const std::int64_t s : subscripts) state = mixed(state + static_cast<std::uint64_t>(s) + 1);
    return static_cast<double>(state >> 11) * 0x1p-51 - 2.0;  // 53 random bits, over 2^53, times 4
  };
}

std::vector<LoopId> own_order(const Nest& nest) {
  std::vector<LoopId> order(nest.loops.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Store execute(const Nest& nest, const Given& given) { return execute(nest, given, own_order(nest)); }

Store execute(const Nest& nest, const Given& given, const std::vector<LoopId>& order,
              const std::function<void(const Access&)>& observe) {
  std::vector<LoopId> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != own_order(nest)) throw Error(nest.name, "not an order of its loops", "each loop once");
  return Run(nest, given, order, observe).run();
}

}  // namespace napkin::internal::dependence
