// A developer's check of the register rule: compiles a kernel's tile space and sets what the compiler says beside what
// the plan says, one JSON object a variant, a summary on stderr. No GPU.
//
//   run_compile attention_sm90 --gpu h200-sxm --shape h=16,q=4096,x=4096,d=64 [--causal | --window L,R] [--dtype f16]
//               [--tile order=grid,...] [--sample 40] [--near 32] [--seed 1] [--jobs 1] [--cache DIR]
//               [--shard I/N] [--known FILE.jsonl] [--count]
//
// Variants are the distinct instantiations among the legal tiles, and among those that only the register rule rejects,
// by at most
// --near registers (0: none of these). --sample: so many of each, at random; left out: all of them, which takes hours.
// --shard I/N: the I-th of N shares, for several machines. --known: leaves out what an earlier run of the same shape
// and mask wrote there. --count: compiles nothing. Exit 1 where a legal tile spills or the compiler objects to it.
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "kernels/launch/bundled.hpp"
#include "tests/kernel/register_rule.hpp"

namespace {

using namespace napkin;
using Json = nlohmann::ordered_json;

struct Request {
  Ask ask;
  std::size_t sample = 0;  // 0: all
  std::int64_t near = 32;
  std::uint64_t seed = 1;
  int jobs = 1;
  std::size_t shard = 0, shards = 1;
  std::string known;
  bool count = false;
  Environment environment = process_environment();
};

void read_shard(const std::string& text, Request& r) {
  std::size_t slash = 0;
  r.shard = std::stoul(text, &slash) - 1;
  r.shards = slash < text.size() ? std::stoul(text.substr(slash + 1)) : 0;
  if (r.shard >= r.shards) throw Error("--shard", "is '" + text + "'", "I/N, I from 1 to N");
}

Request read(int argc, char** argv) {
  Request r;
  r.ask.gpu = "h200-sxm";
  r.ask.kernel = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--causal") {
      r.ask.mask.kind = Mask::Kind::causal;
      continue;
    }
    if (word == "--count") {
      r.count = true;
      continue;
    }
    if (++i >= argc) throw Error("arguments", word + " wants a value");
    const std::string value = argv[i];
    if (word == "--gpu")
      r.ask.gpu = value;
    else if (word == "--shape")
      r.ask.shape = parse_shape(value);
    else if (word == "--tile")
      r.ask.tile = parse_tile(value);
    else if (word == "--dtype")
      r.ask.dtype = value;
    else if (word == "--window")
      r.ask.mask = parse_window(value);
    else if (word == "--sample")
      r.sample = std::stoul(value);
    else if (word == "--near")
      r.near = std::stoll(value);
    else if (word == "--seed")
      r.seed = std::stoull(value);
    else if (word == "--jobs")
      r.jobs = std::stoi(value);
    else if (word == "--shard")
      read_shard(value, r);
    else if (word == "--known")
      r.known = value;
    else if (word == "--cache")
      r.environment.cache = value;
    else
      throw Error("arguments", "'" + word + "' is unknown");
  }
  r.ask.algorithm = r.ask.kernel.starts_with("matmul") ? "matmul" : "attention";
  return r;
}

std::string written(const Mapping& mapping, const Tile& tile) {
  Json out;
  for (const auto& [knob, value] : describe(mapping, tile)) out[knob] = value;
  return out.dump();
}

/// The tiles of an earlier run's rows.
std::set<std::string> known_tiles(const std::string& path) {
  std::set<std::string> out;
  if (path.empty()) return out;
  std::ifstream file(path);
  if (!file) throw Error("--known", "cannot read '" + path + "'");
  for (std::string line; std::getline(file, line);) out.insert(Json::parse(line).at("tile").dump());
  return out;
}

struct Variant {
  LaunchPlan launch;
  Tile tile;
  bool accepted = false;
  std::int64_t need = 0, limit = 0, planned = 0;
};

/// By instantiation; legal ones and near ones.
std::map<std::string, Variant> variants_of(const Request& r, const Measurable& m, const BundledKernel& kernel) {
  const LaunchDevice device = launch_device(*m.request.machine);
  const std::set<std::string> known = known_tiles(r.known);
  std::map<std::string, Variant> out;
  std::set<std::string> compiled;  // a tile of another order may be the same kernel
  test::for_each_ruled(m, r.near, [&](const test::RuledTile& one) {
    Variant variant{kernel.variant(one.placed, false, device),
                    one.tile,
                    one.legal,
                    one.plan.registers_per_thread.get(),
                    one.plan.registers_limit.get(),
                    one.plan.registers_launch.get()};
    if (known.contains(written(m.layout->mapping, one.tile))) compiled.insert(variant.launch.expression);
    out.emplace(variant.launch.expression, std::move(variant));
  });
  for (const std::string& expression : compiled) out.erase(expression);
  return out;
}

/// This share of the sample, in an order that is the seed's.
std::vector<const Variant*> sampled(const std::map<std::string, Variant>& all, const Request& r) {
  std::vector<const Variant*> out;
  for (const bool accepted : {true, false}) {
    std::vector<const Variant*> kind;
    for (const auto& [expression, variant] : all) {
      if (variant.accepted == accepted) kind.push_back(&variant);
    }
    std::size_t taken = 0;
    for (const std::size_t i : shuffled(kind.size(), r.seed)) {
      if (r.sample > 0 && taken++ >= r.sample) break;
      out.push_back(kind[i]);
    }
  }
  std::vector<const Variant*> share;
  for (std::size_t i = r.shard; i < out.size(); i += r.shards) share.push_back(out[i]);
  return share;
}

struct Tally {
  int compiled = 0, objected = 0;
};

class Compiling {
 public:
  Compiling(const Request& r, const Mapping& mapping) : request_(r), mapping_(mapping) {}

  void operator()(const std::vector<const Variant*>& variants) {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < variants.size(); i = next++) one(*variants[i]);
    };
    std::vector<std::thread> helpers;
    for (int i = 1; i < request_.jobs; ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
  }
  [[nodiscard]] const Tally& tally(bool accepted) const { return accepted ? accepted_ : near_; }

 private:
  void one(const Variant& v) {
    Json out;
    out["tile"] = Json::parse(written(mapping_, v.tile));
    out["accepted"] = v.accepted;
    out["need"] = v.need;
    out["limit"] = v.limit;
    bool objected = false;
    try {
      const CompileReport report = compile(v.launch, request_.environment, Objections::report).kernel.report;
      objected = !report.clean();
      out["registers"] = report.registers;
      out["planned"] = v.planned;
      out["spill_bytes"] = (report.spill_stores + report.spill_loads).value.get();
      if (!report.faults.empty()) out["faults"] = report.faults;
    } catch (const std::exception& error) {
      objected = true;
      out["error"] = error.what();
    }
    const std::lock_guard lock(mutex_);
    Tally& tally = v.accepted ? accepted_ : near_;
    ++tally.compiled;
    tally.objected += objected ? 1 : 0;
    std::printf("%s\n", out.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(stdout);
  }

  const Request& request_;
  const Mapping& mapping_;
  std::mutex mutex_;
  Tally accepted_, near_;
};

int run(const Request& r) {
  const std::unique_ptr<Measurable> m = measurable_of(r.ask);
  const BundledKernel* kernel = find_bundled(m->layout->mapping.name);
  if (kernel == nullptr) throw Error("KERNEL", "is none that is bundled", "one of " + joined(bundled_names()));
  const std::map<std::string, Variant> all = variants_of(r, *m, *kernel);
  Compiling compiling(r, m->layout->mapping);
  if (!r.count) compiling(sampled(all, r));
  for (const bool accepted : {true, false}) {
    const auto there =
        std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.second.accepted == accepted; });
    const Tally& tally = compiling.tally(accepted);
    std::fprintf(stderr, "%s: %td variants, %d compiled, %d objected to\n",
                 accepted ? "legal" : "rejected by few registers", there, tally.compiled, tally.objected);
  }
  return compiling.tally(true).objected == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(read(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_compile: %s\n", error.what());
    return 2;
  }
}
