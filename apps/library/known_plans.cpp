#include "apps/library/known_plans.hpp"

#include <bit>
#include <initializer_list>

#include "apps/library/revision.hpp"
#include "kernels/jit/sha256.hpp"

namespace napkin {
namespace {

class Key {
 public:
  Key(std::string_view algorithm, DType type, const DeviceProperties& gpu, const LaunchDevice& device) {
    for (const std::string_view text :
         {source_digest(), algorithm, name_of(type), std::string_view(gpu.name), std::string_view(gpu.architecture)})
      hash_.add_field(text);
    add({gpu.sms, device.sms, device.l2.value.get()});
  }
  Key& add(std::initializer_list<std::int64_t> numbers) {
    for (const std::int64_t number : numbers) hash_.add_field(std::to_string(number));
    return *this;
  }
  Key& add(const DeviceRows& rows) { return add({rows.batch, rows.head, rows.row}); }
  [[nodiscard]] std::string digits() { return hex(hash_.digest()); }

 private:
  Sha256 hash_;
};

}  // namespace

std::string plan_key(const AttentionArgs& args, const DeviceProperties& gpu, const LaunchDevice& device) {
  Key key("attention", args.dtype, gpu, device);
  const AttentionArgs::Sizes& s = args.sizes;
  key.add({s.b, s.h, s.g, s.q, s.x, s.d, s.dv});
  key.add({static_cast<std::int64_t>(args.mask.kind), args.mask.left, args.mask.right});
  for (const DeviceRows* rows : {&args.q, &args.k, &args.v, &args.o}) key.add(*rows);
  key.add({args.scale ? 1 : 0, std::bit_cast<std::int64_t>(args.scale.value_or(0))});
  for (const DeviceScales* scale : {&args.q_scale, &args.k_scale, &args.v_scale})
    key.add({scale->data != nullptr, scale->batch, scale->head, scale->block});
  for (const SequenceLengths& one : args.lengths) key.add({one.q, one.x});
  key.add({std::ssize(args.lengths)});
  key.add({args.q_starts != nullptr, args.x_starts != nullptr, args.q_rows, args.x_rows});
  return key.digits();
}

std::string plan_key(const MatmulArgs& args, const DeviceProperties& gpu, const LaunchDevice& device) {
  Key key("matmul", args.dtype, gpu, device);
  key.add({args.sizes.a, args.sizes.b, args.sizes.c, args.a.row, args.b.row, args.c.row});
  return key.digits();
}

std::optional<LaunchPlan> KnownPlans::find(const std::string& key) {
  if (const LaunchPlan* met = met_.find(key)) return *met;
  const auto content = entries_.find(key);
  std::optional<LaunchPlan> plan = content ? read_plan(*content) : std::nullopt;
  if (plan) met_.put(key, *plan);
  return plan;
}

void KnownPlans::store(const std::string& key, const LaunchPlan& plan) {
  met_.put(key, plan);
  (void)entries_.store(key, content_of(plan));  // the kernel's own entry said what there is to say of the directory
}

}  // namespace napkin
