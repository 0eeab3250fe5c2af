// napkin_fp8_sm90 is napkin_fp8 built: the same knobs and arrays, and plans for V of f16 alone.

#include <doctest/doctest.h>

#include <string>

#include "kernels/plans/attention.hpp"
#include "model/mapping/read/load.hpp"
#include "tests/support/layout.hpp"

namespace test_napkin_fp8_plan {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("every knob of the paper's mapping is a knob of the kernel, with its values; every array is one of its") {
  const Mapping paper = load_mapping("napkin_fp8", "test"), built = load_mapping("napkin_fp8_sm90", "test");
  CHECK(paper.proposed);
  CHECK_FALSE(built.source.empty());
  REQUIRE(built.knobs.size() == paper.knobs.size());
  for (std::size_t i = 0; i < paper.knobs.size(); ++i) {
    CAPTURE(paper.knobs[i].name);
    CHECK(built.knobs[i].name == paper.knobs[i].name);
    CHECK(built.knobs[i].domain == paper.knobs[i].domain);
    CHECK(built.knobs[i].words == paper.knobs[i].words);
  }
  REQUIRE(built.variables.size() == paper.variables.size());
  for (std::size_t i = 0; i < paper.variables.size(); ++i) {
    CAPTURE(paper.variables[i].name);
    CHECK(built.variables[i].name == paper.variables[i].name);
    CHECK(built.variables[i].level == paper.variables[i].level);
    CHECK(built.variables[i].by == paper.variables[i].by);
    CHECK(built.variables[i].alias == (paper.variables[i].name == "A" ? "P" : ""));
  }
}

TEST_CASE("a call whose V is e4m3 is refused by the kernel of V of f16, and the other way round") {
  constexpr std::uint64_t somewhere = 4096;
  AttentionCall call;
  call.q.address = call.k.address = call.v.address = call.o.address = call.ticket = somewhere;
  const auto refused = [&](const char* kernel, bool halves) {
    const test::LaidOut laid(kernel, "h200-sxm", {{"h", 1}, {"q", 4096}, {"x", 4096}, {"d", 128}}, DType::e4m3);
    call.halves = halves;
    try {
      (void)attention_plan(laid.place({}), call, {132, Bytes(50 << 20)});
    } catch (const Error& error) {
      return std::string(error.what()).find("multiplies V of") != std::string::npos;
    }
    return false;
  };
  CHECK(refused("napkin_fp8_sm90", false));
  CHECK_FALSE(refused("napkin_fp8_sm90", true));
  CHECK(refused("attention_fp8_sm90", true));
  CHECK_FALSE(refused("attention_fp8_sm90", false));
}

}  // namespace test_napkin_fp8_plan
