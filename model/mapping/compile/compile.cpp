// Names to ids, once for all tiles.
#include <algorithm>

#include "model/diagram/reindex.hpp"
#include "model/mapping/asked.hpp"
#include "model/mapping/compile/compiled.hpp"
#include "model/mapping/read/load.hpp"

namespace napkin::internal {
namespace {

/// Checks that the mapping's roles are the ones that the streamed diagram was derived with. A split axis may also
/// stream.
void check_roles(const Streamed& streamed, const Mapping& mapping) {
  for (std::size_t i = 0; i < streamed.roles.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    const std::string& name = streamed.diagram.axes[i].name;
    bool grouped = false, streams = false;
    for (const LevelMapping& level : mapping.levels) {
      grouped |= lists(level.group, name);
      streams |= lists(level.stream, name);
    }
    const bool same_stream =
        streams == (streamed.stream == axis) || (streamed.stream == axis && streamed.grouped(axis));
    if (same_stream && grouped == streamed.grouped(axis)) continue;
    throw Error(mapping.file, "axis '" + name + "' has another role in the mapping than in the streamed diagram",
                "derive the diagram with mapped_roles()");
  }
}

}  // namespace

Placer::Compiled::Compiled(const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                           const Problem& problem)
    : streamed_(&streamed), mapping_(&mapping), machine_(&machine), problem_(&problem) {
  if (streamed.diagram.axes.size() > 64) throw Error(streamed.diagram.name, "more than 64 axes", "fewer");
  check(mapping, streamed.diagram);
  check(mapping, machine, problem.dtype);
  check_roles(streamed, mapping);
  check_order();
  if (streamed.skips && problem.mask.kind != Mask::Kind::none) {
    const auto& [rows, columns] = *streamed.skips;
    across_ = streamed.stream == rows ? columns : rows;
  }
  stream_ = streamed.stream.value_or(-1);
  compile_levels();
  compile_agents();
  compile_variables();
  compile_operations();
  for (CompiledVariable& v : variables_) {
    const int of_core = agent_at(levels_[at(v.position)].id);
    v.agent = of_core >= 0 ? of_core : agent_of(v);
  }
  compile_combine();
  fold_constants();
  find_dependences();
  find_variants();
}

Number64 Placer::Compiled::number(const Value& value) const {
  Number64 out;
  if (value.kind == Value::Kind::knob) out.knob = value.knob;
  out.more = value.more;
  if (value.kind == Value::Kind::literal) out.literal = value.literal;
  if (value.kind == Value::Kind::axis) {
    out.axis = streamed_->diagram.axis(value.axis);
    out.literal = held_size(*mapping_, streamed_->diagram, *problem_, out.axis).get();
  }
  if (value.kind == Value::Kind::table) {
    out.table = value.table.get();
    out.column = value.number;
    out.base = base_of(*out.table);
  }
  return out;
}

/// Returns the first of the table's rows for the problem's mask and sizes, and the machine's architecture.
std::size_t Placer::Compiled::base_of(const RegisterTable& table) const {
  std::vector<std::int64_t> sizes;
  for (const std::string& axis : table.axes())
    sizes.push_back(held_size(*mapping_, streamed_->diagram, *problem_, streamed_->diagram.axis(axis)).get());
  return table.base(problem_->mask.kind, sizes, machine_->architecture);
}

bool Placer::Compiled::is_meant(const Guard& guard, const Problem& problem) const {
  if (!guard.masks.empty() && std::count(guard.masks.begin(), guard.masks.end(), problem.mask.kind) == 0) return false;
  return std::all_of(guard.axes.begin(), guard.axes.end(), [&](const auto& term) {
    const AxisId axis = streamed_->diagram.axis(term.first);
    const std::int64_t size = held_size(*mapping_, streamed_->diagram, problem, axis).get();
    return std::count(term.second.begin(), term.second.end(), size) > 0;
  });
}

bool Placer::Compiled::is_meant(const Guard& guard) {
  const bool meant = is_meant(guard, *problem_);
  if (!guard.axes.empty()) by_size_.emplace_back(&guard, meant);
  return meant;
}

bool Placer::Compiled::is_of_one_kind(const Problem& problem) const {
  return std::all_of(by_size_.begin(), by_size_.end(),
                     [&](const auto& one) { return is_meant(*one.first, problem) == one.second; });
}

GuardedNumber Placer::Compiled::numbers(const Guarded<Value>& values) {
  GuardedNumber out;
  for (const auto& [guard, value] : values) {
    if (is_meant(guard)) out.emplace_back(&guard, number(value));
  }
  return out;
}

DType Placer::Compiled::type_of(const std::string& name) const {
  return name == "T" ? problem_->dtype : parse_dtype(name, mapping_->file);
}

std::optional<int> Placer::Compiled::position_of(const std::string& level) const {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (machine_->levels[at(levels_[i].id)].name == level) return static_cast<int>(i);
  }
  return std::nullopt;
}

void Placer::Compiled::compile_agents() {
  agents_.reserve(mapping_->agents.size());
  for (const Agent& agent : mapping_->agents) {
    CompiledAgent out;
    out.count = numbers(agent.count);
    out.registers = numbers(agent.registers);
    out.overhead = numbers(agent.overhead.numbers);
    if (agent.overhead.table != nullptr) {
      static const Guard always;
      out.overhead.emplace_back(&always, number({Value::Kind::table, 0, -1, {}, agent.overhead.table, 0}));
    }
    out.threads = number(agent.threads);
    out.row_step = number(agent.row_step);
    out.repeats = agent.repeats;
    out.compiled = !agent.registers.empty() && agent.registers.front().second.kind == Value::Kind::table;
    for (const std::string& axis : agent.splits) out.splits.push_back(streamed_->diagram.axis(axis));
    for (const Value& step : agent.split_steps) out.split_steps.push_back(number(step));
    out.split_steps.resize(out.splits.size());
    if (divider_ < 0 && !out.splits.empty()) divider_ = static_cast<int>(agents_.size());
    agents_.push_back(std::move(out));
  }
}

void Placer::Compiled::compile_variables() {
  variables_.reserve(mapping_->variables.size());
  for (const VariableMapping& v : mapping_->variables) {
    CompiledVariable out;
    out.held.reserve(v.of.size());
    std::vector<AxisId> explicit_axes;
    for (const std::string& axis : v.axes) explicit_axes.push_back(streamed_->diagram.axis(axis));
    if (const auto id = streamed_->diagram.find_array(v.of.front()); id && v.of.size() == 1) {
      const std::vector<AxisId>& axes = streamed_->diagram.arrays[at(*id)].axes;
      if (std::is_permutation(axes.begin(), axes.end(), explicit_axes.begin(), explicit_axes.end()))
        out.axes = explicit_axes;
    }
    for (const std::string& name : v.of) {
      if (const auto id = streamed_->diagram.find_array(name)) {
        out.arrays.push_back(*id);
        const Array& array = streamed_->diagram.arrays[at(*id)];
        out.held.push_back({1, v.axes.empty() ? array.axes : explicit_axes});
        if (!is_shifted(array)) continue;
        if (!mapping_->exact_groups) {
          throw Error(mapping_->file, "array " + array.name + " has shifted rows, which no kernel's mapping can place",
                      "--kernel ideal");
        }
        out.held.back().shifted = &array;
        continue;
      }
      for (const Auxiliary& a : streamed_->auxiliaries) {
        if (a.name != name) continue;
        ++out.auxiliaries;
        out.held.push_back({1, v.axes.empty() ? a.axes : explicit_axes});
      }
    }
    out.position = *position_of(v.level);
    out.type = type_of(v.type);
    out.copies = numbers(v.copies);
    out.column_parts = numbers(v.column_parts);
    if (v.multicast) out.multicast = &*v.multicast;
    if (v.divided) out.divided = &*v.divided;
    if (v.unpermuted) out.unpermuted = &*v.unpermuted;
    for (const auto& [axis, value] : v.sizes) out.sizes.emplace_back(streamed_->diagram.axis(axis), number(value));
    for (std::size_t i = 0; i < mapping_->variables.size(); ++i) {
      if (mapping_->variables[i].name == v.alias) out.alias = static_cast<int>(i);
    }
    variables_.push_back(std::move(out));
  }
}

void Placer::Compiled::compile_operations() {
  operations_.reserve(streamed_->diagram.operations.size());
  for (std::size_t i = 0; i < streamed_->diagram.operations.size(); ++i) compile_operation(static_cast<OpId>(i));
}

/// Compiles the variables that each operand is read from, with their guards.
void Placer::Compiled::compile_operands(const Operation& op, CompiledOperation& out) {
  const Diagram& d = streamed_->diagram;
  const OperationMapping& o = *out.mapping;
  out.operands.reserve(op.inputs.size());
  for (const ArrayId input : op.inputs) {
    out.operands.emplace_back();
    for (const auto& [array, from] : o.operands) {
      if (array != d.arrays[at(input)].name) continue;
      for (const auto& [guard, name] : from) {
        for (std::size_t v = 0; v < mapping_->variables.size(); ++v) {
          if (mapping_->variables[v].name == name) out.operands.back().emplace_back(&guard, static_cast<int>(v));
        }
      }
    }
  }
}

void Placer::Compiled::compile_work(CompiledOperation& out) {
  const Diagram& d = streamed_->diagram;
  const OperationMapping& o = *out.mapping;
  out.work.reserve(o.work.size());
  for (const WorkMapping& w : o.work) {
    if (!is_meant(w.when)) continue;
    CompiledWork work{&w, -1, out.agent, {}, {}};
    if (w.counted) work.counted = number(*w.counted);
    for (std::size_t i = 0; i < mapping_->agents.size(); ++i) {
      if (mapping_->agents[i].name == w.agent) work.agent = static_cast<int>(i);
    }
    for (std::size_t u = 0; u < machine_->units.size(); ++u) {
      if (machine_->units[u].name == w.unit && !w.stalls) work.unit = static_cast<int>(u);
    }
    for (const std::string& axis : w.per) {
      const auto each =
          std::find_if(w.per_chunk.begin(), w.per_chunk.end(), [&](const auto& part) { return part.first == axis; });
      if (each == w.per_chunk.end()) {
        work.per.axes.push_back(d.axis(axis));
      } else {
        work.per_chunk.emplace_back(d.axis(axis), number(each->second));
      }
    }
    out.work.push_back(std::move(work));
  }
}

void Placer::Compiled::compile_operation(OpId id) {
  const Diagram& d = streamed_->diagram;
  const Operation& op = d.operations[at(id)];
  CompiledOperation out;
  for (const OperationMapping& o : mapping_->operations) {
    if (o.output == d.arrays[at(op.outputs[0])].name) out.mapping = &o;
  }
  const OperationMapping& o = *out.mapping;  // never null: check() has refused operations without a mapping
  for (std::size_t i = 0; i < mapping_->agents.size(); ++i) {
    if (mapping_->agents[i].name == o.agent) out.agent = static_cast<int>(i);
  }
  out.tensor = o.unit == "tensor";
  if (out.tensor) {
    const DType type = type_of(o.type);
    for (const auto& [guard, name] : o.instruction) {
      if (const TensorInstruction* named = machine_->tensor_for(type, name))
        out.instruction.emplace_back(&guard, named);
    }
    static const Guard always;
    if (const TensorInstruction* first = machine_->tensor_for(type)) out.instruction.emplace_back(&always, first);
  }
  const Array& first = d.arrays[at(op.inputs.front())];
  const Array& last = d.arrays[at(op.inputs.back())];
  for (const AxisId axis : d.arrays[at(op.outputs[0])].axes) {
    (op.inputs.size() > 1 && last.has(axis) && !first.has(axis) ? out.n : out.m).axes.push_back(axis);
  }
  out.rows = out.m.axes;
  out.columns = out.n.axes;
  if (o.waits) out.waits = number(*o.waits);
  if (o.swap_ab) out.swap_ab = &*o.swap_ab;
  out.row_parts = numbers(o.row_parts);
  out.more_columns = numbers(o.more_columns);
  if (op.kind == OpKind::contract || op.kind == OpKind::sum || op.kind == OpKind::max) out.k.axes = op.own;
  compile_operands(op, out);
  compile_work(out);
  operations_.push_back(std::move(out));
}

/// Returns the agent that computes a variable's arrays, else one that reads them, else the one that divides the group.
int Placer::Compiled::agent_of(const CompiledVariable& variable) const {
  const auto holds_any = [&](const std::vector<ArrayId>& arrays) {
    return std::any_of(arrays.begin(), arrays.end(), [&](ArrayId a) {
      return std::find(variable.arrays.begin(), variable.arrays.end(), a) != variable.arrays.end();
    });
  };
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i].agent >= 0 && holds_any(streamed_->diagram.operations[i].outputs)) return operations_[i].agent;
  }
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i].agent >= 0 && holds_any(streamed_->diagram.operations[i].inputs)) return operations_[i].agent;
  }
  return divider_ >= 0 ? divider_ : static_cast<int>(agents_.size()) - 1;
}

}  // namespace napkin::internal
