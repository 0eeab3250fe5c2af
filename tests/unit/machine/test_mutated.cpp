// Architectures and products with random slips: each is refused by a line that names the file, or read as a machine
// whose numbers are finite.
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "model/base/embedded.hpp"
#include "model/base/error.hpp"
#include "model/machine/load.hpp"
#include "tests/support/case_count.hpp"

namespace test_mutated {

using namespace napkin;
using namespace napkin::internal;

namespace {

std::string embedded(const std::string& path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return std::string(file.text);
  }
  return "";
}

struct Pair {
  std::string architecture, of_architecture, of_product;  ///< its name, and two texts
};

/// Returns each architecture with its first product.
std::vector<Pair> pairs() {
  std::vector<Pair> all;
  for (const std::string& name : builtin_architectures()) {
    for (const std::string& product : builtin_machines()) {
      const std::string text = embedded("hardware_profiles/" + product + ".yaml");
      if (text.find("\narchitecture: " + name + "\n") == std::string::npos) continue;
      all.push_back({name, embedded("hardware_profiles/architectures/" + name + ".yaml"), text});
      break;
    }
  }
  return all;
}

class Slips {
 public:
  explicit Slips(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

  /// Changes the text, mostly one number into another: a mistake that is read does more harm than one that is refused.
  std::string of(std::string text) {
    const std::size_t kind = below(8);
    if (kind < 5) return number(std::move(text));
    if (kind == 5) return text.erase(line(text), below(60));
    if (kind == 6) return text.insert(line(text), text.substr(line(text), below(200)));
    constexpr std::array marks = {"{", "}", "[", "]", ":", ",", "#", " ", "\n", "\"", "\t", "&", "*", "\xff", "\x1b"};
    return text.replace(below(text.size()), below(2), marks[below(marks.size())]);
  }

 private:
  std::size_t line(const std::string& text) {
    const std::size_t at = text.find('\n', below(text.size()));
    return at == std::string::npos ? 0 : at;
  }

  std::string number(std::string text) {
    constexpr std::array words = {"0",
                                  "1",
                                  "-1",
                                  "1e-300",
                                  "1e-9",
                                  "1e9",
                                  "1e18",
                                  "1e300",
                                  "1e308",
                                  "1e400",
                                  ".nan",
                                  ".inf",
                                  "9223372036854775808",
                                  "~",
                                  "0.5",
                                  "\"\""};
    const std::string before = "{value: ";
    const std::size_t from = text.find(before, below(text.size()));
    if (from == std::string::npos) return text;
    const std::size_t begin = from + before.size(), end = text.find_first_of(",}", begin);
    return text.replace(begin, end - begin, words[below(words.size())]);
  }

  std::mt19937 random_;
};

void check_reckonable(const Machine& machine) {
  for (const Pipe& pipe : machine.pipes) {
    const double rate = bytes_per_second(machine, pipe, Hertz(1e9));
    CHECK_MESSAGE((std::isfinite(rate) && rate >= 0), pipe.name);
  }
  for (const TensorInstruction& instruction : machine.tensor) {
    const double peak = peak_flops(machine, instruction, Hertz(1e9));
    CHECK_MESSAGE((std::isfinite(peak) && peak > 0), instruction.name);
  }
}

}  // namespace

TEST_CASE("mutated architectures and products: one clear line, or a machine with finite numbers") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("napkin_test_mutated_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "architectures");
  Slips slips(22);
  int read = 0, refused = 0;
  for (const Pair& pair : pairs()) {
    for (int round = 0; round < test::rounds(200); ++round) {
      const bool product = round % 4 == 0;
      const std::string architecture = product ? pair.of_architecture : slips.of(pair.of_architecture);
      const std::string text = product ? slips.of(pair.of_product) : pair.of_product;
      std::ofstream(folder / "architectures" / (pair.architecture + ".yaml")) << architecture;
      CAPTURE(pair.architecture);
      CAPTURE(round);
      try {
        check_reckonable(parse_machine(text, (folder / "mine.yaml").string()));
        ++read;
      } catch (const Error& error) {
        ++refused;
        const std::string what = error.what();
        CHECK_MESSAGE(what.starts_with(folder.string()), what);
        CHECK_MESSAGE(what.find('\n') == std::string::npos, what);
        CHECK_MESSAGE(!error.right().empty(), what);
      }
    }
  }
  std::filesystem::remove_all(folder);
  CHECK(read > 0);
  CHECK(refused > 0);
}

}  // namespace test_mutated
