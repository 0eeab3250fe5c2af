#include "model/clock/roofline/load.hpp"

#include "model/clock/roofline/combine_cost.hpp"
#include "model/clock/roofline/work_distribution.hpp"
#include "model/diagram/reindex.hpp"

#include <algorithm>
#include <cmath>

namespace napkin::internal {
namespace {

const Diagram& diagram(const PlacedDiagram& placed) { return placed.streamed->diagram; }

/// Returns the elements along some axes that one block touches: per iteration where `chunked`, else with the streamed
/// axis in full.
double elements(const PlacedDiagram& placed, const std::vector<AxisId>& axes, bool chunked) {
  const PlacedLevel& block = placed.block();
  const AxisId stream = chunked ? placed.streamed->stream.value_or(-1) : -1;
  double product = 1;
  for (const AxisId axis : axes) {
    product *= real(axis == stream ? block.chunk : block.extent[static_cast<std::size_t>(axis)]);
  }
  return product;
}

/// Returns the elements of an array, with the rows between those that a shifted dimension reads.
double elements(const PlacedDiagram& placed, ArrayId array, const std::vector<AxisId>& axes, bool chunked) {
  if (array < 0 || !is_shifted(diagram(placed).arrays[static_cast<std::size_t>(array)]))
    return elements(placed, axes, chunked);
  const PlacedLevel& block = placed.block();
  const AxisId stream = chunked ? placed.streamed->stream.value_or(-1) : -1;
  return real(part_of(diagram(placed).arrays[static_cast<std::size_t>(array)], [&](AxisId axis) {
    return axis == stream ? block.chunk : block.extent[static_cast<std::size_t>(axis)];
  }));
}

const std::vector<AxisId>& axes_of(const PlacedDiagram& placed, ArrayId array) {
  return diagram(placed).arrays[static_cast<std::size_t>(array)].axes;
}

/// Returns the instances of all agents on a kind of core.
double instances_on(const PlacedDiagram& placed, const Core& core) {
  double out = 0;
  for (const PlacedAgent& agent : placed.agents) {
    if (placed.mapping->agents[static_cast<std::size_t>(agent.mapping)].core == core.name) out += real(agent.instances);
  }
  return out;
}

struct Pieces {
  double count = 0;    // instructions in all
  double columns = 0;  // n over them
  double clocks = 0;
};

Count padded_rows(const PlacedOperation& op) {
  return round_up(ceil_div(op.m, op.row_parts), op.instruction->m) * op.row_parts;
}

/// Returns the columns that an instruction makes at most: the machine's limit, or what the variable holds that the
/// agent's instructions write (`by: agent`), where that is a part of the product.
Count most_columns(const PlacedDiagram& placed, const PlacedOperation& op) {
  Count most = op.instruction->n_most;
  const ArrayId output = diagram(placed).operations[static_cast<std::size_t>(op.operation)].outputs.front();
  for (const Variable& v : placed.variables) {
    if (v.arrays.empty() || v.arrays.front() != output || op.agent < 0) continue;
    if (placed.mapping->variables[static_cast<std::size_t>(v.mapping)].by != "agent") continue;
    const Count instances = placed.agents[static_cast<std::size_t>(op.agent)].instances;
    const double part = real(v.elements * instances) / elements(placed, axes_of(placed, output), true);
    most = std::min(most, std::max(Count(std::llround(part * real(op.n))), op.instruction->n_step));
  }
  return most;
}

Pieces instructions(const PlacedDiagram& placed, const PlacedOperation& op) {
  const TensorInstruction& i = *op.instruction;
  const double repeats = real(padded_rows(op) / i.m) * real(ceil_div(op.k, i.k) * op.column_parts * op.repeats);
  const Count most = most_columns(placed, op), columns = ceil_div(op.n, op.column_parts);
  const Count whole = columns / most, rest = columns % most;
  Pieces out;
  if (whole > Count(0)) {
    out.count += real(whole) * repeats;
    out.columns += real(whole * most) * repeats;
    out.clocks += real(whole) * repeats * instruction_clocks(i, most, op.a_from_registers);
  }
  if (rest > Count(0)) {
    const Count n = std::max(round_up(rest, i.n_step), i.n_least);
    out.count += repeats;
    out.columns += real(n) * repeats;
    out.clocks += repeats * instruction_clocks(i, n, op.a_from_registers);
  }
  out.clocks /= placed.machine->per_compute_node(i.level);
  return out;
}

/// Adds clocks to the work of head and tail, or of the loop.
void add(PipeLoad& pipe, Phase phase, double clocks) { (phase == Phase::loop ? pipe.loop : pipe.once) += clocks; }

/// A load under construction, for pipes whose rate is known only at the end.
struct Gathered {
  double slots_loop = 0, slots_once = 0;  // warp instructions
  double port_loop = 0, port_once = 0;    // bytes
  void slots(Phase phase, double n) { (phase == Phase::loop ? slots_loop : slots_once) += n; }
  void port(Phase phase, double bytes) { (phase == Phase::loop ? port_loop : port_once) += bytes; }
};

/// Returns true if an iteration reads the operand from the block's level; into registers first, if the mapping has a
/// variable for it there.
bool read_from(const PlacedDiagram& placed, const PlacedOperation& op, std::size_t input) {
  if (input >= op.operands.size()) return false;
  const ArrayId array = op.operands[input].first;
  const LevelId level = op.operands[input].second;
  if (level == placed.block().level) return true;
  return diagram(placed).is_input(array) &&
         std::any_of(placed.crossings.begin(), placed.crossings.end(), [&](const Crossing& c) {
           return c.array == array && c.into == level && !c.store && c.auxiliary < 0 && c.phase == Phase::loop;
         });
}

/// Returns the variable of the block's level that an operand is read from, or nullptr.
const Variable* variable_of(const PlacedDiagram& placed, const PlacedOperation& op, std::size_t input) {
  if (!read_from(placed, op, input)) return nullptr;
  for (const Variable& v : placed.variables) {
    if (v.level == placed.block().level && !v.output_staging && !v.arrays.empty() &&
        v.arrays.front() == op.operands[input].first)
      return &v;
  }
  return nullptr;
}

/// Returns the bytes of all banks of shared memory: the power of two nearest to the port's rate, which may be a
/// measured one.
std::int64_t width_of_banks(const Unit& port) {
  return std::int64_t{1} << std::lround(std::log2(std::max(port.per_clock.best().value, 1.0)));
}

/// Returns how often the rows of a matrix that threads load from shared memory conflict in its banks.
double conflicts(const PlacedDiagram& placed, const PlacedOperation& op, std::size_t input) {
  const Variable* variable = variable_of(placed, op, input);
  const Unit* port = placed.machine->port();
  if (variable == nullptr || !variable->unpermuted || port == nullptr) return 1;
  const AxisId innermost = axes_of(placed, variable->arrays.front()).back();
  const double pitch = elements(placed, {innermost}, true) * bytes_per_value(variable->type);
  return bank_conflicts(static_cast<std::int64_t>(pitch), width_of_banks(*port));
}

/// Returns the shared-memory bytes and issue slots of an operation's tensor instructions. The unit fetches A (m x k)
/// for each n piece and B (n x k) for each m rows; threads load B once an agent, A once, 16 bytes a thread and slot.
TensorLoad load_of(const PlacedDiagram& placed, const PlacedOperation& op, const Pieces& pieces) {
  const TensorInstruction& i = *op.instruction;
  const double value = bytes_per_value(i.type), depth = real(round_up(op.k, i.k));
  const double warp = real(placed.machine->limits.warp_size);
  TensorLoad out{pieces.clocks, 0, 0, pieces.count, 2 * real(i.m * i.k) * pieces.columns};
  double& bytes = out.port_bytes;
  if (i.asynchronous) {
    if (!op.a_from_registers) bytes += pieces.count * real(i.m * i.k) * value;
    // Of an operand in parts each unit reads the one in its own block's memory.
    const Variable* b = variable_of(placed, op, 1);
    const double parts = b != nullptr && b->divided ? std::max(real(placed.cluster), 1.0) : 1;
    if (read_from(placed, op, 1)) bytes += pieces.columns * real(i.k) * value / parts;
    out.slots = pieces.count * real(i.warps);
  } else {
    const double readers = op.agent >= 0 ? real(placed.agents[static_cast<std::size_t>(op.agent)].instances) : 1.0;
    const double a = op.a_from_registers ? 0 : real(padded_rows(op) * op.column_parts * op.repeats) * depth * value;
    const Count columns = round_up(ceil_div(op.n, op.column_parts), i.n_step);
    const double b = read_from(placed, op, 1) ? readers * real(columns) * depth * value : 0;
    bytes = a * conflicts(placed, op, 0) + b * conflicts(placed, op, 1);
    out.slots = pieces.count + (a + b) / (16 * warp);
  }
  return out;
}

/// Returns the results that a warp instruction of a unit makes.
double results_a_warp(const Machine& machine, const Unit& unit) {
  return unit.results_per_lane() * real(machine.limits.warp_size);
}

/// Returns true if the work of the operation that makes an array includes its stores to shared memory.
bool stores_itself(const PlacedDiagram& placed, ArrayId array, Phase phase) {
  return std::any_of(placed.operations.begin(), placed.operations.end(), [&](const PlacedOperation& op) {
    if (diagram(placed).operations[static_cast<std::size_t>(op.operation)].outputs.front() != array) return false;
    return std::any_of(op.work.begin(), op.work.end(), [&](const PlacedWork& work) {
      return work.unit >= 0 && placed.machine->units[static_cast<std::size_t>(work.unit)].counts == Counted::bytes &&
             work.mapping != nullptr && phase_of(op, *work.mapping) == phase;
    });
  });
}

}  // namespace

PipeLoad& BlockLoad::pipe(const Unit& unit) {
  for (std::size_t i = 0; i < count; ++i) {
    if (pipes[i].unit == &unit) return pipes[i];
  }
  if (count == most) throw Error(unit.name, "more than 16 pipes of a compute node", "at most 16");
  pipes[count].name = unit.name;
  pipes[count].unit = &unit;
  return pipes[count++];
}

double bank_conflicts(std::int64_t pitch, std::int64_t width) {
  constexpr std::int64_t rows = 8, unit = 16;  // of one matrix; bytes of a row
  const std::int64_t units = std::max<std::int64_t>(width / unit, 1);
  std::vector<int> rows_at(static_cast<std::size_t>(units), 0);
  for (std::int64_t row = 0; row < rows; ++row) ++rows_at[static_cast<std::size_t>(row * pitch / unit % units)];
  const double least = std::ceil(static_cast<double>(rows) / static_cast<double>(units));
  return *std::max_element(rows_at.begin(), rows_at.end()) / least;
}

double warp_instructions(const Machine& machine, const Unit& unit, double results) {
  return results / results_a_warp(machine, unit);
}

double bytes_read(const PlacedDiagram& placed, const Crossing& c) {
  const double bytes = elements(placed, c.array, placed.axes_of(c), c.phase == Phase::loop) * bytes_per_value(c.type);
  return placed.shared_by_cluster(c) ? bytes / std::max(real(placed.cluster), 1.0) : bytes;
}

TensorLoad tensor_load(const PlacedDiagram& placed, const PlacedOperation& operation) {
  return load_of(placed, operation, instructions(placed, operation));
}

double tensor_clocks(const PlacedDiagram& placed, const PlacedOperation& operation) {
  return operation.tensor && operation.instruction != nullptr ? instructions(placed, operation).clocks : 0;
}

double nodes_at_work(const PlacedDiagram& placed, LevelId level) {
  const double there = placed.machine->per_compute_node(level);
  const Core* core = there > 1 ? placed.machine->core_of(level) : nullptr;
  const double working = core == nullptr ? 0 : instances_on(placed, *core);
  return working > 0 ? std::min(there, working) : there;
}

Workload::Workload(const PlacedDiagram& placed) {
  for (std::size_t i = 0; i < placed.operations.size(); ++i) add_operation(placed, i);
  add_crossings(placed);
  add_written(placed);
  const auto shared = [&](const Unit* unit, bool vector) -> Share {
    if (unit == nullptr) return {};
    return {pipe_of(*unit, vector), unit->per_clock.best().value};
  };
  issue_ = shared(placed.machine->unit(UnitRole::issue), true);
  port_ = shared(placed.machine->port(), false);
}

int Workload::pipe_of(const Unit& unit, bool vector) {
  PipeLoad& pipe = idle_.pipe(unit);
  pipe.vector = pipe.vector || vector;
  return static_cast<int>(&pipe - idle_.pipes.data());
}

void Workload::add_operation(const PlacedDiagram& placed, std::size_t operation) {
  const Machine& machine = *placed.machine;
  const PlacedOperation& op = placed.operations[operation];
  const Unit* multiply_add = machine.unit(UnitRole::multiply_add);
  if (op.tensor && op.instruction != nullptr) {
    tensor_.push_back(operation);
  } else if (op.tensor && multiply_add != nullptr) {
    // No matrix unit for the type: multiply-adds of threads.
    results_.push_back({operation,
                        -1,
                        op.phase,
                        {pipe_of(*multiply_add, true), multiply_add->per_clock.best().value},
                        machine.compute,
                        real(machine.limits.warp_size),
                        false});
  }
  results_.reserve(results_.size() + op.work.size() + 1);
  for (std::size_t i = 0; i < op.work.size(); ++i) {
    const PlacedWork& work = op.work[i];
    if (work.unit < 0) continue;
    const Unit& unit = machine.units[static_cast<std::size_t>(work.unit)];
    if (!unit.per_clock.known()) continue;
    const Phase phase = work.mapping != nullptr ? phase_of(op, *work.mapping) : op.phase;
    const bool bytes = unit.counts == Counted::bytes;
    Share share;
    if (!bytes && unit.counts != Counted::instructions) {  // those take slots alone
      share = {pipe_of(unit, true), unit.per_clock.best().value};
      if (unit.counts == Counted::flop) share.a_clock /= 2;  // a multiply-add is one result
    }
    results_.push_back(
        {operation, static_cast<int>(i), phase, share, unit.level, results_a_warp(machine, unit), bytes});
  }
  if (op.tensor) return;
  for (const auto& [array, level] : op.operands) {
    if (level != placed.block().level) continue;
    const DType type = diagram(placed).arrays[static_cast<std::size_t>(array)].type.value_or(placed.problem->dtype);
    through_port_.push_back({&axes_of(placed, array), true, op.phase, bytes_per_value(type), array});
  }
}

void Workload::add_crossings(const PlacedDiagram& placed) {
  const bool in_cluster = exchange_pipe(placed) != nullptr;
  for (std::size_t i = 0; i < placed.crossings.size(); ++i) {
    const Crossing& c = placed.crossings[i];
    const bool combined = in_cluster && c.combined_in_cluster;  // one result of all blocks of a cluster, on its way up
    const bool into_block = c.into == placed.block().level && placed.from_above(c);
    if (!combined && !into_block) continue;
    const bool loop = c.phase == Phase::loop;
    crossings_.push_back({i,
                          {&placed.axes_of(c), loop, c.phase, bytes_per_value(c.type), c.array},
                          combined,
                          into_block,
                          in_cluster && c.parts});
  }
}

/// Adds the bytes that threads write to the block's level: intermediates once an iteration, staged outputs once a
/// block.
void Workload::add_written(const PlacedDiagram& placed) {
  for (const Variable& v : placed.variables) {
    if (v.level != placed.block().level || v.arrays.empty()) continue;
    const ArrayId array = v.arrays.front();
    if (!v.output_staging && diagram(placed).is_input(array)) continue;
    const bool loop = !v.output_staging;
    if (stores_itself(placed, array, loop ? Phase::loop : Phase::tail)) continue;
    through_port_.push_back({&axes_of(placed, array), loop, loop ? Phase::loop : Phase::tail, bytes_per_value(v.type)});
  }
}

BlockLoad Workload::of(const PlacedDiagram& placed) const {
  BlockLoad load = idle_;
  Gathered gathered;
  for (const std::size_t i : tensor_) {
    const PlacedOperation& op = placed.operations[i];
    const TensorLoad tensor = tensor_load(placed, op);
    add(load.pipes[0], op.phase, tensor.clocks);
    gathered.slots(op.phase, tensor.slots);
    gathered.port(op.phase, tensor.port_bytes);
  }
  for (const Results& r : results_) {
    const PlacedOperation& op = placed.operations[r.operation];
    const double amount =
        r.work < 0 ? real(op.m) * real(op.n) * real(op.k) : op.work[static_cast<std::size_t>(r.work)].amount;
    gathered.slots(r.phase, amount / r.a_warp);
    if (r.bytes) gathered.port(r.phase, amount);
    if (r.of.pipe >= 0)
      add(load.pipes[static_cast<std::size_t>(r.of.pipe)], r.phase,
          amount / (r.of.a_clock * nodes_at_work(placed, r.level)));
  }
  for (const Moved& moved : crossings_) {
    const Crossing& c = placed.crossings[moved.crossing];
    const double bytes = bytes_of(placed, moved.box);
    const double read = placed.shared_by_cluster(c) ? bytes / std::max(real(placed.cluster), 1.0) : bytes;
    if (moved.combined) load.once_bytes += read;
    if (!moved.into_block) continue;
    (moved.part ? load.part_bytes : c.phase == Phase::loop ? load.loop_bytes : load.once_bytes) += read;
    gathered.port(c.phase, placed.divided(c) ? read : bytes);
  }
  for (const Box& box : through_port_) gathered.port(box.phase, bytes_of(placed, box));
  const auto set = [&](const Share& share, double loop, double once) {
    if (share.pipe < 0) return;
    PipeLoad& pipe = load.pipes[static_cast<std::size_t>(share.pipe)];
    pipe.loop = loop / share.a_clock;
    pipe.once = once / share.a_clock;
  };
  set(issue_, gathered.slots_loop, gathered.slots_once);
  set(port_, gathered.port_loop, gathered.port_once);
  return load;
}

double Workload::bytes_of(const PlacedDiagram& placed, const Box& box) {
  return elements(placed, box.array, *box.axes, box.chunked) * box.value_bytes;
}

BlockLoad block_load(const PlacedDiagram& placed) { return Workload(placed).of(placed); }

Phase phase_of(const PlacedOperation& operation, const WorkMapping& work) {
  if (work.once) return Phase::tail;
  return work.first || work.masked ? Phase::head : operation.phase;
}

}  // namespace napkin::internal
