#pragma once
// A manifest describes a folder of recorded rows: "sweeps/matmul_sm90.jsonl holds 310 rows that napkin validate wrote
// on an NVIDIA H200 at revision e324723". Most of it is in the rows too, and must agree.

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/base/yaml.hpp"
#include "tests/measured/row.hpp"

namespace measured {

/// The sources of one kernel that a recording ran.
struct RecordedSources {
  std::string kernel;
  std::vector<std::string> hashes;  ///< kernel_source_hash() at the recording; none if not known
  std::string revision;             ///< "2453d1a", "before a4bbfea"
  bool fresh = false;               ///< true if the manifest claims that today's kernel has these sources
};

struct Recording {
  std::string file;  ///< "sweeps/matmul_sm90.jsonl"
  std::string what, written_by;
  std::size_t rows = 0;
  std::vector<std::string> when;      ///< the only date, or the first and the last
  std::vector<std::string> revision;  ///< revisions of the rows, sorted, or as known from elsewhere
  std::optional<std::int64_t> cards;
  std::vector<std::string> seed, split;  ///< values of the rows, sorted; none if rows have none
  std::vector<RecordedSources> sources;
};

struct Manifest {
  std::string folder, what;
  bool published = false;             ///< true for `replay: published`: its replay is part of the published accuracy
  bool predicted_before_run = false;  ///< true if rows have the prediction that was made before the run
  std::vector<std::string> tests;     ///< tests that read the file, relative to tests/measured
  /// Device, driver, cuda or compiler, which all rows with that field share.
  std::map<std::string, std::string> every_row;
  std::vector<Recording> files;
};

inline std::vector<RecordedSources> read_sources(const napkin::internal::yaml::Node& node) {
  std::vector<RecordedSources> out;
  for (const auto& [kernel, source] : node.entries()) {
    source.allow({"hash", "revision", "fresh"});
    RecordedSources one{kernel, {}, source.at("revision").text(), source.at("fresh").boolean()};
    if (const auto* hash = source.find("hash")) one.hashes = hash->words();
    out.push_back(std::move(one));
  }
  return out;
}

inline Recording read_recording(const std::string& file, const napkin::internal::yaml::Node& node) {
  node.allow({"what", "rows", "written_by", "when", "revision", "cards", "seed", "split", "sources"});
  const auto words = [&](const char* key) {
    const napkin::internal::yaml::Node* found = node.find(key);
    return found != nullptr ? found->words() : std::vector<std::string>{};
  };
  Recording out;
  out.file = file;
  out.what = node.at("what").text();
  out.written_by = node.at("written_by").text();
  out.rows = static_cast<std::size_t>(node.at("rows").integer(1, 1'000'000));
  out.when = node.at("when").words();
  out.revision = words("revision");
  if (const auto* cards = node.find("cards")) out.cards = cards->integer(1, 1000);
  out.seed = words("seed");
  out.split = words("split");
  if (const auto* sources = node.find("sources")) out.sources = read_sources(*sources);
  return out;
}

inline Manifest read_manifest(const std::filesystem::path& folder) {
  const std::string path = (folder / "manifest.yaml").string();
  const napkin::internal::yaml::Document document =
      napkin::internal::yaml::parse(napkin::internal::yaml::read_file(path), path);
  const napkin::internal::yaml::Node& node = document.root();
  node.allow(
      {"what", "replay", "predicted", "tests", "expected", "found", "device", "driver", "cuda", "compiler", "files"});
  Manifest out;
  out.folder = folder.filename().string();
  out.what = node.at("what").text();
  if (const auto* replay = node.find("replay")) out.published = replay->choice({"published"}) == "published";
  if (const auto* kept = node.find("predicted")) out.predicted_before_run = !kept->choice({"before the run"}).empty();
  out.tests = node.at("tests").words();
  for (const char* key : {"device", "driver", "cuda", "compiler"}) {
    if (const auto* value = node.find(key)) out.every_row[key] = value->text();
  }
  for (const auto& [name, file] : node.at("files").entries())
    out.files.push_back(read_recording(out.folder + "/" + name, file));
  return out;
}

/// Reads the manifest of every folder of tests/measured, by name.
inline std::vector<Manifest> manifests() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::vector<Manifest> out;
  for (const auto& folder : folders) out.push_back(read_manifest(folder));
  return out;
}

/// Returns, by kernel, hashes of sources that compile to the same machine code: a recording of one counts for all.
inline std::map<std::string, std::vector<std::string>> same_machine_code() {
  std::map<std::string, std::vector<std::string>> out;
  for (const Recording& one : read_manifest(root / "machine_code").files) {
    for (const RecordedSources& sources : one.sources) out[sources.kernel] = sources.hashes;
  }
  return out;
}

}  // namespace measured
