// Products alone, against each other, and beside copies.

#include <algorithm>

#include "kernels/micro/experiment.hpp"
#include "kernels/micro/plans.hpp"

namespace napkin::internal {
namespace {

using namespace micro;

constexpr int product_clocks = 60000;  // clocks of a run, about

Conditions operands(int n, bool a_registers) {
  return {{"n", std::to_string(n)}, {"a", a_registers ? "registers" : "shared"}};
}

int batches_for(const AgentsConfig& config) {
  return std::max(4, product_clocks / (config.batch() * std::max(config.n / 2, 13) * config.tensor_groups));
}

/// Returns the clocks of a product: the difference of a long and a short run over that of their products, so that fill
/// and drain of the pipe do not count.
std::vector<double> product_slopes(Bench& bench, const AgentsConfig& config, bool copies, bool same = false) {
  std::vector<double> out;
  const int batches = batches_for(config), per_batch = config.batch() * config.tensor_groups;
  for (int i = 0; i < repetitions; ++i) {
    const auto clocks = [&](int count) {
      return run_agents(bench, config, {config.tensor_groups, 0, copies, count, 1LL << 40, same}).product * count *
             per_batch;
    };
    const double less = clocks(batches), more = clocks(3 * batches);
    out.push_back((more - less) / (2 * batches * per_batch));
  }
  return out;
}

/// Returns the medians over a launch's repeats of (mark - the first group's start), by group and mark.
std::vector<double> median_marks(const std::vector<std::uint64_t>& marks, int repeats, int groups) {
  std::vector<double> out;
  const auto words = static_cast<std::size_t>(3 * groups);
  for (std::size_t word = 0; word < words; ++word) {
    std::vector<double> all;
    for (std::size_t r = 1; r < static_cast<std::size_t>(repeats); ++r) {  // the first fills instruction caches
      all.push_back(static_cast<double>(static_cast<std::int64_t>(marks[r * words + word] - marks[r * words])));
    }
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    out.push_back(all[all.size() / 2]);
  }
  return out;
}

std::vector<double> run_products(Bench& bench, const ProductsConfig& config, int offset) {
  constexpr int repeats = 33;
  ProductsArguments arguments{};
  arguments.marks = pointer<unsigned long long>(bench.results());
  arguments.repeats = repeats;
  arguments.offset = offset;
  const LaunchPlan plan = plan_of("products.cuh", written(config), 1, static_cast<unsigned>(128 * config.groups),
                                  static_cast<unsigned>(config.shared()), arguments);
  return median_marks(bench.run(plan, static_cast<std::size_t>(3 * repeats * config.groups)), repeats, config.groups);
}

/// Adds the clocks from the first of a batch's products to the end of the wait for them.
void add_latencies(Readings& out, Bench& bench, const std::string& experiment, bool e4m3) {
  for (const int n : {64, 128, 192, 256}) {
    for (const bool registers : {false, true}) {
      for (const int batch : {1, 4, 8}) {
        Reading reading{experiment, operands(n, registers), "wait", "clk", {}};
        reading.with["batch"] = std::to_string(batch);
        for (int i = 0; i < repetitions; ++i)
          reading.values.push_back(run_products(bench, {1, n, registers, batch, e4m3}, 0)[2]);
        out.push_back(reading);
      }
    }
  }
}

}  // namespace

Readings tensor_time(Bench& bench) {
  Readings out;
  for (const int n : {16, 32, 48, 64, 96, 128, 176, 192, 256}) {
    for (const bool registers : {false, true}) {
      Reading reading{"tensor_time", operands(n, registers), "product", "clk", {}};
      reading.with["groups"] = "1";
      reading.values = product_slopes(bench, {1, n, registers, 0, VectorWork::none, false}, false);
      out.push_back(reading);
      if (n != 64 && n != 128) continue;
      reading.with["groups"] = "2";
      reading.values = product_slopes(bench, {2, n, registers, 0, VectorWork::none, false}, false);
      out.push_back(reading);
    }
  }
  return out;
}

Readings tensor_latency(Bench& bench) {
  Readings out;
  add_latencies(out, bench, "tensor_latency", false);
  return out;
}

Readings e4m3_time(Bench& bench) {
  Readings out;
  for (const int n : {64, 96, 128, 192, 256}) {
    for (const bool registers : {false, true}) {
      for (const int groups : {1, 2}) {
        if (groups == 2 && n > 128) continue;
        AgentsConfig config{groups, n, registers, 0, VectorWork::none, false};
        config.e4m3 = true;
        Reading reading{"e4m3_time", operands(n, registers), "product", "clk", product_slopes(bench, config, false)};
        reading.with["groups"] = std::to_string(groups);
        out.push_back(reading);
      }
    }
  }
  add_latencies(out, bench, "e4m3_time", true);
  return out;
}

Readings tensor_together(Bench& bench) {
  Readings out;
  for (const bool registers : {false, true}) {
    for (const int n : {64, 128}) {
      for (const int offset : {0, 32, 128, 512}) {
        std::vector<std::vector<double>> marks;
        for (int i = 0; i < repetitions; ++i) marks.push_back(run_products(bench, {2, n, registers, 8}, offset));
        const std::vector<std::string> names = {"first_issued", "first_end", "second_start", "second_issued",
                                                "second_end"};
        for (std::size_t k = 0; k < names.size(); ++k) {
          Reading reading{"tensor_together", operands(n, registers), names[k], "clk", {}};
          reading.with["offset"] = std::to_string(offset);
          for (const std::vector<double>& each : marks) reading.values.push_back(each[k + 1]);
          out.push_back(reading);
        }
      }
    }
  }
  return out;
}

Readings copies_beside(Bench& bench) {
  Readings out;
  const auto add = [&](Conditions with, bool same, const std::string& quantity, const std::string& unit,
                       const std::vector<double>& values) {
    if (same) with["tile"] = "same";  // for all SMs
    out.push_back({"copies_beside", with, quantity, unit, values});
  };
  for (const bool same : {false, true}) {
    std::vector<double> alone;
    for (int i = 0; i < repetitions; ++i) {
      alone.push_back(
          run_agents(bench, {1, 64, false, 0, VectorWork::none, true}, {0, 0, true, 0, product_clocks, same}).copied);
    }
    add({{"n", "0"}}, same, "copied", "B/clk", alone);
    for (const int n : {16, 32, 48, 64, 80, 96, 128, 176, 256}) {
      for (const bool registers : {false, true}) {
        if (registers && n < 64) continue;
        const AgentsConfig config{1, n, registers, 0, VectorWork::none, true};
        std::vector<double> copied;
        for (int i = 0; i < repetitions; ++i) {
          copied.push_back(run_agents(bench, config, {1, 0, true, 3 * batches_for(config), 1LL << 40, same}).copied);
        }
        add(operands(n, registers), same, "copied", "B/clk", copied);
        add(operands(n, registers), same, "product", "clk", product_slopes(bench, config, true, same));
      }
    }
  }
  return out;
}

}  // namespace napkin::internal
