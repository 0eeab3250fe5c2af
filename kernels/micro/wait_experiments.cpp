// Limits that the driver reports, and measurements of barriers, launches and power.

#include <algorithm>

#include "kernels/micro/experiment.hpp"
#include "kernels/micro/plans.hpp"

namespace napkin::internal {
namespace {

using namespace micro;

std::vector<double> meet_rounds(Bench& bench, Meeting meeting, int threads) {
  constexpr int rounds = 1024;
  const MeetConfig config{meeting, threads};
  const MeetArguments arguments{rounds, pointer<unsigned long long>(bench.results())};
  std::vector<double> out;
  for (int i = 0; i < repetitions; ++i) {
    out.push_back(static_cast<double>(bench.run(
                      plan_of("meet.cuh", written(config), 1, static_cast<unsigned>(threads), 8192, arguments), 1)[0]) /
                  rounds);
  }
  return out;
}

LaunchPlan blocks_plan(Bench& bench, bool noted, unsigned blocks, unsigned threads, unsigned shared, long long window) {
  const BlocksArguments arguments{window, pointer<unsigned long long>(bench.results())};
  return plan_of("blocks.cuh",
                 std::string("napkin::blocks<napkin::BlocksConfig{.noted = ") + (noted ? "true" : "false") + "}>",
                 blocks, threads, shared, arguments);
}

/// Returns {start, end} of the blocks of each SM, in the order of their starts.
std::vector<std::vector<std::pair<double, double>>> spans_by_sm(const std::vector<std::uint64_t>& words, int sms) {
  std::vector<std::vector<std::pair<double, double>>> out(static_cast<std::size_t>(sms));
  for (std::size_t i = 0; i + 2 < words.size(); i += 3) {
    out[words[i] % out.size()].emplace_back(static_cast<double>(words[i + 1]), static_cast<double>(words[i + 2]));
  }
  for (auto& spans : out) std::sort(spans.begin(), spans.end());
  return out;
}

double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Returns the clocks between a block's end and the start of the next on its SM, one block an SM at a time.
double handover(const std::vector<std::vector<std::pair<double, double>>>& by_sm) {
  std::vector<double> gaps;
  for (const auto& spans : by_sm) {
    for (std::size_t i = 1; i < spans.size(); ++i) gaps.push_back(spans[i].first - spans[i - 1].second);
  }
  return middle(gaps);
}

/// Returns an SM's clocks for each of many blocks.
double share_of_block(const std::vector<std::vector<std::pair<double, double>>>& by_sm) {
  std::vector<double> shares;
  for (const auto& spans : by_sm) {
    double end = 0;
    for (const auto& [from, to] : spans) end = std::max(end, to);
    if (spans.size() > 1) shares.push_back((end - spans.front().first) / static_cast<double>(spans.size()));
  }
  return middle(shares);
}

// ---- power

struct Work {
  std::string name;
  double product_flops = 0, instructions = 0, l2_bytes = 0, device_bytes = 0;  // work of a launch, all SMs
  double clocks = 0;        // clocks of a launch on one SM; 0: not counted
  bool eight_bits = false;  // products
};

/// Adds a steady load. The clock is the mean over a launch if its SMs counted clocks, as NVML reads several percent
/// more under a power limit.
void add_load(Readings& out, const std::string& experiment, const SteadyLoad& load, const Work& work) {
  const Conditions with = {{"load", work.name}};
  const auto add = [&](const std::string& quantity, const std::string& unit, double value) {
    out.push_back({experiment, with, quantity, unit, {value}});
  };
  add("clock", "Hz", work.clocks > 0 ? work.clocks / load.seconds : load.clock);
  add("nvml_clock", "Hz", load.clock);
  add("power", "W", load.power);
  add(work.eight_bits ? "flops_8bit" : "flops", "1/s", work.product_flops / load.seconds);
  add("instructions", "1/s", work.instructions / load.seconds);
  add("l2_bytes", "B/s", work.l2_bytes / load.seconds);
  add("device_bytes", "B/s", work.device_bytes / load.seconds);
}

constexpr double load_seconds = 0.8;

/// Measures agents for some milliseconds a launch; their own counts give a launch's work.
void agents_load(Readings& out, Bench& bench, const std::string& experiment, const std::string& name,
                 const AgentsConfig& config, AgentsAtWork at_work, double seconds = load_seconds) {
  const LaunchPlan plan = agents_plan(bench, config, at_work);
  const SteadyLoad load = bench.load(plan, seconds);
  const std::size_t warps = (plan.threads + 31) / 32;
  const std::vector<std::uint64_t> counts = bench.run(plan, 2 * warps * plan.grid);
  Work work{name};
  for (std::size_t i = 0; i < warps * plan.grid; ++i) {
    const bool tensor = static_cast<int>(i % warps / 4) < config.tensor_groups;
    (tensor ? work.product_flops : work.instructions) += static_cast<double>(counts[2 * i]);
    work.clocks = std::max(work.clocks, static_cast<double>(counts[2 * i + 1]));
  }
  work.product_flops *= 2.0 * 64 * config.n * (config.e4m3 ? 32 : 16);
  work.eight_bits = config.e4m3;
  add_load(out, experiment, load, work);
}

void stream_load(Readings& out, Bench& bench, const std::string& name, std::int64_t bytes, int passes) {
  const auto blocks = static_cast<unsigned>(bench.device().sms);
  StreamArguments arguments{};
  arguments.from = arguments.to = pointer<char>(bench.random_memory(static_cast<std::size_t>(bytes) * blocks));
  arguments.bytes = arguments.stride = bytes;
  arguments.passes = passes;
  arguments.clocks = pointer<unsigned long long>(bench.results());
  const LaunchPlan plan = plan_of("stream.cuh", written(StreamWay::read), blocks, StreamConfig::threads, 0, arguments);
  const double moved = static_cast<double>(bytes) * blocks * passes;
  Work work{name};
  work.l2_bytes = moved;
  if (passes == 1) work.device_bytes = moved;
  add_load(out, "power", bench.load(plan, load_seconds), work);
}

}  // namespace

Readings device_query(Bench& bench) {
  const DeviceProperties& device = bench.device();
  const auto row = [](const std::string& quantity, const std::string& unit, double value) {
    return Reading{"device_query", {}, quantity, unit, {value}};
  };
  return {row("sms", "nodes", device.sms), row("l2", "B", static_cast<double>(device.l2.value.get())),
          row("shared_per_block", "B", static_cast<double>(device.shared_per_block.value.get()))};
}

Readings waiting(Bench& bench) {
  Readings out;
  const auto add = [&](const std::string& what, Meeting meeting, int threads) {
    out.push_back({"waiting",
                   {{"for", what}, {"threads", std::to_string(threads)}},
                   "round",
                   "clk",
                   meet_rounds(bench, meeting, threads)});
  };
  for (const int threads : {128, 256, 384, 512}) add("barrier", Meeting::barrier, threads);
  add("named_round", Meeting::named_round, 256);
  add("mbarrier_round", Meeting::mbarrier_round, 256);
  add("fence", Meeting::fence, 128);
  for (const int threads : {128, 256}) add("store_fence_barrier", Meeting::store_fence_barrier, threads);
  return out;
}

Readings launching(Bench& bench) {
  Readings out;
  const auto sms = static_cast<unsigned>(bench.device().sms);
  constexpr unsigned in_turn = 8, many = 64, alone = 200 * 1024;  // bytes of shared memory: one block an SM at a time
  Reading launch{"launching", {}, "launch", "s", {}}, next{"launching", {}, "handover", "clk", {}},
      each{"launching", {}, "block", "clk", {}};
  for (int i = 0; i < repetitions; ++i) {
    launch.values.push_back(bench.seconds(blocks_plan(bench, false, sms, 128, 0, 0), 1000));
    next.values.push_back(handover(spans_by_sm(
        bench.run(blocks_plan(bench, true, in_turn * sms, 384, alone, 4000), 3 * in_turn * sms), bench.device().sms)));
    each.values.push_back(share_of_block(
        spans_by_sm(bench.run(blocks_plan(bench, true, many * sms, 384, 0, 0), 3 * many * sms), bench.device().sms)));
  }
  out.push_back(launch);
  out.push_back(next);
  out.push_back(each);
  return out;
}

Readings power(Bench& bench) {
  Readings out;
  constexpr long long window = 4000000;  // clocks: 2 ms
  add_load(out, "power", bench.rest(load_seconds), {"rest"});
  agents_load(out, bench, "power", "spin", {1, 128, false, 2, VectorWork::special_register, false},
              {0, 1, false, 0, window});
  for (const int n : {64, 128, 256}) {
    for (const bool registers : {false, true}) {
      const AgentsConfig config{1, n, registers, 0, VectorWork::none, false};
      agents_load(out, bench, "power",
                  std::string("tensor_n") + std::to_string(n) + (registers ? "_registers" : "_shared"), config,
                  {1, 0, false, static_cast<int>(window / (config.batch() * n / 2)), 0});
    }
  }
  for (const VectorWork work :
       {VectorWork::ex2, VectorWork::fma, VectorWork::maximum, VectorWork::mix, VectorWork::convert}) {
    agents_load(out, bench, "power", std::string(name_of(work)), {1, 128, false, 2, work, false},
                {0, 2, false, 0, window});
  }
  const AgentsConfig both{1, 128, false, 2, VectorWork::mix, false};
  agents_load(out, bench, "power", "tensor_n128_shared_mix", both,
              {1, 2, false, static_cast<int>(window / (both.batch() * 64)), 10 * window});
  stream_load(out, bench, "l2_read", 4 * StreamConfig::chunk, 256);
  stream_load(out, bench, "device_read", std::int64_t{256} * StreamConfig::chunk, 1);
  return out;
}

Readings power_e4m3(Bench& bench) {
  Readings out;
  constexpr long long window = 4000000;
  const auto batches = [](const AgentsConfig& config) {
    return static_cast<int>(window / (config.batch() * config.n / 2));
  };
  add_load(out, "power_e4m3", bench.rest(load_seconds), {"rest"});
  for (const int n : {64, 128, 256}) {
    for (const bool registers : {false, true}) {
      AgentsConfig config{1, n, registers, 0, VectorWork::none, false};
      config.e4m3 = true;
      agents_load(out, bench, "power_e4m3",
                  std::string("tensor_n") + std::to_string(n) + (registers ? "_registers" : "_shared"), config,
                  {1, 0, false, batches(config), 0});
    }
  }
  agents_load(out, bench, "power_e4m3", "convert_fp8", {1, 128, false, 2, VectorWork::convert_fp8, false},
              {0, 2, false, 0, window});
  AgentsConfig both{1, 128, true, 2, VectorWork::mix, false};
  both.e4m3 = true;
  agents_load(out, bench, "power_e4m3", "tensor_n128_registers_mix", both, {1, 2, false, batches(both), 10 * window});
  return out;
}

Readings power_card(Bench& bench) {
  Readings out;
  constexpr long long window = 4000000;
  constexpr double settled_seconds = 4;  // the limit holds for the mean power, which swings for a second
  add_load(out, "power_card", bench.rest(2 * load_seconds), {"rest"});
  agents_load(out, bench, "power_card", "spin", {1, 128, false, 2, VectorWork::special_register, false},
              {0, 1, false, 0, window});
  for (const bool registers : {false, true}) {
    const AgentsConfig config{1, 256, registers, 0, VectorWork::none, false};
    agents_load(out, bench, "power_card", registers ? "tensor_n256_registers" : "tensor_n256_shared", config,
                {1, 0, false, static_cast<int>(window / (config.batch() * 128)), 0}, settled_seconds);
  }
  return out;
}

}  // namespace napkin::internal
