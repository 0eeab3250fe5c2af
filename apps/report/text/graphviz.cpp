#include "apps/report/text/graphviz.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "model/base/error.hpp"

extern char** environ;

namespace napkin::internal::report {
namespace {

/// A file without a name. It vanishes with its last user, and, unlike a pipe, cannot fill up.
class Scratch {
 public:
  explicit Scratch(const std::string& where) : file_(std::tmpfile(), &std::fclose) {
    if (!file_)
      throw Error(where, std::string("no temporary file: ") + std::strerror(errno), "a writable temporary folder");
  }
  [[nodiscard]] int descriptor() const { return ::fileno(file_.get()); }
  void write(const std::string& text, const std::string& where) const {
    const bool done = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
    if (!done || std::fflush(file_.get()) != 0 || ::lseek(descriptor(), 0, SEEK_SET) != 0) {
      throw Error(where, std::string("a temporary file cannot be written: ") + std::strerror(errno),
                  "room on that disk");
    }
  }
  [[nodiscard]] std::string read() const {
    std::string text;
    char buffer[4096];
    std::rewind(file_.get());
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file_.get())) > 0;) text.append(buffer, n);
    return text;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

int exit_code(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int not_found = 127;  // exit code of a child that could not start the program

}  // namespace

std::string svg_of_dot(const std::string& dot, const std::string& where) {
  const Scratch in(where), out(where), complaints(where);
  in.write(dot, where);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, complaints.descriptor(), STDERR_FILENO);
  char program[] = "dot", format[] = "-Tsvg";
  char* arguments[] = {program, format, nullptr};
  pid_t process = 0;
  const int error = ::posix_spawnp(&process, program, &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  const int code = error == 0 ? exit_code(process) : not_found;
  const std::string svg = out.read();
  if (code == 0 && svg.find("</svg>") != std::string::npos) return svg;
  if (error != 0 || code == not_found) {
    throw Error(where, "the program 'dot' draws this picture, and it cannot be run",
                "install the package graphviz, or leave " + where + " out");
  }
  throw Error(where, "'dot' failed: " + complaints.read().substr(0, 200),
              "a working installation of the package graphviz");
}

}  // namespace napkin::internal::report
