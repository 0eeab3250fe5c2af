// The ideal mapping, which is no kernel's, and the roles that a mapping gives to the axes.
#include <algorithm>
#include <array>
#include <iterator>

#include "model/mapping/read/load.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 20;     // size of a group
constexpr std::array<std::int64_t, 3> steps = {8, 16, 32};  // smallest sizes that instructions and transfers take

/// Returns sizes up to `most` for a search: powers of two, and multiples of 16 up to 512; or powers of 2^bits alone and
/// the smallest sizes that instructions take. Any other size can be placed too.
std::vector<std::int64_t> sizes_up_to(std::int64_t most, int bits) {
  std::vector<std::int64_t> out;
  for (std::int64_t v = 1; v <= most; v <<= std::max(bits, 1)) out.push_back(v);
  for (std::int64_t v = 16; v <= std::min<std::int64_t>(most, 512) && bits == 0; v += 16) out.push_back(v);
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(out), [&](std::int64_t step) { return step <= most; });
  out.push_back(most);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Returns sizes of an axis for a search: none that is larger than the axis, unless it pads the axis to whole
/// instructions.
std::vector<std::int64_t> sizes_of(std::int64_t axis, bool typed, int bits) {
  const std::int64_t size = std::min(axis, largest);
  std::vector<std::int64_t> out = sizes_up_to(size, bits);
  if (!typed) return out;
  for (const std::int64_t step : steps) {
    const std::int64_t padded = (size + step - 1) / step * step;
    if (std::find(out.begin(), out.end(), padded) == out.end()) out.push_back(padded);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Returns the level that holds a group: the execution units' own, or the nearest above it whose capacity is known.
LevelId home_of(const Machine& machine) {
  LevelId level = machine.compute > 0 ? machine.compute : static_cast<LevelId>(machine.levels.size()) - 1;
  while (level > 0 && !machine.levels[static_cast<std::size_t>(level)].capacity.known()) {
    level = machine.levels[static_cast<std::size_t>(level)].parent;
  }
  if (level <= 0) throw Error(machine.name, "no level below device memory says what it holds", "a capacity");
  return level;
}

/// Returns the steps of the knobs' values, in bits, fine enough and few enough to try all combinations (a convolution
/// chooses five sizes): every multiple of 16 (0), powers of 2 (1), powers of 4 (2) or
/// powers of 8 (3).
int bits_of_steps(const Streamed& streamed, const Sizes& sizes) {
  constexpr double most_tiles = 1 << 17;
  for (int bits = 0;; ++bits) {
    double tiles = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto axis = static_cast<AxisId>(i);
      const auto values = static_cast<double>(sizes_up_to(std::min(sizes[i].get(), largest), bits).size());
      if (streamed.grouped(axis)) tiles *= values;
      if (streamed.stream == axis) tiles *= values;
    }
    if (tiles <= most_tiles || std::int64_t{1} << bits > largest) return bits;
  }
}

/// Adds a knob for the group of each grouped axis and for the chunk of the streamed axis, all at one level.
void add_axes(const Streamed& streamed, const std::string& home, const Sizes* sizes, bool typed, Mapping& m) {
  const Diagram& diagram = streamed.diagram;
  const int bits = sizes != nullptr ? bits_of_steps(streamed, *sizes) : 0;
  LevelMapping level;
  level.level = home;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    const bool streams = streamed.stream == axis;
    if (!streams && !streamed.grouped(axis)) continue;
    Knob knob;
    knob.name = diagram.axes[i].name;
    knob.unit = "elements";
    knob.domain = sizes != nullptr ? sizes_of((*sizes)[i].get(), typed, bits) : sizes_up_to(65536, 0);
    if (streamed.grouped(axis)) {
      level.group.push_back(diagram.axes[i].name);
      knob.about = "elements of a group";
      m.knobs.push_back(knob);
      // name of the part's knob; the chunk's has the axis's own name
      if (streams) m.knobs.back().name = home + "." + knob.name;
    }
    if (streams) {
      level.stream.push_back(diagram.axes[i].name);
      knob.about = "elements of a loop iteration";
      m.knobs.push_back(std::move(knob));
    }
  }
  m.levels.push_back(std::move(level));
}

/// Adds a variable for each array, another for an output that is stored in another type, and one for each auxiliary.
/// `typed`: a real machine accumulates in fp32; the abstract machine counts values.
void add_variables(const Streamed& streamed, const std::string& home, bool typed, Mapping& m) {
  const Diagram& diagram = streamed.diagram;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(i);
    VariableMapping v;
    v.name = diagram.arrays[i].name;
    v.of = {v.name};
    v.level = home;
    const std::string type = typed && diagram.arrays[i].type ? std::string(name_of(*diagram.arrays[i].type)) : "T";
    v.type = typed && !diagram.is_input(id) && diagram.is_output(id) ? "f32" : type;
    m.variables.push_back(v);
    if (!typed || !diagram.is_output(id) || diagram.is_input(id)) continue;
    v.alias = v.name;
    v.name += "_out";
    v.type = type;
    v.output_staging = true;
    m.variables.push_back(std::move(v));
  }
  for (const Auxiliary& a : streamed.auxiliaries) {
    VariableMapping v;
    v.name = a.name;
    v.of = {a.name};
    v.level = home;
    v.type = typed ? "f32" : "T";
    m.variables.push_back(std::move(v));
  }
}

Mapping ideal(const Streamed& streamed, const Machine& machine, const Sizes* sizes) {
  const bool typed = !machine.tensor.empty();
  const std::string home = machine.levels[static_cast<std::size_t>(home_of(machine))].name;
  Mapping m;
  m.name = "ideal";
  m.about = "every array at the lowest level that holds it";
  m.algorithm = streamed.diagram.name;
  m.runs_on = {machine.architecture};
  m.file = "the ideal mapping";
  m.masks = {Mask::Kind::none, Mask::Kind::causal, Mask::Kind::window, Mask::Kind::prefix};
  m.exact_groups = true;
  add_axes(streamed, home, sizes, typed, m);
  Agent agent;
  agent.name = "group";
  agent.count = {{Guard{}, Value{}}};
  agent.count[0].second.literal = 1;
  agent.threads.literal = 1;
  m.agents.push_back(std::move(agent));
  add_variables(streamed, home, typed, m);
  for (const Operation& op : streamed.diagram.operations) {
    OperationMapping o;
    o.output = streamed.diagram.arrays[static_cast<std::size_t>(op.outputs[0])].name;
    o.agent = "group";
    o.unit = typed && op.kind == OpKind::contract ? "tensor" : "vector";
    o.type = "T";
    m.operations.push_back(std::move(o));
  }
  return m;
}

}  // namespace

Mapping ideal_mapping(const Streamed& streamed, const Machine& machine) { return ideal(streamed, machine, nullptr); }

Mapping ideal_mapping(const Streamed& streamed, const Machine& machine, const Sizes& sizes) {
  return ideal(streamed, machine, &sizes);
}

std::vector<AxisRole> mapped_roles(const Mapping& mapping, const Diagram& diagram) {
  std::vector<AxisRole> roles(diagram.axes.size(), AxisRole::whole);
  std::optional<std::size_t> stream;
  for (const LevelMapping& level : mapping.levels) {
    for (const std::string& axis : level.stream) {
      const auto id = static_cast<std::size_t>(diagram.axis(axis));
      if (stream && *stream != id) {
        throw Error(level.location, "levels." + level.level + ".stream",
                    "'" + axis + "' and '" + diagram.axes[*stream].name + "' both stream", "one axis");
      }
      stream = id;
      roles[id] = AxisRole::stream;
    }
  }
  for (const LevelMapping& level : mapping.levels) {
    for (const std::string& axis : level.group) roles[static_cast<std::size_t>(diagram.axis(axis))] = AxisRole::group;
  }
  return roles;
}

}  // namespace napkin::internal
