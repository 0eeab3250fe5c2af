#include "kernels/plans/attention_form.hpp"

#include <algorithm>

#include "kernels/plans/attention_shape.hpp"

namespace napkin::internal {
namespace {

FormHalves form_halves(const PlacedDiagram& placed, const AttentionCall& call) {
  const std::string& kernel = placed.mapping->name;
  if (kernel == "attention_fp8_sm90") return attention_fp8_sm90_form(placed, call);
  if (kernel == "napkin_fp8_sm90") return napkin_fp8_sm90_form(placed, call);
  if (kernel == "attention_sm80") return attention_sm80_form(placed, call);
  return kernel == "attention_decode_sm90" ? attention_decode_sm90_form(placed, call)
                                           : attention_sm90_form(placed, call);
}

std::vector<int> columns_of(const PlacedDiagram& placed) {
  const AttentionLengths lengths = lengths_of(placed);
  return {lengths.d, lengths.dv};
}

}  // namespace

LaunchPlan FormHalves::plan(const PlacedDiagram& placed, const AttentionCall& call, const LaunchDevice& device) const {
  LaunchPlan out = constant;
  fill(out, placed, call, device);
  bind(out, call);
  return out;
}

AttentionForm::AttentionForm(const PlacedDiagram& placed, const AttentionCall& call)
    : halves_(form_halves(placed, call)),
      variant_(placed.variant),
      tile_(placed.tile),
      columns_(columns_of(placed)),
      dtype_(placed.problem->dtype),
      mask_(placed.problem->mask.kind),
      packed_(call.packed()),
      log_sum_exp_(call.log_sum_exp != 0),
      cycles_(call.cycles != 0),
      dump_(call.dump != 0) {
  for (const Variable& one : placed.variables) variables_.emplace_back(one.elements, one.copies);
  for (const PlacedAgent& one : placed.agents)
    agents_.push_back({one.instances, one.threads, one.overhead, one.registers});
}

bool AttentionForm::holds_as(const PlacedDiagram& placed) const {
  const auto same_size = [](const Variable& one, const std::pair<Count, Count>& known) {
    return one.elements == known.first && one.copies == known.second;
  };
  const auto same_share = [](const PlacedAgent& one, const Agent& known) {
    return known == Agent{one.instances, one.threads, one.overhead, one.registers};
  };
  return placed.variant == variant_ && placed.tile == tile_ &&
         std::equal(placed.variables.begin(), placed.variables.end(), variables_.begin(), variables_.end(),
                    same_size) &&
         std::equal(placed.agents.begin(), placed.agents.end(), agents_.begin(), agents_.end(), same_share);
}

bool AttentionForm::serves(const PlacedDiagram& placed, const AttentionCall& call) const {
  return holds_as(placed) && placed.problem->dtype == dtype_ && placed.problem->mask.kind == mask_ &&
         call.packed() == packed_ && (call.log_sum_exp != 0) == log_sum_exp_ && (call.cycles != 0) == cycles_ &&
         (call.dump != 0) == dump_ && columns_of(placed) == columns_;
}

LaunchPlan attention_plan(const PlacedDiagram& placed, const AttentionCall& call, const LaunchDevice& device) {
  return form_halves(placed, call).plan(placed, call, device);
}

LaunchPlan attention_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call, const LaunchDevice& device) {
  return attention_sm90_form(placed, call).plan(placed, call, device);
}

LaunchPlan attention_sm80_plan(const PlacedDiagram& placed, const AttentionCall& call, const LaunchDevice& device) {
  return attention_sm80_form(placed, call).plan(placed, call, device);
}

LaunchPlan attention_decode_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                      const LaunchDevice& device) {
  return attention_decode_sm90_form(placed, call).plan(placed, call, device);
}

LaunchPlan attention_fp8_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call, const LaunchDevice& device) {
  return attention_fp8_sm90_form(placed, call).plan(placed, call, device);
}

LaunchPlan napkin_fp8_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call, const LaunchDevice& device) {
  return napkin_fp8_sm90_form(placed, call).plan(placed, call, device);
}

}  // namespace napkin::internal
