#include "apps/napkin/command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/base/error.hpp"

namespace napkin::internal::cli {

std::optional<std::string> Arguments::find(std::string_view option) const {
  const auto at = values.find(option);
  if (at == values.end()) return std::nullopt;
  return at->second;
}

std::string Arguments::need_operand(const std::string& name, const std::string& right) const {
  if (!operand || operand->empty()) throw Error(name, "is missing", right);
  return *operand;
}

std::string Arguments::need(std::string_view option, const std::string& right) const {
  const std::optional<std::string> value = find(option);
  if (!value) throw Error(std::string(option), "is missing", right);
  if (value->empty()) throw Error(std::string(option), "is empty", right);
  return *value;
}

std::string help() {
  std::string text =
      "napkin: what an attention or matmul algorithm costs on a GPU, and which kernel configuration to use\n\n"
      "usage: napkin COMMAND ...\n\n";
  std::size_t width = 0;
  for (const Command& command : commands()) width = std::max(width, command.name.size());
  for (const Command& command : commands()) text += fmt::format("  {:<{}}  {}\n", command.name, width, command.about);
  text +=
      "\nnapkin COMMAND --help says more. For example:\n\n"
      "  napkin select attention --gpu h200-sxm --shape h=16,q=8192,x=8192,d=128 --dtype bf16\n";
  return text;
}

std::string help(const Command& command) {
  std::string usage = "usage: napkin " + command.name;
  if (!command.operand.name.empty()) usage += " " + command.operand.name;
  std::string text = usage + " [options]\n\n" + command.about + "\n\n";
  std::size_t width = command.operand.name.size();
  for (const Option& option : command.options) width = std::max(width, option.name.size() + option.value.size() + 1);
  const auto line = [&](const std::string& name, const std::string& about) {
    return fmt::format("  {:<{}}  {}\n", name, width, report::wrapped(about, 96 - width, std::string(width + 4, ' ')));
  };
  if (!command.operand.name.empty()) text += line(command.operand.name, command.operand.about);
  for (const Option& option : command.options) {
    text += line(option.value.empty() ? option.name : option.name + " " + option.value, option.about);
  }
  return text;
}

}  // namespace napkin::internal::cli
