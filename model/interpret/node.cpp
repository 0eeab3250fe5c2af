#include "model/interpret/node.hpp"

#include <algorithm>

#include "model/interpret/storage.hpp"

namespace napkin::internal::interpret {
namespace {

/// Returns the arrays that a statement reads from their buffers.
std::vector<ArrayId> needs(const Streamed& s, const Statement& statement) {
  switch (statement.kind) {
    case Statement::Kind::compute:
      if (statement.array) return {};  // the log-sum-exp, of mu and z
      return s.diagram.operations[index(*statement.operation)].inputs;
    case Statement::Kind::store:
    case Statement::Kind::normalise: return {*statement.array};
    case Statement::Kind::load: return tables_of(s.diagram.arrays[index(*statement.array)]);
    default: return {};
  }
}

std::vector<ArrayId> defines(const Streamed& s, const Statement& statement) {
  if (statement.kind == Statement::Kind::load || statement.kind == Statement::Kind::initialise ||
      (statement.kind == Statement::Kind::compute && statement.array)) {
    return statement.array ? std::vector<ArrayId>{*statement.array} : std::vector<ArrayId>{};
  }
  return statement.kind == Statement::Kind::compute ? s.diagram.operations[index(*statement.operation)].outputs
                                                    : std::vector<ArrayId>{};
}

}  // namespace

Schedule::Schedule(const Streamed& streamed) : streamed_(streamed), last_(streamed.diagram.arrays.size()) {
  std::vector<std::optional<Place>> from(streamed.diagram.arrays.size());
  for (int p = 0; p < 3; ++p) {
    const auto& all = statements(static_cast<Phase>(p));
    free_[index(p)].resize(all.size());
    for (std::size_t t = 0; t < all.size(); ++t) {
      for (ArrayId id : needs(streamed, all[t])) last_[index(id)] = Place{p, t};
      for (ArrayId id : defines(streamed, all[t])) {
        if (!from[index(id)]) from[index(id)] = Place{p, t};
      }
    }
  }
  for (std::size_t i = 0; i < last_.size(); ++i) {
    const auto id = static_cast<ArrayId>(i);
    if (!from[i]) continue;
    if (!last_[i]) last_[i] = from[i];  // the probabilities of a softmax that is wanted for its log-sum-exp alone
    const bool round_the_loop = last_[i]->phase == static_cast<int>(Phase::loop) && from[i]->phase != last_[i]->phase;
    (round_the_loop ? free_after_loop_ : free_[index(last_[i]->phase)][last_[i]->statement]).push_back(id);
  }
}

const std::vector<Statement>& Schedule::statements(Phase phase) const {
  switch (phase) {
    case Phase::head: return streamed_.head;
    case Phase::loop: return streamed_.loop;
    case Phase::tail: break;
  }
  return streamed_.tail;
}

template <class T>
void Context<T>::round(ArrayId array, Block<T>& block) const {
  const DType type = types[index(array)];
  if (type == DType::f64 || type == DType::value || (type == DType::f32 && sizeof(T) == sizeof(float))) return;
  for (T& value : block.data) value = static_cast<T>(round_to(type, static_cast<double>(value)));
}

template <class T>
Node<T>::Node(const Context<T>& context, std::size_t level, Box box, Memory<T>& parent)
    : context_(context),
      level_(level),
      box_(std::move(box)),
      now_(box_),
      parent_(parent),
      slots_(context.streamed.diagram.arrays.size()) {
  counts().groups += 1;
}

template <class T>
void Node<T>::walk_stream(const Span& range) {
  const std::int64_t step = context_.levels[level_].partition->chunk.get();
  Span& now = now_[index(*streamed().stream)];
  const Span whole = now;
  const std::int64_t chunks = (range.last - range.first + step - 1) / step;
  for (std::int64_t i = 0; i < chunks; ++i) {
    const std::int64_t first = range.first + (context_.options.backward ? chunks - 1 - i : i) * step;
    now = {first, std::min(first + step, range.last)};
    iteration_ = (first - stream_range().first) / step;
    visited() ? iterate() : skip();
  }
  now = whole;
  iteration_ = 0;
}

/// Returns true if any row of the group sees any column of the chunk. Tests pair by pair.
template <class T>
bool Node<T>::visited() const {
  const Problem& problem = context_.question.problem;
  if (!streamed().skips || problem.mask.kind == Mask::Kind::none) return true;
  const auto [row_axis, column_axis] = *streamed().skips;
  const Span rows = now_[index(row_axis)], columns = now_[index(column_axis)];
  for (std::int64_t i = rows.first; i < rows.last; ++i) {
    for (std::int64_t j = columns.first; j < columns.last; ++j) {
      if (sees(problem.mask, i, j, problem.sizes[index(row_axis)].get(), problem.sizes[index(column_axis)].get())) {
        return true;
      }
    }
  }
  return false;
}

template <class T>
Count Node<T>::reserved(const std::vector<AxisId>& axes) const {
  const Partition& partition = *context_.levels[level_].partition;
  Count product = 1;
  for (AxisId a : axes) {
    const Count group = partition.group[index(a)];
    product *= streamed().stream == a && partition.chunk < group ? partition.chunk : group;
  }
  return product;
}

/// Returns the values that an array's buffer has room for: of a shifted dimension all rows from the first to the last.
template <class T>
Count Node<T>::reserved(const Array& its) const {
  return part_of(its, [&](AxisId a) { return reserved(std::vector<AxisId>{a}); });
}

template <class T>
Block<T>& Node<T>::allocate(ArrayId id, Block<T> block) {
  const Count held = block.volume();
  return allocate(id, std::move(block), held);
}

template <class T>
Block<T>& Node<T>::allocate(ArrayId id, Block<T> block, Count held) {
  slots_[index(id)] = Slot{std::move(block), reserved(array(id)), held};
  meter_.allocate(slots_[index(id)]->reserved, held);
  return slots_[index(id)]->block;
}

template <class T>
void Node<T>::release(ArrayId id) {
  auto& slot = slots_[index(id)];
  if (!slot) return;
  meter_.release(slot->reserved, slot->held);
  slot.reset();
}

template <class T>
Block<T>& Node<T>::buffer(ArrayId id) {
  if (!slots_[index(id)]) throw std::logic_error("array " + array(id).name + " is read while no buffer holds it");
  return slots_[index(id)]->block;
}

template <class T>
void Node<T>::load(ArrayId id) {
  Block<T> rows = rows_block<T>(array(id), now_);
  counts().arrays[index(id)].loaded += parent_.read(id, rows);
  const Count held = rows.volume();
  const bool computes = level_ + 1 == context_.levels.size();  // levels above pass the rows on
  allocate(id, computes && is_shifted(array(id)) ? spread(array(id), rows, now_) : std::move(rows), held);
}

template <class T>
void Node<T>::store(ArrayId id, const Block<T>& block) {
  counts().arrays[index(id)].stored += parent_.write(id, block, box_);
}

template struct Context<double>;
template struct Context<float>;
template class Node<double>;
template class Node<float>;

}  // namespace napkin::internal::interpret
