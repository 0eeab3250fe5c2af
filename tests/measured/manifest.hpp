#pragma once
// A manifest says what a folder of recorded rows is: "sweeps/matmul_sm90.jsonl holds 310 rows that napkin validate
// wrote on an NVIDIA H200 at revision e324723". The rows themselves carry most of it too, and have to agree.

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
  std::vector<std::string> hashes;  ///< kernel_source_hash() then; none where it is not known
  std::string revision;             ///< "2453d1a", "before a4bbfea"
  bool fresh = false;               ///< the manifest claims that today's kernel is these
};

struct Recording {
  std::string file;  ///< "sweeps/matmul_sm90.jsonl"
  std::string what, written_by;
  std::size_t rows = 0;
  std::vector<std::string> when;      ///< the only day or second, or the first and the last
  std::vector<std::string> revision;  ///< as rows carry it, sorted, or how else it is known
  std::optional<std::int64_t> cards;
  std::vector<std::string> seed, split;  ///< sorted; none where rows have none
  std::vector<RecordedSources> sources;
};

struct Manifest {
  std::string folder, what;
  bool published = false;                        ///< `replay: published`: its replay is part of the published accuracy
  bool predicted_before_run = false;             ///< rows keep the prediction that was made before the run
  std::vector<std::string> tests;                ///< files that read it, seen from tests/measured
  std::map<std::string, std::string> every_row;  ///< device, driver, cuda or compiler, in every row that carries it
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

/// Every folder of tests/measured, by name.
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

/// By kernel: hashes of sources that the compiler makes the same machine code of, since the recorded one is of each.
inline std::map<std::string, std::vector<std::string>> same_machine_code() {
  std::map<std::string, std::vector<std::string>> out;
  for (const Recording& one : read_manifest(root / "machine_code").files) {
    for (const RecordedSources& sources : one.sources) out[sources.kernel] = sources.hashes;
  }
  return out;
}

}  // namespace measured
