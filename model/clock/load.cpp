#include "model/clock/load.hpp"

#include "model/clock/synchronise.hpp"

#include <algorithm>
#include <cmath>

namespace napkin {
namespace {

double real(Count count) { return static_cast<double>(count); }

double size_of(DType type) { return bits(type) / 8.0; }

const Diagram& diagram(const PlacedDiagram& placed) { return placed.streamed->diagram; }

/// Elements along some axes that one block touches: per iteration where `chunked`, else with the streamed axis in full.
double elements(const PlacedDiagram& placed, const std::vector<AxisId>& axes, bool chunked) {
  const PlacedLevel& block = placed.block();
  const AxisId stream = chunked ? placed.streamed->stream.value_or(-1) : -1;
  double product = 1;
  for (const AxisId axis : axes) {
    product *= real(axis == stream ? block.chunk : block.extent[static_cast<std::size_t>(axis)]);
  }
  return product;
}

double elements(const PlacedDiagram& placed, ArrayId array, bool chunked) {
  return elements(placed, diagram(placed).arrays[static_cast<std::size_t>(array)].axes, chunked);
}

/// Nodes that hold a unit, for each compute node (two vector cores to a cube core on some machines).
double units_a_node(const Machine& machine, LevelId level) {
  if (level == machine.compute || level <= 0) return 1;
  return real(machine.nodes(level)) / std::max(real(machine.compute_nodes()), 1.0);
}

struct Pieces {
  double count = 0;    // instructions in all
  double columns = 0;  // n over them
  double clocks = 0;
};

Count padded_rows(const PlacedDiagram& placed, const PlacedOperation& op) {
  Count agents = 1;
  if (op.agent >= 0) agents = std::max(placed.agents[static_cast<std::size_t>(op.agent)].instances, Count(1));
  return round_up(ceil_div(op.m, agents), op.instruction->m) * agents;
}

Pieces instructions(const PlacedDiagram& placed, const PlacedOperation& op) {
  const TensorInstruction& i = *op.instruction;
  const double repeats = real(padded_rows(placed, op) / i.m) * real(ceil_div(op.k, i.k));
  const Count whole = op.n / i.n_most, rest = op.n % i.n_most;
  Pieces out;
  if (whole > Count(0)) {
    out.count += real(whole) * repeats;
    out.columns += real(whole * i.n_most) * repeats;
    out.clocks += real(whole) * repeats * instruction_clocks(i, i.n_most, op.a_from_registers);
  }
  if (rest > Count(0)) {
    const Count n = std::max(round_up(rest, i.n_step), i.n_least);
    out.count += repeats;
    out.columns += real(n) * repeats;
    out.clocks += repeats * instruction_clocks(i, n, op.a_from_registers);
  }
  out.clocks /= units_a_node(*placed.machine, i.level);
  return out;
}

/// Adds to the head and tail's work or to the loop's.
void add(PipeLoad& pipe, Phase phase, double clocks) { (phase == Phase::loop ? pipe.loop : pipe.once) += clocks; }

/// What a load gathers for pipes whose rate is known only at the end.
struct Gathered {
  double slots_loop = 0, slots_once = 0;  // warp instructions
  double port_loop = 0, port_once = 0;    // bytes
  void slots(Phase phase, double n) { (phase == Phase::loop ? slots_loop : slots_once) += n; }
  void port(Phase phase, double bytes) { (phase == Phase::loop ? port_loop : port_once) += bytes; }
};

bool read_from(const PlacedDiagram& placed, const PlacedOperation& op, std::size_t input) {
  return input < op.operands.size() && op.operands[input].second == placed.block().level;
}

/// Shared-memory bytes and issue slots of an operation's tensor instructions.
/// Fetched by the unit: A (m x k) for each n piece, B (n x k) for each m rows. By threads: B once an agent (its rows
/// reuse the fragments), A once; a load of 16 bytes a thread is one slot.
TensorLoad load_of(const PlacedDiagram& placed, const PlacedOperation& op, const Pieces& pieces) {
  const TensorInstruction& i = *op.instruction;
  const double value = size_of(i.type), depth = real(round_up(op.k, i.k));
  const double warp = real(placed.machine->limits.warp_size);
  TensorLoad out{pieces.clocks, 0, 0};
  double& bytes = out.port_bytes;
  if (asynchronous(i)) {
    const double warps = 4;  // a warpgroup issues together
    if (!op.a_from_registers) bytes += pieces.count * real(i.m * i.k) * value;
    if (read_from(placed, op, 1)) bytes += pieces.columns * real(i.k) * value;
    out.slots = pieces.count * warps;
  } else {
    const double readers = op.agent >= 0 ? real(placed.agents[static_cast<std::size_t>(op.agent)].instances) : 1.0;
    if (!op.a_from_registers) bytes += real(padded_rows(placed, op)) * depth * value;
    if (read_from(placed, op, 1)) bytes += readers * real(round_up(op.n, i.n_step)) * depth * value;
    out.slots = pieces.count + bytes / (16 * warp);
  }
  return out;
}

void tensor_work(const PlacedDiagram& placed, const PlacedOperation& op, BlockLoad& load, Gathered& gathered) {
  if (op.instruction == nullptr) {  // no matrix unit for the type: multiply-adds of threads
    const Unit* fp32 = placed.machine->unit("fp32");
    if (fp32 == nullptr || !fp32->per_clock.known()) return;
    const double products = real(op.m) * real(op.n) * real(op.k);
    PipeLoad& pipe = load.pipe(*fp32);
    pipe.vector = true;
    add(pipe, op.phase, products / fp32->per_clock.best().value);
    gathered.slots(op.phase, products / real(placed.machine->limits.warp_size));
    return;
  }
  const TensorLoad tensor = load_of(placed, op, instructions(placed, op));
  add(load.pipes[0], op.phase, tensor.clocks);
  gathered.slots(op.phase, tensor.slots);
  gathered.port(op.phase, tensor.port_bytes);
}

void vector_work(const PlacedDiagram& placed, const PlacedOperation& op, BlockLoad& load, Gathered& gathered) {
  for (const PlacedWork& work : op.work) {
    if (work.unit < 0) continue;
    const Unit& unit = placed.machine->units[static_cast<std::size_t>(work.unit)];
    if (!unit.per_clock.known()) continue;
    const Phase phase = work.mapping != nullptr && work.mapping->once ? Phase::tail : op.phase;
    gathered.slots(phase, warp_instructions(*placed.machine, unit, work.amount));
    if (unit.what == "instructions") continue;  // slots alone
    if (unit.what == "bytes") {
      gathered.port(phase, work.amount);
      continue;
    }
    const double rate = unit.per_clock.best().value * units_a_node(*placed.machine, unit.level);
    const double amount = unit.what == "flop" ? 2 * work.amount : work.amount;  // a multiply-add is one result
    PipeLoad& pipe = load.pipe(unit);
    pipe.vector = true;
    add(pipe, phase, amount / rate);
  }
  if (op.tensor) return;
  for (const auto& [array, level] : op.operands) {
    if (level == placed.block().level) {
      gathered.port(op.phase, elements(placed, array, true) * size_of(placed.problem->dtype));
    }
  }
}

/// Bytes that cross into the block's level and back, and what they take of the shared-memory port.
void crossings(const PlacedDiagram& placed, BlockLoad& load, Gathered& gathered) {
  const bool in_cluster = exchange_pipe(placed) != nullptr;
  for (const Crossing& c : placed.crossings) {
    const bool loop = c.phase == Phase::loop;
    const double read = bytes_read(placed, c);
    const bool met = in_cluster && c.met;  // one result of all blocks of a cluster, on its way up
    if (met) load.once_bytes += read;
    if (c.into != placed.block().level) continue;
    (in_cluster && c.parts ? load.part_bytes : loop ? load.loop_bytes : load.once_bytes) += read;
    gathered.port(c.phase, elements(placed, placed.axes_of(c), loop) * size_of(c.type));
  }
}

/// What threads write to the block's level: intermediates once an iteration, staged outputs once a block.
void writes(const PlacedDiagram& placed, Gathered& gathered) {
  for (const Variable& v : placed.variables) {
    if (v.level != placed.block().level || v.arrays.empty()) continue;
    const ArrayId array = v.arrays.front();
    if (v.output_staging) {
      gathered.port(Phase::tail, elements(placed, array, false) * size_of(v.type));
    } else if (!diagram(placed).is_input(array)) {
      gathered.port(Phase::loop, elements(placed, array, true) * size_of(v.type));
    }
  }
}

void shared_pipes(const PlacedDiagram& placed, BlockLoad& load, const Gathered& gathered) {
  const Unit* issue = placed.machine->unit("issue");
  if (issue != nullptr && issue->per_clock.known()) {
    PipeLoad& pipe = load.pipe(*issue);
    pipe.vector = true;
    pipe.loop = gathered.slots_loop / issue->per_clock.best().value;
    pipe.once = gathered.slots_once / issue->per_clock.best().value;
  }
  const Unit* port = placed.machine->unit("shared_port");
  if (port != nullptr && port->per_clock.known()) {
    PipeLoad& pipe = load.pipe(*port);
    pipe.loop = gathered.port_loop / port->per_clock.best().value;
    pipe.once = gathered.port_once / port->per_clock.best().value;
  }
}

std::size_t index(AxisId axis) { return static_cast<std::size_t>(axis); }

}  // namespace

PipeLoad& BlockLoad::pipe(std::string_view name) {
  for (std::size_t i = 0; i < count; ++i) {
    if (pipes[i].name == name) return pipes[i];
  }
  return append(name, nullptr);
}

PipeLoad& BlockLoad::pipe(const Unit& unit) {
  for (std::size_t i = 0; i < count; ++i) {
    if (pipes[i].unit == &unit) return pipes[i];
  }
  return append(unit.name, &unit);
}

PipeLoad& BlockLoad::append(std::string_view name, const Unit* unit) {
  if (count == most) throw Error(std::string(name), "more than 16 pipes of a compute node", "at most 16");
  pipes[count].name = name;
  pipes[count].unit = unit;
  return pipes[count++];
}

bool asynchronous(const TensorInstruction& instruction) {
  return instruction.name != "mma.sync" && instruction.name != "mfma";
}

double warp_instructions(const Machine& machine, const Unit& unit, double results) {
  const std::string_view name = unit.name;
  if (unit.what == "bytes") return results / (16 * real(machine.limits.warp_size));
  const bool pairs = name == "fp16" || name == "conversion" || name == "conversion_fp8";
  return results / ((pairs ? 2 : 1) * real(machine.limits.warp_size));
}

double bytes_read(const PlacedDiagram& placed, const Crossing& c) {
  const double bytes = elements(placed, placed.axes_of(c), c.phase == Phase::loop) * size_of(c.type);
  return placed.multicast(c) ? bytes / std::max(real(placed.cluster), 1.0) : bytes;
}

TensorLoad tensor_load(const PlacedDiagram& placed, const PlacedOperation& operation) {
  return load_of(placed, operation, instructions(placed, operation));
}

double tensor_clocks(const PlacedDiagram& placed, const PlacedOperation& operation) {
  return operation.tensor && operation.instruction != nullptr ? instructions(placed, operation).clocks : 0;
}

BlockLoad block_load(const PlacedDiagram& placed) {
  BlockLoad load;
  Gathered gathered;
  load.pipe("tensor");
  for (const PlacedOperation& op : placed.operations) {
    if (op.tensor) tensor_work(placed, op, load, gathered);
    vector_work(placed, op, load, gathered);
  }
  crossings(placed, load, gathered);
  writes(placed, gathered);
  shared_pipes(placed, load, gathered);
  return load;
}

Schedule schedule(const PlacedDiagram& placed) {
  const Count nodes = std::max(placed.machine->compute_nodes(), Count(1));
  const Count cluster = std::max(placed.cluster, Count(1));
  const Count usable = std::max(nodes / cluster * cluster, Count(1));
  const PlacedLevel& block = placed.block();
  const Visits& seen = block.walk.total;
  Count walked_together = seen.row_groups;  // blocks that the walk's sums run over
  if (placed.streamed->stream) walked_together *= block.groups_of[index(*placed.streamed->stream)];
  Schedule out;
  out.nodes = real(usable);
  out.blocks = real(ceil_div(placed.blocks, usable));
  out.total_blocks = real(placed.blocks);
  out.total_iterations = real(seen.chunks * (placed.blocks / std::max(walked_together, Count(1))));
  const double longest = real(seen.longest), mean = out.total_iterations / out.total_blocks;
  const double ahead = (out.blocks - 1) * out.nodes / out.total_blocks;
  const double last = std::max(longest - 2 * (longest - mean) * ahead, 0.0);
  out.iterations = std::max({longest, std::ceil(out.total_iterations / out.nodes), std::ceil(out.blocks * last)});
  return out;
}

double compulsory_bytes(const PlacedDiagram& placed) {
  const Diagram& d = diagram(placed);
  const Sizes& sizes = placed.problem->sizes;
  AxisId hidden = -1;
  double columns = 0;
  if (placed.across && placed.streamed->skips) {
    const auto [row_axis, column_axis] = *placed.streamed->skips;
    const std::int64_t rows = sizes[index(row_axis)].get();
    columns = static_cast<double>(visible(placed.problem->mask, 0, rows, rows, sizes[index(column_axis)].get()).size());
    hidden = column_axis;
  }
  const auto volume_of = [&](ArrayId array, bool input) {
    double product = 1;
    for (const AxisId a : d.arrays[index(array)].axes)
      product *= input && a == hidden ? columns : real(sizes[index(a)]);
    return product;
  };
  const auto type_of = [&](ArrayId array, bool store) -> std::optional<DType> {
    for (const Crossing& c : placed.crossings) {
      if (c.array == array && c.store == store) return c.type;
    }
    return std::nullopt;  // statistics that are exchanged rather than stored
  };
  double bytes = 0;
  for (const ArrayId a : d.inputs) bytes += volume_of(a, true) * size_of(type_of(a, false).value_or(placed.problem->dtype));
  for (const ArrayId a : d.outputs) {
    if (const auto type = type_of(a, true)) bytes += volume_of(a, false) * size_of(*type);
  }
  return bytes;
}

}  // namespace napkin
