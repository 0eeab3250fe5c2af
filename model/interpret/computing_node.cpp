// A ComputingNode is a node of the lowest level: it computes head, loop and tail step by step.

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/diagram/normalised.hpp"
#include "model/interpret/node.hpp"

namespace napkin::internal::interpret {
namespace {

template <class T>
class ComputingNode final : public Node<T> {
 public:
  ComputingNode(const Context<T>& context, std::size_t level, Box box, Memory<T>& parent)
      : Node<T>(context, level, std::move(box), parent) {
    if (!observing()) return;
    for (std::size_t i = 0; i < this->box_.size(); ++i) {
      if (!this->streamed().grouped(static_cast<AxisId>(i))) continue;
      group_.push_back(this->box_[i].first / context.levels[level].partition->group[i].get());
    }
  }

  void head() override { run(Phase::head); }
  void iterate() override { run(Phase::loop); }
  void skip() override {
    for (const Statement& statement : this->streamed().loop) {
      if (statement.kind != Statement::Kind::store) continue;
      const ArrayId id = *statement.array;
      const Combine* combine = this->streamed().combine_of(id);
      if (combine != nullptr && combine->kind == Combine::Kind::sum) continue;
      this->store(id, Block<T>(this->array(id).axes, this->now(), T(0)));
    }
  }
  void tail() override {
    for (ArrayId id : this->context_.schedule.free_after_loop()) this->release(id);
    for (ArrayId id : this->streamed().maintained) finish(id);
    run(Phase::tail);
  }

 private:
  using Node<T>::context_;

  void run(Phase phase) {
    whole_ = this->now_;
    done_.assign(context_.schedule.statements(phase).size(), false);
    std::size_t released = 0;
    for (const Step& one : context_.program.of(phase)) {
      step(one, phase);
      for (; released < done_.size() && done_[released]; ++released) {
        for (ArrayId id : context_.schedule.free_after(phase, released)) this->release(id);
      }
      if (makes_a_column(one)) this->column();
    }
  }

  /// Returns true if the step makes a column: the state between two operations, with all that is loaded for the next
  /// one.
  static bool makes_a_column(const Step& one) {
    if (one.kind == Step::Kind::loop) return true;
    return one.kind == Step::Kind::statement &&
           (one.statement.kind == Statement::Kind::load || one.statement.kind == Statement::Kind::compute);
  }

  void step(const Step& one, Phase phase) {
    switch (one.kind) {
      case Step::Kind::loop: return walk_parts(one, phase);
      case Step::Kind::statement: execute(one.statement, phase); break;
      case Step::Kind::begin: return begin_softmax(*one.statement.operation);
      case Step::Kind::raise: return raise_maximum(*one.statement.operation, scores_of(*one.statement.operation));
      case Step::Kind::shift: return shift_maximum(*one.statement.operation);
      case Step::Kind::exponentials:
        exponentials_of(*one.statement.operation, scores_of(*one.statement.operation));
        break;
    }
    done_[one.place] = true;
  }

  void walk_parts(const Step& loop, Phase phase) {
    Span& span = this->now_[index(loop.part.axis)];
    const Span all = span;
    ++depth_;
    for (std::int64_t first = all.first; first < all.last; first += loop.part.size.get()) {
      span = {first, std::min(first + loop.part.size.get(), all.last)};
      for (const Step& one : loop.body) step(one, phase);
    }
    --depth_;
    span = all;
  }

  void execute(const Statement& statement, Phase phase) {
    switch (statement.kind) {
      case Statement::Kind::initialise:
        statement.array ? initialise_array(*statement.array) : initialise_state(*statement.operation);
        break;
      case Statement::Kind::load: this->load(*statement.array); break;
      case Statement::Kind::store: {
        Block<T> part;
        this->store(*statement.array, in_hand(this->buffer(*statement.array), part));
        break;
      }
      case Statement::Kind::rescale: {
        Block<T> delta;
        const Block<T>& factor = in_hand(state(*statement.operation).delta, delta);
        change(this->buffer(*statement.array), [&](Block<T>& block) { multiply_rows(block, factor); });
        break;
      }
      case Statement::Kind::normalise: normalise(statement); break;
      case Statement::Kind::compute: compute(statement, phase); break;
    }
  }

  // Parts of buffers. Inside a loop a statement sees of each buffer what lies in now().
  // --------------------

  bool is_cut(const Block<T>& block) const {
    if (depth_ == 0) return false;
    for (std::size_t i = 0; i < block.axes.size(); ++i) {
      const Span& now = this->now_[index(block.axes[i])];
      if (block.spans[i].first != now.first || block.spans[i].last != now.last) return true;
    }
    return false;
  }
  /// Returns the block, or, while its axes are walked in parts, its present part, for which `keep` has the room.
  const Block<T>& in_hand(const Block<T>& block, Block<T>& keep) const {
    if (!is_cut(block)) return block;
    keep = Block<T>(block.axes, this->now_, T(0));
    copy_common(block, keep);
    return keep;
  }
  template <class F>
  void change(Block<T>& block, F&& f) {
    if (!is_cut(block)) return f(block);
    Block<T> part;
    in_hand(block, part);
    f(part);
    copy_common(part, block);
  }
  /// Writes a result into its buffer, which the first part allocates.
  void keep(ArrayId id, Block<T> result) {
    if (depth_ == 0) {
      this->allocate(id, std::move(result));
      return;
    }
    if (!this->has(id)) this->allocate(id, Block<T>(result.axes, whole_, T(0)));
    copy_common(result, this->buffer(id));
  }

  /// (mu, delta, z) of one online softmax, in the order of the auxiliaries.
  struct State {
    OpId softmax;
    Block<T> mu, delta, z, raised;
    std::array<std::string, 3> names;
  };

  State& state(OpId softmax) {
    for (State& s : states_) {
      if (s.softmax == softmax) return s;
    }
    throw std::logic_error("a softmax without its state");
  }

  void initialise_state(OpId softmax) {
    if (context_.question.operation(softmax).kind != OpKind::softmax) return initialise_fold(softmax);
    State s{softmax, {}, {}, {}, {}, {}};
    std::array<Block<T>*, 3> blocks = {&s.mu, &s.delta, &s.z};
    std::size_t k = 0;
    for (const Auxiliary& aux : this->streamed().auxiliaries) {
      if (aux.owner != softmax) continue;
      *blocks[k] = Block<T>(aux.axes, this->now(), static_cast<T>(aux.initial));
      s.names[k++] = aux.name;
      this->meter_.allocate(this->reserved(aux.axes), blocks[k - 1]->volume());
    }
    states_.push_back(std::move(s));
  }

  /// Allocates the state of a fold, a block for each of its values.
  void initialise_fold(OpId id) {
    std::vector<Block<T>> state;
    for (const Auxiliary& aux : this->streamed().auxiliaries) {
      if (aux.owner != id) continue;
      state.push_back(Block<T>(aux.axes, this->now(), static_cast<T>(aux.initial)));
      this->meter_.allocate(this->reserved(aux.axes), state.back().volume());
    }
    folds_.emplace_back(id, std::move(state));
  }
  std::vector<Block<T>>& fold_state(OpId id) {
    for (auto& [owner, state] : folds_) {
      if (owner == id) return state;
    }
    throw std::logic_error("a fold without its state");
  }

  void initialise_array(ArrayId id) {
    const OpId op = *this->streamed().diagram.producer(id);
    const bool maximum = this->streamed().operations[index(op)].accumulator == AccumulatorKind::max;
    this->allocate(id,
                   Block<T>(this->array(id).axes, this->now(), maximum ? -std::numeric_limits<T>::infinity() : T(0)));
  }

  void compute(const Statement& statement, Phase phase) {
    const OpId id = *statement.operation;
    const Operation& op = context_.question.operation(id);
    if (statement.array) return compute_of_state(id, *statement.array);
    const auto accumulator = this->streamed().operations[index(id)].accumulator;
    if (phase == Phase::loop && accumulator == AccumulatorKind::online_softmax) return online_softmax(id);
    std::vector<Block<T>> parts(op.inputs.size());
    std::vector<const Block<T>*> inputs;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(&in_hand(this->buffer(op.inputs[i]), parts[i]));
    if (phase == Phase::loop && accumulator == AccumulatorKind::fold) {
      static_cast<void>(fold_elements(context_.question, id, inputs, this->now(), fold_state(id)));
      return;
    }
    std::vector<Block<T>> results;
    if (phase == Phase::loop && accumulator == AccumulatorKind::scan)
      results.push_back(fold_elements(context_.question, id, inputs, this->now(), fold_state(id)));
    else
      results = evaluate(context_.question, id, inputs, this->now());
    if (phase == Phase::loop && accumulator == AccumulatorKind::sum) {
      observe_part(this->array(op.outputs[0]).name, results[0]);
      change(this->buffer(op.outputs[0]), [&](Block<T>& sum) { add_into(sum, results[0]); });
    } else if (phase == Phase::loop && accumulator == AccumulatorKind::max) {
      change(this->buffer(op.outputs[0]), [&](Block<T>& most) { maximum_into(most, results[0]); });
    } else {
      for (std::size_t i = 0; i < results.size(); ++i) {
        context_.round(op.outputs[i], results[i]);
        keep(op.outputs[i], std::move(results[i]));
      }
    }
    for (ArrayId out : op.outputs) observe(this->array(out).name, phase, out);
  }

  /// Runs mu1 = max(mu, scores); p = exp(scores - mu1); delta = exp(mu - mu1); z1 = delta z + sum p. (eq. 4.2 and eq.
  /// 4.3)
  void online_softmax(OpId id) {
    Block<T> values = scores_of(id);
    begin_softmax(id);
    raise_maximum(id, values);
    shift_maximum(id);
    exponentials_of(id, std::move(values));
    if (!observing()) return;
    const State& s = state(id);
    const std::array<const Block<T>*, 3> blocks = {&s.mu, &s.delta, &s.z};
    for (std::size_t k = 0; k < 3; ++k) observe(s.names[k], Phase::loop, *blocks[k]);
  }

  Block<T> scores_of(OpId id) {
    Block<T> part;
    const Block<T>& scores = in_hand(this->buffer(context_.question.operation(id).inputs[0]), part);
    return scaled_scores(context_.question, id, scores, this->now());
  }
  void begin_softmax(OpId id) {
    State& s = state(id);
    s.raised = s.mu;
  }
  void raise_maximum(OpId id, const Block<T>& values) {
    change(state(id).raised, [&](Block<T>& most) { raise_to_maximum(most, values); });
  }
  void shift_maximum(OpId id) {
    State& s = state(id);
    Block<T> raised;
    const Block<T>& next = in_hand(s.raised, raised);
    change(s.mu, [&](Block<T>& mu) {
      change(s.delta, [&](Block<T>& delta) {
        for (std::size_t i = 0; i < mu.data.size(); ++i) {
          const T before = mu.data[i];
          mu.data[i] = next.data[i];
          delta.data[i] = std::isinf(before) && before < T(0) ? T(0) : std::exp(before - mu.data[i]);
        }
        change(s.z, [&](Block<T>& z) { multiply_rows(z, delta); });
      });
    });
  }
  void exponentials_of(OpId id, Block<T> values) {
    State& s = state(id);
    const ArrayId out = context_.question.operation(id).outputs[0];
    Block<T> mu;
    const Block<T>& maximum = in_hand(s.mu, mu);
    const Block<T> before = s.z;
    change(s.z, [&](Block<T>& sum) { exponentials(values, maximum, sum); });
    if (is_normalised(context_.question.operation(id))) {  // eq. 4.4
      divide_rows(values, s.z);
      s.delta = before;
      divide_rows(s.delta, s.z);
    }
    context_.round(out, values);
    keep(out, std::move(values));
    observe(this->array(out).name, Phase::loop, out);
  }

  /// Computes what the tail makes of a state: a statistic of a softmax, the result of a fold.
  void compute_of_state(OpId id, ArrayId out) {
    const Operation& op = context_.question.operation(id);
    const auto place =
        static_cast<std::size_t>(std::find(op.outputs.begin(), op.outputs.end(), out) - op.outputs.begin());
    const Block<T> value = op.kind == OpKind::softmax ? softmax_statistic(op, place, state(id).mu, state(id).z)
                                                      : fold_result(context_.question, id, fold_state(id), this->now());
    Block<T>& block = this->allocate(out, Block<T>(this->array(out).axes, this->now(), T(0)));
    copy_common(value, block);
    context_.round(out, block);
    observe(this->array(out).name, Phase::tail, out);
  }

  void normalise(const Statement& statement) {
    Block<T>& block = this->buffer(*statement.array);
    divide_rows(block, state(*statement.operation).z);
    context_.round(*statement.array, block);
    observe(this->array(*statement.array).name, Phase::tail, *statement.array);
  }

  /// Rounds an accumulated array, once, when the loop is done with it.
  void finish(ArrayId id) {
    const OpId op = *this->streamed().diagram.producer(id);
    if (!this->streamed().operations[index(op)].normalised_in_tail) context_.round(id, this->buffer(id));
  }

  void observe_part(const std::string& array, const Block<T>& part) {
    if (!observing()) return;
    for (const NamedPart& named : context_.options.parts) {
      if (named.array == array) observe(named.name, Phase::loop, part);
    }
  }

  bool observing() const { return static_cast<bool>(context_.options.observer); }

  void observe(const std::string& name, Phase phase, ArrayId id) {
    if (observing() && this->has(id)) observe(name, phase, this->buffer(id));
  }

  void observe(const std::string& name, Phase phase, const Block<T>& block) {
    const auto& wanted = context_.options.observed;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) return;
    const Tensor tensor{block.shape(), std::vector<double>(block.data.begin(), block.data.end())};
    std::vector<std::int64_t> first;
    for (const Span& span : block.spans) first.push_back(span.first);
    context_.options.observer({name, phase, group_, this->iteration_, first, tensor});
  }

  std::vector<State> states_;
  std::vector<std::pair<OpId, std::vector<Block<T>>>> folds_;  // state by operation
  std::vector<std::int64_t> group_;
  Box whole_;               // box of now() outside of loops over parts
  std::vector<bool> done_;  // true for statements of the phase that have run
  int depth_ = 0;           // number of loops over parts that are running
};

}  // namespace

template <class T>
std::unique_ptr<Node<T>> make_computing_node(const Context<T>& context, std::size_t level, Box box, Memory<T>& parent) {
  return std::make_unique<ComputingNode<T>>(context, level, std::move(box), parent);
}

template std::unique_ptr<Node<double>> make_computing_node(const Context<double>&, std::size_t, Box, Memory<double>&);
template std::unique_ptr<Node<float>> make_computing_node(const Context<float>&, std::size_t, Box, Memory<float>&);

}  // namespace napkin::internal::interpret
