#include "kernels/reference/attention_dump.hpp"

#include <algorithm>
#include <bit>

#include "kernels/jit/failure.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 32;  // bytes of a dump at most, on the device and in files

/// The range of a tile on each axis.
using Box = std::vector<Span>;

AttentionDump columns_of(const PlacedDiagram& placed) {
  const AxisId dv = placed.streamed->diagram.axis("dv");
  return attention_dump(to_int(placed.block().chunk, "keys of a chunk"), to_int(placed.block().extent[at(dv)], "dv"));
}

/// An array or auxiliary, and its first column.
struct Named {
  std::string name;
  std::vector<AxisId> axes;
  int column = 0;
};

std::vector<Named> all_named(const PlacedDiagram& placed) {
  const Streamed& streamed = *placed.streamed;
  const AttentionDump columns = columns_of(placed);
  std::vector<Named> out;
  for (const auto& [name, column] : {std::pair{"S", columns.s}, {"P", columns.p}, {"O", columns.o}}) {
    out.push_back({name, streamed.diagram.arrays[at(streamed.diagram.array(name))].axes, column});
  }
  for (const auto& [name, column] : {std::pair{"mu", columns.mu}, {"delta", columns.delta}, {"z", columns.z}}) {
    for (const Auxiliary& auxiliary : streamed.auxiliaries) {
      if (auxiliary.name == name) out.push_back({name, auxiliary.axes, column});
    }
  }
  return out;
}

/// A tile: its groups' indices on the grouped axes, and its range of every axis.
struct Place {
  std::vector<std::int64_t> group;
  Box box;
};

Place place_of(const PlacedDiagram& placed, std::int64_t tile) {
  const PlacedLevel& block = placed.block();
  const std::size_t axes = placed.problem->sizes.size();
  Place out;
  out.box.resize(axes);
  for (std::size_t a = axes; a-- > 0;) {
    const std::int64_t groups = block.groups_of[a].get(), extent = block.extent[a].get(), index = tile % groups;
    tile /= groups;
    out.box[a] = {index * extent, std::min((index + 1) * extent, placed.problem->sizes[a].get())};
    if (placed.streamed->grouped(static_cast<AxisId>(a))) out.group.insert(out.group.begin(), index);
  }
  return out;
}

/// Returns the array's part of a chunk's rows: (query, packed head), the head fastest.
Tensor cut(const PlacedDiagram& placed, const Named& named, const Box& box, const DumpLayout& layout,
           std::span<const float> rows) {
  const Diagram& diagram = placed.streamed->diagram;
  const std::size_t g = at(diagram.axis("g")), q = at(diagram.axis("q"));
  const std::int64_t packed = placed.block().extent[g].get(), heads = box[g].last - box[g].first,
                     queries = box[q].last - box[q].first;
  Tensor out;
  for (const AxisId axis : named.axes) out.shape.push_back(box[at(axis)].last - box[at(axis)].first);
  const std::int64_t columns = volume(out.shape) / (heads * queries);
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t query = 0; query < queries; ++query) {
      const std::int64_t first = (query * packed + head) * layout.pitch + named.column;
      for (std::int64_t c = 0; c < columns; ++c)
        out.data.push_back(static_cast<double>(rows[static_cast<std::size_t>(first + c)]));
    }
  }
  return out;
}

bool written(float number) { return std::bit_cast<std::uint32_t>(number) != dump_poison; }

}  // namespace

DumpLayout attention_dump_layout(const PlacedDiagram& placed) {
  const PlacedLevel& block = placed.block();
  const Diagram& diagram = placed.streamed->diagram;
  const Count rows = block.extent[at(diagram.axis("g"))] * block.extent[at(diagram.axis("q"))];
  const Count chunks = ceil_div(placed.problem->sizes[at(diagram.axis("x"))], block.chunk);
  return {to_int(rows, "rows of a tile"), columns_of(placed).pitch, to_int(chunks, "chunks")};
}

Bytes attention_dump_bytes(const PlacedDiagram& placed) {
  const DumpLayout layout = attention_dump_layout(placed);
  return bytes_of(placed.blocks * Count(layout.tile_size()), DType::f32);
}

void show_attention_tile(const PlacedDiagram& placed, int tile, std::span<const float> numbers,
                         const DumpOptions& options) {
  const DumpLayout layout = attention_dump_layout(placed);
  const AttentionDump columns = columns_of(placed);
  const std::size_t x = at(placed.streamed->diagram.axis("x"));
  const std::int64_t keys = placed.problem->sizes[x].get(), step = placed.block().chunk.get();
  Place place = place_of(placed, tile);
  const auto show = [&](const Named& named, Phase phase, std::int64_t chunk, std::span<const float> rows) {
    const auto& wanted = options.observed;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), named.name) == wanted.end()) return;
    const Tensor tensor = cut(placed, named, place.box, layout, rows);
    std::vector<std::int64_t> first;
    for (const AxisId axis : named.axes) first.push_back(place.box[at(axis)].first);
    options.observer({named.name, phase, place.group, chunk, first, tensor});
  };
  const std::vector<Named> names = all_named(placed);
  const auto size = static_cast<std::size_t>(layout.chunk_size());
  for (std::int64_t chunk = 0; chunk < layout.chunks; ++chunk) {
    const std::span<const float> rows = numbers.subspan(static_cast<std::size_t>(chunk) * size, size);
    if (!written(rows[static_cast<std::size_t>(columns.mu)])) continue;
    place.box[x] = {chunk * step, std::min((chunk + 1) * step, keys)};
    for (const Named& named : names) show(named, Phase::loop, chunk, rows);
  }
  const std::span<const float> end = numbers.subspan(static_cast<std::size_t>(layout.chunks) * size, size);
  if (!written(end[static_cast<std::size_t>(columns.o)]))
    throw CudaFailure("the kernel wrote nothing of tile " + std::to_string(tile));
  for (const Named& named : names) {
    if (named.column == columns.o) show(named, Phase::tail, 0, end);
  }
}

void dump_attention(Runtime& runtime, const PlacedDiagram& placed, const Tensors& inputs, const DumpOptions& options) {
  const Bytes bytes = attention_dump_bytes(placed);
  if (bytes > Bytes(most_bytes)) {
    throw Error(placed.mapping->name,
                "its intermediates take " + std::to_string(bytes.value.get()) + " bytes at this shape",
                "at most " + std::to_string(most_bytes) + ": a smaller shape");
  }
  const Device& device = runtime.device();
  const AttentionData data(runtime, attention_layout(placed, 1));
  data.set_inputs(inputs);
  const DeviceMemory memory = device.allocate(static_cast<std::size_t>(bytes.value.get()));
  device.set(memory, 0xFF);
  AttentionCall call = data.call();
  call.dump = memory.address();
  runtime.prepare(attention_plan(placed, call, device.launch_device()))();
  device.synchronize();
  std::vector<float> numbers(static_cast<std::size_t>(attention_dump_layout(placed).tile_size()));
  for (int tile = 0; tile < to_int(placed.blocks, "tiles"); ++tile) {
    const std::size_t size = numbers.size() * sizeof(float);
    device.download(numbers.data(), memory.address() + static_cast<std::size_t>(tile) * size, size);
    show_attention_tile(placed, tile, numbers, options);
  }
}

}  // namespace napkin::internal
