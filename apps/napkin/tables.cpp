// napkin tables: makes the tables of the bundled kernels, which select reads, for a GPU and the usual head sizes.

#include <fmt/format.h>

#include <filesystem>

#include "apps/library/catalog.hpp"
#include "apps/library/kept_tables.hpp"
#include "apps/library/request.hpp"
#include "apps/library/select_kernel.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/progress.hpp"
#include "model/mapping/load.hpp"

namespace napkin::cli {
namespace {

/// A question of one kind that stands for its lengths.
std::vector<Ask> asks_of(const Mapping& mapping, const std::string& gpu, const std::string& dtype) {
  std::vector<Ask> out;
  Ask ask;
  ask.algorithm = mapping.algorithm;
  ask.gpu = gpu;
  ask.kernel = mapping.name;
  ask.dtype = dtype;
  if (mapping.algorithm == "matmul") {
    for (const std::int64_t n : {512, 1024, 2048, 4096, 8192}) {
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
        for (std::int64_t tokens : {16384, 1024}) {  // beyond what the L2 keeps, and within
          for (std::int64_t s = 256; s <= tokens; s *= 2) {
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
  const auto known = make_known(tables_for(folder));
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
