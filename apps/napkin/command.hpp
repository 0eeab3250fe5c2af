#pragma once
// A Command is a command of the program, such as `napkin select`: its name, its options, and a function from arguments
// to a reply. A new command is one file that defines a Command, and its line in commands.cpp.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/report/table.hpp"

namespace napkin::internal::cli {

struct Option {
  std::string name;   ///< "--gpu"
  std::string value;  ///< placeholder of its value, "G"; empty: a flag
  std::string about;
  bool many = false;  ///< true if it may be given again, or, of an operand, is several words
};

/// The words of one call, by option. Values are texts: each command parses its own.
class Arguments {
 public:
  std::optional<std::string> operand;
  std::map<std::string, std::string, std::less<>> values;              ///< values by option; "" for flags
  std::map<std::string, std::vector<std::string>, std::less<>> lists;  ///< values of options that may be repeated
  std::vector<std::string> operands;                                   ///< operands in order

  [[nodiscard]] bool has(std::string_view option) const { return values.find(option) != values.end(); }
  [[nodiscard]] std::optional<std::string> find(std::string_view option) const;
  /// Returns the operand or an option's value. Throws Error, with `right`, if it is missing.
  [[nodiscard]] std::string need_operand(const std::string& name, const std::string& right) const;
  [[nodiscard]] std::string need(std::string_view option, const std::string& right) const;
};

/// The result of the program: stdout, stderr and the exit code.
struct Reply {
  std::string out;
  std::string note;  ///< text for stderr
  int code = 0;      ///< exit code: 0 done, 1 the answer is no
};

struct Command {
  std::string name, about;
  Option operand;  ///< operand's name and description; no name: the command takes none
  std::vector<Option> options;
  Reply (*run)(const Arguments& arguments, const report::Style& style);
};

/// Lists all commands, in the order of the help.
[[nodiscard]] std::vector<Command> commands();

/// Parses the words after the command's name. Throws Error for options that are unknown, repeated or lack a value.
[[nodiscard]] Arguments parse(const Command& command, const std::vector<std::string>& words);

/// Writes the help of the program, or of a command.
[[nodiscard]] std::string help();
[[nodiscard]] std::string help(const Command& command);

}  // namespace napkin::internal::cli
