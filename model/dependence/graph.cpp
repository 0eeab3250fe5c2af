#include "model/dependence/graph.hpp"

#include <algorithm>
#include <boost/graph/strong_components.hpp>

#include "model/dependence/meeting.hpp"
#include "model/dependence/text.hpp"

namespace napkin::internal::dependence {
namespace {

/// Use of an array by a statement. Equal reads of a statement are one use.
struct Use {
  StatementId statement = 0;
  Reference reference;
  bool write = false;
};

std::vector<Use> uses_of(const Nest& nest, StatementId id) {
  const Statement& s = nest.statements[static_cast<std::size_t>(id)];
  std::vector<Use> uses;
  for (const Reference& r : s.reads()) {
    const bool known = std::any_of(uses.begin(), uses.end(), [&](const Use& u) { return u.reference == r; });
    if (!known) uses.push_back({id, r, false});
  }
  uses.push_back({id, s.target, true});
  return uses;
}

Kind kind_of(const Use& source, const Use& sink) {
  if (!source.write) return Kind::war;
  return sink.write ? Kind::waw : Kind::raw;
}

/// Returns true if the source's use comes before the sink's in one iteration: by the list of statements; in one
/// statement a read comes before the write.
bool precedes(const Use& source, const Use& sink) {
  if (source.statement != sink.statement) return source.statement < sink.statement;
  return !source.write && sink.write;
}

class Finder {
 public:
  explicit Finder(const Nest& nest) : nest_(nest) {
    for (std::size_t s = 0; s < nest.statements.size(); ++s) {
      uses_.push_back(uses_of(nest, static_cast<StatementId>(s)));
    }
  }

  std::vector<Dependence> run() {
    for (const auto& sources : uses_) {
      for (const auto& sinks : uses_) {
        const std::size_t begin = found_.size();
        for (const Use& source : sources) {
          for (const Use& sink : sinks) {
            if (source.reference.array == sink.reference.array && (source.write || sink.write)) pair(source, sink);
          }
        }
        std::stable_sort(found_.begin() + static_cast<std::ptrdiff_t>(begin), found_.end(),
                         [](const Dependence& a, const Dependence& b) { return a.kind < b.kind; });
      }
    }
    return std::move(found_);
  }

 private:
  void pair(const Use& source, const Use& sink) {
    Meeting same(nest_, source.statement, source.reference, sink.statement, sink.reference);
    Dependence d{source.statement, sink.statement, kind_of(source, sink), source.reference, sink.reference, {}, {}};
    for (std::size_t l = 0; same.feasible() && l < nest_.loops.size(); ++l) {
      const auto loop = static_cast<LoopId>(l);
      if (same.component(loop).most > 0) {
        Meeting carried = same;
        carried.require_later(loop);
        d.level = loop;
        d.vector = carried.vector();
        found_.push_back(d);
      }
      same.require_equal(loop);
    }
    if (!same.feasible() || !precedes(source, sink)) return;
    // A statement that reads and writes one cell in one iteration depends on no other instance through it.
    if (source.statement == sink.statement) return;
    d.level.reset();
    d.vector = same.vector();
    found_.push_back(d);
  }

  const Nest& nest_;
  std::vector<std::vector<Use>> uses_;
  std::vector<Dependence> found_;
};

/// Returns true if the loop, run in parallel, may run the source and the sink in different threads.
bool blocks(const Nest& nest, const Dependence& d, LoopId loop) {
  const Component& c = d.vector[static_cast<std::size_t>(loop)];
  if (c.common) return !c.is_zero();
  // A statement outside the loop runs before all its iterations or after. That holds unless a loop further in
  // leads from the loop's body back to what runs before it, or from what runs after it into the body.
  const bool from_in = nest.statements[static_cast<std::size_t>(d.from)].in(loop);
  const bool to_in = nest.statements[static_cast<std::size_t>(d.to)].in(loop);
  if (from_in == to_in || !d.level || *d.level < loop) return false;
  return from_in ? !nest.stands_after(d.to, loop) : nest.stands_after(d.from, loop);
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::raw: return "RAW";
    case Kind::war: return "WAR";
    case Kind::waw: return "WAW";
  }
  return "";
}

std::string text_of(const Component& c) {
  if (!c.common) return ".";
  if (c.least == c.most) return std::to_string(c.least);
  if (c.least > 0) return "+";
  if (c.most < 0) return "-";
  if (c.least == 0) return "0+";
  return c.most == 0 ? "0-" : "*";
}

std::string text_of(const std::vector<Component>& vector) {
  std::vector<std::string> words;
  for (const Component& c : vector) words.push_back(text_of(c));
  return "(" + joined(words) + ")";
}

std::vector<Dependence> dependences(const Nest& nest) { return Finder(nest).run(); }

std::string text_of(const Nest& nest, const Dependence& d) {
  return nest.statements[static_cast<std::size_t>(d.from)].name + " -> " +
         nest.statements[static_cast<std::size_t>(d.to)].name + " " + std::string(name_of(d.kind)) + " " +
         print_reference(nest, d.source) + " " + text_of(d.vector);
}

Graph graph_of(const Nest& nest, const std::vector<Dependence>& all) {
  Graph graph(nest.statements.size());
  for (std::size_t s = 0; s < nest.statements.size(); ++s) graph[s] = static_cast<StatementId>(s);
  for (const Dependence& d : all) {
    boost::add_edge(static_cast<std::size_t>(d.from), static_cast<std::size_t>(d.to), d, graph);
  }
  return graph;
}

std::vector<std::vector<StatementId>> recurrences(const Graph& graph) {
  const std::size_t n = boost::num_vertices(graph);
  Graph flow(n);
  std::vector<bool> own(n, false);
  for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
    const auto from = boost::source(edge, graph), to = boost::target(edge, graph);
    if (graph[edge].kind != Kind::raw) continue;
    boost::add_edge(from, to, flow);
    if (from == to) own[from] = true;
  }
  std::vector<std::size_t> component(n);
  const std::size_t count = boost::strong_components(flow, component.data());
  std::vector<std::vector<StatementId>> members(count);
  for (std::size_t s = 0; s < n; ++s) members[component[s]].push_back(static_cast<StatementId>(s));
  std::vector<std::vector<StatementId>> found;
  for (auto& m : members) {
    if (m.size() > 1 || own[static_cast<std::size_t>(m.front())]) found.push_back(std::move(m));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<LoopVerdict> loop_verdicts(const Nest& nest, const std::vector<Dependence>& all) {
  std::vector<LoopVerdict> verdicts;
  for (std::size_t l = 0; l < nest.loops.size(); ++l) {
    LoopVerdict verdict{static_cast<LoopId>(l), true, {}, {}};
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].carrier() == verdict.loop) verdict.carried.push_back(i);
      if (blocks(nest, all[i], verdict.loop)) verdict.blocking.push_back(i);
    }
    verdict.parallel = verdict.blocking.empty();
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace napkin::internal::dependence
