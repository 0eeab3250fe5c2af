#include "kernels/sass/census.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

using Code = std::vector<SassInstruction>;

const SassInstruction& at(const Code& code, int i) { return code[static_cast<std::size_t>(i)]; }

bool is_product(const SassInstruction& one) { return product_shape(one).has_value(); }

/// Registers of a product's result, from its first one on.
constexpr int fragment = 4;

/// The products of an iteration of the main loop, by operation. Of two operations the first one's accumulators begin at
/// zero in each iteration, and the second one's are carried on.
class Products {
 public:
  Products(const Code& code, const std::vector<int>& turn, int operations) : code_(code), operations_(operations) {
    found.resize(static_cast<std::size_t>(operations));
    for (int i : turn) {
      const SassInstruction& one = at(code_, i);
      if (is_product(one))
        take(one);
      else
        forget(one);
    }
  }
  std::vector<SassOperation> found;
  std::vector<int> of;  ///< operation of each product, in the turn's order

 private:
  void take(const SassInstruction& one) {
    const int from = accumulator_of(one), to = one.register_of(0);
    const auto known = held_.find(from);
    const bool first = operations_ == 1 || from < 0 || (known != held_.end() && known->second == 0);
    const int number = operations_ == 1 || first ? 0 : 1;
    SassOperation& operation = found[static_cast<std::size_t>(number)];
    operation.shape = *product_shape(one);
    ++operation.count;
    if (known == held_.end() || from < 0) ++operation.chains;
    operation.a_in_registers = one.register_of(1) >= 0;
    held_[to] = number;
    of.push_back(number);
  }
  /// Forgets the accumulator whose register the instruction overwrites.
  void forget(const SassInstruction& one) {
    const int to = one.register_of(0);
    if (to < 0 || one.opcode.starts_with("ST") || one.opcode == "LDGSTS") return;
    std::erase_if(held_, [&](const auto& entry) {
      const bool synchronous = !found[static_cast<std::size_t>(entry.second)].shape.asynchronous;
      return entry.first <= to && to < entry.first + (synchronous ? fragment : 1);
    });
  }
  const Code& code_;
  int operations_;
  std::map<int, int> held_;  ///< operation that each register accumulates
};

double own_flops(const Code& code, const std::vector<SassLoop>& loops, const SassLoop& loop) {
  double sum = 0;
  for (int i : loop.body) {
    const auto shape = product_shape(at(code, i));
    if (shape && innermost(loops, i) == &loop) sum += shape->flops();
  }
  return sum;
}

/// Returns the innermost loops that multiply at least half as much as the one that multiplies most.
std::vector<const SassLoop*> main_loops(const Code& code, const std::vector<SassLoop>& loops) {
  double most = 0;
  for (const SassLoop& loop : loops) most = std::max(most, own_flops(code, loops, loop));
  std::vector<const SassLoop*> out;
  for (const SassLoop& loop : loops) {
    if (most > 0 && own_flops(code, loops, loop) >= most / 2) out.push_back(&loop);
  }
  const std::vector<const SassLoop*> all = out;
  std::erase_if(out, [&](const SassLoop* one) {
    return std::any_of(all.begin(), all.end(),
                       [&](const SassLoop* other) { return other != one && one->has(other->head); });
  });
  return out;
}

bool is_wait(const SassInstruction& one) {
  return one.opcode == "BAR" || (one.opcode == "SYNCS" && one.has("TRYWAIT")) ||
         (one.opcode == "DEPBAR" && !one.operands.empty());
}

void count(const SassInstruction& one, SassSection& section) {
  const std::string_view unit = unit_of(one);
  if (unit == "tensor") return;
  ++section.instructions[std::string(unit)];
  if (unit == "shared") section.shared += one.width();
  if (unit == "local") section.local += one.width();
}

/// Returns two places in the iteration: the end of the last wait before the first product, and that product.
std::pair<std::ptrdiff_t, std::ptrdiff_t> lead_of(const Code& code, const std::vector<int>& turn) {
  const auto product = std::find_if(turn.begin(), turn.end(), [&](int i) { return is_product(at(code, i)); });
  auto wait = product;
  while (wait != turn.begin() && !is_wait(at(code, *(wait - 1)))) --wait;
  return {wait - turn.begin(), product - turn.begin()};
}

/// Cuts an iteration into three sections: up to the first operation's last product, up to the second's first, and the
/// rest. If the second's products follow the first's at once, its operand was computed in the iteration before.
void cut(const Code& code, const std::vector<int>& turn, const std::vector<int>& of, SassCensus& out) {
  out.sections.assign(out.operations.size() == 1 ? 1 : 3, {});
  const auto seen = std::count(of.begin(), of.end(), 0);
  std::ptrdiff_t products = 0, firsts = 0, position = 0;
  const auto [wait, first] = lead_of(code, turn);
  for (int i : turn) {
    const SassInstruction& one = at(code, i);
    const bool leads = wait <= position && position < first;
    ++position;
    if (leads) {
      count(one, out.lead);
      continue;
    }
    if (is_product(one)) firsts += of[static_cast<std::size_t>(products++)] == 0 ? 1 : 0;
    const bool before = firsts<seen, second = products> firsts;
    const std::size_t section = out.operations.size() == 1 || before ? 0 : second ? 2 : 1;
    count(one, out.sections[section]);
  }
  if (out.sections.size() < 3 || out.sections[2].of("special") <= out.sections[1].of("special")) return;
  // With mma.sync, exponentials of later columns lie between the second operation's products. Asynchronous products are
  // issued together, and instructions after them belong to the next iteration.
  if (!out.operations[1].shape.asynchronous) return;
  out.second_first = true;
  std::swap(out.sections[1], out.sections[2]);
}

void count_waits(const Code& code, const std::vector<int>& turn, const std::vector<int>& of, SassCensus& out) {
  std::size_t products = 0;
  for (int i : turn) {
    const SassInstruction& one = at(code, i);
    if (is_product(one)) {
      ++products;
    } else if (one.opcode == "WARPGROUP" && one.has("DEPBAR")) {
      ++out.operations[products > 0 ? static_cast<std::size_t>(of[products - 1]) : 0].waits;
    } else if (is_wait(one)) {
      ++(one.opcode == "BAR" ? out.barriers : out.waits);
    }
  }
}

/// Counts the copies of the loop that requests chunks from the copy engine: the innermost with waits and most requests.
void count_bulk(const Code& code, const std::vector<SassLoop>& loops, SassCensus& out) {
  const auto asked_in = [&](const SassLoop& loop) {
    return static_cast<int>(
        std::count_if(loop.body.begin(), loop.body.end(), [&](int i) { return unit_of(at(code, i)) == "bulk"; }));
  };
  const auto asks = [&](const SassLoop& loop) {
    return asked_in(loop) > 0 &&
           std::any_of(loop.body.begin(), loop.body.end(), [&](int i) { return is_wait(at(code, i)); });
  };
  for (const SassLoop& loop : loops) {
    const bool outer = std::any_of(loops.begin(), loops.end(), [&](const SassLoop& other) {
      return &other != &loop && loop.has(other.head) && asks(other);
    });
    if (asks(loop) && !outer) out.bulk = std::max(out.bulk, asked_in(loop));
  }
  for (const SassInstruction& one : code) {
    out.bulk_everywhere += unit_of(one) == "bulk" ? 1 : 0;
    out.mbarriers += one.opcode == "SYNCS" && one.has("EXCH") ? 1 : 0;
    if (one.opcode != "USETMAXREG") continue;
    const std::size_t hex = one.operands.rfind("0x");
    if (hex == std::string::npos) continue;
    int value = 0;
    std::from_chars(one.operands.data() + hex + 2, one.operands.data() + one.operands.size(), value, 16);
    (one.has("DEALLOC") ? out.copy_registers : out.compute_registers) = value;
  }
}

/// Counts the instructions before the first main loop, and after the last.
void count_ends(const Code& code, const std::vector<const SassLoop*>& mains, SassCensus& out) {
  out.head = mains.front()->head;
  int last = 0;
  for (const SassLoop* loop : mains) last = std::max(last, *std::max_element(loop->closes.begin(), loop->closes.end()));
  for (int i = last + 1; i < std::ssize(code); ++i) {
    ++out.tail;
    if (at(code, i).opcode == "EXIT") break;
  }
}

}  // namespace

int SassSection::of(std::string_view unit) const {
  const auto found = instructions.find(unit);
  return found == instructions.end() ? 0 : found->second;
}

int SassSection::all() const {
  int sum = 0;
  for (const auto& [unit, n] : instructions) sum += unit == "fragments" ? 0 : n;
  return sum;
}

SassCensus census_of(const SassFunction& function, int operations, const std::string& where) {
  const Code& code = function.code;
  const std::vector<SassLoop> loops = loops_of(code);
  const std::vector<const SassLoop*> mains = main_loops(code, loops);
  if (mains.empty())
    throw Error(where, "function " + function.name + " has no loop with matrix products whose shape its code says",
                "a kernel of mma.sync or wgmma (sm_80 to sm_90, sm_120)");
  SassCensus out;
  std::vector<std::vector<int>> turns;
  for (const SassLoop* loop : mains) turns.push_back(iteration_of(code, loops, *loop));
  const auto shortest = static_cast<std::size_t>(
      std::min_element(turns.begin(), turns.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); }) -
      turns.begin());
  const std::vector<int>& turn = turns[shortest];
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (i != shortest) out.others.push_back(static_cast<int>(turns[i].size()));
  }
  const Products products(code, turn, operations);
  out.function = function;
  out.instructions = static_cast<int>(turn.size());
  out.operations = products.found;
  for (const SassOperation& one : out.operations) {
    if (one.count == 0)
      throw Error(where, "the main loop of " + function.name + " multiplies once, and the algorithm twice",
                  "the kernel of that algorithm");
  }
  cut(code, turn, products.of, out);
  count_waits(code, turn, products.of, out);
  for (int i : turn) {
    if (unit_of(at(code, i)) != "copy") continue;
    ++out.copies;
    out.copied += at(code, i).width();
  }
  count_bulk(code, loops, out);
  count_ends(code, mains, out);
  return out;
}

}  // namespace napkin::internal
