#include "model/interpret/run.hpp"

#include <algorithm>

#include "model/interpret/global_memory.hpp"
#include "model/interpret/storage.hpp"

namespace napkin::internal {
namespace {

using namespace interpret;

bool in_float64(const Precision& precision) {
  return precision.storage == DType::f64 || precision.storage == DType::value;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> words;
  for (std::int64_t size : shape) words.push_back(std::to_string(size));
  return "[" + joined(words, ",") + "]";
}

void check_question(const Diagram& diagram, const Problem& problem, const Tensors& inputs) {
  if (problem.sizes.size() != diagram.axes.size()) {
    throw Error(diagram.name,
                std::to_string(problem.sizes.size()) + " sizes for " + std::to_string(diagram.axes.size()) + " axes",
                "one size an axis");
  }
  for (ArrayId id : diagram.inputs) {
    const Array& array = diagram.arrays[index(id)];
    const auto found = inputs.find(array.name);
    const auto shape = shape_of(array, problem.sizes);
    if (found == inputs.end()) throw Error("input " + array.name, "missing", "a tensor of shape " + shape_text(shape));
    if (found->second.shape != shape || static_cast<std::int64_t>(found->second.data.size()) != volume(shape)) {
      throw Error("input " + array.name, "shape " + shape_text(found->second.shape), shape_text(shape));
    }
  }
}

void check_group(const Streamed& s, AxisId axis, const Partition& partition, Count most, const std::string& level) {
  const Count group = partition.group[index(axis)];
  const std::string where = level + "." + s.diagram.axes[index(axis)].name;
  if (group < 1 || most < group) {
    throw Error(where, "a group of " + std::to_string(group.get()), "from 1 to " + std::to_string(most.get()));
  }
  if (!s.grouped(axis) && group != most) throw Error(where, "a part of an axis that is not grouped", "all of it");
}

void check_partitions(const Streamed& s, const Sizes& sizes, const Partition& partition, const RunOptions& options) {
  const Partition* above = nullptr;
  const auto check_level = [&](const Partition& p, const std::string& level) {
    if (p.group.size() != sizes.size()) throw Error(level, "a group size is missing", "one size an axis");
    if (p.chunk < 1) throw Error(level, "a chunk of " + std::to_string(p.chunk.get()), "at least 1");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      check_group(s, static_cast<AxisId>(i), p, above == nullptr ? sizes[i] : above->group[i], level);
      if (above != nullptr && s.roles[i] == AxisRole::split && p.group[i] != above->group[i]) {
        throw Error(level + "." + s.diagram.axes[i].name, "a split axis that is divided again",
                    "the group size of the level above");
      }
    }
    above = &p;
  };
  check_level(partition, options.level);
  for (const NestedLevel& level : options.nested) check_level(level.partition, level.name);
}

LevelCounts empty_counts(const std::string& name, const Diagram& diagram) {
  LevelCounts counts;
  counts.name = name;
  counts.arrays.resize(diagram.arrays.size());
  return counts;
}

/// Places that decide how arrays are stored: see Precision. Log-sum-exps and partial results stay accumulators.
enum class Place { memory, group };

std::vector<DType> types_of(const Diagram& diagram, const Streamed* streamed, const Precision& precision, Place place) {
  const DType accumulator = in_float64(precision) ? DType::f64 : DType::f32;
  std::vector<DType> types(diagram.arrays.size(), place == Place::memory ? precision.storage : accumulator);
  for (ArrayId id : diagram.inputs) types[index(id)] = precision.storage;
  for (ArrayId id : diagram.outputs) types[index(id)] = precision.storage;
  for (const Operation& op : diagram.operations) {
    if (op.kind != OpKind::contract) continue;
    for (ArrayId id : op.inputs) types[index(id)] = precision.storage;
  }
  for (const Operation& op : diagram.operations) {
    for (std::size_t i = 1; i < op.outputs.size(); ++i) types[index(op.outputs[i])] = accumulator;
  }
  for (std::size_t i = 0; i < types.size() && !in_float64(precision); ++i)
    types[i] = diagram.arrays[i].type.value_or(types[i]);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto exception = precision.arrays.find(diagram.arrays[i].name);
    if (exception != precision.arrays.end()) types[i] = exception->second;
    const bool partial = streamed != nullptr && streamed->combine_of(static_cast<ArrayId>(i)) != nullptr;
    if (partial && place == Place::group) types[i] = accumulator;
  }
  return types;
}

template <class T>
void round_all(DType type, Block<T>& block) {
  if (type == DType::f64 || type == DType::value || (type == DType::f32 && sizeof(T) == sizeof(float))) return;
  for (T& value : block.data) value = static_cast<T>(round_to(type, static_cast<double>(value)));
}

/// Returns the block with the table's axes in place of the dimension whose rows the table chooses.
template <class T>
Block<T> gathered(const Diagram& diagram, const Reindex& dimension, const Array& array, const Block<T>& from,
                  const Block<T>& table, const Sizes& sizes) {
  std::vector<AxisId> axes;
  for (AxisId a : from.axes) {
    if (a == dimension.of)
      axes.insert(axes.end(), table.axes.begin(), table.axes.end());
    else
      axes.push_back(a);
  }
  const std::int64_t rows = sizes[index(dimension.of)].get();
  const std::int64_t step = strides_along({dimension.of}, from)[0];
  Block<T> result(axes, full_box(sizes), T(0));
  walk<3>(result.shape(), {strides_along(axes, result), strides_along(axes, table), strides_along(axes, from)},
          [&](const auto& at, std::int64_t n, const auto& steps) {
            for (std::int64_t i = 0; i < n; ++i) {
              const auto row = static_cast<std::int64_t>(table.data[index(at[1] + i * steps[1])]);
              if (row < 0 || row >= rows) {
                throw Error("input " + diagram.arrays[index(*dimension.table)].name,
                            "names row " + std::to_string(row) + " of " + array.name,
                            "from 0 to " + std::to_string(rows - 1));
              }
              result.data[index(at[0] + i * steps[0])] = from.data[index(at[2] + i * steps[2] + row * step)];
            }
          });
  return result;
}

template <class T>
std::vector<Block<T>> input_blocks(const Diagram& diagram, const Sizes& sizes, const Tensors& inputs,
                                   const std::vector<DType>& types) {
  std::vector<Block<T>> blocks(diagram.arrays.size());
  for (ArrayId id : diagram.inputs) {
    const Array& array = diagram.arrays[index(id)];
    Block<T>& block = blocks[index(id)];
    block = Block<T>(stored_axes(array), full_box(sizes), T(0));
    const std::vector<double>& data = inputs.at(array.name).data;
    for (std::size_t i = 0; i < data.size(); ++i) block.data[i] = static_cast<T>(round_to(types[index(id)], data[i]));
    for (const Reindex& dimension : array.reindexed) {
      if (dimension.table) block = gathered(diagram, dimension, array, block, blocks[index(*dimension.table)], sizes);
    }
  }
  return blocks;
}

template <class T>
Tensor tensor_of(const Block<T>& block) {
  return {block.shape(), std::vector<double>(block.data.begin(), block.data.end())};
}

/// Runs one operation as a kernel of its own, which reads all operands and writes all results.
template <class T>
void run_operation(const Question& question, OpId id, std::vector<Block<T>>& memory, const std::vector<DType>& types,
                   LevelCounts& level) {
  const Operation& op = question.operation(id);
  Meter meter;
  std::vector<const Block<T>*> inputs;
  // copies of inputs with shifted dimensions, rows where the operation expects them
  std::vector<Block<T>> read(op.inputs.size());
  const Box all = full_box(question.problem.sizes);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const Block<T>& block = memory[index(op.inputs[i])];
    inputs.push_back(&block);
    if (const Array& array = question.array(op.inputs[i]); is_shifted(array)) {
      Block<T> rows = rows_block<T>(array, all);
      copy_common(block, rows);
      read[i] = spread(array, rows, all);
      inputs.back() = &read[i];
    }
    if (std::find(op.inputs.begin(), op.inputs.begin() + static_cast<std::ptrdiff_t>(i), op.inputs[i]) !=
        op.inputs.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;  // the same array twice is loaded once
    }
    level.arrays[index(op.inputs[i])].loaded += block.volume();
    meter.allocate(block.volume(), block.volume());
  }
  meter.column(level);
  std::vector<Block<T>> results = evaluate(question, id, inputs, all);
  meter = Meter();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (question.diagram.consumers(op.outputs[i]).empty() && !question.diagram.is_output(op.outputs[i])) continue;
    round_all(types[index(op.outputs[i])], results[i]);
    level.arrays[index(op.outputs[i])].stored += results[i].volume();
    meter.allocate(results[i].volume(), results[i].volume());
    memory[index(op.outputs[i])] = std::move(results[i]);
  }
  meter.column(level);
}

template <class T>
Run unfused(const Diagram& diagram, const Problem& problem, const Tensors& inputs, const Precision& precision) {
  const std::vector<DType> types = types_of(diagram, nullptr, precision, Place::memory);
  std::vector<Block<T>> memory = input_blocks<T>(diagram, problem.sizes, inputs, types);
  Run run;
  run.counts.levels.push_back(empty_counts("low", diagram));
  run.counts.combine = empty_counts("combine", diagram);
  for (std::size_t i = 0; i < diagram.operations.size(); ++i) {
    run_operation(Question{diagram, problem}, static_cast<OpId>(i), memory, types, run.counts.levels[0]);
    run.counts.levels[0].groups += 1;
    for (ArrayId in : diagram.operations[i].inputs) {
      if (diagram.consumers(in).back() == static_cast<OpId>(i) && !diagram.is_output(in)) memory[index(in)] = {};
    }
  }
  for (ArrayId out : diagram.outputs) {
    run.outputs.emplace(diagram.arrays[index(out)].name, tensor_of(memory[index(out)]));
  }
  return run;
}

template <class T>
Run streamed_run(const Streamed& s, const Problem& problem, const Partition& partition, const Tensors& inputs,
                 const RunOptions& options) {
  Run run;
  run.counts.levels.push_back(empty_counts(options.level, s.diagram));
  for (const NestedLevel& level : options.nested) run.counts.levels.push_back(empty_counts(level.name, s.diagram));
  run.counts.combine = empty_counts("combine", s.diagram);
  Context<T> context{
      s,      Question{s.diagram, problem}, Schedule(s), {}, types_of(s.diagram, &s, options.precision, Place::group),
      options};
  context.levels.push_back({&partition, &run.counts.levels[0]});
  for (std::size_t i = 0; i < options.nested.size(); ++i) {
    context.levels.push_back({&options.nested[i].partition, &run.counts.levels[i + 1]});
  }
  const std::vector<DType> types = types_of(s.diagram, &s, options.precision, Place::memory);
  GlobalMemory<T> memory(s, problem.sizes, partition, input_blocks<T>(s.diagram, problem.sizes, inputs, types));
  const Box all = full_box(problem.sizes);
  std::int64_t done = 0, total = 0;
  for_groups(s, partition, all, [&](const Box&) { ++total; });
  for_groups(s, partition, all, [&](const Box& box) {
    const auto node = make_node<T>(context, 0, box, memory);
    node->head();
    if (s.stream) node->walk_stream(node->stream_range());
    node->tail();
    if (options.progress) options.progress(++done, total);
  });
  memory.combine(run.counts.combine);
  for (ArrayId out : s.diagram.outputs) {
    Block<T> block = memory.output(out);
    round_all(types[index(out)], block);
    run.outputs.emplace(s.diagram.arrays[index(out)].name, tensor_of(block));
  }
  return run;
}

}  // namespace

Run run_unfused(const Diagram& diagram, const Problem& problem, const Tensors& inputs, const Precision& precision) {
  check_question(diagram, problem, inputs);
  return in_float64(precision) ? unfused<double>(diagram, problem, inputs, precision)
                               : unfused<float>(diagram, problem, inputs, precision);
}

Run run_streamed(const Streamed& streamed, const Problem& problem, const Partition& partition, const Tensors& inputs,
                 const RunOptions& options) {
  check_question(streamed.diagram, problem, inputs);
  check_partitions(streamed, problem.sizes, partition, options);
  return in_float64(options.precision) ? streamed_run<double>(streamed, problem, partition, inputs, options)
                                       : streamed_run<float>(streamed, problem, partition, inputs, options);
}

}  // namespace napkin::internal
