#include "apps/napkin/program.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "apps/napkin/command.hpp"
#include "apps/napkin/progress.hpp"
#include "kernels/jit/failure.hpp"
#include "model/base/error.hpp"
#include "model/base/printable.hpp"
#include "napkin/ask.hpp"

namespace napkin::internal::cli {
namespace {

constexpr int bad_input = 2;

/// Returns the style of stdout: colours only on a terminal, unless the user forbids them. (no-color.org)
report::Style style_of_stdout() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return {isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0') && !dumb};
}

}  // namespace

Reply reply_to(const std::vector<std::string>& words, const report::Style& style) {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.name);
  if (words.empty()) throw Error("napkin", "no command", joined(names) + " (napkin --help)");

  const std::string& name = words.front();
  if (name == "--help" || name == "-h" || name == "help") return {help(), "", 0};
  if (name == "--version") return {"napkin " NAPKIN_VERSION "\n", "", 0};
  for (const Command& command : commands()) {
    if (command.name != name) continue;
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    for (const std::string& word : rest) {
      if (word == "--help" || word == "-h") return {help(command), "", 0};
    }
    return command.run(parse(command, rest), style);
  }
  throw Error("napkin", in_quotes(name) + " is no command", one_of(name, names));
}

namespace {

int complain(std::string_view message) {
  std::fprintf(stderr, "%s\n", printable(message).c_str());
  return bad_input;
}

/// Runs the command, and shows on a terminal that a long one is at work.
Reply waited_for(const std::vector<std::string>& words) {
  const Waiting waiting("napkin" + (words.empty() ? std::string() : " " + printable(words.front())));
  return reply_to(words, style_of_stdout());
}

int print_reply(const Reply& reply) {
  const bool written = std::fwrite(reply.out.data(), 1, reply.out.size(), stdout) == reply.out.size();
  if (std::fflush(stdout) != 0 || !written)
    return complain("standard output: cannot be written: check its disk or pipe");
  std::fwrite(reply.note.data(), 1, reply.note.size(), stderr);
  return reply.code;
}

}  // namespace

int program(const std::vector<std::string>& words) {
  try {
    return print_reply(waited_for(words));
  } catch (const Error& error) {
    return complain(error.what());
  } catch (const CudaFailure& failure) {  // the question is right, but cannot be answered on this machine
    complain(failure.what());
    return 1;
  } catch (const std::bad_alloc&) {
    return complain("napkin: this needs more memory than there is: use smaller sizes");
  } catch (const std::exception& error) {
    return complain(std::string("napkin: internal error: ") + error.what() +
                    ": please report it with the command line");
  }
}

}  // namespace napkin::internal::cli
