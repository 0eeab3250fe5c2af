// The output of `derive` besides the algorithm: sub-loops, colours, and rows chosen by tables.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/golden/cli.hpp"

namespace test_cli_derive {

namespace {

std::string shown(const std::string& words) {
  const auto run = cli::napkin(words);
  CHECK_MESSAGE(run.code == 0, run.err);
  return run.out;
}

void check_has(const std::string& text, const std::string& part) {
  CHECK_MESSAGE(text.find(part) != std::string::npos, part);
}

}  // namespace

TEST_CASE("derive: sums may go in parts, on no machine yet") {
  const std::string text = shown("derive attention --show pseudocode");
  check_has(text, "S[g_b,g_h,g_g,g_q,s_x] = contract over d (Q, K)      (may go in parts u_d of d: they add up)");
  check_has(text, "O += contract over x (P, V)      (may go in parts u_x of s_x: they add up)");
}

TEST_CASE("derive: with a machine each statement has its colour") {
  const std::string text = shown(
      "derive attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128 --kernel attention_sm90 --show pseudocode");
  check_has(text, "device -> l2 -> cluster -> shared, bf16, 2 copies\n");
  check_has(text, "wgmma by consumer; Q in shared, K in shared; S in registers as f32");
  check_has(text, "wgmma by consumer; P in registers, V in shared; O in registers as f32");
  check_has(text, "shared -> cluster -> l2 -> device, bf16");
  CHECK(text.find("may go in parts") == std::string::npos);
}

TEST_CASE("derive: what a kernel holds in part is a sub-loop") {
  const std::string text = shown(
      "derive attention --gpu h100-sxm --kernel napkin_fp8 --dtype e4m3 --shape h=16,q=4096,x=4096,d=128 "
      "--tile x=64,u_x=32,d_block=32 --show pseudocode");
  check_has(text, "    for each u_x=32 of s_x:\n");
  check_has(text, "for each d_block=32 of dv:\n");
  // Softmax, rescaling and product share one loop, since each part has its own factor.
  CHECK(text.find("for each u_x=32") == text.rfind("for each u_x=32"));
  CHECK(text.find("for each u_x=32") < text.find("O *= delta"));
  CHECK(text.find("O *= delta") < text.find("for each d_block=32"));
}

TEST_CASE("derive: cores sum up where the table says, and parts of a tile share its maximum") {
  const std::string forward = shown(
      "derive attention --gpu ascend-910b2 --kernel ascend_forward --shape h=1,q=128,x=512,d=128 --dtype f16 "
      "--tile q=128,x=256,cube_x=128 --show pseudocode");
  check_has(forward, "O in ub as f32\n");
  check_has(forward, "pv in l0c as f32, 2 copies; O in ub as f32\n");
  CHECK(forward.find("O in l0c") == std::string::npos);
  CHECK(forward.find("mu' = max(mu', ") < forward.find("delta = exp(mu - mu')"));
  const std::string backward = shown(
      "derive attention_backward --gpu ascend-950pr --kernel ascend_backward --shape h=1,q=512,x=128,d=128 "
      "--dtype f16 --tile q=128,x=128 --show pseudocode");
  for (const char* vector_result : {"Z in l0a", "E in l0a"}) CHECK(backward.find(vector_result) == std::string::npos);
  check_has(backward, "in rounds r = 0 .. n of n iterations:\n");
  check_has(backward, "  if 0 <= r < n: S, dP of iteration r by cube\n");
  check_has(backward, "  if 0 <= r - 1 < n: dV, dQ, dK of iteration r - 1 by cube\n");
  check_has(backward, "unrolled by 2");
}

TEST_CASE("a slot for P V beyond what is ahead matters once, though nothing of it is ahead") {
  const auto clocks = [](const std::string& slots) {
    return cli::answer(
               "query attention --gpu ascend-910b2 --kernel ascend_forward --shape h=1,q=128,x=8192,d=128 --tile "
               "q=128,x=128,preload=2,pv_depth=" +
               slots)["predicted"]["cycles"]
        .get<double>();
  };
  CHECK(clocks("1") == doctest::Approx(211502).epsilon(2e-3));
  CHECK(clocks("2") == doctest::Approx(209825).epsilon(2e-3));
  CHECK(clocks("4") == doctest::Approx(clocks("2")));
}

TEST_CASE("derive: the table goes on with parts, instructions and resident blocks, in the JSON too") {
  const std::string question =
      "derive attention --gpu rtx-3090 --kernel flash_from_scratch --shape b=16,h=16,q=4096,x=4096,d=128 "
      "--tile q=64,x=64,warps=4";
  const std::string text = shown(question + " --show table");
  check_has(text, "K: 16 B a thread, 4 x 64 values a warp; 4 x 2 of them for its 16 x 128\n");
  check_has(text, "loops over k, m, n by (2, 2, 1) pieces of 8 x 16 B\n");
  check_has(text, "threads 12, shared memory 2, registers 2\n");
  const auto detail = cli::answer(question)["table"]["detail"];
  CHECK(detail["register_caps"][2]["warps"] == 12);
  CHECK(detail["register_caps"][2]["registers"] == 168);
  CHECK(detail["resident"]["threads"] == 12);
  CHECK(detail["copies"][1]["count"] == cli::Json({4, 2}));
}

TEST_CASE("derive: halo and tables are steps, and pictures of them are drawn") {
  check_has(shown("derive convolution_2d"), "halo: a part of i reads the rows of X along y");
  check_has(shown("derive convolution_2d"), "load X[g_b,y: g_i + u - 1,x: g_j + v - 1,s_c]");
  const std::string paged = shown("derive paged_attention");
  check_has(paged, "gather: the rows of K along p are those that page names");
  CHECK(paged.find("load page[g_b,s_n]") < paged.find("load K[p: page[g_b,s_n],g_h,r,d]"));
  const cli::Folder folder;
  for (const std::string name : {"paged_attention", "mixture_of_experts", "convolution_1d"}) {
    const std::string path = folder / (name + ".svg");
    static_cast<void>(shown("derive " + name + " --svg " + path));
    CHECK(std::filesystem::file_size(path) > 1000);
  }
}

}  // namespace test_cli_derive
