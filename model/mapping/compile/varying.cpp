// The parts of a compiled mapping that knobs change: constant factors are multiplied, and tiles with equal guards share
// a variant.
#include <algorithm>

#include "model/mapping/asked.hpp"
#include "model/mapping/compile/compiled.hpp"

namespace napkin::internal {
/// Returns a block's extent of an axis, if no knob changes it.
std::optional<Count> Placer::Compiled::constant_extent(AxisId axis) const {
  if (axis == stream_) return std::nullopt;
  const Count size = problem_->sizes[at(axis)];
  for (const auto& [sized, number] : levels_[at(block_)].sizes) {
    if (sized != axis) continue;
    if (number.knob >= 0) return std::nullopt;
    return mapping_->exact_groups ? std::min(Count(number.literal), size) : Count(number.literal);
  }
  return size;
}

/// Multiplies the extents that no tile changes into one number.
void Placer::Compiled::fold_constants() {
  std::vector<std::optional<Count>> constant;
  for (std::size_t i = 0; i < streamed_->diagram.axes.size(); ++i)
    constant.push_back(constant_extent(static_cast<AxisId>(i)));
  const auto fold = [&](Extents& extents, const auto& varies) {
    std::erase_if(extents.axes, [&](AxisId axis) {
      if (extents.shifted != nullptr || !constant[at(axis)] || varies(axis)) return false;
      extents.constant *= *constant[at(axis)];
      extents.folded.push_back(axis);
      return true;
    });
    extents.streams = std::find(extents.axes.begin(), extents.axes.end(), stream_) != extents.axes.end();
  };
  const std::vector<AxisId> none;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    CompiledVariable& v = variables_[i];
    const bool divided = mapping_->variables[i].scope == Scope::agent && v.agent >= 0;
    const std::vector<AxisId>& splits = divided ? agents_[at(v.agent)].splits : none;
    for (Extents& held : v.held) {
      fold(held, [&](AxisId axis) {
        return std::find(splits.begin(), splits.end(), axis) != splits.end() ||
               std::any_of(v.sizes.begin(), v.sizes.end(), [&](const auto& size) { return size.first == axis; });
      });
      v.streams |= held.streams;
    }
  }
  const auto never = [](AxisId) { return false; };
  for (CompiledOperation& op : operations_) {
    for (Extents* extents : {&op.m, &op.n, &op.k}) fold(*extents, never);
    for (CompiledWork& work : op.work) fold(work.per, never);
  }
}

template <class Visit>
void Placer::Compiled::each_number(const Visit& visit) {
  const auto each = [&](auto& pairs) {
    for (auto& [key, number] : pairs) visit(number);
  };
  for (CompiledLevel& level : levels_) {
    each(level.sizes);
    if (level.chunk) visit(*level.chunk);
    if (level.parts) visit(*level.parts);
    visit(level.nodes);
  }
  for (CompiledAgent& agent : agents_) {
    for (GuardedNumber* numbers : {&agent.count, &agent.registers, &agent.overhead}) each(*numbers);
    visit(agent.threads);
    visit(agent.row_step);
    for (Number64& step : agent.split_steps) visit(step);
  }
  for (CompiledVariable& v : variables_) {
    each(v.copies);
    each(v.column_parts);
    each(v.sizes);
  }
  for (CompiledOperation& op : operations_) {
    if (op.waits) visit(*op.waits);
    each(op.row_parts);
    each(op.more_columns);
    for (CompiledWork& work : op.work) {
      each(work.per_chunk);
      if (work.counted) visit(*work.counted);
    }
  }
}

template <class Visit>
void Placer::Compiled::each_extents(const Visit& visit) {
  for (CompiledVariable& v : variables_) {
    for (Extents& held : v.held) visit(held);
  }
  for (CompiledOperation& op : operations_) {
    for (Extents* extents : {&op.m, &op.n, &op.k}) visit(*extents);
    for (CompiledWork& work : op.work) visit(work.per);
  }
}

void Placer::Compiled::rebind(const Problem& problem) {
  if (problem.dtype != problem_->dtype || problem.mask.kind != problem_->mask.kind)
    throw Error(mapping_->name, "a problem of another element type or kind of mask", "a placer of its own");
  problem_ = &problem;
  ++binding_;
  each_number([&](Number64& number) {
    if (number.axis >= 0) number.literal = held_size(*mapping_, streamed_->diagram, problem, number.axis).get();
    if (number.table != nullptr) number.base = base_of(*number.table);
  });
  // Which axes are constant depends on the mapping, not on the sizes.
  each_extents([&](Extents& extents) {
    extents.constant = 1;
    for (const AxisId axis : extents.folded) extents.constant *= *constant_extent(axis);
  });
}

void Placer::Compiled::find_dependences() {
  const auto of_all = [](const auto& sizes) {
    KnobSet knobs = 0;
    for (const auto& [axis, number] : sizes) knobs |= number.knobs();
    return knobs;
  };
  const auto of_guarded = [&](const GuardedNumber& numbers) {
    KnobSet knobs = of_all(numbers);
    for (const auto& [guard, number] : numbers) knobs |= knobs_of(*guard);
    return knobs;
  };
  bool stream_divided = false;
  for (const CompiledAgent& agent : agents_) {
    depends_.levels |= of_guarded(agent.count) | of_guarded(agent.registers) | of_guarded(agent.overhead);
    depends_.levels |= agent.threads.knobs() | agent.row_step.knobs();
    for (const Number64& step : agent.split_steps) depends_.levels |= step.knobs();
    stream_divided |= std::find(agent.splits.begin(), agent.splits.end(), stream_) != agent.splits.end();
  }
  for (const CompiledLevel& level : levels_) {
    depends_.levels |= of_all(level.sizes) | level.nodes.knobs();
    if (level.parts) depends_.levels |= level.parts->knobs() | (level.chunk ? level.chunk->knobs() : 0);
    if (level.chunk) (stream_divided ? depends_.levels : depends_.chunks) |= level.chunk->knobs();
  }
  for (const CompiledVariable& v : variables_) {
    depends_.parts |= of_all(v.sizes);
    depends_.copies |= of_guarded(v.copies) | of_guarded(v.column_parts);
    for (const Guard* guard : {v.multicast, v.unpermuted}) depends_.copies |= guard != nullptr ? knobs_of(*guard) : 0;
    if (v.divided != nullptr) depends_.parts |= knobs_of(*v.divided);
  }
  for (const CompiledOperation& op : operations_) {
    if (op.waits) depends_.chunks |= op.waits->knobs();
    depends_.levels |= of_guarded(op.row_parts) | of_guarded(op.more_columns);
    for (const CompiledWork& work : op.work)
      depends_.chunks |= of_all(work.per_chunk) | (work.counted ? work.counted->knobs() : 0);
  }
}

void Placer::Compiled::find_variants() {
  const auto tell = [&](const Guard& guard) {
    if (!guard.all.empty()) guards_.push_back(&guard);
    for (const auto& [knob, values] : guard.all) {
      auto found = std::find_if(told_.begin(), told_.end(), [&, k = knob](const Told& t) { return t.knob == k; });
      if (found == told_.end()) found = told_.insert(told_.end(), Told{knob, {}, 1});
      for (const std::int64_t v : values) {
        if (std::find(found->values.begin(), found->values.end(), v) == found->values.end()) found->values.push_back(v);
      }
    }
  };
  for (const VariableMapping& v : mapping_->variables) tell(v.when);
  for (const CompiledOperation& op : operations_) {
    for (const auto& [guard, instruction] : op.instruction) tell(*guard);
    if (op.swap_ab != nullptr) tell(*op.swap_ab);
    for (const auto& operand : op.operands) {
      for (const auto& [guard, variable] : operand) tell(*guard);
    }
    for (const CompiledWork& w : op.work) tell(w.mapping->when);
  }
  std::size_t cases = 1;
  for (Told& t : told_) {
    t.stride = cases;
    cases *= t.values.size() + 1;
    if (cases > 4096) throw Error(mapping_->file, "guards tell more than 4096 cases apart", "fewer knobs in 'when'");
  }
  variants_.resize(cases);
  made_ = std::make_unique<std::atomic<bool>[]>(cases);
}

void Placer::Compiled::make(std::size_t index, const Tile& tile) const {
  const std::lock_guard<std::mutex> lock(making_);
  if (!variants_[index]) variants_[index] = shared_variant(tile);
  made_[index].store(true, std::memory_order_release);
}

/// Returns the variant of a tile; tiles in which the same guards hold share it.
std::shared_ptr<const Variant> Placer::Compiled::shared_variant(const Tile& tile) const {
  std::vector<bool> held(guards_.size());
  for (std::size_t i = 0; i < guards_.size(); ++i) held[i] = holds(*guards_[i], tile);
  for (const auto& [known, variant] : distinct_) {
    if (known == held) return variant;
  }
  return distinct_.emplace_back(std::move(held), make_variant(tile)).second;
}

}  // namespace napkin::internal
