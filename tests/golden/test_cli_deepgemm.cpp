// DeepGEMM's wider tile, which its authors found faster on an H800 (deepseek-ai/DeepGEMM, pull request 74).

#include "tests/golden/cli.hpp"

namespace test_cli_deepgemm {

namespace {

using cli::Json;
using cli::napkin;

double time_of(const std::string& shape, const std::string& tile) {
  const auto run =
      napkin("query matmul --gpu h800-sxm --dtype e4m3 --kernel deepgemm --shape " + shape + tile + " --json");
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  const Json json = run.json();
  CHECK(json["legal"] == true);
  return json["predicted"]["time"].get<double>();
}

}  // namespace

TEST_CASE("128 x 160 beats 128 x 128 at each of the four sizes, and is picked") {
  for (const char* shape :
       {"a=4096,c=24576,b=1536", "a=4096,c=32768,b=512", "a=4096,c=7168,b=16384", "a=4096,c=7168,b=2048"}) {
    CAPTURE(shape);
    const double wide = time_of(shape, " --tile a=128,c=160");
    CHECK(wide < time_of(shape, " --tile a=128,c=128"));
    CHECK(time_of(shape, "") == wide);
  }
}

}  // namespace test_cli_deepgemm
