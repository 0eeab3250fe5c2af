// Writes the sources that compile the kernels' variants as C++: those of the correctness cases, whose results on an
// H200 are recorded, and those with planted bugs, with changed copies of the kernels' sources.
//
//   make_variants FOLDER SHARDS BUGS ROOT      FOLDER/variants_1.cpp ..., FOLDER/variants_decode.cpp,
//   FOLDER/variants_fp8.cpp, FOLDER/variants_napkin.cpp, FOLDER/planted_1.cpp ..., FOLDER/planted_1/kernels/...
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/backward_cases.hpp"
#include "tests/emulator/cases.hpp"
#include "tests/emulator/planted.hpp"
#include "tests/kernel/decode_cases.hpp"
#include "tests/kernel/fp8_cases.hpp"
#include "tests/kernel/napkin_cases.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
namespace fs = std::filesystem;

struct Kernel {
  const char *header, *arguments;
};

const Kernel& kernel_of(const std::string& expression) {
  static const std::map<std::string, Kernel> kernels = {
      {"attention_sm80", {"kernels/attention/sm80/attention_sm80.cuh", "AttentionSm80Arguments"}},
      {"attention_sm90", {"kernels/attention/sm90/attention_sm90.cuh", "AttentionArguments"}},
      {"attention_backward_sm90",
       {"kernels/attention/backward/attention_backward_sm90.cuh", "AttentionBackwardArguments"}},
      {"attention_backward_wide_sm90",
       {"kernels/attention/backward/attention_backward_wide_sm90.cuh", "AttentionBackwardArguments"}},
      {"attention_backward_delta",
       {"kernels/attention/backward/attention_backward_sm90.cuh", "AttentionBackwardArguments"}},
      {"attention_backward_convert",
       {"kernels/attention/backward/attention_backward_sm90.cuh", "AttentionBackwardArguments"}},
      {"attention_decode_sm90", {"kernels/attention/decode/attention_decode_sm90.cuh", "AttentionDecodeArguments"}},
      {"attention_fp8_sm90", {"kernels/attention/fp8/attention_fp8_sm90.cuh", "AttentionFp8Arguments"}},
      {"napkin_fp8_sm90", {"kernels/attention/napkin/napkin_fp8_sm90.cuh", "AttentionArguments"}},
      {"matmul_sm90", {"kernels/matmul/matmul_sm90.cuh", "MatmulArguments"}},
      {"matmul_fp8_sm90", {"kernels/matmul/matmul_fp8_sm90.cuh", "MatmulArguments"}}};
  const std::size_t from = expression.find("::") + 2;
  return kernels.at(expression.substr(from, expression.find('<') - from));
}

/// Writes a source that compiles variants in a namespace of its own: the kernels' structs have the names of the
/// model's, and those of planted bugs differ.
std::string source_of(const std::set<std::string>& expressions, const std::string& space, const std::string& planted) {
  std::string out = fmt::format(
      "#include \"tests/emulator/cuda.hpp\"\n#include \"tests/emulator/variants.hpp\"\n#define napkin {}\n", space);
  std::set<std::string> headers;
  for (const std::string& expression : expressions) headers.insert(kernel_of(expression).header);
  for (const std::string& header : headers) out += fmt::format("#include \"{}\"\n", header);
  out += "namespace napkin {\nunsigned char memory[16];\n}\n";
  int number = 0;
  for (const std::string& expression : expressions) {
    out += fmt::format(
        "static void variant_{0}(const void* a) {{ {1}(*static_cast<const napkin::{2}*>(a)); }}\n"
        "static const bool added_{0} = emulator::add_variant(\"{1}\", \"{3}\", variant_{0});\n",
        number++, expression, kernel_of(expression).arguments, planted);
  }
  return out;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  if (!file) throw Error(path.string(), "cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Writes a file. Leaves a file with this text alone, so that it is not compiled again.
void write(const fs::path& path, const std::string& text) {
  if (fs::exists(path) && read(path) == text) return;
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// Removes all files but `kept`: copies that an earlier bug of that number has left would be included in place of the
/// kernels' own files.
void clear_but(const fs::path& folder, const fs::path& kept) {
  if (!fs::exists(folder)) return;
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path() != folder / kept) left.push_back(entry.path());
  }
  for (const fs::path& file : left) fs::remove(file);
}

void write_shards(const fs::path& folder, std::size_t shards) {
  std::vector<std::set<std::string>> parts(shards);
  std::size_t next = 0;
  for (const auto& [expression, one] : test::variant_cases()) parts[next++ % shards].insert(expression);
  for (std::size_t i = 0; i < shards; ++i) {
    const std::string name = fmt::format("{}", i + 1);
    write(folder / ("variants_" + name + ".cpp"), source_of(parts[i], "napkin_shard_" + name, ""));
  }
}

void write_backward(const fs::path& folder) {
  std::set<std::string> expressions;
  for (const std::string& expression : test::backward_expressions()) expressions.insert(expression);
  write(folder / "variants_backward.cpp", source_of(expressions, "napkin_backward", ""));
}

void write_decode(const fs::path& folder) {
  std::set<std::string> expressions;
  for (const test::DecodeConfiguration& c : test::decode_configurations())
    expressions.insert(test::variant_of(test::decode_case(c, 0)).expression);
  write(folder / "variants_decode.cpp", source_of(expressions, "napkin_decode", ""));
}

void write_fp8(const fs::path& folder) {
  std::set<std::string> expressions;
  for (const test::Fp8Case& one : test::fp8_cases(2)) expressions.insert(test::variant_of(one).expression);
  write(folder / "variants_fp8.cpp", source_of(expressions, "napkin_fp8", ""));
}

void write_napkin(const fs::path& folder) {
  std::set<std::string> expressions;
  for (const test::NapkinCase& one : test::napkin_cases(1)) expressions.insert(test::variant_of(one).expression);
  write(folder / "variants_napkin.cpp", source_of(expressions, "napkin_rows", ""));
}

/// Returns the kernel's text with the bug. Throws Error unless the text to change occurs exactly once.
std::string planted_text(const test::PlantedBug& bug, const fs::path& root) {
  std::string text = read(root / bug.file);
  const std::size_t at = text.find(bug.from);
  if (at == std::string::npos || text.find(bug.from, at + 1) != std::string::npos)
    throw Error(bug.file, "has not once the text that the bug '" + bug.name + "' changes",
                "the text as the kernel has it");
  return text.replace(at, bug.from.size(), bug.to);
}

void write_planted(const fs::path& folder, std::size_t count, const fs::path& root) {
  const std::vector<test::PlantedBug>& bugs = test::planted_bugs();
  if (bugs.size() != count)
    throw Error("planted.hpp", fmt::format("has {} bugs", bugs.size()), "as many as CMakeLists.txt says");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("planted_{}", i + 1);
    clear_but(folder / name, bugs[i].file);
    write(folder / name / bugs[i].file, planted_text(bugs[i], root));
    write(folder / (name + ".cpp"), source_of(test::planted_variants(bugs[i]), "napkin_" + name, bugs[i].name));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 5)
      throw Error("make_variants", "wants a folder, a number of sources, one of bugs, and the kernels' root");
    write_shards(argv[1], std::stoul(argv[2]));
    write_backward(argv[1]);
    write_decode(argv[1]);
    write_fp8(argv[1]);
    write_napkin(argv[1]);
    write_planted(argv[1], std::stoul(argv[3]), argv[4]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_variants: %s\n", error.what());
    return 2;
  }
}
