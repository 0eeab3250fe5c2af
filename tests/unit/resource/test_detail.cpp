// The numbers that a programmer needs to write a kernel, compared with three published descriptions of kernels.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "model/resource/detail.hpp"
#include "tests/support/layout.hpp"

namespace test_detail {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

template <class One>
const One& named(const std::vector<One>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const One& one) { return one.variable == name; });
  REQUIRE_MESSAGE(found != all.end(), name);
  return *found;
}

}  // namespace

TEST_CASE("each vector core's part of the buffers in the L2: 64 of 128 rows") {
  const LaidOut laid("ascend_forward", "ascend-910b2", {{"q", 128}, {"x", 512}, {"d", 128}}, DType::f16);
  const Detail detail = detail_of(laid.place({{"q", "128"}, {"x", "128"}, {"cube_x", "128"}, {"preload", "2"}}));
  CHECK(named(detail.offsets, "S_slots").bytes == Bytes(32768));
  CHECK(named(detail.offsets, "P_slots").bytes == Bytes(16384));
  CHECK(named(detail.offsets, "pv_slots").bytes == Bytes(32768));
  CHECK(named(detail.offsets, "S_slots").rows == Count(64));
  CHECK(named(detail.offsets, "S_slots").agent == "vector");
  CHECK(
      std::none_of(detail.offsets.begin(), detail.offsets.end(), [](const auto& one) { return one.variable == "K"; }));
  CHECK(detail.ahead == 2);
}

TEST_CASE("rounds of the backward pass: C1, C2 and V1 an iteration ahead, unrolled by two, P leaves in pieces") {
  const LaidOut laid("ascend_backward", "ascend-950pr", {{"q", 4096}, {"x", 128}, {"d", 128}}, DType::f16);
  const Detail detail = detail_of(laid.place({{"x", "128"}, {"q", "128"}, {"preload", "1"}}));
  CHECK(detail.unrolled == Count(2));
  std::string rounds;
  for (const RoundStage& stage : detail.rounds) {
    rounds += std::to_string(stage.behind) + " " + stage.agent + ":";
    for (const std::string& operation : stage.operations) rounds += " " + operation;
    rounds += "\n";
  }
  CAPTURE(rounds);
  REQUIRE(detail.rounds.size() == 4);
  const auto stage = [&](const std::string& agent, std::int64_t behind) {
    for (const RoundStage& one : detail.rounds) {
      if (one.agent == agent && one.behind == behind) return one.operations;
    }
    return std::vector<std::string>{};
  };
  CHECK(stage("cube", 0) == std::vector<std::string>{"S", "dP"});
  CHECK(stage("vector", 0) == std::vector<std::string>{"Delta"});
  CHECK(stage("cube", 1).size() == 3);
  CHECK(stage("vector", 1).size() == 4);
  CHECK(named(detail.offsets, "P_in").bytes == Bytes(16384));
  // P and dS go from vector cores to the cube's L1; Q and dO are loaded there directly
  CHECK(detail.offsets.size() == 2);
  CHECK(detail.pieces.size() == 2);                  // they too
  const PieceLayout& p = named(detail.pieces, "P");  // [BLOCK_N / 16, HALF_BLOCK_M / 16, 16, 16]
  CHECK(p.rows == Count(64));
  CHECK(ceil_div(p.columns, p.piece_columns) == Count(8));
  CHECK(ceil_div(p.rows, p.piece_rows) == Count(4));
  CHECK(p.piece_rows == Count(16));
  CHECK(p.piece == Bytes(32));
  CHECK(p.stride == Bytes(2048));
  CHECK(detail_of(laid.place({{"x", "128"}, {"q", "128"}, {"preload", "0"}})).rounds.empty());
}

TEST_CASE(
    "equal shares of a triangle: 528 blocks on 24 cores, 22 each, 54 visits of 32 columns; of 64, 2,080, 87 and 86") {
  for (const auto& [side, all, most, visits] : {std::array{32, 528, 22, 54}, {64, 2080, 87, 86}}) {
    LaidOut laid("ascend_backward", "ascend-950pr", {{"q", 128 * side}, {"x", 128 * side}, {"d", 128}}, DType::f16,
                 {Mask::Kind::causal, 0, 0});
    laid.machine.levels[static_cast<std::size_t>(laid.machine.compute)].per_parent = 24;
    const Detail detail = detail_of(laid.place({{"x", "128"}, {"q", "128"}, {"order", "even"}}));
    Count next, met;
    for (const NodeShare& one : detail.shares) {
      CHECK(one.first == next);
      CHECK(one.iterations <= Count(most));
      next += one.iterations, met += one.blocks;
    }
    CHECK(detail.shares.size() == 24);
    CHECK(next == Count(all));
    CHECK(met == Count(visits));
    CHECK(detail.shares[1].block == Count(most / side));
    CHECK(detail.shares[1].iteration == Count(most % side));
    CHECK(detail_of(laid.place({{"x", "128"}, {"q", "128"}, {"order", "columns"}})).shares.empty());
  }
}

TEST_CASE(
    "a first kernel on Ampere: (4, 2) cp.async a warp, k, m, n by (2, 2, 1), 12 blocks by threads, 168 registers") {
  const LaidOut laid("flash_from_scratch", "rtx-3090", {{"b", 16}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}},
                     DType::bf16);
  const Detail detail = detail_of(laid.place({{"q", "64"}, {"x", "64"}, {"warps", "4"}}));
  for (const char* name : {"Q", "K", "V"}) {
    const CopyCount& copy = named(detail.copies, name);
    CHECK(copy.rows == Count(16));
    CHECK(copy.columns == Count(128));
    CHECK(copy.step_rows == Count(4));
    CHECK(copy.step_columns == Count(64));
    CHECK(copy.down == Count(4));
    CHECK(copy.across == Count(2));
  }
  REQUIRE(detail.products.size() == 2);
  const ProductLoop& scores = detail.products[0];
  CHECK(scores.loops);
  CHECK(scores.pieces_k == Count(2));
  CHECK(scores.pieces_m == Count(2));
  CHECK(scores.pieces_n == Count(1));
  CHECK(scores.times_k == Count(8));
  CHECK(scores.times_m == Count(1));
  CHECK(scores.times_n == Count(8));
  const auto& operands = scores.operands;  // Q and K lie along d, which is summed over; V along dv
  REQUIRE(operands.size() == 2);
  CHECK((operands[0].along == "d" && operands[0].as_stored && operands[0].loads == Count(8) && operands[0].once));
  CHECK((operands[1].along == "d" && operands[1].as_stored && operands[1].loads == Count(32) && !operands[1].once));
  const OperandLayout& values = detail.products[1].operands[1];
  CHECK((values.array == "V" && values.along == "dv" && !values.as_stored && values.loads == Count(32)));
  CHECK(detail.products[1].operands[0].loads == Count(0));  // P is made in registers
  // __syncwarp for Q and O, whose rows a warp has by itself; __syncthreads for K and V, twice an iteration each.
  for (const auto& [name, threads, again] :
       {std::tuple{"Q", 32, false}, {"K", 128, true}, {"V", 128, true}, {"O_over_Q", 32, false}}) {
    const Meeting& one = named(detail.meetings, name);
    CAPTURE(one.threads.get());
    CHECK(one.threads == Count(threads));
    CHECK(one.again == again);
    CHECK(one.agent == (threads == 32 ? "consumer" : ""));
  }
  CHECK(detail.meetings.size() == 4);
  REQUIRE(detail.staged.size() == 1);  // 16 x 128 values of two bytes: 4 bytes a thread in, 16 out
  CHECK(detail.staged[0].width == Bytes(4));
  CHECK(detail.staged[0].writes == Count(32));
  CHECK(detail.staged[0].reads == Count(8));
  REQUIRE(detail.resident.size() == 3);
  CHECK(detail.resident[0].blocks == Count(12));
  CHECK(detail.resident[1].blocks == Count(2));
  CHECK(detail.resident[2].blocks == Count(2));
  REQUIRE(detail.caps.size() >= 3);
  CHECK(detail.caps[1].most == Count(255));
  CHECK(detail.caps[2].warps == Count(12));
  CHECK(detail.caps[2].most == Count(168));
  CHECK(detail.caps[2].missing > Count(0));  // 202 as compiled: a compiler limited to 168 spills
  const Detail whole = detail_of(laid.place({{"q", "64"}, {"x", "64"}, {"warps", "4"}, {"fragments", "whole"}}));
  CHECK(whole.caps[2].missing == Count(428 - 168));
}

}  // namespace test_detail
