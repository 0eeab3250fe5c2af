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
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "kernels/launch/measure.hpp"
#include "tests/kernel/decode_arrays.hpp"
#include "tests/kernel/picks.hpp"
#include "tests/kernel/program.hpp"

namespace {

using namespace napkin;
using test::Pick;
using Json = nlohmann::ordered_json;
using test::DecodeCase;

struct Options {
  bool check = false, time = false, predict = false, compile = false;
  std::size_t shapes = 22;
  int tiles = 3;
  std::string gpu = "h200-sxm";  ///< whose profile predicts
  std::vector<std::int64_t> pages{0, 64};
  std::vector<AttentionSizes> sizes;
  std::optional<test::Knobs> tile;
};

/// Of few and of many sequences, from 1k to 128k keys, heads in groups of 1, 4, 8 and 16, one query or a few.
std::vector<AttentionSizes> timed_shapes() {
  return {{1, 8, 8, 1, 8192, 128, 128},   {1, 8, 8, 1, 131072, 128, 128}, {4, 8, 4, 1, 8192, 128, 128},
          {16, 8, 8, 1, 1024, 128, 128},  {16, 8, 8, 1, 8192, 128, 128},  {64, 8, 8, 1, 4096, 128, 128},
          {128, 8, 4, 1, 8192, 128, 128}, {8, 32, 1, 1, 8192, 128, 128},  {32, 1, 16, 1, 32768, 128, 128},
          {16, 8, 8, 4, 16384, 128, 128}, {4, 8, 8, 16, 16384, 128, 128}, {32, 8, 8, 1, 8192, 64, 64}};
}

void read_sizes(const std::vector<std::int64_t>& n, Options& r) {
  if (n.size() != 6) throw Error("--shape", "has not six sizes", "b,h,g,q,x,d");
  r.sizes.push_back({n[0], n[1], n[2], n[3], n[4], n[5], n[5]});
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
    call.pages.table = put(arrays_.table);
    call.lengths = put(one.lengths);
    lse_ = call.log_sum_exp = put(arrays_.log_sum_exp);
    call.workspace =
        put(std::vector<unsigned char>(static_cast<std::size_t>(attention_workspace(placed_).value.get())));
    launch_.emplace(runtime.prepare(attention_decode_sm90_plan(placed_, call, device_.launch_device())));
  }

  void launch() const { (*launch_)(); }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] const LoadedKernel& kernel() const { return launch_->kernel(); }

  /// The outputs become a NaN that no kernel writes.
  void poison() {
    for (const DeviceMemory& memory : memory_) {
      if (memory.address() == o_ || memory.address() == lse_) device_.set(memory, 0xFF);
    }
  }
  [[nodiscard]] Comparison compare(std::int64_t rows) {
    fetch(arrays_.o.values, o_);
    if (lse_ != 0) fetch(arrays_.log_sum_exp, lse_);
    return arrays_.compare_all(rows);
  }
  [[nodiscard]] std::vector<std::uint16_t> output() {
    fetch(arrays_.o.values, o_);
    return arrays_.o.values;
  }

 private:
  template <class T>
  std::uint64_t put(const std::vector<T>& values) {
    if (values.empty()) return 0;
    memory_.push_back(device_.allocate(values.size() * sizeof(T)));
    device_.upload(memory_.back().address(), values.data(), values.size() * sizeof(T));
    return memory_.back().address();
  }
  TensorView put(const test::DecodeArray& array) {
    TensorView view = array.view;
    view.address = put(array.values);
    return view;
  }
  template <class T>
  void fetch(std::vector<T>& to, std::uint64_t from) const {
    device_.synchronize();
    device_.download(to.data(), from, to.size() * sizeof(T));
  }

  Device device_;
  test::DecodeArrays arrays_;
  std::unique_ptr<test::LaidOut> laid_out_;
  PlacedDiagram placed_;
  std::vector<DeviceMemory> memory_;
  std::uint64_t o_ = 0, lse_ = 0;
  std::optional<ReadyLaunch> launch_;
};

void report(const Comparison& c, Json& out) {
  out["max_error"] = c.max_error;
  out["reference_error"] = c.reference_error;
  out["lse_error"] = c.lse_error;
  out["rows"] = c.rows;
  out["unwritten"] = c.unwritten;
  out["good"] = c.good();
}

bool check(Runtime& runtime, std::size_t shapes) {
  std::size_t wrong = 0, all = 0;
  std::vector<DecodeCase> cases = test::decode_cases(shapes);
  for (const DecodeCase& one : test::cases_of_many_parts()) cases.push_back(one);
  for (const DecodeCase& one : cases) {
    Json out;
    out["case"] = test::describe(one);
    bool good = false;
    try {
      DeviceProblem problem(runtime, one);
      problem.poison();
      problem.launch();
      const std::vector<std::uint16_t> first = problem.output();
      problem.poison();
      problem.launch();
      report(problem.compare(48), out);
      out["repeats"] = problem.output() == first;
      good = out["good"] && out["repeats"];
    } catch (const std::exception& error) {
      out["error"] = error.what();
    }
    ++all;
    if (!good) {
      ++wrong;
      std::cout << out.dump() << std::endl;
    }
  }
  std::cout << Json{{"cases", all}, {"wrong", wrong}}.dump() << std::endl;
  return wrong == 0;
}

double bytes_of(const AttentionSizes& s) {  // K and V, once
  return 2.0 * static_cast<double>(s.b * s.h * s.x) * static_cast<double>(s.d + s.dv);
}

std::vector<Pick> picks_of(const AttentionSizes& s, const Options& r) {
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = r.gpu;
  ask.kernel = "attention_decode_sm90";
  ask.shape = test::shape_of(s);
  if (r.tile) return {{*r.tile, std::nullopt}};
  return test::ranked(ask, r.tiles);
}

Json described(const AttentionSizes& s, const Pick& pick, const std::string& gpu) {
  Json out{{"gpu", gpu}};
  for (const auto& [axis, size] : test::shape_of(s)) out["shape"][axis] = size;
  for (const auto& [knob, value] : pick.tile) out["tile"][knob] = value;
  if (pick.predicted) {
    out["predicted"] = *pick.predicted;
    out["predicted_rate"] = bytes_of(s) / *pick.predicted;
  }
  return out;
}

bool time_one(Runtime& runtime, const AttentionSizes& s, const Pick& pick, std::int64_t page, const std::string& gpu) {
  Json out = described(s, pick, gpu);
  out["page"] = page;
  bool good = true;
  try {
    DecodeCase one;
    one.sizes = s;
    one.tile = pick.tile;
    one.page = page;
    DeviceProblem problem(runtime, one);
    problem.poison();
    problem.launch();
    report(problem.compare(2), out);
    good = out["good"];
    for (const L2State l2 : {L2State::cold, L2State::warm}) {
      TimingOptions options;
      options.l2 = l2;
      options.longest = Seconds(0.5);
      const LaunchTiming timing = time_launch(
          problem.device(), [&] { problem.launch(); }, options);
      const std::string name(name_of(l2));
      out[name] = timing.time.value;
      out[name + "_rate"] = bytes_of(s) / timing.time.value;
    }
    out["registers"] = problem.kernel().compiled.report.registers;
    out["spills"] = (problem.kernel().compiled.report.spill_stores).value.get();
  } catch (const std::exception& error) {
    out["error"] = error.what();
    good = false;
  }
  std::cout << out.dump() << std::endl;
  return good;
}

int run(Options& r) {
  if (r.sizes.empty()) r.sizes = timed_shapes();
  r.time = r.time || r.tile;
  if (r.predict) {
    for (const AttentionSizes& s : r.sizes) {
      for (const Pick& pick : picks_of(s, r)) std::cout << described(s, pick, r.gpu).dump() << std::endl;
    }
    return 0;
  }
  if (r.compile) {
    for (const DecodeCase& one : test::decode_cases(1)) {
      const Compilation done = compile(test::variant_of(one), process_environment(), Objections::report);
      std::cout << Json{{"case", test::describe(one)},
                        {"registers", done.kernel.report.registers},
                        {"spills", done.kernel.report.spill_stores.value.get()},
                        {"faults", done.kernel.report.faults}}
                       .dump()
                << std::endl;
    }
    return 0;
  }
  Runtime runtime(Device(), process_environment(), Objections::report);
  bool good = true;
  if (r.check) good = check(runtime, r.shapes);
  if (r.time) {
    for (const AttentionSizes& s : r.sizes) {
      for (const Pick& pick : picks_of(s, r)) {
        for (const std::int64_t page : r.pages) good = time_one(runtime, s, pick, page, r.gpu) && good;
      }
    }
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options r;
  std::vector<std::int64_t> sizes;
  CLI::App app("attention_decode_sm90: right, and how fast", "run_decode");
  app.add_flag("--check", r.check);
  app.add_flag("--time", r.time);
  app.add_flag("--predict", r.predict);
  app.add_flag("--compile", r.compile);
  app.add_option("--shapes", r.shapes);
  app.add_option("--tiles", r.tiles);
  app.add_option("--gpu", r.gpu);
  app.add_option("--pages", r.pages)->delimiter(',');
  test::add_text(app, "--tile", [&](const std::string& text) { r.tile = parse_tile(text); });
  app.add_option("--shape", sizes)->delimiter(',');
  return test::run_program(app, argc, argv, [&] {
    if (!sizes.empty()) read_sizes(sizes, r);
    return run(r);
  });
}
