// An entry on disk is found whole or not at all, whatever happened to its file.

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "kernels/jit/disk_cache.hpp"
#include "tests/support/processes.hpp"

namespace test_disk_cache {

using namespace napkin;
using namespace napkin::internal;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "napkin-disk-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::permissions(path, fs::perms::owner_all, ignored);
    fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

std::string key_of(char digit) { return std::string(64, digit); }

std::string content_of(char byte) { return std::string(3000, byte) + std::string("\0\n:", 3); }

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

class Random {
 public:
  std::size_t below(std::size_t most) { return engine_() % most; }
  char byte() { return static_cast<char>(engine_()); }

 private:
  std::mt19937_64 engine_{38};
};

/// Changes the bytes in one of the ways in which files are damaged: bits, bytes, a missing end, a piece that is moved,
/// doubled or zero, or another entry's piece.
std::string damaged(std::string bytes, const std::string& other, Random& random) {
  const std::size_t at = random.below(bytes.size()), size = 1 + random.below(bytes.size() - at);
  switch (random.below(8)) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
    case 1:
      for (std::size_t n = 1 + random.below(40); n > 0; --n) bytes[random.below(bytes.size())] = random.byte();
      break;
    case 2: bytes.resize(at); break;
    case 3: bytes.erase(at, size); break;
    case 4: bytes.insert(at, bytes.substr(random.below(bytes.size()), size)); break;
    case 5: bytes.replace(at, size, size, '\0'); break;
    case 6: bytes.replace(at, size, other.substr(at, size)); break;
    default: bytes += std::string(1 + random.below(100), random.byte());
  }
  return bytes;
}

void check_damaged(int files) {
  const Folder folder;
  const DiskCache cache(folder.path, "table", 7);
  REQUIRE(cache.store(key_of('b'), content_of('y')).empty());
  REQUIRE(cache.store(key_of('a'), content_of('x')).empty());
  const std::string whole = bytes_of(cache.file_of(key_of('a'))), other = bytes_of(cache.file_of(key_of('b')));
  Random random;
  int seen = 0;
  for (int i = 0; i < files; ++i) {
    const std::string bytes = damaged(whole, other, random);
    write(cache.file_of(key_of('a')), bytes);
    const auto found = cache.find(key_of('a'));
    CAPTURE(i);
    CHECK(found.has_value() == (bytes == whole));
    seen += bytes == whole ? 0 : 1;
  }
  CHECK(seen > files * 9 / 10);
  REQUIRE(cache.store(key_of('a'), content_of('x')).empty());  // made again
  CHECK(cache.find(key_of('a')) == content_of('x'));
  CHECK(cache.find(key_of('b')) == content_of('y'));
}

/// Runs good() in a child process, as a user other than root, and returns its result.
template <class Good>
bool as_a_user(const Good& good) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    constexpr unsigned nobody = 65534;
    if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(2);
    ::_exit(good() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("500 damaged entries are none of them found, and made anew") { check_damaged(500); }

TEST_CASE("every byte of an entry's head counts") {
  const Folder folder;
  const DiskCache cache(folder.path, "table", 7);
  REQUIRE(cache.store(key_of('a'), content_of('x')).empty());
  const std::string whole = bytes_of(cache.file_of(key_of('a')));
  for (std::size_t at = 0; at < 100; ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 4);
    write(cache.file_of(key_of('a')), other);
    CAPTURE(at);
    CHECK_FALSE(cache.find(key_of('a')));
  }
}

TEST_CASE("an entry under another key's name, of another kind or version, is none") {
  const Folder folder;
  const DiskCache cache(folder.path, "table", 7);
  for (const char digit : {'a', 'b'}) REQUIRE(cache.store(key_of(digit), content_of(digit)).empty());
  fs::rename(cache.file_of(key_of('a')), folder.path / "aside");
  fs::rename(cache.file_of(key_of('b')), cache.file_of(key_of('a')));
  fs::rename(folder.path / "aside", cache.file_of(key_of('b')));
  for (const char digit : {'a', 'b'}) CHECK_FALSE(cache.find(key_of(digit)));
  REQUIRE(cache.store(key_of('a'), content_of('a')).empty());
  CHECK(cache.find(key_of('a')));
  CHECK_FALSE(DiskCache(folder.path, "table", 6).find(key_of('a')));
  const DiskCache plans(folder.path, "plan", 7);
  fs::copy_file(cache.file_of(key_of('a')), plans.file_of(key_of('a')));
  CHECK_FALSE(plans.find(key_of('a')));
}

TEST_CASE("what is no file is no entry, and nobody waits for it") {
  const Folder folder;
  const DiskCache cache(folder.path, "table", 7);
  const fs::path file = cache.file_of(key_of('a'));
  fs::create_directory(file);
  CHECK_FALSE(cache.find(key_of('a')));
  CHECK(cache.store(key_of('a'), content_of('x')).find("going on without it") != std::string::npos);
  fs::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK_FALSE(cache.find(key_of('a')));
  fs::remove(file);
  for (const char* target : {"/dev/zero", "/dev/full", "/nowhere/at/all"}) {
    fs::create_symlink(target, file);
    CHECK_FALSE(cache.find(key_of('a')));
    fs::remove(file);
  }
  CHECK(cache.store(key_of('a'), content_of('x')).empty());
}

TEST_CASE("a writer that is killed leaves a whole entry or none") {
  const Folder folder;
  const DiskCache cache(folder.path, "table", 7);
  const std::string long_content(2000000, 'x');
  for (int round = 0; round < 12; ++round) {
    CAPTURE(round);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (;;) (void)cache.store(key_of('a'), long_content);
    }
    ::usleep(static_cast<unsigned>(3000 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    const auto found = cache.find(key_of('a'));
    if (found) CHECK(*found == long_content);
  }
  REQUIRE(cache.store(key_of('a'), content_of('y')).empty());
  CHECK(cache.find(key_of('a')) == content_of('y'));
}

TEST_CASE("a full disk gives a warning, and leaves what was there and nothing else") {
  const Folder folder;
  const DiskCache cache(folder.path, "table", 7);
  REQUIRE(cache.store(key_of('a'), content_of('x')).empty());
  const auto full = [&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit little{1000, 1000};  // largest file in bytes: writing fails as on a full disk
    if (::setrlimit(RLIMIT_FSIZE, &little) != 0) return false;
    const std::string said = cache.store(key_of('a'), content_of('y')),
                      also = cache.store(key_of('b'), content_of('y'));
    return said.find("going on without it") != std::string::npos && also == said && !cache.find(key_of('b')) &&
           cache.find(key_of('a')) == content_of('x');
  };
  test::check_in_processes(1, [&](int) { return full(); });
  CHECK(files_in(folder.path) == 1);
}

TEST_CASE("a folder that can only be read answers what it has, and keeps nothing") {
  const Folder folder;
  const DiskCache cache(folder.path, "table", 7);
  REQUIRE(cache.store(key_of('a'), content_of('x')).empty());
  REQUIRE(::chmod(folder.path.c_str(), 0555) == 0);
  CHECK(as_a_user([&] {
    const std::string said = cache.store(key_of('b'), content_of('y'));
    const std::string below = DiskCache(folder.path / "deeper", "table", 7).store(key_of('b'), content_of('y'));
    return cache.find(key_of('a')) == content_of('x') && said.find("going on without it") != std::string::npos &&
           below.find("going on without it") != std::string::npos && !cache.find(key_of('b'));
  }));
  REQUIRE(::chmod(folder.path.c_str(), 0000) == 0);
  CHECK(as_a_user([&] { return !cache.find(key_of('a')); }));
  REQUIRE(::chmod(folder.path.c_str(), 0755) == 0);
  CHECK(files_in(folder.path) == 1);
}

TEST_SUITE("slow") {
  TEST_CASE("10,000 damaged entries are none of them found") { check_damaged(10000); }
}

}  // namespace test_disk_cache
