// Loads of two matrices' tiles into shared memory by the copy engine, as the blocks of a product make them.

#include <algorithm>

#include "kernels/micro/experiment.hpp"
#include "kernels/micro/plans.hpp"

namespace napkin::internal {
namespace {

using namespace micro;

struct TilesRun {
  int rows = 12, work = 0;
  bool cold = false;
};

/// Makes a box of a bf16 matrix that moves `box_rows` rows and `span` columns at a time.
TensorBox matrix_box(std::size_t offset, std::uint64_t address, std::int64_t rows, std::int64_t columns, int box_rows,
                     int span) {
  TensorBox box = micro::rows_box(offset, address, rows, box_rows);
  box.box.front() = static_cast<std::uint32_t>(span);
  box.swizzle = 2 * span;
  box.sizes.front() = static_cast<std::uint64_t>(columns);
  box.strides.front() = static_cast<std::uint64_t>(2 * columns);
  return box;
}

/// Returns the clocks from chunk to chunk, mean over the blocks. Warm runs repeat fewer chunks than the L2 holds.
Reading tile_clocks(Bench& bench, const TilesConfig& config, const TilesRun& run) {
  const auto blocks = static_cast<unsigned>(bench.device().sms / config.cluster * config.cluster);
  const std::int64_t columns = (blocks + static_cast<unsigned>(run.rows) - 1) / static_cast<unsigned>(run.rows);
  TilesArguments arguments{};
  arguments.rows = run.rows;
  arguments.count = run.cold ? 64 : 256;
  arguments.warm = 16;
  arguments.around = run.cold ? arguments.count : 8;
  arguments.work = run.work;
  arguments.clocks = pointer<unsigned long long>(bench.results());
  const std::int64_t deep = std::int64_t{arguments.around} * config.chunk, a_rows = std::int64_t{run.rows} * config.a,
                     b_columns = columns * config.c;
  const std::uint64_t a = bench.memory(static_cast<std::size_t>(2 * deep * (a_rows + b_columns)));
  LaunchPlan plan =
      plan_of("tiles.cuh", written(config), blocks, 64, static_cast<unsigned>(config.shared()), arguments);
  plan.cluster = static_cast<unsigned>(config.cluster);
  plan.boxes = {matrix_box(offsetof(TilesArguments, a), a, a_rows, deep, config.a, TilesConfig::span(config.chunk)),
                matrix_box(offsetof(TilesArguments, b), a + static_cast<std::uint64_t>(2 * deep * a_rows), deep,
                           b_columns, config.chunk / config.cluster, TilesConfig::span(config.c))};
  const std::string tile =
      std::to_string(config.a) + "x" + std::to_string(config.c) + "x" + std::to_string(config.chunk);
  Reading out{"tiles",
              {{"tile", tile},
               {"stages", std::to_string(config.stages)},
               {"cluster", std::to_string(config.cluster)},
               {"rows", std::to_string(run.rows)},
               {"work", std::to_string(run.work)},
               {"from", run.cold ? "device" : "l2"}},
              "chunk",
              "clk",
              {}};
  for (int i = 0; i < repetitions; ++i) {
    if (run.cold) bench.flush();
    out.values.push_back(mean(bench.run(plan, blocks)) / (arguments.count - arguments.warm));
  }
  return out;
}

}  // namespace

Readings tiles(Bench& bench) {
  Readings out;
  constexpr int busy = 512;  // the clocks of that chunk's products
  for (const int rows : {2, 4, 8, 16, 22, 32, 44, 64, 132}) {
    for (const int work : {0, busy}) out.push_back(tile_clocks(bench, {6, 1}, {rows, work, false}));
  }
  for (const int cluster : {1, 2}) {
    for (const int stages : {2, 3, 4, 6}) {
      for (const int work : {0, busy / 2, busy}) {
        for (const bool cold : {false, true}) out.push_back(tile_clocks(bench, {stages, cluster}, {12, work, cold}));
      }
    }
  }
  // Tall and wide tiles, rows of 128, 64 and 32 bytes; as many rows of tiles as order `grouped` has in a group, or all.
  struct Shape {
    TilesConfig config;
    int rows;
  };
  for (const Shape& shape : {Shape{{4, 1, 64, 256, 64}, 23},
                             {{4, 1, 256, 64, 64}, 6},
                             {{4, 1, 256, 64, 64}, 16},
                             {{4, 1, 256, 32, 64}, 4},
                             {{4, 1, 192, 64, 64}, 7},
                             {{3, 1, 128, 64, 128}, 8},
                             {{4, 1, 128, 64, 128}, 8},
                             {{3, 1, 64, 192, 128}, 20},
                             {{3, 1, 64, 160, 128}, 18},
                             {{6, 1, 64, 160, 64}, 18},
                             {{4, 1, 128, 160, 64}, 13},
                             {{4, 1, 128, 144, 64}, 12},
                             {{4, 1, 128, 176, 64}, 13},
                             {{4, 1, 192, 112, 64}, 9},
                             {{6, 1, 128, 128, 32}, 11},
                             {{4, 2, 192, 64, 64}, 4},
                             {{4, 2, 128, 160, 64}, 10},
                             // B is one for all blocks: the time that 128 more rows of its boxes take, of 128, 64 and
                             // 32 bytes.
                             {{4, 1, 64, 128, 64}, 132},
                             {{4, 1, 64, 256, 64}, 132},
                             {{4, 1, 64, 160, 64}, 132},
                             {{4, 1, 64, 224, 64}, 132},
                             {{4, 1, 64, 112, 64}, 132},
                             {{4, 1, 64, 144, 64}, 132}}) {
    for (const bool cold : {false, true}) out.push_back(tile_clocks(bench, shape.config, {shape.rows, 0, cold}));
  }
  return out;
}

}  // namespace napkin::internal
