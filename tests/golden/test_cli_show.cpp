// napkin show prints every file that napkin list names, byte for byte; an unknown name is one error with the nearest.
#include <doctest/doctest.h>

#include "model/base/embedded.hpp"
#include "model/island/island.hpp"
#include "model/machine/load.hpp"
#include "tests/golden/cli.hpp"

namespace test_cli_show {

namespace {

using cli::Json;
using cli::napkin;

std::string_view text_of(const std::string& path) {
  for (const ::napkin::internal::EmbeddedFile& file : ::napkin::internal::embedded_files()) {
    if (file.path == path) return file.text;
  }
  return "";
}

void check_shown(const std::string& name, const std::string& kind) {
  CAPTURE(name);
  const Json json = napkin("show " + name + " --json").json();
  CHECK(json["kind"] == kind);
  const std::string text = json["text"].get<std::string>();
  CHECK(text.size() > 0);
  CHECK(text == text_of(json["path"].get<std::string>()));
  CHECK(napkin("show " + name).out == text);
}

}  // namespace

TEST_CASE("show prints whatever list names, as it is") {
  const std::pair<const char*, const char*> kinds[] = {
      {"gpus", "gpu"}, {"kernels", "mapping"}, {"algorithms", "algorithm"}, {"steps", "step"}};
  for (const auto& [listed, kind] : kinds) {
    const Json names = napkin(std::string("list ") + listed + " --json").json()[listed];
    REQUIRE(names.size() > 3);
    for (const Json& one : names) check_shown(one["name"].get<std::string>(), kind);
  }
  for (const std::string& name : ::napkin::internal::builtin_architectures()) check_shown(name, "architecture");
  for (const std::string& name : ::napkin::internal::builtin_islands()) check_shown(name, "island");
}

TEST_CASE("show takes a profile's other names, and refuses what it does not know") {
  CHECK(napkin("show dgx-spark").out == napkin("show gb10").out);
  const auto unknown = napkin("show h200-smx");
  CHECK(unknown.code == 2);
  CHECK(unknown.out.empty());
  CHECK(unknown.err.find("unknown name 'h200-smx': did you mean 'h200-sxm'") != std::string::npos);
  CHECK(napkin("show flash_attention_9").err.find("flash_attention_2") != std::string::npos);
  CHECK(napkin("show names").code == 2);  // a file of the judge, which napkin list does not name
  CHECK(napkin("show").code == 2);
}

}  // namespace test_cli_show
