// The time between two tiles of attention_sm90, piece by piece: time marks that a variant of the kernel recorded,
// compared with the event graph's blocks. Tiles without a mask, each of 16 chunks (26 at d = 256).
#include <map>
#include <string>

#include "model/clock/launch/launch.hpp"
#include "tests/measured/row.hpp"
#include "tests/support/layout.hpp"

namespace test_ends {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

using cli::Json;

/// Clocks from one tile's end to the next one's, mean over the warpgroups, and those without the tile's loop.
struct TileClocks {
  double tile = 0, ends = 0;
};

/// Returns the recorded clocks. Marks slow a launch by some percent, all of it in the ends.
TileClocks measured(const Json& row) {
  TileClocks out;
  const double warpgroups = static_cast<double>(row["warpgroups"].size());
  double iterations = 0;
  for (const Json& each : row["warpgroups"]) {
    out.tile += each["tile"].get<double>() / warpgroups;
    iterations += each["iterations"].get<double>() / warpgroups;
  }
  out.tile *= row["cycles"].get<double>() / row["traced"].get<double>();
  out.ends = out.tile - iterations;
  return out;
}

TileClocks predicted(const Json& row) {
  Shape shape;
  for (const std::string& axis : cli::keys_of(row["shape"]))
    shape.emplace_back(axis, row["shape"][axis].get<std::int64_t>());
  Knobs tile;
  for (const std::string& knob : cli::keys_of(row["tile"])) {
    const Json& value = row["tile"][knob];
    tile.emplace_back(knob, value.is_string() ? value.get<std::string>() : value.dump());
  }
  const LaidOut l("attention_sm90", "h200-sxm", shape, DType::bf16);
  const PlacedDiagram placed = l.place(tile);
  const EventGraph graph = event_graph(placed);
  const Period steady = period(graph);
  const LaunchShape launch = launch_shape(placed);
  const BlockEnds ends = block_ends(placed);
  const BlockClocks block = block_clocks(graph, steady, launch.mean, launch.cut);
  TileClocks out;
  out.tile = ends.persist ? block.next : block.first + ends.start + ends.handover;
  out.ends = out.tile - (launch.mean - 1) * steady.clocks;  // the first chunk is outside the loop
  return out;
}

}  // namespace

TEST_CASE("a tile's ends and the whole of it, as marks in the kernel read them") {
  int rows = 0;
  for (const Json& row : measured::rows_of("ends/tile_ends.jsonl")) {
    if (row["mask"] != "none") continue;
    ++rows;
    const TileClocks m = measured(row), p = predicted(row);
    const std::string of = row["shape"].dump() + row["tile"].dump();
    MESSAGE(of << ": a tile " << m.tile << ", predicted " << p.tile << "; its ends " << m.ends << ", predicted "
               << p.ends);
    CHECK(p.tile == doctest::Approx(m.tile).epsilon(0.08));
    CHECK(p.ends == doctest::Approx(m.ends).epsilon(0.25));
  }
  CHECK(rows == 9);
}

// ends/diagonal.jsonl: marks at the top of every iteration, medians over all tiles but the first of four blocks'
// warpgroups: of the first four iterations, and of all later ones.
TEST_CASE(
    "the third chunk of a masked tile is waited for where two stages hold two, and the first touch of the diagonal "
    "says how long") {
  std::map<std::string, Json> rows;
  for (const Json& row : measured::rows_of("ends/diagonal.jsonl")) {
    const auto text = [&](const char* knob) { return row["tile"][knob].get<std::string>(); };
    rows[row["mask"].get<std::string>() + std::to_string(row["shape"]["q"].get<int>()) + " x" + text("x") + " stages " +
         text("stages") + " q_stages " + text("q_stages")] = row;
  }
  CHECK(rows.size() == 7);
  const auto behind = [&](const std::string& name, std::size_t iteration) {
    return rows.at(name)["iterations"][iteration].get<double>() - rows.at(name)["later"].get<double>();
  };
  CHECK(behind("causal1024 x48 stages 2 q_stages 2", 1) > 1000);
  CHECK(behind("causal4096 x48 stages 2 q_stages 2", 1) > 700);
  CHECK(behind("causal1024 x64 stages 2 q_stages 1", 1) < 0);  // two chunks are new, and two are held
  CHECK(rows.at("causal1024 x48 stages 2 q_stages 1")["q"].get<double>() >
        2000);  // with one copy of Q the load waits instead, and longer

  // The waits of a tile's first four iterations beyond those of later ones, measured and by the graph; cut chunks also
  // have more work.
  const Json& row = rows.at("causal1024 x48 stages 2 q_stages 2");
  const LaidOut l("attention_sm90", "h200-sxm", {{"b", 16}, {"h", 8}, {"q", 1024}, {"x", 1024}, {"d", 256}},
                  DType::bf16, {Mask::Kind::causal, 0, 0});
  Knobs knobs;
  for (const auto& [name, value] : row["tile"].items()) knobs.emplace_back(name, value.get<std::string>());
  const PlacedDiagram p = l.place(knobs);
  EventGraph graph = event_graph(p);
  const auto clocks = [&] { return block_clocks(graph, period(graph), 16, cut_chunks(p)).next; };
  const double with = clocks();
  for (EventNode& node : graph.nodes) node.first_latency = 0;
  double measured = 0;
  for (std::size_t i = 0; i < 4; ++i) measured += behind("causal1024 x48 stages 2 q_stages 2", i);
  CAPTURE(measured);
  CHECK(with - clocks() > 0.4 * measured);
  CHECK(with - clocks() < 1.1 * measured);
}

}  // namespace test_ends
