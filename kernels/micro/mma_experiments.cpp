// mma.sync alone, with other instructions of its own warps and of others, and the copies of kernels that use it.

#include "kernels/micro/experiment.hpp"
#include "kernels/micro/plans.hpp"

namespace napkin::internal {
namespace {

using namespace micro;

constexpr int mma_products = 20000;  // products of a warp, about
/// Clocks, for variants whose other instructions leave the products few issue slots.
constexpr long long mma_window = 20000000;

/// Returns a launch's rates; a product counts once for each scheduler.
AgentsRates multiply(Bench& bench, const AgentsConfig& config) {
  return run_agents(bench, config,
                    {config.tensor_groups, config.vector_groups, false, mma_products / config.batch(), mma_window});
}

AgentsConfig synchronous(int groups, int n, VectorWork work = VectorWork::none, int among = 0, int vector_groups = 0,
                         int loads = 0) {
  AgentsConfig out{groups, n, true, vector_groups, work, false};
  out.synchronous = true;
  out.among = among;
  out.loads = loads;
  return out;
}

}  // namespace

Readings mma_alone(Bench& bench) {
  Readings out;
  for (const int groups : {1, 2, 3, 4}) {
    for (const int accumulators : {1, 2, 3, 4, 6, 8, 16}) {
      Reading reading{"mma_alone",
                      {{"accumulators", std::to_string(accumulators)}, {"warps", std::to_string(groups)}},
                      "product",
                      "clk",
                      {}};
      for (int i = 0; i < repetitions; ++i)
        reading.values.push_back(multiply(bench, synchronous(groups, 8 * accumulators)).product);
      out.push_back(reading);
    }
  }
  return out;
}

Readings mma_among(Bench& bench) {
  struct Among {
    VectorWork work;
    std::vector<int> counts;  // instructions of `work` between two products
  };
  const std::vector<Among> all = {{VectorWork::fma, {1, 2, 4, 6, 8, 12, 16}}, {VectorWork::add, {4, 8, 16}},
                                  {VectorWork::maximum, {1, 2, 4, 8}},        {VectorWork::ex2, {1, 2, 4}},
                                  {VectorWork::convert, {1, 2, 4}},           {VectorWork::load, {1, 2}},
                                  {VectorWork::load_matrix, {1, 2}}};
  Readings out;
  for (const Among& among : all) {
    for (const int count : among.counts) {
      for (const int groups : {1, 2, 4}) {
        Reading reading{"mma_among",
                        {{"work", std::string(name_of(among.work))},
                         {"among", std::to_string(count)},
                         {"warps", std::to_string(groups)}},
                        "product",
                        "clk",
                        {}};
        for (int i = 0; i < repetitions; ++i)
          reading.values.push_back(multiply(bench, synchronous(groups, 64, among.work, count)).product);
        out.push_back(reading);
      }
    }
  }
  return out;
}

/// Measures products among an attention kernel's instructions: the softmax instructions of one element for every one or
/// two products (d = 64), and ldmatrix of B for 16 or 32 rows of a warp.
Readings mma_attention(Bench& bench) {
  Readings out;
  for (const int mixes : {0, 1, 2}) {
    for (const int loads : {0, 1, 2}) {
      for (const int groups : {1, 2, 4}) {
        const VectorWork work = mixes > 0 ? VectorWork::mix : VectorWork::none;
        Reading reading{
            "mma_attention",
            {{"mixes", std::to_string(mixes)}, {"loads", std::to_string(loads)}, {"warps", std::to_string(groups)}},
            "product",
            "clk",
            {}};
        for (int i = 0; i < repetitions; ++i)
          reading.values.push_back(multiply(bench, synchronous(groups, 64, work, mixes, 0, loads)).product);
        out.push_back(reading);
      }
    }
  }
  return out;
}

Readings mma_beside(Bench& bench) {
  Readings out;
  for (const VectorWork work :
       {VectorWork::fma, VectorWork::add, VectorWork::maximum, VectorWork::logic, VectorWork::ex2, VectorWork::convert,
        VectorWork::shuffle, VectorWork::mix, VectorWork::softmax, VectorWork::load, VectorWork::load_matrix}) {
    for (const int groups : {1, 2}) {
      const Conditions with = {{"work", std::string(name_of(work))}, {"warps", std::to_string(groups)}};
      const bool bytes = work == VectorWork::load || work == VectorWork::load_matrix;
      Reading rate{"mma_beside", with, "rate", bytes ? "B/clk" : "instructions/clk", {}},
          product{"mma_beside", with, "product", "clk", {}};
      if (work == VectorWork::softmax) rate.unit = "elements/clk";
      for (int i = 0; i < repetitions; ++i) {
        const AgentsRates rates = multiply(bench, synchronous(groups, 64, work, 0, 2));
        rate.values.push_back(rates.vector * (bytes ? 512 : work == VectorWork::softmax ? 32 : 1));
        product.values.push_back(rates.product);
      }
      out.push_back(rate);
      out.push_back(product);
    }
  }
  return out;
}

Readings async_copies(Bench& bench) {
  constexpr int threads = 128, chunks = 256, warm = 64;
  constexpr std::int64_t held = 192 << 10, far = 16 << 20;  // bytes of a block: in the L2, or beyond it
  Readings out;
  const auto read = [&](int kib, int stages, bool all, const char* tile, int busy = 0) {
    const AsyncCopiesConfig config{threads, kib * 1024 / 16 / threads, stages, busy};
    const unsigned blocks = all ? static_cast<unsigned>(bench.device().sms) : 1;
    const bool device = std::string(tile) == "device", same = std::string(tile) == "same";
    const std::int64_t of_block = device ? far : held;
    AsyncCopiesArguments arguments{};
    arguments.from = pointer<const char>(bench.memory(static_cast<std::size_t>(of_block * bench.device().sms)));
    arguments.apart = same ? 0 : of_block;
    arguments.around = static_cast<int>(of_block / config.bytes());
    arguments.warm = device ? 8 : warm + arguments.around;
    arguments.count = arguments.warm + (device ? arguments.around - 16 : chunks);
    arguments.clocks = pointer<unsigned long long>(bench.results());
    const LaunchPlan plan =
        plan_of("async_copies.cuh", written(config), blocks, static_cast<unsigned>(threads + 32 * busy),
                static_cast<unsigned>(config.shared()), arguments);
    Reading reading{"async_copies",
                    {{"kib", std::to_string(kib)},
                     {"stages", std::to_string(stages)},
                     {"sms", all ? "all" : "one"},
                     {"tile", tile},
                     {"busy", std::to_string(busy)}},
                    "chunk",
                    "clk",
                    {}};
    for (int i = 0; i < repetitions; ++i) {
      if (device) bench.flush();
      reading.values.push_back(mean(bench.run(plan, blocks)) / (arguments.count - arguments.warm));
    }
    out.push_back(reading);
  };
  for (const int kib : {2, 4, 8, 16, 32, 64}) {
    for (const char* tile : {"own", "same", "device"}) {
      read(kib, 1, true, tile);
      if (std::string(tile) != "same") read(kib, 1, false, tile);
    }
    if (kib > 32) continue;
    for (const int stages : {2, 3}) read(kib, stages, true, "own");
    read(kib, 2, true, "same");
  }
  for (const int kib : {8, 16, 32}) {
    for (const int busy : {4, 8}) read(kib, 1, true, "same", busy);
  }
  return out;
}

}  // namespace napkin::internal
