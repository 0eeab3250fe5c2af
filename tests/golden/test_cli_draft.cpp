// napkin draft-mapping from the command line: the mapping that it makes from a recorded disassembly can be read and
// answers a question, without any change.
#include <regex>
#include <string>

#include "tests/golden/cli.hpp"

namespace test_cli_draft {

using cli::Folder;
using cli::napkin;

namespace {

std::string recorded(const std::string& name) {
  return std::string(NAPKIN_SOURCE_DIR) + "/tests/unit/sass/recorded/" + name + ".sass";
}

struct Drafted {
  const char *recording, *algorithm, *gpu, *shape, *dtype;
  const char* tile;  ///< tile that the draft states
};

int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a draft of each kernel answers a question as it stands, and says how much of it is open") {
  const std::vector<Drafted> all = {
      {"attention_sm90", "attention", "h200-sxm", "h=16,q=4096,x=4096,d=128", "bf16", "q=128 x=128"},
      {"attention_sm80", "attention", "a100-sxm-80", "h=16,q=4096,x=4096,d=64", "f16", "q=256 x=80"},
      {"matmul_sm90", "matmul", "h200-sxm", "a=4096,b=4096,c=4096", "bf16", "a=128 c=128 b=64"},
      {"triton_attention_sm90", "attention", "h200-sxm", "h=16,q=4096,x=4096,d=64", "bf16", "q=64 x=64"},
      {"triton_attention_sm90_causal", "attention", "h200-sxm", "h=16,q=4096,x=4096,d=64", "bf16", "q=128 x=64"},
      {"triton_attention_sm80", "attention", "a100-sxm-80", "h=16,q=4096,x=4096,d=64", "bf16", "q=64 x=64"},
      {"triton_matmul_sm90", "matmul", "h200-sxm", "a=4096,b=4096,c=4096", "bf16", "a=128 c=128 b=64"},
      {"triton_matmul_sm80", "matmul", "a100-sxm-80", "a=4096,b=4096,c=4096", "bf16", "a=64 c=64 b=64"},
  };
  for (const Drafted& one : all) {
    CAPTURE(one.recording);
    const Folder folder;
    const std::string path = folder / "draft.yaml";
    const auto run = napkin("draft-mapping --algorithm " + std::string(one.algorithm) + " --name draft --disassembly " +
                            recorded(one.recording) + " --out " + path);
    REQUIRE(run.code == 0);
    const std::string text = cli::contents(path);
    CHECK(run.err == std::to_string(count(text, "# TODO")) + " lines say TODO: what the machine code cannot say\n");
    const auto answer = napkin("query " + std::string(one.algorithm) + " --gpu " + one.gpu + " --dtype " + one.dtype +
                               " --shape " + one.shape + " --kernel " + path);
    CAPTURE(answer.err);
    CHECK(answer.code == 0);
    CHECK(std::regex_search(answer.out, std::regex("\nkernel     [^\n]*: " + std::string(one.tile))));
    CHECK(answer.out.find("\ntakes      ") != std::string::npos);
  }
}

TEST_CASE("sizes that the code leaves open are given; several kernels are told apart by name") {
  const Folder folder;
  const auto run =
      napkin("draft-mapping --algorithm matmul --tile a=32,c=128 --disassembly " + recorded("triton_matmul_sm80"));
  CHECK(run.code == 0);
  CHECK(run.out.find("a: {unit: rows, domain: [32]") != std::string::npos);
  CHECK(run.out.find("mapping: matmul\n") != std::string::npos);
  const std::string both = folder.file(
      "both.sass", cli::contents(recorded("triton_matmul_sm80")) + cli::contents(recorded("triton_attention_sm80")));
  cli::check_refused(napkin("draft-mapping --algorithm matmul --disassembly " + both),
                     "2 kernels fit: one of matmul, attention");
  cli::check_refused(napkin("draft-mapping --algorithm matmul --function gemm --disassembly " + both),
                     "one of matmul, attention");
  CHECK(napkin("draft-mapping --algorithm matmul --function mat --disassembly " + both).out == [&] {
    return napkin("draft-mapping --algorithm matmul --disassembly " + recorded("triton_matmul_sm80")).out;
  }());
}

TEST_CASE("what is no kernel of the algorithm, or no kernel at all, is refused in one line") {
  const Folder folder;
  const std::string text = " --disassembly " + recorded("triton_matmul_sm80"), plain = folder.file("a.txt", "hello\n");
  const std::string draft = "draft-mapping --algorithm ";
  cli::check_refused(napkin("draft-mapping" + text), "--algorithm");
  cli::check_refused(napkin(draft + "matmul"), "--cubin");
  cli::check_refused(napkin(draft + "matmul --cubin " + plain + text), "beside --disassembly");
  cli::check_refused(napkin(draft + "nothing" + text));
  cli::check_refused(napkin(draft + "layer_norm" + text), "products in its loop");
  cli::check_refused(napkin(draft + "attention" + text), "multiplies once, and the algorithm twice");
  cli::check_refused(napkin(draft + "matmul --tile q=4" + text), "one of a, b, c");
  cli::check_refused(napkin(draft + "matmul --tile a=0" + text), "--tile");
  cli::check_refused(napkin(draft + "matmul --disassembly " + plain), "holds no instructions");
  cli::check_refused(napkin(draft + "matmul --cubin " + plain), "is no compiled kernel");
  cli::check_refused(napkin(draft + "matmul --cubin " + folder / "none"), "--cubin");
}

}  // namespace test_cli_draft
