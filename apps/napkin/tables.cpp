// napkin tables: makes the tables of the bundled kernels, which select reads, for a GPU and the usual head sizes.

#include <fmt/format.h>

#include <map>

#include "apps/library/catalog.hpp"
#include "apps/library/kept_tables.hpp"
#include "apps/library/request.hpp"
#include "apps/library/select_kernel.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/progress.hpp"
#include "model/mapping/load.hpp"

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
        for (const std::int64_t tokens : {16384, 1024}) {
          for (const std::int64_t s : lengths()) {
            if (s > tokens) continue;
            ask.shape = {{"b", tokens / s}, {"h", std::max<std::int64_t>(2048 / d, 1)}, {"q", s}, {"x", s}, {"d", d}};
            out.push_back(ask);
          }
        }
      }
    }
  }
  return out;
}

Reply run_tables(const Arguments& arguments, const report::Style&) {
  const std::string folder = arguments.need("--out", "a folder for the tables");
  const std::string gpu = arguments.find("--gpu").value_or("h200-sxm");
  Catalog catalog;
  std::map<std::string, std::string> made;
  const auto known =
      make_known({nullptr, [&](const std::string& key, const std::string& bytes) { made[key] = bytes; }});
  Progress progress;
  std::size_t kinds = 0;
  for (const std::string& name : builtin_mappings()) {
    const auto mapping = catalog.mapping(name, "--kernel");
    if (mapping->source.empty() || !runs_on(*mapping, *catalog.machine(gpu))) continue;
    for (const std::string& dtype : mapping->dtypes) {
      const std::vector<Ask> asks = asks_of(*mapping, gpu, dtype);
      progress.begin(name + " " + dtype, asks.size());
      for (const Ask& ask : asks) {
        Request request = make_request(ask, catalog);
        request.known = known;
        (void)Ranking(request, request.layouts.front(), 5).explain();
        progress.step(ask.kernel);
        ++kinds;
      }
    }
  }
  known->tables.save(true);
  ship_tables(folder, made);
  progress.clear();
  return {fmt::format("{} questions of {} answered; their tables lie in {}\n", kinds, gpu, folder), "", 0};
}

}  // namespace

Command tables_command() {
  return {"tables",
          "make the tables that select reads, of the bundled kernels on a GPU",
          {},
          {{"--out", "FOLDER", "where they go"}, {"--gpu", "G", "a profile's name (h200-sxm)"}},
          run_tables};
}

}  // namespace napkin::cli
