// napkin validate --dump: the files of a kernel's debug variant have the names and shapes of derive --dump's. The GPU
// is tests/golden/fake_cuda, which computes nothing: tests/kernel checks the numbers.

#include <filesystem>
#include <set>

#include "tests/golden/cli.hpp"
#include "tests/golden/fake_cuda.hpp"

namespace test_validate_dump {

namespace {

using cli::check_refused;
using cli::fake;
using cli::Folder;
using cli::words_of;

/// Returns the names of files, each with its shape.
std::set<std::string> files_in(const std::string& folder, const std::string& type) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string header = cli::contents(entry.path().string()).substr(10, 118);
    CHECK(header.find("'descr': '<" + type + "'") != std::string::npos);
    const auto at = header.find("'shape': (");
    out.insert(entry.path().filename().string() + " " + header.substr(at, header.find(')') - at));
  }
  return out;
}

const std::string sm90 =
    " --gpu h200-sxm --kernel attention_sm90 --shape b=2,h=2,g=3,q=100,x=150,d=64 --tile warpgroups=2,g=2,q=64,x=64 ";
const std::string sm80 =
    " --gpu h200-sxm --kernel attention_sm80 --shape h=2,g=3,q=100,x=150,d=64 --tile q=64,x=32,warps=4 ";

TEST_CASE("the files of validate --dump are those of derive --dump") {
  for (const std::string& question : {sm90, sm80}) {
    for (const std::string at : {"", "--at mu "}) {
      const Folder folder;
      const auto ours = cli::napkin(words_of("derive attention" + question + at + "--dump " + (folder / "derived")));
      REQUIRE_MESSAGE(ours.code == 0, ours.err);
      const auto run = fake().napkin("validate attention" + question + at + "--dump " + (folder / "dumped"));
      REQUIRE_MESSAGE(run.code == 0, run.err);
      const auto files = files_in(folder / "dumped", "f4");
      auto derived = files_in(folder / "derived", "f8");
      for (const char* input : {"Q.", "K.", "V."})
        std::erase_if(derived, [&](const std::string& file) { return file.starts_with(input); });
      CHECK(files == derived);
      CHECK(run.out.starts_with(std::to_string(files.size()) + " files in " + (folder / "dumped") + ": attention_sm"));
    }
  }
}

TEST_CASE("derive --dump walks as the kernel does: the last chunk's running sum is its own") {
  const Folder folder;
  const auto delta = [&](const std::string& kernel, const std::string& when) {
    const std::string to = folder / kernel;
    const auto run = cli::napkin(words_of("derive attention --gpu h200-sxm --kernel " + kernel +
                                          " --shape q=64,x=100,d=64 --tile q=64,x=64 --at delta --dump " + to));
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const std::string bytes = cli::contents(to + "/delta.g0_0_0_0." + when + ".npy");
    return bytes.substr(bytes.size() - 64 * sizeof(double));
  };
  const std::string nothing(64 * sizeof(double), '\0');  // values from before the first chunk are not compared
  CHECK(delta("attention_sm90", "i1") == nothing);
  CHECK(delta("attention_sm90", "i0") != nothing);
  CHECK(delta("triton", "i0") == nothing);
  CHECK(delta("triton", "i1") != nothing);
}

TEST_CASE("a kernel that writes nothing: exit 1") {
  const Folder folder;
  const auto run = fake().napkin("validate attention" + sm90 + "--dump " + (folder / "x"), {"FAKE_CUDA_WRONG=1"});
  CHECK(run.code == 1);
  CHECK(run.out.empty());
  CHECK(run.err == "the kernel wrote nothing of tile 0\n");
}

TEST_CASE("no GPU: the usual sentence, and no folder") {
  const Folder folder;
  const auto run =
      cli::napkin(words_of("validate attention" + sm90 + "--dump " + (folder / "x")), {"CUDA_VISIBLE_DEVICES="});
  CHECK(run.code == 1);
  CHECK(run.err.starts_with("no GPU to validate on: "));
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
}

TEST_CASE("what cannot be dumped is said in a line, exit 2") {
  const Folder folder;
  const std::string dump = "--dump " + (folder / "x") + " ";
  for (const auto& [more, says] : std::vector<std::pair<std::string, std::string>>{
           {dump + "--at X", "--at: 'X' is no intermediate of attention"},
           {dump + "--at Q", "one of S, P, O, mu, delta, z"},
           {"--at S", "--at: has no meaning without --dump"},
           {"--dump", "--dump: has no value"},
           {dump + "--sweep", "--sweep: stands beside --dump"},
           {dump + "--counters", "--counters: stands beside --dump"},
           {dump + "--json", "--json: stands beside --dump"},
           {dump + "--out " + (folder / "rows"), "--out: stands beside --dump"},
           {dump + "--shape q=1,x=1,d=64", "--shape: is given 2 times beside --dump"},
           {dump + "--replay " + folder.file("rows.jsonl", ""), "stands beside --replay"},
       }) {
    const std::string tried = more;
    CAPTURE(tried);
    check_refused(cli::napkin(words_of("validate attention" + sm90 + more)), says);
  }
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
  check_refused(fake().napkin("validate attention" + sm90 + "--dump " + folder.file("file", "")), "cannot be made");
  check_refused(fake().napkin("validate attention" + sm90 + "--dump /proc/napkin"), "cannot be made");
  check_refused(fake().napkin("validate matmul --shape a=300,b=64,c=136 " + dump), "matmul_sm90 has no debug variant");
  check_refused(fake().napkin("validate attention --kernel attention_sm90 --shape h=64,q=8192,x=8192,d=128 " + dump),
                "a smaller shape");
}

}  // namespace

}  // namespace test_validate_dump
