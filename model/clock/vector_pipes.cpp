#include "model/clock/vector_pipes.hpp"

#include <algorithm>

#include "model/clock/event_graph.hpp"

namespace napkin {
namespace {

/// What others get of shared memory's port beside operands that fill it.
double least_port(const Machine& machine) {
  const Unit* port = machine.unit("shared_port");
  const double least = machine.constant("shared_port_least");
  return port != nullptr && port->per_clock.known() ? least / port->per_clock.best().value : 1;
}

/// A constant over a unit's rate; where it is not known, that of more instances.
double share(const Machine& machine, const char* name, double rate, double unknown) {
  const double known = machine.constant(name);
  return known > 0 ? std::min(known / rate, 1.0) : unknown;
}

/// Of two warpgroups; of one and of three where that is known.
void mixed_issue(const Machine& machine, VectorPipe& issue, double rate) {
  const double two = share(machine, "mixed_issue_beside_tensor", rate, 1);
  issue.beside = std::max(share(machine, "mixed_issue_beside_tensor_three", rate, two), two);
  issue.beside_few = {share(machine, "mixed_issue_beside_tensor_one", rate, two), two};
}

/// Elements of a softmax over exponentials alone, of three instances and more; of one and of two where that is known.
void exponentials_in_steps(const Machine& machine, VectorPipe& special, double rate) {
  special.least_share = 0.5;  // a softmax is there nearly all of its clocks, control code a twentieth
  special.alone = share(machine, "softmax_steps_three", rate, 1);
  special.alone_few = {share(machine, "softmax_steps_one", rate, special.alone),
                       share(machine, "softmax_steps_two", rate, special.alone)};
  special.beside = share(machine, "softmax_steps_beside_tensor_three", rate, 1);
  special.beside_few = {share(machine, "softmax_steps_beside_tensor_one", rate, special.beside),
                        share(machine, "softmax_steps_beside_tensor_two", rate, special.beside)};
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

bool knows_steps(const Machine& machine) {
  return machine.constant("softmax_steps_three") > 0 && machine.constant("softmax_steps_beside_tensor_three") > 0;
}

VectorPipes vector_pipes(const Machine& machine, bool in_steps) {
  VectorPipes out;
  out.pipes = {{"tensor"}, {"issue"}};
  if (const Unit* issue = machine.unit("issue"); issue != nullptr && issue->per_clock.known()) {
    const double rate = issue->per_clock.best().value;
    if (!in_steps && machine.constant("mixed_issue_beside_tensor") > 0)
      mixed_issue(machine, out.pipes[issue_pipe], rate);
    else if (issue->beside_tensor)
      out.pipes[issue_pipe].beside = issue->beside_tensor->value / rate;
  }
  for (const Unit& unit : machine.units) {
    const bool own = unit.per_clock.known() && unit.what != "instructions";
    out.of_unit.push_back(own ? static_cast<int>(out.pipes.size()) : -1);
    if (!own) continue;
    const double rate = unit.per_clock.best().value, beside = unit.beside_tensor ? unit.beside_tensor->value / rate : 1;
    const bool port = unit.name == "shared_port" || unit.name == "shuffle";
    out.pipes.push_back({unit.name, beside, port, port ? least_port(machine) : 0});
    if (in_steps && unit.name == "special") exponentials_in_steps(machine, out.pipes.back(), rate);
  }
  return out;
}

}  // namespace napkin
