// napkin::attention and napkin::matmul around a driver that computes nothing (tests/golden/fake_cuda): what they
// select, what they launch, what they refuse.
#include "apps/library/call.hpp"

#include <doctest/doctest.h>

#include <string>

#include "apps/library/napkin.hpp"
#include "tests/unit/library/fake_driver.hpp"

namespace test_call {

using namespace napkin;
using test::fake_driver;

namespace {

/// Memory that nothing touches.
void* address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

AttentionArgs attention_args() {
  static_cast<void>(fake_driver());
  AttentionArgs args;
  args.sizes.h = 16;
  args.sizes.q = args.sizes.x = 1024;
  args.sizes.d = 128;
  const std::int64_t row = 16 * 128;
  args.q = {address(0x10000), 1024 * row, 128, row};
  args.k = {address(0x20000), 1024 * row, 128, row};
  args.v = {address(0x30000), 1024 * row, 128, row};
  args.o = {address(0x40000), 1024 * row, 128, row};
  return args;
}

MatmulArgs matmul_args() {
  static_cast<void>(fake_driver());
  MatmulArgs args;
  args.sizes = {512, 256, 1024};
  args.a = {address(0x10000), 256};
  args.b = {address(0x20000), 1024};
  args.c = {address(0x30000), 1024};
  return args;
}

/// "q = 128" among the fields of the kernel's struct.
bool has(const std::string& expression, const std::string& field, const std::string& value) {
  return expression.find("." + field + " = " + value + ",") != std::string::npos;
}

}  // namespace

TEST_CASE("attention launches the tile that select selects") {
  const long before = fake_driver().launches();
  attention(attention_args());
  CHECK(fake_driver().launches() == before + 1);
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = "h200-sxm";
  ask.shape = {{"h", 16}, {"q", 1024}, {"x", 1024}, {"d", 128}};
  const auto selected = select(ask);
  REQUIRE(selected->head.kernel);
  CHECK(fake_driver().last().find("napkin::" + *selected->head.kernel + "<") != std::string::npos);
  for (const KnobValue& knob : selected->head.tile) {
    if (knob.word.empty()) CHECK_MESSAGE(has(fake_driver().last(), knob.name, std::to_string(knob.number)), knob.name);
  }
}

TEST_CASE("calls that come again, with other memory, on other streams") {
  const AttentionArgs args = attention_args();
  attention(args);
  const std::string expression = fake_driver().last();
  const long before = fake_driver().launches();
  attention(args);
  attention(args, address(0x999));
  AttentionArgs moved = args;
  moved.o.data = address(0x50000);
  for (int i = 0; i < 200; ++i) {
    moved.q.data = address(0x60000 + 0x100 * static_cast<std::uintptr_t>(i));
    attention(moved);
  }
  CHECK(fake_driver().launches() == before + 202);
  CHECK(fake_driver().last() == expression);
  AttentionArgs masked = args;
  masked.mask.kind = Mask::Kind::causal;
  attention(masked);
  const std::string causal = fake_driver().last();
  CHECK(has(causal, "mask", "napkin::MaskKind::causal"));
  masked.log_sum_exp = static_cast<float*>(address(0x70000));
  attention(masked);
  CHECK(fake_driver().last() == causal);  // the same kernel writes it where its pointer says so
}

TEST_CASE("packed sequences") {
  AttentionArgs args = attention_args();
  args.sizes.b = 3;
  args.q_starts = static_cast<const std::int32_t*>(address(0x70000));
  CHECK_THROWS_AS(attention(args), Error);
  args.x_starts = static_cast<const std::int32_t*>(address(0x80000));
  args.q_rows = args.x_rows = 2000;
  attention(args);
  CHECK(has(fake_driver().last(), "packed", "true"));
}

TEST_CASE("packed sequences: by their lengths where the host knows them") {
  AttentionArgs args = attention_args();
  args.sizes.b = 3;
  const std::vector<std::int32_t> starts{0, 1024, 1034, 1098};
  args.q_starts = args.x_starts = starts.data();
  args.q_rows = args.x_rows = 1098;
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = "h200-sxm";
  ask.shape = {{"h", 16}, {"d", 128}};
  ask.lengths = {{1024, 1024}, {10, 10}, {64, 64}};
  const auto selected = select(ask);
  args.lengths = ask.lengths;
  attention(args);
  const std::string launched = fake_driver().last();
  CHECK(has(launched, "packed", "true"));
  for (const KnobValue& knob : selected->head.tile) {
    if (knob.word.empty()) CHECK_MESSAGE(has(launched, knob.name, std::to_string(knob.number)), knob.name);
  }
  args.lengths[2].x = 65;
  CHECK_THROWS_WITH_AS(attention(args), doctest::Contains("lengths: are not those of the packed sequences"), Error);
  args.lengths.pop_back();
  CHECK_THROWS_AS(attention(args), Error);
}

TEST_CASE("matmul launches") {
  matmul(matmul_args());
  CHECK(fake_driver().last().find("napkin::matmul_sm90<") != std::string::npos);
  MatmulArgs ragged = matmul_args();
  ragged.sizes.c = 1001;
  matmul(ragged, address(0x999));
  CHECK(has(fake_driver().last(), "ragged", "true"));
}

TEST_CASE("a tile that the compiler objects to gives way to the next best") {
  AttentionArgs args = attention_args();
  attention(args);
  std::string first = fake_driver().last();
  const auto type = first.find(".bf16 = true");
  REQUIRE(type != std::string::npos);
  first.replace(type, 12, ".bf16 = false");
  ::setenv("FAKE_CUDA_SPILLS_VARIANT", first.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  args.dtype = DType::f16;                                 // not compiled before
  attention(args);
  ::unsetenv("FAKE_CUDA_SPILLS_VARIANT");  // NOLINT(concurrency-mt-unsafe)
  CHECK(has(fake_driver().last(), "bf16", "false"));
  CHECK(fake_driver().last() != first);
}

TEST_CASE("what is wrong with a call is said before anything is launched") {
  const AttentionArgs good = attention_args();
  attention(good);
  const long before = fake_driver().launches();
  AttentionArgs bad = good;
  bad.v.data = nullptr;
  CHECK_THROWS_WITH_AS(attention(bad), "v: is null: memory on the device", Error);
  bad = good;
  bad.k.row += 4;
  CHECK_THROWS_AS(attention(bad), Error);
  bad = good;
  bad.sizes.d = 100;
  CHECK_THROWS_AS(attention(bad), Error);
  bad = good;
  bad.sizes.q = 0;
  CHECK_THROWS_AS(attention(bad), Error);
  bad = good;
  bad.dtype = DType::f32;
  CHECK_THROWS_AS(attention(bad), Error);
  bad = good;
  bad.scale = -1;
  CHECK_THROWS_AS(attention(bad), Error);
  bad = good;
  bad.device = 7;
  CHECK_THROWS_AS(attention(bad), CudaFailure);
  MatmulArgs wrong = matmul_args();
  wrong.sizes.b = 250;
  CHECK_THROWS_AS(matmul(wrong), Error);
  CHECK(fake_driver().launches() == before);
}

}  // namespace test_call
