// Shells complete the words of the help; the schema of answers rejects JSON that is no answer.

#include <algorithm>
#include <regex>

#include "model/base/dtype.hpp"
#include "tests/golden/cli.hpp"
#include "tests/golden/schema.hpp"

namespace test_cli_completion {

namespace {

using cli::check_refused;
using cli::Folder;
using cli::Json;
using cli::napkin;

/// Returns bash's completions of the last of these words.
std::vector<std::string> offered(const std::string& script, const std::vector<std::string>& words) {
  std::string program = "source '" + script + "'; COMP_WORDS=(";
  for (const std::string& word : words) program += "'" + word + "' ";
  program += "); COMP_CWORD=" + std::to_string(words.size() - 1) + "; _napkin; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const auto run = cli::run_program({"bash", "-c", program});
  CAPTURE(run.err);
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  std::vector<std::string> out;
  for (std::size_t at = 0; at < run.out.size();) {
    const std::size_t end = run.out.find('\n', at);
    out.push_back(run.out.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("bash completes every command and every option that the help names, and their values") {
  const Folder folder;
  const std::string script = folder.file("napkin.bash", napkin("completion bash").out);
  const std::string help = napkin("--help").out;
  const std::regex listed("\n  ([a-z]+)  ");
  int commands = 0;
  for (std::sregex_iterator at(help.begin(), help.end(), listed), end; at != end; ++at, ++commands) {
    const std::string command = (*at)[1].str();
    CAPTURE(command);
    CHECK(has(offered(script, {"napkin", command.substr(0, 2)}), command));
    const std::string own = napkin(command + " --help").out;
    const std::vector<std::string> options = offered(script, {"napkin", command, "--"});
    const std::regex option("\n  (--[a-z0-9-]+)");
    for (std::sregex_iterator each(own.begin(), own.end(), option); each != end; ++each) {
      CAPTURE((*each)[1].str());
      CHECK(has(options, (*each)[1].str()));
    }
  }
  CHECK(commands >= 10);
  CHECK(has(offered(script, {"napkin", "select", "att"}), "attention"));
  CHECK(has(offered(script, {"napkin", "select", "attention", "--gpu", "h200"}), "h200-sxm"));
  CHECK(has(offered(script, {"napkin", "query", "attention", "--kernel", "attention_sm"}), "attention_sm90"));
  CHECK(offered(script, {"napkin", "select", "attention", "--emit", "t"}) == std::vector<std::string>{"triton"});
  CHECK(has(offered(script, {"napkin", "list", ""}), "kernels"));
  CHECK(has(offered(script, {"napkin", "select", "attention", "--gpu", "hgx"}), "hgx-h100-8"));
  CHECK(offered(script, {"napkin", "select", "attention", "--gpu", "her"}) == std::vector<std::string>{"here"});
  for (const std::string& type : ::napkin::dtype_names())
    CHECK(has(offered(script, {"napkin", "query", "attention", "--dtype", type}), type));
}

TEST_CASE("zsh and fish get theirs; another shell is refused") {
  CHECK(napkin("completion zsh").out.starts_with("#compdef napkin\n"));
  const std::string fish = napkin("completion fish").out;
  CHECK(
      fish.find(
          "complete -c napkin -n '__fish_seen_subcommand_from select' -l emit -r -a 'json cpp triton fa3 fa4 nccl'") !=
      std::string::npos);
  check_refused(napkin("completion"), "one of bash, zsh, fish");
  check_refused(napkin("completion bsh"), "did you mean 'bash'");
}

TEST_CASE("the schema takes answers and refuses what is none") {
  const Json json = cli::parse(napkin("query attention --gpu h200-sxm --shape h=4,q=512,x=512,d=64 --json").out);
  CHECK(cli::schema_error(json).empty());
  Json broken = json;
  broken.erase("work");
  CHECK(cli::schema_error(broken) == ": has no 'work'");
  broken = json;
  broken["predicted"]["time"] = nullptr;
  CHECK(cli::schema_error(broken).starts_with("predicted.time: null is no"));
  broken = json;
  broken["levels"][0]["load"] = -1;
  CHECK(cli::schema_error(broken) == "levels[0].load: -1 is below 0");
  broken = json;
  broken["surprise"] = 1;
  CHECK(cli::schema_error(broken) == "surprise: is no key of the schema");
}

TEST_CASE("exit codes: 0 done, 1 the answer is no, 2 bad input") {
  const std::string fits = " --shape h=4,q=512,x=512,d=64";
  for (const std::string command :
       {"query attention --gpu h200-sxm", "select attention --gpu h200-sxm", "compare attention --gpus h200-sxm"}) {
    CAPTURE(command);
    CHECK(napkin(command + fits).code == 0);
    CHECK(napkin(command + " --shape q=512").code == 2);
    CHECK(napkin(command + " --shape q=512,x=64,d=64 --dtype nothing").code == 2);
    // Arrays larger than any device memory fit no GPU.
    CHECK(napkin(command + " --shape h=4,q=512,x=4000000000,d=64").code == 1);
  }
}

}  // namespace test_cli_completion
