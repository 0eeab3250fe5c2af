#include "apps/library/draft/draft_sizes.hpp"

#include <algorithm>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

constexpr int warp = 32, warpgroup = 128;

void find_agents(const SassCensus& census, DraftSizes& out) {
  const int own = warp * census.operations.front().shape.warps, threads = census.function.resources.threads;
  if (census.copy_registers > 0) out.copy_threads = warpgroup;
  if (threads > out.copy_threads && (threads - out.copy_threads) % own == 0)
    out.agents = (threads - out.copy_threads) / own;
  else
    out.open_agents = "the file does not say how many threads a block has";
  if (out.copy_threads > 0 && out.open_agents.empty())
    out.open_agents = "one warpgroup is taken to copy, since it gives registers back";
}

/// Finds the sizes of two chained products, S and then O = f(S) V: the depth of the second is the loop's chunk.
void find_two(const DraftParts& parts, const SassCensus& census, DraftSizes& out) {
  const SassOperation &s = census.operations[0], &o = census.operations[1];
  const std::int64_t x = o.depth(), area = std::int64_t{s.shape.m} * s.shape.n * s.chains;
  out.of[parts.stream] = {x, ""};
  const std::int64_t rows = x > 0 && area % x == 0 ? area / x : s.shape.m;
  out.of[parts.rows] = {rows * out.agents, x > 0 && area % x == 0 ? "" : "the shapes of the products do not say it"};
  if (out.agents > 1) out.of[parts.rows].open = "if the warps divide the rows; where several make the same rows, fewer";
  if (!parts.depth.empty()) out.of[parts.depth] = {s.depth(), ""};
  const std::int64_t columns = std::int64_t{o.shape.m} * o.shape.n * o.chains / std::max<std::int64_t>(rows, 1);
  for (const std::string& axis : parts.whole) {
    if (axis != parts.depth) out.of[axis] = {columns, ""};
  }
}

/// Finds the sizes of a single product. Instructions do not say how accumulators are arranged, rows beside columns.
void find_one(const DraftParts& parts, const SassCensus& census, DraftSizes& out) {
  const SassOperation& c = census.operations.front();
  out.of[parts.stream] = {c.depth(), ""};
  std::int64_t rows = std::int64_t{c.shape.m} * c.chains * out.agents, columns = c.shape.n;
  // Warps divide rows and columns so that each has nearly a square.
  while (!c.shape.asynchronous && rows > columns && rows % 2 == 0) rows /= 2, columns *= 2;
  const std::string open =
      c.chains > 1 || !c.shape.asynchronous ? "the code says the product of rows and columns alone" : "";
  out.of[parts.rows] = {rows, open};
  if (!parts.columns.empty()) out.of[parts.columns] = {columns, open};
}

}  // namespace

DraftSizes draft_sizes(const DraftParts& parts, const SassCensus& census, const TileText& tile) {
  DraftSizes out;
  find_agents(census, out);
  parts.products == 2 ? find_two(parts, census, out) : find_one(parts, census, out);
  for (const auto& [axis, text] : tile) {
    if (!out.of.contains(axis)) {
      std::vector<std::string> known;
      for (const auto& [name, size] : out.of) known.push_back(name);
      throw Error("--tile", "'" + axis + "' is no size of the draft", "one of " + joined(known));
    }
    out.of[axis] = {parse_number(text, 1, "--tile", axis), ""};
  }
  return out;
}

}  // namespace napkin::internal
