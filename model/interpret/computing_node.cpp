// The node that computes: head, loop and tail statement by statement.

#include <cmath>
#include <limits>

#include "model/interpret/node.hpp"

namespace napkin::interpret {
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
    const auto& statements = context_.schedule.statements(phase);
    for (std::size_t t = 0; t < statements.size(); ++t) {
      execute(statements[t], phase);
      for (ArrayId id : context_.schedule.free_after(phase, t)) this->release(id);
      // A column is the state between two operations, with all that is loaded for the next one.
      if (statements[t].kind == Statement::Kind::load || statements[t].kind == Statement::Kind::compute) this->column();
    }
  }

  void execute(const Statement& statement, Phase phase) {
    switch (statement.kind) {
      case Statement::Kind::initialise:
        statement.array ? initialise_array(*statement.array) : initialise_state(*statement.operation);
        break;
      case Statement::Kind::load: this->load(*statement.array); break;
      case Statement::Kind::store: this->store(*statement.array, this->buffer(*statement.array)); break;
      case Statement::Kind::rescale:
        multiply_rows(this->buffer(*statement.array), state(*statement.operation).delta);
        break;
      case Statement::Kind::normalise: normalise(statement); break;
      case Statement::Kind::compute: compute(statement, phase); break;
    }
  }

  // (mu, delta, z) of one online softmax, in the order of the auxiliaries.
  struct State {
    OpId softmax;
    Block<T> mu, delta, z;
    std::array<std::string, 3> names;
  };

  State& state(OpId softmax) {
    for (State& s : states_) {
      if (s.softmax == softmax) return s;
    }
    throw std::logic_error("a softmax without its state");
  }

  void initialise_state(OpId softmax) {
    State s{softmax, {}, {}, {}, {}};
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

  void initialise_array(ArrayId id) {
    const OpId op = *this->streamed().diagram.producer(id);
    const bool maximum = this->streamed().operations[index(op)].accumulator == AccumulatorKind::max;
    this->allocate(id,
                   Block<T>(this->array(id).axes, this->now(), maximum ? -std::numeric_limits<T>::infinity() : T(0)));
  }

  void compute(const Statement& statement, Phase phase) {
    const OpId id = *statement.operation;
    const Operation& op = context_.question.operation(id);
    if (statement.array) return compute_log_sum_exp(id, *statement.array);
    const auto accumulator = this->streamed().operations[index(id)].accumulator;
    std::vector<const Block<T>*> inputs;
    for (ArrayId in : op.inputs) inputs.push_back(&this->buffer(in));
    if (phase == Phase::loop && accumulator == AccumulatorKind::online_softmax) return online_softmax(id, *inputs[0]);
    std::vector<Block<T>> results = evaluate(context_.question, id, inputs, this->now());
    if (phase == Phase::loop && accumulator == AccumulatorKind::sum) {
      observe_part(this->array(op.outputs[0]).name, results[0]);
      add_into(this->buffer(op.outputs[0]), results[0]);
    } else if (phase == Phase::loop && accumulator == AccumulatorKind::max) {
      maximum_into(this->buffer(op.outputs[0]), results[0]);
    } else {
      for (std::size_t i = 0; i < results.size(); ++i) {
        context_.round(op.outputs[i], results[i]);
        this->allocate(op.outputs[i], std::move(results[i]));
      }
    }
    for (ArrayId out : op.outputs) observe(this->array(out).name, phase, out);
  }

  // mu1 = max(mu, scores); p = exp(scores - mu1); delta = exp(mu - mu1); z1 = delta z + sum p (eq. 4.2 and eq. 4.3)
  void online_softmax(OpId id, const Block<T>& scores) {
    State& s = state(id);
    const ArrayId out = context_.question.operation(id).outputs[0];
    Block<T> values = scaled_scores(context_.question, id, scores, this->now());
    s.delta = s.mu;
    raise_to_maximum(s.mu, values);
    for (std::size_t i = 0; i < s.mu.data.size(); ++i) {
      const T before = s.delta.data[i];
      s.delta.data[i] = std::isinf(before) && before < T(0) ? T(0) : std::exp(before - s.mu.data[i]);
      s.z.data[i] *= s.delta.data[i];
    }
    exponentials(values, s.mu, s.z);
    context_.round(out, values);
    this->allocate(out, std::move(values));
    observe(this->array(out).name, Phase::loop, out);
    if (!observing()) return;
    const std::array<const Block<T>*, 3> blocks = {&s.mu, &s.delta, &s.z};
    for (std::size_t k = 0; k < 3; ++k) observe(s.names[k], Phase::loop, *blocks[k]);
  }

  void compute_log_sum_exp(OpId softmax, ArrayId out) {
    const Block<T> value = log_sum_exp(state(softmax).mu, state(softmax).z);
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

  // An accumulated array is rounded once, when the loop is done with it.
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
  std::vector<std::int64_t> group_;
};

}  // namespace

template <class T>
std::unique_ptr<Node<T>> make_computing_node(const Context<T>& context, std::size_t level, Box box, Memory<T>& parent) {
  return std::make_unique<ComputingNode<T>>(context, level, std::move(box), parent);
}

template std::unique_ptr<Node<double>> make_computing_node(const Context<double>&, std::size_t, Box, Memory<double>&);
template std::unique_ptr<Node<float>> make_computing_node(const Context<float>&, std::size_t, Box, Memory<float>&);

}  // namespace napkin::interpret
