#include "model/dependence/transform.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "model/dependence/text.hpp"

namespace napkin::internal::dependence {
namespace {

using NameList = std::vector<std::string>;

bool contains(const NameList& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void for_each_reference_of(Nest& nest, const std::string& array, const std::function<void(Reference&)>& f) {
  for (Statement& s : nest.statements) {
    const auto visit = [&](Reference& r) {
      if (r.array == array) f(r);
    };
    for_each_reference(s.value, visit);
    visit(s.target);
  }
}

/// Uses of a temporary: the statements that read and write it, and their references.
struct TemporaryUses {
  std::vector<std::pair<StatementId, Reference>> writes, reads;
};

TemporaryUses uses_of(const Nest& nest, const std::string& array) {
  TemporaryUses uses;
  for (std::size_t i = 0; i < nest.statements.size(); ++i) {
    const auto id = static_cast<StatementId>(i);
    for (const Reference& r : nest.statements[i].reads()) {
      if (r.array == array) uses.reads.emplace_back(id, r);
    }
    if (nest.statements[i].target.array == array) uses.writes.emplace_back(id, nest.statements[i].target);
  }
  return uses;
}

/// Returns true if a loop that contains neither statement separates them and contains a loop of the writer: then the
/// writer writes all its cells before the reader reads the first.
bool are_parted(const Nest& nest, StatementId writer, StatementId reader) {
  const Statement& w = nest.statements[static_cast<std::size_t>(writer)];
  for (LoopId l = 0; !w.loops.empty() && l < w.loops.back(); ++l) {
    if (!w.in(l) && nest.stands_after(writer, l) != nest.stands_after(reader, l)) return true;
  }
  return false;
}

/// Returns true if the read takes a value that the same iteration wrote: an earlier statement whose loops are the
/// outermost ones of the reader writes the same reference. (A writer outside an outer loop of the reader writes all
/// cells first.)
bool is_covered(const Nest& nest, const TemporaryUses& uses, StatementId reader, const Reference& read) {
  const Statement& r = nest.statements[static_cast<std::size_t>(reader)];
  for (const auto& [writer, target] : uses.writes) {
    const Statement& w = nest.statements[static_cast<std::size_t>(writer)];
    const bool around = w.loops.size() <= r.loops.size() && std::equal(w.loops.begin(), w.loops.end(), r.loops.begin());
    if (writer < reader && around && target == read && !are_parted(nest, writer, reader)) return true;
  }
  return false;
}

/// Returns the loops along which a temporary gets a new dimension.
std::vector<LoopId> private_loops(const Nest& nest, const std::string& array) {
  const TemporaryUses uses = uses_of(nest, array);
  for (const auto& [reader, read] : uses.reads) {
    if (!is_covered(nest, uses, reader, read)) return {};
  }
  std::vector<LoopId> loops;
  for (std::size_t l = 0; l < nest.loops.size(); ++l) {
    const auto loop = static_cast<LoopId>(l);
    const auto fits = [&](const auto& use) {
      return nest.statements[static_cast<std::size_t>(use.first)].in(loop) && !use.second.uses(loop);
    };
    if (std::all_of(uses.writes.begin(), uses.writes.end(), fits) &&
        std::all_of(uses.reads.begin(), uses.reads.end(), fits)) {
      loops.push_back(loop);
    }
  }
  return loops;
}

/// Returns the dimensions of a temporary whose subscript is the loop itself in every use.
std::vector<std::size_t> dimensions_along(const Nest& nest, const std::string& array, LoopId loop) {
  const TemporaryUses uses = uses_of(nest, array);
  std::vector<std::size_t> dimensions;
  if (uses.writes.empty()) return dimensions;
  for (std::size_t i = 0; i < uses.writes[0].second.subscripts.size(); ++i) {
    const auto is_loop = [&](const auto& use) { return use.second.subscripts[i] == Subscript{loop, 0}; };
    if (std::all_of(uses.writes.begin(), uses.writes.end(), is_loop) &&
        std::all_of(uses.reads.begin(), uses.reads.end(), is_loop)) {
      dimensions.push_back(i);
    }
  }
  return dimensions;
}

/// Drops a dimension, which was the loop, from temporaries that only the hoisted statements write.
void drop_dimensions(Nest& nest, const NameList& hoisted, LoopId loop) {
  for (const std::string& array : nest.array_names()) {
    if (!nest.is_temporary(array)) continue;
    const TemporaryUses uses = uses_of(nest, array);
    const bool own = std::all_of(uses.writes.begin(), uses.writes.end(), [&](const auto& use) {
      return contains(hoisted, nest.statements[static_cast<std::size_t>(use.first)].name);
    });
    if (!own) continue;
    const std::vector<std::size_t> dimensions = dimensions_along(nest, array, loop);
    for_each_reference_of(nest, array, [&](Reference& r) {
      for (std::size_t i = dimensions.size(); i-- > 0;) {
        r.subscripts.erase(r.subscripts.begin() + static_cast<std::ptrdiff_t>(dimensions[i]));
      }
    });
  }
}

/// Returns the first reference of a statement to the loop, if there is one.
std::optional<Reference> reference_to(const Statement& s, LoopId loop) {
  for (const Reference& r : s.reads()) {
    if (r.uses(loop)) return r;
  }
  return s.target.uses(loop) ? std::optional(s.target) : std::nullopt;
}

/// Returns a dependence that hoisting would reverse: from a statement that stays in the loop to a hoisted one, unless
/// an outer loop carries it.
const Dependence* obstacle(const Nest& nest, const std::vector<Dependence>& all, const NameList& hoisted, LoopId loop) {
  for (const Dependence& d : all) {
    const Statement& from = nest.statements[static_cast<std::size_t>(d.from)];
    const Statement& to = nest.statements[static_cast<std::size_t>(d.to)];
    if (d.level && *d.level < loop) continue;
    if (from.in(loop) && !contains(hoisted, from.name) && contains(hoisted, to.name)) return &d;
  }
  return nullptr;
}

/// Returns a dependence by which the hoisted statements take a value from an earlier iteration of the loop.
const Dependence* changed_by(const Nest& nest, const std::vector<Dependence>& all, const NameList& hoisted,
                             LoopId loop) {
  for (const Dependence& d : all) {
    if (d.kind == Kind::raw && d.carrier() == loop &&
        contains(hoisted, nest.statements[static_cast<std::size_t>(d.from)].name) &&
        contains(hoisted, nest.statements[static_cast<std::size_t>(d.to)].name)) {
      return &d;
    }
  }
  return nullptr;
}

/// Moves the hoisted statements out of the loop, before those that stay.
void move_out(Nest& nest, const NameList& hoisted, LoopId loop) {
  std::vector<Statement> before, moved, rest;
  for (Statement& s : nest.statements) {
    if (contains(hoisted, s.name)) {
      s.loops.erase(std::find(s.loops.begin(), s.loops.end(), loop));
      moved.push_back(std::move(s));
    } else if (rest.empty() && moved.empty() && !s.in(loop)) {
      before.push_back(std::move(s));
    } else {
      rest.push_back(std::move(s));
    }
  }
  nest.statements = std::move(before);
  for (auto* part : {&moved, &rest}) std::move(part->begin(), part->end(), std::back_inserter(nest.statements));
}

/// Throws Error if moving statements has brought another statement from before a loop to after it, or the reverse.
void check_sides(const Nest& before, const Nest& after, LoopId loop) {
  for (std::size_t s = 0; s < after.statements.size(); ++s) {
    const Statement& statement = after.statements[s];
    for (std::size_t l = 0; l < after.loops.size(); ++l) {
      const auto other = static_cast<LoopId>(l);
      if (other == loop || statement.in(other)) continue;
      const bool was = before.stands_after(before.statement(statement.name), other);
      if (was == after.stands_after(static_cast<StatementId>(s), other)) continue;
      throw Error(before.name,
                  "cannot hoist: " + statement.name + " would change sides of loop " + loop_name(before, other),
                  "statements whose loops nest");
    }
  }
}

bool drop_unfit(const Nest& nest, const std::vector<Dependence>& all, LoopId loop, bool meant_once, NameList& names) {
  Nest trial = nest;
  drop_dimensions(trial, names, loop);
  for (const std::string& name : names) {
    if (!reference_to(trial.statements[static_cast<std::size_t>(trial.statement(name))], loop)) continue;
    names.erase(std::find(names.begin(), names.end(), name));
    return true;
  }
  const Dependence* wrong = obstacle(nest, all, names, loop);
  if (wrong == nullptr && !meant_once) wrong = changed_by(nest, all, names, loop);
  if (wrong == nullptr) return false;
  const std::string& sink = nest.statements[static_cast<std::size_t>(wrong->to)].name;
  names.erase(std::find(names.begin(), names.end(), sink));
  return true;
}

}  // namespace

Step privatise(const Nest& nest) {
  Step step{"privatise", "", true, nest};
  NameList done;
  for (const std::string& array : nest.array_names()) {
    if (!nest.is_temporary(array)) continue;
    const std::vector<LoopId> loops = private_loops(nest, array);
    if (loops.empty()) continue;
    std::vector<Subscript> front;
    NameList names;
    for (LoopId l : loops) {
      front.push_back({l, 0});
      names.push_back(loop_name(nest, l));
    }
    for_each_reference_of(step.nest, array,
                          [&](Reference& r) { r.subscripts.insert(r.subscripts.begin(), front.begin(), front.end()); });
    done.push_back(array + "[" + joined(names, ",") + "]");
  }
  step.text = done.empty()
                  ? "no temporary is shared between iterations"
                  : "each iteration writes these before it reads them, so it gets cells of its own: " + joined(done);
  check(step.nest);
  return step;
}

Step hoist(const Nest& nest, const std::vector<std::string>& names, const std::string& loop) {
  const LoopId id = nest.loop(loop);
  for (const std::string& name : names) {
    const Statement& s = nest.statements[static_cast<std::size_t>(nest.statement(name))];
    if (!s.in(id)) throw Error(nest.name, name + " does not stand in loop " + loop, "a statement of that loop");
  }
  const std::vector<Dependence> all = dependences(nest);
  if (const Dependence* d = obstacle(nest, all, names, id)) {
    throw Error(nest.name, "cannot hoist: " + text_of(nest, *d) + " leads from a statement that stays in " + loop,
                "hoist both, or privatise first");
  }
  Step step{"hoist out of " + loop, "", true, nest};
  drop_dimensions(step.nest, names, id);
  for (const std::string& name : names) {
    const Statement& s = step.nest.statements[static_cast<std::size_t>(step.nest.statement(name))];
    const auto r = reference_to(s, id);
    if (r)
      throw Error(nest.name, name + " depends on " + loop + " by " + print_reference(step.nest, *r), "leave it there");
  }
  step.text = joined(names) + " do not depend on " + loop;
  if (const Dependence* d = changed_by(nest, all, names, id)) {
    step.preserves = false;
    step.text +=
        ", and yet ran once for each of its iterations, each taking what the one before left: " + text_of(nest, *d) +
        ". Now they run once, which changes the result";
  }
  move_out(step.nest, names, id);
  check_sides(nest, step.nest, id);
  check(step.nest);
  return step;
}

std::vector<std::string> hoistable(const Nest& nest, const std::string& loop, bool meant_once) {
  const LoopId id = nest.loop(loop);
  const std::vector<Dependence> all = dependences(nest);
  NameList names;
  std::size_t inside = 0;
  for (const Statement& s : nest.statements) {
    if (s.in(id)) ++inside;
    if (!s.loops.empty() && s.loops.back() == id) names.push_back(s.name);
  }
  while (!names.empty() && drop_unfit(nest, all, id, meant_once, names)) {
  }
  return names.size() == inside ? NameList{} : names;
}

Step replace(const Nest& nest, const std::string& statement, const std::string& why) {
  Step step{"", why, false, nest};
  Statement s = parse_statement(nest, statement, "replacement");
  step.name = "replace " + s.name;
  step.nest.statements[static_cast<std::size_t>(nest.statement(s.name))] = std::move(s);
  check(step.nest);
  return step;
}

std::vector<Step> improve(const Nest& nest) {
  std::vector<Step> steps;
  const auto current = [&]() -> const Nest& { return steps.empty() ? nest : steps.back().nest; };
  const auto add = [&](Step step) {
    if (!(step.nest == current())) steps.push_back(std::move(step));
  };
  add(privatise(nest));
  for (std::size_t l = nest.loops.size(); l-- > 0;) {
    const auto loop = static_cast<LoopId>(l);
    const auto& claimed = nest.claimed_parallel;
    const bool meant_once = std::find(claimed.begin(), claimed.end(), loop) != claimed.end();
    const NameList names = hoistable(current(), loop_name(nest, loop), meant_once);
    if (names.empty()) continue;
    try {
      add(hoist(current(), names, loop_name(nest, loop)));
    } catch (const Error&) {  // refused: it would change another loop
    }
  }
  return steps;
}

}  // namespace napkin::internal::dependence
