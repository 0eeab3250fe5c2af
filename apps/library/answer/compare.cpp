#include "napkin/compare.hpp"

#include "apps/library/answer/law_setting.hpp"
#include "apps/library/answer/session.hpp"

namespace napkin::internal {
namespace {

/// Returns the kernels to compare; "all": those that run there, the fastest first, and the bound below them all.
std::vector<std::string> named(const Session& session, const Ask& ask, const std::vector<std::string>& kernels) {
  if (kernels != std::vector<std::string>{"all"}) return kernels;
  std::vector<std::string> names;
  for (const KernelAnswer& kernel : session.kernels(ask)) names.push_back(kernel.kernel);
  names.emplace_back("ideal");
  return names;
}

/// Returns the row of a machine that cannot take the question, with the reason.
ComparedMachine refused_there(const Ask& ask, const std::string& algorithm, const std::string& gpu,
                              const Error& error) {
  ComparedMachine out{{}, std::nullopt, error.what()};
  out.selected.head.algorithm = algorithm;
  out.selected.head.gpu = gpu;
  out.selected.head.dtype = ask.dtype;
  out.selected.head.mask = ask.mask;
  return out;
}

/// Returns the selection, or why this machine cannot have one; names and sizes that are wrong anywhere are still
/// thrown.
ComparedMachine compared(const Session& session, const Question& problem, AnswerParts parts) {
  try {
    return {*session.select(problem.ask, 1, parts), std::nullopt, ""};
  } catch (const Error& error) {
    if (error.where().starts_with("--")) throw;
    ComparedMachine refused = refused_there(problem.ask, problem.diagram->name, problem.machine->name, error);
    refused.selected.head.dtype = std::string(name_of(problem.problem.dtype));
    return refused;
  }
}

}  // namespace

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

CompareAnswer Session::compare(const Ask& ask, const std::vector<std::string>& gpus,
                               const std::vector<std::string>& dtypes, const std::vector<std::string>& kernels,
                               AnswerParts parts) const {
  CompareAnswer answer;
  for (const std::string& gpu : gpus) {
    std::optional<LawSetting> first;
    for (const std::string& dtype : dtypes) {
      Ask one = ask;
      one.gpu = gpu;
      one.dtype = dtype;
      std::optional<Question> asked;
      try {
        asked = state_->problem(one);
      } catch (const Error& error) {  // conditions that this card does not state, or does not reach
        if (gpus.size() == 1 || (error.where() != "--load" && error.where() != "--clock")) throw;
        answer.machines.push_back(refused_there(one, one.algorithm, gpu, error));
        continue;
      }
      Question& problem = *asked;
      std::optional<LawSetting> setting = law_setting(problem);
      bool any = false;
      for (const std::string& kernel : kernels.empty() ? std::vector{ask.kernel} : named(*this, one, kernels)) {
        problem.ask.kernel = kernel;
        ComparedMachine machine = compared(*this, problem, parts);
        if (machine.refused.empty() && setting && !any) machine.laws = laws_of(*setting);
        any = any || machine.refused.empty();
        answer.machines.push_back(std::move(machine));
      }
      // The law needs no instruction of the type: f32 where tensor units take none.
      if (setting && first) answer.quantisation.push_back(quantisation_of(*first, *setting));
      if (!first) first = std::move(setting);
    }
  }
  return answer;
}

}  // namespace napkin
