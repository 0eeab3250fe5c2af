// How sure a prediction is: a band's ends, and which class it is of.

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "model/machine/load.hpp"
#include "napkin/answers.hpp"
#include "napkin/bands.hpp"
#include "napkin/napkin.hpp"

namespace test_standing {

using namespace napkin;

TEST_CASE("a band ends no lower than what no mapping goes below, and no higher than its own prediction") {
  StandingAnswer standing;
  standing.by_graph = true;
  standing.band.emplace();
  standing.band->error = 0.4;
  const auto ends = [&](std::optional<double> least) {
    standing.least = least;
    PredictedAnswer predicted;
    predicted.time = 1;
    predicted.standing = Later<std::optional<StandingAnswer>>([standing] { return std::optional(standing); });
    return *predicted.nine_of_ten();
  };
  CHECK(ends(std::nullopt).first < 0.2);
  CHECK(ends(0.5).first == 0.5);
  CHECK(ends(2.0).first == 1);
  CHECK(ends(0.5).second > 1.4);
}

TEST_CASE("a band is of the mapping itself: recorded there, published there, else recorded on that architecture") {
  const auto of = [](const char* gpu, const char* kernel) { return band_of(load_machine(gpu, "test"), kernel, true); };
  REQUIRE(of("h100-sxm", "attention_sm90"));
  CHECK(of("h100-sxm", "attention_sm90")->of == "attention_sm90 on h100-sxm");
  REQUIRE(of("gh200", "attention_sm90"));
  CHECK(of("gh200", "attention_sm90")->of == "attention_sm90 on sm_90");
  CHECK(of("gh200", "attention_sm90")->recorded);
  REQUIRE(of("b200", "flash_attention_4"));
  CHECK_FALSE(of("b200", "flash_attention_4")->recorded);
  CHECK(of("b200", "flash_attention_4")->bias.has_value());
  CHECK_FALSE(of("b200", "attention_sm80"));
  CHECK_FALSE(of("a100-sxm-80", "attention_sm80"));
  for (const ClassError& each : class_errors()) {
    if (each.gpu.empty() || !each.by_graph) continue;
    const auto band = of(each.gpu.c_str(), each.kernel.c_str());
    REQUIRE(band);
    CHECK(band->error == doctest::Approx(each.mean));
  }
}

}  // namespace test_standing
