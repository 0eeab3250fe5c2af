// napkin report: one page that answers a question and shows why; or one that sets recorded rows beside predictions.

#include "apps/report/html/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/napkin/pictures.hpp"
#include "apps/napkin/replay.hpp"
#include "apps/report/file.hpp"
#include "apps/report/record/published.hpp"
#include "apps/report/units.hpp"
#include "model/base/error.hpp"

namespace napkin::internal::cli {
namespace {

/// Quotes a word for a shell.
std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("-_=,./:+*").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Rebuilds the command line of these arguments, options in the order of the help.
std::string command_line(const Command& command, const Arguments& arguments) {
  std::string out = "napkin " + command.name;
  if (arguments.operand && !arguments.has("--replay")) out += " " + shell_word(*arguments.operand);
  for (const Option& option : command.options) {
    const auto value = arguments.find(option.name);
    if (!value || option.name == "--json") continue;
    if (option.many) {
      for (const std::string& one : arguments.lists.at(option.name)) out += " " + option.name + " " + shell_word(one);
      for (const std::string& one : arguments.operands) out += " " + shell_word(one);
      continue;
    }
    out += " " + option.name + (option.value.empty() ? "" : " " + shell_word(*value));
  }
  return out;
}

std::string wrote(const std::string& path, const std::string& page) {
  return fmt::format("{}: {}\n", path, report::transfer_text(static_cast<std::int64_t>(page.size())));
}

Reply report_replay(const Arguments& arguments, const std::string& out) {
  for (const auto& [option, value] : arguments.values) {
    if (option != "--replay" && option != "--out" && option != "--json")
      throw Error(option, "stands beside --replay", "leave it out: the rows say what was measured");
  }
  std::vector<std::string> files = arguments.lists.at("--replay");
  files.insert(files.end(), arguments.operands.begin(), arguments.operands.end());
  const ReplayedFiles replayed = replay_files(files);
  const report::ReplayReport page{replayed.scored, replayed.summary, replayed.unfitted, files};
  const std::string html = report::html_of(page, command_line(report_command(), arguments));
  report::write_file(out, html, "--out");
  if (!arguments.has("--json")) return {wrote(out, html), "", 0};
  report::Json json = {{"command", "report"}, {"out", out}};
  return {report::line_of(json), "", 0};
}

Reply run_report(const Arguments& arguments, const report::Style&) {
  if (arguments.has("--replay"))
    return report_replay(arguments, arguments.need("--out", "a path for the page, such as report.html"));
  static_cast<void>(
      arguments.need_operand("ALGORITHM", "a built-in name (napkin list algorithms) or a path to a YAML file"));
  if (arguments.operands.size() > 1)
    throw Error("ALGORITHM", in_quotes(arguments.operands[1]) + " is one word too many", "one ALGORITHM, then options");
  static_cast<void>(arguments.need("--gpu", "a profile (napkin list gpus)"));
  const Ask ask = ask_of(arguments);
  const std::string out = arguments.need("--out", "a path for the page, such as report.html");
  const auto rows = report::parse_published(published_rows_text(), std::string(published_rows_path));
  const ReportAnswer answer = report_answer(default_session(), ask, rows);
  const report::ColumnDiagram columns =
      answer.query.launches.empty() ? columns_of(ask) : report::columns_of(answer.streamed);
  const std::string html = report::html_of(answer, columns, command_line(report_command(), arguments));
  report::write_file(out, html, "--out");
  const int code = answer.query.legal ? 0 : 1;
  if (!arguments.has("--json")) return {wrote(out, html), "", code};
  report::Json json = report::json_of(answer);
  json["out"] = out;
  return {report::line_of(json), "", code};
}

}  // namespace

Command report_command() {
  Option algorithm = algorithm_operand();
  algorithm.many = true;
  return {"report", "one HTML page that answers a question and shows why, or that judges recorded rows", algorithm,
          options({{gpu_option()},
                   problem_options(),
                   condition_options(),
                   {lengths_option(),
                    kernel_option(),
                    tile_option(),
                    {"--replay", "FILE...", "instead of a question: recorded rows, predicted anew", true},
                    {"--out", "FILE.html", "where the page goes: one file that needs no network and no script"},
                    json_option()}}),
          run_report};
}

}  // namespace napkin::internal::cli
