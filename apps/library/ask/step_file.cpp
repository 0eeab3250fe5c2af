#include "apps/library/ask/step_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "model/base/dtype.hpp"
#include "model/base/library.hpp"
#include "model/island/division.hpp"

namespace napkin::internal {
namespace {

using Kind = StepEntryAnswer::Kind;

constexpr std::array collectives = {Carrier::all_reduce, Carrier::all_gather, Carrier::reduce_scatter,
                                    Carrier::all_to_all};
constexpr std::string_view element = "element";  // the symbol for the bytes of an element

std::string_view step_name(std::string_view path) { return stem_in(path, "apps/library/ask/steps/"); }

/// A reader of one step's file, with the values that the question gives its symbols.
class StepReader {
 public:
  StepReader(const yaml::Node& file, const StepAsk& ask, std::int64_t gpus) : file_(file), ask_(ask), gpus_(gpus) {}

  ModelStep read() {
    file_.allow(
        {"step", "about", "source", "dtype", "symbols", "gpus", "sizes", "tokens", "holds", "issue", "entries"});
    step_.name = file_.at("step").text();
    step_.about = file_.at("about").text();
    if (const auto* source = file_.find("source")) static_cast<void>(source->text());
    read_dtype();
    read_symbols();
    read_sizes();
    step_.tokens = amount_of(file_.at("tokens"), symbols_, 1);
    if (const auto* holds = file_.find("holds")) step_.holds = amount_of(*holds, symbols_, 0);
    if (const auto* issue = file_.find("issue"))
      step_.issue = issue->choice({"stream", "graph"}) == "graph" ? Issue::graph : Issue::stream;
    if (ask_.issue) step_.issue = *ask_.issue;
    read_entries(file_.at("entries"), "", 1);
    return std::move(step_);
  }

 private:
  void read_dtype() {
    const auto* dtype = file_.find("dtype");
    step_.dtype = dtype != nullptr ? dtype->choice(dtype_names()) : "bf16";
    if (!ask_.dtype.empty()) step_.dtype = std::string(name_of(parse_dtype(ask_.dtype, "--dtype")));
    const int width = bits(parse_dtype(step_.dtype, "--dtype"));
    if (width % 8 != 0) throw Error("--dtype", step_.dtype + " has no whole bytes", "a type of 8 bits or more");
    symbols_.emplace_back(element, width / 8);
  }

  void read_symbols() {
    const auto* shares = file_.find("gpus");
    std::vector<std::string> names;
    for (const auto& [name, node] : file_.at("symbols").entries()) {
      if (name == element) node.fail("the name of an element's bytes", "another name");
      names.push_back(name);
      const bool of_gpus = shares != nullptr && shares->text() == name;
      const auto given = std::find_if(ask_.shape.begin(), ask_.shape.end(),
                                      [&name = name](const auto& one) { return one.first == name; });
      std::int64_t value = gpus_;
      if (given != ask_.shape.end())
        value = given->second;
      else if (!node.is_null())
        value = amount_of(node, symbols_, 1);
      else if (!of_gpus)
        throw Error("--shape", name + " is missing", "a size for it: " + step_.name + " has no default");
      if (of_gpus) step_.gpus = value;
      symbols_.emplace_back(name, value);
      step_.shape.emplace_back(name, value);
    }
    for (const auto& [name, value] : ask_.shape) {
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw Error("--shape", in_quotes(name) + " is no symbol of " + step_.name, one_of(name, names));
    }
    if (shares != nullptr && std::find(names.begin(), names.end(), shares->text()) == names.end())
      shares->fail(in_quotes(shares->text()) + " is no symbol", one_of(shares->text(), names));
    if (step_.gpus > gpus_)
      throw Error("--shape",
                  shares->text() + "=" + std::to_string(step_.gpus) + ", and there " +
                      (gpus_ == 1 ? "is 1 GPU" : "are " + std::to_string(gpus_) + " GPUs"),
                  gpus_ == 1 ? "1, or an island of GPUs: --gpu hgx-h100-8" : "at most " + std::to_string(gpus_));
  }

  void read_sizes() {
    const auto* sizes = file_.find("sizes");
    if (sizes == nullptr) return;
    for (const auto& [name, node] : sizes->entries()) {
      for (const auto& [known, value] : symbols_) {
        if (known == name) node.fail(name + " is there already", "a name of its own");
      }
      symbols_.emplace_back(name, amount_of(node, symbols_, 0));
    }
  }

  void read_entries(const yaml::Node& list, const std::string& above, std::int64_t times) {
    if (list.items().empty()) list.fail("no entry", "- {name: ..., algorithm: ..., shape: {...}}");
    for (const yaml::Node& node : list.items()) {
      StepEntry entry;
      entry.name = above + node.at("name").text();
      entry.at = node.location();
      const auto* count = node.find("times");
      entry.times = (Count(times) * Count(count != nullptr ? amount_of(*count, symbols_, 0) : 1)).get();
      if (const auto* inner = node.find("entries")) {
        node.allow({"name", "times", "entries"});
        if (!above.empty()) node.fail("entries in entries in entries", "one list in another at most");
        read_entries(*inner, entry.name + ".", entry.times);
        continue;
      }
      read_entry(node, entry);
      const auto same = [&](const StepEntry& other) { return other.name == entry.name; };
      if (std::any_of(step_.entries.begin(), step_.entries.end(), same))
        node.at("name").fail(in_quotes(entry.name) + " is there already", "a name of its own");
      if (entry.times > 0 && (entry.kind != Kind::collective || step_.gpus > 1))
        step_.entries.push_back(std::move(entry));
    }
  }

  void read_entry(const yaml::Node& node, StepEntry& entry) {
    if (node.find("algorithm") != nullptr) return read_question(node, entry);
    if (const auto* bytes = node.find("bytes")) {
      node.allow({"name", "times", "bytes"});
      entry.kind = Kind::pass;
      entry.bytes = amount_of(*bytes, symbols_, 1);
      return;
    }
    std::vector<std::string> keys = {"name", "times"};
    for (const Carrier by : collectives) keys.emplace_back(name_of(by));
    node.allow(keys);
    for (const Carrier by : collectives) {
      const auto* bytes = node.find(name_of(by));
      if (bytes == nullptr) continue;
      if (!entry.collective.empty()) bytes->fail("a second collective", "one an entry");
      entry.kind = Kind::collective;
      entry.collective = std::string(name_of(by));
      entry.bytes = amount_of(*bytes, symbols_, 1);
    }
    if (entry.collective.empty())
      node.fail("says nothing that runs",
                "algorithm and shape, bytes, entries, all_reduce, all_gather, "
                "reduce_scatter or all_to_all");
  }

  void read_question(const yaml::Node& node, StepEntry& entry) {
    node.allow({"name", "times", "algorithm", "shape", "dtype", "mask", "kernel", "tile"});
    Ask& ask = entry.ask;
    ask.algorithm = node.at("algorithm").text();
    for (const auto& [axis, size] : node.at("shape").entries())
      ask.shape.emplace_back(axis, amount_of(size, symbols_, 1));
    const auto* dtype = node.find("dtype");
    ask.dtype = dtype != nullptr ? dtype->choice(dtype_names()) : step_.dtype;
    if (const auto* mask = node.find("mask")) {
      static_cast<void>(mask->choice({"none", "causal"}));
      if (mask->text() == "causal") ask.mask.kind = Mask::Kind::causal;
    }
    if (ask.mask.kind == Mask::Kind::causal) check_seen(ask.shape);
    if (const auto* kernel = node.find("kernel")) ask.kernel = kernel->text();
    if (const auto* tile = node.find("tile")) {
      for (const auto& [knob, value] : tile->entries()) ask.tile.emplace_back(knob, value.text());
    }
    ask.bundled = ask_.bundled && ask.kernel.empty();
    ask.conditions = ask_.conditions;
  }

  /// Checks that new tokens are among the keys; without that some see none.
  static void check_seen(const NamedSizes& shape) {
    const auto of = [&](const char* axis) {
      const auto found = std::find_if(shape.begin(), shape.end(), [&](const auto& one) { return one.first == axis; });
      return found == shape.end() ? 0 : found->second;
    };
    if (of("q") > 0 && of("x") > 0 && of("x") < of("q"))
      throw Error("--shape",
                  fmt::format("{} keys are fewer than {} new tokens, which are among them", of("x"), of("q")),
                  fmt::format("x from {}", of("q")));
  }

  const yaml::Node& file_;
  const StepAsk& ask_;
  std::int64_t gpus_;
  Symbols symbols_;
  ModelStep step_;
};

}  // namespace

ModelStep load_step(const StepAsk& ask, std::int64_t gpus) {
  if (const auto found = find_named(ask.step, step_name)) return StepReader(found->root(), ask, gpus).read();
  throw Error("STEP", "unknown step " + in_quotes(ask.step),
              one_of(ask.step, builtin_steps()) + ", or the path of a step's .yaml");
}

std::vector<std::string> builtin_steps() { return embedded_names(step_name); }

StepNotes notes_of_step(const std::string& name) {
  const auto found = find_named(name, step_name);
  StepNotes out;
  if (!found) return out;
  out.about = found->root().at("about").text();
  for (const auto& [symbol, node] : found->root().at("symbols").entries())
    out.symbols.push_back(node.is_null() ? symbol : symbol + "=" + node.text());
  return out;
}

}  // namespace napkin::internal
