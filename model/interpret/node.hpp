#pragma once
// A Node is one group at one level, such as a block with its tile of Q: its buffers, and its run of head, loop and
// tail. Internal to the folder.

#include <memory>
#include <optional>

#include "model/interpret/operation.hpp"
#include "model/interpret/run.hpp"

namespace napkin::internal::interpret {

/// The source of a node's loads and the target of its stores.
template <class T>
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;
  /// Fills the block. Returns the number of values copied.
  virtual std::int64_t read(ArrayId array, Block<T>& block) = 0;
  /// Stores the block; `box` tells which group of every axis stores it. Returns the number of values copied.
  virtual std::int64_t write(ArrayId array, const Block<T>& block, const Box& box) = 0;
};

/// The last use of each array, after which its buffer is free.
class Schedule {
 public:
  explicit Schedule(const Streamed& streamed);
  [[nodiscard]] const std::vector<Statement>& statements(Phase phase) const;
  /// Returns the arrays that are free after statement t of a phase.
  [[nodiscard]] const std::vector<ArrayId>& free_after(Phase phase, std::size_t t) const {
    return free_[index(static_cast<int>(phase))][t];
  }
  /// Returns the arrays that are needed in every iteration but not after the loop: persistent inputs, and results of
  /// the head.
  [[nodiscard]] const std::vector<ArrayId>& free_after_loop() const { return free_after_loop_; }
  [[nodiscard]] bool needed_in(ArrayId array, Phase phase) const {
    return last_[index(array)] && last_[index(array)]->phase >= static_cast<int>(phase);
  }

 private:
  struct Place {
    int phase;
    std::size_t statement;
  };
  const Streamed& streamed_;
  std::vector<std::optional<Place>> last_;
  std::array<std::vector<std::vector<ArrayId>>, 3> free_;
  std::vector<ArrayId> free_after_loop_;
};

/// A level of the nest, shared by its nodes.
struct Level {
  const Partition* partition = nullptr;
  LevelCounts* counts = nullptr;
};

/// The state that all nodes of a run share.
template <class T>
struct Context {
  const Streamed& streamed;
  Question question;
  Schedule schedule;
  std::vector<Level> levels;
  std::vector<DType> types;  ///< types of arrays in a group's buffers, by ArrayId
  const RunOptions& options;
  Program program = options.program ? *options.program : program_of(streamed);

  void round(ArrayId array, Block<T>& block) const;
};

/// A group at one level.
template <class T>
class Node {
 public:
  Node(const Context<T>& context, std::size_t level, Box box, Memory<T>& parent);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  virtual void head() = 0;
  /// Runs the chunk of now().
  virtual void iterate() = 0;
  /// Skips a chunk that the mask hides from the whole group. Outputs with the streamed axis are still written, as
  /// zeros, unless other groups add to them.
  virtual void skip() = 0;
  virtual void tail() = 0;

  /// Walks the node's chunks within `range` of the streamed axis, except those that it does not see.
  void walk_stream(const Span& range);
  /// Returns the node's own part of the streamed axis.
  [[nodiscard]] Span stream_range() const { return box_[index(*context_.streamed.stream)]; }

 protected:
  const Streamed& streamed() const { return context_.streamed; }
  LevelCounts& counts() const { return *context_.levels[level_].counts; }
  const Array& array(ArrayId id) const { return context_.question.array(id); }
  /// Returns the box with the streamed axis cut to the current chunk.
  const Box& now() const { return now_; }

  /// Allocates a buffer. The meter counts its allocation and its release.
  Block<T>& allocate(ArrayId id, Block<T> block);
  Block<T>& allocate(ArrayId id, Block<T> block, Count held);
  void release(ArrayId id);
  [[nodiscard]] Block<T>& buffer(ArrayId id);
  [[nodiscard]] bool has(ArrayId id) const { return slots_[index(id)].has_value(); }
  void load(ArrayId id);
  void store(ArrayId id, const Block<T>& block);
  void column() { meter_.column(counts()); }
  /// Returns the number of values with these axes in a full tile.
  [[nodiscard]] Count reserved(const std::vector<AxisId>& axes) const;
  [[nodiscard]] Count reserved(const Array& array) const;

  const Context<T>& context_;
  std::size_t level_;
  Box box_, now_;
  Memory<T>& parent_;
  Meter meter_;
  std::int64_t iteration_ = 0;

 private:
  [[nodiscard]] bool visited() const;

  struct Slot {
    Block<T> block;
    Count reserved, held;
  };
  std::vector<std::optional<Slot>> slots_;
};

/// Makes the node that computes: the last level.
template <class T>
[[nodiscard]] std::unique_ptr<Node<T>> make_computing_node(const Context<T>& context, std::size_t level, Box box,
                                                           Memory<T>& parent);
/// Makes a node that loads tiles for the nodes below it and gathers their stores.
template <class T>
[[nodiscard]] std::unique_ptr<Node<T>> make_staging_node(const Context<T>& context, std::size_t level, Box box,
                                                         Memory<T>& parent);
template <class T>
[[nodiscard]] std::unique_ptr<Node<T>> make_node(const Context<T>& context, std::size_t level, Box box,
                                                 Memory<T>& parent) {
  return level + 1 == context.levels.size() ? make_computing_node(context, level, std::move(box), parent)
                                            : make_staging_node(context, level, std::move(box), parent);
}

/// Calls f(box) for every group of the grouped axes inside `box`, the last axis fastest.
template <class F>
void for_groups(const Streamed& streamed, const Partition& partition, const Box& box, F&& f) {
  std::vector<AxisId> axes;
  Box group = box;
  const auto cut = [&](AxisId a, std::int64_t first) {
    group[index(a)] = {first, std::min(first + partition.group[index(a)].get(), box[index(a)].last)};
  };
  for (std::size_t i = 0; i < box.size(); ++i) {
    if (!streamed.grouped(static_cast<AxisId>(i))) continue;
    axes.push_back(static_cast<AxisId>(i));
    cut(axes.back(), box[i].first);
  }
  for (;;) {
    f(group);
    std::size_t k = axes.size();
    for (;;) {
      if (k == 0) return;
      const AxisId a = axes[--k];
      if (group[index(a)].last < box[index(a)].last) {
        cut(a, group[index(a)].last);
        break;
      }
      cut(a, box[index(a)].first);
    }
  }
}

}  // namespace napkin::internal::interpret
