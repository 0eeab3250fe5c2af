// run_compile compiles a kernel's tile space and sets what the compiler says beside what the plan says, one JSON object
// a variant, a summary on stderr; from such verdicts it makes the mapping's register table. No GPU.
//
//   run_compile attention_sm90 --gpu h200-sxm --shape h=16,q=4096,x=4096,d=64 [--causal | --window L,R] [--dtype f16]
//               [--tile order=grid,...] [--sample 40] [--near 32] [--seed 1] [--jobs 1] [--cache DIR]
//               [--spare 8] [--shard I/N] [--known FILE.jsonl] [--record FILE.jsonl] [--count]
//   run_compile attention_sm90 --table tests/measured/registers/attention_sm90.jsonl [--by order,mask]
//
// Variants are the distinct instantiations among the legal tiles, and among those that only the register rule rejects,
// by at most
// --near registers (0: no such tile). --sample: so many of each, at random; left out: all of them, which takes hours.
// --spare: of the legal tiles those with fewer registers left. --shard I/N: the I-th of N shares, for several machines.
// --known: does not compile again what an earlier run of the same shape and mask wrote there. --record: when all is
// compiled, adds the line of verdicts that --table and tests/measured/test_registers.cpp read. --count: compiles
// nothing. Exit 1 where a legal tile spills or the compiler objects to it.
// --table: writes the register table by those verdicts; --by: with columns for these knobs too.
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "apps/library/judge/validation.hpp"
#include "apps/library/question/revision.hpp"
#include "kernels/reference/bundled.hpp"
#include "model/base/parallel.hpp"
#include "tests/kernel/program.hpp"
#include "tests/kernel/register_table_maker.hpp"
#include "tests/kernel/reports.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using Json = nlohmann::ordered_json;

struct Options {
  Ask ask;
  std::size_t sample = 0;  // 0: all
  std::int64_t near = 32;
  std::int64_t spare = 0;  // 0: all
  std::uint64_t seed = 1;
  int jobs = 1;
  std::size_t shard = 0, shards = 1;
  std::string known, record, table;
  std::set<std::string> by;
  std::string shape, fixed, mask = "none";  // as written
  bool count = false;
  Environment environment = process_environment();
};

void read_shard(const std::string& text, Options& r) {
  std::size_t slash = 0;
  r.shard = std::stoul(text, &slash) - 1;
  r.shards = slash < text.size() ? std::stoul(text.substr(slash + 1)) : 0;
  if (r.shard >= r.shards) throw Error("--shard", "is '" + text + "'", "I/N, I from 1 to N");
}

void add_options(CLI::App& app, Options& r) {
  using test::add_text;
  app.add_option("kernel", r.ask.kernel)->required();
  app.add_option("--gpu", r.ask.gpu);
  add_text(app, "--shape", [&](const std::string& text) { r.ask.shape = parse_shape(r.shape = text); });
  add_text(app, "--tile", [&](const std::string& text) { r.ask.tile = parse_tile(r.fixed = text); });
  app.add_option("--dtype", r.ask.dtype);
  app.add_flag_callback("--causal", [&] {
    r.ask.mask.kind = Mask::Kind::causal;
    r.mask = "causal";
  });
  add_text(app, "--window", [&](const std::string& text) {
    r.ask.mask = parse_window(text);
    r.mask = "window " + text;
  });
  app.add_option("--sample", r.sample);
  app.add_option("--near", r.near);
  app.add_option("--spare", r.spare);
  app.add_option("--seed", r.seed);
  app.add_option("--jobs", r.jobs);
  add_text(app, "--shard", [&](const std::string& text) { read_shard(text, r); });
  app.add_option("--known", r.known);
  app.add_option("--record", r.record);
  app.add_option("--table", r.table);
  add_text(app, "--by", [&](const std::string& text) {
    for (const std::string& name : test::split(text, ',')) r.by.insert(name);
  });
  add_text(app, "--cache", [&](const std::string& text) { r.environment.cache = text; });
  app.add_flag("--count", r.count);
}

std::string written(const Mapping& mapping, const Tile& tile) {
  Json out;
  for (const auto& [knob, value] : describe(mapping, tile)) out[knob] = value;
  return out.dump();
}

std::string words_of(const Json& tile) {
  std::string out;
  for (const auto& [knob, value] : tile.items()) out += (out.empty() ? "" : " ") + value.get<std::string>();
  return out;
}

/// Returns the tiles of an earlier run's rows, and whether the compiler objected to them.
std::map<std::string, bool> known_tiles(const std::string& path) {
  std::map<std::string, bool> out;
  if (path.empty()) return out;
  std::ifstream file(path);
  if (!file) throw Error("--known", "cannot read '" + path + "'");
  for (std::string line; std::getline(file, line);) {
    const Json row = Json::parse(line);
    const bool objected = row.contains("error") || row.contains("faults") || row.at("spill_bytes") != 0;
    out.emplace(row.at("tile").dump(), objected);
  }
  return out;
}

struct Variant {
  LaunchPlan launch;
  Tile tile;
  std::vector<std::string> tiles;  // all that are this variant, in words
  bool accepted = false;
  std::optional<bool> objected = std::nullopt;
  std::int64_t need = 0, limit = 0, planned = 0;
};

/// Returns the variants by instantiation, those of legal tiles and of nearly legal ones.
std::map<std::string, Variant> variants_of(const Options& r, const Measurable& m, const BundledKernel& kernel) {
  const LaunchDevice device = launch_device(*m.question.machine);
  const std::map<std::string, bool> known = known_tiles(r.known);
  std::map<std::string, Variant> out;
  test::for_each_ruled(m, r.near, [&](const test::RuledTile& one) {
    const Count left = one.plan.registers_limit - one.plan.registers_per_thread;
    if (one.legal && r.spare > 0 && left >= Count(r.spare)) return;
    Variant variant{kernel.variant(one.placed, false, device),
                    one.tile,
                    {},
                    one.legal,
                    {},
                    one.plan.registers_per_thread.get(),
                    one.plan.registers_limit.get(),
                    one.plan.registers_launch.get()};
    const std::string expression = variant.launch.expression;
    Variant& made = out.emplace(expression, std::move(variant)).first->second;  // another order may be this kernel too
    made.tiles.push_back(test::words_of(*m.setup->mapping, one.tile));
    const auto found = known.find(written(*m.setup->mapping, one.tile));
    if (found != known.end()) made.objected = found->second;
  });
  return out;
}

/// Returns this share of the sample without the known variants, in an order that the seed chooses.
std::vector<Variant*> sampled(std::map<std::string, Variant>& all, const Options& r) {
  std::vector<Variant*> out;
  for (const bool accepted : {true, false}) {
    std::vector<Variant*> kind;
    for (auto& [expression, variant] : all) {
      if (variant.accepted == accepted && !variant.objected) kind.push_back(&variant);
    }
    std::size_t taken = 0;
    for (const std::size_t i : shuffled(kind.size(), r.seed)) {
      if (r.sample > 0 && taken++ >= r.sample) break;
      out.push_back(kind[i]);
    }
  }
  std::vector<Variant*> share;
  for (std::size_t i = r.shard; i < out.size(); i += r.shards) share.push_back(out[i]);
  return share;
}

struct Tally {
  int compiled = 0, objected = 0;
};

class Compiling {
 public:
  Compiling(const Options& r, const Mapping& mapping) : request_(r), mapping_(mapping) {}

  void operator()(const std::vector<Variant*>& variants) {
    parallel_for(variants.size(), static_cast<std::size_t>(request_.jobs), [&](std::size_t i) { one(*variants[i]); });
  }
  [[nodiscard]] const Tally& tally(bool accepted) const { return accepted ? accepted_ : near_; }

 private:
  void one(Variant& v) {
    Json out;
    out["tile"] = Json::parse(written(mapping_, v.tile));
    out["accepted"] = v.accepted;
    out["need"] = v.need;
    out["limit"] = v.limit;
    bool objected = false;
    try {
      const CompileReport report = compile(v.launch, request_.environment, Objections::report).kernel.report;
      objected = !report.clean();
      test::report(report, out);
      out["planned"] = v.planned;
    } catch (const std::exception& error) {
      objected = true;
      out["error"] = error.what();
    }
    v.objected = objected;
    const std::lock_guard lock(mutex_);
    Tally& tally = v.accepted ? accepted_ : near_;
    ++tally.compiled;
    tally.objected += objected ? 1 : 0;
    std::printf("%s\n", out.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(stdout);
  }

  const Options& request_;
  const Mapping& mapping_;
  std::mutex mutex_;
  Tally accepted_, near_;
};

/// Adds the line of verdicts: tests/kernel/register_verdicts.hpp.
void record(const Options& r, const Mapping& mapping, DType dtype, const std::map<std::string, Variant>& all) {
  const auto compiler = Compiler::find(r.environment.compiler);
  if (!compiler) throw Error("--record", "no compiler to name", "CUDA_HOME, where NVRTC lies");
  std::set<std::string> objected;
  for (const auto& [expression, variant] : all) {
    if (*variant.objected) objected.insert(variant.tiles.begin(), variant.tiles.end());
  }
  for (const auto& [tile, bad] : known_tiles(r.known)) {  // also those that the rule rejects by now
    if (bad) objected.insert(words_of(Json::parse(tile)));
  }
  Json out;
  out["kernel"] = r.ask.kernel;
  out["gpu"] = r.ask.gpu;
  out["dtype"] = name_of(dtype);
  out["shape"] = r.shape;
  out["mask"] = r.mask;
  if (!r.fixed.empty()) out["tile"] = r.fixed;
  out["date"] = now_utc().substr(0, 10);
  out["compiler"] = "NVRTC " + compiler->version();
  out["compiled"] = all.size();
  for (const Knob& knob : mapping.knobs) out["knobs"].push_back(knob.name);
  if (r.spare > 0) out["spare"] = r.spare;
  out["near_complete"] = r.near >= 32;
  out["objected"] = objected;
  std::ofstream file(r.record, std::ios::app);
  file << out.dump() << "\n";
  if (!file.flush()) throw Error(r.record, "cannot be written", "a file");
}

int run(Options& r) {
  if (!r.record.empty() && (r.sample > 0 || r.shards > 1 || r.count))
    throw Error("--record", "not all is compiled with --sample, --shard or --count", "--known, from the shares' rows");
  r.ask.algorithm = test::algorithm_of(r.ask.kernel);
  if (!r.table.empty()) {
    std::fputs(test::register_table(r.ask.kernel, r.table, std::string(source_revision()), r.by).c_str(), stdout);
    return 0;
  }
  const std::unique_ptr<Measurable> m = measurable_of(r.ask);
  const BundledKernel* kernel = find_bundled(m->setup->mapping->name);
  if (kernel == nullptr) throw Error("KERNEL", "is none that is bundled", "one of " + joined(bundled_names()));
  std::map<std::string, Variant> all = variants_of(r, *m, *kernel);
  Compiling compiling(r, *m->setup->mapping);
  if (!r.count) compiling(sampled(all, r));
  for (const bool accepted : {true, false}) {
    const auto there =
        std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.second.accepted == accepted; });
    const Tally& tally = compiling.tally(accepted);
    std::fprintf(stderr, "%s: %td variants, %d compiled, %d objected to\n",
                 accepted ? "legal" : "rejected by few registers", there, tally.compiled, tally.objected);
  }
  if (!r.record.empty()) record(r, *m->setup->mapping, m->question.problem.dtype, all);
  return compiling.tally(true).objected == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options r;
  r.ask.gpu = "h200-sxm";
  CLI::App app("A kernel's tile space, compiled", "run_compile");
  add_options(app, r);
  return test::run_program(app, argc, argv, [&] { return run(r); });
}
