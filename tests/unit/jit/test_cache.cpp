#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "kernels/jit/cache.hpp"
#include "tests/support/processes.hpp"

namespace test_cache {

using namespace napkin;
using namespace napkin::internal;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "napkin-cache-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::permissions(path, fs::perms::owner_all, ignored);
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

CompiledKernel kernel_of(char byte) {
  CompiledKernel kernel;
  kernel.cubin = std::string(200000, byte) + std::string("\0\n:", 3);
  kernel.lowered_name = "_Z1k";
  kernel.report = read_report(
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info : Used 40 registers\n");
  kernel.compile_time = Seconds(1.5);
  return kernel;
}

const std::string key(64, 'a');

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

CompileRequest request() { return {{{"k.cuh", "text"}, {{"h.cuh", "header"}}}, "napkin::k<1>", "sm_90a", {}}; }

}  // namespace

TEST_CASE("what is stored is found") {
  const Folder folder;
  const KernelCache cache(folder.path / "deep" / "er");
  CHECK_FALSE(cache.find(key));
  CHECK(cache.store(key, kernel_of('x')) == "");
  const auto found = cache.find(key);
  REQUIRE(found);
  CHECK(found->cubin == kernel_of('x').cubin);
  CHECK(found->lowered_name == "_Z1k");
  CHECK(found->report.registers == 40);
  CHECK(found->compile_time == Seconds(1.5));
  CHECK(std::distance(fs::directory_iterator(folder.path / "deep" / "er"), {}) == 1);  // nothing temporary is left
}

TEST_CASE("a damaged entry counts as none and is replaced") {
  const Folder folder;
  const KernelCache cache(folder.path);
  REQUIRE(cache.store(key, kernel_of('x')) == "");
  const std::string whole = content(cache.file_of(key));
  for (std::size_t length : {std::size_t{0}, std::size_t{5}, std::size_t{80}, whole.size() / 2, whole.size() - 1}) {
    write(cache.file_of(key), whole.substr(0, length));
    CHECK_FALSE(cache.find(key));
  }
  for (std::size_t at = 0; at < whole.size(); at += at < 400 ? 1 : 9973) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    write(cache.file_of(key), flipped);
    CHECK_FALSE(cache.find(key));
  }
  write(cache.file_of(key), whole + "more");
  CHECK_FALSE(cache.find(key));
  write(cache.file_of(std::string(64, 'b')), whole);  // another key's entry
  CHECK_FALSE(cache.find(std::string(64, 'b')));
  CHECK(cache.store(key, kernel_of('y')) == "");
  CHECK(cache.find(key)->cubin == kernel_of('y').cubin);
}

TEST_CASE("a folder that cannot be written gives a warning and no more") {
  const Folder folder;
  write(folder.path / "file", "");
  const KernelCache blocked(folder.path / "file" / "cache");
  CHECK(blocked.store(key, kernel_of('x')).find("going on without it") != std::string::npos);
  CHECK_FALSE(blocked.find(key));
  if (::geteuid() != 0) {  // root can write to every folder
    REQUIRE(::chmod(folder.path.c_str(), 0500) == 0);
    CHECK(KernelCache(folder.path).store(key, kernel_of('x')).find("going on without it") != std::string::npos);
  }
  const KernelCache none{fs::path()};
  CHECK(none.store(key, kernel_of('x')) == "");
  CHECK_FALSE(none.find(key));
}

TEST_CASE("32 processes at once, each finding a whole entry or none") {
  const Folder folder;
  const KernelCache cache(folder.path);
  test::check_in_processes(32, [&](int i) {
    bool good = true;
    for (int round = 0; round < 5; ++round) {
      const auto found = cache.find(key);
      good = good && (!found || found->cubin == kernel_of(found->cubin[0]).cubin);
      good = good && cache.store(key, kernel_of(static_cast<char>('A' + i))).empty();
    }
    return good && cache.find(key);
  });
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("the key depends on everything that the machine code depends on") {
  const std::string base = cache_key(request(), "nvrtc 13.0");
  CHECK(base.size() == 64);
  CHECK(cache_key(request(), "nvrtc 13.0") == base);
  CHECK(cache_key(request(), "nvrtc 13.1") != base);
  const auto changed = [&](auto change) {
    CompileRequest other = request();
    change(other);
    return cache_key(other, "nvrtc 13.0") != base;
  };
  CHECK(changed([](CompileRequest& r) { r.expression = "napkin::k<2>"; }));
  CHECK(changed([](CompileRequest& r) { r.architecture = "sm_80"; }));
  CHECK(changed([](CompileRequest& r) { r.options = {"-lineinfo"}; }));
  CHECK(changed([](CompileRequest& r) { r.source.main.text = "texts"; }));
  CHECK(changed([](CompileRequest& r) { r.source.headers[0].text = "headers"; }));
  CHECK(changed([](CompileRequest& r) { r.source.headers[0].path = "i.cuh"; }));
  CHECK(changed([](CompileRequest& r) { r.source.headers.clear(); }));
}

}  // namespace test_cache
