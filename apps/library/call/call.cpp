#include "napkin/call.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <variant>

#include "apps/library/call/background.hpp"
#include "apps/library/call/known_plans.hpp"
#include "apps/library/call/selected.hpp"
#include "apps/library/question/here.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "kernels/runtime/run.hpp"
#include "model/diagram/packing.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal {
namespace {

constexpr std::size_t calls_kept = 64;       // calls whose launches are kept, so that equal ones need no new plan
constexpr std::size_t selections_kept = 64;  // selections that are kept for calls without a known plan

constexpr std::int64_t ticket_numbers = 2;                  // i32 of a ticket
constexpr std::int64_t zeros_made = std::int64_t{1} << 18;  // i32 at a time

/// Memory that only the launches of one stream, or of one graph node, use: launches of other streams could run at the
/// same time. Each launch leaves its counters at zero for the next.
struct Held {
  OwnMemory own;
  Count counted;                      // elements of own.counters in use
  std::vector<DeviceMemory> scratch;  // the last is the largest; earlier ones stay, since launches may still use them
};

/// The calls of one GPU: selected tiles, compiled kernels and prepared launches.
class Calls {
 public:
  explicit Calls(int ordinal) : runtime_(Device(ordinal), process_environment()), known_(process_environment().cache) {}

  [[nodiscard]] bool in_background() const { return in_background_; }
  /// Finishes the selection in the background that has begun.
  void stop() { background_.stop(); }

  template <class Args>
  void call(const Args& args, Stream stream) {
    runtime_.device().make_current();
    if (runtime_.device().capturing(stream)) return capture(args, stream);
    for (const Kept& kept : kept_) {
      const auto* known = std::get_if<Args>(&kept.args);
      if (known == nullptr || kept.stream != stream || !(*known == args)) continue;
      if (kept.until != nullptr && kept.until->done()) break;
      return kept.launch(stream);
    }
    check(args);
    if (zeros_left_ <= zeros_made / 8) make_zeros(zeros_made);
    Held& held = streams_[stream];
    if (draws_tickets<Args> && held.own.ticket == 0) held.own.ticket = take_zeros(ticket_numbers);
    Kept fresh{args, stream, {}, nullptr};
    fresh.launches = prepare(args, held, &fresh.until);
    check_workspace(args, fresh.launches.front().plan().workspace);
    kept_.push_front(std::move(fresh));
    if (kept_.size() > calls_kept) kept_.pop_back();
    kept_.front().launch(stream);
  }

  /// Returns the bytes of workspace that the call needs, before it has any.
  template <class Args>
  std::uint64_t workspace(const Args& args) {
    runtime_.device().make_current();
    check(args);
    Held nothing;
    return prepare(args, nothing).front().plan().workspace;
  }

  const std::string& profile() {
    if (profile_.empty()) profile_ = profile_of(runtime_.device().properties());
    return profile_;
  }

 private:
  using Ready = std::vector<ReadyLaunch>;  // launches of one call, in their order

  struct Kept {
    std::variant<AttentionArgs, AttentionBackwardArgs, MatmulArgs> args;
    Stream stream;
    Ready launches;
    std::shared_ptr<Coming>
        until;  ///< selection whose tile replaces these launches, which are of another length's tile; null: they stay

    void launch(Stream into) const {
      for (const ReadyLaunch& one : launches) one(into);
    }
  };

  /// Captures a call into a graph. Its memory is the node's own and kept for good, as graphs run on any stream, in
  /// parallel.
  template <class Args>
  void capture(const Args& args, Stream stream) {
    check(args);
    const Capturing capturing(capturing_);
    Held& held = nodes_.emplace_back();
    if constexpr (draws_tickets<Args>) held.own.ticket = take_zeros(ticket_numbers);
    const RelaxedCapture relaxed = runtime_.device().relaxed_capture();
    const Kept once{args, stream, prepare(args, held), nullptr};
    check_workspace(args, once.launches.front().plan().workspace);
    once.launch(stream);
  }

  /// A guard that sets `now` to true while it lives.
  struct Capturing {
    explicit Capturing(bool& now) : now_(now) { now_ = true; }
    ~Capturing() { now_ = false; }
    Capturing(Capturing&&) = delete;
    bool& now_;
  };

  Ready ready(Launches launches) {
    Ready out;
    out.reserve(launches.size());
    for (LaunchPlan& plan : launches) out.push_back(runtime_.prepare(std::move(plan)));
    return out;
  }

  /// Prepares a call's launches: by a selection of this process, by a plan on disk, or by a new selection. If `until`
  /// is given, a tile of other lengths may serve meanwhile; `until` is then the selection that replaces it.
  template <class Args>
  Ready prepare(const Args& args, Held& held, std::shared_ptr<Coming>* until = nullptr) {
    const std::string question = selection_key(args, true);
    const bool failed = !receive(question);
    if (const auto* near = selected_.find(question)) {
      if (const auto coming = coming_.find(question); until != nullptr && coming != coming_.end())
        *until = coming->second;
      if (in_background_) kinds_.put(kind_key(args), question);
      // No entries on disk: one ranking serves several lengths.
      if (std::optional<Ready> out = prepare_selected(**near, args, held)) return std::move(*out);
    }
    const std::string key = plan_key(args, runtime_.device().properties(), runtime_.device().launch_device());
    if (std::optional<Ready> known = prepare_known(known_.find(key), args, held)) return std::move(*known);
    const Ask ask = ask_of(args, profile());
    if (in_background_ && until != nullptr && !failed) {
      if (std::optional<Ready> out = prepare_meanwhile(args, ask, question, held, *until)) return std::move(*out);
    }
    if (in_background_) kinds_.put(kind_key(args), question);
    for (const bool ranked : {true, false}) {
      Launches launches;
      Selected& selected = selected_for(args, ask, ranked);
      if (in_background_ && until != nullptr && !failed && ranked) {
        if (std::optional<Ready> out = prepare_compiled(selected, args, ask, question, held, *until))
          return std::move(*out);
      }
      std::optional<Ready> out = prepare_selected(selected, args, held, &launches);
      if (!out) continue;  // its tile is not legal at the call's own lengths
      known_.store(key, launches);
      return std::move(*out);
    }
    throw Error(ask.algorithm, no_kernel(ask), "other sizes or another type");
  }

  /// Takes the selection of a question that the background has made. Returns false if it failed.
  bool receive(const std::string& question) {
    const auto found = coming_.find(question);
    if (found == coming_.end() || !found->second->done()) return true;
    std::unique_ptr<Selected> selected = found->second->take();
    coming_.erase(found);
    if (selected == nullptr) return false;
    selected_.put(question, std::move(selected));
    return true;
  }

  /// Prepares the launches of a tile that was selected for other lengths, and has the background select the call's own.
  /// Nothing if there is no such tile, if it is not legal here, or if the call cannot change its tile later.
  template <class Args>
  std::optional<Ready> prepare_meanwhile(const Args& args, const Ask& ask, const std::string& question, Held& held,
                                         std::shared_ptr<Coming>& until) {
    const std::string kind = kind_key(args), *of_kind = kind.empty() ? nullptr : kinds_.find(kind);
    const auto* other = of_kind == nullptr ? nullptr : selected_.find(*of_kind);
    if (other == nullptr) return std::nullopt;
    std::optional<Ready> out = prepare_selected(**other, args, held);
    if (out) until = begin_selection(args, ask, question);
    return out;
  }

  /// Prepares the launches of the fastest tile that is compiled already, and has the background compile the selected
  /// one. Nothing if the selected one is compiled too, or no tile of the ranking is.
  template <class Args>
  std::optional<Ready> prepare_compiled(Selected& selected, const Args& args, const Ask& ask,
                                        const std::string& question, Held& held, std::shared_ptr<Coming>& until) {
    bool best = true;
    do {
      const PlacedDiagram* placed = selected.at(sizes_of(args));
      if (placed == nullptr && best) return std::nullopt;
      if (placed == nullptr) continue;
      const LaunchScratch scratch = scratch_of(*placed, args);
      hold(held, scratch.counters, scratch.bytes);
      Launches launches = launches_of(*placed, args, held.own, runtime_.device().launch_device(), selected.form());
      const auto compiled = [&](const LaunchPlan& plan) { return runtime_.is_compiled(plan); };
      if (std::all_of(launches.begin(), launches.end(), compiled)) {
        if (best) return std::nullopt;
        until = begin_selection(args, ask, question);
        return ready(std::move(launches));
      }
      best = false;
    } while (selected.advance());
    selected.restart();
    return std::nullopt;
  }

  /// Begins to select and compile the call's own tile in the background, once.
  template <class Args>
  std::shared_ptr<Coming> begin_selection(const Args& args, const Ask& ask, const std::string& question) {
    std::shared_ptr<Coming>& coming = coming_[question];
    if (coming == nullptr) coming = background_.begin([this, args, ask] { return select_and_compile(args, ask); });
    return coming;
  }

  /// Selects a call's tile, and compiles it. Other calls go on meanwhile.
  template <class Args>
  std::unique_ptr<Selected> select_and_compile(const Args& args, const Ask& ask) {
    // any aligned address: the plan only names the kernel to compile, nothing is launched
    constexpr std::uint64_t somewhere = 256;
    runtime_.device().make_current();
    auto selected = at_shape([&] { return std::make_unique<Selected>(ranked_for(ask), needs_of(args)); });
    for (;;) {
      const PlacedDiagram* placed = selected->at(sizes_of(args));
      if (placed == nullptr) return selected;
      try {
        const OwnMemory own{somewhere, somewhere, somewhere};
        for (const LaunchPlan& plan :
             launches_of(*placed, args, own, runtime_.device().launch_device(), selected->form()))
          static_cast<void>(runtime_.kernel(plan));
        return selected;
      } catch (const CompilerObjection&) {
        if (!selected->advance()) throw;
      }
    }
  }

  /// Prepares the kept launches of an equal call, in this call's memory. Returns nothing if none are kept, or if the
  /// compiler, which may be newer than the plan, objects.
  template <class Args>
  std::optional<Ready> prepare_known(std::optional<Launches> known, const Args& args, Held& held) {
    if (!known) return std::nullopt;
    hold(held, known->front().counters, known->front().scratch);
    give_memory(*known, args, held.own);
    try {
      return ready(std::move(*known));
    } catch (const CompilerObjection&) {
      return std::nullopt;
    }
  }

  /// Prepares the selected tile's launches, and copies them to `made`; nothing if it is not legal at the call's sizes.
  template <class Args>
  std::optional<Ready> prepare_selected(Selected& selected, const Args& args, Held& held, Launches* made = nullptr) {
    const LaunchDevice device = runtime_.device().launch_device();
    for (;;) {
      const PlacedDiagram* placed = selected.at(sizes_of(args));
      if (placed == nullptr) return std::nullopt;
      try {
        const LaunchScratch scratch = scratch_of(*placed, args);
        hold(held, scratch.counters, scratch.bytes);
        Launches launches = launches_of(*placed, args, held.own, device, selected.form());
        if (made != nullptr) *made = launches;
        return ready(std::move(launches));
      } catch (const CompilerObjection&) {
        if (!selected.advance()) throw;
      }
    }
  }

  template <class Args>
  Selected& selected_for(const Args& args, const Ask& ask, bool ranked) {
    std::string key = selection_key(args, ranked);
    if (const auto* known = selected_.find(key)) return **known;
    const Ask asked = ranked ? ranked_for(ask) : ask;
    return *selected_.put(std::move(key), at_shape([&] { return std::make_unique<Selected>(asked, needs_of(args)); }));
  }

  /// Allocates counters and scratch memory until `held` has at least as much as the next launch needs.
  void hold(Held& held, Count counters, Bytes scratch) {
    if (counters > held.counted) {
      held.own.counters = take_zeros(counters.get());
      held.counted = counters;
    }
    const auto bytes = static_cast<std::size_t>(scratch.value.get());
    if (bytes > (held.scratch.empty() ? 0 : held.scratch.back().bytes())) {
      held.scratch.push_back(runtime_.device().allocate(bytes));
      held.own.scratch = held.scratch.back().address();
    }
  }

  /// Takes `count` i32 that are zero and never given back.
  std::uint64_t take_zeros(std::int64_t count) {
    if (count > zeros_left_ && capturing_)
      throw CudaFailure("a call is captured into a graph before any ran here: call once before the capture");
    if (count > zeros_left_) make_zeros(std::max(count, zeros_made));
    zeros_left_ -= count;
    return zeros_.back().address() + static_cast<std::uint64_t>(zeros_left_) * sizeof(std::int32_t);
  }

  void make_zeros(std::int64_t count) {
    zeros_.push_back(runtime_.device().allocate(static_cast<std::size_t>(count) * sizeof(std::int32_t)));
    runtime_.device().set(zeros_.back(), 0);
    runtime_.device().synchronize();
    zeros_left_ = count;
  }

  Runtime runtime_;
  KnownPlans known_;
  std::string profile_;  // "" until it is first asked for
  Latest<std::string, std::unique_ptr<Selected>> selected_{selections_kept};
  std::vector<DeviceMemory> zeros_;
  std::int64_t zeros_left_ = 0;  ///< unused i32 of the last of `zeros_`
  bool capturing_ = false;       ///< true during a capture, when no memory can be set to zero
  std::map<Stream, Held> streams_;
  std::deque<Held> nodes_;
  std::deque<Kept> kept_;
  bool in_background_ = selects_in_background();
  Latest<std::string, std::string> kinds_{selections_kept};  ///< the latest selection's question by its kind
  std::map<std::string, std::shared_ptr<Coming>> coming_;    ///< selections by question
  Background background_;
};

struct State {
  std::mutex mutex;
  std::map<int, std::unique_ptr<Calls>> gpus;
};

State& state() {
  static State& one = *new State;  // never destroyed: the driver may be gone by the end of the program
  return one;
}

/// Ends work in the background before the program's own objects go.
void stop_at_exit() {
  static_cast<void>(default_session());  // made before the handler, so that it goes after
  static const int registered = std::atexit([] {
    const std::lock_guard lock(state().mutex);
    for (const auto& [device, calls] : state().gpus) calls->stop();
  });
  static_cast<void>(registered);
}

/// Calls `work` with the GPU's Calls, under the lock.
template <class Work>
auto on_gpu(int device, const Work& work) {
  const std::lock_guard lock(state().mutex);
  std::unique_ptr<Calls>& gpu = state().gpus[device];
  if (gpu == nullptr) {
    gpu = std::make_unique<Calls>(device);
    if (gpu->in_background()) stop_at_exit();
  }
  return work(*gpu);
}

}  // namespace

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

void attention(const AttentionArgs& args, void* stream) {
  on_gpu(args.device, [&](Calls& calls) { calls.call(args, stream); });
}

std::int64_t attention_backward_workspace(const AttentionBackwardArgs& args) {
  return on_gpu(args.forward.device, [&](Calls& calls) { return static_cast<std::int64_t>(calls.workspace(args)); });
}

void attention_backward(const AttentionBackwardArgs& args, void* stream) {
  on_gpu(args.forward.device, [&](Calls& calls) { calls.call(args, stream); });
}

std::string attention_backward_refusal(const std::string& gpu, DType dtype, std::int64_t d, std::int64_t dv) {
  AttentionBackwardArgs args;
  args.forward.sizes = {.q = 1024, .x = 1024, .d = d, .dv = dv};  // the answer depends on the heads' sizes alone
  args.forward.dtype = dtype;
  const Ask ask = ask_of(args, gpu);
  const Question question = question_of(default_session(), ask);
  const auto takes = [](const Setup& setup) { return setup.bundled() && fits(setup); };
  return std::any_of(question.setups.begin(), question.setups.end(), takes) ? "" : no_kernel(ask);
}

std::string profile_of_device(int device) {
  return on_gpu(device, [](Calls& calls) { return calls.profile(); });
}

void matmul(const MatmulArgs& args, void* stream) {
  on_gpu(args.device, [&](Calls& calls) { calls.call(args, stream); });
}

}  // namespace napkin
