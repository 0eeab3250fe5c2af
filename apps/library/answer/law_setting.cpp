#include "apps/library/answer/law_setting.hpp"

#include <cmath>

#include "model/clock/power/joules.hpp"
#include "solver/optimum/bandwidth.hpp"

namespace napkin::internal {
namespace {

constexpr const char* f32_accumulators = "f32 accumulator bytes";
constexpr const char* depth_at_memory = "b at this M";

/// Returns the operations of the contractions, two a multiply-add.
double operations_of(const LawSetting& setting) {
  double operations = 0;
  for (const Operation& op : setting.question.diagram->operations) {
    if (op.kind != OpKind::contract) continue;
    double products = static_cast<double>(op.inputs.size());  // n factors: n - 1 multiplications and an addition
    for (const AxisId axis : setting.question.diagram->arrays[static_cast<std::size_t>(op.outputs.front())].axes)
      products *= real(setting.question.problem.sizes[static_cast<std::size_t>(axis)]);
    for (const AxisId axis : op.own) products *= real(setting.question.problem.sizes[static_cast<std::size_t>(axis)]);
    operations += products;
  }
  return operations;
}

/// Adds the contractions' time and energy at the tensor units' peak.
void add_computing(const LawSetting& setting, Laws& laws) {
  const Machine& machine = *setting.question.machine;
  laws.operations = operations_of(setting);
  const TensorInstruction* instruction = machine.tensor_for(setting.question.problem.dtype);
  if (instruction == nullptr) return;
  const double peak = peak_flops(machine, *instruction, setting.clock);
  if (peak > 0) laws.computing = laws.operations / peak;
  laws.computing_energy = laws.operations * joules_of_flop(machine, *instruction);
}

/// Returns the levels below the compute level, each the only one of its parent that memory and pipe are known of: a
/// node whose memories stand side by side has none.
std::vector<MemoryLevel> levels_below(const LawSetting& setting) {
  const Machine& machine = *setting.question.machine;
  std::vector<MemoryLevel> below;
  for (LevelId at = machine.compute;;) {
    std::vector<LevelId> children;
    for (LevelId id = 1; id < std::ssize(machine.levels); ++id) {
      const Level& level = machine.levels[static_cast<std::size_t>(id)];
      if (level.parent == at && level.kind == LevelKind::ordinary) children.push_back(id);
    }
    if (children.size() != 1) return below;
    at = children.front();
    const Level& level = machine.levels[static_cast<std::size_t>(at)];
    const Pipe* pipe = machine.pipe_into(at);
    const double rate = pipe == nullptr ? 0 : bytes_per_second(machine, *pipe, setting.clock);
    if (!(rate > 0) || !level.capacity.known()) return below;
    below.push_back({level.name, LevelKind::ordinary, 1 / rate, level.capacity.best().value, 1});
  }
}

void add_level(const LawSetting& setting, const MultiLevelCost::Share& share, Laws& laws) {
  const Machine& machine = *setting.question.machine;
  LevelLaw law{share.level.name, share.level.memory, share.transfer, share.cost};
  if (laws.computing > 0) law.needed = share.transfer / laws.computing;
  law.rate = 1 / share.level.weight;
  for (LevelId id = 0; id < std::ssize(machine.levels); ++id) {
    if (machine.levels[static_cast<std::size_t>(id)].name == law.name)
      law.energy = share.transfer * joules_of_byte(machine, id);
  }
  for (const PowerTerm& term : setting.terms) {
    if (term.beta > 0)
      law.factors.emplace_back(term.beta, share.level.weight * std::pow(share.level.memory, -term.beta));
  }
  laws.levels.push_back(std::move(law));
}

/// Adds the levels from the top to the compute level and below it, and their weighted sum.
void add_levels(const LawSetting& setting, Laws& laws) {
  const TransferLaw law = optimum_law(setting.program);
  const MultiLevelCost cost = multilevel_cost(law, setting.levels);
  add_computing(setting, laws);
  for (const auto& share : cost.shares) add_level(setting, share, laws);
  laws.bound = cost.bound;
  laws.weighted = cost.sum;
  double slowest = cost.slowest;
  for (const MemoryLevel& level : levels_below(setting)) {
    const double transfer = law(level.memory), time = level.weight * transfer;
    add_level(setting, {{level.name, level.weight, level.memory}, transfer, time}, laws);
    laws.weighted += time;
    if (time > slowest) laws.bound = level.name, slowest = time;
  }
}

/// Returns cluster sizes whose rate the profile states, else the powers of two up to the largest cluster.
std::vector<Count> cluster_sizes(const Machine& machine) {
  std::vector<Count> sizes;
  for (const Level& level : machine.levels) {
    if (level.kind != LevelKind::cross_transfer) continue;
    const Pipe* pipe = machine.pipe_into(static_cast<LevelId>(&level - machine.levels.data()));
    if (pipe == nullptr) continue;
    for (const auto& each : pipe->by_cluster_size) sizes.push_back(each.first);
    for (Count size = 2; pipe->by_cluster_size.empty() && size <= level.per_parent; size *= 2) sizes.push_back(size);
  }
  return sizes;
}

void add_crossings(const LawSetting& setting, Laws& laws) {
  const TransferLaw law = optimum_law(setting.program);
  for (const Count size : cluster_sizes(*setting.question.machine)) {
    const auto levels = memory_levels_of(*setting.question.machine, setting.clock, 1, size);
    const MultiLevelCost cost = multilevel_cost(law, levels);
    double sum = cost.sum;
    for (std::size_t below = setting.levels.size(); below < laws.levels.size(); ++below) sum += laws.levels[below].time;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels[i].kind != LevelKind::cross_transfer) continue;
      laws.crossings.push_back(
          {levels[i].name, size.get(), cost.shares[i].transfer, cost.pipes[i].transfer, cost.pipes[i].cost, sum});
    }
  }
}

/// Returns rates of the pipe into a level as the profile states them, bytes a second of the whole machine.
std::vector<std::pair<double, bool>> stated_rates(const LawSetting& setting, const Pipe& pipe) {
  std::vector<std::pair<double, bool>> rates;
  if (pipe.aggregate.datasheet) rates.emplace_back(pipe.aggregate.datasheet->value, false);
  if (pipe.aggregate.measured) rates.emplace_back(pipe.aggregate.measured->value, true);
  if (pipe.per_node_clock.known()) {
    rates.emplace_back(bytes_per_second(*setting.question.machine, pipe, setting.clock),
                       pipe.per_node_clock.measured.has_value());
  }
  return rates;
}

std::vector<ClusterLaw> cluster_laws(const LawSetting& setting) {
  const Machine& machine = *setting.question.machine;
  const auto options = cluster_options(machine, setting.clock, 1);
  std::vector<ClusterLaw> laws;
  for (LevelId id = 1; id <= machine.compute && !options.empty(); ++id) {
    const Level& level = machine.levels[static_cast<std::size_t>(id)];
    const Pipe* pipe = level.kind == LevelKind::cross_transfer ? nullptr : machine.pipe_into(id);
    if (pipe == nullptr) continue;
    for (const auto& [rate, measured] : stated_rates(setting, *pipe)) {
      if (rate <= 0) continue;
      const ClusterChoice choice = choose_cluster(setting.terms, setting.memory(), 1 / rate, options);
      ClusterLaw law{machine.levels[static_cast<std::size_t>(level.parent)].name, measured, choice.size.get(), {}};
      for (const auto& [size, saving] : choice.savings) law.savings.emplace_back(size.get(), saving);
      laws.push_back(std::move(law));
    }
  }
  return laws;
}

/// Returns the bytes that a level holds for the blocks below it: a cache what its nodes hold together.
double memory_below(const std::vector<LevelLaw>& levels, const std::string& name, double otherwise) {
  for (const LevelLaw& level : levels) {
    if (level.name == name) return level.memory;
  }
  return otherwise;
}

/// Gives the least bandwidths, worked out for two algorithms. (model/README.md, "Bandwidth minima")
std::vector<MinimaLaw> minima_laws(const LawSetting& setting, const std::vector<LevelLaw>& levels) {
  const Machine& machine = *setting.question.machine;
  const std::string& algorithm = setting.question.diagram->name;
  std::vector<MinimaLaw> laws;
  if (algorithm != "matmul" && algorithm != "attention") return laws;
  for (LevelId level = 1; level <= machine.compute; ++level) {
    if (machine.levels[static_cast<std::size_t>(level)].kind == LevelKind::cross_transfer) continue;
    MinimaLaw law{machine.levels[static_cast<std::size_t>(level)].name, {}};
    try {
      const Rates rates = rates_of(machine, level, setting.question.problem.dtype, setting.clock);
      if (algorithm == "matmul") {
        const double a_value = bytes_per_value(setting.question.problem.dtype);
        const double memory = memory_below(levels, law.level, setting.memory());
        const MatmulMinima minima = matmul_minima(rates, memory / a_value);
        law.least = {{f32_accumulators, least_accumulator_bytes(minima, 4)}, {"b", minima.depth}};
        if (std::isfinite(minima.depth_at_memory)) law.least.emplace_back(depth_at_memory, minima.depth_at_memory);
      } else {
        const auto d = setting.question.problem.sizes[static_cast<std::size_t>(setting.question.diagram->axis("d"))];
        const AttentionMinima minima = attention_minima(rates, static_cast<double>(d));
        law.least = {{"g_q", minima.rows}, {"x", minima.keys}};
      }
      laws.push_back(std::move(law));
    } catch (const Error&) {  // this level's pipe or the type's peak is not in the profile
      continue;
    }
  }
  return laws;
}

std::optional<CachingLaw> caching_law(const LawSetting& setting) {
  for (const MemoryLevel& level : setting.levels) {
    if (level.kind != LevelKind::cache || level.children < 1) continue;
    const NestedFactors nested = nested_factors(Count(static_cast<std::int64_t>(level.children)));
    CachingLaw law{level.name, {}, nested.ratio};
    for (const Count factor : nested.factors) law.factors.push_back(factor.get());
    return law;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LawSetting> law_setting(const Question& question) {
  if (!question.ask.lengths.empty()) return std::nullopt;  // the laws are of one length
  try {
    return LawSetting(question);
  } catch (const Error&) {  // the selection has succeeded: only a bandwidth or memory is missing
    return std::nullopt;
  }
}

Laws laws_of(const LawSetting& setting) {
  Laws laws;
  add_levels(setting, laws);
  add_crossings(setting, laws);
  laws.clusters = cluster_laws(setting);
  laws.minima = minima_laws(setting, laws.levels);
  if (setting.question.diagram->name == "matmul") laws.caching = caching_law(setting);
  return laws;
}

QuantisationAnswer quantisation_of(const LawSetting& first, const LawSetting& other) {
  const auto cost = [](const LawSetting& one) { return multilevel_cost(optimum_law(one.program), one.levels).sum; };
  const DType from = first.question.problem.dtype, to = other.question.problem.dtype;
  const Quantisation law =
      quantisation(first.terms, effective_levels(first.levels), bytes_per_value(from), bytes_per_value(to));
  return {first.question.machine->name, std::string(name_of(from)), std::string(name_of(to)), cost(first) / cost(other),
          law.terms};
}

}  // namespace napkin::internal
