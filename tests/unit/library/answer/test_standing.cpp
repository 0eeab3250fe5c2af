// Bands of predictions: their ends, the rows that they are made from, and the cases in which they are wide.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "model/machine/load.hpp"
#include "napkin/answers.hpp"
#include "napkin/bands.hpp"
#include "napkin/napkin.hpp"

namespace test_standing {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("a likely time is no lower than what no mapping goes below, and a bound is no lower than itself") {
  StandingAnswer standing;
  standing.by_graph = true;
  standing.band.emplace();
  standing.band->mean = 1.1, standing.band->low = 0.2, standing.band->high = 1.6;
  const auto likely = [&](std::optional<double> least) {
    standing.least = least;
    PredictedAnswer predicted;
    predicted.time = 1;
    predicted.standing = standing;
    return *predicted.likely();
  };
  CHECK(likely(std::nullopt).low == doctest::Approx(0.2));
  CHECK(likely(0.5).low == 0.5);
  CHECK(likely(2.0).low == 1);
  CHECK(likely(0.5).mean == doctest::Approx(1.1));
  CHECK(likely(0.5).high == doctest::Approx(1.6));
}

/// Returns the known kinds, each once.
std::vector<PredictionKind> known_kinds() {
  std::vector<PredictionKind> out;
  for (const KnownErrors& known : known_errors()) {
    if (std::find(out.begin(), out.end(), known.kind) == out.end()) out.push_back(known.kind);
  }
  return out;
}

double width(const Band& band) { return std::log(band.high / band.low); }

TEST_CASE("a band of a known kind counts its rows, is in order, and says nothing of width") {
  REQUIRE(known_kinds().size() > 100);
  for (const PredictionKind& kind : known_kinds()) {
    std::int64_t rows = 0;
    for (const KnownErrors& known : known_errors())
      rows += known.kind == kind ? static_cast<std::int64_t>(known.errors.size()) : 0;
    const Band band = band_of(kind);
    CAPTURE(band.of);
    CHECK(band.rows == rows);
    CHECK(band.sources >= 1);
    CHECK(band.low <= band.mean);
    CHECK(band.mean <= band.high);
    CHECK(band.of.find(kind.kernel + " on " + kind.gpu + ", " + std::string(name_of(kind.regime))) == 0);
    CHECK(band.wide.empty() == kind.counted);
  }
}

TEST_CASE("what nobody compared is named, and a mapping or a machine of one's own or a guessed tile widens the band") {
  for (const PredictionKind& kind : known_kinds()) {
    const Band band = band_of(kind);
    const auto changed = [&](auto&& change) {
      PredictionKind other = kind;
      change(other);
      return band_of(other);
    };
    const Band mapping = changed([](PredictionKind& one) { one.own_mapping = true; });
    const Band machine = changed([](PredictionKind& one) { one.own_machine = true; });
    CHECK(mapping.wide.find("a mapping of your own") != std::string::npos);
    CHECK(machine.wide.find("a machine of your own") != std::string::npos);
    if (kind.counted) {
      const Band guessed = changed([](PredictionKind& one) { one.counted = false; });
      CHECK(guessed.wide.find("no compiler counted") != std::string::npos);
      CHECK(width(guessed) == doctest::Approx(2 * width(band)));
    }
    const Band kernel = changed([](PredictionKind& one) { one.kernel = "unheard_of"; });
    CHECK(kernel.wide.find("nothing of unheard_of on ") == 0);
    CHECK(kernel.of.find("other kernels of ") == 0);
  }
}

TEST_CASE("a band without a source is made of the others: no source of a kind leaves the next kind") {
  for (const KnownErrors& known : known_errors()) {
    const Band with = band_of(known.kind), without = band_of(known.kind, known.source);
    CHECK(without.rows > 0);
    if (with.sources > 1) CHECK(without.sources == with.sources - 1);
    if (with.sources == 1) CHECK(without.of != with.of);
  }
}

TEST_CASE("flash_attention_2 on an A100 takes longer than predicted, and its band says so with a sign") {
  PredictionKind kind;
  kind.kernel = "flash_attention_2", kind.algorithm = "attention", kind.architecture = "sm_80";
  kind.gpu = "a100-sxm-80", kind.by_graph = true;
  const Band band = band_of(kind);
  CHECK(band.bias() > 0.05);
  CHECK(band.high > 1.1);
  CHECK(band.of == "flash_attention_2 on a100-sxm-80, many waves");
}

TEST_CASE("classes are the rows by kernel, architecture and clock, recorded ones by product") {
  std::int64_t rows = 0, in_classes = 0;
  for (const KnownErrors& known : known_errors()) rows += static_cast<std::int64_t>(known.errors.size());
  for (const ClassError& each : class_errors()) {
    in_classes += each.rows;
    CHECK(each.mean >= std::abs(each.bias.value()) * (1 - 1e-12));
    CHECK(each.ninety.value() >= each.median);
  }
  CHECK(in_classes == rows);
  const auto band = band_on("h100-sxm", "sm_90");
  REQUIRE(band);
  CHECK(band->recorded);
}

}  // namespace test_standing
