#include "model/dependence/meeting.hpp"

namespace napkin::internal::dependence {
Meeting::Meeting(const Nest& nest, StatementId from, const Reference& source, StatementId to, const Reference& sink)
    : nest_(&nest),
      from_(from),
      to_(to),
      system_(1 + statement_of(nest, from).loops.size() + statement_of(nest, to).loops.size()) {
  std::size_t next = 1;
  const auto terms = [&](StatementId id) {
    std::vector<Term> all;
    for (std::size_t l = 0; l < nest.loops.size(); ++l) {
      const auto loop = static_cast<LoopId>(l);
      if (statement_of(nest, id).in(loop))
        all.push_back({next++, 0});
      else
        all.push_back({0, nest.stands_after(id, loop) ? nest.loops[l].end - 1 : nest.loops[l].begin});
    }
    return all;
  };
  source_ = terms(from);
  sink_ = terms(to);
  bound(source_, from);
  bound(sink_, to);
  same_cell(source, sink);
}

Meeting::Meeting(const Nest& nest, const Dependence& d) : Meeting(nest, d.from, d.source, d.to, d.sink) {
  for (std::size_t l = 0; l < nest.loops.size(); ++l) {
    const auto loop = static_cast<LoopId>(l);
    if (d.level == loop) {
      require_later(loop);
      return;
    }
    require_equal(loop);
  }
}

void Meeting::bound(const std::vector<Term>& terms, StatementId statement) {
  for (LoopId loop : statement_of(*nest_, statement).loops) {
    const Loop& l = nest_->loops[static_cast<std::size_t>(loop)];
    const std::size_t variable = terms[static_cast<std::size_t>(loop)].variable;
    system_.at_most(variable, 0, l.end - 1);
    system_.at_most(0, variable, -l.begin);
  }
}

Meeting::Term Meeting::value_of(const std::vector<Term>& terms, const Subscript& s) {
  if (!s.loop) return {0, s.offset};
  const Term& t = terms[static_cast<std::size_t>(*s.loop)];
  return {t.variable, t.offset + s.offset};
}

void Meeting::same_cell(const Reference& source, const Reference& sink) {
  for (std::size_t i = 0; i < source.subscripts.size(); ++i) {
    const Term a = value_of(source_, source.subscripts[i]);
    const Term b = value_of(sink_, sink.subscripts[i]);
    system_.equal(a.variable, b.variable, b.offset - a.offset);
  }
}

void Meeting::difference_at_most(LoopId loop, std::int64_t c) {
  const Term& a = source_[static_cast<std::size_t>(loop)];
  const Term& b = sink_[static_cast<std::size_t>(loop)];
  system_.at_most(b.variable, a.variable, c - b.offset + a.offset);
}

void Meeting::difference_at_least(LoopId loop, std::int64_t c) {
  const Term& a = source_[static_cast<std::size_t>(loop)];
  const Term& b = sink_[static_cast<std::size_t>(loop)];
  system_.at_most(a.variable, b.variable, b.offset - a.offset - c);
}

void Meeting::require_equal(LoopId loop) {
  difference_at_most(loop, 0);
  difference_at_least(loop, 0);
}
void Meeting::require_later(LoopId loop) { difference_at_least(loop, 1); }
void Meeting::require_earlier(LoopId loop) { difference_at_most(loop, -1); }

Component Meeting::component(LoopId loop) const {
  const Term& a = source_[static_cast<std::size_t>(loop)];
  const Term& b = sink_[static_cast<std::size_t>(loop)];
  const std::int64_t shift = b.offset - a.offset;
  return {system_.least(b.variable, a.variable) + shift, system_.most(b.variable, a.variable) + shift,
          statement_of(*nest_, from_).in(loop) && statement_of(*nest_, to_).in(loop)};
}

std::vector<Component> Meeting::vector() const {
  std::vector<Component> all;
  for (std::size_t l = 0; l < nest_->loops.size(); ++l) all.push_back(component(static_cast<LoopId>(l)));
  return all;
}

}  // namespace napkin::internal::dependence
