#pragma once
// A BytesCase is a question of a kernel whose Q and K are bytes of e4m3: odd sizes, masks, rows that see no key, packed
// sequences. A configuration is one compiled variant and runs on a few shapes in turn.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "model/resource/plan.hpp"
#include "tests/kernel/attention_problem.hpp"
#include "tests/kernel/undivided.hpp"

namespace napkin::internal::test {

struct BytesCase {
  AttentionLayout layout;
  Knobs tile;
};

struct BytesConfiguration {
  std::int64_t d;
  Mask mask;
  Knobs tile;
  bool packed = false;
  double deviation = 1;
};

inline std::string describe(const BytesCase& one) {
  const AttentionLayout& l = one.layout;
  std::string out = text_of(l.mask);
  for (const auto& [name, value] : shape_of(l.sizes)) out += " " + name + "=" + std::to_string(value);
  for (const auto& [name, value] : one.tile) out += " " + name + "=" + value;
  if (l.heads_first) out += " heads first";
  out += " gap=" + std::to_string(l.gap) + " deviation=" + std::to_string(l.deviation);
  for (const std::int32_t length : l.q_lengths) out += " " + std::to_string(length);
  return out;
}

inline std::unique_ptr<LaidOut> lay_out(const BytesCase& one, const std::string& kernel) {
  return std::make_unique<LaidOut>(kernel, "h200-sxm", shape_of(one.layout.sizes), DType::e4m3, one.layout.mask);
}

/// Makes the call of a case without its arrays; addresses that are not 0 are never read.
inline AttentionCall call_without_arrays(const BytesCase& one, bool counting) {
  constexpr std::uint64_t somewhere = 4096;
  AttentionCall call;
  call.q.address = call.k.address = call.v.address = call.o.address = call.ticket = somewhere;
  if (counting) call.cycles = somewhere;
  if (!one.layout.q_lengths.empty()) {
    call.q_starts = call.x_starts = somewhere;
    call.q_rows = call.x_rows = 64;
  }
  return call;
}

/// Makes the `number`-th layout of a configuration, of one head; `most` is the largest number of queries.
inline AttentionLayout numbered_layout(const BytesConfiguration& c, std::size_t number, std::int64_t most) {
  constexpr std::int64_t sizes[] = {1, 7, 65, 200, 1000, 130, 257};
  const std::int64_t queries[] = {65, 1, 200, 7, most};
  AttentionLayout l;
  l.sizes = {1, 1, 1, queries[number % 5], sizes[number % 7], c.d, c.d};
  l.mask = c.mask;
  l.deviation = c.deviation;
  l.heads_first = number % 4 == 1;
  l.gap = number % 3 == 2 ? 32 : 0;
  l.log_sum_exp = number % 11 != 10;
  l.seed = number + 1;
  return l;
}

/// Gives a layout a few heads and now and then two batches, unless it is large.
inline void add_heads(AttentionLayout& l, std::size_t number) {
  if (l.sizes.x >= 1000 || l.sizes.q * l.sizes.g >= 300) return;
  l.sizes.h = static_cast<std::int64_t>(number % 3) + 1;
  l.sizes.b = number % 5 == 3 ? 2 : 1;
}

/// Makes a layout one of four packed sequences, of which one has no queries and one no keys.
inline void pack(AttentionLayout& l) {
  l.heads_first = false;
  const auto first = static_cast<std::int32_t>(l.sizes.q),
             second = static_cast<std::int32_t>(std::min<std::int64_t>(l.sizes.x, 257));
  l.q_lengths = {first, 0, 33, 17};
  l.x_lengths = {second, 7, 0, 129};
  l.sizes.b = 4;
  l.sizes.h = 1;
  l.sizes.q = std::max<std::int64_t>(first, 33);
  l.sizes.x = std::max<std::int64_t>(second, 129);
}

/// Makes `count` cases of each configuration: make(configuration, number).
template <class Make>
auto cases_of(const std::vector<BytesConfiguration>& configurations, std::size_t count, const Make& make) {
  std::vector<decltype(make(configurations.front(), count))> out;
  for (const BytesConfiguration& c : configurations) {
    for (std::size_t made = 0; made < count; ++made) out.push_back(make(c, made));
  }
  return out;
}

}  // namespace napkin::internal::test
