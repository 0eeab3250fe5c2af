// A developer's bench: an attention kernel under given tiles on the GPU at hand, one JSON object a line.
//
//   run_attention --shape b=4,h=16,q=4096,x=4096,d=128 --tile q=128,x=176,warpgroups=2 [--causal | --window L,R]
//                 [--kernel attention_sm80] [--dtype f16] [--gpu h200-sxm] [--l2 cold] [--rows 64] [--runs 12]
//                 [--no-time] [--no-cycles] [--counters] [--no-lse] [--gap 8]
//                 [--heads-first] [--packed 100:100,0:7] [--seed 1]
//                 [--inputs zeros|growing[:0.25]|shrinking[:0.25]|spike]
//   run_attention < FILE     the same arguments, one problem a line; loads each variant once
//
// --compile: no GPU; compiles and prints what the compiler says beside what the plan says.
// --rows 0: no comparison. Reports spills and serialised instructions, and runs all the same.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/jit/source.hpp"
#include "kernels/runtime/counters.hpp"
#include "model/mapping/tile.hpp"
#include "model/resource/resources.hpp"
#include "tests/kernel/attention_problem.hpp"
#include "tests/kernel/layout_options.hpp"
#include "tests/kernel/lines.hpp"
#include "tests/kernel/reports.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using Json = nlohmann::ordered_json;

struct Request {
  std::string kernel = "attention_sm90", gpu = "h200-sxm";
  AttentionLayout layout;
  test::Knobs tile;
  TimingOptions timing;
  std::int64_t rows = 64;
  bool time = true, cycles = true, counters = false, compile = false;
};

void read_packed(const std::string& text, AttentionLayout& layout) {
  for (const std::string& part : test::split(text, ',')) {
    const auto lengths = test::split(part, ':');
    layout.q_lengths.push_back(std::stoi(lengths.at(0)));
    layout.x_lengths.push_back(std::stoi(lengths.at(lengths.size() - 1)));
  }
  AttentionSizes& s = layout.sizes;
  s.b = static_cast<std::int64_t>(layout.q_lengths.size());
  s.q = *std::max_element(layout.q_lengths.begin(), layout.q_lengths.end());
  s.x = *std::max_element(layout.x_lengths.begin(), layout.x_lengths.end());
}

void read_inputs(const std::string& text, AttentionLayout& layout) {
  const auto parts = test::split(text, ':');
  layout.inputs = inputs_of(parts.at(0));
  if (parts.size() > 1) layout.growth = std::stod(parts[1]);
}

Request read_request(const std::vector<std::string>& words) {
  using test::add_text;
  Request r;
  CLI::App app;
  test::add_layout(app, r.layout);
  app.add_option("--gpu", r.gpu);
  app.add_option("--kernel", r.kernel);
  add_text(app, "--tile", [&](const std::string& text) { r.tile = parse_tile(text); });
  add_text(app, "--l2", [&](const std::string& text) { r.timing.l2 = text == "cold" ? L2State::cold : L2State::warm; });
  app.add_option_function<int>("--runs", [&](int runs) { r.timing.least_runs = r.timing.most_runs = runs; });
  app.add_option("--rows", r.rows);
  app.add_flag("!--no-time", r.time);
  app.add_flag("!--no-cycles", r.cycles);
  app.add_flag("--compile", r.compile);
  app.add_flag("--counters", r.counters);
  app.add_flag("!--no-lse", r.layout.log_sum_exp);
  app.add_option("--gap", r.layout.gap);
  app.add_flag("--heads-first", r.layout.heads_first);
  add_text(app, "--packed", [&](const std::string& text) { read_packed(text, r.layout); });
  add_text(app, "--inputs", [&](const std::string& text) { read_inputs(text, r.layout); });
  test::parse(app, words);
  return r;
}

void report_question(const Request& r, const test::LaidOut& laid_out, const Tile& tile, Json& out) {
  test::report(test::shape_of(r.layout.sizes), describe(laid_out.mapping, tile), out);
  out["mask"] = text_of(r.layout.mask);
  out["dtype"] = std::string(name_of(r.layout.type));
  out["source_hash"] = kernel_source_hash(laid_out.mapping.name);
}

void report_compiler(const CompiledKernel& kernel, bool cached, const LaunchPlan& plan, Json& out) {
  test::report(kernel.report, out);
  out["shared_memory"] = plan.shared;
  out["grid"] = plan.grid;
  out["compile_time"] = kernel.compile_time.value;
  out["cached"] = cached;
}

/// Compiles without a GPU: the arrays have addresses that are never read.
Json answer_compiled(const Request& r) {
  const test::LaidOut laid_out(r.kernel, r.gpu, test::shape_of(r.layout.sizes), r.layout.type, r.layout.mask);
  const PlacedDiagram placed = laid_out.place(r.tile);
  AttentionCall call;
  const AttentionSizes& s = r.layout.sizes;
  call.q = call.o = {4096, s.q * s.h * s.g * 256, 256, s.h * s.g * 256};
  call.k = call.v = {4096, s.x * s.h * 256, 256, s.h * 256};
  call.log_sum_exp = r.layout.log_sum_exp ? 4096 : 0;
  call.ticket = 4096;
  if (!r.layout.q_lengths.empty()) {
    call.q_starts = call.x_starts = 4096;
    call.q_rows = s.q;
    call.x_rows = s.x;
  }
  const LaunchPlan launch = attention_plan(placed, call, launch_device(laid_out.machine));
  const Compilation compilation = compile(launch, process_environment(), Objections::report);
  Json out;
  report_question(r, laid_out, placed.tile, out);
  report_compiler(compilation.kernel, compilation.cached, launch, out);
  const Plan planned = plan(placed);
  out["planned"] = {{"registers_per_thread", planned.registers_per_thread.get()},
                    {"registers_limit", planned.registers_limit.get()},
                    {"registers_launch", planned.registers_launch.get()},
                    {"shared_limit", planned.shared_limit.value.get()}};
  return out;
}

/// Counts bytes of one launch from a cold L2.
void report_counters(Runtime& runtime, const test::AttentionProblem& problem, Json& out) {
  const Device& device = runtime.device();
  const DeviceMemory flush = device.allocate(static_cast<std::size_t>(2 * device.properties().l2.value.get()));
  const CounterReading reading = count(
      device, [&] { device.set(flush, 0); }, [&] { problem.launch()(); }, byte_counters,
      process_environment().compiler);
  for (const auto& [name, value] : reading.values) out["counters"][name] = value;
  if (!reading.refused.empty()) out["counters_refused"] = reading.refused;
  for (const LevelTransfer& level : transfers(problem.placed())) {
    if (level.level == problem.placed().machine->level("shared"))
      out["predicted_delivered"] = level.delivered.value.get();
  }
}

Json answer(Runtime& runtime, const Request& r) {
  Json out;
  const test::AttentionProblem problem(runtime, r.gpu, r.layout, r.tile, r.kernel);
  report_question(r, problem.laid_out(), problem.placed().tile, out);
  const LoadedKernel& kernel = problem.launch().kernel();
  report_compiler(kernel.compiled, kernel.cached, problem.launch().plan(), out);
  if (r.rows > 0) test::report(problem.check(r.rows, r.layout.seed), out);
  if (r.time)
    test::report(time_launch(
                     runtime.device(), [&] { problem.launch()(); }, r.timing),
                 attention_flops(r.layout), out);
  if (r.cycles) {
    const ReadyLaunch counting = problem.counting(runtime);
    out["cycles"] = measure_cycles(
                        runtime.device(), [&] { problem.launch()(); }, [&] { counting(); }, problem.data().spans())
                        .value;
  }
  if (r.counters) report_counters(runtime, problem, out);
  return out;
}

}  // namespace

int main(int argc, char** argv) { return test::answer_problems(argc, argv, read_request, answer_compiled, answer); }
