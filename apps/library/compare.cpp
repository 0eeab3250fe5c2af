#include "apps/library/compare.hpp"

#include "apps/library/evaluate.hpp"
#include "apps/library/session.hpp"
#include "model/fusion/derive.hpp"
#include "solver/optimum/bandwidth.hpp"
#include "solver/optimum/multilevel.hpp"
#include "solver/optimum/program.hpp"

namespace napkin {
namespace {

/// The optimum of one algorithm on one machine in one type, in values and seconds a value.
struct Setting {
  Request request;
  Streamed streamed;
  Hertz clock;
  double value_bytes = 2;
  GeometricProgram program;
  std::vector<MemoryLevel> levels;
  std::vector<PowerTerm> terms;  ///< at the memory of a compute node

  explicit Setting(Request of)
      : request(std::move(of)),
        streamed(derive(*request.diagram)),
        clock(clock_of(*request.machine)),
        value_bytes(bytes_per_value(request.problem.dtype)),
        program(program_of(streamed, request.problem)),
        levels(memory_levels_of(*request.machine, clock, value_bytes)),
        terms(closed_form(program, memory()).terms) {}

  [[nodiscard]] double memory() const { return levels.back().memory; }
};

void add_levels(const Setting& setting, Laws& laws) {
  const MultiLevelCost cost = multilevel_cost(optimum_law(setting.program), setting.levels);
  for (const auto& share : cost.shares) {
    laws.levels.push_back(
        {share.level.name, share.level.memory * setting.value_bytes, share.transfer * setting.value_bytes, share.cost});
  }
  laws.bound = cost.bound;
}

/// Rates of the pipe into a level as the profile states them, bytes a second of the whole machine.
std::vector<std::pair<double, bool>> stated_rates(const Setting& setting, const Pipe& pipe) {
  std::vector<std::pair<double, bool>> rates;
  if (pipe.aggregate.datasheet) rates.emplace_back(pipe.aggregate.datasheet->value, false);
  if (pipe.aggregate.measured) rates.emplace_back(pipe.aggregate.measured->value, true);
  if (pipe.per_node_clock.known()) {
    rates.emplace_back(bytes_per_second(*setting.request.machine, pipe, setting.clock),
                       pipe.per_node_clock.measured.has_value());
  }
  return rates;
}

std::vector<ClusterLaw> cluster_laws(const Setting& setting) {
  const Machine& machine = *setting.request.machine;
  const auto options = cluster_options(machine, setting.clock, setting.value_bytes);
  std::vector<ClusterLaw> laws;
  for (LevelId id = 1; id <= machine.compute && !options.empty(); ++id) {
    const Level& level = machine.levels[static_cast<std::size_t>(id)];
    const Pipe* pipe = level.kind == LevelKind::cross_transfer ? nullptr : machine.pipe_into(id);
    if (pipe == nullptr) continue;
    for (const auto& [rate, measured] : stated_rates(setting, *pipe)) {
      if (rate <= 0) continue;
      const ClusterChoice choice = choose_cluster(setting.terms, setting.memory(), setting.value_bytes / rate, options);
      ClusterLaw law{machine.levels[static_cast<std::size_t>(level.parent)].name, measured, choice.size.get(), {}};
      for (const auto& [size, saving] : choice.savings) law.savings.emplace_back(size.get(), saving);
      laws.push_back(std::move(law));
    }
  }
  return laws;
}

/// The forms of section 8 are worked out for two algorithms.
std::vector<MinimaLaw> minima_laws(const Setting& setting) {
  const Machine& machine = *setting.request.machine;
  const std::string& algorithm = setting.request.diagram->name;
  std::vector<MinimaLaw> laws;
  if (algorithm != "matmul" && algorithm != "attention") return laws;
  for (LevelId level = 1; level <= machine.compute; ++level) {
    if (machine.levels[static_cast<std::size_t>(level)].kind == LevelKind::cross_transfer) continue;
    MinimaLaw law{machine.levels[static_cast<std::size_t>(level)].name, {}};
    try {
      const Rates rates = rates_of(machine, level, setting.request.problem.dtype, setting.clock);
      if (algorithm == "matmul") {
        const MatmulMinima minima = matmul_minima(rates, setting.memory());
        law.least = {{"accumulator bytes", least_accumulator_bytes(minima, 4)}, {"b", minima.depth}};
      } else {
        const auto d = setting.request.problem.sizes[static_cast<std::size_t>(setting.request.diagram->axis("d"))];
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

std::optional<CachingLaw> caching_law(const Setting& setting) {
  for (const MemoryLevel& level : setting.levels) {
    if (level.kind != LevelKind::cache || level.children < 1) continue;
    const NestedFactors nested = nested_factors(Count(static_cast<std::int64_t>(level.children)));
    CachingLaw law{level.name, {}, nested.ratio};
    for (const Count factor : nested.factors) law.factors.push_back(factor.get());
    return law;
  }
  return std::nullopt;
}

std::optional<Setting> setting_of(const Request& request) {
  if (!request.ask.lengths.empty()) return std::nullopt;  // the laws are of one length
  try {
    return Setting(request);
  } catch (const Error&) {  // the selection has succeeded: only a bandwidth or memory is missing
    return std::nullopt;
  }
}

Laws laws_of(const Setting& setting) {
  Laws laws;
  add_levels(setting, laws);
  laws.clusters = cluster_laws(setting);
  laws.minima = minima_laws(setting);
  if (setting.request.diagram->name == "matmul") laws.caching = caching_law(setting);
  return laws;
}

QuantisationAnswer quantisation_of(const Setting& first, const Setting& other) {
  std::vector<EffectiveLevel> levels = effective_levels(first.levels);
  for (EffectiveLevel& level : levels) {  // per value -> per byte
    level.weight /= first.value_bytes;
    level.memory *= first.value_bytes;
  }
  const Quantisation law = quantisation(first.terms, levels, first.value_bytes, other.value_bytes);
  return {first.request.machine->name, std::string(name_of(first.request.problem.dtype)),
          std::string(name_of(other.request.problem.dtype)), law.gain, law.terms};
}

/// The kernels to compare; "all": those that run there, the fastest first, and the bound below them all.
std::vector<std::string> named(const Session& session, const Ask& ask, const std::vector<std::string>& kernels) {
  if (kernels != std::vector<std::string>{"all"}) return kernels;
  std::vector<std::string> names;
  for (const KernelAnswer& kernel : session.kernels(ask)) names.push_back(kernel.kernel);
  names.emplace_back("ideal");
  return names;
}

/// The selection, or why this machine cannot have one; names and sizes that are wrong anywhere are still thrown.
ComparedMachine compared(const Session& session, const Request& problem) {
  try {
    return {*session.select(problem.ask, 1), std::nullopt, ""};
  } catch (const Error& error) {
    if (error.where().starts_with("--")) throw;
    ComparedMachine refused{{}, std::nullopt, error.what()};
    refused.selected.head.algorithm = problem.diagram->name;
    refused.selected.head.gpu = problem.machine->name;
    refused.selected.head.dtype = std::string(name_of(problem.problem.dtype));
    refused.selected.head.mask = problem.ask.mask;
    return refused;
  }
}

}  // namespace

CompareAnswer Session::compare(const Ask& ask, const std::vector<std::string>& gpus,
                               const std::vector<std::string>& dtypes, const std::vector<std::string>& kernels) const {
  CompareAnswer answer;
  for (const std::string& gpu : gpus) {
    std::optional<Setting> first;
    for (const std::string& dtype : dtypes) {
      Ask one = ask;
      one.gpu = gpu;
      one.dtype = dtype;
      Request problem = state_->problem(one);
      std::optional<Setting> setting = setting_of(problem);
      bool any = false;
      for (const std::string& kernel : kernels.empty() ? std::vector{ask.kernel} : named(*this, one, kernels)) {
        problem.ask.kernel = kernel;
        ComparedMachine machine = compared(*this, problem);
        if (machine.refused.empty() && setting && !any) machine.laws = laws_of(*setting);
        any = any || machine.refused.empty();
        answer.machines.push_back(std::move(machine));
      }
      if (!any) continue;
      if (setting && first) answer.quantisation.push_back(quantisation_of(*first, *setting));
      if (!first) first = std::move(setting);
    }
  }
  return answer;
}

}  // namespace napkin
