// Gradients, user-defined functions and roles from the command line: every command takes a derived diagram like a
// written one.

#include <doctest/doctest.h>

#include <string>

#include "tests/golden/cli.hpp"

namespace test_cli_gradient {

namespace {

using cli::answer;
using cli::Folder;
using cli::Json;
using cli::napkin;

std::string shown(const std::string& words) {
  const auto run = napkin(words);
  CHECK_MESSAGE(run.code == 0, run.err);
  return run.out;
}

double time_of(const std::string& line) { return answer(line, 1)["predicted"]["time"].get<double>(); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("gradient: in front of a name is the backward pass, which prints as a diagram") {
  const std::string text = shown("derive gradient:matmul --show diagram");
  CHECK(has(text, "dA[a,b] = contract over c (dC, B)"));
  CHECK(has(text, "dB[b,c] = contract over a (dC, A)"));
  CHECK(has(text, "outputs: [dA, dB]"));
  const std::string steps = shown("derive gradient:mlp");
  CHECK(has(steps, "gradient: dX, dW1, dW2 follow from mlp in reverse"));
  CHECK(has(shown("derive gradient:cross_entropy"), "gradient: cross_entropy has to store L as well"));
  CHECK(has(shown("derive gradient:paged_attention"), "gradient: none of page, which names rows"));
}

TEST_CASE("attention's gradient is the built-in one, and its kernels answer") {
  CHECK(has(shown("derive gradient:attention"), "operation by operation it is attention_backward"));
  const std::string shape = " --gpu h200-sxm --shape h=16,q=4096,x=4096,d=128";
  const Json derived = answer("select gradient:attention" + shape),
             written = answer("select attention_backward" + shape);
  CHECK(derived == written);
  CHECK(derived["kernel"] == "attention_backward_sm90");
}

TEST_CASE("a derived diagram is asked as any other, and what it moves is what the interpreter counts") {
  for (const char* question :
       {"gradient:mlp --shape m=64,k=16,h=32", "gradient:linear_attention --shape q=64,d=16",
        "gradient:retention --shape q=64,d=16 --causal", "gradient:matmul --shape a=32,b=48,c=64",
        "gradient:cross_entropy --shape t=32,v=64,d=16"}) {
    CAPTURE(std::string(question));
    const Json json = answer("query " + std::string(question) + " --memory 65536 --check");
    CHECK(json["check"]["equal"] == true);
  }
  const Json gpu = answer("query gradient:swiglu --gpu h200-sxm --shape m=4096,k=4096,h=11008");
  CHECK(gpu["kernel"].is_null());
  CHECK(gpu["predicted"]["time"].get<double>() > 0);
}

TEST_CASE("roles are of one launch: the launches of a cut choose their own") {
  const std::string question = "query cached_attention --gpu h200-sxm --shape h=8,g=8,x=8191,d=128,q=";
  CHECK(has(shown(question + "1 --explain"), "unfused    a launch for each of 13 operations"));
  CHECK(answer(question + "512")["legal"] == true);
}

TEST_CASE("deps prints a nest as its steps leave it, which is a nest again") {
  const Folder folder;
  const Json json = answer("deps --nest attention_listing");
  const std::string after = folder.file("after.yaml", json["transformed"].get<std::string>());
  CHECK(has(shown("deps --nest attention_listing"), "nest after these steps"));
  const Json again = answer("deps --nest " + after);
  CHECK(again["orders"].size() >= 6);
  for (const Json& order : again["orders"]) CHECK(order["legal"] == true);
  CHECK_FALSE(answer("deps attention").contains("transformed"));
}

TEST_CASE("a timeline hatches the room before the tensor unit waits") {
  const Folder folder;
  const std::string fa3 =
      "timeline attention --gpu paper-h100 --kernel napkin_fa3 --dtype f16 "
      "--shape h=16,q=8448,x=8192,d=128 --tile x=128,";
  REQUIRE(napkin(fa3 + "warpgroups=2,q=256,overlap=between --svg " + (folder / "between.svg")).code == 0);
  REQUIRE(napkin(fa3 + "warpgroups=1,q=128,overlap=within --svg " + (folder / "within.svg")).code == 0);
  CHECK(has(cli::contents(folder / "between.svg"), "fill=\"url(#room)\"><title>P may take 100 % longer"));
  CHECK_FALSE(has(cli::contents(folder / "within.svg"), "><title>P may take"));
}

TEST_CASE("what has no gradient is refused in a line") {
  const auto run = napkin("derive gradient:max_pooling");
  CHECK(run.code == 2);
  CHECK(has(run.err, "max_pooling: no input has a gradient"));
  CHECK(run.out.empty());
  CHECK(napkin("derive gradient:nothing").code == 2);
}

TEST_CASE("a file: its fold streams, its roles are taken, its gradient is found, and a wrong fold is refused") {
  const Folder folder;
  const auto write = [&](const std::string& name, const std::string& text) { return folder.file(name, text); };
  const std::string rest =
      "axes: {t: , v: , d: }\ninputs: [\"X[t,d]\", \"W[v,d]\"]\noperations:\n"
      "  - Z[t,v] = contract over d (X, W)\n  - Y[t] = fold total over v (Z)\noutputs: [Y]\n";
  const auto fold = [&](const std::string& merge) {
    return "algorithm: f\nfolds:\n  total:\n    of: [x]\n    state: {s: 0}\n    each: {s: x}\n    merge: {s: " + merge +
           "}\n    result: s\n" + rest;
  };
  const Json json =
      answer("query " + write("sum.yaml", fold("a.s + b.s")) + " --memory 512 --shape t=30,v=50,d=8 --check");
  CHECK(json["check"]["equal"] == true);
  CHECK(has(shown("derive " + (folder / "sum.yaml")), "Y by fold total"));
  CHECK(answer("query " + (folder / "sum.yaml") + " --gpu h200-sxm --shape t=512,v=4096,d=128")["levels"].size() > 0);
  const auto wrong = napkin("derive " + write("wrong.yaml", fold("a.s - b.s")));
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "fold 'total' is not associative: (a b) c is s = "));
  for (const char* command : {"derive gradient:", "deps "}) {
    const auto refused = napkin(command + (folder / "sum.yaml"));
    CHECK(refused.code == 2);
    CHECK(has(refused.err, (folder / "sum.yaml") + ":13:5: fold total (Y) has no "));
  }

  // 128 bytes of bf16 are 64 elements: the rows of X and W, beside the depth of an instruction.
  const Json divisors =
      answer("derive " + (folder / "sum.yaml") + " --gpu paper-h100 --shape t=512,v=4096,d=128")["divisors"];
  REQUIRE(divisors.size() == 3);
  CHECK(divisors[2]["axis"] == "d");
  CHECK(divisors[2]["divisor"] == 64);
  CHECK(divisors[2]["causes"].size() == 3);

  const std::string softmax =
      "inputs: [\"S[q,x]\", \"V[x,d]\"]\noperations:\n  - P[q,x] = softmax over x (S)\n"
      "  - O[q,d] = contract over x (P, V)\noutputs: [O]\n";
  const std::string shape = " --memory 100000 --shape q=12,x=40,d=16";
  // The paper's column: q x + x d where x is held whole, and no result beside the inputs.
  const std::string whole =
      write("whole.yaml", "algorithm: whole\naxes: {q: , x: , d: }\nroles: {x: whole, d: whole}\n" + softmax);
  CHECK(answer("query " + whole + shape + " --tile q=12")["levels"][0]["memory_lower_bound"] == 12 * 40 + 40 * 16);
  const std::string grouped =
      write("grouped.yaml", "algorithm: grouped\naxes: {q: , x: , d: }\nroles: {d: group}\n" + softmax);
  CHECK(answer("query " + grouped + shape + " --tile d=4")["tile"]["d"] == 4);
  CHECK(has(shown("derive gradient:" + whole + " --show diagram"), "outputs: [dS, dV]"));
}

TEST_CASE("gradients by FlashAttention-2's own tiles fit a block of 99 KiB with the bytes of kSmemSize1colblock") {
  struct Own {
    int d;
    const char* tile;
    int bytes;
  };
  for (const Own& own : {Own{64, "q=64,x=128,s_rows=2,kv_rows=4,dq_rows=4,stages=2", 73728},
                         {96, "q=64,x=128,s_rows=2,kv_rows=4,dq_rows=4,stages=2", 94208},
                         {128, "q=64,x=64,s_rows=4,kv_rows=2,dq_rows=2,stages=2", 81920},
                         {192, "q=64,x=64,s_rows=4,kv_rows=2,dq_rows=2,stages=1", 98304},
                         {256, "q=64,x=32,s_rows=4,kv_rows=1,dq_rows=2,stages=1", 98304}}) {
    CAPTURE(own.d);
    const std::string d = std::to_string(own.d);
    const Json said = answer(
        "query attention_backward --gpu rtx-4090 --kernel flash_attention_2_backward "
        "--shape h=16,q=4096,x=4096,d=" +
            d + " --tile v_in=registers," + own.tile,
        1);
    CHECK(said["legal"] == true);
    CHECK(said["shared_memory"]["bytes"] == own.bytes);
    for (const char* gpu : {"rtx-3090", "l40s", "rtx-5090"}) {
      CAPTURE(gpu);
      const std::string question = std::string(" --gpu ") + gpu + " --shape h=8,q=4096,x=4096,d=" + d;
      const Json one = answer("select gradient:attention" + question),
                 grouped = answer("select gradient:attention" + question + ",g=2");
      CHECK(one["kernel"] == "flash_attention_2_backward");
      CHECK(grouped["kernel"] == "flash_attention_2_backward_grouped");
      // two to five times the forward pass, which has two of its five products
      const double forward = time_of("select attention" + question + " --kernel flash_attention_2");
      CHECK(one["predicted"]["time"].get<double>() > 2 * forward);
      CHECK(one["predicted"]["time"].get<double>() < 5 * forward);
    }
  }
  CHECK(answer("select gradient:attention --gpu l40s --shape h=16,q=4096,x=4096,d=160")["tile"]["x"] == 64);
}

TEST_CASE("gradients by FlashAttention-4 take the heads whose padded columns leave by 32, and no others") {
  const std::string question = "select attention_backward --gpu b200 --shape h=16,q=4096,x=4096,d=";
  const double whole = time_of(question + "96");
  for (const char* d : {"88", "96"}) {
    CHECK(answer(question + d)["kernel"] == "flash_attention_4_backward");
    CHECK(time_of(question + d) == doctest::Approx(whole).epsilon(0.05));
  }
  CHECK(answer(question + "120")["kernel"] == "flash_attention_4_backward");
  for (const char* d : {"72", "80", "104"}) {  // tile_hdim % dQ_reduce_ncol
    CHECK(answer(question + d)["kernel"] == "flash_attention_2_backward");
    CHECK(napkin(question + d + " --kernel flash_attention_4_backward").out.find("columns of dQ") != std::string::npos);
  }
}

TEST_CASE(
    "gradients on CDNA 3 are Composable Kernel's, which its LDS holds; the additions' cost is said to be left out") {
  struct Own {
    int d, lds;
  };
  for (const Own& own : {Own{64, 32768}, {80, 65536}, {128, 65536}, {256, 65536}}) {
    CAPTURE(own.d);
    const std::string question = " --gpu mi300x --shape b=4,h=16,q=4096,x=4096,d=" + std::to_string(own.d);
    const Json said = answer("select attention_backward" + question),
               grouped = answer("select attention_backward" + question + ",g=4");
    CHECK(said["kernel"] == "ck_tile_backward");
    CHECK(grouped["kernel"] == "ck_tile_backward_grouped");
    CHECK(answer("query attention_backward" + question)["shared_memory"]["bytes"] == own.lds);
    const double time = said["predicted"]["time"], forward = time_of("select attention" + question);
    CHECK(time > 2 * forward);
    CHECK(time < 6 * forward);
    CHECK(grouped["predicted"]["time"].get<double>() > 3.5 * time);
  }
  CHECK(has(shown("select attention_backward --gpu mi300x --shape h=64,q=4096,x=4096,d=128 --explain"),
            "constants.l2_add_bandwidth"));
}

}  // namespace test_cli_gradient
