#pragma once
// answer_lines makes a program that answers the problem of its words, or one problem a line of its input, each with one
// JSON object a line:
//
//   run_attention --shape h=16,q=4096,x=4096,d=128        or        run_attention < FILE

#include <exception>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/runtime/environment.hpp"
#include "kernels/runtime/run.hpp"

namespace napkin::internal::test {

/// A Runtime that is opened for the first problem that needs it and shared by all, so that each variant is loaded once.
class OneRuntime {
 public:
  Runtime& get() {
    if (!runtime_) runtime_ = std::make_unique<Runtime>(Device(), process_environment(), Objections::report);
    return *runtime_;
  }

 private:
  std::unique_ptr<Runtime> runtime_;
};

/// Prints answer(words), or the words with the error that it threw. Returns true unless the answer has "good": false.
template <class Answer>
bool answer_line(const std::vector<std::string>& words, Answer answer) {
  nlohmann::ordered_json out;
  bool good = true;
  try {
    out = answer(words);
    good = out.value("good", true);
  } catch (const std::exception& error) {
    out["arguments"] = words;
    out["error"] = error.what();
    good = false;
  }
  std::cout << out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
  return good;
}

/// Runs the program. Returns the exit code of main(): 1 if a result is wrong or a line has no answer.
template <class Answer>
int answer_lines(int argc, char** argv, Answer answer) {
  if (argc > 1) return answer_line({argv + 1, argv + argc}, answer) ? 0 : 1;
  bool good = true;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    if (!words.empty()) good = answer_line(words, answer) && good;
  }
  return good ? 0 : 1;
}

/// main() of a program with a GPU's answers and, where a problem has --compile, a compiler's: `read(words)` makes the
/// problem.
template <class Read, class Compiled, class Answer>
int answer_problems(int argc, char** argv, Read read, Compiled compiled, Answer answer) {
  OneRuntime runtime;
  return answer_lines(argc, argv, [&](const std::vector<std::string>& words) {
    const auto problem = read(words);
    return problem.compile ? compiled(problem) : answer(runtime.get(), problem);
  });
}

}  // namespace napkin::internal::test
