#pragma once
// run_program reads the command line of a developer's program and is called by its main():
//
//   Request r;
//   CLI::App app("Every bundled kernel against float64", "run_correctness");
//   app.add_option("--rows", r.rows);
//   return run_program(app, argc, argv, [&] { return run(r); });

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace napkin::internal::test {

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

/// Calls read(text) with the option's value.
template <class Read>
void add_text(CLI::App& app, const std::string& option, Read read) {
  app.add_option_function<std::string>(option, std::move(read));
}

/// Parses words; CLI11 wants them in reverse order.
inline void parse(CLI::App& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());
  app.parse(std::move(words));
}

/// Runs a program. Returns the exit code of main(): run()'s if the words are right, else 2, after a line on stderr.
template <class Run>
int run_program(CLI::App& app, int argc, char** argv, Run run) {
  try {
    app.parse(argc, argv);
    return run();
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    return 2;
  }
}

}  // namespace napkin::internal::test
