#include "model/island/devices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace napkin::internal {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Consecutive ranges of an axis.
struct Ranges {
  std::size_t dimension = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;  // first, past the last
  [[nodiscard]] std::int64_t size() const {
    std::int64_t sum = 0;
    for (const auto& [first, last] : parts) sum += last - first;
    return sum;
  }
};

/// Calls `each(index in whole, index in part)` for all elements of the ranges.
template <class Each>
void walk(const std::vector<std::int64_t>& whole, const Ranges& ranges, const Each& each) {
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < ranges.dimension; ++i) outer *= whole[i];
  for (std::size_t i = ranges.dimension + 1; i < whole.size(); ++i) inner *= whole[i];
  const std::int64_t length = whole[ranges.dimension];
  std::size_t at_part = 0;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const auto& [first, last] : ranges.parts) {
      for (std::int64_t k = first * inner; k < last * inner; ++k)
        each(static_cast<std::size_t>(o * length * inner + k), at_part++);
    }
  }
}

Tensor taken(const Tensor& whole, const Ranges& ranges) {
  Tensor out = filled(whole.shape, 0);
  out.shape[ranges.dimension] = ranges.size();
  out.data.resize(static_cast<std::size_t>(volume(out.shape)));
  walk(whole.shape, ranges, [&](std::size_t from, std::size_t to) { out.data[to] = whole.data[from]; });
  return out;
}

void put(Tensor& whole, const Ranges& ranges, const Tensor& part) {
  walk(whole.shape, ranges, [&](std::size_t to, std::size_t from) { whole.data[to] = part.data[from]; });
}

Count values(const Tensor& tensor) { return Count(tensor.data.size()); }

/// The diagram with the log-sum-exp of its softmax over the axis: the weight of a part of its results.
struct Weighted {
  Diagram diagram;
  ArrayId sum = -1;
};

Weighted with_log_sum_exp(const Diagram& diagram, AxisId axis) {
  Weighted out{diagram, -1};
  for (Operation& operation : out.diagram.operations) {
    if (operation.kind != OpKind::softmax || !operation.owns(axis) || operation.outputs.size() > 1) continue;
    Array sum{"log_sum_exp", {}, operation.location};
    for (const AxisId each : out.diagram.arrays[at(operation.outputs.front())].axes) {
      if (!operation.owns(each)) sum.axes.push_back(each);
    }
    out.sum = static_cast<ArrayId>(out.diagram.arrays.size());
    out.diagram.arrays.push_back(sum);
    operation.outputs.push_back(out.sum);
    out.diagram.outputs.push_back(out.sum);
  }
  if (out.sum < 0) throw Error(diagram.name, "has no softmax over " + diagram.axes[at(axis)].name, "one");
  check(out.diagram);
  return out;
}

class Devices {
 public:
  Devices(const Division& division, const Tensors& inputs) : d_(division), diagram_(division.split.diagram) {
    const auto p = static_cast<std::size_t>(d_.gpus);
    memory_.resize(p);
    run_.received.assign(p, std::vector<Count>(diagram_.arrays.size()));
    run_.work.assign(p, Count(0));
    for (const ArrayId id : diagram_.inputs) {
      for (std::int64_t gpu = 0; gpu < d_.gpus; ++gpu) {
        const Tensor& whole = inputs.at(array(id).name);
        const auto home = d_.split.home(id);
        memory_[as(gpu)][array(id).name] = home ? taken(whole, ranges(id, *home, gpu)) : whole;
      }
    }
  }
  DevicesRun run() {
    if (d_.split.stream) {
      go_round();
    } else {
      for (const ArrayId id : diagram_.inputs) spread(id);
      for (std::int64_t gpu = 0; gpu < d_.gpus; ++gpu) compute(gpu);
      for (const ArrayId id : diagram_.outputs) gather_output(id);
    }
    for (const ArrayId id : diagram_.outputs) collect(id);
    return std::move(run_);
  }

 private:
  static std::size_t as(std::int64_t gpu) { return static_cast<std::size_t>(gpu); }
  [[nodiscard]] const Array& array(ArrayId id) const { return diagram_.arrays[at(id)]; }
  [[nodiscard]] std::int64_t size(AxisId axis) const { return d_.problem.sizes[at(axis)].get(); }
  Count& received(std::int64_t gpu, ArrayId id) { return run_.received[as(gpu)][at(id)]; }

  /// Returns the ranges of an array's axis that are a GPU's parts.
  [[nodiscard]] Ranges ranges(ArrayId id, AxisId axis, std::int64_t gpu) const {
    const auto& axes = array(id).axes;
    Ranges out{static_cast<std::size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin()), {}};
    const std::int64_t part = size(axis) / d_.cuts();
    for (const std::int64_t each : d_.parts_of(gpu)) out.parts.emplace_back(each * part, (each + 1) * part);
    return out;
  }

  /// Sends each GPU the part of the array that its work touches, before the work.
  void spread(ArrayId id) {
    const AxisId group = d_.split.group;
    const auto home = d_.split.home(id);
    const bool parted = array(id).has(group);
    if (!home && !parted) return;
    std::vector<Tensor> arrived;
    for (std::int64_t gpu = 0; gpu < d_.gpus; ++gpu) {
      if (!home) {
        arrived.push_back(taken(memory_[as(gpu)][array(id).name], ranges(id, group, gpu)));
        continue;
      }
      Tensor whole = filled(shape_of(array(id), d_.problem.sizes), std::nan(""));
      for (std::int64_t from = 0; from < d_.gpus; ++from) {
        if (parted && *home == group && from != gpu) continue;
        const Tensor& there = memory_[as(from)][array(id).name];
        const bool cut = parted && *home != group;
        const Tensor sent = cut ? taken(there, ranges(id, group, gpu)) : there;
        if (from != gpu) received(gpu, id) += values(sent);
        Tensor place = taken(whole, ranges(id, *home, from));
        if (cut) put(place, ranges(id, group, gpu), sent);
        put(whole, ranges(id, *home, from), cut ? place : sent);
      }
      arrived.push_back(parted ? taken(whole, ranges(id, group, gpu)) : whole);
    }
    for (std::int64_t gpu = 0; gpu < d_.gpus; ++gpu) memory_[as(gpu)][array(id).name] = arrived[as(gpu)];
  }

  void compute(std::int64_t gpu) {
    const auto steps = steps_of(d_, gpu);
    Run local = run_unfused(diagram_, steps.front().front().problem, memory_[as(gpu)]);
    run_.work[as(gpu)] = pairs_of(d_, steps);
    memory_[as(gpu)] = std::move(local.outputs);
  }

  /// Sends each GPU its home part of an output after the work, adding up partial results.
  void gather_output(ArrayId id) {
    const std::string& name = array(id).name;
    const AxisId group = d_.split.group;
    const auto home = d_.split.home(id);
    std::vector<Tensor> made;
    for (auto& memory : memory_) made.push_back(memory[name]);
    if (array(id).has(group)) {
      for (std::int64_t gpu = 0; gpu < d_.gpus; ++gpu) {
        Tensor whole = filled(shape_of(array(id), d_.problem.sizes), std::nan(""));
        for (std::int64_t from = 0; from < d_.gpus; ++from) {
          if (home == group && from != gpu) continue;
          const bool cut = home && *home != group;
          const Tensor sent = cut ? taken(made[as(from)], ranges(id, *home, gpu)) : made[as(from)];
          if (from != gpu) received(gpu, id) += values(sent);
          Tensor place = taken(whole, ranges(id, group, from));
          if (cut) put(place, ranges(id, *home, gpu), sent);
          put(whole, ranges(id, group, from), cut ? place : sent);
        }
        memory_[as(gpu)][name] = home ? taken(whole, ranges(id, *home, gpu)) : whole;
      }
      return;
    }
    reduce(id, home, made);
  }

  /// Adds up each GPU's share of the partial results; if every GPU keeps all, sends the shares to everyone.
  void reduce(ArrayId id, std::optional<AxisId> home, const std::vector<Tensor>& made) {
    const std::string& name = array(id).name;
    Tensor flat = filled({volume(made.front().shape)}, 0);
    const std::int64_t elements = flat.shape.front();
    for (std::int64_t gpu = 0; gpu < d_.gpus; ++gpu) {
      const Ranges share{0, {{gpu * elements / d_.gpus, (gpu + 1) * elements / d_.gpus}}};
      Tensor sum = home ? taken(filled(made.front().shape, 0), ranges(id, *home, gpu)) : taken(flat, share);
      for (std::int64_t from = 0; from < d_.gpus; ++from) {
        Tensor there = made[as(from)];
        if (!home) there.shape = flat.shape;
        const Tensor sent = taken(there, home ? ranges(id, *home, gpu) : share);
        if (from != gpu) received(gpu, id) += values(sent);
        for (std::size_t i = 0; i < sum.data.size(); ++i) sum.data[i] += sent.data[i];
      }
      if (home) {
        memory_[as(gpu)][name] = std::move(sum);
        continue;
      }
      put(flat, share, sum);
      for (std::int64_t to = 0; to < d_.gpus; ++to) {
        if (to != gpu) received(to, id) += values(sum);
      }
    }
    if (home) return;
    flat.shape = made.front().shape;
    for (auto& memory : memory_) memory[name] = flat;
  }

  /// Runs a ring: in each step every GPU works on its block, then sends it to the next GPU.
  void go_round() {
    const AxisId stream = *d_.split.stream;
    const Weighted weighted = with_log_sum_exp(diagram_, stream);
    std::vector<Tensors> results(memory_.size());
    for (std::int64_t t = 0; t < d_.gpus; ++t) {
      for (std::int64_t gpu = 0; gpu < d_.gpus; ++gpu) step(weighted, gpu, t, results[as(gpu)]);
      if (t + 1 < d_.gpus) pass_on();
    }
    for (std::size_t gpu = 0; gpu < memory_.size(); ++gpu) memory_[gpu] = std::move(results[gpu]);
  }

  void pass_on() {
    for (const ArrayId id : diagram_.inputs) {
      if (!array(id).has(*d_.split.stream)) continue;
      const std::string& name = array(id).name;
      Tensor last = memory_.back()[name];
      for (std::int64_t gpu = 0; gpu < d_.gpus; ++gpu) {
        std::swap(last, memory_[as(gpu)][name]);
        received(gpu, id) += values(memory_[as(gpu)][name]);
      }
    }
  }

  /// Returns the operands of a launch: the GPU's rows, from their end, and the block's columns, from their start.
  [[nodiscard]] Tensors operands(std::int64_t gpu, const DeviceLaunch& launch) const {
    Tensors out;
    for (const ArrayId id : diagram_.inputs) {
      const Tensor& tensor = memory_[as(gpu)].at(array(id).name);
      out[array(id).name] = taken(tensor, window(id, launch));
    }
    return out;
  }
  [[nodiscard]] Ranges window(ArrayId id, const DeviceLaunch& launch) const {
    const auto& axes = array(id).axes;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t local = size(axes[i]) / d_.gpus, taken_of_it = launch.problem.sizes[at(axes[i])].get();
      if (axes[i] == d_.split.group) return {i, {{local - taken_of_it, local}}};
      if (axes[i] == *d_.split.stream) return {i, {{0, taken_of_it}}};
    }
    return {0, {{0, launch.problem.sizes[at(axes.front())].get()}}};
  }

  void step(const Weighted& weighted, std::int64_t gpu, std::int64_t t, Tensors& results) {
    Sizes local = d_.problem.sizes;
    local[at(d_.split.group)] = local[at(d_.split.group)] / Count(d_.gpus);
    if (t == 0) {
      for (const ArrayId id : weighted.diagram.outputs) {
        const Array& out = weighted.diagram.arrays[at(id)];
        results[out.name] = filled(shape_of(out, local), id == weighted.sum ? -infinity : 0);
      }
    }
    const auto steps = steps_of(d_, gpu);
    for (const DeviceLaunch& launch : steps[as(t)]) {
      const Run part = run_unfused(weighted.diagram, launch.problem, operands(gpu, launch));
      merge(weighted, launch, part.outputs, results);
    }
    if (d_.masked()) run_.work[as(gpu)] += pairs_of(d_, {steps[as(t)]});
  }

  /// Merges the launch's rows: O = (O e^L + O' e^L') / (e^L + e^L'). (eq. 19.2)
  void merge(const Weighted& weighted, const DeviceLaunch& launch, const Tensors& part, Tensors& results) const {
    const Array& sums = weighted.diagram.arrays[at(weighted.sum)];
    const auto rows_of = [&](const Array& of) {
      const auto at_axis = std::find(of.axes.begin(), of.axes.end(), d_.split.group) - of.axes.begin();
      const std::int64_t local = size(d_.split.group) / d_.gpus;
      return Ranges{static_cast<std::size_t>(at_axis),
                    {{local - launch.problem.sizes[at(d_.split.group)].get(), local}}};
    };
    const Tensor& added = part.at(sums.name);
    const Tensor before = taken(results.at(sums.name), rows_of(sums));
    Tensor after = before;
    for (std::size_t i = 0; i < after.data.size(); ++i) {
      const double most = std::max(before.data[i], added.data[i]);
      if (most > -infinity)
        after.data[i] = most + std::log(std::exp(before.data[i] - most) + std::exp(added.data[i] - most));
    }
    for (const ArrayId id : diagram_.outputs) {
      const Array& out = array(id);
      Tensor kept = taken(results.at(out.name), rows_of(out));
      const std::size_t each = kept.data.size() / after.data.size();  // values of a row
      for (std::size_t i = 0; i < kept.data.size(); ++i) {
        const std::size_t row = i / each;
        if (after.data[row] == -infinity) continue;
        kept.data[i] = kept.data[i] * std::exp(before.data[row] - after.data[row]) +
                       part.at(out.name).data[i] * std::exp(added.data[row] - after.data[row]);
      }
      put(results.at(out.name), rows_of(out), kept);
    }
    put(results.at(sums.name), rows_of(sums), after);
  }

  void collect(ArrayId id) {
    const auto home = d_.split.home(id);
    Tensor whole =
        home ? filled(shape_of(array(id), d_.problem.sizes), std::nan("")) : memory_.front().at(array(id).name);
    for (std::int64_t gpu = 0; home && gpu < d_.gpus; ++gpu)
      put(whole, ranges(id, *home, gpu), memory_[as(gpu)].at(array(id).name));
    run_.outputs[array(id).name] = std::move(whole);
  }

  const Division& d_;
  const Diagram& diagram_;
  std::vector<Tensors> memory_;  // memory by GPU
  DevicesRun run_;
};

}  // namespace

DevicesRun run_devices(const Division& division, const Tensors& inputs) { return Devices(division, inputs).run(); }

}  // namespace napkin::internal
