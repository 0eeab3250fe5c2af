#pragma once
// These functions derive from a call's sizes and options the question that selects its tile, the knobs that the call
// itself sets, and its launches; give_memory() then enters the addresses. Each kind of arguments has the same
// functions. Internal to apps/.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/plans/attention.hpp"
#include "kernels/plans/attention_form.hpp"
#include "kernels/plans/matmul.hpp"
#include "kernels/runtime/launch_plan.hpp"
#include "model/mapping/placed.hpp"
#include "napkin/ask.hpp"
#include "napkin/call.hpp"

namespace napkin::internal {

/// The launches of a call, in stream order.
using Launches = std::vector<LaunchPlan>;

/// Throws Error if memory is missing or arguments contradict each other.
void check(const AttentionArgs& args);
void check(const AttentionBackwardArgs& args);
void check(const MatmulArgs& args);

/// The sizes of a call, in the order of its question's.
using CallSizes = std::vector<std::int64_t>;
[[nodiscard]] CallSizes sizes_of(const AttentionArgs::Sizes& sizes);
[[nodiscard]] inline CallSizes sizes_of(const AttentionArgs& args) { return sizes_of(args.sizes); }
[[nodiscard]] inline CallSizes sizes_of(const AttentionBackwardArgs& args) { return sizes_of(args.forward); }
[[nodiscard]] inline CallSizes sizes_of(const MatmulArgs& args) { return {args.sizes.a, args.sizes.b, args.sizes.c}; }

[[nodiscard]] Ask ask_of(const AttentionArgs& args, const std::string& gpu);
[[nodiscard]] Ask ask_of(const AttentionBackwardArgs& args, const std::string& gpu);
[[nodiscard]] Ask ask_of(const MatmulArgs& args, const std::string& gpu);

/// The needs of a call beside its question.
struct CallNeeds {
  TileText knobs;       ///< knobs that the call sets, if the kernel has them
  bool packed = false;  ///< true if its sequences are packed
  bool cached = false;  ///< true if its keys lie in pages, or are counted on the device
};
[[nodiscard]] CallNeeds needs_of(const AttentionArgs& args);
[[nodiscard]] CallNeeds needs_of(const AttentionBackwardArgs& args);
[[nodiscard]] inline CallNeeds needs_of(const MatmulArgs&) { return {}; }

/// The address of two zeroed i32 from which blocks take their tiles; 0: the call has none.
using Ticket = std::uint64_t;
/// Memory that launches of one stream keep from call to call.
struct OwnMemory {
  Ticket ticket = 0;
  std::uint64_t counters = 0, scratch = 0;  ///< addresses of as much as LaunchPlan::counters and scratch say
};
template <class Args>
constexpr bool draws_tickets = false;
template <>
inline constexpr bool draws_tickets<AttentionArgs> = true;

/// Returns the scratch memory that the launches of that tile need.
template <class Args>
[[nodiscard]] LaunchScratch scratch_of(const PlacedDiagram&, const Args&) {
  return {};
}
[[nodiscard]] inline LaunchScratch scratch_of(const PlacedDiagram& placed, const AttentionArgs&) {
  return attention_scratch(placed);
}
[[nodiscard]] inline LaunchScratch scratch_of(const PlacedDiagram& placed, const MatmulArgs&) {
  return matmul_scratch(placed);
}

/// Makes the launches. `form` keeps what all launches of that tile have in common, for the next call. Throws Error if
/// the kernel does not take the tile or an array, Overflow for sizes beyond its integers.
[[nodiscard]] Launches launches_of(const PlacedDiagram& placed, const AttentionArgs& args, const OwnMemory& own,
                                   const LaunchDevice& device, std::optional<AttentionForm>& form);
[[nodiscard]] Launches launches_of(const PlacedDiagram& placed, const AttentionBackwardArgs& args, const OwnMemory& own,
                                   const LaunchDevice& device, std::optional<AttentionForm>& form);
[[nodiscard]] Launches launches_of(const PlacedDiagram& placed, const MatmulArgs& args, const OwnMemory& own,
                                   const LaunchDevice& device, std::optional<AttentionForm>& form);

/// Binds the launches of another call, which differs in memory alone, to this call's memory.
void give_memory(Launches& launches, const AttentionArgs& args, const OwnMemory& own);
void give_memory(Launches& launches, const AttentionBackwardArgs& args, const OwnMemory& own);
void give_memory(Launches& launches, const MatmulArgs& args, const OwnMemory& own);

/// Checks that the call's workspace is large enough for its launches. Throws Error.
template <class Args>
void check_workspace(const Args&, std::uint64_t) {}
void check_workspace(const AttentionBackwardArgs& args, std::uint64_t needed);

}  // namespace napkin::internal
