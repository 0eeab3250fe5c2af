// Operations of a mapping file, and their work.
#include <algorithm>
#include <charconv>

#include "model/mapping/read/read.hpp"

namespace napkin::internal::mapping_text {
namespace {

/// Parses a count: "12" or "1/8"; nothing for any other text.
std::optional<double> counted(const std::string& text) {
  std::int64_t above = 0, below = 1;
  const char* const end = text.data() + text.size();
  std::from_chars_result parsed = std::from_chars(text.data(), end, above);
  if (parsed.ec != std::errc{}) return std::nullopt;
  if (parsed.ptr != end) {
    if (*parsed.ptr != '/') return std::nullopt;
    parsed = std::from_chars(parsed.ptr + 1, end, below);
    if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  }
  if (above < 1 || below < 1 || above > most_count || below > most_count) return std::nullopt;
  return static_cast<double>(above) / static_cast<double>(below);
}

/// Reads a count of instructions from a disassembly. A number that fits whole kernels better belongs under `fitted`.
double count_of(const yaml::Node& node) {
  const auto number = counted(node.text());
  if (!number)
    node.fail("'" + node.text() + "' cannot be counted", "a whole number above 0, or a quotient such as 1/8");
  return *number;
}

}  // namespace

WorkMapping Reader::work(const yaml::Node& node) {
  node.allow({"name", "unit", "per", "count", "fitted", "agent", "with", "once", "first", "masked", "serial", "stalls",
              "in_steps", "fence", "per_chunk", "when"});
  WorkMapping out;
  out.name = node.at("name").text();
  out.unit = node.at("unit").text();
  refer(Reference::Kind::unit, out.unit, node.at("unit"));
  const yaml::Node& per = node.at("per");
  out.per_thread = per.is_scalar() && per.choice({"threads"}) == "threads";
  if (!out.per_thread) out.per = axes(&per);
  if (const auto* n = node.find("count"); n != nullptr && n->is_map())
    out.counted = table_value(*n);
  else if (n != nullptr)
    out.count = count_of(*n);
  if (const auto* n = node.find("fitted")) {
    if (node.find("count") != nullptr) n->fail("stands beside 'count'", "one of the two");
    out.fitted = true;
    out.count = n->number();
    if (!(out.count > 0)) n->fail("is not above 0", "a number of instructions");
  }
  if (const auto* n = node.find("once")) out.once = n->boolean();
  if (const auto* n = node.find("first")) out.first = n->boolean();
  if (const auto* n = node.find("masked")) out.masked = n->boolean();
  if (int(out.once) + int(out.first) + int(out.masked) > 1)
    node.fail("more than one of 'once', 'first' and 'masked'", "one of them");
  if (const auto* n = node.find("fence")) out.fence = n->boolean();
  if (const auto* n = node.find("serial")) out.serial = n->boolean();
  if (const auto* n = node.find("stalls")) {
    out.stalls = n->boolean();
    if (out.stalls && out.serial) n->fail("stands beside 'serial'", "one of the two");
  }
  if (const auto* n = node.find("in_steps")) out.in_steps = n->boolean();
  if (const auto* n = node.find("agent")) out.agent = n->text();
  if (const auto* n = node.find("with")) {
    out.with = n->text();
    refer(Reference::Kind::operation, out.with, *n);
  }
  out.per_chunk = axis_values(node.find("per_chunk"));
  for (const auto& [axis, chunk] : out.per_chunk) {
    if (std::find(out.per.begin(), out.per.end(), axis) == out.per.end()) {
      node.at("per_chunk").fail("axis '" + axis + "' is not in 'per'", one_of(axis, out.per));
    }
  }
  out.when = guard(node.find("when"), true);
  return out;
}

/// Reads a word, or alternatives of it.
Guarded<std::string> Reader::words(const yaml::Node& node) {
  Guarded<std::string> out;
  if (!node.is_sequence()) {
    out.emplace_back(Guard{}, node.text());
    return out;
  }
  for (const yaml::Node& item : node.items()) {
    item.allow({"when", "value"});
    out.emplace_back(guard(item.find("when")), item.at("value").text());
  }
  if (out.empty()) node.fail("no alternative", "at least one {when: ..., value: ...}");
  return out;
}

/// Reads the keys that only products have.
void Reader::read_product(const yaml::Node& node, OperationMapping& out) {
  const auto of_products = [&](const char* key, const char* what) {
    const auto* n = node.find(key);
    if (n != nullptr && out.unit != "tensor") n->fail(std::string("only products have ") + what, "unit: tensor");
    return n;
  };
  if (const auto* n = of_products("swap_ab", "A and B")) out.swap_ab = guard(n);
  if (const auto* n = of_products("row_parts", "rows and columns")) out.row_parts = values(*n, 1);
  if (const auto* n = of_products("more_columns", "rows and columns")) out.more_columns = values(*n, 0);
}

OperationMapping Reader::operation(const std::string& name, const yaml::Node& node) {
  node.allow({"agent", "issuer", "unit", "type", "accumulate", "instruction", "ahead", "waits", "swap_ab", "row_parts",
              "more_columns", "operands", "work"});
  OperationMapping out;
  out.output = name;
  out.location = node.key_location();
  m_.references.push_back({Reference::Kind::operation, name, node.key_location(), node.path()});
  if (const auto* n = node.find("agent")) out.agent = n->text();
  out.unit = node.at("unit").choice({"tensor", "vector"});
  if (const auto* n = node.find("issuer")) out.issuer = n->text();
  if (const auto* n = node.find("type")) out.type = type(*n);
  if (out.unit == "tensor" && out.type.empty()) node.fail("a tensor operation needs a type", "type: T");
  if (const auto* n = node.find("accumulate")) out.accumulate = type(*n);
  if (const auto* n = node.find("instruction")) {
    out.instruction = words(*n);
    for (const auto& [when, word] : out.instruction) refer(Reference::Kind::instruction, word, *n);
  }
  if (const auto* n = node.find("ahead")) out.ahead = value(*n, 0);
  if (const auto* n = node.find("waits")) {
    if (out.unit != "tensor") n->fail("threads do not wait for their own work", "unit: tensor");
    out.waits = n->is_map() ? table_value(*n) : value(*n, 1);
  }
  read_product(node, out);
  if (const auto* operands = node.find("operands")) {
    for (const auto& [array, entry] : operands->entries()) {
      m_.references.push_back({Reference::Kind::array, array, entry.key_location(), operands->path()});
      out.operands.emplace_back(array, words(entry));
    }
  }
  if (const auto* list = node.find("work")) {
    for (const yaml::Node& item : list->items()) {
      out.work.push_back(work(item));
      const auto always = [](const Guard& g) { return g.all.empty() && g.masks.empty() && g.axes.empty(); };
      const auto same = [&](const WorkMapping& w) { return w.name == out.work.back().name && always(w.when); };
      if (always(out.work.back().when) && std::any_of(out.work.begin(), out.work.end() - 1, same)) {
        item.at("name").fail("stands twice", "another name");
      }
    }
  }
  return out;
}

void Reader::operations(const yaml::Node& node) {
  for (const auto& [name, entry] : node.entries()) m_.operations.push_back(operation(name, entry));
}

}  // namespace napkin::internal::mapping_text
