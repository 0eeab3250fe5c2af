#pragma once
// run_program runs the program as a user would, and returns its exit code and output. cli.cpp has the functions that
// take long to compile.

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

/// A folder that is removed with its object.
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
/// Parses JSON. Throws if the text is none.
[[nodiscard]] Json parse(const std::string& text);

struct Run {
  int code = -1;  ///< the exit code; 128 + the signal that ended it; -1: it did not end in time
  std::string out, err;

  /// Returns the output as JSON; checks that an answer agrees with docs/schema.
  [[nodiscard]] Json json() const;
};

/// Runs any program; `environment` as NAME=VALUE, without any other variable.
Run run_program(std::vector<std::string> words, std::vector<std::string> environment = {}, int seconds = 60);

Run napkin(std::vector<std::string> words, std::vector<std::string> environment = {});
Run napkin(const std::string& line);

/// Answers `napkin query` or `napkin select` in this process, whose session keeps what the questions of one kernel
/// share; with the `parts` that take longer.
Json asked(const std::vector<std::string>& words, ::napkin::AnswerParts parts = {});
Json asked(const std::string& line);
/// Returns the answer to the line with --json. Requires an exit code of at most `most`: 1 if an answer without a legal
/// tile is allowed.
Json answer(const std::string& line, int most = 0);
/// Runs the program's main function in a copy of this process: for many short questions, since the start of a sanitized
/// program takes most of the time.
Run napkin_forked(const std::string& line);

/// Splits "query attention --gpu x" into words, without quoting.
[[nodiscard]] std::vector<std::string> words_of(const std::string& line);

/// Checks for exit code 2, one line on stderr that contains `text`, and nothing on stdout.
void check_refused(const Run& run, const std::string& text = "");

[[nodiscard]] std::vector<std::string> keys_of(const Json& object);
/// Returns a shape or tile as the command line's "k=v,...".
[[nodiscard]] std::string pairs(const Json& of);

}  // namespace cli
