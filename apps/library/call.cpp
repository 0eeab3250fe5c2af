#include "apps/library/call.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <variant>

#include "apps/library/evaluate.hpp"
#include "apps/library/here.hpp"
#include "apps/library/known_plans.hpp"
#include "apps/library/napkin.hpp"
#include "apps/library/select_kernel.hpp"
#include "kernels/launch/attention.hpp"
#include "kernels/launch/matmul.hpp"
#include "kernels/launch/run.hpp"
#include "model/diagram/packing.hpp"
#include "model/mapping/tile.hpp"

namespace napkin {
namespace {

constexpr int tiles_tried = 8;               // of the ranking, until the compiler has nothing against one
constexpr std::size_t calls_kept = 64;       // that come again without planning anew
constexpr std::size_t selections_kept = 64;  // of questions without a known plan

/// Two i32 each, for the launches of a stream or for one node of a graph.
constexpr std::size_t ticket_bytes = 2 * sizeof(std::int32_t), tickets_made = 4096;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

void need(const void* pointer, const std::string& name) {
  if (pointer == nullptr) throw Error(name, "is null", "memory on the device");
}

Ask ask_of(const AttentionArgs& args, const std::string& gpu) {
  const AttentionArgs::Sizes& s = args.sizes;
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = gpu;
  ask.shape = {{"b", s.b}, {"h", s.h}, {"g", s.g}, {"q", s.q}, {"x", s.x}, {"d", s.d}, {"dv", s.dv == 0 ? s.d : s.dv}};
  ask.dtype = std::string(name_of(args.dtype));
  ask.mask = args.mask;
  ask.lengths = args.lengths;
  return ask;
}

Ask ask_of(const MatmulArgs& args, const std::string& gpu) {
  Ask ask;
  ask.algorithm = "matmul";
  ask.gpu = gpu;
  ask.shape = {{"a", args.sizes.a}, {"b", args.sizes.b}, {"c", args.sizes.c}};
  ask.dtype = std::string(name_of(args.dtype));
  return ask;
}

void check(const AttentionArgs& args) {
  need(args.q.data, "q");
  need(args.k.data, "k");
  need(args.v.data, "v");
  need(args.o.data, "o");
  for (const DeviceScales* scale : {&args.q_scale, &args.k_scale, &args.v_scale}) {
    if (args.dtype != DType::e4m3 && !(*scale == DeviceScales{}))
      throw Error("scales", "are of e4m3 alone", "dtype e4m3, or no scales");
  }
  if (args.lengths.empty()) return;
  Count queries, keys;
  for (const SequenceLengths& one : args.lengths) {
    queries += Count(one.q);
    keys += Count(one.x);
  }
  if (args.q_starts == nullptr || queries != Count(args.q_rows) || keys != Count(args.x_rows))
    throw Error("lengths", "are not those of the packed sequences",
                "q_rows queries and x_rows keys in all, with their starts on the device");
}

void check(const MatmulArgs& args) {
  need(args.a.data, "a");
  need(args.b.data, "b");
  need(args.c.data, "c");
}

/// What a call asks of the tile beside what its question says.
struct TileNeeds {
  bool packed = false, block_scales = false;
};
TileNeeds needs_of(const AttentionArgs& args) {
  return {args.q_starts != nullptr, args.q_scale.block != 0 || args.k_scale.block != 0 || args.v_scale.block != 0};
}
TileNeeds needs_of(const MatmulArgs&) { return {}; }

AttentionCall call_of(const AttentionArgs& args, std::uint64_t ticket) {
  const auto view = [](const DeviceRows& rows) {
    return TensorView{address_of(rows.data), rows.batch, rows.head, rows.row};
  };
  AttentionCall call;
  call.q = view(args.q);
  call.k = view(args.k);
  call.v = view(args.v);
  call.o = view(args.o);
  call.log_sum_exp = address_of(args.log_sum_exp);
  const auto scales = [](const DeviceScales& of) {
    return ScaleView{address_of(of.data), of.batch, of.head, of.block};
  };
  call.q_scale = scales(args.q_scale);
  call.k_scale = scales(args.k_scale);
  call.v_scale = scales(args.v_scale);
  call.scale = args.scale;
  call.q_starts = address_of(args.q_starts);
  call.x_starts = address_of(args.x_starts);
  call.q_rows = args.q_rows;
  call.x_rows = args.x_rows;
  call.ticket = ticket;
  return call;
}

MatmulCall call_of(const MatmulArgs& args, std::uint64_t) {
  const auto view = [](const DeviceMatrix& matrix) { return MatrixView{address_of(matrix.data), matrix.row}; };
  return {view(args.a), view(args.b), view(args.c), 0};
}

LaunchPlan plan_of(const PlacedDiagram& placed, const AttentionCall& call, const LaunchDevice& device) {
  return attention_plan(placed, call, device);
}

LaunchPlan plan_of(const PlacedDiagram& placed, const MatmulCall& call, const LaunchDevice& device) {
  return matmul_sm90_plan(placed, call, device);
}

/// The question resolved. Blocks of a cluster share one sequence's keys, so they cannot where sequences have lengths of
/// their own. Where scales are of blocks the tile says so.
Request request_for(const Ask& ask, const TileNeeds& needs) {
  Request request = default_session().request(ask);
  for (Layout& layout : request.layouts) {
    const auto cluster = layout.mapping->find_knob("cluster");
    if (needs.packed && cluster) layout.fixed.emplace_back(*cluster, 1);
    const auto scales = layout.mapping->find_knob("scales");
    if (needs.block_scales && scales)
      layout.fixed.emplace_back(
          *scales, parse_knob(layout.mapping->knobs[static_cast<std::size_t>(*scales)], "block", "scales"));
  }
  return request;
}

/// A question with its ranking, and the tile that is launched.
class Selected {
 public:
  Selected(const Ask& ask, const TileNeeds& needs)
      : request_(request_for(ask, needs)), ranking_(select_kernel(request_, tiles_tried)) {
    if (!ranking_.layout().bundled())
      throw Error(ask.algorithm, "no bundled kernel computes this on " + ask.gpu, "other sizes or another type");
    if (ranking_.empty()) throw Error(ask.algorithm, ranking_.nothing_fits(), "other sizes");
    placer_.emplace(placer_of(request_, ranking_.layout()));
    placed_ = placer_->place(ranking_.best().tile);
  }
  ~Selected() = default;
  Selected(const Selected&) = delete;  // its parts point into its request
  Selected& operator=(const Selected&) = delete;
  Selected(Selected&&) = delete;
  Selected& operator=(Selected&&) = delete;

  [[nodiscard]] const PlacedDiagram& placed() const { return placed_; }
  /// The next best. False where there is none.
  [[nodiscard]] bool advance() {
    const std::vector<Ranked>& ranked = ranking_.selection().ranked;
    if (at_ + 1 >= ranked.size()) return false;
    placed_ = placer_->place(ranked[++at_].tile);
    return true;
  }

 private:
  Request request_;
  Ranking ranking_;
  std::optional<Placer> placer_;
  PlacedDiagram placed_;
  std::size_t at_ = 0;
};

/// What was selected, compiled and prepared on one GPU.
class Calls {
 public:
  explicit Calls(int ordinal) : runtime_(Device(ordinal), process_environment()), known_(process_environment().cache) {}

  template <class Args>
  void call(const Args& args, Stream stream) {
    runtime_.device().make_current();
    if (runtime_.device().capturing(stream)) return capture(args, stream);
    for (const Kept& kept : kept_) {
      const auto* known = std::get_if<Args>(&kept.args);
      if (known != nullptr && kept.stream == stream && *known == args) return kept.launch(stream);
    }
    check(args);
    if (tickets_.size() <= tickets_made / 8) make_tickets();
    kept_.push_front({args, stream, prepare(args, ticket_of(stream))});
    if (kept_.size() > calls_kept) kept_.pop_back();
    kept_.front().launch(stream);
  }

 private:
  struct Kept {
    std::variant<AttentionArgs, MatmulArgs> args;
    Stream stream;
    ReadyLaunch launch;
  };

  /// Graphs run on any stream and beside each other: each node has a ticket of its own, for good.
  template <class Args>
  void capture(const Args& args, Stream stream) {
    check(args);
    if (tickets_.empty())
      throw CudaFailure("a call is captured into a graph before any ran here: call once before the capture");
    const RelaxedCapture relaxed = runtime_.device().relaxed_capture();
    prepare(args, take_ticket())(stream);
  }

  template <class Args>
  ReadyLaunch prepare(const Args& args, std::uint64_t ticket) {
    const auto call = call_of(args, ticket);
    const LaunchDevice device = runtime_.device().launch_device();
    const std::string key = plan_key(args, runtime_.device().properties(), device);
    if (std::optional<LaunchPlan> plan = known_.find(key)) {
      bind(*plan, call);
      try {
        return runtime_.prepare(std::move(*plan));
      } catch (const CompilerObjection&) {  // another compiler than the one that had nothing against it
      }
    }
    Selected& selected = selected_for(ask_of(args, profile()), needs_of(args));
    for (;;) {
      try {
        ReadyLaunch ready = runtime_.prepare(plan_of(selected.placed(), call, device));
        known_.store(key, ready.plan());
        return ready;
      } catch (const CompilerObjection&) {
        if (!selected.advance()) throw;
      }
    }
  }

  const std::string& profile() {
    if (profile_.empty()) profile_ = profile_of(runtime_.device().properties());
    return profile_;
  }

  Selected& selected_for(const Ask& ask, const TileNeeds& needs) {
    std::string key = ask.algorithm + " " + ask.dtype + " " + text_of(ask.mask) + (needs.packed ? " packed" : "") +
                      (needs.block_scales ? " block scales" : "");
    for (const auto& [axis, size] : ask.shape) key += " " + std::to_string(size);
    if (!ask.lengths.empty()) key += " " + text_of(ask.lengths);
    if (const auto* known = selected_.find(key)) return **known;
    return *selected_.put(key, at_shape([&] { return std::make_unique<Selected>(ask, needs); }));
  }

  /// Launches of one stream follow each other and leave it zero; those of another must not draw from it.
  std::uint64_t ticket_of(Stream stream) {
    const auto [at, is_new] = streams_.try_emplace(stream, 0);
    if (is_new) at->second = take_ticket();
    return at->second;
  }

  std::uint64_t take_ticket() {
    const std::uint64_t ticket = tickets_.back();
    tickets_.pop_back();
    return ticket;
  }

  void make_tickets() {
    DeviceMemory& all = ticket_memory_.emplace_back(runtime_.device().allocate(tickets_made * ticket_bytes));
    runtime_.device().set(all, 0);
    runtime_.device().synchronize();
    for (std::size_t i = 0; i < tickets_made; ++i) tickets_.push_back(all.address() + i * ticket_bytes);
  }

  Runtime runtime_;
  KnownPlans known_;
  std::string profile_;  // "" until it is first asked for
  Latest<std::string, std::unique_ptr<Selected>> selected_{selections_kept};
  std::vector<DeviceMemory> ticket_memory_;
  std::vector<std::uint64_t> tickets_;  ///< nobody's yet
  std::map<Stream, std::uint64_t> streams_;
  std::deque<Kept> kept_;
};

struct State {
  std::mutex mutex;
  std::map<int, std::unique_ptr<Calls>> gpus;
};

State& state() {
  static State& one = *new State;  // never destroyed: the driver may be gone by the end of the program
  return one;
}

template <class Args>
void call(const Args& args, Stream stream) {
  const std::lock_guard lock(state().mutex);
  std::unique_ptr<Calls>& gpu = state().gpus[args.device];
  if (gpu == nullptr) gpu = std::make_unique<Calls>(args.device);
  gpu->call(args, stream);
}

}  // namespace

void attention(const AttentionArgs& args, void* stream) { call(args, stream); }

void matmul(const MatmulArgs& args, void* stream) { call(args, stream); }

}  // namespace napkin
