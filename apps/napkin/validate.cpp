// napkin validate: runs the bundled kernels on the GPU here and sets prediction beside measurement, or predicts
// recorded or published rows again.

#include "apps/napkin/validate.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <thread>

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/dump.hpp"
#include "apps/napkin/validate_island.hpp"
#include "model/base/error.hpp"
#include "model/fusion/algorithm.hpp"
#include "model/fusion/derive.hpp"
#include "napkin/island.hpp"

namespace napkin::internal::cli {
namespace {

constexpr std::int64_t most_tiles = 1000000;

std::int64_t number(const Arguments& arguments, std::string_view option, std::int64_t least, std::int64_t most,
                    std::int64_t otherwise) {
  const auto text = arguments.find(option);
  if (!text) return otherwise;
  const std::string where(option);
  const std::int64_t value = parse_number(*text, least, where, "N");
  if (value > most)
    throw Error(where, "N is " + *text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

double real(const Arguments& arguments, std::string_view option, double least, double most, double otherwise) {
  const auto text = arguments.find(option);
  if (!text) return otherwise;
  double value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end || !(value >= least && value <= most)) {
    throw Error(std::string(option), "is " + in_quotes(*text),
                "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

L2State l2_of(const Arguments& arguments) {
  return parse_l2(arguments.find("--l2").value_or("warm"), "--l2") ? L2State::cold : L2State::warm;
}

std::vector<Ask> asks_of(const Arguments& arguments) {
  if (arguments.operands.size() > 1) {
    throw Error("napkin validate", in_quotes(arguments.operands[1]) + " is one word too many",
                "one ALGORITHM, then options");
  }
  Arguments one = arguments;
  std::vector<Ask> asks;
  if (arguments.lists.find("--shape") == arguments.lists.end()) return {ask_without_machine(one)};
  const auto lengths = arguments.lists.find("--lengths");
  for (const std::string& shape : arguments.lists.at("--shape")) {
    one.values["--shape"] = shape;
    for (const std::string& batch : lengths == arguments.lists.end() ? std::vector<std::string>{""} : lengths->second) {
      if (lengths != arguments.lists.end()) one.values["--lengths"] = batch;
      asks.push_back(ask_without_machine(one));
    }
  }
  const std::string gpu = arguments.find("--gpu").value_or("here");
  for (Ask& ask : asks) ask.gpu = gpu == "here" ? "" : gpu;
  if (const auto split = arguments.find("--split")) {
    for (Ask& ask : asks) ask.split = *split;
  }
  return asks;
}

/// Checks that recorded rows come without options of a question, which the rows themselves state.
void check_alone(const Arguments& arguments, std::string_view rows) {
  for (const auto& [option, value] : arguments.values) {
    if (option != rows && option != "--json")
      throw Error(option, "stands beside " + std::string(rows), "leave it out: the rows say what was measured");
  }
}

/// Checks that a dump is of a single question.
void check_dump(const Arguments& arguments, const ValidateOptions& options) {
  const std::array<std::string_view, 9> question = {"--dump",   "--at",  "--shape",  "--dtype", "--causal",
                                                    "--window", "--gpu", "--kernel", "--tile"};
  for (const auto& [option, value] : arguments.values) {
    if (std::find(question.begin(), question.end(), option) == question.end())
      throw Error(option, "stands beside --dump", "leave it out: a dump runs one tile once and measures nothing");
  }
  if (options.asks.size() > 1)
    throw Error("--shape", "is given " + std::to_string(options.asks.size()) + " times beside --dump", "one shape");
}

ValidateOptions validate_options_of(const Arguments& arguments) {
  ValidateOptions out;
  out.asks = asks_of(arguments);
  out.sweep = arguments.has("--sweep");
  out.counters = arguments.has("--counters");
  out.resume = arguments.has("--resume");
  out.json = arguments.has("--json");
  if (arguments.has("--out")) out.out = arguments.need("--out", "a file to append to");
  if (out.resume && !out.out) throw Error("--resume", "stands without --out", "give the file that the rows go to");
  if (const auto shard = arguments.find("--shard")) out.shard = parse_shard(*shard);
  const bool island = asks_island(out.asks.front());
  for (const char* option : {"--within", "--tiles", "--random", "--seed", "--pace", "--settle"}) {
    const bool paced = island && (std::string_view(option) == "--pace" || std::string_view(option) == "--settle");
    if (arguments.has(option) && !out.sweep && !paced)
      throw Error(option, "has no meaning without --sweep", "add --sweep or leave it out");
  }
  if (island) out.settle = 1;
  out.tiles.within = real(arguments, "--within", 1, 1000, out.tiles.within);
  out.tiles.most = number(arguments, "--tiles", 0, most_tiles, out.tiles.most);
  out.tiles.random = number(arguments, "--random", 0, most_tiles, out.tiles.random);
  if (arguments.has("--seed")) out.seed = static_cast<std::uint64_t>(number(arguments, "--seed", 0, INT64_MAX, 0));
  out.pace = real(arguments, "--pace", 0.01, 100, out.pace);
  out.settle = real(arguments, "--settle", 0, 1000, out.settle);
  out.l2 = l2_of(arguments);
  if (arguments.has("--load")) {
    out.load = out.asks.front().conditions.load;
    if (out.load->kind == CardLoad::Kind::fraction)
      throw Error("--load", "a fraction of the time is not measured", "sustained or burst");
    if (out.sweep) throw Error("--load", "stands beside --sweep", "one of them");
  }
  out.rows = number(arguments, "--rows", 1, most_tiles, out.rows);
  const auto threads = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  out.jobs = number(arguments, "--jobs", 1, 1024, threads);
  out.compile = arguments.has("--compile");
  if (out.compile && out.asks.front().gpu.empty())
    throw Error("--gpu", "is missing", "beside --compile, which looks at no GPU: a profile, such as h200-sxm");
  if (arguments.has("--dump")) {
    check_dump(arguments, out);
    out.dump = arguments.need("--dump", "a folder for the .npy files");
  }
  if (arguments.has("--dump") || arguments.has("--at"))
    out.observed = observed_at(arguments, derive(load_algorithm(out.asks.front().algorithm)));
  return out;
}

Reply run_validate(const Arguments& arguments, const report::Style& style) {
  if (arguments.has("--replay")) {
    check_alone(arguments, "--replay");
    std::vector<std::string> files = arguments.lists.at("--replay");
    files.insert(files.end(), arguments.operands.begin(), arguments.operands.end());
    return replay(files, arguments.has("--json"), style);
  }
  if (arguments.has("--published")) {
    check_alone(arguments, "--published");
    return published(arguments.operands, arguments.has("--json"), style);
  }
  const ValidateOptions options = validate_options_of(arguments);
  if (asks_island(options.asks.front())) return validate_island(options, style);
  if (arguments.has("--split")) throw Error("--split", "is of several GPUs", "an island's profile: --gpu hgx-h200-8");
  if (options.compile) return compile_here(options);
  return options.dump.empty() ? measure_here(options, style) : dump_here(options);
}

std::vector<Option> sweep_options() {
  return {{"--sweep", "",
           "every legal tile predicted within 1.5x of the best, the experts' tiles and 100 others, in random order"},
          {"--within", "F", "with --sweep: how far from the best prediction (default 1.5)"},
          {"--tiles", "N",
           "with --sweep: at most N of these tiles, spread over the distinct predictions (default 200: device time is "
           "finite)"},
          {"--random", "N", "with --sweep: how many other tiles (default 100)"},
          {"--seed", "S", "with --sweep: seed of order and choice (default: a new one, which the rows record)"},
          {"--pace", "SECONDS", "with --sweep or an island: GPU time of one tile or measurement (default 0.25)"},
          {"--settle", "SECONDS",
           "with --sweep: work before the first tile, a quarter of it before each further sweep (default 20: an idle "
           "card's clock swings for that long); for an island: before each measurement (default 1)"}};
}

}  // namespace

Shard parse_shard(const std::string& text) {
  const std::string right = "I/N with I from 1 to N, such as 3/8";
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) throw Error("--shard", "is " + in_quotes(text), right);
  const Shard shard{parse_number(text.substr(0, slash), 1, "--shard", "I"),
                    parse_number(text.substr(slash + 1), 1, "--shard", "N")};
  if (shard.index > shard.count) throw Error("--shard", "is " + in_quotes(text), right);
  return shard;
}

Command validate_command() {
  std::vector<Option> problem = problem_options();
  problem.front().many = true;
  problem.front().about += "; again for further shapes";
  Option lengths = lengths_option();
  lengths.many = true;
  lengths.about += "; again for further batches of each shape";
  Option algorithm = algorithm_operand();
  algorithm.many = true;
  Option gpu = gpu_option();
  gpu.about = "the profile to predict with; default: the GPU here";
  return {
      "validate",
      "prediction beside measurement: on the GPU here, replayed from recorded rows, or beside published speeds",
      algorithm,
      options(
          {problem,
           {lengths, gpu, split_option(), kernel_option(), tile_option()},
           {{"--load", "L",
             "the load that is predicted and measured: sustained (after two seconds of it) or burst (20 ms after "
             "rests of 0.3 s); default: predicted as sustained, measured until the median is known"}},
           sweep_options(),
           {{"--counters", "", "bytes moved, by the GPU's own counters"},
            {"--l2", "STATE", "the L2 before each launch: warm (default) or cold"},
            {"--rows", "N", "rows of the output that are compared with float64 (default 64)"},
            {"--jobs", "N", "threads that compile (default: all cores)"},
            {"--compile", "", "only compile into the cache what would run; needs no GPU (for a sweep give its --seed)"},
            {"--out", "FILE.jsonl",
             "append a row for each measurement, which is on the disk before the next one begins"},
            {"--resume", "", "skip measurements that --out has already"},
            {"--shard", "I/N", "only the I-th of N shares of the shapes and batches"},
            {"--dump", "DIR",
             "instead: run one tile's debug variant once and write its intermediates as .npy, with the names, inputs "
             "and order of derive --dump"},
            {"--at", "NAME", "with --dump: only this intermediate, such as S, P, O, mu or z"},
            {"--replay", "FILE...", "predict recorded rows anew, without a GPU; prints errors and regret", true},
            {"--published", "",
             "compare the model with what others published, by GPU and kernel; words after it are files of such rows "
             "in place of the built-in ones"},
            json_option()}}),
      run_validate};
}

}  // namespace napkin::internal::cli
