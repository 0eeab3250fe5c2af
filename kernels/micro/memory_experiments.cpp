// Latency and bandwidth of shared memory, clusters, L2 and device memory.

#include <algorithm>
#include <array>

#include "kernels/micro/experiment.hpp"
#include "kernels/micro/plans.hpp"

namespace napkin::internal {
namespace {

using namespace micro;

constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t large = 1024 * mib;  // far beyond any L2

// ---- chases

constexpr int chase_steps = 4096;

LaunchPlan chase_plan(Bench& bench, ChaseSpace space, unsigned blocks, ChaseArguments arguments) {
  arguments.steps = chase_steps;
  arguments.passes = std::max(arguments.passes, 1);
  arguments.clocks = pointer<unsigned long long>(bench.results());
  LaunchPlan plan = plan_of("chase.cuh", written(space), blocks, 32, 0, arguments);
  plan.cluster = space == ChaseSpace::cluster ? blocks : 1;
  return plan;
}

std::vector<double> chase(Bench& bench, ChaseSpace space, unsigned blocks) {
  std::vector<double> out;
  for (int i = 0; i < repetitions; ++i)
    out.push_back(mean(bench.run(chase_plan(bench, space, blocks, {}), blocks)) / chase_steps);
  return out;
}

/// Chases a ring of lines through `bytes`, with long steps. All SMs write the lines first, which leaves them in the L2;
/// with two `passes` the measured SM also reads them once before.
std::vector<double> chase_memory(Bench& bench, std::int64_t bytes, int passes) {
  ChaseArguments arguments{};
  arguments.ring = pointer<unsigned>(bench.memory(static_cast<std::size_t>(bytes)));
  arguments.lines = static_cast<unsigned long long>(bytes / 128);
  arguments.passes = passes;
  arguments.step = (arguments.lines * 5 / 8) | 1;  // odd, so that a ring of 2^k lines is one
  std::vector<double> out;
  for (int i = 0; i < repetitions; ++i) {
    static_cast<void>(bench.run(plan_of("chase.cuh", "napkin::lay_ring<napkin::RingConfig{.lay = true}>",
                                        static_cast<unsigned>(bench.device().sms * 4), 256, 0, arguments),
                                1));
    arguments.first = arguments.lines / repetitions * static_cast<unsigned long long>(i);
    out.push_back(mean(bench.run(chase_plan(bench, ChaseSpace::global, 1, arguments), 1)) / chase_steps);
  }
  return out;
}

// ---- streams

LaunchPlan stream_plan(Bench& bench, StreamWay way, unsigned blocks, std::int64_t bytes, bool same, int warm,
                       int passes) {
  StreamArguments arguments{};
  const std::int64_t all = bytes * (same ? 1 : blocks);
  const std::uint64_t address = bench.memory(static_cast<std::size_t>(2 * std::max(all, large)));
  arguments.from = pointer<char>(address);
  arguments.to = pointer<char>(address + static_cast<std::uint64_t>(way == StreamWay::copy ? all : 0));
  arguments.bytes = bytes;
  arguments.stride = same ? 0 : bytes;
  arguments.warm_passes = warm;
  arguments.passes = passes;
  arguments.clocks = pointer<unsigned long long>(bench.results());
  return plan_of("stream.cuh", written(way), blocks, StreamConfig::threads, 0, arguments);
}

/// Returns the bytes a clock and SM, mean over the blocks.
std::vector<double> stream_rates(Bench& bench, StreamWay way, unsigned blocks, std::int64_t bytes, bool same) {
  const int passes = static_cast<int>(std::clamp<std::int64_t>(8 * mib / bytes, 4, 64));
  std::vector<double> out;
  for (int i = 0; i < repetitions; ++i) {
    const std::vector<std::uint64_t> clocks =
        bench.run(stream_plan(bench, way, blocks, bytes, same, 2, passes), blocks);
    out.push_back(static_cast<double>(bytes) * passes / mean(clocks));
  }
  return out;
}

std::string_view name_of(StreamWay way) {
  return way == StreamWay::read ? "read" : way == StreamWay::write ? "write" : way == StreamWay::copy ? "copy" : "add";
}

// ---- boxes

struct BoxesRun {
  unsigned blocks = 1;
  int count = 64, warm = 0, around = 1 << 30;
  bool same = false;
  std::array<SharedTile, 2> tiles = {};
  int work = 0;
};

std::vector<std::uint64_t> run_boxes(Bench& bench, const BoxesConfig& config, const BoxesRun& run) {
  const int of_block = std::min(run.count, run.around) * config.rows();
  const std::int64_t clusters = run.blocks / static_cast<unsigned>(config.cluster);
  const std::int64_t rows = (run.same ? 1 : clusters) * of_block;
  BoxesArguments arguments{};
  arguments.block_rows = config.shared_tiles ? of_block / 2 : run.same ? 0 : of_block;
  std::copy(run.tiles.begin(), run.tiles.end(), arguments.tiles);
  arguments.work = run.work;
  arguments.count = run.count;
  arguments.warm = run.warm;
  arguments.around = run.around;
  arguments.clocks = pointer<unsigned long long>(bench.results());
  LaunchPlan plan =
      plan_of("boxes.cuh", written(config), run.blocks, 1, static_cast<unsigned>(config.shared()), arguments);
  plan.cluster = static_cast<unsigned>(config.cluster);
  plan.boxes = {rows_box(offsetof(BoxesArguments, from), bench.memory(static_cast<std::size_t>(rows) * 128), rows,
                         config.rows() / config.cluster)};
  return bench.run(plan, run.blocks * static_cast<std::size_t>(1 + run.count));
}

/// Returns the clocks of a box for each launch, the median over boxes and the mean over blocks.
std::vector<double> box_latencies(Bench& bench, const BoxesConfig& config, const BoxesRun& run, bool cold) {
  std::vector<double> out;
  for (int i = 0; i < repetitions; ++i) {
    if (cold) bench.flush();
    const std::vector<std::uint64_t> clocks = run_boxes(bench, config, run);
    double sum = 0;
    for (unsigned block = 0; block < run.blocks; ++block) {
      const auto first = clocks.begin() + static_cast<std::ptrdiff_t>(block) * (1 + run.count) + 1;
      std::vector<std::uint64_t> own(first + run.warm, first + run.count);
      std::nth_element(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(own.size() / 2), own.end());
      sum += static_cast<double>(own[own.size() / 2]);
    }
    out.push_back(sum / run.blocks);
  }
  return out;
}

std::vector<double> box_rates(Bench& bench, const BoxesConfig& config, const BoxesRun& run) {
  std::vector<double> out;
  for (int i = 0; i < repetitions; ++i) {
    const std::vector<std::uint64_t> clocks = run_boxes(bench, config, run);
    double sum = 0;
    for (unsigned block = 0; block < run.blocks; ++block)
      sum += static_cast<double>(clocks[static_cast<std::size_t>(block) * static_cast<std::size_t>(1 + run.count)]);
    out.push_back(static_cast<double>(run.count - run.warm) * config.kib * 1024 / (sum / run.blocks));
  }
  return out;
}

}  // namespace

Readings latency(Bench& bench) {
  Readings out;
  out.push_back({"latency", {{"of", "shared"}}, "load", "clk", chase(bench, ChaseSpace::shared, 1)});
  for (const unsigned size : {2U, 4U, 8U, 16U}) {
    out.push_back({"latency",
                   {{"of", "cluster"}, {"size", std::to_string(size)}},
                   "load",
                   "clk",
                   chase(bench, ChaseSpace::cluster, size)});
  }
  for (const std::int64_t size : {1, 4, 16, 32, 64}) {
    for (const int passes : {1, 2}) {
      out.push_back({"latency",
                     {{"of", "l2"}, {"mib", std::to_string(size)}, {"read_before", passes == 1 ? "no" : "yes"}},
                     "load",
                     "clk",
                     chase_memory(bench, size * mib, passes)});
    }
  }
  out.push_back({"latency", {{"of", "device"}, {"mib", "4096"}}, "load", "clk", chase_memory(bench, 4096 * mib, 1)});
  return out;
}

Readings l2_bandwidth(Bench& bench) {
  Readings out;
  const auto add = [&](const Conditions& with, std::vector<double> values) {
    out.push_back({"l2_bandwidth", with, "rate", "B/clk", std::move(values)});
  };
  const auto sms = static_cast<unsigned>(bench.device().sms);
  for (const int chunks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16}) {
    const std::int64_t bytes = std::int64_t{chunks} * StreamConfig::chunk;
    add({{"way", "read"}, {"tile", "own"}, {"bytes", std::to_string(bytes * sms)}},
        stream_rates(bench, StreamWay::read, sms, bytes, false));
  }
  add({{"way", "read"}, {"tile", "same"}}, stream_rates(bench, StreamWay::read, sms, 4 * StreamConfig::chunk, true));
  add({{"way", "read"}, {"tile", "alone"}}, stream_rates(bench, StreamWay::read, 1, 16 * StreamConfig::chunk, false));
  constexpr int passes = 64;
  const std::int64_t bytes = 2 * StreamConfig::chunk;
  Reading adds{"l2_bandwidth", {{"way", "add"}, {"bytes", std::to_string(bytes * sms)}}, "rate", "B/s", {}};
  for (int i = 0; i < repetitions; ++i) {
    adds.values.push_back(static_cast<double>(bytes) * sms * passes /
                          bench.seconds(stream_plan(bench, StreamWay::add, sms, bytes, false, 0, passes), 2));
  }
  out.push_back(adds);
  return out;
}

Readings device_bandwidth(Bench& bench) {
  Readings out;
  const unsigned blocks = static_cast<unsigned>(bench.device().sms) * 2;
  static_cast<void>(
      bench.random_memory(static_cast<std::size_t>(4 * large)));  // a read of one repeated pattern is 2 % slower
  for (const StreamWay way : {StreamWay::read, StreamWay::write, StreamWay::copy, StreamWay::add}) {
    const std::int64_t bytes = 2 * large / blocks / StreamConfig::chunk * StreamConfig::chunk,
                       moved = bytes * blocks * (way == StreamWay::copy ? 2 : 1);
    Reading reading{"device_bandwidth", {{"way", std::string(name_of(way))}}, "rate", "B/s", {}};
    for (int i = 0; i < repetitions; ++i) {
      reading.values.push_back(static_cast<double>(moved) /
                               bench.seconds(stream_plan(bench, way, blocks, bytes, false, 0, 1), 2));
    }
    out.push_back(reading);
  }
  return out;
}

Readings copy_engine(Bench& bench) {
  Readings out;
  const auto sms = static_cast<unsigned>(bench.device().sms);
  for (const int kib : {8, 16, 32}) {
    for (const unsigned blocks : {1U, sms}) {
      for (const bool spin : {true, false}) {
        // Warm: the same boxes again, of all SMs few enough to be in the L2 together.
        const int around = blocks == 1 ? 32 : 8;
        Conditions warm = {{"kib", std::to_string(kib)},
                           {"sms", blocks == 1 ? "one" : "all"},
                           {"wait", spin ? "spin" : "try_wait"}},
                   cold = warm;
        warm["from"] = "l2";
        cold["from"] = "device";
        out.push_back({"copy_engine", warm, "latency", "clk",
                       box_latencies(bench, {spin, kib, 1, 1}, {blocks, 2 * around, around, around, false}, false)});
        out.push_back({"copy_engine", cold, "latency", "clk",
                       box_latencies(bench, {spin, kib, 1, 1}, {blocks, around, 0, around, false}, true)});
      }
    }
  }
  for (const int cluster : {1, 2, 4}) {
    const unsigned blocks = sms / static_cast<unsigned>(cluster) * static_cast<unsigned>(cluster);
    for (const bool same : {false, true}) {
      out.push_back({"copy_engine",
                     {{"cluster", std::to_string(cluster)}, {"tile", same ? "same" : "own"}},
                     "delivered",
                     "B/clk",
                     box_rates(bench, {false, 16, 8, cluster}, {blocks, 160, 32, 16, same})});
    }
  }
  return out;
}

namespace {

/// Measures boxes of 16 KiB taken in turn from two tiles, which blocks share as a product's blocks do.
Reading tile_rates(Bench& bench, Conditions with, SharedTile even, SharedTile odd, int work) {
  const auto sms = static_cast<unsigned>(bench.device().sms);
  with["work"] = std::to_string(work);
  BoxesRun run{sms, 512, 64, 16};
  run.tiles = {even, odd};
  run.work = work;
  BoxesConfig config{false, 16, 8, 1};
  config.shared_tiles = true;
  return {"shared_tiles", std::move(with), "delivered", "B/clk", box_rates(bench, config, run)};
}

}  // namespace

Readings shared_tiles(Bench& bench) {
  Readings out;
  const int sms = bench.device().sms;
  for (const int work : {0, 256}) {  // clocks of 16 KiB at 64 B/clk
    for (const int readers : {1, 2, 4, 8, 16, 33, 66, 132}) {
      const int tiles = std::max(sms / readers, 1);
      out.push_back(tile_rates(bench, {{"readers", std::to_string(readers)}, {"blocks", "side_by_side"}},
                               {readers, sms, 0}, {readers, sms, sms}, work));
      out.push_back(tile_rates(bench, {{"readers", std::to_string(readers)}, {"blocks", "spread"}}, {1, tiles, 0},
                               {1, tiles, sms}, work));
    }
    // A product's blocks down the columns of its tiles: even boxes are A's, of the block's row, odd ones B's, of its
    // column.
    for (const int rows : {2, 4, 8, 12, 16, 22, 32, 44, 64, 128}) {
      out.push_back(tile_rates(bench, {{"rows", std::to_string(rows)}}, {1, rows, 0}, {rows, sms, rows}, work));
    }
  }
  return out;
}

Readings cluster_network(Bench& bench) {
  Readings out;
  constexpr int passes = 64;
  const auto sms = static_cast<unsigned>(bench.device().sms);
  for (const bool store : {false, true}) {
    for (const unsigned size : {2U, 4U, 8U, 16U}) {
      for (const bool all : {true, false}) {
        const unsigned blocks = all ? sms / size * size : size;
        Reading reading{
            "cluster_network",
            {{"way", store ? "store" : "load"}, {"size", std::to_string(size)}, {"clusters", all ? "all" : "one"}},
            "rate",
            "B/clk",
            {}};
        ClusterArguments arguments{};
        arguments.passes = passes;
        arguments.clocks = pointer<unsigned long long>(bench.results());
        LaunchPlan plan = plan_of(
            "cluster.cuh",
            std::string("napkin::cluster_traffic<napkin::ClusterConfig{.store = ") + (store ? "true" : "false") + "}>",
            blocks, ClusterConfig::threads, ClusterConfig::bytes, arguments);
        plan.cluster = size;
        for (int i = 0; i < repetitions; ++i)
          reading.values.push_back(static_cast<double>(ClusterConfig::bytes) * passes / mean(bench.run(plan, blocks)));
        out.push_back(reading);
      }
    }
  }
  return out;
}

}  // namespace napkin::internal
