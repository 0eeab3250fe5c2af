#include "apps/napkin/ask.hpp"

#include "model/base/dtype.hpp"
#include "model/base/error.hpp"

namespace napkin::internal::cli {
namespace {

Mask mask_of(const Arguments& arguments) {
  if (arguments.has("--causal") && arguments.has("--window")) {
    throw Error("--window", "stands beside --causal", "give one of the two (causal is a window with R = 0)");
  }
  const auto prefix = arguments.find("--prefix");
  for (const char* other : {"--causal", "--window"}) {
    if (prefix && arguments.has(other))
      throw Error("--prefix", std::string("stands beside ") + other,
                  "give one of the two (a prefix is causal after it)");
  }
  if (prefix) return parse_prefix(*prefix);
  if (const auto window = arguments.find("--window")) return parse_window(*window);
  Mask mask;
  if (arguments.has("--causal")) mask.kind = Mask::Kind::causal;
  return mask;
}

/// Returns an option's value, which must not be empty; "" if the option is left out.
std::string named(const Arguments& arguments, std::string_view option, const std::string& right) {
  return arguments.has(option) ? arguments.need(option, right) : std::string();
}

}  // namespace

Option algorithm_operand() {
  return {
      "ALGORITHM", "",
      "a built-in name (napkin list algorithms) or a path to a diagram's YAML; with gradient: in front its backward "
      "pass"};
}

Option gpu_option() {
  return {"--gpu", "G",
          "a profile's name (napkin list gpus), a path to a profile's YAML, or here: the GPU in this machine"};
}

Option memory_option() {
  return {"--memory", "VALUES",
          "instead of --gpu: the abstract two-level machine, whose low level holds that many values; query also takes "
          "several levels, from the top down, such as 58112,1024"};
}

Option kernel_option() {
  return {
      "--kernel", "K",
      "a mapping's name (napkin list kernels) or path; ideal: no kernel's; default: the fastest kernel for that GPU"};
}

Option tile_option() {
  return {"--tile", "k=v,...", "knobs to fix, such as q=128,x=128,stages=2; the others are selected"};
}

Option explain_option() {
  return {"--explain", "", "everything that is known: levels, pipes, reasons, ranking, doubts"};
}

Option json_option() { return {"--json", "", "one JSON object in place of tables"}; }

Option lengths_option() {
  return {"--lengths", "L,...",
          "a packed batch in place of b, q and x: the length of each sequence, QxX if queries and keys differ, N* in "
          "front for N equal ones: 512,4096,1,0 or 64*1x8192"};
}

Option split_option() {
  return {"--split", "S",
          "for several GPUs: how they divide the work, NAME,order=zigzag,gpus=8 with a split's name or path; default: "
          "the fastest"};
}

std::vector<Option> problem_options() {
  return {{"--shape", "k=v,...", "axis sizes, such as b=2,h=16,q=8192,x=8192,d=128 (the paper's axis names)"},
          {"--dtype", "T", "element type (default bf16): " + joined(dtype_names())},
          {"--causal", "", "row i sees keys j <= i + x - q"},
          {"--window", "L,R", "row i sees keys from i + x - q - L to i + x - q + R; -1: no limit"},
          {"--prefix", "N", "row i sees keys j < N and those of --causal (prefix-LM)"},
          {"--bundled", "", "only this program's own kernels, which it can launch"}};
}

std::vector<Option> condition_options() {
  return {
      {"--load", "L",
       "how long the card runs it: sustained (default; launch after launch), burst (some tens of milliseconds after "
       "a rest), or the fraction of the time, such as 0.3"},
      {"--clock", "GHZ", "the clock that the driver is set to hold; default: the maximum"},
      {"--l2", "STATE",
       "the caches before the call: warm (default; they hold what fits of the call before) or cold (flushed, as "
       "benchmarks do that clear the L2)"}};
}

CardConditions conditions_of(const Arguments& arguments) {
  CardConditions conditions;
  if (const auto load = arguments.find("--load")) conditions.load = parse_card_load(*load, "--load");
  if (const auto clock = arguments.find("--clock")) conditions.clock = 1e9 * parse_positive(*clock, "--clock", "GHZ");
  if (const auto l2 = arguments.find("--l2")) conditions.cold = parse_l2(*l2, "--l2");
  return conditions;
}

namespace {

/// Makes the question without the shape and the machine.
Ask problem_of(const Arguments& arguments) {
  Ask ask;
  ask.algorithm =
      arguments.need_operand("ALGORITHM", "a built-in name (napkin list algorithms) or a path to a YAML file");
  ask.dtype = named(arguments, "--dtype", "an element type, such as bf16");
  ask.mask = mask_of(arguments);
  ask.kernel = named(arguments, "--kernel", "a mapping's name (napkin list kernels) or path");
  ask.bundled = arguments.has("--bundled");
  if (ask.bundled && !ask.kernel.empty()) throw Error("--bundled", "stands beside --kernel", "give one of the two");
  ask.split = named(arguments, "--split", "a split's name, such as ring_attention");
  ask.conditions = conditions_of(arguments);
  if (const auto tile = arguments.find("--tile")) ask.tile = parse_tile(*tile);
  if (const auto lengths = arguments.find("--lengths")) ask.lengths = parse_lengths(*lengths);
  return ask;
}

Ask on_machine(const Arguments& arguments, Ask ask) {
  if (const auto values = arguments.find("--memory")) {
    if (arguments.has("--gpu")) throw Error("--memory", "stands beside --gpu", "give one of the two");
    ask.memory = parse_number(*values, 1, "--memory", "VALUES");
    return ask;
  }
  ask.gpu = arguments.need("--gpu", "a profile's name (napkin list gpus) or a path to a YAML file");
  return ask;
}

}  // namespace

Ask ask_without_machine(const Arguments& arguments) {
  Ask ask = problem_of(arguments);
  ask.shape = parse_shape(arguments.need("--shape", "axis sizes, such as q=8192,x=8192,d=128"));
  return ask;
}

Ask ask_without_shape(const Arguments& arguments) { return on_machine(arguments, problem_of(arguments)); }

Ask ask_of(const Arguments& arguments) { return on_machine(arguments, ask_without_machine(arguments)); }

std::vector<Option> options(std::initializer_list<std::vector<Option>> groups) {
  std::vector<Option> all;
  for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace napkin::internal::cli
