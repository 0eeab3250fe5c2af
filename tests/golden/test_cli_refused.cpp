// Bad input gets one error that names the real mistake, and every example of a help or an error works.

#include <regex>

#include "tests/golden/cli.hpp"

namespace test_cli_refused {

namespace {

using cli::check_refused;
using cli::Folder;
using cli::Json;
using cli::napkin;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("errors blame the right thing") {
  const std::string question = " attention --gpu h200-sxm --shape h=16,q=4096,x=4096,d=128 ";
  check_refused(napkin("query" + question + "--tile foo=4"), "'foo' is no knob of attention_sm90: one of warpgroups");
  check_refused(napkin("query" + question + "--tile pingpong=maybe"), "pingpong=maybe");
  check_refused(napkin("compare attention --gpus foo --shape q=1,x=1,d=1"), "--gpus: unknown GPU 'foo'");
  check_refused(napkin("query attention --gpu H200-SXM --shape q=1,x=1,d=1"), "did you mean 'h200-sxm'");
  check_refused(napkin("query attn --gpu h200-sxm --shape q=1,x=1,d=1"), "did you mean 'attention'");
  for (const char* word : {"s", "n", "seq"})
    check_refused(napkin(std::string("query attention --gpu h200-sxm --shape d=64,") + word + "=64"),
                  "did you mean 'q'");
  check_refused(napkin("query attention --gpu h200-sxm --shape q=64,x=64,head_dim=64"), "did you mean 'd'");
  const std::string sizes = " --shape q=64,x=64,d=64";
  check_refused(napkin("query attention --gpu h100" + sizes), "did you mean 'h100-nvl' or 'h100-pcie' or 'h100-sxm'?");
  check_refused(napkin("query attention --gpu hgx-h100" + sizes), "did you mean 'hgx-h100-8'");
  check_refused(napkin("query attention --gpu h200-sxm" + sizes + ",kv=8"),
                "did you mean 'h' or 'x'? (one of b, h, g, q, x, d, dv) of Q[b,h,g,q,d], K[b,h,x,d], V[b,h,x,dv]: O = "
                "softmax(Q K^T / sqrt(d)) V; the g query heads of a group share one key/value head");
  struct Illegal {
    const char* rest;
    const char* says;
  };
  for (const Illegal& one :
       {Illegal{"--kernel attention_sm90 --dtype e4m3", "takes bf16 and f16 only"},
        {"--tile x=100", "x=100 is no multiple of 16"},
        {"--tile q=77", "77 must equal 128"},
        {"--tile stages=5", "stages=5 is none of the values that attention_sm90 is searched over"}}) {
    const std::string out = napkin("query" + question + one.rest).out;
    CAPTURE(out);
    CHECK(has(std::regex_replace(out, std::regex("\n +"), " "), one.says));
  }
  CHECK(has(napkin("query attention --gpu a100-sxm-80 --shape q=64,x=64,d=64 --kernel attention_sm90").out,
            "needs sm_90, a100-sxm-80 is sm_80"));
  cli::check_refused(
      napkin("query attention --gpu mi300x --shape q=64,x=64,d=64 --kernel attention_sm90"),
      "--kernel: attention_sm90 is made for sm_90, mi300x is gfx942 and has no level 'shared': a kernel");
  cli::check_refused(napkin("timeline attention --gpu h200-sxm --shape q=64,x=64,d=64 --overhead Z=1"),
                     "--overhead: no vector work of 'Z' in an iteration: one of S, P");
}

TEST_CASE("types that a machine multiplies are all named, and what is called fp4 is known") {
  const std::string question = " attention --shape h=16,q=4096,x=4096,d=128 --kernel flash_attention_3_fp8 --dtype ";
  check_refused(napkin("query" + question + "e4m3 --gpu a100-sxm-80"), "--dtype with one of bf16, f16, ");
  CHECK(napkin("query matmul --gpu b200 --shape a=4096,b=4096,c=4096 --dtype fp4").code == 0);
  CHECK(has(napkin("query --help").out, "e2m1"));
  check_refused(napkin("timeline attention --gpu hgx-h100-8 --shape h=8,q=4096,x=4096,d=128"),
                "query or select, which ask several GPUs, or one of them: h100-sxm");
}

TEST_CASE("what keeps a tile out is named, whatever the knobs are that the user leaves open") {
  const std::string wide =
      "attention --gpu rtx-4090 --kernel flash_attention_2 --dtype f16 --shape h=16,q=4096,x=4096,d=256";
  const auto query = napkin("query " + wide + " --tile q=128,x=64,warps=8,stages=1");
  CHECK(has(std::regex_replace(query.out, std::regex("\n +"), " "),
            "with q_in=shared: needs 131,072 B of shared memory"));
  const auto select = napkin(
      "select attention --gpu rtx-4090 --kernel attention_sm80 --shape h=16,q=4096,x=4096,d=256 --tile q=128,warps=4");
  CHECK(select.code == 1);
  CHECK(has(select.out, "nothing fits: registers keeps out the last "));
}

TEST_CASE("-1 is a window's end without limit, as in flash_attn") {
  const std::string question = "query attention --gpu h200-sxm --shape h=4,q=640,x=1000,d=64 ";
  const auto apart = [&](const std::string& mask) {
    Json json = cli::answer(question + mask);
    json.erase("kernels");
    return json;
  };
  CHECK(apart("--window -1,0") == apart("--causal"));
  CHECK(apart("--window -1,-1") == apart(""));
  CHECK(apart("--window -1,5") == apart("--window 1640,5"));  // -1 reaches to the end of the array
  CHECK(apart("--window 9,-1") == apart("--window 9,1640"));
}

TEST_CASE("a value for which a mapping does not say how its kernel works: that kernel refuses, others answer") {
  const std::string question = " attention --gpu h200-sxm --shape h=16,q=4096,x=4096,d=128 --tile stages=5";
  for (const char* command : {"query", "select"})
    check_refused(napkin(command + question + " --kernel attention_sm80"),
                  "--tile: stages=5: nobody has said how attention_sm80 works then: one of 1, 2, 3");
  CHECK(cli::answer("select" + question)["kernel"] == "attention_sm90");
  const std::string product = "query matmul --gpu h100-sxm --kernel triton_matmul --shape a=4096,b=4096,c=4096 --tile ";
  for (const char* warps : {"2", "16"})
    check_refused(
        napkin(product + "a=128,c=128,b=64,stages=3,warps=" + warps),
        std::string("--tile: warps=") + warps + ": nobody has said how triton_matmul works then: one of 8, 4");
}

TEST_CASE("compare says that nothing fits where kernels are known") {
  const auto out = napkin("compare attention --gpu h200-sxm --kernels napkin_fa3 --shape h=16,q=4096,x=4096,d=256");
  CHECK(out.code == 1);
  CHECK(out.err == "nothing fits\n");
}

TEST_CASE("each example in a help works") {
  const std::string base = " attention --gpu h200-sxm --shape b=2,h=16,q=8192,x=8192,d=128";
  const std::string help = napkin("--help").out;
  const std::size_t at = help.find("  napkin ");
  REQUIRE(at != std::string::npos);
  CHECK(napkin(help.substr(at + 9, help.find('\n', at) - at - 9)).code == 0);
  // The examples after "such as" in options' descriptions.
  const std::string query = std::regex_replace(napkin("query --help").out, std::regex("\n +"), " ");
  const std::regex example("--(tile|shape) k=v,\\.\\.\\. [^-]*?such as ([a-z_.]+=[a-z0-9]+(?:,[a-z_.]+=[a-z0-9]+)*)");
  int examples = 0;
  for (std::sregex_iterator found(query.begin(), query.end(), example), end; found != end; ++found, ++examples) {
    const std::string option = (*found)[1].str(), text = (*found)[2].str();
    CAPTURE(text);
    CHECK(napkin(option == "shape" ? "query attention --gpu h200-sxm --shape " + text
                                   : "query" + base + " --tile " + text)
              .code == 0);
  }
  CHECK(examples == 2);
  CHECK(napkin("query" + base + " --tile registers.q=64").code == 2);
  CHECK_FALSE(has(query, "registers.q"));
}

TEST_CASE("what is no file is refused at once") {
  const Folder folder;
  const std::string fifo = folder / "fifo", link = folder / "link", zero = folder / "zero",
                    empty = folder.file("empty.jsonl", "");
  REQUIRE(cli::run_program({"mkfifo", fifo}).code == 0);
  std::filesystem::create_symlink(fifo, link);
  std::filesystem::create_symlink("/dev/zero", zero);
  const std::string shape = " --shape q=64,x=64,d=64";
  for (const std::string& path : {fifo, link, zero, std::string("/dev/zero"), std::string("/")}) {
    CAPTURE(path);
    const char* kind = path == "/" ? "is a folder" : path == fifo || path == link ? "is a FIFO" : "is a device";
    check_refused(napkin("validate --replay " + path), kind);
    check_refused(napkin("calibrate --gpu h200-sxm --out " + (folder / "x.yaml") + " --replay " + path), kind);
    check_refused(napkin("deps --nest " + path), kind);
    check_refused(napkin("query attention --gpu " + path + shape), kind);
    check_refused(napkin("query " + path + " --gpu h200-sxm" + shape), kind);
    check_refused(napkin("query attention --gpu h200-sxm --kernel " + path + shape), kind);
  }
  check_refused(napkin("validate --replay " + empty), "has no rows");
}

TEST_CASE("choosing leaves nothing on disk, and does without a home") {
  const Folder folder;
  const std::string question =
      "select attention --gpu h200-sxm --kernel flash_decoding --shape h=4,q=8,x=512,d=64 --json";
  const auto at = [&](const std::string& home) {
    return napkin(cli::words_of(question), {"XDG_CACHE_HOME=" + home + "/cache", "HOME=" + home});
  };
  const auto first = at(folder / "home");
  REQUIRE(first.code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "home"));
  CHECK(at("/proc").out == first.out);
}

}  // namespace test_cli_refused
