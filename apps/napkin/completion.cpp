// napkin completion: what a shell needs to complete napkin's command lines, made from the commands' own descriptions.

#include <fmt/format.h>

#include <algorithm>

#include "apps/library/ask/step_file.hpp"
#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "model/base/dtype.hpp"
#include "model/base/error.hpp"
#include "model/diagram/library.hpp"
#include "model/island/island.hpp"
#include "model/island/split.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/read/load.hpp"

namespace napkin::internal::cli {
namespace {

/// The words that complete an option's value or an operand, by the placeholder in its description.
struct Words {
  std::vector<std::string> names;
  bool files = false;
};

Words words_for(const std::string& value) {
  if (value == "A,B,...") return {builtin_machines(), true};
  if (value == "G") {
    Words words{builtin_machines(), true};
    for (std::string& island : builtin_islands()) words.names.push_back(std::move(island));
    words.names.emplace_back("here");
    return words;
  }
  if (value == "K" || value == "K,...") {
    Words words{builtin_mappings(), true};
    words.names.emplace_back("ideal");
    if (value == "K,...") words.names.emplace_back("all");
    return words;
  }
  if (value == "S") return {builtin_splits(), true};
  if (value == "T") return {dtype_names(), false};
  if (value == "FORM") return {{"json", "cpp", "triton", "fa3", "fa4", "nccl"}, false};
  if (value == "PART") return {{"diagram", "labels", "pseudocode", "table"}, false};
  if (value == "STATE") return {{"warm", "cold"}, false};
  if (value == "ALGORITHM") return {builtin_diagrams(), true};
  if (value == "STEP") return {builtin_steps(), true};
  if (value == "HOW") return {{"stream", "graph"}, false};
  if (value == "WHAT") return {{"gpus", "algorithms", "kernels", "steps"}, false};
  if (value == "SHELL") return {{"bash", "zsh", "fish"}, false};
  const bool file = value.starts_with("FILE") || value == "DIR" || value == "FOLDER";
  return {{}, file};
}

std::string options_of(const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : command.options) names.push_back(option.name);
  names.emplace_back("--help");
  return joined(names, " ");
}

/// Writes bash's candidates: "compgen -W 'a b' ... -f".
std::string candidates(const Words& words) {
  std::string text = "compgen";
  if (words.files) text += " -f";
  return text + " -W '" + joined(words.names, " ") + "' -- \"$current\"";
}

std::string bash() {
  std::vector<std::string> names;
  std::string cases;
  for (const Command& command : commands()) {
    names.push_back(command.name);
    cases += fmt::format("    {})\n      case \"$before\" in\n", command.name);
    for (const Option& option : command.options) {
      if (option.value.empty()) continue;
      cases +=
          fmt::format("        {}) COMPREPLY=($({})); return ;;\n", option.name, candidates(words_for(option.value)));
    }
    cases += fmt::format(
        "      esac\n      case \"$current\" in\n        -*) COMPREPLY=($(compgen -W '{}' -- \"$current\")) ;;\n"
        "        *) COMPREPLY=($({})) ;;\n      esac ;;\n",
        options_of(command), candidates(words_for(command.operand.name)));
  }
  return fmt::format(
      "_napkin() {{\n  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" before=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  COMPREPLY=()\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W '{} --help --version' -- "
      "\"$current\"))\n    return\n  fi\n  case \"${{COMP_WORDS[1]}}\" in\n{}  esac\n}}\ncomplete -F _napkin napkin\n",
      joined(names, " "), cases);
}

/// Quotes a text for fish in single quotes.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fish() {
  std::string text = "complete -c napkin -f\n";
  for (const Command& command : commands()) {
    text +=
        fmt::format("complete -c napkin -n __fish_use_subcommand -a {} -d {}\n", command.name, quoted(command.about));
    const std::string here = fmt::format("complete -c napkin -n '__fish_seen_subcommand_from {}'", command.name);
    const auto with = [](const Words& words) {
      return (words.files ? " -F" : "") +
             (words.names.empty() ? std::string() : " -a " + quoted(joined(words.names, " ")));
    };
    if (!command.operand.name.empty()) text += here + with(words_for(command.operand.name)) + "\n";
    for (const Option& option : command.options) {
      text += here + " -l " + option.name.substr(2) +
              (option.value.empty() ? "" : " -r" + with(words_for(option.value))) + " -d " + quoted(option.about) +
              "\n";
    }
  }
  return text;
}

Reply run_completion(const Arguments& arguments, const report::Style&) {
  const std::vector<std::string> shells = words_for("SHELL").names;
  const std::string shell = arguments.need_operand("SHELL", "one of " + joined(shells));
  if (shell == "bash") return {bash(), "", 0};
  if (shell == "zsh")  // zsh runs bash's form by its own bridge
    return {"#compdef napkin\nautoload -U +X bashcompinit && bashcompinit\n" + bash(), "", 0};
  if (shell == "fish") return {fish(), "", 0};
  throw Error("SHELL", in_quotes(shell) + " is no shell that is known", one_of(shell, shells));
}

}  // namespace

Command completion_command() {
  return {"completion",
          "what a shell reads to complete command lines: source <(napkin completion bash)",
          {"SHELL", "", "bash, zsh or fish"},
          {},
          run_completion};
}

}  // namespace napkin::internal::cli
