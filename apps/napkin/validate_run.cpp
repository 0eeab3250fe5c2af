// napkin validate on the GPU here.

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "apps/library/judge/instrument.hpp"
#include "apps/library/question/here.hpp"
#include "apps/library/question/revision.hpp"
#include "apps/napkin/progress.hpp"
#include "apps/napkin/validate_plan.hpp"
#include "apps/napkin/validate_session.hpp"
#include "apps/report/record/record_text.hpp"
#include "apps/report/text/text.hpp"
#include "kernels/jit/failure.hpp"
#include "kernels/runtime/driver_version.hpp"

namespace napkin::internal::cli {
namespace {

constexpr const char* no_compiler =
    "no NVRTC to compile the kernels with: install the CUDA toolkit (12.4 or later) or set CUDA_HOME to it";

MeasuredBy measured_by(const Runtime& runtime, const std::string& date) {
  MeasuredBy out;
  out.device = runtime.device().properties().name;
  out.driver = driver_version();
  const auto compiler = Compiler::find(process_environment().compiler);
  out.cuda = compiler ? compiler->version() : "";
  out.date = date;
  out.revision = std::string(source_revision());
  return out;
}

/// Returns the variants of a tile to run; none if the kernel has no such tile, which is reported later.
std::vector<LaunchPlan> plans_of(const PlannedQuestion& question, const PlannedTile& tile, const LaunchDevice& device) {
  try {
    const PlacedDiagram placed = question.measurable->placer->place(tile.tile.tile);
    return variants_of(*question.kernel, placed, counts_cycles(tile.tile.role), device);
  } catch (const Error&) {
    return {};
  }
}

std::size_t steps_of(const std::vector<PlannedQuestion>& questions) {
  std::size_t steps = 0;
  for (const PlannedQuestion& question : questions) {
    if (question.finished) continue;
    for (const PlannedTile& tile : question.tiles) steps += tile.recorded ? 0 : 1;
  }
  return steps;
}

/// Returns every variant to run, once.
std::vector<LaunchPlan> variants_of(std::span<const PlannedQuestion> questions, const LaunchDevice& device) {
  std::map<std::string, LaunchPlan> variants;
  for (const PlannedQuestion& question : questions) {
    if (question.finished) continue;
    for (const PlannedTile& tile : question.tiles) {
      if (tile.recorded && tile.tile.role != TileRole::selected) continue;
      for (LaunchPlan& plan : plans_of(question, tile, device)) variants.emplace(plan.expression, std::move(plan));
    }
  }
  std::vector<LaunchPlan> plans;
  for (auto& [expression, plan] : variants) plans.push_back(std::move(plan));
  return plans;
}

/// Compiles all plans by several threads, before anything is timed. Returns the reasons of those that fail.
std::map<std::string, std::string> compile_all(const std::vector<LaunchPlan>& plans, const ValidateOptions& options,
                                               Progress& progress) {
  const Environment environment = process_environment();
  if (environment.cache.empty()) return {};  // no cache to keep them in: each is compiled when it is needed
  progress.begin("compiling", plans.size());
  return compile_ahead(plans, environment, static_cast<int>(options.jobs),
                       [&](std::size_t done) { progress.show(done, ""); });
}

/// Opens the file of rows, and returns the rows that --resume finds in it.
std::vector<ValidationRow> rows_there(const ValidateOptions& options, std::optional<report::RowFile>& file) {
  std::vector<ValidationRow> rows;
  if (!options.out) return rows;
  file.emplace(*options.out, "--out");
  if (!options.resume) return rows;
  for (report::RecordedRow& recorded : report::read_rows(*options.out, "--out")) {
    if (!recorded.row.predicted)
      throw Error(recorded.where, "predicted is missing", "a row as napkin validate --out wrote it");
    rows.push_back(std::move(recorded.row));
  }
  return rows;
}

/// Returns the rows worth showing: a single tile's, or a sweep's pick and best.
std::vector<const ValidationRow*> worth_showing(const std::vector<ValidationRow>& rows) {
  std::map<std::string, const ValidationRow*> best;
  std::vector<const ValidationRow*> shown;
  std::vector<ScoredRow> scored;
  for (const ValidationRow& row : rows) scored.push_back(as_recorded(row));
  const std::vector<ScoredRow> latest = newest(scored);
  for (const ScoredRow& one : latest) {
    const ValidationRow*& fastest = best[question_key(one.row->head)];
    const bool right = is_right(one.row->measured);
    if (fastest == nullptr || (right && one.row->measured.time < fastest->measured.time)) fastest = one.row;
  }
  for (const ScoredRow& one : latest) {
    const bool is_best = best.at(question_key(one.row->head)) == one.row;
    if (!one.row->sweep || one.row->selected || is_best) shown.push_back(one.row);
  }
  return shown;
}

/// Counts rejected tiles by reason, with the first tile of each.
std::string tiles_text(const std::string& kind, const std::vector<RejectedTile>& tiles) {
  std::map<std::string, std::vector<const RejectedTile*>> reasons;
  for (const RejectedTile& one : tiles) reasons[one.why.substr(0, one.why.find('\n'))].push_back(&one);
  std::string text;
  for (const auto& [why, those] : reasons) {
    const std::string more = those.size() > 1 ? fmt::format(" (and {} more)", those.size() - 1) : "";
    text += kind + ": " + those.front()->what + more + ": " + why + "\n";
  }
  return text;
}

Reply reply_of(const Findings& findings, const std::vector<ValidationRow>& before, const ValidateOptions& options,
               const report::Style& style) {
  std::vector<ValidationRow> all = before;
  all.insert(all.end(), findings.rows.begin(), findings.rows.end());
  std::vector<ScoredRow> scored;
  for (const ValidationRow& row : all) {
    scored.push_back(as_recorded(row));
    scored.back().preference = {row.selected ? 0
                                             : 1};  // among equal predictions, the tile that select took comes first
  }
  std::string text = report::table_of(worth_showing(all), style) + "\n" + report::text_of(summarise(scored), style);
  text += tiles_text("rejected", findings.rejected) + tiles_text("WRONG", findings.incorrect);
  for (const std::string& remark : findings.remarks) text += remark + "\n";
  Reply reply;
  reply.code = findings.wrong ? 1 : 0;
  if (!options.json) {
    reply.out = text;
    return reply;
  }
  for (const ValidationRow& row : findings.rows) reply.out += report::line_of(report::json_of(row));
  reply.note = text;
  return reply;
}

}  // namespace

std::unique_ptr<Runtime> runtime_here(std::string& why, Objections objections) {
  try {
    Environment environment = process_environment();
    Device device;
    if (!Compiler::find(environment.compiler)) {
      why = no_compiler;
      return nullptr;
    }
    return std::make_unique<Runtime>(std::move(device), std::move(environment), objections);
  } catch (const CudaFailure& failure) {
    why = std::string("no GPU to validate on: ") + failure.what();
    return nullptr;
  }
}

Reply measure_here(const ValidateOptions& options, const report::Style& style) {
  std::string why;
  const std::unique_ptr<Runtime> runtime = runtime_here(why, Objections::refuse);
  if (runtime == nullptr) return {"", why + "\n", 1};
  const bool named =
      std::all_of(options.asks.begin(), options.asks.end(), [](const Ask& ask) { return !ask.gpu.empty(); });
  const std::string gpu = named ? "" : profile_of(runtime->device().properties());

  std::optional<report::RowFile> file;
  const std::vector<ValidationRow> before = rows_there(options, file);
  const std::string date = now_utc();
  const std::vector<PlannedQuestion> questions = plan_questions(options, gpu, date, before);
  Progress progress;
  MeasurementRun session(*runtime, options, measured_by(*runtime, date), file ? &*file : nullptr, progress);
  session.set_refused(compile_all(variants_of(questions, runtime->device().launch_device()), options, progress));
  progress.begin("measuring", steps_of(questions));
  for (const PlannedQuestion& question : questions) {
    if (!session.run(question)) break;  // the GPU is gone
  }
  progress.clear();
  return reply_of(session.findings(), before, options, style);
}

Reply compile_here(const ValidateOptions& options) {
  if (!Compiler::find(process_environment().compiler)) {
    return {"", std::string(no_compiler) + "\n", 1};
  }
  const std::vector<PlannedQuestion> questions = plan_questions(options, "", now_utc(), {});
  std::map<std::string, LaunchPlan> variants;
  for (const PlannedQuestion& question : questions) {
    if (question.measurable == nullptr) continue;
    for (LaunchPlan& plan : variants_of(std::span(&question, 1), launch_device(*question.measurable->question.machine)))
      variants.emplace(plan.expression, plan);
  }
  std::vector<LaunchPlan> plans;
  for (auto& [expression, plan] : variants) plans.push_back(std::move(plan));
  Progress progress;
  const auto refused = compile_all(plans, options, progress);
  progress.clear();
  std::string text = fmt::format("{} variants compiled, {} refused\n", plans.size() - refused.size(), refused.size());
  for (const auto& [variant, why] : refused) text += fmt::format("refused: {}\n", why.substr(0, why.find('\n')));
  return {text, "", 0};
}

}  // namespace napkin::internal::cli
