#include "model/dependence/traffic.hpp"

#include <algorithm>
#include <map>

namespace napkin::dependence {
namespace {

const Statement& statement_of(const Nest& nest, StatementId id) { return nest.statements[static_cast<std::size_t>(id)]; }

class Counter {
 public:
  Counter(const Nest& nest, const std::vector<Dependence>& all, const std::vector<LoopId>& order, std::size_t cached)
      : nest_(nest), all_(all), order_(order), outer_(order.size() - std::min(cached, order.size())) {
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

  // T = A, where this is T's only writer, every read of T is T as written, and nobody writes A.
  void find_copy(const Statement& s) {
    if (!nest_.is_temporary(s.target.array) || s.value.kind != Expression::Kind::reference) return;
    const Reference& source = s.value.reference;
    if (nest_.is_temporary(source.array) || std::count(written_.begin(), written_.end(), source.array) > 0) return;
    for (const Statement& other : nest_.statements) {
      if (&other != &s && other.target.array == s.target.array) return;
      for (const Reference& r : other.reads()) {
        if (r.array != s.target.array) continue;
        const bool inside = std::all_of(s.loops.begin(), s.loops.end(), [&](LoopId l) { return other.in(l); });
        if (!(r == s.target) || !inside) return;
      }
    }
    copies_.emplace(s.target.array, source);
  }

  void statement(StatementId id) {
    const Statement& s = statement_of(nest_, id);
    if (is_copy_statement(s)) return;  // counted at its readers
    for (Reference r : s.reads()) {
      if (const auto copy = copies_.find(r.array); copy != copies_.end()) r = copy->second;
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

  // How many of the outer loops are at or around the innermost one that the reference names.
  std::size_t depth(const Reference& r) const {
    for (std::size_t i = outer_; i-- > 0;) {
      if (r.uses(order_[i]) && moves_on(order_[i])) return i + 1;
    }
    return 0;
  }

  // Whether other values of the temporary pass through the cache between its writing and its reading.
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
      if (known.store != store || !(known.reference == r)) continue;
      if (size(known.loops) < size(move.loops)) known = move;
      return;
    }
    traffic_.moves.push_back(std::move(move));
  }

  const Nest& nest_;
  const std::vector<Dependence>& all_;
  const std::vector<LoopId>& order_;
  std::size_t outer_;
  std::vector<std::string> written_;
  std::map<std::string, Reference> copies_;
  LoopTraffic traffic_;
};

}  // namespace

LoopTraffic traffic_of(const Nest& nest, const std::vector<Dependence>& all, const std::vector<LoopId>& order,
                       std::size_t cached) {
  return Counter(nest, all, order, cached).run();
}

std::string formula(const Nest& nest, const LoopTraffic& traffic, bool stores) {
  std::map<std::pair<std::size_t, std::vector<LoopId>>, int> terms;
  for (const Move& m : traffic.moves) {
    if (m.store == stores) ++terms[{m.loops.size(), m.loops}];
  }
  std::vector<std::string> words;
  for (const auto& [key, times] : terms) {
    std::vector<std::string> factors;
    if (times > 1 || key.second.empty()) factors.push_back(std::to_string(times));
    for (LoopId l : key.second) factors.push_back(nest.loops[static_cast<std::size_t>(l)].name);
    words.push_back(joined(factors, " "));
  }
  return words.empty() ? "0" : joined(words, " + ");
}

}  // namespace napkin::dependence
