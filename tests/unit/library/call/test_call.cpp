// napkin::attention and napkin::matmul with a driver that computes nothing (tests/golden/fake_cuda): the tiles that
// they select, their launches, and the calls that they refuse.
#include "napkin/call.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "napkin/napkin.hpp"
#include "tests/support/case_count.hpp"
#include "tests/unit/library/call/fake_driver.hpp"

namespace test_call {

using namespace napkin;
using namespace napkin::internal;
using test::fake_driver;

namespace {

/// Returns an address that nothing accesses.
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

/// Returns the backward call that belongs to attention_args() with heads of d; its workspace has no size that a plan
/// asked for.
AttentionBackwardArgs backward_args(std::int64_t d) {
  AttentionBackwardArgs args;
  args.forward = attention_args();
  args.forward.sizes.d = d;
  args.forward.log_sum_exp = static_cast<float*>(address(0x90000));
  args.d_o = args.dq = args.forward.q;
  args.dk = args.dv = args.forward.k;
  args.d_o.data = address(0xa0000);
  args.dq.data = address(0xb0000);
  args.dk.data = address(0xc0000);
  args.dv.data = address(0xd0000);
  args.workspace = {address(0x100000), std::int64_t{1} << 40};
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

/// Returns true if the kernel's struct has the field with that value, as "q = 128".
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
  ask.bundled = true;
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
  CHECK(fake_driver().last() == causal);  // the same kernel writes it if its pointer is set
}

namespace {

/// Returns the processor time of this thread alone.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns the median processor time of steps in which a call's keys grow by one, from `first` on.
double step_seconds(AttentionArgs args, std::int64_t first, int steps, std::set<std::string>& tiles) {
  std::vector<double> took;
  for (int i = 0; i < steps; ++i) {
    args.sizes.x = first + i;
    args.k.head = args.v.head = args.sizes.x * 128;  // [b, h, x, d], dense
    const double begin = thread_seconds();
    attention(args);
    took.push_back(thread_seconds() - begin);
    tiles.insert(fake_driver().last());
  }
  std::nth_element(took.begin(), took.begin() + steps / 2, took.end());
  return took[static_cast<std::size_t>(steps) / 2];
}

}  // namespace

TEST_CASE("keys that grow by one: one ranking serves an eighth of an octave, and a step costs the host 30 us") {
  const int steps = test::rounds(100) == 100 ? 128 : 16;
  for (const std::int64_t q : {1, 512}) {  // attention_decode_sm90, attention_sm90
    CAPTURE(q);
    AttentionArgs args = attention_args();
    args.sizes.h = 8;
    args.sizes.g = 4;
    args.sizes.q = q;
    args.k.row = args.v.row = 128;
    const long before = fake_driver().launches();
    std::set<std::string> tiles;
    const double each = step_seconds(args, 1921, steps, tiles);  // lengths to 2048, which share a ranking
    CHECK(fake_driver().launches() >= before + steps);
    CHECK(tiles.size() == 1);
    MESSAGE((each * 1e6) << " us of the host's processor a step");
#ifdef NDEBUG
    CHECK(each < 60e-6);  // seconds; the machine may have other work
#endif
  }
}

TEST_CASE("one query and many keys: the kernel that splits keys, and where sequences are packed another one") {
  AttentionArgs args = attention_args();
  args.sizes.h = args.sizes.g = 8;
  args.sizes.q = 1;
  args.sizes.x = 16384;
  args.q.batch = args.o.batch = 64 * 128;
  const long before = fake_driver().launches();
  attention(args);
  CHECK(fake_driver().launches() == before + 1);  // parts are combined by the block that comes last
  CHECK(fake_driver().last().find("napkin::attention_decode_sm90<") == 0);
  args.q_starts = args.x_starts = static_cast<const std::int32_t*>(address(0x80000));
  args.q_rows = 1;
  args.x_rows = 16384;
  attention(args);
  CHECK(fake_driver().last().find("napkin::attention_decode_sm90<") == std::string::npos);
  CHECK(has(fake_driver().last(), "packed", "true"));
}

TEST_CASE("keys in pages, and counted on the device: the kernel that reads them so, or a reason") {
  AttentionArgs args = attention_args();
  args.sizes.b = 4;
  args.sizes.h = args.sizes.g = 8;
  args.sizes.q = 1;
  args.sizes.x = 4096;
  args.key_counts = static_cast<const std::int32_t*>(address(0x70000));
  attention(args);
  CHECK(fake_driver().last().find("napkin::attention_decode_sm90<") == 0);
  args.pages = {static_cast<const std::int32_t*>(address(0x80000)), 64, 64, 300};
  const long before = fake_driver().launches();
  attention(args);
  attention(args);
  CHECK(fake_driver().launches() == before + 2);
  CHECK(fake_driver().last().find("napkin::attention_decode_sm90<") == 0);
  AttentionArgs bad = args;
  bad.pages.row = 63;
  CHECK_THROWS_WITH_AS(attention(bad), doctest::Contains("attention_decode_sm90: has no page for some key"), Error);
  bad = args;
  bad.pages.size = 20;
  CHECK_THROWS_WITH_AS(attention(bad), doctest::Contains("brings whole boxes of a page"), Error);
  bad = args;
  bad.pages.count = 0;
  CHECK_THROWS_WITH_AS(attention(bad), doctest::Contains("pages: have no size"), Error);
  AttentionBackwardArgs backward = backward_args(128);
  backward.forward.key_counts = args.key_counts;
  CHECK_THROWS_WITH_AS(attention_backward(backward), doctest::Contains("pages: and key counts have no backward"),
                       Error);
  CHECK(fake_driver().launches() == before + 2);
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

TEST_CASE("the backward pass: three launches of the tile that select selects, in the caller's workspace") {
  for (const std::int64_t d : {64, 128, 256}) {
    CAPTURE(d);
    AttentionBackwardArgs args = backward_args(d);
    // h q (d + 2) floats, 8 counters (for wide heads 16) for 64 or 128 queries, two for a section of heads; parts begin
    // at multiples of 128 bytes.
    const std::int64_t bytes = attention_backward_workspace(args), floats = 16 * 1024 * (d + 2) * 4;
    CHECK(bytes == floats + 16 * 1024 / (d == 64 ? 128 : 64) * (d == 256 ? 16 : 8) * 4 + 2 * 128);
    args.workspace.bytes = bytes;
    const long before = fake_driver().launches();
    attention_backward(args, address(0x999));
    CHECK(fake_driver().launches() == before + 3);
    CHECK(fake_driver().last(2).find("napkin::attention_backward_delta<") == 0);
    const char* gradients = d == 256 ? "napkin::attention_backward_wide_sm90<" : "napkin::attention_backward_sm90<";
    CHECK(fake_driver().last(1).find(gradients) == 0);
    CHECK(fake_driver().last(0).find("napkin::attention_backward_convert<") == 0);
    Ask ask;
    ask.algorithm = "attention_backward";
    ask.gpu = "h200-sxm";
    ask.shape = {{"h", 16}, {"q", 1024}, {"x", 1024}, {"d", d}};
    const auto selected = select(ask);
    for (const KnobValue& knob : selected->head.tile) {
      if (knob.word.empty())
        CHECK_MESSAGE(has(fake_driver().last(1), knob.name, std::to_string(knob.number)), knob.name);
    }
    args.workspace.data = address(0x200000);  // other memory needs no other plan
    attention_backward(args, address(0x999));
    CHECK(fake_driver().launches() == before + 6);
    args.deterministic = true;
    args.workspace.bytes = attention_backward_workspace(args);
    attention_backward(args);
    CHECK(has(fake_driver().last(1), "dq", "napkin::SumOrder::ordered"));
  }
}

TEST_CASE("the backward pass refuses before anything is launched, and says why") {
  const AttentionBackwardArgs good = backward_args(128);
  attention_backward(good);
  const long before = fake_driver().launches();
  for (int again = 0; again < 2; ++again) {  // a refused call is not stored as prepared
    AttentionBackwardArgs bad = good;
    bad.workspace.bytes = attention_backward_workspace(good) - 1;
    CHECK_THROWS_WITH_AS(attention_backward(bad), doctest::Contains("workspace: has "), Error);
    bad = good;
    bad.workspace.data = nullptr;
    CHECK_THROWS_WITH_AS(attention_backward(bad), doctest::Contains("workspace: has 0 bytes"), Error);
  }
  AttentionBackwardArgs bad = good;
  bad.forward.log_sum_exp = nullptr;
  CHECK_THROWS_WITH_AS(attention_backward(bad), "log_sum_exp: is null: memory on the device", Error);
  bad = good;
  bad.dk.data = nullptr;
  CHECK_THROWS_WITH_AS(attention_backward(bad), "dk: is null: memory on the device", Error);
  bad = good;
  bad.dq.row = 12;
  CHECK_THROWS_AS(attention_backward(bad), Error);
  bad = good;
  bad.forward.q_starts = static_cast<const std::int32_t*>(address(0x70000));
  CHECK_THROWS_AS(attention_backward(bad), Error);
  bad = good;
  bad.forward.sizes.d = 264;
  CHECK_THROWS_WITH_AS(attention_backward(bad), doctest::Contains("takes d up to"), Error);
  bad = good;
  bad.forward.dtype = DType::e4m3;
  CHECK_THROWS_WITH_AS(attention_backward(bad), doctest::Contains("takes bf16 and f16 only"), Error);
  CHECK(fake_driver().launches() == before);
}

TEST_CASE("who computes gradients, and why not") {
  CHECK(attention_backward_refusal("h200-sxm", DType::bf16, 128, 128) == "");
  CHECK(attention_backward_refusal("h200-sxm", DType::f16, 64, 64) == "");
  CHECK(attention_backward_refusal("h200-sxm", DType::bf16, 96, 96) == "");
  CHECK(attention_backward_refusal("h200-sxm", DType::bf16, 192, 128) == "");
  CHECK(attention_backward_refusal("h200-sxm", DType::f16, 256, 256) == "");
  CHECK(attention_backward_refusal("h200-sxm", DType::bf16, 136, 224) == "");
  CHECK(
      attention_backward_refusal("h200-sxm", DType::bf16, 264, 264) ==
      "attention_backward_sm90 takes d up to 128 only, not 264; takes dv up to 128 only, not 264; needs 461 registers "
      "a thread, there are 240. attention_backward_wide_sm90 takes d up to 256 only, not 264; takes dv up to 256 only, "
      "not 264");
  CHECK(attention_backward_refusal("h200-sxm", DType::bf16, 80, 80) == "");
  CHECK(attention_backward_refusal("a100-sxm-80", DType::bf16, 64, 64) ==
        "attention_backward_sm90 needs sm_90, a100-sxm-80 is sm_80. attention_backward_wide_sm90 needs sm_90, "
        "a100-sxm-80 is sm_80");
  CHECK(profile_of_device() == "h200-sxm");
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

TEST_CASE("where the compiler objects to each tile, every call says so, and other sizes are launched as before") {
  AttentionArgs args = attention_args();
  args.sizes.q = args.sizes.x = 1152;  // not asked before
  const long before = fake_driver().launches();
  ::setenv("FAKE_CUDA_SPILLS", "all", 1);  // NOLINT(concurrency-mt-unsafe)
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(attention(args), CompilerObjection);
  ::unsetenv("FAKE_CUDA_SPILLS");  // NOLINT(concurrency-mt-unsafe)
  CHECK(fake_driver().launches() == before);
  attention(attention_args());
  CHECK(fake_driver().launches() == before + 1);
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
  CHECK_THROWS_WITH_AS(attention(bad), doctest::Contains("takes no d of 100: a multiple of 8"), Error);
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
