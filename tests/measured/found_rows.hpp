#pragma once
// found_errors computes the errors of today's model at every recorded or published row.
// apps/library/judge/data/errors.json is made from them.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/library/judge/found.hpp"
#include "apps/library/judge/replay.hpp"
#include "apps/report/record/published.hpp"
#include "apps/report/record/record.hpp"
#include "apps/report/record/shared.hpp"
#include "model/mapping/read/load.hpp"

namespace measured {

using FoundJson = nlohmann::ordered_json;

/// A file of rows from another program than `validate`: of a peer's kernel, or of one of ours by its bench. A row's
/// time has one of a few names; the device is in the manifest.
struct BenchFile {
  const char *file, *gpu, *kernel;      ///< kernel: for rows that name none
  const char* has = "";                 ///< a field that only rows with times have; other rows check results
  int narrowest = 0, widest = 1 << 20;  ///< widths of the kernel's heads, for a file with two kernels
};
inline constexpr BenchFile bench_files[] = {
    {"backward/late_turns.jsonl", "h200-sxm", "attention_backward_sm90", "turn"},
    {"backward/wide.jsonl", "h200-sxm", "attention_backward_sm90", "peers", 0, 128},
    {"backward/wide.jsonl", "h200-sxm", "attention_backward_wide_sm90", "peers", 129},
    {"backward_h100/late.jsonl", "h100-sxm", "attention_backward_sm90", "peers"},
    {"backward_h100/late_again.jsonl", "h100-sxm", "attention_backward_sm90", "peers"},
    {"decode/dense.jsonl", "h200-sxm", "attention_decode_sm90"},
    {"decode_combine/now.jsonl", "h200-sxm", "attention_decode_sm90"},
    {"decode_h100/h100.jsonl", "h100-sxm", "attention_decode_sm90"},
    {"decode_h100/picks.jsonl", "h100-sxm", "attention_decode_sm90"},
    {"flash_attention_2/forward.jsonl", "h200-sxm", ""},
    {"flash_attention_2/few_queries.jsonl", "h200-sxm", ""},
    {"fp8/beside.jsonl", "h200-sxm", ""},
    {"fp8_h100/beside.jsonl", "h100-sxm", ""},
    {"peers/cublas.jsonl", "h200-sxm", ""},
    {"peers/triton.jsonl", "h200-sxm", ""},
    {"peers/triton_matmul.jsonl", "h200-sxm", ""},
    {"picks/products_and_attention.jsonl", "h200-sxm", ""},
    {"products_e4m3/h100.jsonl", "h100-sxm", ""},
    {"products_split/h100.jsonl", "h100-sxm", ""},
    {"second_card_peer/flash_attention_2.jsonl", "h100-sxm", ""},
};

/// Returns the value at the first of the paths that the row has.
inline FoundJson first_of(const FoundJson& row, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const FoundJson::json_pointer at(path);
    if (row.contains(at) && !row.at(at).is_null()) return row.at(at);
  }
  return nullptr;
}

inline FoundJson time_of_bench(const FoundJson& row) { return first_of(row, {"/time", "/warm", "/measured/time"}); }

inline napkin::internal::ValidationRow bench_row(const FoundJson& row, const BenchFile& file) {
  napkin::internal::ValidationRow out;
  napkin::Head& head = out.head;
  const FoundJson kernel = first_of(row, {"/kernel", "/peer", "/predicted/kernel"});
  head.kernel = kernel.is_null() ? std::string(file.kernel) : kernel.get<std::string>();
  const napkin::internal::Mapping mapping = napkin::internal::load_mapping(*head.kernel, "kernel");
  head.algorithm = mapping.algorithm;
  head.gpu = file.gpu;
  const FoundJson dtype = first_of(row, {"/dtype"}), mask = first_of(row, {"/mask"});
  head.dtype = dtype.is_null() ? mapping.dtypes.front() : dtype.get<std::string>();
  if (mask == "causal" || row.value("causal", false)) head.mask.kind = napkin::Mask::Kind::causal;
  for (const auto& [axis, size] : row.at("shape").items()) head.shape.emplace_back(axis, size.get<std::int64_t>());
  const FoundJson tile = first_of(row, {"/tile", "/predicted/tile"});
  for (const auto& [knob, value] : tile.items()) {
    if (value.is_string())
      head.tile.push_back({knob, 0, value.get<std::string>()});
    else
      head.tile.push_back({knob, value.get<std::int64_t>(), ""});
  }
  out.split = "held-out";
  out.measured.time = time_of_bench(row).get<double>();
  return out;
}

inline std::vector<FoundJson> whole_rows(const std::filesystem::path& path) {
  std::ifstream lines(path);
  std::vector<FoundJson> out;
  FoundJson shared;
  for (std::string line; std::getline(lines, line);) {
    FoundJson row = FoundJson::parse(line);
    if (napkin::internal::report::complete_row(row, shared, path.string())) out.push_back(std::move(row));
  }
  return out;
}

/// Returns a row for each tile of one that has two, timed in the order theirs, ours, ours, theirs
/// (tests/measured/picks).
inline std::vector<FoundJson> by_tile(const FoundJson& row) {
  if (!row.contains("runs") || !row["runs"].is_array()) return {row};
  std::vector<FoundJson> out;
  const auto time = [&](std::size_t run) { return row["runs"].at(run)["time"].get<double>(); };
  for (const char* whose : {"theirs", "ours"}) {
    FoundJson& one = out.emplace_back(row);
    one["tile"] = row[whose];
    if (row["runs"].size() == 1)
      one["time"] = time(0);
    else
      one["time"] = *whose == 't' ? (time(0) + time(3)) / 2 : (time(1) + time(2)) / 2;
  }
  if (row["runs"].size() == 1) out.pop_back();
  return out;
}

inline void add_bench_rows(napkin::internal::FoundErrors& found, const std::filesystem::path& recordings) {
  for (const BenchFile& file : bench_files) {
    std::vector<napkin::internal::ValidationRow> rows;
    std::vector<FoundJson> known;
    for (const FoundJson& row : whole_rows(recordings / file.file)) {
      for (FoundJson& one : by_tile(row)) known.push_back(std::move(one));
    }
    for (const FoundJson& row : known) {
      const auto is = [&](const char* key, const char* value) { return !row.contains(key) || row[key] == value; };
      const bool timed = (*file.has == 0 || row.contains(file.has)) && row.value("page", 0) == 0;
      const int width = row["shape"].value("d", 0);
      if (timed && width >= file.narrowest && width <= file.widest && is("split", "held-out") && is("l2", "warm") &&
          !time_of_bench(row).is_null())
        rows.push_back(bench_row(row, file));
    }
    napkin::internal::Replay again;
    std::vector<napkin::internal::ScoredRow> scored;
    for (const napkin::internal::ValidationRow& row : rows) {
      try {
        scored.push_back(again(row));
      } catch (const napkin::Error&) {  // its mapping has a knob that is younger than the row, which lacks its value
      }
    }
    found.add(scored, std::filesystem::path(file.file).parent_path());
  }
}

/// Returns true for a folder of probes, which no user would call (a tile at shapes beyond the array, inputs of zeros),
/// or of ratios to a peer for tiles that other folders have too.
inline bool is_probe(const std::string& folder) {
  return folder == "edges" || folder == "edges_h100" || folder == "speed";
}

inline void add_recorded_rows(napkin::internal::FoundErrors& found, const std::filesystem::path& recordings) {
  std::map<std::string, std::vector<std::string>> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(recordings)) {
    const std::string folder = entry.path().parent_path().filename();
    if (entry.path().extension() == ".jsonl" && !is_probe(folder)) files[folder].push_back(entry.path());
  }
  for (auto& [folder, paths] : files) {
    std::sort(paths.begin(), paths.end());
    std::vector<napkin::internal::report::RecordedRow> rows;
    for (const std::string& path : paths) {
      const FoundJson row = whole_rows(path).front();
      const bool of_an_island = row.contains("way");
      if (!row.contains("command") || row["command"] != "validate" || row.contains("card") || of_an_island) continue;
      for (napkin::internal::report::RecordedRow& one : napkin::internal::report::read_rows(path, "rows"))
        rows.push_back(std::move(one));
    }
    napkin::internal::Replay again;
    std::vector<napkin::internal::ScoredRow> scored;
    for (const napkin::internal::report::RecordedRow& row : rows) scored.push_back(again(row.row));
    found.add(scored, folder);
  }
}

/// Returns the errors of today's model at published rows and at the recordings.
inline napkin::internal::FoundErrors found_errors(const std::vector<napkin::internal::PublishedAnswer>& published,
                                                  const std::filesystem::path& recordings) {
  napkin::internal::FoundErrors found;
  found.add(published);
  add_recorded_rows(found, recordings);
  add_bench_rows(found, recordings);
  return found;
}

}  // namespace measured
