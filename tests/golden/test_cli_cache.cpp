// What lies in the user's cache changes no answer: files that are damaged, under another's name, of a folder that
// cannot be written.

#include <sys/stat.h>

#include <algorithm>

#include "tests/golden/cli.hpp"

namespace test_cli_cache {

namespace {

namespace fs = std::filesystem;
using cli::Folder;

/// A user with a home of his own and a profile that no table comes with.
class User {
 public:
  User() { (void)home_.file("mine.yaml", cli::contents(NAPKIN_SOURCE_DIR "/hardware_profiles/l4.yaml")); }

  /// Two questions of small spaces, whose tables differ.
  [[nodiscard]] std::string ask(bool causal) const {
    std::vector<std::string> words =
        cli::words_of("select attention --kernel flash_attention_2 --shape h=4,q=512,x=512,d=64");
    words.insert(words.end(), {"--gpu", home_ / "mine.yaml"});
    if (causal) words.emplace_back("--causal");
    const cli::Run run = cli::run_program(prepended(words), {"HOME=" + (home_ / "home")}, 120);
    CHECK(run.code == 0);
    CHECK(run.err.empty());
    return run.out;
  }
  [[nodiscard]] std::vector<fs::path> tables() const {
    std::vector<fs::path> out;
    std::error_code none;
    for (const auto& file : fs::directory_iterator(cache(), none)) {
      if (file.path().extension() == ".table") out.push_back(file.path());
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  [[nodiscard]] fs::path cache() const { return fs::path(home_ / "home") / ".cache/napkin"; }
  [[nodiscard]] std::string path(const std::string& name) const { return home_ / name; }

 private:
  static std::vector<std::string> prepended(std::vector<std::string> words) {
    words.insert(words.begin(), NAPKIN_BINARY);
    return words;
  }
  Folder home_;
};

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace

TEST_CASE("tables under each other's names, damaged or no files at all: the same answers, and made anew") {
  const User user;
  const std::string plain = user.ask(false), causal = user.ask(true);
  const std::vector<fs::path> tables = user.tables();
  REQUIRE(tables.size() >= 2);
  const auto check = [&] {
    CHECK(user.ask(false) == plain);
    CHECK(user.ask(true) == causal);
  };
  std::vector<std::string> whole;
  for (const fs::path& file : tables) whole.push_back(cli::contents(file.string()));
  for (std::size_t i = 0; i < tables.size(); ++i) write(tables[i], whole[(i + 1) % tables.size()]);
  check();
  for (std::size_t i = 0; i < tables.size(); ++i) CHECK(cli::contents(tables[i].string()).size() == whole[i].size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    std::string damaged = whole[i];
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
    write(tables[i], i % 2 == 0 ? damaged : whole[i].substr(0, whole[i].size() / 2));
  }
  check();
  for (const fs::path& file : tables) {
    fs::remove(file);
    fs::create_directory(file);
  }
  check();
}

TEST_CASE("a home that cannot be written, or is none, changes no answer") {
  const User user;
  const std::string plain = user.ask(false);
  fs::remove_all(user.path("home"));
  write(user.path("home"), "a file");
  CHECK(user.ask(false) == plain);
  fs::remove(user.path("home"));
  fs::create_symlink("/proc", user.path("home"));  // where nobody makes folders
  CHECK(user.ask(false) == plain);
  fs::remove(user.path("home"));
}

}  // namespace test_cli_cache
