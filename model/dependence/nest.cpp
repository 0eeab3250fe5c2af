#include "model/dependence/nest.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace napkin::internal::dependence {
namespace {

template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

template <class Items>
std::optional<int> find_in(const Items& items, std::string_view name) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

class Checker {
 public:
  explicit Checker(const Nest& nest) : nest_(nest) {}

  void run() {
    loops();
    arrays();
    if (nest_.statements.empty()) throw Error(nest_.name, "a nest without a statement", "at least one");
    if (nest_.statements.size() > max_statements) throw Error(nest_.name, "too many statements", "at most 512");
    for (std::size_t s = 0; s < nest_.statements.size(); ++s) statement(static_cast<StatementId>(s));
    for (std::size_t l = 0; l < nest_.loops.size(); ++l) contiguous(static_cast<LoopId>(l));
    outputs();
  }

 private:
  [[noreturn]] static void fail(const Location& at, const std::string& name, const std::string& what,
                                const std::string& right) {
    throw Error(at, name, what, right);
  }

  void loops() const {
    if (nest_.loops.size() > max_loops) throw Error(nest_.name, "too many loops", "at most 64");
    for (std::size_t l = 0; l < nest_.loops.size(); ++l) {
      const Loop& loop = nest_.loops[l];
      if (loop.size() < 1) fail(loop.location, loop.name, "an empty loop", "an end beyond the beginning");
      if (find_in(nest_.loops, loop.name) != static_cast<int>(l)) {
        fail(loop.location, loop.name, "two loops of this name", "each loop's own name");
      }
    }
  }

  void arrays() const {
    for (std::size_t i = 0; i < nest_.arrays.size(); ++i) {
      const MemoryArray& a = nest_.arrays[i];
      if (find_in(nest_.arrays, a.name) != static_cast<int>(i)) {
        fail(a.location, a.name, "two arrays of this name", "each array once");
      }
      if (a.initial && std::isnan(*a.initial)) fail(a.location, a.name, "not a number", "a number or -infinity");
    }
  }

  void statement(StatementId id) {
    const Statement& s = nest_.statements[static_cast<std::size_t>(id)];
    if (find_in(nest_.statements, s.name) != id) {
      fail(s.location, s.name, "two statements of this name", "each statement's own name");
    }
    if (!std::is_sorted(s.loops.begin(), s.loops.end())) {
      fail(s.location, s.name, "its loops are out of order", "the order of the nest, outermost first");
    }
    for (const Reference& r : s.reads()) {
      reference(s, r);
      if (nest_.is_temporary(r.array) && written_.count(r.array) == 0) {
        fail(s.location, s.name, "'" + r.array + "' is read before any statement writes it",
             "an earlier statement that writes it, or its name under arrays");
      }
    }
    reference(s, s.target);
    written_[s.target.array] = true;
  }

  void reference(const Statement& s, const Reference& r) {
    if (nest_.find_loop(r.array)) {
      fail(s.location, s.name, "'" + r.array + "' is a loop, not a value", "loops stand in subscripts only");
    }
    for (const Subscript& sub : r.subscripts) {
      if (sub.loop && !s.in(*sub.loop)) {
        fail(s.location, s.name,
             "'" + r.array + "' is subscripted by '" + nest_.loops[static_cast<std::size_t>(*sub.loop)].name +
                 "', a loop that the statement is not in",
             "that loop in the statement's list of loops");
      }
    }
    const auto [known, fresh] = ranks_.emplace(r.array, r.subscripts.size());
    if (!fresh && known->second != r.subscripts.size()) {
      fail(s.location, s.name, "'" + r.array + "' has " + std::to_string(r.subscripts.size()) + " subscripts",
           std::to_string(known->second) + " as before");
    }
  }

  /// Throws Error if the loop's statements are interrupted by one that is not in it.
  void contiguous(LoopId loop) const {
    bool begun = false, over = false;
    std::string outside;
    for (const Statement& s : nest_.statements) {
      if (!s.in(loop)) {
        if (begun && !over) outside = s.name;
        over = begun;
      } else if (over) {
        const std::string& name = nest_.loops[static_cast<std::size_t>(loop)].name;
        fail(s.location, s.name, "stands in loop '" + name + "' after " + outside + ", which does not",
             "the statements of a loop together, or a loop of its own for the later ones");
      } else {
        begun = true;
      }
    }
    if (!begun) {
      const Loop& l = nest_.loops[static_cast<std::size_t>(loop)];
      fail(l.location, l.name, "no statement stands in this loop", "a statement, or no such loop");
    }
  }

  void outputs() const {
    for (const std::string& name : nest_.outputs) {
      if (nest_.is_temporary(name)) {
        throw Error(nest_.name, "output '" + name + "' is no array of the nest", one_of(name, names_of(nest_.arrays)));
      }
    }
    for (const MemoryArray& a : nest_.arrays) {
      if (ranks_.count(a.name) == 0)
        fail(a.location, a.name, "no statement uses this array", "a use, or no such array");
    }
  }

  const Nest& nest_;
  std::map<std::string, std::size_t> ranks_;
  std::map<std::string, bool> written_;
};

}  // namespace

std::vector<Reference> Statement::reads() const {
  std::vector<Reference> all;
  for_each_reference(value, [&](const Reference& r) { all.push_back(r); });
  return all;
}

std::optional<LoopId> Nest::find_loop(std::string_view loop_name) const { return find_in(loops, loop_name); }

std::optional<StatementId> Nest::find_statement(std::string_view statement_name) const {
  return find_in(statements, statement_name);
}

LoopId Nest::loop(std::string_view loop_name) const {
  if (const auto id = find_loop(loop_name)) return *id;
  throw Error(name, "no loop '" + std::string(loop_name) + "'", one_of(loop_name, names_of(loops)));
}

StatementId Nest::statement(std::string_view statement_name) const {
  if (const auto id = find_statement(statement_name)) return *id;
  throw Error(name, "no statement '" + std::string(statement_name) + "'", one_of(statement_name, names_of(statements)));
}

const MemoryArray* Nest::find_array(std::string_view array) const {
  const auto id = find_in(arrays, array);
  return id ? &arrays[static_cast<std::size_t>(*id)] : nullptr;
}

bool Nest::stands_after(StatementId statement_id, LoopId loop_id) const {
  for (StatementId s = 0; s < statement_id; ++s) {
    if (statements[static_cast<std::size_t>(s)].in(loop_id)) return true;
  }
  return false;
}

std::vector<std::string> Nest::array_names() const {
  std::vector<std::string> names;
  const auto add = [&](const Reference& r) {
    if (std::find(names.begin(), names.end(), r.array) == names.end()) names.push_back(r.array);
  };
  for (const Statement& s : statements) {
    for_each_reference(s.value, add);
    add(s.target);
  }
  return names;
}

bool operator==(const Nest& a, const Nest& b) {
  const auto same = [](const auto& x, const auto& y, auto equal) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), equal);
  };
  return a.name == b.name && a.about == b.about && a.outputs == b.outputs && a.same_as == b.same_as &&
         a.claimed_parallel == b.claimed_parallel &&
         same(a.loops, b.loops,
              [](const Loop& x, const Loop& y) { return x.name == y.name && x.begin == y.begin && x.end == y.end; }) &&
         same(a.arrays, b.arrays,
              [](const MemoryArray& x, const MemoryArray& y) { return x.name == y.name && x.initial == y.initial; }) &&
         same(a.statements, b.statements, [](const Statement& x, const Statement& y) {
           return x.name == y.name && x.loops == y.loops && x.target == y.target && x.value == y.value;
         });
}

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {{"exp", 1}, {"log", 1}, {"sqrt", 1}, {"tanh", 1},  {"erf", 1},
                                            {"abs", 1}, {"max", 2}, {"min", 2},  {"row_at", 2}};
  return all;
}

const Function* find_function(std::string_view name) {
  for (const Function& f : functions()) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

std::vector<std::string> loop_names(const Nest& nest) { return names_of(nest.loops); }

void check(const Nest& nest) { Checker(nest).run(); }

}  // namespace napkin::internal::dependence
