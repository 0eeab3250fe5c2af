// JSON, Triton and FlashAttention-3; the C++ header is header.cpp.
#include "solver/emit/emit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "model/diagram/packing.hpp"
#include "solver/emit/identifier.hpp"

namespace napkin::internal {
namespace {

using emit::upper_identifier;

std::int64_t value(const Tile& tile, KnobId knob) { return tile.values[static_cast<std::size_t>(knob)]; }

const Knob& knob_of(const Mapping& mapping, KnobId knob) { return mapping.knobs[static_cast<std::size_t>(knob)]; }

/// Returns the word that the knob has in this tile; nothing if its value is a number.
std::optional<std::string> word(const Mapping& mapping, const Tile& tile, KnobId knob) {
  const std::vector<std::string>& words = knob_of(mapping, knob).words;
  const auto index = static_cast<std::size_t>(value(tile, knob));
  if (words.empty()) return std::nullopt;
  return index < words.size() ? words[index] : std::to_string(index);
}

bool named(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void require_form(const Mapping& mapping, std::string_view form, std::string_view title) {
  if (mapping.emit.substr(0, form.size()) == form) return;
  throw Error(fmt::format("--emit {}", form), fmt::format("mapping {} has no {} form", mapping.name, title),
              fmt::format("a mapping whose 'emit' is {}", form));
}

/// Returns the axes that a block's agents divide among themselves, the rows of its tile first.
std::vector<std::string> row_axes(const Mapping& mapping) {
  for (const Agent& agent : mapping.agents) {
    if (!agent.splits.empty()) return {agent.splits.front()};
  }
  return {};
}

/// Returns the lowest level at which the mapping streams an axis: the block's.
const LevelMapping* streaming_level(const Mapping& mapping) {
  const LevelMapping* found = nullptr;
  for (const LevelMapping& level : mapping.levels) {
    if (!level.stream.empty() && !found) found = &level;
  }
  return found;
}

/// Triton's names of knobs. M is the rows that a block's warps divide. N is the second grouped axis with a knob, and K
/// the streamed axis; without such an axis N is the streamed axis. Counts have Triton's keyword names.
struct TritonNames {
  std::string rows, columns, depth;

  explicit TritonNames(const Mapping& mapping) {
    const std::vector<std::string> split = row_axes(mapping);
    const LevelMapping* level = streaming_level(mapping);
    if (!level) return;
    for (const std::string& axis : level->group) {
      if (!mapping.find_knob(axis)) continue;
      if (rows.empty() && (split.empty() || named(split, axis))) {
        rows = axis;
      } else if (columns.empty() && !named(split, axis)) {
        columns = axis;
      }
    }
    (columns.empty() ? columns : depth) = level->stream.front();
  }

  [[nodiscard]] std::string of(const std::string& knob) const {
    if (knob == "warps" || knob == "stages") return "num_" + knob;
    if (knob == "cluster") return "num_ctas";
    if (knob == rows) return "BLOCK_M";
    if (knob == columns) return "BLOCK_N";
    if (knob == depth) return "BLOCK_K";
    return upper_identifier(knob);
  }
};

std::string triton_config(const Mapping& mapping, const TritonNames& names, const Tile& tile) {
  std::string constants, keywords;
  for (KnobId k = 0; k < static_cast<KnobId>(mapping.knobs.size()); ++k) {
    const std::string name = names.of(knob_of(mapping, k).name);
    if (name.substr(0, 4) == "num_") {
      keywords += fmt::format(", {}={}", name, value(tile, k));
    } else if (const auto text = word(mapping, tile, k)) {
      // A fact of the kernel or of its build, not an argument of it.
      if (knob_of(mapping, k).words.size() == 1 || !knob_of(mapping, k).searched) continue;
      const bool flag = *text == "on" || *text == "off";
      constants += fmt::format("{}'{}': {}", constants.empty() ? "" : ", ", name,
                               flag ? (*text == "on" ? "True" : "False") : "'" + *text + "'");
    } else {
      constants += fmt::format("{}'{}': {}", constants.empty() ? "" : ", ", name, value(tile, k));
    }
  }
  return fmt::format("triton.Config({{{}}}{})", constants, keywords);
}

/// Returns a number of the tuple: the knob's, or 1 if the mapping lacks an optional knob.
std::int64_t number_of(const Mapping& mapping, const Tile& tile, const char* name, bool optional = false) {
  const auto knob = mapping.find_knob(name);
  if (knob) return value(tile, *knob);
  if (optional) return 1;
  throw Error("--emit", fmt::format("mapping {} has no knob '{}'", mapping.name, name));
}

bool chosen(const Mapping& mapping, const Tile& tile, const char* name, std::string_view choice, bool otherwise) {
  const auto knob = mapping.find_knob(name);
  return knob ? word(mapping, tile, *knob) == choice : otherwise;
}

/// The options of FlashAttention's Hopper kernels.
struct FlashTile {
  std::int64_t rows = 0, columns = 0;
  bool p_in_registers = true, overlap = true;
};

FlashTile flash_tile(const Mapping& mapping, const Tile& tile, std::string_view form) {
  if (mapping.emit != "fa3" && mapping.emit != form)
    throw Error(fmt::format("--emit {}", form),
                fmt::format("mapping {} has no FlashAttention-{} form", mapping.name, form.back()),
                form == "fa3" ? "a mapping whose 'emit' is fa3" : "a mapping whose 'emit' is fa3 or fa4");
  // kBlockM counts rows: queries times the query heads packed into the tile (PackGQA).
  const Count rows = Count(number_of(mapping, tile, "q")) * Count(number_of(mapping, tile, "g", true));
  return {rows.get(), number_of(mapping, tile, "x"), chosen(mapping, tile, "p_in", "registers", true),
          chosen(mapping, tile, "overlap", "on", true)};
}

}  // namespace

std::string emit_json(const Mapping& mapping, const Tile& tile) {
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  for (KnobId k = 0; k < static_cast<KnobId>(mapping.knobs.size()); ++k) {
    if (const auto text = word(mapping, tile, k)) {
      values[knob_of(mapping, k).name] = *text;
    } else {
      values[knob_of(mapping, k).name] = value(tile, k);
    }
  }
  nlohmann::ordered_json whole;
  whole["kernel"] = mapping.name.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(mapping.name);
  whole["tile"] = std::move(values);
  return whole.dump() + "\n";
}

std::string about_question(const Diagram& diagram, const Mapping& mapping, const Machine& machine,
                           const Problem& problem) {
  std::string sizes;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i)
    sizes += fmt::format(" {}={}", diagram.axes[i].name, problem.sizes[i].get());
  const std::string mask = problem.mask.kind == Mask::Kind::none ? "" : ", " + text_of(problem.mask);
  const std::string packed = problem.packing.sequences.empty() ? "" : " lengths " + text_of(problem.packing.sequences);
  return fmt::format("{} on {}, {}{}:{}{}; kernel {}", diagram.name, machine.name, name_of(problem.dtype), mask, sizes,
                     packed, mapping.name.empty() ? "ideal" : mapping.name);
}

std::string emit_triton(const Mapping& mapping, const std::vector<Tile>& tiles, const std::string& about) {
  require_form(mapping, "triton", "Triton");
  const TritonNames names(mapping);
  std::string text = (about.empty() ? "" : "# " + about + "\n") + "[\n";
  for (const Tile& tile : tiles) text += "    " + triton_config(mapping, names, tile) + ",\n";
  return text + "]\n";
}

std::string knob_of_triton(const Mapping& mapping, const std::string& name) {
  const TritonNames names(mapping);
  for (const Knob& knob : mapping.knobs) {
    if (knob.name == name || names.of(knob.name) == name) return knob.name;
  }
  return {};
}

std::string emit_fa3(const Mapping& mapping, const Tile& tile, const std::string& about) {
  const FlashTile own = flash_tile(mapping, tile, "fa3");
  return fmt::format("{}{{{}, {}, {}, {}}}\n", about.empty() ? "" : "// " + about + "\n", own.rows, own.columns,
                     own.p_in_registers, own.overlap);
}

std::string emit_fa4(const Mapping& mapping, const std::vector<Tile>& tiles, const std::string& about) {
  std::vector<std::string> lines;
  const auto word_of = [](bool value) { return value ? "True" : "False"; };
  for (const Tile& tile : tiles) {
    const FlashTile own = flash_tile(mapping, tile, "fa4");
    // On Blackwell a tile is a softmax warpgroup's; how many a block has is q_stage.
    const std::int64_t tiles_of_block = mapping.emit == "fa4" ? number_of(mapping, tile, "warpgroups") : 1;
    std::string line =
        fmt::format("    FwdConfig(m_block_size={}, n_block_size={}, mma_pv_is_rs={}, intra_wg_overlap={}),\n",
                    own.rows / tiles_of_block, own.columns, word_of(own.p_in_registers), word_of(own.overlap));
    if (!named(lines, line)) lines.push_back(std::move(line));
  }
  return fmt::format("{}[\n{}]\n", about.empty() ? "" : "# " + about + "\n", fmt::join(lines, ""));
}

}  // namespace napkin::internal
