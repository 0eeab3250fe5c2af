#pragma once
// run_program runs the program as a user would and keeps what it leaves behind. The file cli.cpp holds what takes long
// to compile.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "napkin/answers.hpp"

namespace cli {

using Json = nlohmann::ordered_json;

/// A folder that goes away with its object.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "napkin-test-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file into the folder and returns its path.
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] std::string contents(const std::string& path);
/// Throws where the text is no JSON.
[[nodiscard]] Json parse(const std::string& text);

struct Run {
  int code = -1;  ///< the exit code; 128 + the signal that ended it; -1: it did not end in time
  std::string out, err;

  /// An answer is one that docs/schema describes.
  [[nodiscard]] Json json() const;
};

/// Any program; `environment` as NAME=VALUE, nothing else is passed on.
Run run_program(std::vector<std::string> words, std::vector<std::string> environment = {}, int seconds = 60);

Run napkin(std::vector<std::string> words, std::vector<std::string> environment = {});
Run napkin(const std::string& line);

/// Answers `napkin query` or `napkin select` in this process, whose session keeps what the questions of one kernel
/// share; with the `parts` that take longer.
Json asked(const std::vector<std::string>& words, ::napkin::AnswerParts parts = {});
Json asked(const std::string& line);
/// What the line answers with --json. Requires an exit of at most `most`: 1 where nothing may fit.
Json answer(const std::string& line, int most = 0);
/// The program's own function in a copy of this process: for many short questions, of each of which starting a
/// sanitized program would take most of the time.
Run napkin_forked(const std::string& line);

/// "query attention --gpu x" in words: no quoting.
[[nodiscard]] std::vector<std::string> words_of(const std::string& line);

/// Exit 2, one line on stderr that contains `text`, nothing on stdout.
void check_refused(const Run& run, const std::string& text = "");

[[nodiscard]] std::vector<std::string> keys_of(const Json& object);
/// The command line's "k=v,..." of a shape or tile.
[[nodiscard]] std::string pairs(const Json& of);

}  // namespace cli
