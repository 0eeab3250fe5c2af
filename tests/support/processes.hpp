// Child processes of a test: check_in_processes runs several at once, said_in_a_process runs one and returns its text.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <vector>

namespace napkin::internal::test {

/// Forks so many, each of which runs good(its number); checks that all of them return true.
template <class Good>
void check_in_processes(int processes, const Good& good) {
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(good(i) ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
}

/// Runs say() in a child process and returns its string. Requires that it does not throw.
template <class Say>
std::string said_in_a_process(const Say& say) {
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::string said;
    bool good = true;
    try {
      said = say();
    } catch (const std::exception& error) {
      said = error.what();
      good = false;
    }
    good = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) && good;
    ::_exit(good ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  char part[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof part)) > 0;) said.append(part, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE_MESSAGE((WIFEXITED(status) && WEXITSTATUS(status) == 0), said);
  return said;
}

}  // namespace napkin::internal::test
