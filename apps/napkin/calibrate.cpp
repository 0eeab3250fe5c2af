// napkin calibrate: measures the GPU here with micro-kernels and writes its profile.

#include "apps/napkin/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include "apps/library/question/here.hpp"
#include "apps/napkin/ask.hpp"
#include "apps/napkin/commands.hpp"
#include "apps/report/file.hpp"
#include "model/base/yaml.hpp"
#include "model/machine/load.hpp"
#include "model/machine/write.hpp"
#include "napkin/ask.hpp"

namespace napkin::internal::cli {
namespace {

std::vector<const Experiment*> experiments_of(const Arguments& arguments) {
  std::vector<const Experiment*> out;
  std::vector<std::string> names;
  for (const Experiment& each : experiments()) {
    names.emplace_back(each.name);
    if (each.of_card == arguments.has("--power")) out.push_back(&each);
  }
  if (!arguments.has("--only")) return out;
  if (arguments.has("--power")) throw Error("--only", "stands beside --power", "one of them");
  out.clear();
  const std::string text = arguments.need("--only", "names of experiments (napkin calibrate --list)");
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const std::string name = text.substr(from, end - from);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw Error("--only", in_quotes(name) + " is no experiment", one_of(name, names));
    const Experiment* experiment = &experiments()[static_cast<std::size_t>(found - names.begin())];
    if (std::find(out.begin(), out.end(), experiment) == out.end()) out.push_back(experiment);
    from = end + 1;
  }
  return out;
}

CalibrateOptions calibrate_options_of(const Arguments& arguments) {
  CalibrateOptions out;
  const std::string gpu = arguments.find("--gpu").value_or("here");
  if (gpu != "here") out.gpu = arguments.need("--gpu", "a profile (napkin list gpus)");
  out.experiments = experiments_of(arguments);
  out.json = arguments.has("--json");
  out.power = arguments.has("--power");
  if (arguments.has("--out")) out.out = arguments.need("--out", "the profile to write");
  if (arguments.has("--record")) out.record = arguments.need("--record", "a file for the raw readings");
  // An error is reported before minutes of measuring, and before one of two files is written.
  if (!out.out.empty()) report::check_writable(out.out, "--out");
  if (out.record) report::check_writable(*out.record, "--record");
  const bool to_card = out.power && !arguments.has("--replay");  // true if the card's own file is written
  if (arguments.has("--island") && !out.out.empty())
    throw Error("--out", "stands beside --island", "--record FILE.jsonl: the readings say what a profile may have");
  if (arguments.has("--island") && out.gpu.empty())
    throw Error("--gpu", "is missing", "beside --island: an island's profile, such as hgx-h200-8");
  if (out.out.empty() && !out.record && !to_card && !arguments.has("--island"))
    throw Error("--out", "is missing", "the profile to write, such as my-gpu.yaml");
  const auto threads = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  out.jobs = arguments.has("--jobs") ? parse_number(*arguments.find("--jobs"), 1, "--jobs", "N") : threads;
  return out;
}

Reply list(bool json, const report::Style& style) {
  report::Json all = report::Json::array();
  report::Table table({"<name", "<what it measures"});
  for (const Experiment& each : experiments()) {
    all.push_back({{"name", each.name}, {"about", each.about}});
    table.add({std::string(each.name), std::string(each.about)});
  }
  return {json ? report::line_of({{"command", "calibrate"}, {"experiments", all}}) : table.text(style), "", 0};
}

/// Checks that all readings are of one device, and that it is of the base's product.
void check_product(const Machine& base, const std::vector<report::ReadingRow>& rows) {
  const std::string& device = rows.front().from.device;
  for (const report::ReadingRow& row : rows) {
    if (row.from.device != device)
      throw Error("--replay", "readings of " + row.from.device + " among readings of " + device, "those of one GPU");
    const bool counts_nodes = row.reading.experiment == "device_query" && row.reading.quantity == "sms";
    const double nodes = static_cast<double>(base.compute_nodes().get());
    if (counts_nodes && !row.reading.values.empty() && row.reading.values.front() != nodes)
      throw Error("--gpu",
                  fmt::format("{} has {:.0f} nodes, the readings' GPU {:.0f}: another product", base.name, nodes,
                              row.reading.values.front()),
                  "the profile of " + device);
  }
  if (!may_be(base, device))
    throw Error("--gpu",
                "the readings are of " + device + ", the profile is of " + base.name + " (" + base.architecture +
                    "): another product",
                "the profile of " + device);
}

/// The first line of an architecture that may be written again.
constexpr std::string_view made_here = "# Written by napkin calibrate.\n";

/// Writes the product's file with the numbers of one card; the architecture stays the base's.
void write_card(const Machine& machine, const std::string& out) {
  const std::string text = profile_files(machine).product;
  static_cast<void>(parse_machine(text, out));  // checks that the profile can be read again
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::path(out).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  report::write_file(out, text, "--out");
}

/// Writes the product's file, and its architecture's in the folder architectures beside it, where it is looked for
/// first.
void write_files(const Machine& machine, const std::string& out) {
  const ProfileFiles files = profile_files(machine);
  const std::filesystem::path folder = std::filesystem::path(out).parent_path() / "architectures";
  const std::string beside = (folder / (machine.architecture + ".yaml")).string();
  if (std::filesystem::exists(beside) && !yaml::read_file(beside).starts_with(made_here))
    throw Error("--out", beside + " is there already, and not by napkin calibrate", "a file in another folder");
  std::error_code failed;
  std::filesystem::create_directory(folder, failed);  // folder's parent exists already
  if (failed) throw Error("--out", folder.string() + ": " + failed.message(), "a folder that can be written");
  report::write_file(beside, std::string(made_here) + files.architecture, "--out");
  static_cast<void>(parse_machine(files.product, out));  // checks that the profile can be read again
  report::write_file(out, files.product, "--out");
}

/// Fits the rows, writes the profile, and says what was found.
Reply reply_of(const std::vector<report::ReadingRow>& rows, const std::string& gpu, const CalibrateOptions& options,
               const report::Style& style) {
  Readings readings;
  for (const report::ReadingRow& row : rows) readings.push_back(row.reading);
  const MeasuredBy& from = rows.front().from;
  const Stamp stamp = {"napkin " NAPKIN_VERSION " calibrate", from.date.substr(0, 10),
                       from.driver.empty() ? "unknown" : from.driver};
  const Machine base = load_machine(gpu, "--gpu");
  check_product(base, rows);
  const Calibration calibration = calibrate(base, readings, stamp);
  if (!options.out.empty()) (options.power ? write_card : write_files)(calibration.machine, options.out);
  if (!options.json) return {report::table_of(calibration, style), "", 0};
  report::Json json = {
      {"command", "calibrate"}, {"gpu", gpu}, {"device", from.device}, {"driver", from.driver}, {"date", from.date}};
  json.update(report::json_of(calibration));
  return {report::line_of(json), "", 0};
}

Reply replay_readings(const Arguments& arguments, CalibrateOptions options, const report::Style& style) {
  if (options.gpu.empty())
    throw Error("--gpu", "is missing", "beside --replay, which looks at no GPU: a profile, such as h200-sxm");
  if (options.record)
    throw Error("--record", "stands beside --replay", "leave it out: the readings are recorded already");
  std::vector<report::ReadingRow> rows;
  for (const std::string& file : arguments.lists.at("--replay")) {
    for (report::ReadingRow& row : report::parse_readings(yaml::read_file(file), file)) {
      const bool wanted = std::any_of(options.experiments.begin(), options.experiments.end(),
                                      [&](const Experiment* e) { return e->name == row.reading.experiment; });
      if (wanted) rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) throw Error("--replay", "no readings", "a file that napkin calibrate --record wrote");
  return reply_of(rows, options.gpu, options, style);
}

Reply run_calibrate(const Arguments& arguments, const report::Style& style) {
  if (arguments.has("--list")) return list(arguments.has("--json"), style);
  const CalibrateOptions options = calibrate_options_of(arguments);
  if (arguments.has("--island")) return calibrate_island(options, style);
  if (!options.gpu.empty())
    static_cast<void>(load_machine(options.gpu, "--gpu"));  // an error is reported before minutes of measuring
  if (arguments.has("--replay")) return replay_readings(arguments, options, style);
  const CalibrationRun run = run_experiments(options);
  if (!run.failed.empty()) return {"", "no profile written: " + run.failed + "\n", 1};
  CalibrateOptions written = options;
  if (options.power && options.out.empty()) written.out = run.card;
  Reply reply = reply_of(run.rows, options.gpu.empty() ? run.base : options.gpu, written, style);
  if (options.power)
    reply.note = written.out + " is written" + (written.out == run.card ? "; --gpu here takes it\n" : "\n");
  return reply;
}

}  // namespace

Command calibrate_command() {
  Option gpu = gpu_option();
  gpu.about = "the profile to start from: what is not measured stays as it says; default: that of the GPU here";
  return {
      "calibrate",
      "measures the GPU here with small kernels and writes its profile",
      {},
      {gpu,
       {"--out", "PROFILE.yaml", "the product's file to write; its architecture's goes into architectures/ beside it"},
       {"--power", "",
        "measure only how this card's energies and clocks differ from its product's, in eleven seconds; without --out "
        "they go to a file that --gpu here then uses"},
       {"--island", "", "measure the calls between the GPUs here, which are the island that --gpu names"},
       {"--only", "NAME,...", "only these experiments; the other numbers stay the base's"},
       {"--list", "", "list the experiments, and do nothing else"},
       {"--record", "FILE.jsonl", "also write the raw readings, one on each line"},
       {"--replay", "FILE...", "fit recorded readings anew, without a GPU", true},
       {"--jobs", "N", "threads that compile (default: all cores)"},
       json_option()},
      run_calibrate};
}

}  // namespace napkin::internal::cli
