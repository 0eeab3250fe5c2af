// The parts of a placed diagram that depend on guards only: variables, and transfers of arrays between levels.
#include <algorithm>
#include <numeric>

#include "model/diagram/seen.hpp"
#include "model/mapping/compile/compiled.hpp"
#include "model/mapping/compile/ways.hpp"

namespace napkin::internal {
namespace {

bool has(std::span<const ArrayId> arrays, ArrayId array) {
  return std::find(arrays.begin(), arrays.end(), array) != arrays.end();
}

}  // namespace

class VariantMaker {
 public:
  VariantMaker(const Placer::Compiled& compiled, const Tile& tile)
      : c_(compiled), tile_(tile), d_(c_.streamed_->diagram) {}

  std::shared_ptr<const Variant> make() {
    reserve();
    add_variables();
    for (std::size_t i = 0; i < c_.operations_.size(); ++i) add_operation(static_cast<OpId>(i));
    if (c_.cores_) return with_ways();
    for (std::size_t i = 0; i < d_.arrays.size(); ++i) {
      const auto array = static_cast<ArrayId>(i);
      if (d_.is_input(array)) add_input(array);
      if (d_.producer(array)) add_result(array);
      if (d_.is_output(array) && d_.producer(array)) add_output(array);
    }
    for (std::size_t i = 0; i < c_.operations_.size(); ++i) add_reads(static_cast<OpId>(i));
    if (exchanges()) add_exchange();
    return std::make_shared<const Variant>(std::move(v_));
  }

 private:
  /// Makes the variant of a machine whose agents are cores: arrays are copied along the routes that the mapping lists.
  std::shared_ptr<const Variant> with_ways() {
    std::vector<int> positions(c_.machine_->levels.size(), -1);
    for (std::size_t i = 0; i < c_.levels_.size(); ++i) positions[at(c_.levels_[i].id)] = static_cast<int>(i);
    std::vector<LevelId> made_at;
    for (const CompiledOperation& op : c_.operations_) made_at.push_back(core_memory(op));
    Ways ways(*c_.streamed_, *c_.machine_, v_.variables, std::move(made_at));
    for (Crossing& c : ways.crossings(default_types())) {
      c.skips = c.skips && c_.across_.has_value() && c.phase == Phase::loop;
      const Combine* combine = c.store ? c_.streamed_->combine_of(c.array) : nullptr;
      c.parts = combine != nullptr && positions[at(c.into)] > c_.combine_->at;
      v_.crossings.push_back(c);
    }
    return std::make_shared<const Variant>(std::move(v_));
  }

  [[nodiscard]] LevelId core_memory(const CompiledOperation& op) const {
    return c_.machine_->core(c_.mapping_->agents[at(op.agent)].core)->level;
  }

  [[nodiscard]] std::vector<DType> default_types() const {
    std::vector<DType> out;
    for (std::size_t i = 0; i < d_.arrays.size(); ++i) out.push_back(default_type(static_cast<ArrayId>(i)));
    return out;
  }

  /// Reserves the arrays' and the operands' memory: spans point into it, so it must not move.
  void reserve() {
    std::size_t arrays = 0, operands = 0, work = 0;
    for (const CompiledVariable& v : c_.variables_) arrays += v.arrays.size();
    for (const CompiledOperation& op : c_.operations_) {
      operands += op.operands.size();
      work += op.work.size();
    }
    v_.variables.reserve(c_.variables_.size());
    v_.crossings.reserve(d_.arrays.size() * c_.levels_.size());  // routes add more only after these
    v_.operations.reserve(c_.operations_.size());
    v_.work.reserve(work);
    v_.arrays.reserve(arrays);
    v_.axes.reserve(c_.variables_.size());
    v_.operands.reserve(operands);
  }

  void add_variables() {
    placed_.assign(c_.variables_.size(), -1);
    for (std::size_t i = 0; i < c_.variables_.size(); ++i) {
      const VariableMapping& m = c_.mapping_->variables[i];
      if (!holds(m.when, tile_)) continue;
      const CompiledVariable& v = c_.variables_[i];
      placed_[i] = static_cast<int>(v_.variables.size());
      Variable out;
      out.mapping = static_cast<int>(i);
      out.arrays = {v_.arrays.data() + v_.arrays.size(), v.arrays.size()};
      v_.arrays.insert(v_.arrays.end(), v.arrays.begin(), v.arrays.end());
      if (!v.axes.empty()) out.axes = &v_.axes.emplace_back(v.axes);
      out.auxiliaries = v.auxiliaries;
      out.level = c_.levels_[at(v.position)].id;
      out.scope = m.scope;
      out.type = v.type;
      out.engine = m.engine;
      out.output_staging = m.output_staging;
      out.part = m.part;
      if (c_.cores_ && m.scope == Scope::agent) out.agent = v.agent;
      v_.variables.push_back(std::move(out));
    }
    for (Variable& v : v_.variables) {
      const int alias = c_.variables_[at(v.mapping)].alias;
      v.alias = alias < 0 ? -1 : placed_[at(alias)];
    }
    downward_.resize(v_.variables.size());
    std::iota(downward_.begin(), downward_.end(), 0);
    std::sort(downward_.begin(), downward_.end(),
              [&](int a, int b) { return position(a) != position(b) ? position(a) < position(b) : a < b; });
  }

  [[nodiscard]] int position(int variable) const {
    return c_.variables_[at(v_.variables[at(variable)].mapping)].position;
  }
  [[nodiscard]] bool streams(ArrayId array) const {
    return c_.streamed_->stream && d_.arrays[at(array)].has(*c_.streamed_->stream);
  }

  /// Returns the variables that hold the array for use, from the top level down. Valid until the next call.
  [[nodiscard]] const std::vector<int>& homes(ArrayId array) {
    homes_.clear();
    for (const int v : downward_) {
      if (!v_.variables[at(v)].output_staging && has(v_.variables[at(v)].arrays, array)) homes_.push_back(v);
    }
    return homes_;
  }

  [[nodiscard]] int staging_at(ArrayId array, int where) const {
    for (std::size_t i = 0; i < v_.variables.size(); ++i) {
      const Variable& v = v_.variables[i];
      if (v.output_staging && has(v.arrays, array) && position(static_cast<int>(i)) == where)
        return static_cast<int>(i);
    }
    return -1;
  }

  /// Returns the type of an array that no variable holds: an input has the question's, a result is kept in fp32 (on the
  /// abstract machine both count as values).
  [[nodiscard]] DType default_type(ArrayId array) const {
    return d_.is_input(array) || c_.machine_->tensor.empty() ? c_.problem_->dtype : DType::f32;
  }

  /// Returns true if a kernel's block that sees nothing does not load the input; the abstract machine's programs load
  /// it.
  [[nodiscard]] bool left_out(ArrayId array) const {
    return array >= 0 && d_.is_input(array) && !c_.machine_->tensor.empty() &&
           read_at_seen_pairs(d_, array, *c_.streamed_->skips);
  }

  Crossing& add(ArrayId array, int where, bool store, Phase phase, DType type) {
    Crossing out;
    out.array = array;
    out.into = c_.levels_[at(where)].id;
    out.store = store;
    out.phase = phase;
    out.type = type;
    out.skips = c_.across_.has_value() && (phase == Phase::loop || (phase == Phase::head && !store && left_out(array)));
    v_.crossings.push_back(out);
    return v_.crossings.back();
  }

  /// Adds an input's crossings: from device memory down through each level to the first variable that holds it, then on
  /// to further ones.
  void add_input(ArrayId array) {
    const Phase phase = streams(array) ? Phase::loop : Phase::head;
    const std::vector<int>& at_home = homes(array);
    int reached = -1;
    int source = -1;
    const auto fill = [&](int variable, int down_to) {
      for (int where = reached + 1; where <= down_to; ++where) {
        const DType type = source >= 0     ? v_.variables[at(source)].type
                           : variable >= 0 ? v_.variables[at(variable)].type
                                           : default_type(array);
        Crossing& c = add(array, where, false, phase, type);
        c.variable = variable;
        if (variable < 0) continue;
        c.fills = true;
        if (where == down_to || where == c_.cluster_) c.engine = v_.variables[at(variable)].engine;
      }
      reached = std::max(reached, down_to);
      source = variable;
    };
    for (const int variable : at_home) {
      const int where = position(variable);
      // A second variable of a level that an engine fills has the array in another layout: a copy of its own.
      if (where == reached && source >= 0 && v_.variables[at(variable)].engine != CopyEngine::none) reached = where - 1;
      if (where > reached) fill(variable, where);
    }
    if (at_home.empty()) fill(-1, c_.deepest_);
  }

  /// Adds a result's crossings: it is made at the deepest level; if its variable lies higher, it is stored there, and
  /// loaded again for every iteration that updates it.
  void add_result(ArrayId array) {
    const std::vector<int>& at_home = homes(array);
    const bool maintained = has(c_.streamed_->maintained, array);
    const Phase phase = c_.streamed_->operations[at(*d_.producer(array))].phase;
    const bool kept = std::any_of(at_home.begin(), at_home.end(), [&](int v) { return position(v) == c_.deepest_; });
    cross_beside(array, phase);
    for (const int variable : at_home) {
      for (int where = c_.deepest_; where > position(variable); --where) {
        const bool each_time = phase == Phase::loop && !streams(array) && !(kept && maintained);
        const Phase when = kept && maintained ? Phase::tail : phase;
        Crossing& up = add(array, where, true, when, v_.variables[at(variable)].type);
        up.reread = each_time;
        up.variable = variable;
        if (!maintained || kept) continue;
        Crossing& down = add(array, where, false, when, v_.variables[at(variable)].type);
        down.reread = each_time;
        down.variable = variable;
      }
    }
  }

  /// Adds the crossing of a result that is both in a memory beside the registers and in registers: computed by the
  /// matrix unit and read by threads, or the reverse.
  void cross_beside(ArrayId array, Phase phase) {
    int beside = -1;
    bool inside = false;
    for (const int v : homes(array)) (position(v) > c_.deepest_ ? void(beside = v) : void(inside = true));
    if (beside < 0 || !inside) return;
    const bool up = c_.operations_[at(*d_.producer(array))].tensor;
    add(array, position(beside), up, phase, v_.variables[at(beside)].type).variable = beside;
  }

  /// Adds an output's crossings up to device memory, through the staging variables on the way; a crossing has the type
  /// of the staging variable at its end.
  void add_output(ArrayId array) {
    const auto& statistics = c_.streamed_->statistics;
    if (exchanges() && std::find(statistics.begin(), statistics.end(), array) != statistics.end()) return;
    const std::vector<int>& at_home = homes(array);
    const int home = at_home.empty() ? -1 : at_home.back();
    const Phase phase = streams(array) ? Phase::loop : Phase::tail;
    DType type = home >= 0 ? v_.variables[at(home)].type : default_type(array);
    int from = home;
    for (int where = home >= 0 ? position(home) : c_.deepest_; where >= 0; --where) {
      if (const int here = staging_at(array, where); here >= 0) from = here;
      const int above = staging_at(array, where - 1);
      if (from >= 0) type = v_.variables[at(from)].type;
      Crossing& c = add(array, where, true, phase, above >= 0 ? v_.variables[at(above)].type : type);
      c.variable = above >= 0 ? above : from;
      if (above < 0 && from >= 0) c.engine = v_.variables[at(from)].engine;
      // A chunk of an output that the mask leaves out is still written, as zeros, unless the output is a sum of parts.
      const Combine* combine = c_.streamed_->combine_of(array);
      c.skips = c.skips && combine != nullptr && combine->kind == Combine::Kind::sum;
      c.parts = combine != nullptr && where > c_.combine_->at;
      c.combined_in_cluster = combine != nullptr && where == c_.combine_->at && where == c_.cluster_;
    }
  }

  /// Returns true if the groups of a split axis exchange parts of results, in place of storing them apart.
  [[nodiscard]] bool exchanges() const {
    return c_.combine_ &&
           (c_.combine_->by == CombineMapping::By::turns || c_.combine_->by == CombineMapping::By::barriers);
  }

  /// Adds the exchange of parts. Each block stores them at one level; the next block loads them all (turns), or, after
  /// a barrier, every block loads those that are no results.
  void add_exchange() {
    const bool turns = c_.combine_->by == CombineMapping::By::turns;
    for (const std::string& name : c_.mapping_->combine->values) {
      const auto array = d_.find_array(name);
      for (int where = c_.combine_->at + 1; where <= c_.deepest_; ++where) {
        if (!array) add_state(name, where, true);
        if (turns && array) {
          Crossing& c = add(*array, where, false, Phase::tail, stored_type(*array, where));
          c.parts = true;
        }
        if (!array) add_state(name, where, false);
      }
    }
  }

  void add_state(const std::string& name, int where, bool store) {
    const auto& all = c_.streamed_->auxiliaries;
    const auto found = std::find_if(all.begin(), all.end(), [&](const Auxiliary& a) { return a.name == name; });
    const DType type = c_.machine_->tensor.empty() ? c_.problem_->dtype : DType::f32;
    Crossing& c = add(-1, where, store, Phase::tail, type);
    c.auxiliary = static_cast<int>(found - all.begin());
    c.parts = true;
  }

  /// Returns the type in which the result crosses there on its way up.
  [[nodiscard]] DType stored_type(ArrayId array, int where) const {
    for (const Crossing& c : v_.crossings) {
      if (c.array == array && c.store && c.into == c_.levels_[at(where)].id) return c.type;
    }
    return default_type(array);
  }

  /// Returns the variable that an operand is read from: as the mapping says, else the lowest.
  [[nodiscard]] int operand_of(OpId id, std::size_t input) {
    for (const auto& [guard, variable] : c_.operations_[at(id)].operands[input]) {
      if (holds(*guard, tile_)) return placed_[at(variable)];
    }
    const std::vector<int>& at_home = homes(d_.operations[at(id)].inputs[input]);
    return at_home.empty() ? -1 : at_home.back();
  }

  /// Adds the reads of operands that lie above the deepest level: every instance reads them in every iteration.
  void add_reads(OpId id) {
    const Operation& op = d_.operations[at(id)];
    const Phase phase = c_.streamed_->operations[at(id)].phase;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const int variable = operand_of(id, i);
      if (variable < 0) continue;
      const ArrayId array = op.inputs[i];
      for (int where = position(variable) + 1; where <= c_.deepest_; ++where) {
        Crossing& c = add(array, where, false, phase, v_.variables[at(variable)].type);
        c.reread = phase == Phase::loop && !streams(array);
        c.variable = variable;
      }
    }
  }

  void add_operation(OpId id) {
    const CompiledOperation& op = c_.operations_[at(id)];
    PlacedOperation out;
    out.operation = id;
    out.phase = c_.streamed_->operations[at(id)].phase;
    out.agent = op.agent;
    out.tensor = op.tensor;
    for (const auto& [guard, instruction] : op.instruction) {
      if (out.instruction == nullptr && holds(*guard, tile_)) out.instruction = instruction;
    }
    out.operands = {v_.operands.data() + v_.operands.size(), op.operands.size()};
    const bool swapped = op.swapped(tile_);
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const std::size_t input = swapped ? op.operands.size() - 1 - i : i;
      const int variable = operand_of(id, input);
      const int where = variable >= 0 ? position(variable) : c_.deepest_;
      const bool in_its_core = variable < 0 && c_.cores_;
      v_.operands.emplace_back(d_.operations[at(id)].inputs[input],
                               in_its_core ? core_memory(op) : c_.levels_[at(where)].id);
      if (i == 0) out.a_from_registers = op.tensor && where > c_.block_;
    }
    out.work.reserve(op.work.size());
    for (const CompiledWork& work : op.work) {
      if (!holds(work.mapping->when, tile_)) continue;
      v_.work.push_back(&work);
      out.work.push_back({work.mapping, work.unit, 0});
    }
    v_.operations.push_back(std::move(out));
  }

  const Placer::Compiled& c_;
  const Tile& tile_;
  const Diagram& d_;
  Variant v_;
  std::vector<int> placed_;            // Mapping::variables -> Variant::variables
  std::vector<int> downward_, homes_;  // Variant::variables: all, by level; those of one array
};

std::shared_ptr<const Variant> Placer::Compiled::make_variant(const Tile& tile) const {
  return VariantMaker(*this, tile).make();
}

}  // namespace napkin::internal
