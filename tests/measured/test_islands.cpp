// Splits over two H200s (islands/), twenty questions in each run, and calls of NCCL between the GPUs (island_links/):
// predictions with hgx-h200-2 of the time, of copies alone and of work alone.

#include <cmath>
#include <string>
#include <vector>

#include "model/island/schedule.hpp"
#include "tests/measured/row.hpp"

namespace test_islands {

using cli::Json;

namespace {

Json predicted(const Json& row) {
  const Json& way = row["way"];
  std::vector<std::string> ask =
      cli::words_of("query " + row["algorithm"].get<std::string>() + " --gpu hgx-h200-2 --bundled --json --shape " +
                    cli::pairs(row["shape"]) + " --split " + way["split"].get<std::string>() +
                    ",order=" + way["order"].get<std::string>());
  if (row["mask"] == "causal") ask.emplace_back("--causal");
  const auto run = cli::napkin(ask);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json found = run.json()["ways"][0];
  Json out = found["predicted"];
  double copies = 0;
  for (const Json& call : found["calls"]) copies += call["time"].get<double>() * call["calls"].get<double>();
  out["copies"] = copies;
  out["received"] = found["received"];
  return out;
}

struct Errors {
  double time = 0, work = 0, copies = 0;
  int rows = 0;
};

Errors errors(const std::string& file) {
  Errors out;
  for (const Json& row : measured::rows_of("islands/" + file)) {
    const Json p = predicted(row), &m = row["measured"];
    const auto off = [&](const char* key) { return p[key].get<double>() / m[key].get<double>() - 1; };
    MESSAGE(row["way"]["split"] << " " << row["way"]["order"] << " " << row["shape"].dump() << ": time "
                                << 100 * off("time") << " %, copies " << 100 * off("copies") << " %, work "
                                << 100 * off("work") << " %");
    CHECK(p["received"] == m["received"]);
    CHECK(row["right"] == true);
    out.time += std::abs(off("time"));
    out.work += std::abs(off("work"));
    out.copies += std::abs(off("copies"));
    ++out.rows;
  }
  REQUIRE(out.rows == 20);
  for (double* each : {&out.time, &out.work, &out.copies}) *each /= out.rows;
  MESSAGE(file << ": time " << 100 * out.time << " %, copies " << 100 * out.copies << " %, work " << 100 * out.work
               << " %");
  return out;
}

}  // namespace

TEST_CASE("the sitting that the links' rates come from: bytes exact, results right, copies and work near") {
  const Errors found = errors("first.jsonl");
  CHECK(found.copies <= 0.05);
  CHECK(found.work <= 0.03);
}

TEST_CASE("the sitting behind it, held out: time within 8 % in the mean of twenty questions, copies within 5 %") {
  const Errors found = errors("second.jsonl");
  CHECK(found.time <= 0.08);
  CHECK(found.copies <= 0.05);
  CHECK(found.work <= 0.03);
}

TEST_CASE(
    "calls of NCCL between two GPUs, from 4 MB on, by the island's rates: within 6 % in the mean, also on two other "
    "cards") {
  const napkin::internal::Island island = napkin::internal::load_island("hgx-h200-2", "--gpu");
  std::vector<Json> rows = measured::rows_of("island_links/first.jsonl");
  for (Json& row : measured::rows_of("island_links/second.jsonl")) {
    row["with"]["sitting"] = "second";
    rows.push_back(std::move(row));
  }
  double sum = 0;
  int calls = 0;
  for (const Json& row : rows) {
    if (row["quantity"] != "call" || std::stod(row["with"]["bytes"].get<std::string>()) < 4e6) continue;
    const double value = row["values"][0];
    double received = 0;
    for (const Json& other : rows)
      if (other["quantity"] == "received" && other["with"] == row["with"]) received = other["values"][0];
    const std::string by = row["with"]["by"];
    napkin::internal::Carrier carrier = napkin::internal::Carrier::ring;
    while (napkin::internal::name_of(carrier) != by)
      carrier = static_cast<napkin::internal::Carrier>(static_cast<int>(carrier) + 1);
    const double passes = carrier == napkin::internal::Carrier::all_reduce ? 2 : 1;
    const napkin::internal::Transport call = napkin::internal::transport_of(
        island, 2, carrier, napkin::Bytes(static_cast<std::int64_t>(2 * received / passes)));
    MESSAGE(by << " " << received << " B: " << 100 * (call.seconds / value - 1) << " %");
    sum += std::abs(call.seconds / value - 1);
    ++calls;
  }
  REQUIRE(calls == 30);
  CHECK(sum / calls <= 0.06);
}

}  // namespace test_islands
