#include "kernels/sass/loops.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "kernels/sass/products.hpp"

namespace napkin::internal {
namespace {

bool ends(const SassInstruction& one) {
  return !one.predicated && (one.opcode == "EXIT" || one.opcode == "RET" || one.opcode == "BRX");
}

std::vector<int> next_of(const std::vector<SassInstruction>& code, int i) {
  const SassInstruction& one = code[static_cast<std::size_t>(i)];
  std::vector<int> out;
  const bool jumps = one.opcode == "BRA";
  if (!ends(one) && (!jumps || one.predicated) && i + 1 < std::ssize(code)) out.push_back(i + 1);
  if (jumps && one.target >= 0) out.push_back(one.target);
  return out;
}

/// Returns true for each instruction that the first reaches without passing `barred`.
std::vector<bool> reached(const std::vector<std::vector<int>>& next, int from, int barred) {
  std::vector<bool> seen(next.size());
  std::vector<int> waiting;
  const auto visit = [&](int i) {
    if (i == barred || seen[static_cast<std::size_t>(i)]) return;
    seen[static_cast<std::size_t>(i)] = true;
    waiting.push_back(i);
  };
  visit(from);
  while (!waiting.empty()) {
    const int i = waiting.back();
    waiting.pop_back();
    for (int to : next[static_cast<std::size_t>(i)]) visit(to);
  }
  return seen;
}

std::vector<std::vector<int>> turned(const std::vector<std::vector<int>>& next) {
  std::vector<std::vector<int>> out(next.size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    for (int to : next[i]) out[static_cast<std::size_t>(to)].push_back(static_cast<int>(i));
  }
  return out;
}

/// The best path from an instruction to the jump back: that with most work of the loop, then with the fewest
/// instructions.
struct Way {
  double work = 0;
  int length = 0;
  int next = -1;
  [[nodiscard]] bool better(const Way& other) const {
    return work != other.work ? work > other.work : length < other.length;
  }
};

class Ways {
 public:
  Ways(const std::vector<SassInstruction>& code, const std::vector<SassLoop>& loops, const SassLoop& loop)
      : code_(code), loops_(loops), loop_(loop) {}

  std::vector<int> best() {
    std::vector<int> out;
    for (int i = loop_.head; i >= 0;) {
      const auto way = from(i);
      if (!way) return loop_.body;  // every path back passes through an inner loop: takes the whole body
      out.push_back(i);
      i = way->next;
    }
    return out;
  }

 private:
  [[nodiscard]] bool closes(int i, int to) const {
    return std::any_of(loops_.begin(), loops_.end(), [&](const SassLoop& one) {
      return one.head == to && std::find(one.closes.begin(), one.closes.end(), i) != one.closes.end();
    });
  }

  /// Returns an instruction's work: copies count everywhere, products only outside of inner loops.
  [[nodiscard]] double work_of(int i) const {
    const SassInstruction& one = code_[static_cast<std::size_t>(i)];
    const std::string_view unit = unit_of(one);
    if (unit == "copy" || unit == "bulk") return 1;
    const auto shape = product_shape(one);
    return shape && innermost(loops_, i) == &loop_ ? shape->flops() : 0;
  }

  std::optional<Way> from(int i) {
    if (const auto known = known_.find(i); known != known_.end()) return known->second;
    known_[i] = std::nullopt;  // marks the instruction while its paths are searched, so that it is not entered again
    std::optional<Way> best;
    for (int to : next_of(code_, i)) {
      std::optional<Way> way;
      if (to == loop_.head) {
        way = Way{};
      } else if (!closes(i, to) && loop_.has(to)) {
        if (way = from(to); way) way->next = to;
      }
      if (way && (!best || way->better(*best))) best = way;
    }
    if (best) best->work += work_of(i), ++best->length;
    return known_[i] = best;
  }

  const std::vector<SassInstruction>& code_;
  const std::vector<SassLoop>& loops_;
  const SassLoop& loop_;
  std::map<int, std::optional<Way>> known_;
};

}  // namespace

bool SassLoop::has(int instruction) const { return std::binary_search(body.begin(), body.end(), instruction); }

std::vector<SassLoop> loops_of(const std::vector<SassInstruction>& code) {
  std::vector<std::vector<int>> next(code.size());
  for (int i = 0; i < std::ssize(code); ++i) next[static_cast<std::size_t>(i)] = next_of(code, i);
  const std::vector<std::vector<int>> before = turned(next);
  const std::vector<bool> alive = reached(next, 0, -1);
  std::map<int, SassLoop> by_head;
  for (int i = 0; i < std::ssize(code); ++i) {
    const int head = code[static_cast<std::size_t>(i)].target;
    // A jump back closes a loop if every path to it passes through the loop's head. The jump at the end of a wait that
    // the compiler has moved out of the loop does not.
    if (head < 0 || head >= i || !alive[static_cast<std::size_t>(i)]) continue;
    if (head > 0 && reached(next, 0, head)[static_cast<std::size_t>(i)]) continue;
    SassLoop& loop = by_head[head];
    loop.head = head;
    loop.closes.push_back(i);
    const std::vector<bool> inside = reached(before, i, head);
    for (int k = 0; k < std::ssize(code); ++k) {
      if (k == head || (inside[static_cast<std::size_t>(k)] && alive[static_cast<std::size_t>(k)]))
        loop.body.push_back(k);
    }
  }
  std::vector<SassLoop> out;
  for (auto& [head, loop] : by_head) {
    std::sort(loop.body.begin(), loop.body.end());
    loop.body.erase(std::unique(loop.body.begin(), loop.body.end()), loop.body.end());
    out.push_back(std::move(loop));
  }
  return out;
}

std::vector<int> iteration_of(const std::vector<SassInstruction>& code, const std::vector<SassLoop>& loops,
                              const SassLoop& loop) {
  return Ways(code, loops, loop).best();
}

const SassLoop* innermost(const std::vector<SassLoop>& loops, int instruction) {
  const SassLoop* found = nullptr;
  for (const SassLoop& loop : loops) {
    if (loop.has(instruction) && (found == nullptr || loop.body.size() < found->body.size())) found = &loop;
  }
  return found;
}

}  // namespace napkin::internal
