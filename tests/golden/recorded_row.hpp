#pragma once
// recorded_row() makes a recorded row for tests to change: tile and prediction are the program's, the measurement is
// made up.

#include "tests/golden/cli.hpp"

namespace cli {

/// Writes a row as `napkin validate` does, for a tile with that x; measured: `time` seconds. `under`: options such as
/// --l2 cold.
inline Json recorded_row(std::int64_t x, double time, const std::string& question = "h=16,q=2048,x=2048,d=128",
                         const std::string& under = "") {
  const Run run = napkin(
      "query attention --gpu h200-sxm --kernel attention_sm90 --json --shape " + question +
      " --tile "
      "warpgroups=2,q=128,stages=2,q_stages=1,overlap=on,pingpong=on,p_in=registers,cluster=1,order=persistent,x=" +
      std::to_string(x) + " " + under);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json answer = run.json();
  Json row;
  row["command"] = "validate";
  for (const char* key : {"algorithm", "gpu", "kernel", "dtype", "mask", "shape", "tile", "levels", "predicted"})
    row[key] = answer[key];
  if (answer.contains("conditions")) row["conditions"] = answer["conditions"];
  row["split"] = "held-out";
  row["sweep"] = nullptr;
  row["selected"] = false;
  row["measured"] = {{"time", time},
                     {"time_spread", 0.01},
                     {"runs", 12},
                     {"l2", "warm"},
                     {"cycles", nullptr},
                     {"clock", nullptr},
                     {"power", nullptr},
                     {"registers_per_thread", 168},
                     {"shared_memory", 100000},
                     {"l2_to_sm_bytes", nullptr},
                     {"dram_read_bytes", nullptr},
                     {"dram_write_bytes", nullptr},
                     {"max_error", 0.001},
                     {"reference_error", 0.002}};
  row["device"] = "NVIDIA H200";
  row["driver"] = "580.00";
  row["cuda"] = "13.0";
  row["date"] = "2026-11-21T10:00:00Z";
  row["revision"] = "unknown";
  return row;
}

inline std::string lines_of(const std::vector<Json>& rows) {
  std::string text;
  for (const Json& row : rows) text += row.dump() + "\n";
  return text;
}

}  // namespace cli
