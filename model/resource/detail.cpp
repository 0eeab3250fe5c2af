#include "model/resource/detail.hpp"

#include <algorithm>
#include <numeric>

#include "model/mapping/compile/ways.hpp"
#include "model/resource/block_ids.hpp"
#include "model/resource/order.hpp"
#include "model/resource/plan.hpp"

namespace napkin::internal {
namespace {

/// Bytes of a thread's copy and of a row of banks, rows of a matrix of ldmatrix.
constexpr std::int64_t copy_bytes = 16, line_bytes = 128, piece_rows = 8;

class Details {
 public:
  explicit Details(const PlacedDiagram& placed) : p_(placed) {}

  [[nodiscard]] Detail all() const {
    Detail out;
    add_rounds(out);
    for (const Variable& v : p_.variables) {
      add_offsets(v, out);
      add_copies(v, out);
      add_pieces(v, out);
    }
    for (const PlacedOperation& op : p_.operations) add_product(op, out);
    out.meetings = meetings_of(p_);
    out.staged = staged_of(p_);
    add_resident(out);
    add_shares(out);
    return out;
  }

 private:
  [[nodiscard]] const VariableMapping& mapping_of(const Variable& v) const {
    return p_.mapping->variables[static_cast<std::size_t>(v.mapping)];
  }
  [[nodiscard]] const Agent& agent_of(const PlacedAgent& agent) const {
    return p_.mapping->agents[static_cast<std::size_t>(agent.mapping)];
  }
  [[nodiscard]] std::string output_of(const PlacedOperation& op) const {
    const Diagram& d = p_.streamed->diagram;
    const ArrayId id = d.operations[static_cast<std::size_t>(op.operation)].outputs.front();
    return d.arrays[static_cast<std::size_t>(id)].name;
  }
  [[nodiscard]] std::int64_t ahead_of(const std::string& output) const {
    for (const OperationMapping& op : p_.mapping->operations) {
      if (op.output != output || !op.ahead) continue;
      if (op.ahead->kind != Value::Kind::knob) return op.ahead->literal;
      return p_.tile.values[static_cast<std::size_t>(op.ahead->knob)] + op.ahead->more;
    }
    return 0;
  }

  void add_rounds(Detail& out) const {
    for (const PlacedOperation& op : p_.operations) {
      if (op.phase == Phase::loop) out.ahead = std::max(out.ahead, ahead_of(output_of(op)));
    }
    for (const Variable& v : p_.variables) {
      if (v.level != 0 && p_.machine->levels[static_cast<std::size_t>(v.level)].name != "l2")
        out.unrolled = std::lcm(out.unrolled.get(), std::max<std::int64_t>(v.copies.get(), 1));
    }
    if (out.ahead == 0) return;
    for (std::int64_t behind = 0; behind <= out.ahead; ++behind) {
      for (const PlacedOperation& op : p_.operations) {
        const std::string name = output_of(op);
        if (op.phase != Phase::loop || op.agent < 0 || out.ahead - ahead_of(name) != behind) continue;
        add_stage(agent_of(p_.agents[static_cast<std::size_t>(op.agent)]).name, name, behind, out.rounds);
      }
    }
  }

  void add_shares(Detail& out) const {
    if (block_order(p_) != BlockOrder::even || !p_.packed.empty()) return;
    const BlockIds ids(p_);
    const std::int64_t all = ids.size(), share = ceil_div(Count(all), p_.machine->compute_nodes()).get();
    for (std::int64_t first = 0; first < all; first += share) {
      const std::int64_t last = std::min(first + share, all) - 1;
      const BlockIds::Place begins = ids.at(first), ends = ids.at(last);
      out.shares.push_back({first, last - first + 1, begins.block, begins.iteration, ends.block - begins.block + 1});
    }
  }

  static void add_stage(const std::string& agent, const std::string& name, std::int64_t behind,
                        std::vector<RoundStage>& rounds) {
    const auto known = std::find_if(rounds.begin(), rounds.end(), [&](const RoundStage& stage) {
      return stage.agent == agent && stage.behind == behind;
    });
    RoundStage& stage = known == rounds.end() ? rounds.emplace_back(RoundStage{agent, {}, behind}) : *known;
    if (std::find(stage.operations.begin(), stage.operations.end(), name) == stage.operations.end())
      stage.operations.push_back(name);
  }

  /// Returns the axes of a variable's array in storage order; none for auxiliaries.
  [[nodiscard]] std::vector<AxisId> axes_of(const Variable& v) const {
    if (v.axes != nullptr) return *v.axes;
    return v.arrays.empty() ? std::vector<AxisId>{}
                            : p_.streamed->diagram.arrays[static_cast<std::size_t>(v.arrays.front())].axes;
  }

  /// Returns the size of an axis in a block's buffer: a chunk of the streamed one, else the group's part.
  [[nodiscard]] Count held(AxisId axis) const {
    return p_.streamed->stream == axis ? p_.block().chunk : p_.block().extent[static_cast<std::size_t>(axis)];
  }

  /// Returns true if the agent's instances fill the variable, or read it from memory that belongs to no core.
  [[nodiscard]] bool touches(const PlacedAgent& agent, const Variable& v) const {
    const bool shared = p_.machine->core_of(v.level) == nullptr;
    const auto among = [&](const std::vector<ArrayId>& arrays) {
      return std::any_of(v.arrays.begin(), v.arrays.end(),
                         [&](ArrayId id) { return std::find(arrays.begin(), arrays.end(), id) != arrays.end(); });
    };
    return std::any_of(p_.operations.begin(), p_.operations.end(), [&](const PlacedOperation& op) {
      const Operation& does = p_.streamed->diagram.operations[static_cast<std::size_t>(op.operation)];
      const bool works = std::any_of(op.work.begin(), op.work.end(), [&](const PlacedWork& work) {
        return work.mapping->agent == agent_of(agent).name;
      });
      if (op.agent >= 0 && &p_.agents[static_cast<std::size_t>(op.agent)] == &agent)
        return among(does.outputs) || (shared && among(does.inputs));
      return works && shared && among(does.outputs);
    });
  }

  /// Adds the parts of the agents that divide the variable's rows: those of the first axis with more than one entry.
  void add_offsets(const Variable& v, Detail& out) const {
    if (v.scope != Scope::block || v.output_staging) return;
    for (const PlacedAgent& agent : p_.agents) {
      const std::vector<std::string>& splits = agent_of(agent).splits;
      if (splits.empty() || agent.instances < Count(2) || !touches(agent, v)) continue;
      for (const AxisId axis : axes_of(v)) {
        const auto a = static_cast<std::size_t>(axis);
        const Count whole = held(axis), part = agent.extent[a];
        if (whole == Count(1)) continue;
        const bool divided = p_.streamed->diagram.axes[a].name == splits.front() && part < whole;
        if (divided && v.elements % whole == Count(0))
          out.offsets.push_back(
              {mapping_of(v).name, agent_of(agent).name, part, bytes_of(v.elements / whole * part, v.type)});
        break;
      }
    }
  }

  [[nodiscard]] Count warps() const { return std::max(ceil_div(p_.threads, p_.machine->limits.warp_size), Count(1)); }

  void add_copies(const Variable& v, Detail& out) const {
    if (v.engine != CopyEngine::cp_async || v.arrays.empty()) return;
    const std::int64_t width = bits(v.type) / 8;
    const Count columns = held(axes_of(v).back());
    if (width == 0 || columns < Count(1) || v.elements % columns != Count(0)) return;
    CopyCount one;
    one.variable = mapping_of(v).name;
    one.columns = columns, one.rows = ceil_div(v.elements / columns, warps());
    one.step_columns = std::min(columns, Count(line_bytes / width));
    const Count row_threads = std::max(ceil_div(one.step_columns * Count(width), Count(copy_bytes)), Count(1));
    one.step_rows = std::max(p_.machine->limits.warp_size / row_threads, Count(1));
    one.down = ceil_div(one.rows, one.step_rows), one.across = ceil_div(columns, one.step_columns);
    out.copies.push_back(std::move(one));
  }

  void add_product(const PlacedOperation& op, Detail& out) const {
    if (!op.tensor || op.phase != Phase::loop || op.instruction == nullptr) return;
    const TensorInstruction& i = *op.instruction;
    const Count m = ceil_div(op.m, op.row_parts), n = ceil_div(op.n, op.column_parts);
    const Count wide = std::clamp(n, i.n_least, i.n_most);
    const Count deep = Count(copy_bytes * 8 / bits(i.type));  // values of a piece's row
    out.products.push_back({output_of(op), i.name, i.m, wide, i.k, ceil_div(m, i.m), ceil_div(n, wide),
                            ceil_div(op.k, i.k), ceil_div(i.m, Count(piece_rows)), ceil_div(wide, Count(piece_rows)),
                            ceil_div(i.k, deep), !i.asynchronous && p_.machine->core_of(i.level) == nullptr,
                            operands_of(p_, op)});
  }

  /// Returns the matrix instruction of another core that reads the array.
  [[nodiscard]] const TensorInstruction* reader_of(ArrayId array, const PlacedAgent& writer) const {
    for (const PlacedOperation& op : p_.operations) {
      if (!op.tensor || op.instruction == nullptr || op.agent < 0) continue;
      if (agent_of(p_.agents[static_cast<std::size_t>(op.agent)]).core == agent_of(writer).core) continue;
      const auto& inputs = p_.streamed->diagram.operations[static_cast<std::size_t>(op.operation)].inputs;
      if (std::find(inputs.begin(), inputs.end(), array) != inputs.end()) return op.instruction;
    }
    return nullptr;
  }

  /// Returns the agent in whose core's memory the variable lies; nullptr for memory of no core.
  [[nodiscard]] const PlacedAgent* owner_of(const Variable& v) const {
    if (v.agent >= 0) return &p_.agents[static_cast<std::size_t>(v.agent)];
    const Core* core = p_.machine->core_of(v.level);
    const auto at = std::find_if(p_.agents.begin(), p_.agents.end(), [&](const PlacedAgent& agent) {
      return core != nullptr && agent_of(agent).core == core->name;
    });
    return at == p_.agents.end() ? nullptr : &*at;
  }

  void add_pieces(const Variable& v, Detail& out) const {
    if (!goes_ways(p_) || v.scope != Scope::agent || v.arrays.empty() || v.output_staging) return;
    const PlacedAgent* writer = owner_of(v);
    if (writer == nullptr || !computes(*writer, v.arrays.front())) return;
    const TensorInstruction* reader = reader_of(v.arrays.front(), *writer);
    if (reader == nullptr || v.type != reader->type || writer->rows < Count(1)) return;
    const Count rows = writer->rows, columns = v.elements / rows;
    const Bytes piece = bytes_of(reader->k, v.type);
    out.pieces.push_back({mapping_of(v).name, rows, columns, reader->m, reader->k, piece, Bytes(piece.value * rows)});
  }

  [[nodiscard]] bool computes(const PlacedAgent& agent, ArrayId array) const {
    return std::any_of(p_.operations.begin(), p_.operations.end(), [&](const PlacedOperation& op) {
      const auto& outputs = p_.streamed->diagram.operations[static_cast<std::size_t>(op.operation)].outputs;
      return op.agent >= 0 && &p_.agents[static_cast<std::size_t>(op.agent)] == &agent &&
             std::find(outputs.begin(), outputs.end(), array) != outputs.end();
    });
  }

  void add_resident(Detail& out) const {
    const Limits& limits = p_.machine->limits;
    if (!limits.known || p_.threads < Count(1)) return;
    const Plan planned = plan(p_);
    const Count by_threads = limits.threads_per_node / p_.threads;
    const auto with = [&](Count registers, Bytes shared) { return occupancy(p_, registers, shared).blocks; };
    const Count one(1);
    out.resident = {{"threads", by_threads},
                    {"shared memory", with(one, planned.shared_total)},
                    {"registers", with(planned.registers_launch, Bytes(0))}};
    const Count most_blocks = with(one, Bytes(0));
    Count most = limits.registers_per_thread;
    for (Count blocks = 1; blocks <= most_blocks; blocks += one) {
      while (most > one && with(most, Bytes(0)) < blocks) most -= one;
      if (with(most, Bytes(0)) < blocks) break;
      const Count missing = planned.registers_per_thread > most ? planned.registers_per_thread - most : Count(0);
      out.caps.push_back({blocks, blocks * warps(), most, missing});
    }
  }

  const PlacedDiagram& p_;
};

}  // namespace

Detail detail_of(const PlacedDiagram& placed) { return Details(placed).all(); }

}  // namespace napkin::internal
