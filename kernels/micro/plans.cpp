#include "kernels/micro/plans.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/jit/source.hpp"

namespace napkin::internal::micro {
namespace {

struct WorkName {
  VectorWork work;
  std::string_view name;
};
constexpr std::array work_names = {
    WorkName{VectorWork::none, "none"},
    WorkName{VectorWork::special_register, "special_register"},
    WorkName{VectorWork::ex2, "ex2"},
    WorkName{VectorWork::fma, "fma"},
    WorkName{VectorWork::add, "add"},
    WorkName{VectorWork::multiply, "multiply"},
    WorkName{VectorWork::maximum, "maximum"},
    WorkName{VectorWork::logic, "logic"},
    WorkName{VectorWork::fma16, "fma16"},
    WorkName{VectorWork::convert, "convert"},
    WorkName{VectorWork::convert_fp8, "convert_fp8"},
    WorkName{VectorWork::shuffle, "shuffle"},
    WorkName{VectorWork::mix, "mix"},
    WorkName{VectorWork::softmax, "softmax"},
    WorkName{VectorWork::softmax_kept, "softmax_kept"},
    WorkName{VectorWork::softmax_steps, "softmax_steps"},
    WorkName{VectorWork::ex2_fma, "ex2_fma"},
    WorkName{VectorWork::ex2_maximum, "ex2_maximum"},
    WorkName{VectorWork::maximum_fma, "maximum_fma"},
    WorkName{VectorWork::load, "load"},
    WorkName{VectorWork::store, "store"},
    WorkName{VectorWork::load_matrix, "load_matrix"},
    WorkName{VectorWork::store_matrix, "store_matrix"},
};

std::string enumerator(std::string_view type, std::string_view name) {
  return std::string(type) + "::" + std::string(name);
}

std::string single(std::string_view kernel, std::string_view config, std::string_view field, const std::string& value) {
  return name_expression(kernel, Initialiser(config).set(field, Initialiser::Enumerator{value}));
}

}  // namespace

std::string_view name_of(VectorWork work) {
  for (const WorkName& each : work_names) {
    if (each.work == work) return each.name;
  }
  return "none";
}

std::string written(const AgentsConfig& c) {
  const std::string work = enumerator("VectorWork", name_of(c.work));
  return name_expression("agents", Initialiser("napkin::AgentsConfig")
                                       .set("tensor_groups", c.tensor_groups)
                                       .set("n", c.n)
                                       .set("a_registers", c.a_registers)
                                       .set("vector_groups", c.vector_groups)
                                       .set("work", Initialiser::Enumerator{work})
                                       .set("copies", c.copies)
                                       .set("synchronous", c.synchronous)
                                       .set("among", c.among)
                                       .set("loads", c.loads)
                                       .set("e4m3", c.e4m3));
}

std::string written(const ProductsConfig& c) {
  return name_expression("products", Initialiser("napkin::ProductsConfig")
                                         .set("groups", c.groups)
                                         .set("n", c.n)
                                         .set("a_registers", c.a_registers)
                                         .set("batch", c.batch)
                                         .set("e4m3", c.e4m3));
}

std::string written(const BoxesConfig& c) {
  return name_expression("boxes", Initialiser("napkin::BoxesConfig")
                                      .set("spin", c.spin)
                                      .set("kib", c.kib)
                                      .set("stages", c.stages)
                                      .set("cluster", c.cluster)
                                      .set("shared_tiles", c.shared_tiles));
}

std::string written(const AsyncCopiesConfig& c) {
  return name_expression("async_copies", Initialiser("napkin::AsyncCopiesConfig")
                                             .set("threads", c.threads)
                                             .set("pieces", c.pieces)
                                             .set("stages", c.stages)
                                             .set("busy", c.busy));
}

std::string written(const TilesConfig& c) {
  return name_expression("tiles", Initialiser("napkin::TilesConfig")
                                      .set("stages", c.stages)
                                      .set("cluster", c.cluster)
                                      .set("a", c.a)
                                      .set("c", c.c)
                                      .set("chunk", c.chunk));
}

std::string written(const MeetConfig& c) {
  constexpr std::array names = {"barrier", "named_round", "mbarrier_round", "fence", "store_fence_barrier"};
  const std::string meeting = enumerator("Meeting", names[static_cast<std::size_t>(c.meeting)]);
  return name_expression(
      "meet",
      Initialiser("napkin::MeetConfig").set("meeting", Initialiser::Enumerator{meeting}).set("threads", c.threads));
}

std::string written(ChaseSpace space) {
  constexpr std::array names = {"shared", "cluster", "global"};
  return single("chase", "napkin::ChaseConfig", "space",
                enumerator("ChaseSpace", names[static_cast<std::size_t>(space)]));
}

std::string written(StreamWay way) {
  constexpr std::array names = {"read", "write", "copy", "add"};
  return single("stream", "napkin::StreamConfig", "way", enumerator("StreamWay", names[static_cast<std::size_t>(way)]));
}

TensorBox rows_box(std::size_t offset, std::uint64_t address, std::int64_t rows, int box_rows) {
  TensorBox box;
  box.offset = offset;
  box.address = address;
  box.sizes = {64, static_cast<std::uint64_t>(rows)};
  box.strides = {128};
  box.box = {64, static_cast<std::uint32_t>(box_rows)};
  box.swizzle = 128;
  return box;
}

LaunchPlan agents_plan(Bench& bench, const AgentsConfig& config, const AgentsAtWork& at_work) {
  const auto sms = static_cast<unsigned>(bench.device().sms);
  AgentsArguments arguments{};
  arguments.counts = pointer<unsigned long long>(bench.results());
  arguments.window = at_work.window;
  arguments.batches = at_work.batches;
  arguments.tensor_groups = at_work.tensor_groups;
  arguments.vector_groups = at_work.vector_groups;
  arguments.copies = at_work.copies ? 1 : 0;
  arguments.apart = at_work.same ? 0 : AgentsConfig::boxes;
  LaunchPlan plan = plan_of("agents.cuh", written(config), sms, static_cast<unsigned>(config.threads()),
                            static_cast<unsigned>(config.shared()), arguments);
  if (config.copies) {
    const std::int64_t rows = static_cast<std::int64_t>(sms) * AgentsConfig::boxes * 64;
    plan.boxes = {
        rows_box(offsetof(AgentsArguments, from), bench.memory(static_cast<std::size_t>(rows) * 128), rows, 64)};
  }
  return plan;
}

namespace {

/// Returns the products a clock of a scheduler, up to the end of its last warp: the scheduler prefers some warps, which
/// end earlier.
double synchronous_rate(const std::vector<std::uint64_t>& counts, std::size_t warps, unsigned sms,
                        std::size_t tensor_warps) {
  double rate = 0;
  for (std::size_t sm = 0; sm < sms; ++sm) {
    double products = 0, clocks = 0;
    for (std::size_t warp = 0; warp < tensor_warps; ++warp) {
      const std::size_t at = 2 * (sm * warps + warp);
      products += static_cast<double>(counts[at]);
      clocks = std::max(clocks, static_cast<double>(counts[at + 1]));
    }
    if (clocks > 0) rate += products / clocks / sms;
  }
  return rate;
}

}  // namespace

AgentsRates run_agents(Bench& bench, const AgentsConfig& config, const AgentsAtWork& at_work) {
  const LaunchPlan plan = agents_plan(bench, config, at_work);
  const std::size_t warps = (plan.threads + 31) / 32;
  const std::vector<std::uint64_t> counts = bench.run(plan, 2 * warps * plan.grid);
  double products = 0;  // a clock and SM
  const auto tensor_warps = static_cast<std::size_t>(4 * config.tensor_groups);
  AgentsRates out;
  for (std::size_t i = 0; i < warps * plan.grid; ++i) {
    if (counts[2 * i + 1] == 0) continue;
    const double rate = static_cast<double>(counts[2 * i]) / static_cast<double>(counts[2 * i + 1]) / plan.grid;
    const auto group = static_cast<int>(i % warps / 4);
    double& into = group < config.tensor_groups                          ? products
                   : group < config.tensor_groups + config.vector_groups ? out.vector
                                                                         : out.copied;
    into += rate;
  }
  if (config.synchronous) products = synchronous_rate(counts, warps, plan.grid, tensor_warps);
  if (products > 0) out.product = 1 / products;
  return out;
}

double mean(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [](double sum, std::uint64_t v) { return sum + static_cast<double>(v); }) /
         static_cast<double>(values.size());
}

}  // namespace napkin::internal::micro
