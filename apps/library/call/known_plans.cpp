#include "apps/library/call/known_plans.hpp"

#include <bit>
#include <initializer_list>
#include <span>
#include <utility>

#include "apps/library/call/selected.hpp"
#include "apps/library/question/revision.hpp"
#include "kernels/jit/sha256.hpp"

namespace napkin::internal {
namespace {

class Key {
 public:
  Key() = default;
  Key(std::string_view algorithm, DType type, const DeviceProperties& gpu, const LaunchDevice& device) {
    for (const std::string_view text :
         {source_digest(), algorithm, name_of(type), std::string_view(gpu.name), std::string_view(gpu.architecture)})
      add_field(bytes_, text);
    add({gpu.sms, device.sms, device.l2.value.get()});
  }
  Key& add(std::initializer_list<std::int64_t> numbers) { return add(std::span(numbers.begin(), numbers.end())); }
  Key& add(std::span<const std::int64_t> numbers) {
    bytes_.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
    return *this;
  }
  Key& add(const DeviceRows& rows) { return add({rows.batch, rows.head, rows.row}); }
  Key& add(const AttentionArgs& args);
  Key& add_question(const AttentionArgs& args, bool ranked);
  [[nodiscard]] std::string bytes() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

Key& Key::add(const AttentionArgs& args) {
  const AttentionArgs::Sizes& s = args.sizes;
  add({s.b, s.h, s.g, s.q, s.x, s.d, s.dv});
  add({static_cast<std::int64_t>(args.mask.kind), args.mask.left, args.mask.right});
  for (const DeviceRows* rows : {&args.q, &args.k, &args.v, &args.o}) add(*rows);
  add({args.scale ? 1 : 0, std::bit_cast<std::int64_t>(args.scale.value_or(0))});
  for (const DeviceScales* scale : {&args.q_scale, &args.k_scale, &args.v_scale})
    add({scale->data != nullptr, scale->batch, scale->head, scale->block});
  for (const SequenceLengths& one : args.lengths) add({one.q, one.x});
  add({std::ssize(args.lengths)});
  add({args.key_counts != nullptr, args.pages.table != nullptr, args.pages.row, args.pages.size, args.pages.count});
  return add(
      {args.q_starts != nullptr, args.x_starts != nullptr, args.log_sum_exp != nullptr, args.q_rows, args.x_rows});
}

Key& Key::add_question(const AttentionArgs& args, bool ranked) {
  AttentionArgs::Sizes sizes = args.sizes;
  if (ranked && args.lengths.empty()) sizes.x = ranked_keys(sizes.q, sizes.x);
  const auto blocks = [](const DeviceScales& scale) { return std::int64_t{scale.block != 0}; };
  add(sizes_of(sizes))
      .add({static_cast<std::int64_t>(args.dtype), static_cast<std::int64_t>(args.mask.kind), args.mask.left,
            args.mask.right, args.q_starts != nullptr, needs_of(args).cached,
            blocks(args.q_scale) | blocks(args.k_scale) | blocks(args.v_scale)});
  for (const SequenceLengths& one : args.lengths) add({one.q, one.x});
  return *this;
}

/// Serialises the launches, field by field.
std::string content_of(const Launches& launches) {
  std::string out;
  for (const LaunchPlan& plan : launches) add_field(out, content_of(plan));
  return out;
}

std::optional<Launches> read_launches(std::string_view content) {
  Launches out;
  while (!content.empty()) {
    const auto field = next_field(content);
    std::optional<LaunchPlan> plan = field ? read_plan(*field) : std::nullopt;
    if (!plan) return std::nullopt;
    out.push_back(std::move(*plan));
  }
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

/// Returns the name of an entry's file: 64 hex digits.
std::string digits_of(const std::string& key) { return hex(Sha256().add(key).digest()); }

}  // namespace

std::string plan_key(const AttentionArgs& args, const DeviceProperties& gpu, const LaunchDevice& device) {
  return Key("attention", args.dtype, gpu, device).add(args).bytes();
}

std::string plan_key(const AttentionBackwardArgs& args, const DeviceProperties& gpu, const LaunchDevice& device) {
  Key key("attention_backward", args.forward.dtype, gpu, device);
  key.add(args.forward);
  for (const DeviceRows* rows : {&args.d_o, &args.dq, &args.dk, &args.dv}) key.add(*rows);
  return key.add({args.deterministic}).bytes();
}

std::string plan_key(const MatmulArgs& args, const DeviceProperties& gpu, const LaunchDevice& device) {
  Key key("matmul", args.dtype, gpu, device);
  key.add({args.sizes.a, args.sizes.b, args.sizes.c, args.a.row, args.b.row, args.c.row});
  return key.bytes();
}

std::string selection_key(const AttentionArgs& args, bool ranked) {
  return Key().add({'f'}).add_question(args, ranked).bytes();
}

std::string selection_key(const AttentionBackwardArgs& args, bool ranked) {
  return Key().add({'b', args.deterministic}).add_question(args.forward, ranked).bytes();
}

std::string selection_key(const MatmulArgs& args, bool) {
  return Key().add({'p', static_cast<std::int64_t>(args.dtype)}).add(sizes_of(args)).bytes();
}

std::string kind_key(AttentionArgs args) {
  if (!args.lengths.empty()) return "";
  args.sizes.b = args.sizes.x = 1;
  args.sizes.q = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(args.sizes.q)));
  return selection_key(args, false);
}

std::string kind_key(MatmulArgs args) {
  for (std::int64_t* size : {&args.sizes.a, &args.sizes.c})
    *size = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(*size)));
  return selection_key(args, false);
}

std::filesystem::path KnownPlans::file_of(const std::string& key) const { return entries_.file_of(digits_of(key)); }

std::optional<Launches> KnownPlans::met(const std::string& key) {
  const Launches* known = met_.find(key);
  return known == nullptr ? std::nullopt : std::optional(*known);
}

std::optional<Launches> KnownPlans::find(const std::string& key) {
  if (std::optional<Launches> known = met(key)) return known;
  const auto content = entries_.find(digits_of(key));
  std::optional<Launches> launches = content ? read_launches(*content) : std::nullopt;
  if (launches) met_.put(key, *launches);
  return launches;
}

void KnownPlans::store(const std::string& key, const Launches& launches) {
  meet(key, launches);
  (void)entries_.store(digits_of(key),
                       content_of(launches));  // a failure is ignored: storing the compiled kernel has reported it
}

}  // namespace napkin::internal
