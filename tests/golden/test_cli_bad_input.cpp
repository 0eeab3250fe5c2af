// Bad input never aborts, hangs or guesses: exit 2, one message, nothing on stdout.

#include <string>
#include <utility>
#include <vector>

#include "tests/golden/cli.hpp"

namespace test_cli_bad_input {

namespace {

using cli::check_refused;
using cli::Folder;
using cli::napkin;
using cli::napkin_forked;

/// A command line and the text that its message must contain.
struct Bad {
  const char* line;
  const char* says;
};

constexpr Bad commands[] = {
    {"", "no command"},
    {"qery", "did you mean 'query'"},
    {"frobnicate attention", "'frobnicate' is no command"},
    {"--gpu h200-sxm", "is no command"},
    {"query", "ALGORITHM: is missing"},
    {"select", "ALGORITHM: is missing"},
    {"derive", "ALGORITHM: is missing"},
    {"compare", "ALGORITHM: is missing"},
    {"list", "one of gpus, algorithms, kernels"},
    {"list gpu", "did you mean 'gpus'"},
    {"list gpus kernels", "one word too many"},
    {"list gpus --gpu h200-sxm", "is no option"},
    {"derive atention", "did you mean 'attention'"},
    {"derive nothing-like-it-at-all", "attention_backward"},
    {"derive attention extra", "one word too many"},
    {"derive attention -5", "'-5' is no option"},
    {"derive --json=1 attention", "is a switch and has the value '1'"},
    {"derive attention --show picture", "one of diagram, labels, pseudocode, table"},
    {"derive attention --show table", "add --gpu and --shape"},
    {"derive attention --show", "--show: has no value"},
    {"derive attention --svg /nonexistent-folder/x.svg", "--svg"},
    {"derive attention --svg /", "--svg"},
    {"derive attention --kernel attention_sm90", "--shape: is missing"},
    {"select attention --memory 100 --shape q=1,x=1,d=1", "is no option"},
    {"select attention --gpu h200-sxm --shape q=1,x=1,d=1 --emit yaml", "one of json, cpp, triton, fa3, fa4"},
    {"select attention --gpu mi300x --shape q=1,x=1,d=1 --emit fa4", "no mapping of fa4 computes attention there"},
    {"select attention --gpu b200 --shape q=128,x=128,d=64 --kernel triton_sm100 --emit fa4",
     "no FlashAttention-4 form"},
    {"select soft_capped_attention --gpu h100-sxm --shape q=64,x=64,d=64 --kernel flash_attention_3",
     "did you mean 'flash_attention_3_softcap' or 'flash_attention_3_split_softcap'?"},
    {"select attention --gpu h200-sxm --shape q=1,x=1,d=1 --emit json --json", "give one of the two"},
    {"select attention --gpu h200-sxm --shape q=64,x=64,d=64 --top 0", "--top: N is 0"},
    {"select attention --gpu h200-sxm --shape q=64,x=64,d=64 --top -3", "--top: N is -3"},
    {"select attention --gpu h200-sxm --shape q=64,x=64,d=64 --top many", "no whole number"},
    {"select attention --gpu h200-sxm --shape q=64,x=64,d=64 --top 99999999999999999999", "64 bits"},
    {"select attention --gpu h200-sxm --shape q=64,x=64,d=64 --top 1000000", "100000"},
    {"select matmul --gpu h200-sxm --shape a=64,b=64,c=64 --emit fa3", "--emit"},
    {"compare attention --shape q=64,x=64,d=64", "--gpus: is missing"},
    {"compare attention --gpus h200-sxm,,a100-sxm-80 --shape q=64,x=64,d=64", "--gpus"},
    {"compare attention --gpus h200-sxm,h200-sxm --shape q=64,x=64,d=64", "given twice"},
    {"compare attention --gpus h200-sxm,h300-sxm --shape q=64,x=64,d=64", "did you mean"},
    {"compare attention --gpus h200-sxm --shape q=64,x=64,d=64 --dtype bf16,bf17", "bf16"},
    {"compare attention --gpus h200-sxm --shape q=64,x=64,d=64 --dtype bf16,bf16", "given twice"},
    {"compare attention --gpus h200-sxm --shape q=64,x=64", "d"},
};

TEST_CASE("commands and their own options") {
  for (const Bad& bad : commands) {
    CAPTURE(std::string(bad.line));
    check_refused(napkin_forked(bad.line), bad.says);
  }
}

/// Options that query, select and derive share; each is tried with each of them.
constexpr Bad questions[] = {
    {"", "--shape: is missing"},
    {"--shape q=64,x=64,d=64", "--gpu: is missing"},
    {"--gpu h200-sxm", "--shape: is missing"},
    {"--gpu h200-sxm --shape", "--shape: has no value"},
    {"--gpu h200-sxm --shape q=64,x=64", "--shape"},
    {"--gpu h200-sxm --shape q=64,d=64", "--shape"},
    {"--gpu h200-sxm --shape q", "'q' has no '='"},
    {"--gpu h200-sxm --shape q=", "q has no value"},
    {"--gpu h200-sxm --shape =64", "does not begin with a name"},
    {"--gpu h200-sxm --shape 64", "has no '='"},
    {"--gpu h200-sxm --shape ,", "--shape"},
    {"--gpu h200-sxm --shape q=64,,x=64,d=64", "between two commas"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64,", "between two commas"},
    {"--gpu h200-sxm --shape q=0,x=64,d=64", "q is 0"},
    {"--gpu h200-sxm --shape q=-5,x=64,d=64", "q is -5"},
    {"--gpu h200-sxm --shape q=6.5,x=64,d=64", "no whole number"},
    {"--gpu h200-sxm --shape q=0x40,x=64,d=64", "no whole number"},
    {"--gpu h200-sxm --shape q=1e3,x=64,d=64", "no whole number"},
    {"--gpu h200-sxm --shape q=lots,x=64,d=64", "no whole number"},
    {"--gpu h200-sxm --shape q=64k,x=64,d=64", "no whole number"},
    {"--gpu h200-sxm --shape q=+64,x=64,d=64", "no whole number"},
    {"--gpu h200-sxm --shape q=64,x=64,d=NaN", "no whole number"},
    {"--gpu h200-sxm --shape q=64,q=64,x=64,d=64", "q is given twice"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64,z=1", "z"},
    {"--gpu h200-sxm --shape Q=64,x=64,d=64", "Q"},
    {"--gpu h200-sxm --shape q=4611686018427387904,x=64,d=64", "64 bits"},
    {"--gpu h200-sxm --shape q=64,x=4611686018427387904,d=64", "64 bits"},
    {"--gpu h200-sxm --shape q=64,x=64,d=4611686018427387904", "64 bits"},
    {"--gpu h200-sxm --shape b=4611686018427387904,h=4,q=64,x=64,d=64", "64 bits"},
    {"--gpu h200-sxm --shape q=9223372036854775808,x=64,d=64", "64 bits"},
    {"--gpu h200-sxm --shape q=99999999999999999999999999,x=64,d=64", "64 bits"},
    {"--gpu h200-sxm --shape q=4611686018427387904,x=4611686018427387904,d=64 --causal", "64 bits"},
    {"--gpu h200-sxm --gpu h100-sxm --shape q=64,x=64,d=64", "given twice"},
    {"--gpu h20-sxm --shape q=64,x=64,d=64", "did you mean 'h200-sxm'"},
    {"--gpu nothing --shape q=64,x=64,d=64", "h200-sxm"},
    {"--gpu /nonexistent/gpu.yaml --shape q=64,x=64,d=64", "gpu.yaml"},
    {"--gpu / --shape q=64,x=64,d=64", "/"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --dtype bf17", "bf16"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --dtype", "--dtype: has no value"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --kernel attention_sm91", "did you mean 'attention_sm90'"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --kernel matmul_sm90", "computes matmul"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --kernel /nonexistent.yaml", "nonexistent"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --causal --window 1,0", "stands beside --causal"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --window 1", "has 1 number"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --window 1,2,3", "has 3 numbers"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --window -2,0", "L is -2: a whole number from -1"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --window a,0", "no whole number"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --window 9223372036854775808,0", "64 bits"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile", "--tile: has no value"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile q=64,q=128", "given twice"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile q=64,shared.q=128", "given twice"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile stage=2", "did you mean 'stages'"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile attic.q=64", "'attic.q' is no knob"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile shared.y=64", "'shared.y' is no knob"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile q=0", "q"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile q=-64", "q"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile q=many", "q"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile q=4611686018427387904", "q"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --kernel attention_sm90 --tile pingpong=maybe", "on, off"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --tile h=2", "h is always 1"},
    {"--gpu a100-sxm-80 --shape q=64,x=64,d=64 --kernel flash_attention_2 --tile warps=1000000",
     "warps=1000000: more than 16 times what flash_attention_2 is made for: at most 128"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --kernel attention_sm90 --tile cluster=1000000", "at most 32"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --gup h200-sxm", "did you mean '--gpu'"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --chek", "is no option"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 -j", "is no option"},
    {"--gpu= --shape q=64,x=64,d=64", "--gpu"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --causal=false", "--causal: is a switch and has the value 'false'"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --causal=no", "--causal alone, or leave it out"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --causal=0", "--causal alone"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --causal=", "--causal: is a switch and has the value ''"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --causal=true", "--causal alone"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --json=false", "--json alone"},
    {"--gpu h200-sxm --shape q=64,x=64,d=64 --json=", "--json alone"},
};

TEST_CASE("the options of a question, in every command that asks one") {
  for (const char* command : {"query attention ", "select attention ", "derive attention --show labels "}) {
    for (const Bad& bad : questions) {
      const std::string line = std::string(command) + bad.line;
      if (line.starts_with("derive") && std::string(bad.line).empty()) continue;
      CAPTURE(line);
      check_refused(napkin_forked(line), bad.says);
    }
  }
}

TEST_CASE("the same with --json: stdout stays empty") {
  for (const Bad& bad : questions) {
    CAPTURE(std::string(bad.line));
    if (std::string(bad.line).ends_with("--shape") || std::string(bad.line).ends_with("--dtype") ||
        std::string(bad.line).ends_with("--tile"))
      continue;
    check_refused(napkin_forked("query attention --json " + std::string(bad.line)), bad.says);
  }
}

TEST_CASE("the abstract machine") {
  const std::string shape = " --shape q=64,x=64,d=64 ";
  check_refused(napkin("query attention --memory 0" + shape), "VALUES is 0");
  check_refused(napkin("query attention --memory -1" + shape), "VALUES is -1");
  check_refused(napkin("query attention --memory much" + shape), "no whole number");
  check_refused(napkin("query attention --memory 9223372036854775808" + shape), "64 bits");
  check_refused(napkin("query attention --memory" + shape), "--memory: has no value");
  check_refused(napkin("query attention --memory 512 --gpu h200-sxm" + shape), "give one of the two");
  check_refused(napkin("query attention --memory 512 --kernel attention_sm90" + shape), "--kernel");
  check_refused(napkin("query attention --memory 512 --dtype bf16" + shape), "--dtype");
  check_refused(napkin("query attention --memory 512 --tile shared.q=4" + shape), "is no knob");
  check_refused(napkin("query attention --memory 512 --shape q=4611686018427387904,x=4611686018427387904,d=4"),
                "64 bits");
  check_refused(napkin("query matmul --memory 512 --shape a=4611686018427387904,b=3,c=3"), "64 bits");
  check_refused(napkin("query matmul --memory 512 --shape a=3,b=3,c=3 --causal"), "no operation with a mask");
  check_refused(napkin("query matmul --memory 512 --shape a=3,b=3,c=3 --window 1,1"), "no operation with a mask");
}

/// Returns texts that are no diagram, no profile and no mapping.
std::vector<std::pair<std::string, std::string>> broken_texts() {
  std::string deep, binary;
  for (int i = 0; i < 20000; ++i) deep += "[";
  for (int i = 0; i < 4096; ++i) binary += static_cast<char>(i * 37 % 256);
  std::string nested;
  for (int i = 0; i < 500; ++i) nested += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  return {{"empty", ""},
          {"null", "~\n"},
          {"malformed", "algorithm: [attention\naxes: }\n"},
          {"cyclic", "a: &a\n  b: *a\n"},
          {"duplicate", "algorithm: x\nalgorithm: y\n"},
          {"duplicate-gpu", "name: x\nname: y\n"},
          {"unknown", "algorithm: x\nfrobnicate: 3\n"},
          {"brackets", deep},
          {"nested", nested},
          {"binary", binary},
          {"zeros", std::string(1024, '\0')},
          {"scalar", "42\n"},
          {"list", "- 1\n- 2\n"},
          {"two-documents", "a: 1\n---\nb: 2\n"},
          {"tag", "!!python/object:os.system {}\n"},
          {"utf16", std::string("\xff\xfe"
                                "a\0:\0",
                                6)}};
}

TEST_CASE("files that are no YAML of ours") {
  const Folder folder;
  const std::string shape = " --shape q=64,x=64,d=64";
  for (const auto& broken : broken_texts()) {
    const std::string &name = broken.first, &text = broken.second;  // clang 14 captures no structured binding
    CAPTURE(name);
    const std::string path = folder.file(name + ".yaml", text);
    check_refused(napkin_forked("query " + path + " --gpu h200-sxm" + shape), name);
    check_refused(napkin_forked("derive " + path), name);
    check_refused(napkin_forked("select attention --gpu " + path + shape), name);
    check_refused(napkin_forked("query attention --gpu h200-sxm --kernel " + path + shape), name);
    check_refused(napkin_forked("compare attention --gpus h100-sxm," + path + shape), name);
  }
}

TEST_CASE("an error in a file names file, line and column") {
  const Folder folder;
  const std::string path = folder.file("mine.yaml",
                                       "algorithm: mine\naxes: {a: , b: }\ninputs: [\"A[a,b]\"]\noperations:\n"
                                       "  - C[a] = sum over z (A)\noutputs: [C]\n");
  const auto run = napkin("derive " + path);
  check_refused(run, path + ":5:");
  CHECK(run.err.find("z") != std::string::npos);
}

TEST_CASE("a file's name cannot break the message into lines") {
  check_refused(napkin(std::vector<std::string>{"derive", "/nowhere/a\nb\x1b[31m.yaml"}),
                "/nowhere/a\\x0ab\\x1b[31m.yaml");
  check_refused(napkin(std::vector<std::string>{"derive", "/nowhere/\u009b31m\u202e\xff.yaml"}),
                "/nowhere/\\x9b31m\\u202e\\xff.yaml");
  const std::string bell = "a\ab";
  for (const std::vector<std::string>& line : std::initializer_list<std::vector<std::string>>{
           {"query", "attention", "--gpu", bell, "--shape", "q=1,x=1,d=1"},
           {"query", "attention", "--gpu", "h200-sxm", "--shape", "q=1,x=1,d=1", "--kernel", bell},
           {"query", "attention", "--gpu", "h200-sxm", "--shape", "q=1,x=1,d=1", "--dtype", bell},
           {"query", bell, "--gpu", "h200-sxm", "--shape", "q=1,x=1,d=1"},
           {"validate", "--replay", bell}})
    check_refused(napkin(line), "a\\x07b");
}

TEST_CASE("words of bytes") {
  check_refused(
      napkin(std::vector<std::string>{"query", "attention", "--gpu", "h200-sxm", "--shape", "q=\xff\xfe,x=1,d=1"}),
      "\\xff");
  check_refused(napkin(std::vector<std::string>{"\xff\xfe"}), "is no command");
  check_refused(napkin(std::vector<std::string>{""}), "is no command");
  check_refused(napkin(std::vector<std::string>{"query", ""}), "ALGORITHM");
  check_refused(napkin(std::vector<std::string>{"query", "attention", "--shape", std::string(100000, 'q')}), "--shape");
}

TEST_CASE("an output that cannot be written") {
  const Folder folder;
  std::filesystem::create_directory(folder / "folder");
  check_refused(napkin("derive attention --svg " + (folder / "folder")), "--svg");
  check_refused(napkin("derive attention --svg " + (folder / "missing/x.svg")), "--svg");
  check_refused(napkin("derive attention --svg /dev/full"), "--svg");
  std::size_t left = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "."))
    left += entry.path().filename() == "folder" ? 0 : 1;
  CHECK(left == 0);

  if (std::filesystem::exists("/dev/full")) {
    const auto run = cli::run_program({"sh", "-c", std::string("'") + NAPKIN_BINARY + "' list gpus > /dev/full"});
    CHECK(run.code == 2);
    CHECK(run.err.find("standard output") != std::string::npos);
  }
}

}  // namespace

}  // namespace test_cli_bad_input
