// napkin tables: makes the tables of the bundled kernels, which select reads, for a GPU and the usual head sizes.

#include <fmt/format.h>

#include <algorithm>

#include "apps/library/question/catalog.hpp"
#include "apps/library/question/kept_tables.hpp"
#include "apps/library/question/known.hpp"
#include "apps/library/question/request.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/progress.hpp"
#include "model/mapping/read/load.hpp"

namespace napkin::cli {
namespace {

/// Sequences as long as users have them: runs of every number of iterations that blocks of good tiles have at lengths
/// in between are then in the table.
std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> out{1, 128};
  for (std::int64_t s = 256; s <= 2048; s += 256) out.push_back(s);
  for (std::int64_t s = 4096; s <= 16384; s *= 2) out.push_back(s);
  return out;
}

/// Lengths of one sequence that a range of sizes asks about (q=512..4096): under a causal mask each has runs of its
/// own.
std::vector<std::int64_t> lengths_of_range() {
  std::vector<std::int64_t> out;
  for (std::int64_t s = 512; s <= 4096; s += 128) out.push_back(s);
  return out;
}

/// Questions of one kind that stand for its lengths: where arrays come from device memory and where the L2 keeps them.
std::vector<Ask> asks_of(const Mapping& mapping, const std::string& gpu, const std::string& dtype) {
  std::vector<Ask> out;
  Ask ask;
  ask.algorithm = mapping.algorithm;
  ask.gpu = gpu;
  ask.kernel = mapping.name;
  ask.dtype = dtype;
  if (mapping.algorithm == "matmul") {
    for (const std::int64_t n : lengths()) {
      ask.shape = {{"a", n}, {"b", n}, {"c", n}};
      out.push_back(ask);
    }
    return out;
  }
  for (const auto& [axis, sizes] : mapping.head_sizes) {
    if (axis != "d") continue;
    for (const std::int64_t d : sizes) {
      for (const Mask mask : {Mask{}, Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 1024, 0}}) {
        ask.mask = mask;
        const auto add = [&](std::int64_t b, std::int64_t s) {
          ask.shape = {{"b", b}, {"h", std::max<std::int64_t>(2048 / d, 1)}, {"q", s}, {"x", s}, {"d", d}};
          out.push_back(ask);
        };
        for (const std::int64_t tokens : {16384, 1024}) {
          for (const std::int64_t s : lengths()) {
            if (s <= tokens) add(tokens / s, s);
          }
        }
        if (mask.kind != Mask::Kind::causal) continue;
        for (const std::int64_t s : lengths_of_range()) add(1, s);
      }
    }
  }
  return out;
}

/// The mapping's types, one of those that differ in nothing but their names: they share their tables.
std::vector<std::string> dtypes_of(const Mapping& mapping, const Machine& machine) {
  std::vector<std::string> out;
  const auto type_of = [&](const std::string& name) { return parse_dtype(name, mapping.name); };
  for (const std::string& dtype : mapping.dtypes) {
    const auto alike = [&](const std::string& one) { return machine.cost_alike(type_of(one), type_of(dtype)); };
    if (std::none_of(out.begin(), out.end(), alike)) out.push_back(dtype);
  }
  return out;
}

Reply run_tables(const Arguments& arguments, const report::Style&) {
  const std::string folder = arguments.need("--out", "a folder for the tables"),
                    right = "profiles' names, --gpus h200-sxm,h100-sxm",
                    gpus = arguments.find("--gpus").value_or("h200-sxm,h100-sxm");
  Catalog catalog;
  const auto known = make_known(shipped_to(folder));
  Progress progress;
  std::size_t questions = 0;
  for (const std::string& gpu : parse_words(gpus, "--gpus", right)) {
    const auto machine = catalog.machine(gpu);
    for (const std::string& name : builtin_mappings()) {
      const auto mapping = catalog.mapping(name, "--kernel");
      if (mapping->source.empty() || !runs_on(*mapping, *machine)) continue;
      for (const std::string& dtype : dtypes_of(*mapping, *machine)) {
        const std::vector<Ask> asks = asks_of(*mapping, gpu, dtype);
        progress.begin(gpu + " " + name + " " + dtype, asks.size());
        for (const Ask& ask : asks) {
          Request request = make_request(ask, catalog);
          request.known = known;
          (void)Ranking(request, request.layouts.front(), 5).explain();
          progress.step(ask.kernel);
          ++questions;
        }
      }
    }
  }
  known->tables.save(true);
  progress.clear();
  return {fmt::format("{} questions of {} answered; their tables lie in {}\n", questions, gpus, folder), "", 0};
}

}  // namespace

Command tables_command() {
  return {"tables",
          "make the tables that select reads, of the bundled kernels on some GPUs",
          {},
          {{"--out", "FOLDER", "where they go"}, {"--gpus", "A,B,...", "profiles' names (h200-sxm,h100-sxm)"}},
          run_tables};
}

}  // namespace napkin::cli
