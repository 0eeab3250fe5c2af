// The hash of a kernel's source in a folder of sources, an older revision's for example, as `napkin list kernels
// --json` says it of this program's: what a manifest of tests/measured keeps of the kernel that was recorded.
//
//   git worktree add --detach /tmp/then REVISION; run_source_hash /tmp/then attention_sm90
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/jit/source.hpp"
#include "model/base/error.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;

std::string hash_of(const std::filesystem::path& folder, const std::string& kernel) {
  std::deque<std::string> texts;  // the files' paths and texts, which stay where they are
  std::vector<EmbeddedFile> files;
  std::string main;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "kernels")) {
    if (entry.path().extension() != ".cuh") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string& path = texts.emplace_back(relative(entry.path(), folder).string());
    const std::string& text = texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    files.push_back({path, text});
    if (entry.path().stem() == kernel) main = path;
  }
  if (main.empty()) throw Error(folder.string(), "has no kernel " + kernel);
  return source_hash(kernel_source(main, files));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: run_source_hash FOLDER KERNEL\n");
    return 2;
  }
  try {
    std::printf("%s\n", hash_of(argv[1], argv[2]).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "run_source_hash: %s\n", error.what());
    return 2;
  }
}
