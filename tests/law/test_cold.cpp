// A cold L2 makes no call faster, and makes those slower whose arrays would have remained in it.

#include <doctest/doctest.h>

#include "napkin/napkin.hpp"

namespace test_cold {

namespace {

using namespace napkin;

double time_of(const Session& session, NamedSizes shape, bool cold) {
  Ask ask;
  ask.algorithm = "attention", ask.gpu = "h100-sxm", ask.kernel = "attention_sm90", ask.shape = std::move(shape);
  ask.conditions.cold = cold;
  return session.select(ask)->predicted->time;
}

}  // namespace

TEST_CASE("small calls take longer with a cold L2, calls beyond its size as long as they did") {
  const Session session;
  const auto both = [&](std::int64_t h, std::int64_t q, std::int64_t x) {
    const NamedSizes shape{{"h", h}, {"q", q}, {"x", x}, {"d", 128}};
    return std::pair(time_of(session, shape, false), time_of(session, shape, true));
  };
  const auto [warm, cold] = both(4, 2048, 1024);  // 6 MB
  CHECK(cold > 1.05 * warm);
  const auto [large_warm, large_cold] = both(64, 64, 65536);  // 2.1 GB
  CHECK(large_cold == large_warm);
  for (const std::int64_t q : {64, 512, 2048}) {
    const auto [before, after] = both(4, q, 1024);
    CHECK(after >= before);
  }
}

}  // namespace test_cold
