// The only user of CLI11: it sorts words into options. Its own checks stay off, so that every message is ours.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "apps/napkin/command.hpp"
#include "model/base/error.hpp"
#include "napkin/ask.hpp"

namespace napkin::internal::cli {
namespace {

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : command.options) names.push_back(option.name);
  return names;
}

/// Throws Error for words that the command does not know; for an option first, since its value may look like an
/// operand.
[[noreturn]] void refuse(const Command& command, const std::vector<std::string>& unknown) {
  const std::string where = "napkin " + command.name;
  for (const std::string& word : unknown) {
    if (word.size() < 2 || word.front() != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    throw Error(where, in_quotes(name) + " is no option", one_of(name, option_names(command)));
  }
  throw Error(where, in_quotes(unknown.front()) + " is one word too many",
              command.operand.name.empty() ? "options only" : "one " + command.operand.name + ", then options");
}

void declare(CLI::App& app, const Command& command, std::vector<CLI::Option*>& declared) {
  const auto keep = [](const CLI::results_t&) { return true; };
  for (const Option& option : command.options) {
    CLI::Option* added = option.value.empty() ? app.add_flag(option.name) : app.add_option(option.name, keep);
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    declared.push_back(added);
  }
  if (command.operand.name.empty()) return;
  declared.push_back(app.add_option(command.operand.name, keep));
  if (command.operand.many) declared.back()->expected(1, 1 << 20)->allow_extra_args();
}

/// Checks that options have values and flags have none: a missing value would swallow the next word, and a flag's value
/// would count as "yes".
void check_values(const Command& command, const std::vector<std::string>& words) {
  const auto named = [&](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    return std::find_if(command.options.begin(), command.options.end(),
                        [&](const Option& o) { return o.name == name; });
  };
  const auto none = command.options.end();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto option = named(words[i]);
    if (option == none) continue;
    const std::size_t equals = words[i].find('=');
    const bool inside = equals != std::string::npos;
    if (option->value.empty() && inside)
      throw Error(option->name, "is a switch and has the value " + in_quotes(words[i].substr(equals + 1)),
                  option->name + " alone, or leave it out");
    if (option->value.empty()) continue;
    const bool next = i + 1 < words.size() && named(words[i + 1]) == none;
    if (inside ? equals + 1 == words[i].size() : !next)
      throw Error(option->name, "has no value", option->value + ": " + option->about);
    i += inside ? 0 : 1;
  }
}

void sort_words(CLI::App& app, const Command& command, std::vector<std::string> words) {
  check_values(command, words);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    throw Error("napkin " + command.name, error.what(), "see napkin " + command.name + " --help");
  }
  if (const auto unknown = app.remaining(); !unknown.empty()) refuse(command, unknown);
}

}  // namespace

Arguments parse(const Command& command, const std::vector<std::string>& words) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<CLI::Option*> declared;
  declare(app, command, declared);
  sort_words(app, command, words);

  Arguments arguments;
  for (std::size_t i = 0; i < command.options.size(); ++i) {
    const Option& option = command.options[i];
    const std::size_t count = declared[i]->count();
    if (count == 0) continue;
    if (option.many) arguments.lists[option.name] = declared[i]->results();
    if (count > 1 && !option.value.empty() && !option.many) throw Error(option.name, "is given twice", "give it once");
    arguments.values[option.name] = option.value.empty() ? "" : declared[i]->results().front();
  }
  if (!command.operand.name.empty() && declared.back()->count() > 0) {
    arguments.operand = declared.back()->results().front();
    arguments.operands = declared.back()->results();
  }
  return arguments;
}

}  // namespace napkin::internal::cli
