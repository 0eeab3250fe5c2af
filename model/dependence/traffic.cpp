#include "model/dependence/traffic.hpp"

#include <algorithm>
#include <map>

namespace napkin::internal::dependence {
namespace {

class Counter {
 public:
  Counter(const Nest& nest, const std::vector<Dependence>& all, const std::vector<LoopId>& order, std::size_t cached,
          const std::vector<std::string>& names)
      : nest_(nest), all_(all), order_(order), names_(names), outer_(order.size() - std::min(cached, order.size())) {
    for (const Statement& s : nest.statements) {
      if (nest.find_array(s.target.array) != nullptr) written_.push_back(s.target.array);
    }
    for (const Statement& s : nest.statements) find_copy(s);
  }

  LoopTraffic run() {
    for (std::size_t s = 0; s < nest_.statements.size(); ++s) statement(static_cast<StatementId>(s));
    for (const Move& m : traffic_.moves) (m.store ? traffic_.store : traffic_.load) += size(m.loops);
    return std::move(traffic_);
  }

 private:
  bool is_copy_statement(const Statement& s) const {
    const auto copy = copies_.find(s.target.array);
    return copy != copies_.end() && s.value.kind == Expression::Kind::reference;
  }

  /// Notes the statement if it is a copy T = A that may be left out: it is T's only writer, nobody writes A, and every
  /// read of T can read A instead.
  void find_copy(const Statement& s) {
    if (!nest_.is_temporary(s.target.array) || s.value.kind != Expression::Kind::reference) return;
    const Reference& source = s.value.reference;
    if (nest_.is_temporary(source.array) || std::count(written_.begin(), written_.end(), source.array) > 0) return;
    for (const Statement& other : nest_.statements) {
      if (&other != &s && other.target.array == s.target.array) return;
      for (const Reference& r : other.reads()) {
        if (r.array == s.target.array && !read_of_source(s, r, other)) return;
      }
    }
    copies_.emplace(s.target.array, &s);
  }

  /// Returns the reference to A that replaces a read of T, if the reader's loops are the copy's, apart from different
  /// loops of one name.
  std::optional<Reference> read_of_source(const Statement& copy, const Reference& read, const Statement& reader) const {
    if (!same_values(copy.target, read)) return std::nullopt;
    std::map<LoopId, LoopId> renamed;
    for (std::size_t i = 0; i < read.subscripts.size(); ++i) {
      if (read.subscripts[i].loop) renamed[*copy.target.subscripts[i].loop] = *read.subscripts[i].loop;
    }
    for (LoopId l : copy.loops) {
      if (!reader.in(renamed.emplace(l, l).first->second)) return std::nullopt;
    }
    Reference r = copy.value.reference;
    for (Subscript& sub : r.subscripts) {
      if (sub.loop) sub.loop = renamed.at(*sub.loop);
    }
    return r;
  }

  void statement(StatementId id) {
    const Statement& s = statement_of(nest_, id);
    if (is_copy_statement(s)) return;  // counted at its readers
    for (Reference r : s.reads()) {
      if (const auto copy = copies_.find(r.array); copy != copies_.end()) r = *read_of_source(*copy->second, r, s);
      if (!nest_.is_temporary(r.array) || leaves_cache(id, r, false)) add(s, r, false);
    }
    if (!nest_.is_temporary(s.target.array) || leaves_cache(id, s.target, true)) add(s, s.target, true);
  }

  Count size(const std::vector<LoopId>& loops) const {
    Count n = 1;
    for (LoopId l : loops) n *= nest_.loops[static_cast<std::size_t>(l)].size();
    return n;
  }
  bool moves_on(LoopId l) const { return nest_.loops[static_cast<std::size_t>(l)].size() > 1; }

  /// Returns how many of the outer loops are at or around the innermost one that the reference names.
  std::size_t depth(const Reference& r) const {
    for (std::size_t i = outer_; i-- > 0;) {
      if (r.uses(order_[i]) && moves_on(order_[i])) return i + 1;
    }
    return 0;
  }

  /// Returns true if other values of the temporary pass through the cache between its writing and its reading.
  bool leaves_cache(StatementId statement, const Reference& r, bool store) const {
    for (const Dependence& d : all_) {
      if (d.kind != Kind::raw || (store ? d.from : d.to) != statement || !((store ? d.source : d.sink) == r)) continue;
      const std::size_t deep = std::max(depth(d.source), depth(d.sink));
      for (std::size_t i = 0; i < deep; ++i) {
        if (!d.vector[static_cast<std::size_t>(order_[i])].is_zero()) return true;
      }
    }
    return false;
  }

  bool same_values(const Reference& a, const Reference& b) const {
    const auto same = [&](const Subscript& x, const Subscript& y) {
      if (x.offset != y.offset || x.loop.has_value() != y.loop.has_value()) return false;
      return !x.loop || names_[static_cast<std::size_t>(*x.loop)] == names_[static_cast<std::size_t>(*y.loop)];
    };
    return a.array == b.array &&
           std::equal(a.subscripts.begin(), a.subscripts.end(), b.subscripts.begin(), b.subscripts.end(), same);
  }

  void add(const Statement& s, const Reference& r, bool store) {
    Move move{r, store, {}};
    const std::size_t deep = depth(r);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const LoopId l = order_[i];
      const bool counts = i < outer_ ? i < deep && s.in(l) : r.uses(l);
      if (counts) move.loops.push_back(l);
    }
    std::sort(move.loops.begin(), move.loops.end());
    for (Move& known : traffic_.moves) {
      if (known.store != store || !same_values(known.reference, r)) continue;
      if (size(known.loops) < size(move.loops)) known = move;
      return;
    }
    traffic_.moves.push_back(std::move(move));
  }

  const Nest& nest_;
  const std::vector<Dependence>& all_;
  const std::vector<LoopId>& order_;
  const std::vector<std::string>& names_;
  std::size_t outer_;
  std::vector<std::string> written_;
  std::map<std::string, const Statement*> copies_;
  LoopTraffic traffic_;
};

}  // namespace

LoopTraffic traffic_of(const Nest& nest, const std::vector<Dependence>& all, const std::vector<LoopId>& order,
                       std::size_t cached, const std::vector<std::string>& names) {
  return Counter(nest, all, order, cached, names).run();
}

LoopTraffic traffic_of(const Nest& nest, const std::vector<Dependence>& all, const std::vector<LoopId>& order,
                       std::size_t cached) {
  return traffic_of(nest, all, order, cached, loop_names(nest));
}

std::string formula(const std::vector<std::string>& names, const LoopTraffic& traffic, bool stores) {
  std::map<std::pair<std::size_t, std::vector<std::string>>, int> terms;
  std::vector<std::pair<std::size_t, std::vector<std::string>>> in_order;
  for (const Move& m : traffic.moves) {
    if (m.store != stores) continue;
    std::vector<std::string> factors;
    for (LoopId l : m.loops) factors.push_back(names[static_cast<std::size_t>(l)]);
    const auto term = std::pair(factors.size(), factors);
    if (++terms[term] == 1) in_order.push_back(term);
  }
  std::stable_sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> words;
  for (const auto& term : in_order) {
    std::vector<std::string> factors = term.second;
    if (terms[term] > 1 || factors.empty()) factors.insert(factors.begin(), std::to_string(terms[term]));
    words.push_back(joined(factors, " "));
  }
  return words.empty() ? "0" : joined(words, " + ");
}

}  // namespace napkin::internal::dependence
