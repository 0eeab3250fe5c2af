#include "apps/report/text/why.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr const char* waits_bind = "critical cycle";  // the name of the bound if waits limit

/// Names a pipe: "the tensor cores", "L2 -> shared".
std::string pipe_of(const Head& head, const std::string& pipe) {
  const std::string name = head.terms.pipe(pipe);
  return name == head.terms.matrix ? "the " + name : name;
}

std::string is_the_limit(const Head& head, const PredictedAnswer& predicted) {
  const std::string limit = limit_of(head, predicted);
  return limit + (limit.ends_with(head.terms.matrix) ? " are" : " is") + " the limit";
}

std::string busy_text(const PredictedAnswer& predicted) {
  for (const auto& [name, busy] : predicted.pipes) {
    if (name == predicted.bound) return ", busy " + percent_text(busy) + " of the time";
  }
  return "";
}

/// Writes "the tensor cores are the limit: 2048 of 2048 clk an iteration; the longest chain of waits takes 1413".
std::string iteration_text(const Head& head, const PredictedAnswer& predicted, const IterationAnswer& one) {
  const std::string limit = is_the_limit(head, predicted);
  const std::string met =
      one.contention < 0.5 ? "" : fmt::format("; agents that meet on a pipe lose {:.0f}", one.contention);
  if (predicted.bound == one.pipe)
    return fmt::format("{}: {:.0f} of {:.0f} clk an iteration; the longest chain of waits takes {:.0f}{}", limit,
                       one.pipe_clocks, one.clocks, one.waits_clocks, met);
  const std::string pipe = pipe_of(head, one.pipe);
  if (predicted.bound == waits_bind)
    return fmt::format("{}: {:.0f} of {:.0f} clk an iteration; the busiest pipe, {}, takes {:.0f}{}", limit,
                       one.waits_clocks, one.clocks, pipe, one.pipe_clocks, met);
  return fmt::format("{}{}; of {:.0f} clk an iteration: {} {:.0f}, the longest chain of waits {:.0f}{}", limit,
                     busy_text(predicted), one.clocks, pipe, one.pipe_clocks, one.waits_clocks, met);
}

/// Writes the largest loss of time beside the limit: idle nodes, the ends of blocks, the launch. Returns "" if each is
/// below a fifth of the time, or if the limit is busy nearly all the time.
std::string beside_text(const Head& head, const PredictedAnswer& p) {
  constexpr double worth_saying = 0.2, nearly_all = 0.9;
  for (const auto& [name, busy] : p.pipes) {
    if (name == p.bound && busy > nearly_all) return "";
  }
  const double start = p.time > 0 && p.clock > 0 ? std::max(0.0, 1 - p.cycles / p.clock / p.time) : 0;
  const double ends = p.ends * (1 - start);
  const double idle =
      1 - static_cast<double>(p.nodes.busy) / static_cast<double>(std::max<std::int64_t>(p.nodes.all, 1));
  const double most = std::max({start, ends, idle});
  if (most <= worth_saying) return "";
  if (most == idle)
    return fmt::format("; {} of {} {} have work", count_text(p.nodes.busy), count_text(p.nodes.all), head.terms.nodes);
  return fmt::format("; {} {} of the time", most == ends ? "the ends of blocks take" : "the launch takes",
                     percent_text(most));
}

}  // namespace

std::string limit_of(const Head& head, const PredictedAnswer& predicted) {
  return predicted.bound == waits_bind ? "a chain of waits" : pipe_of(head, predicted.bound);
}

std::string why_text(const Head& head, const PredictedAnswer& predicted) {
  const std::string what = predicted.iteration ? iteration_text(head, predicted, *predicted.iteration)
                                               : is_the_limit(head, predicted) + busy_text(predicted);
  return what + beside_text(head, predicted);
}

std::vector<std::string> further_reasons(const Head& head, const PredictedAnswer& predicted,
                                         const std::vector<std::string>& reasons) {
  const std::string said = why_text(head, predicted);
  std::vector<std::string> out;
  std::copy_if(reasons.begin(), reasons.end(), std::back_inserter(out),
               [&](const std::string& reason) { return said.find(reason) == std::string::npos; });
  return out;
}

std::string chain_text(const PredictedAnswer& predicted) {
  return predicted.iteration ? fmt::format("{}", fmt::join(predicted.iteration->waits, " > ")) : "";
}

}  // namespace napkin::internal::report
