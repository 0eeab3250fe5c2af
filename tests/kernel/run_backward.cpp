// A developer's bench: the backward pass under given tiles on the GPU at hand, one JSON object a line.
//
//   run_backward --shape b=1,h=16,q=16384,x=16384,d=128 --tile q=64,x=128,warpgroups=2 [--causal | --window L,R]
//                [--dtype f16] [--rows 4] [--runs 12] [--queued 20] [--seed 1] [--twice] [--cycles] [--whole]
//                [--compile]
//   run_backward --library [--deterministic] --shape ...     napkin::attention_backward: the tile that it selects
//   run_backward < FILE     the same arguments, one problem a line; loads each variant once
//
// --rows N: that many rows of dQ, dK and dV in some heads are compared with float64; 0: none. --twice: runs again and
// compares all bits with the first run. --cycles: cycles of the gradients' launch. --whole: without the time of that
// launch alone. --compile: prints the compiler's report, without a GPU.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/plans/attention_backward.hpp"
#include "kernels/runtime/measure.hpp"
#include "napkin/call.hpp"
#include "tests/kernel/attention_problem.hpp"
#include "tests/kernel/backward_rows.hpp"
#include "tests/kernel/layout_options.hpp"
#include "tests/kernel/lines.hpp"
#include "tests/kernel/reports.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using Json = nlohmann::ordered_json;

struct Request {
  AttentionLayout layout;
  test::Knobs tile;
  TimingOptions timing;
  std::int64_t rows = 4;
  bool compile = false, twice = false, cycles = false, whole = false, library = false, deterministic = false;
};

Request read_request(const std::vector<std::string>& words) {
  Request r;
  CLI::App app;
  test::add_layout(app, r.layout);
  test::add_text(app, "--tile", [&](const std::string& text) { r.tile = parse_tile(text); });
  app.add_option("--rows", r.rows);
  app.add_option_function<int>("--runs", [&](int runs) { r.timing.least_runs = r.timing.most_runs = runs; });
  app.add_option("--queued", r.timing.queued);
  app.add_flag("--twice", r.twice);
  app.add_flag("--cycles", r.cycles);
  app.add_flag("--whole", r.whole);
  app.add_flag("--compile", r.compile);
  app.add_flag("--library", r.library);
  app.add_flag("--deterministic", r.deterministic);
  test::parse(app, words);
  return r;
}

/// Lays a question out for the kernel of its head width.
test::LaidOut lay_out(const AttentionLayout& layout) {
  const bool wide = std::max(layout.sizes.d, layout.sizes.dv) > 128;
  return test::LaidOut(wide ? "attention_backward_wide_sm90" : "attention_backward_sm90", "h200-sxm",
                       test::shape_of(layout.sizes), layout.type, layout.mask);
}

/// The forward pass on the device, the gradient of its output, and room for the others.
class Problem {
 public:
  Problem(Runtime& runtime, const Request& r)
      : device_(runtime.device()),
        layout_(r.layout),
        laid_out_(lay_out(layout_)),
        placed_(laid_out_.place(r.tile)),
        forward_(runtime, "h200-sxm", layout_, forward_tile(layout_)) {
    forward_.launch()();
    const AttentionCall of = forward_.data().call();
    call_.q = of.q;
    call_.k = of.k;
    call_.v = of.v;
    call_.o = of.o;
    call_.log_sum_exp = of.log_sum_exp;
    make_gradients();
    runtime.prepare(fill_plan(call_.d_o.address, static_cast<std::int64_t>(memory_[0].bytes() / 2), layout_.type,
                              layout_.seed + 77, 1, device_.properties()))();
    if (r.library) {
      make_args(r);
      return;
    }
    scratch_ = BandedMemory(device_, static_cast<std::size_t>(scratch_bytes(placed_, call_).value.get()));
    call_.scratch = scratch_.address();
    const AttentionBackwardPlans plans = attention_backward_plans(placed_, call_);
    for (const LaunchPlan* plan : plans.all()) launches_.push_back(runtime.prepare(*plan));
  }

  void launch() const {
    if (args_) attention_backward(*args_);
    for (const ReadyLaunch& one : launches_) one();
  }
  void launch_gradients() const { launches_[1](); }
  /// Measures the clocks of the gradients' launch, by another variant that counts them.
  [[nodiscard]] double cycles(Runtime& runtime) const {
    const DeviceMemory spans = cycle_spans(device_);
    AttentionBackwardCall call = call_;
    call.cycles = spans.address();
    const ReadyLaunch counting = runtime.prepare(attention_backward_plans(placed_, call).gradients);
    return measure_cycles(
               device_, [&] { launch(); },
               [&] {
                 launches_.front()();
                 counting();
               },
               spans)
        .value;
  }
  [[nodiscard]] const std::vector<ReadyLaunch>& launches() const { return launches_; }
  [[nodiscard]] const PlacedDiagram& placed() const { return placed_; }

  /// Runs the backward pass and returns dQ, dK, dV, with poison in elements that were not written.
  [[nodiscard]] std::vector<std::vector<std::uint16_t>> run() const {
    for (std::size_t i = 1; i < 4; ++i) memory_[i].set(device_, 0xFF);
    launch();
    std::vector<std::vector<std::uint16_t>> out;
    for (std::size_t i = 1; i < 4; ++i) out.push_back(fetch(memory_[i].address(), memory_[i].bytes()));
    return out;
  }

  [[nodiscard]] Json check(std::int64_t rows) const;
  /// Returns an element outside of an array that was written; empty if there is none.
  [[nodiscard]] std::string beside() const {
    return first_of({forward_.data().download().beside, memory_[1].changed(device_, "dQ", 2),
                     memory_[2].changed(device_, "dK", 2), memory_[3].changed(device_, "dV", 2),
                     scratch_.changed(device_, "scratch", 4)});
  }
  /// Returns the largest error, over `rows` rows, of the forward pass's log-sum-exp, from which the backward pass
  /// computes P.
  [[nodiscard]] double lse_error(std::int64_t rows) const {
    return napkin::internal::compare(forward_.data().download(), rows, layout_.seed).lse_error;
  }

 private:
  struct Errors {
    test::GradientError dq, dk, dv;
  };
  [[nodiscard]] test::KeyHead key_head(std::int64_t b, std::int64_t h) const;
  void compare(std::int64_t b, std::int64_t h, std::int64_t rows, Errors& errors) const;

  /// Returns a tile of the forward kernel whose number of heads does not divide the group, except for groups of 1 and
  /// 2.
  static test::Knobs forward_tile(const AttentionLayout& layout) {
    std::int64_t heads = layout.sizes.g > 2 ? 2 : 1;
    while (heads > 1 && layout.sizes.g % heads == 0) heads *= 2;
    test::Knobs tile{
        {"warpgroups", "2"}, {"q", std::to_string(128 / heads)}, {"g", std::to_string(heads)}, {"order", "grid"}};
    tile.emplace_back("x", layout.sizes.d < 128 ? "128" : layout.sizes.d == 128 ? "112" : "64");
    if (layout.sizes.d > 192) tile.emplace_back("q_stages", "1");
    return tile;
  }

  void make_gradients() {
    const AttentionSizes& s = layout_.sizes;
    const std::int64_t queries = s.b * s.h * s.g * s.q, keys = s.b * s.h * s.x;
    call_.d_o = make(0, call_.o, queries * s.dv);
    call_.dq = make(1, call_.q, queries * s.d);
    call_.dk = make(2, call_.k, keys * s.d);
    call_.dv = make(3, call_.v, keys * s.dv);
  }

  void make_args(const Request& r) {
    const auto rows = [](const TensorView& view) {
      return DeviceRows{reinterpret_cast<void*>(view.address), view.batch, view.head, view.row};
    };
    const AttentionSizes& s = layout_.sizes;
    AttentionBackwardArgs& args = args_.emplace();
    args.forward.sizes = {s.b, s.h, s.g, s.q, s.x, s.d, s.dv};
    args.forward.dtype = layout_.type;
    args.forward.mask = layout_.mask;
    args.forward.log_sum_exp = reinterpret_cast<float*>(call_.log_sum_exp);
    args.forward.q = rows(call_.q);
    args.forward.k = rows(call_.k);
    args.forward.v = rows(call_.v);
    args.forward.o = rows(call_.o);
    args.d_o = rows(call_.d_o);
    args.dq = rows(call_.dq);
    args.dk = rows(call_.dk);
    args.dv = rows(call_.dv);
    args.deterministic = r.deterministic;
    const std::int64_t bytes = attention_backward_workspace(args);
    scratch_ = BandedMemory(device_, static_cast<std::size_t>(bytes));
    args.workspace = {reinterpret_cast<void*>(scratch_.address()), bytes};
  }

  TensorView make(std::size_t i, TensorView like, std::int64_t count) {
    memory_[i] = BandedMemory(device_, static_cast<std::size_t>(count) * 2);
    like.address = memory_[i].address();
    return like;
  }

  [[nodiscard]] std::vector<std::uint16_t> fetch(std::uint64_t address, std::size_t bytes) const {
    std::vector<std::uint16_t> out(bytes / 2);
    device_.download(out.data(), address, bytes);
    return out;
  }

  /// Returns the rows of a head, `view.row` elements apart.
  [[nodiscard]] test::HeadRows head(const TensorView& view, std::int64_t b, std::int64_t h, std::int64_t rows,
                                    std::int64_t columns) const {
    const std::uint64_t first = view.address + static_cast<std::uint64_t>(b * view.batch + h * view.head) * 2;
    const auto bits = fetch(first, static_cast<std::size_t>((rows - 1) * view.row + columns) * 2);
    test::HeadRows out;
    out.columns = columns;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c)
        out.values.push_back(
            static_cast<double>(decode(bits[static_cast<std::size_t>(r * view.row + c)], layout_.type)));
    }
    return out;
  }

  Device device_;
  AttentionLayout layout_;
  test::LaidOut laid_out_;
  PlacedDiagram placed_;
  test::AttentionProblem forward_;
  AttentionBackwardCall call_;
  BandedMemory memory_[4], scratch_;
  std::vector<ReadyLaunch> launches_;
  std::optional<AttentionBackwardArgs> args_;  ///< of a call through the library, which has no launches of ours
};

/// Returns the `n`-th of `count` rows spread over `all`.
std::int64_t spread(std::int64_t n, std::int64_t count, std::int64_t all) {
  return n * (all - 1) / std::max<std::int64_t>(count - 1, 1);
}

/// Returns a head with the forward kernel's log-sum-exp and O. An error of these would be on both sides of the
/// comparison, so lse_error() checks them.
test::KeyHead Problem::key_head(std::int64_t b, std::int64_t h) const {
  const AttentionSizes& s = layout_.sizes;
  test::KeyHead out{s, layout_.mask, head(call_.k, b, h, s.x, s.d), head(call_.v, b, h, s.x, s.dv), {}, {}};
  for (std::int64_t at = h * s.g; at < (h + 1) * s.g; ++at) {
    out.queries.push_back(
        {head(call_.q, b, at, s.q, s.d), head(call_.d_o, b, at, s.q, s.dv), head(call_.o, b, at, s.q, s.dv)});
    std::vector<float>& lse = out.log_sum_exp.emplace_back(static_cast<std::size_t>(s.q));
    device_.download(lse.data(), call_.log_sum_exp + static_cast<std::uint64_t>((b * s.h * s.g + at) * s.q) * 4,
                     lse.size() * 4);
  }
  return out;
}

void Problem::compare(std::int64_t b, std::int64_t h, std::int64_t rows, Errors& errors) const {
  const AttentionSizes& s = layout_.sizes;
  const test::KeyHead of = key_head(b, h);
  const test::Rounding exact{layout_.type, false}, rounded{layout_.type, true};
  for (std::int64_t g = 0; g < s.g; ++g) {
    const test::HeadRows dq = head(call_.dq, b, h * s.g + g, s.q, s.d);
    const auto at = static_cast<std::size_t>(g);
    for (std::int64_t n = 0; n < rows; ++n) {
      const std::int64_t i = spread(n, rows, s.q);
      errors.dq.add(dq.row(i), query_row(of, at, i, exact), query_row(of, at, i, rounded));
    }
  }
  const test::HeadRows dk = head(call_.dk, b, h, s.x, s.d), dv = head(call_.dv, b, h, s.x, s.dv);
  for (std::int64_t n = 0; n < rows; ++n) {
    const std::int64_t x = spread(n, rows, s.x);
    const test::KeyRow right = key_row(of, x, exact), usual = key_row(of, x, rounded);
    errors.dk.add(dk.row(x), right.dk, usual.dk);
    errors.dv.add(dv.row(x), right.dv, usual.dv);
  }
}

/// Compares rows of head (0, 0) and of the last one with float64.
Json Problem::check(std::int64_t rows) const {
  const auto results = run();
  std::int64_t unwritten = 0;
  for (const auto& result : results) unwritten += std::count(result.begin(), result.end(), poison);
  Errors errors;
  compare(0, 0, rows, errors);
  compare(layout_.sizes.b - 1, layout_.sizes.h - 1, rows, errors);
  Json out;
  bool good = unwritten == 0;
  for (const auto& [name, one] : {std::pair("dq", &errors.dq), {"dk", &errors.dk}, {"dv", &errors.dv}}) {
    out[name] = {{"max_error", one->kernel}, {"reference_error", one->unfused}, {"largest", one->largest}};
    good = good && one->good(layout_.type);
  }
  out["unwritten"] = unwritten;
  const std::string found = beside();
  if (!found.empty()) out["beside"] = found;
  const double lse = lse_error(32);
  out["lse_error"] = lse;
  out["good"] = good && found.empty() && lse <= 1e-3;
  return out;
}

void report_question(const Request& r, Json& out) {
  test::report(test::shape_of(r.layout.sizes), r.tile, out);
  out["mask"] = text_of(r.layout.mask);
  out["dtype"] = std::string(name_of(r.layout.type));
}

void report_compiler(const CompiledKernel& kernel, Json& out) {
  test::report(kernel.report, out);
  out["compile_time"] = kernel.compile_time.value;
}

/// Returns the FLOP: 5 products of 2 d FLOP a pair, 2.5 times the forward pass.
double flops_of(const AttentionLayout& layout) { return 2.5 * attention_flops(layout); }

Json answer_compiled(const Request& r) {
  Json out;
  report_question(r, out);
  const test::LaidOut laid_out = lay_out(r.layout);
  AttentionBackwardCall call;
  for (TensorView* view : {&call.q, &call.k, &call.v, &call.o, &call.d_o, &call.dq, &call.dk, &call.dv})
    *view = {4096, 0, 0, 8};
  call.log_sum_exp = call.scratch = 4096;
  if (r.cycles) call.cycles = 4096;
  const AttentionBackwardPlans plans = attention_backward_plans(laid_out.place(r.tile), call);
  for (const LaunchPlan* plan : plans.all()) {
    Json one;
    report_compiler(compile(*plan, process_environment(), Objections::report).kernel, one);
    out["kernels"].push_back(one);
  }
  return out;
}

Json answer(Runtime& runtime, const Request& r) {
  Json out;
  report_question(r, out);
  const Problem problem(runtime, r);
  if (!r.library) report_compiler(problem.launches()[1].kernel().compiled, out);
  if (r.rows > 0) out.update(problem.check(r.rows));
  if (r.twice) out["bits_equal"] = problem.run() == problem.run();
  const LaunchTiming all = time_launch(
      runtime.device(), [&] { problem.launch(); }, r.timing);
  test::report(all, flops_of(r.layout), out);
  if (r.library) return out;
  // Turns begin at 0, where the launch before sets them: one kernel alone would wait for ever.
  if (std::find(r.tile.begin(), r.tile.end(), std::pair<std::string, std::string>{"dq", "ordered"}) != r.tile.end())
    return out;
  if (!r.whole) {
    const LaunchTiming middle = time_launch(
        runtime.device(), [&] { problem.launch_gradients(); }, r.timing);
    out["time_gradients"] = middle.time.value;
    out["tflops_gradients"] = flops_of(r.layout) / middle.time.value / 1e12;
  }
  if (r.cycles) out["cycles"] = problem.cycles(runtime);
  return out;
}

}  // namespace

int main(int argc, char** argv) { return test::answer_problems(argc, argv, read_request, answer_compiled, answer); }
