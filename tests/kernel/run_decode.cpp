// attention_decode_sm90 on the GPU at hand, one JSON object a line: right against float64, and how fast.
//
//   run_decode --check [--shapes 22]        the emulator's cases (decode_cases.hpp), two launches each
//   run_decode --time [--pages 0,64] [--tiles 3] [--shape b,h,g,q,x,d] [--gpu h200-sxm]
//                                           twelve shapes, or that one: the tiles that select ranks first, L2 cold and
//                                           warm, beside what was predicted
//   run_decode --tile shared.x=2048,x=64 --shape b,h,g,q,x,d   that tile
//   run_decode --predict                    what --time predicts, without a GPU
//   run_decode --compile                    the variants of both into the cache, without a GPU
//
// Exit 1 where a result is wrong.
#include "kernels/runtime/device_arrays.hpp"
#include "tests/kernel/bench.hpp"
#include "tests/kernel/decode_arrays.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using test::DecodeCase;
using test::Pick;
using test::Row;

struct Options {
  test::BenchOptions bench;
  std::size_t shapes = 22;
  std::vector<std::int64_t> pages{0, 64};
};

/// Lists shapes of few and many sequences, from 1k to 128k keys, heads in groups of 1, 4, 8 and 16, one query or a few.
std::vector<AttentionSizes> timed_shapes() {
  return {{1, 8, 8, 1, 8192, 128, 128},   {1, 8, 8, 1, 131072, 128, 128}, {4, 8, 4, 1, 8192, 128, 128},
          {16, 8, 8, 1, 1024, 128, 128},  {16, 8, 8, 1, 8192, 128, 128},  {64, 8, 8, 1, 4096, 128, 128},
          {128, 8, 4, 1, 8192, 128, 128}, {8, 32, 1, 1, 8192, 128, 128},  {32, 1, 16, 1, 32768, 128, 128},
          {16, 8, 8, 4, 16384, 128, 128}, {4, 8, 8, 16, 16384, 128, 128}, {32, 8, 8, 1, 8192, 64, 64}};
}

std::vector<AttentionSizes> shapes_of(const test::BenchOptions& r) {
  if (r.shape.empty()) return timed_shapes();
  const std::vector<std::int64_t>& n = shape_as(r, "b,h,g,q,x,d");
  return {{n[0], n[1], n[2], n[3], n[4], n[5], n[5]}};
}

/// One question's arrays on the device and its launch.
class DeviceProblem {
 public:
  DeviceProblem(Runtime& runtime, const DecodeCase& one)
      : device_(runtime.device()), arrays_(one), laid_out_(test::lay_out(one)), placed_(laid_out_->place(one.tile)) {
    AttentionCall call;
    call.q = put(arrays_.q);
    call.k = put(arrays_.k);
    call.v = put(arrays_.v);
    call.o = put(arrays_.o);
    o_ = call.o.address;
    call.pages = arrays_.pages;
    call.pages.table = device_.put(arrays_.table);
    call.lengths = device_.put(one.lengths);
    lse_ = call.log_sum_exp = device_.put(arrays_.log_sum_exp);
    const LaunchScratch scratch = attention_scratch(placed_);
    call.arrived = device_.put(std::vector<std::int32_t>(static_cast<std::size_t>(scratch.counters.get()), 0));
    call.parts = device_.put(std::vector<unsigned char>(static_cast<std::size_t>(scratch.bytes.value.get())));
    launch_.emplace(runtime.prepare(attention_decode_sm90_plan(placed_, call, runtime.device().launch_device())));
  }

  [[nodiscard]] const ReadyLaunch& launch() const { return *launch_; }
  void poison() const { device_.poison({o_, lse_}); }
  [[nodiscard]] Comparison compare(std::int64_t rows) {
    device_.fetch(arrays_.o.values, o_);
    if (lse_ != 0) device_.fetch(arrays_.log_sum_exp, lse_);
    Comparison out = arrays_.compare_all(rows);
    out.beside = first_of({device_.beside(), out.beside});
    return out;
  }
  [[nodiscard]] std::vector<std::uint16_t> output() {
    device_.fetch(arrays_.o.values, o_);
    return arrays_.o.values;
  }

 private:
  TensorView put(const test::DecodeArray& array) {
    TensorView view = array.view;
    view.address = device_.put(array.values);
    return view;
  }
  DeviceArrays device_;
  test::DecodeArrays arrays_;
  std::unique_ptr<test::LaidOut> laid_out_;
  PlacedDiagram placed_;
  std::uint64_t o_ = 0, lse_ = 0;
  std::optional<ReadyLaunch> launch_;
};

bool check(Runtime& runtime, std::size_t shapes) {
  std::vector<DecodeCase> cases = test::decode_cases(shapes);
  for (const DecodeCase& one : test::cases_of_many_parts()) cases.push_back(one);
  for (const DecodeCase& one : test::cases_of_undivided_groups()) cases.push_back(one);
  return test::check_cases(cases, [&](const DecodeCase& one, Row& out) {
    out["case"] = test::describe(one);
    DeviceProblem problem(runtime, one);
    return test::check_twice(problem, problem.launch(), 48, out);
  });
}

double bytes_of(const AttentionSizes& s) {  // K and V, once
  return 2.0 * static_cast<double>(s.b * s.h * s.x) * static_cast<double>(s.d + s.dv);
}

std::vector<Pick> picks_of(const AttentionSizes& s, const test::BenchOptions& r) {
  if (!r.given.empty()) return r.given;
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = r.gpu;
  ask.kernel = "attention_decode_sm90";
  ask.shape = test::shape_of(s);
  return test::ranked(ask, r.tiles);
}

Row described(const AttentionSizes& s, const Pick& pick, const std::string& gpu) {
  Row out{{"gpu", gpu}};
  test::report(test::shape_of(s), pick.tile, out);
  if (pick.predicted) {
    out["predicted"] = *pick.predicted;
    out["predicted_rate"] = bytes_of(s) / *pick.predicted;
  }
  return out;
}

bool time_one(Runtime& runtime, const AttentionSizes& s, const Pick& pick, std::int64_t page, const std::string& gpu) {
  Row row = described(s, pick, gpu);
  row["page"] = page;
  return test::print_filled(std::move(row), [&](Row& out) {
    DecodeCase one;
    one.sizes = s;
    one.tile = pick.tile;
    one.page = page;
    DeviceProblem problem(runtime, one);
    problem.poison();
    problem.launch()();
    test::report(problem.compare(2), out);
    for (const L2State l2 : {L2State::cold, L2State::warm}) {
      TimingOptions options;
      options.l2 = l2;
      options.longest = Seconds(0.5);
      const LaunchTiming timing = time_launch(
          runtime.device(), [&] { problem.launch()(); }, options);
      const std::string name(name_of(l2));
      out[name] = timing.time.value;
      out[name + "_rate"] = bytes_of(s) / timing.time.value;
    }
    test::report(problem.launch().kernel().compiled.report, out);
  });
}

int run(const Options& r) {
  const std::vector<AttentionSizes> shapes = shapes_of(r.bench);
  if (r.bench.predict) {
    for (const AttentionSizes& s : shapes) {
      for (const Pick& pick : picks_of(s, r.bench)) test::print(described(s, pick, r.bench.gpu));
    }
    return 0;
  }
  if (r.bench.compile) {
    for (const DecodeCase& one : test::decode_cases(1))
      test::compile_variant(test::describe(one), test::variant_of(one));
    return 0;
  }
  Runtime runtime(Device(), process_environment(), Objections::report);
  bool good = !r.bench.check || check(runtime, r.shapes);
  if (!r.bench.time) return good ? 0 : 1;
  for (const AttentionSizes& s : shapes) {
    for (const Pick& pick : picks_of(s, r.bench)) {
      for (const std::int64_t page : r.pages) good = time_one(runtime, s, pick, page, r.bench.gpu) && good;
    }
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options r;
  r.bench.tiles = 3;
  CLI::App app("attention_decode_sm90: right, and how fast", "run_decode");
  test::add_bench(app, r.bench);
  app.add_option("--shapes", r.shapes);
  app.add_option("--pages", r.pages)->delimiter(',');
  return test::run_program(app, argc, argv, [&] { return run(r); });
}
