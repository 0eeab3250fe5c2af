#include "kernels/plans/placement_reader.hpp"

#include <algorithm>

#include "model/mapping/asked.hpp"
#include "model/mapping/tile.hpp"

namespace napkin::internal {
namespace {

std::uint64_t whole(std::int64_t value) { return static_cast<std::uint64_t>(value); }

}  // namespace

int PlacementReader::size(std::string_view axis) const {
  return to_int(placed_.problem->sizes[static_cast<std::size_t>(placed_.streamed->diagram.axis(axis))],
                "axis " + std::string(axis));
}

int PlacementReader::held(std::string_view axis) const {
  const Diagram& diagram = placed_.streamed->diagram;
  return to_int(held_size(*placed_.mapping, diagram, *placed_.problem, diagram.axis(axis)),
                "axis " + std::string(axis));
}

int PlacementReader::knob(std::string_view name) const {
  return to_int(value_of(*placed_.mapping, placed_.tile, name), std::string(name));
}

std::string_view PlacementReader::word(std::string_view name) const {
  const auto id = placed_.mapping->find_knob(name);
  const auto value = static_cast<std::size_t>(knob(name));
  const auto& words = placed_.mapping->knobs[static_cast<std::size_t>(*id)].words;
  require(value < words.size(), placed_.mapping->name, "knob '" + std::string(name) + "' is none of words",
          "the bundled mapping");
  return words[value];
}

const Slot* PlacementReader::find(std::string_view variable) const {
  for (const Slot& slot : plan_.shared) {
    const auto& mapped = placed_.variables[static_cast<std::size_t>(slot.variable)].mapping;
    if (placed_.mapping->variables[static_cast<std::size_t>(mapped)].name == variable) return &slot;
  }
  return nullptr;
}

int PlacementReader::offset(std::string_view variable) const {
  const Slot* slot = find(variable);
  require(slot != nullptr, placed_.mapping->name, "keeps no '" + std::string(variable) + "' in shared memory",
          "a variable of that name there");
  return to_int(slot->offset.value, std::string(variable));
}

int PlacementReader::column_parts(std::string_view variable) const {
  for (const Variable& v : placed_.variables) {
    if (placed_.mapping->variables[static_cast<std::size_t>(v.mapping)].name == variable)
      return to_int(v.column_parts, std::string(variable));
  }
  return 1;
}

int PlacementReader::end() const {
  Count last;
  for (const Slot& slot : plan_.shared) last = std::max(last, (slot.offset + slot.size).value);
  return to_int(round_up(last, 8), "shared memory");
}

int PlacementReader::registers(std::string_view agent) const {
  for (const PlacedAgent& a : placed_.agents) {
    if (placed_.mapping->agents[static_cast<std::size_t>(a.mapping)].name == agent && a.registers) {
      return to_int(*a.registers, "registers");
    }
  }
  throw Error(placed_.mapping->name, "sets no registers of agent '" + std::string(agent) + "'");
}

void PlacementReader::check(std::string_view kernel, const std::vector<DType>& types) const {
  require(placed_.mapping->name == kernel, placed_.mapping->name, "is not the mapping of this kernel",
          std::string(kernel));
  std::string names;
  for (const DType type : types) names += (names.empty() ? "" : " and ") + std::string(name_of(type));
  require(std::find(types.begin(), types.end(), placed_.problem->dtype) != types.end(), kernel, "takes " + names,
          types.size() > 1 ? "one of these" : "that type");
  for (const std::string& axis : placed_.mapping->padded) {
    require(size(axis) % 8 == 0, kernel, "takes no " + axis + " of " + std::to_string(size(axis)),
            "a multiple of 8: 16 bytes");
  }
  require(plan_.shared_total <= plan_.shared_limit, kernel,
          "a block needs " + std::to_string(shared_total()) + " bytes of shared memory, more than there are",
          "smaller tiles or fewer copies");
}

void require(bool holds, std::string_view where, const std::string& what, const std::string& right) {
  if (!holds) throw Error(std::string(where), what, right);
}

std::uint32_t span_of(int columns) { return columns % 64 == 0 ? 64 : columns % 32 == 0 ? 32 : 16; }

std::uint64_t aligned(const std::string& name, std::uint64_t address) {
  require(address % 16 == 0, name, "starts at an address that is no multiple of 16 bytes", "align it to 16 bytes");
  return address;
}

void bind_boxes(LaunchPlan& plan, std::initializer_list<std::pair<const char*, std::uint64_t>> arrays) {
  require(plan.boxes.size() == arrays.size(), plan.source, "has other boxes", "a plan of this program");
  auto box = plan.boxes.begin();
  for (const auto& [name, address] : arrays) (box++)->address = aligned(name, address);
}

TensorBox box_of(std::size_t offset, const std::string& name, DType type, const std::vector<std::int64_t>& sizes,
                 const std::vector<std::int64_t>& strides, std::vector<std::uint32_t> box) {
  TensorBox out{offset, 0, type, {}, {}, std::move(box), 0};
  out.sizes.reserve(sizes.size());
  out.strides.reserve(strides.size());
  for (const std::int64_t size : sizes) out.sizes.push_back(whole(size));
  out.swizzle = static_cast<int>(out.box[0]) * element_bytes;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::int64_t bytes = strides[i] * element_bytes;
    const bool used = out.sizes[i + 1] > 1;
    if (used && (bytes < 0 || bytes % 16 != 0 || bytes >= std::int64_t{1} << 40))
      throw Error(name, "has a stride of " + std::to_string(strides[i]) + " elements",
                  "a multiple of 8 elements, below 2^39");
    out.strides.push_back(used ? whole(bytes) : 16);
  }
  return out;
}

}  // namespace napkin::internal
