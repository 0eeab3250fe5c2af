#include "apps/library/draft/draft.hpp"

#include <algorithm>
#include <cctype>

#include "apps/library/draft/draft_text.hpp"
#include "kernels/sass/cubin.hpp"
#include "model/base/error.hpp"
#include "model/base/file.hpp"
#include "model/fusion/algorithm.hpp"
#include "model/fusion/derive.hpp"

namespace napkin::internal {
namespace {

constexpr std::size_t most_bytes = 1U << 28U;

/// Returns a kernel's plain name: "napkin::attention_sm90" for "_ZN6napkin14attention_sm90IXtl...", without foreign
/// namespaces.
std::string plain_name(const std::string& mangled) {
  std::string name = mangled;
  if (mangled.starts_with("_ZN") || mangled.starts_with("_Z")) {
    std::size_t at = mangled.starts_with("_ZN") ? 3 : 2;
    while (at < mangled.size() && std::isdigit(static_cast<unsigned char>(mangled[at])) != 0) {
      std::size_t length = 0;
      while (at < mangled.size() && length < mangled.size() &&
             std::isdigit(static_cast<unsigned char>(mangled[at])) != 0)
        length = 10 * length + static_cast<std::size_t>(mangled[at++] - '0');
      name = mangled.substr(at, length);
      at += std::min(length, mangled.size() - at);
    }
  }
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0 ? "kernel_" + out : out;
}

SassFunction function_of(std::vector<SassFunction> functions, const DraftAsk& ask, const std::string& where) {
  if (functions.empty()) throw Error(where, "holds no instructions", "what nvdisasm -c or cuobjdump -sass prints");
  std::vector<std::string> names, matching;
  std::size_t found = 0;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const std::string& name = functions[i].name;
    names.push_back(name);
    if (name == ask.function) return std::move(functions[i]);
    if (!ask.function.empty() && name.find(ask.function) == std::string::npos) continue;
    matching.push_back(name);
    found = i;
  }
  if (matching.size() == 1) return std::move(functions[found]);
  if (matching.empty())
    throw Error("--function", "no kernel of " + where + " has '" + ask.function + "' in its name",
                "one of " + joined(names));
  throw Error("--function", std::to_string(matching.size()) + " kernels fit", "one of " + joined(matching));
}

SassFunction read_function(const DraftAsk& ask) {
  if (ask.cubin.empty() == ask.disassembly.empty())
    throw Error("--cubin", ask.cubin.empty() ? "is missing" : "stands beside --disassembly",
                "a compiled kernel by --cubin FILE, or what a disassembler printed by --disassembly FILE");
  if (ask.cubin.empty())
    return function_of(read_sass(read_file(ask.disassembly, most_bytes, "--disassembly")), ask, ask.disassembly);
  const auto resources = read_cubin(read_file(ask.cubin, most_bytes, "--cubin"), ask.cubin);
  SassFunction function = function_of(read_sass(disassemble(ask.cubin, ask.cubin)), ask, ask.cubin);
  for (const auto& [name, own] : resources) {
    if (name == function.name) function.resources = own;
  }
  return function;
}

/// Returns the algorithm's axes and arrays under the draft's names.
DraftParts parts_of(const Streamed& streamed, const std::string& algorithm) {
  const Diagram& diagram = streamed.diagram;
  DraftParts out;
  out.algorithm = algorithm;
  std::vector<OpId> products;
  for (std::size_t o = 0; o < diagram.operations.size(); ++o) {
    const Operation& operation = diagram.operations[o];
    if (operation.kind == OpKind::contract && operation.inputs.size() == 2) products.push_back(static_cast<OpId>(o));
  }
  if (products.empty() || products.size() > 2 || !streamed.stream)
    throw Error("ALGORITHM", algorithm + " has " + std::to_string(products.size()) + " products in its loop",
                "an algorithm with one or two, such as matmul or attention");
  const auto name_of = [&](ArrayId array) { return diagram.arrays[static_cast<std::size_t>(array)].name; };
  const auto axis_name = [&](AxisId axis) { return diagram.axes[static_cast<std::size_t>(axis)].name; };
  for (std::size_t a = 0; a < diagram.axes.size(); ++a) {
    if (streamed.grouped(static_cast<AxisId>(a))) out.groups.push_back(axis_name(static_cast<AxisId>(a)));
    if (streamed.roles[a] == AxisRole::whole) out.whole.push_back(axis_name(static_cast<AxisId>(a)));
  }
  out.stream = axis_name(*streamed.stream);
  for (const ArrayId input : diagram.inputs)
    out.inputs.push_back({name_of(input), diagram.arrays[static_cast<std::size_t>(input)].has(*streamed.stream)});
  for (const Operation& operation : diagram.operations) {
    DraftOperation one{name_of(operation.outputs.front()), {}, operation.kind == OpKind::contract, false};
    for (const ArrayId input : operation.inputs) one.inputs.push_back(name_of(input));
    one.is_output = diagram.is_output(operation.outputs.front());
    out.operations.push_back(std::move(one));
  }
  const auto last_group = [&](ArrayId array) {
    std::string found;
    for (const AxisId axis : diagram.arrays[static_cast<std::size_t>(array)].axes) {
      if (streamed.grouped(axis)) found = axis_name(axis);
    }
    return found;
  };
  const Operation& first = diagram.operations[static_cast<std::size_t>(products.front())];
  out.rows = last_group(first.inputs[0]);
  out.columns = products.size() == 1 ? last_group(first.inputs[1]) : "";
  out.products = static_cast<int>(products.size());
  if (products.size() == 2 && first.own.size() == 1) out.depth = axis_name(first.own.front());
  return out;
}

}  // namespace

Draft draft_mapping(const DraftAsk& ask) {
  const Streamed streamed = derive(load_algorithm(ask.algorithm));
  DraftParts parts = parts_of(streamed, streamed.diagram.name);
  const SassFunction function = read_function(ask);
  parts.source = ask.cubin.empty() ? ask.disassembly : ask.cubin;
  parts.name = ask.name.empty() ? plain_name(function.name) : ask.name;
  const SassCensus census = census_of(function, parts.products, parts.source);
  return draft_text(parts, census, ask.tile);
}

}  // namespace napkin::internal
