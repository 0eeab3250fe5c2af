// napkin draft-mapping: a mapping to start from for a compiled kernel, with what its machine code cannot say marked.

#include <fmt/format.h>

#include "apps/library/draft/draft.hpp"
#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/file.hpp"
#include "napkin/ask.hpp"

namespace napkin::internal::cli {
namespace {

Reply run_draft_mapping(const Arguments& arguments, const report::Style&) {
  DraftAsk ask;
  ask.algorithm = arguments.need("--algorithm", "a built-in name (napkin list algorithms), or a path to a YAML file");
  ask.cubin = arguments.find("--cubin").value_or("");
  ask.disassembly = arguments.find("--disassembly").value_or("");
  ask.function = arguments.find("--function").value_or("");
  ask.name = arguments.find("--name").value_or("");
  if (const auto tile = arguments.find("--tile")) ask.tile = parse_tile(*tile);
  const Draft draft = draft_mapping(ask);
  const std::string note = fmt::format("{} lines say TODO: what the machine code cannot say\n", draft.open);
  if (!arguments.has("--out")) return {draft.text, note, 0};
  report::write_file(arguments.need("--out", "a path for the mapping"), draft.text, "--out");
  return {"", note, 0};
}

}  // namespace

Command draft_mapping_command() {
  return {
      "draft-mapping",
      "a mapping to start from, counted in a kernel's machine code",
      {},
      options({{{"--algorithm", "ALGORITHM", "what the kernel computes"},
                {"--cubin", "FILE", "the compiled kernel; needs nvdisasm or cuobjdump"},
                {"--disassembly", "FILE", "the text that one of them printed, instead: nvdisasm -c, cuobjdump -sass"},
                {"--function", "NAME", "the kernel, if there are several: its name, or a part of it that no other has"},
                {"--name", "NAME", "name of the mapping (default: the kernel's)"},
                {"--tile", "k=v,...", "sizes that the machine code leaves open"},
                {"--out", "FILE", "where to write it (default: stdout)"}}}),
      run_draft_mapping};
}

}  // namespace napkin::internal::cli
