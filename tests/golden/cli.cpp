#include "tests/golden/cli.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/program.hpp"
#include "apps/report/json/json.hpp"
#include "napkin/napkin.hpp"
#include "tests/golden/schema.hpp"

/// The sanitizer's check for leaks, if the program has one.
extern "C" __attribute__((weak)) int __lsan_do_recoverable_leak_check();

namespace cli {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json parse(const std::string& text) { return Json::parse(text); }

namespace {

/// Waits for a child that writes to those files, and returns its output and exit code.
Run result_of(pid_t child, const std::string& out, const std::string& err, int seconds) {
  Run run;
  int status = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return run;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.out = contents(out);
  run.err = contents(err);
  return run;
}

}  // namespace

Run run_program(std::vector<std::string> words, std::vector<std::string> environment, int seconds) {
  const Folder folder;
  const std::string out = folder / "out", err = folder / "err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  environment.emplace_back("PATH=" + std::string(std::getenv("PATH") != nullptr ? std::getenv("PATH") : ""));
  std::vector<char*> arguments, variables;
  for (std::string& word : words) arguments.push_back(word.data());
  for (std::string& variable : environment) variables.push_back(variable.data());
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  pid_t child = 0;
  REQUIRE(posix_spawnp(&child, words.front().c_str(), &actions, nullptr, arguments.data(), variables.data()) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return result_of(child, out, err, seconds);
}

Run napkin_forked(const std::string& line) {
  const Folder folder;
  const std::string out = folder / "out", err = folder / "err";
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool ready = std::freopen("/dev/null", "r", stdin) != nullptr &&
                       std::freopen(out.c_str(), "w", stdout) != nullptr &&
                       std::freopen(err.c_str(), "w", stderr) != nullptr;
    const int code = ready ? napkin::internal::cli::program(words_of(line)) : 127;
    std::fflush(nullptr);
    const bool leaks = __lsan_do_recoverable_leak_check != nullptr && __lsan_do_recoverable_leak_check() != 0;
    _exit(leaks ? 126 : code);  // not exit(), since the child must not destroy what this process has made
  }
  return result_of(child, out, err, 60);
}

Run napkin(std::vector<std::string> words, std::vector<std::string> environment) {
  words.insert(words.begin(), NAPKIN_BINARY);
  return run_program(std::move(words), std::move(environment));
}

Json Run::json() const {
  Json answer = parse(out);
  const std::string error = schema_error(answer);
  CHECK_MESSAGE(error.empty(), error);
  return answer;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

Run napkin(const std::string& line) { return napkin(words_of(line)); }

Json asked(const std::vector<std::string>& words, ::napkin::AnswerParts parts) {
  namespace program = ::napkin::internal::cli;
  namespace report = ::napkin::internal::report;
  const bool given = words.front() == "query";
  const program::Command command = given ? program::query_command() : program::select_command();
  const ::napkin::Ask ask = program::ask_of(program::parse(command, {words.begin() + 1, words.end()}));
  return given ? report::json_of(*::napkin::query(ask, parts)) : report::json_of(*::napkin::select(ask, 1, parts));
}

Json asked(const std::string& line) { return asked(words_of(line)); }

Json answer(const std::string& line, int most) {
  const Run run = napkin(line + " --json");
  CAPTURE(line);
  CAPTURE(run.err);
  REQUIRE(run.code <= most);
  return run.json();
}

void check_refused(const Run& run, const std::string& text) {
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK_MESSAGE((run.err.size() > 1 && run.err.find('\n') == run.err.size() - 1), run.err);
  CHECK_MESSAGE(run.err.find(text) != std::string::npos, run.err);
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

std::string pairs(const Json& of) {
  std::string out;
  for (const std::string& key : keys_of(of)) {
    const Json& value = of[key];
    out += (out.empty() ? "" : ",") + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out;
}

}  // namespace cli
