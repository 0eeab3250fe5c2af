#include "model/clock/graph/issue_model.hpp"

#include <algorithm>

#include "model/clock/graph/event_graph.hpp"

namespace napkin::internal {
namespace {

/// Returns the share of shared memory's port left to others beside operands that fill it.
double least_port(const Machine& machine) {
  const Unit* port = machine.port();
  return port != nullptr ? machine.constant_or("shared_port_least", 0) / port->per_clock.best().value : 1;
}

/// The shares of a unit's rate by working instances: for few, and for as many as were measured or more.
struct Shares {
  std::array<double, 2> few = {1, 1};
  double all = 1;
};

/// Makes the shares of a list of rates by number of instances; a number without a rate takes the last one.
Shares shares_of(const std::vector<Number>& rates, double rate) {
  Shares out;
  if (rates.empty()) return out;
  const auto share = [&](std::size_t i) { return std::min(rates[std::min(i, rates.size() - 1)].value / rate, 1.0); };
  out.all = share(rates.size() - 1);
  for (std::size_t i = 0; i < out.few.size(); ++i) out.few[i] = share(i);
  return out;
}

void co_use(const Unit& unit, VectorPipe& pipe) {
  const double rate = unit.per_clock.best().value;
  if (const Shares shares = shares_of(unit.co_use.alone, rate); !unit.co_use.alone.empty()) {
    pipe.alone = shares.all;
    pipe.alone_few = shares.few;
  }
  if (const Shares shares = shares_of(unit.co_use.beside, rate); !unit.co_use.beside.empty()) {
    pipe.beside = shares.all;
    pipe.beside_few = shares.few;
  }
}

}  // namespace

double VectorPipe::left_by(const EventNode* tensor, std::size_t at_work) const {
  const double all = tensor != nullptr ? beside : alone;
  const std::array<double, 2>& few = tensor != nullptr ? beside_few : alone_few;
  const double most = at_work > 0 && at_work <= few.size() ? std::min(few[at_work - 1], all) : all;
  return port && tensor != nullptr ? std::min(most, std::max(1 - tensor->port, least)) : most;
}

void VectorPipe::say(std::vector<double>& numbers) const {
  numbers.insert(numbers.end(), {beside, port ? 1.0 : 0.0, least, beside_few[0], beside_few[1], alone, alone_few[0],
                                 alone_few[1], least_share});
}

VectorPipes vector_pipes(const Machine& machine, UnitId in_steps) {
  VectorPipes out;
  out.pipes = {{"tensor"}, {"issue"}};
  if (const Unit* issue = machine.unit(UnitRole::issue); issue != nullptr) {
    if (issue->beside_tensor)
      out.pipes[issue_pipe].beside = issue->beside_tensor->value / issue->per_clock.best().value;
    if (in_steps < 0) co_use(*issue, out.pipes[issue_pipe]);
  }
  for (const Unit& unit : machine.units) {
    const bool own = unit.per_clock.known() && unit.counts != Counted::instructions;
    out.of_unit.push_back(own ? static_cast<int>(out.pipes.size()) : -1);
    if (!own) continue;
    const double rate = unit.per_clock.best().value, beside = unit.beside_tensor ? unit.beside_tensor->value / rate : 1;
    const bool port = unit.counts == Counted::bytes || unit.passes >= 0;
    out.pipes.push_back({unit.name, beside, port, port ? least_port(machine) : 0});
    if (in_steps != static_cast<UnitId>(out.of_unit.size()) - 1) continue;
    out.pipes.back().least_share = machine.constant_or(unit, "least_share", 0);
    co_use(unit, out.pipes.back());
  }
  return out;
}

}  // namespace napkin::internal
