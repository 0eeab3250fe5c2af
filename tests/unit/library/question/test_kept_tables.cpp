// What a table is kept under: a profile's own text and that of what it draws on.

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "apps/library/question/kept_tables.hpp"

namespace test_kept_tables {

namespace fs = std::filesystem;

TEST_CASE("a product's content is another one when its architecture's file changes, a mapping's when its table does") {
  const fs::path folder = fs::temp_directory_path() / ("napkin-kept-" + std::to_string(::getpid()));
  fs::create_directories(folder / "architectures");
  const auto write = [&](const char* name, const char* text) { std::ofstream(folder / name) << text; };
  write("mine.yaml", "name: mine");
  write("architectures/sm_90.yaml", "energy: 1");
  const auto content = [&] { return napkin::content_of((folder / "mine.yaml").string()); };
  const std::string first = content();
  CHECK(content() == first);
  write("architectures/sm_90.yaml", "energy: 2");
  const std::string second = content();
  CHECK(second != first);
  write("mine.registers.csv", "x,registers");
  const std::string third = content();
  CHECK(third != second);
  write("other.registers.csv", "x,registers");
  CHECK(content() == third);
  CHECK(napkin::content_of("h200-sxm") == "h200-sxm");
  fs::remove_all(folder);
}

}  // namespace test_kept_tables
