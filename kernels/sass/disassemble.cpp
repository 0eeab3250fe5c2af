#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "kernels/sass/cubin.hpp"
#include "model/base/error.hpp"

extern char** environ;

namespace napkin::internal {
namespace {

/// Returns a program's output; nothing if it cannot be run or fails.
std::optional<std::string> output_of(std::string program, std::string option, std::string path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::tmpfile(), &std::fclose),
      complaints(std::tmpfile(), &std::fclose);
  if (!out || !complaints) return std::nullopt;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(out.get()), 1);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(complaints.get()), 2);
  char* arguments[] = {program.data(), option.data(), path.data(), nullptr};
  pid_t process = 0;
  const int error = ::posix_spawnp(&process, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return std::nullopt;
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  std::rewind(out.get());
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, out.get())) > 0;) text.append(buffer, n);
  return text;
}

}  // namespace

std::string disassemble(const std::string& path, const std::string& where) {
  for (const char* folder : {"", "/usr/local/cuda/bin/"}) {
    for (const auto& [program, option] : {std::pair("nvdisasm", "-c"), std::pair("cuobjdump", "-sass")}) {
      auto text = output_of(std::string(folder) + program, option, path);
      if (text && !text->empty()) return std::move(*text);
    }
  }
  throw Error(where, "neither nvdisasm nor cuobjdump, which print a compiled kernel's instructions, could read it",
              "one of them on the PATH (CUDA's toolkit, or Triton's folder backends/nvidia/bin), or "
              "--disassembly with what one printed elsewhere");
}

}  // namespace napkin::internal
