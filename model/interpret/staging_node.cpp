// A node that computes nothing: it loads its tile, lets the nodes below it work on parts of it, and stores what they
// leave.

#include "model/interpret/node.hpp"

namespace napkin::internal::interpret {
namespace {

template <class T>
class StagingNode final : public Node<T>, public Memory<T> {
 public:
  StagingNode(const Context<T>& context, std::size_t level, Box box, Memory<T>& parent)
      : Node<T>(context, level, std::move(box), parent) {
    for_groups(context.streamed, *context.levels[level + 1].partition, this->box_, [&](const Box& part) {
      children_.push_back(make_node(context, level + 1, part, static_cast<Memory<T>&>(*this)));
    });
  }

  void head() override {
    load_all(Phase::head);
    for (auto& child : children_) child->head();
    flush();
    release_unless_needed(this->streamed().head, Phase::loop);
  }

  void iterate() override {
    load_all(Phase::loop);
    skip();
    release_unless_needed(this->streamed().loop, Phase::tail);
  }

  /// Skips a chunk in all parts of the group: a part sees no more than the group.
  void skip() override {
    for (auto& child : children_) child->walk_stream(this->now()[index(*this->streamed().stream)]);
    flush();
  }

  void tail() override {
    release_unless_needed(this->streamed().head, Phase::tail);
    load_all(Phase::tail);
    for (auto& child : children_) child->tail();
    flush();
  }

  std::int64_t read(ArrayId array, Block<T>& block) override { return copy_common(this->buffer(array), block); }

  std::int64_t write(ArrayId id, const Block<T>& block, const Box&) override {
    if (!this->has(id)) {
      this->allocate(id, Block<T>(this->array(id).axes, this->now(), T(0)));
      written_.push_back(id);
      this->column();
    }
    return copy_common(block, this->buffer(id));
  }

 private:
  void load_all(Phase phase) {
    for (const Statement& statement : this->context_.schedule.statements(phase)) {
      if (statement.kind == Statement::Kind::load) this->load(*statement.array);
    }
    this->column();
  }

  void flush() {
    for (ArrayId id : written_) {
      this->store(id, this->buffer(id));
      this->release(id);
    }
    written_.clear();
  }

  void release_unless_needed(const std::vector<Statement>& statements, Phase later) {
    for (const Statement& statement : statements) {
      if (statement.kind != Statement::Kind::load) continue;
      if (!this->context_.schedule.needed_in(*statement.array, later)) this->release(*statement.array);
    }
  }

  std::vector<std::unique_ptr<Node<T>>> children_;
  std::vector<ArrayId> written_;
};

}  // namespace

template <class T>
std::unique_ptr<Node<T>> make_staging_node(const Context<T>& context, std::size_t level, Box box, Memory<T>& parent) {
  return std::make_unique<StagingNode<T>>(context, level, std::move(box), parent);
}

template std::unique_ptr<Node<double>> make_staging_node(const Context<double>&, std::size_t, Box, Memory<double>&);
template std::unique_ptr<Node<float>> make_staging_node(const Context<float>&, std::size_t, Box, Memory<float>&);

}  // namespace napkin::internal::interpret
