#include "model/mapping/compile/ways.hpp"

#include <algorithm>
#include <iterator>

#include "model/mapping/compile/compiled.hpp"

namespace napkin::internal {

bool Ways::streams(ArrayId array) const { return s_.stream && d_.arrays[at(array)].has(*s_.stream); }

bool Ways::holds(int variable, ArrayId array) const {
  const auto& arrays = variables_[at(variable)].arrays;
  return std::find(arrays.begin(), arrays.end(), array) != arrays.end();
}

/// Returns the variables that hold the array, in listed order.
std::vector<int> Ways::homes(ArrayId array, bool staging) const {
  std::vector<int> out;
  for (int v = 0; v < static_cast<int>(variables_.size()); ++v) {
    if (variables_[at(v)].output_staging == staging && holds(v, array)) out.push_back(v);
  }
  return out;
}

/// Returns true if other variables use its storage, so that its content must be loaded again in every iteration.
bool Ways::shares(int variable) const {
  if (variables_[at(variable)].alias >= 0) return true;
  return std::any_of(variables_.begin(), variables_.end(), [&](const Variable& v) { return v.alias == variable; });
}

bool Ways::is_above(LevelId above, LevelId level) const {
  while (level > above) level = m_.levels[at(level)].parent;
  return level == above;
}

int Ways::pipe_index(LevelId from, LevelId to) const {
  const Pipe* pipe = m_.pipe_between(from, to);
  return pipe == nullptr ? -1 : static_cast<int>(pipe - m_.pipes.data());
}

void Ways::cross(const Trip& trip, LevelId into, bool store, int pipe, int variable) {
  Crossing c;
  c.array = trip.array;
  c.into = into;
  c.store = store;
  c.phase = trip.phase;
  const bool cached = m_.levels[at(into)].kind == LevelKind::cache;  // a cache has the array when it is read again
  c.reread = trip.phase == Phase::loop && trip.each_time && !streams(trip.array) && !cached;
  c.type = trip.type;
  c.fills = !store;
  c.variable = variable;
  c.pipe = pipe;
  // A chunk of an output that the mask leaves out is still written, as zeros, unless the output is a sum of parts.
  const Combine* combine = s_.combine_of(trip.array);
  c.skips = !trip.output || trip.each_time || (combine != nullptr && combine->kind == Combine::Kind::sum);
  out_.push_back(c);
}

void Ways::go(Trip trip, Stop from, Stop to) {
  LevelId here = from.level;
  while (here != to.level) {
    const int pipe = pipe_index(here, to.level);
    if (pipe >= 0) {
      const bool up = is_above(to.level, here);
      cross(trip, up ? here : to.level, up, pipe, up ? from.variable : to.variable);
      return;
    }
    if (!is_above(here, to.level)) {  // up: by a pipe that leads as far as possible
      LevelId above = m_.levels[at(here)].parent;
      for (LevelId high = 0; high < above; ++high) {
        if (is_above(high, here) && pipe_index(here, high) >= 0 &&
            (is_above(high, to.level) || is_above(to.level, high)))
          above = high;
      }
      cross(trip, here, true, pipe_index(here, above), from.variable);
      if (trip.output) trip.each_time = false;  // the parts are added up there, so one result goes on
      here = above;
      continue;
    }
    LevelId below = to.level;
    while (m_.levels[at(below)].parent != here) below = m_.levels[at(below)].parent;
    cross(trip, below, false, pipe_index(here, below), to.variable);
    here = below;
  }
}

std::optional<Ways::Stop> Ways::source(const std::vector<int>& before, LevelId to) const {
  for (auto v = before.rbegin(); v != before.rend(); ++v) {
    const LevelId level = variables_[at(*v)].level;
    if (level == to || pipe_index(level, to) >= 0) return Stop{level, *v};
  }
  return std::nullopt;
}

void Ways::input(ArrayId array) {
  std::vector<int> before;
  for (const int v : homes(array, false)) {
    const bool anew = shares(v);
    const Phase phase = streams(array) || anew ? Phase::loop : Phase::head;
    const Variable& home = variables_[at(v)];
    std::vector<int> elsewhere;  // variables after the first one at a level, each filled from the source of the first
    std::copy_if(before.begin(), before.end(), std::back_inserter(elsewhere),
                 [&](int other) { return variables_[at(other)].level != home.level; });
    go({array, phase, anew, false, home.type}, source(elsewhere, home.level).value_or(Stop{}), {home.level, v});
    before.push_back(v);
  }
  if (before.empty())
    throw Error(d_.name, "no variable holds '" + d_.arrays[at(array)].name + "'", "arrays: in a memory of the core");
}

void Ways::result(ArrayId array, DType type) {
  const Phase made = s_.operations[at(*d_.producer(array))].phase;
  std::vector<int> before;
  Stop last;
  for (const int v : homes(array, false)) {
    const Variable& home = variables_[at(v)];
    if (!before.empty()) {
      const Stop from = source(before, home.level).value_or(last);
      const Variable& sender = variables_[at(from.variable)];
      const bool loop = made == Phase::loop && (streams(array) || sender.part);
      const Phase otherwise = made == Phase::loop ? Phase::tail : made;
      go({array, loop ? Phase::loop : otherwise, sender.part, false, sender.type}, from, {home.level, v});
    }
    before.push_back(v);
    last = {home.level, v};
    type = home.type;
  }
  if (!d_.is_output(array)) return;
  if (before.empty()) last.level = made_at_[at(*d_.producer(array))];
  // true if it is added to what other groups have stored
  const bool part = last.variable >= 0 && variables_[at(last.variable)].part;
  const Phase phase = streams(array) || part ? Phase::loop : Phase::tail;
  const std::vector<int> leaving = homes(array, true);
  if (part && std::none_of(leaving.begin(), leaving.end(), [&](int v) { return adds(variables_[at(v)].engine); }))
    throw Error(d_.name, "the parts of '" + d_.arrays[at(array)].name + "' that leave are added up by nothing",
                "arrays: a staging variable of it with engine: atomic, or one that holds the sum");
  for (const int v : leaving) {
    type = variables_[at(v)].type;
    go({array, phase, part, true, type}, last, {variables_[at(v)].level, v});
    last = {variables_[at(v)].level, v};
  }
  go({array, phase, part, true, type}, last, {});
}

std::vector<Crossing> Ways::crossings(std::span<const DType> types) {
  for (std::size_t i = 0; i < d_.arrays.size(); ++i) {
    const auto array = static_cast<ArrayId>(i);
    if (d_.is_input(array)) input(array);
    if (d_.producer(array)) result(array, types[i]);
  }
  return std::move(out_);
}

bool goes_ways(const PlacedDiagram& placed) {
  return std::any_of(placed.mapping->agents.begin(), placed.mapping->agents.end(),
                     [](const Agent& agent) { return !agent.core.empty(); });
}

namespace {

/// Returns true for a memory of the compute node that holds neither its threads' registers nor all data of its blocks.
bool beside_registers(const Machine& machine, LevelId level) {
  return machine.cores.empty() && level > 0 && machine.levels[at(level)].parent == machine.compute &&
         machine.levels[at(level)].kind == LevelKind::ordinary && machine.find_level("registers") != level;
}

bool lies_at(const Mapping& mapping, const std::string& level) {
  return std::any_of(mapping.variables.begin(), mapping.variables.end(),
                     [&](const VariableMapping& v) { return v.level == level; });
}

}  // namespace

bool is_beside(const PlacedDiagram& placed, LevelId level) { return beside_registers(*placed.machine, level); }

bool uses_side_memory(const Mapping& mapping, const Machine& machine) {
  for (LevelId id = 1; id < static_cast<LevelId>(machine.levels.size()); ++id) {
    if (beside_registers(machine, id) && lies_at(mapping, machine.levels[at(id)].name)) return true;
  }
  return false;
}

/// Appends the memories that are not in the chain of levels, such as a core's, in the order of the machine's levels.
void Placer::Compiled::compile_beside() {
  cores_ = std::any_of(mapping_->agents.begin(), mapping_->agents.end(),
                       [](const Agent& agent) { return !agent.core.empty(); });
  for (LevelId id = 1; id < static_cast<LevelId>(machine_->levels.size()); ++id) {
    const std::string& name = machine_->levels[at(id)].name;
    const bool beside = cores_ ? machine_->core_of(id) != nullptr : beside_registers(*machine_, id);
    if (position_of(name) || !beside || !lies_at(*mapping_, name)) continue;
    levels_.emplace_back();
    levels_.back().id = id;
  }
  for (CompiledLevel& level : levels_) level.agent = agent_at(level.id);
}

/// Returns the agent whose core's memory that level is; -1: none.
int Placer::Compiled::agent_at(LevelId level) const {
  const Core* core = cores_ ? machine_->core_of(level) : nullptr;
  for (std::size_t a = 0; core != nullptr && a < mapping_->agents.size(); ++a) {
    if (mapping_->agents[a].core == core->name) return static_cast<int>(a);
  }
  return -1;
}

}  // namespace napkin::internal
