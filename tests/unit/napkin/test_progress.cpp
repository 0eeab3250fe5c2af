// The progress of a long command on a terminal, which it erases at the end.

#include <doctest/doctest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "apps/napkin/progress.hpp"

namespace test_progress {

namespace {

using namespace napkin::internal::cli;

/// A terminal that replaces standard error while the object lives.
class Terminal {
 public:
  Terminal() : before_(dup(STDERR_FILENO)) {
    REQUIRE(openpty(&ours_, &theirs_, nullptr, nullptr, nullptr) == 0);
    dup2(theirs_, STDERR_FILENO);
  }
  ~Terminal() {
    dup2(before_, STDERR_FILENO);
    for (const int file : {before_, ours_, theirs_}) close(file);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  /// Returns the text written up to these last characters, which a terminal passes on piece by piece.
  [[nodiscard]] std::string text_until(const std::string& last) const {
    std::string out;
    pollfd waiting{ours_, POLLIN, 0};
    while (!out.ends_with(last) && poll(&waiting, 1, 5000) == 1) {
      std::array<char, 256> piece{};
      const ssize_t size = read(ours_, piece.data(), piece.size());
      REQUIRE(size > 0);
      out.append(piece.data(), static_cast<std::size_t>(size));
    }
    return out;
  }

 private:
  int before_, ours_ = -1, theirs_ = -1;
};

const std::string clear_line = "\r\033[K";

}  // namespace

TEST_CASE("progress in words") {
  CHECK(progress_text("sizes", 0, 20, 0, "") == "sizes [....................] 0 of 20");
  CHECK(progress_text("sizes", 5, 20, 10, "q=64") == "sizes [#####...............] 5 of 20, 30 s left: q=64");
  CHECK(progress_text("sizes", 20, 20, 40, "") == "sizes [####################] 20 of 20");
  CHECK(waiting_text("napkin select", 3.2) == "napkin select: at work, 3 s");
  CHECK(waiting_text("napkin select", 83) == "napkin select: at work, 1 min 23 s");
}

TEST_CASE("a command that has shown nothing for two seconds says that it is at work, and wipes the line") {
  std::string text;
  {
    const Terminal terminal;
    {
      const Waiting waiting("napkin select");
      std::this_thread::sleep_for(std::chrono::milliseconds(2400));
    }
    text = terminal.text_until(clear_line);
  }
  CAPTURE(text);
  CHECK(text.find("napkin select: at work, 2 s") != std::string::npos);
  CHECK(text.ends_with(clear_line));
}

TEST_CASE("a command that is over in no time says nothing") {
  std::string text;
  {
    const Terminal terminal;
    { const Waiting waiting("napkin select"); }
    REQUIRE(write(STDERR_FILENO, "end", 3) == 3);
    text = terminal.text_until("end");
  }
  CHECK(text == "end");
}

}  // namespace test_progress
