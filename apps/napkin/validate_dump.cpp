// napkin validate --dump: a kernel's intermediates, to lay beside those of napkin derive --dump.

#include <algorithm>

#include "apps/library/question/here.hpp"
#include "apps/napkin/dump.hpp"
#include "apps/napkin/validate_plan.hpp"
#include "apps/napkin/watchdog.hpp"
#include "apps/report/text/text.hpp"
#include "kernels/jit/failure.hpp"
#include "model/interpret/dump.hpp"

namespace napkin::internal::cli {
namespace {

/// Lists the kernels that have a debug variant.
std::vector<std::string> kernels_that_dump() {
  std::vector<std::string> names = bundled_names();
  std::erase_if(names, [](const std::string& name) { return find_bundled(name)->dump == nullptr; });
  return names;
}

}  // namespace

Reply dump_here(const ValidateOptions& options) {
  std::string why;
  // What the compiler objects to does not matter here: the debug variant spills.
  const std::unique_ptr<Runtime> runtime = runtime_here(why, Objections::report);
  if (runtime == nullptr) return {"", why + "\n", 1};
  const bool named = !options.asks.front().gpu.empty();
  const auto questions =
      plan_questions(options, named ? "" : profile_of(runtime->device().properties()), now_utc(), {});
  const PlannedQuestion& question = questions.front();
  if (!question.nothing.empty()) return {"", question.nothing + "\n", 1};
  const Measurable& m = *question.measurable;
  if (question.kernel->dump == nullptr)
    throw Error("--dump", question.kernel->mapping + " has no debug variant", "one of " + joined(kernels_that_dump()));
  const Tile& tile = question.tiles.front().tile.tile;
  const std::string name = question.kernel->mapping + " " + report::text_of(question.head(tile).tile);
  make_dump_folder(options.dump);
  std::size_t files = 0;
  DumpOptions dump{options.observed, [&, save = dump_into(options.dump, NpyType::f4)](const Observation& seen) {
                     save(seen);
                     ++files;
                   }};
  try {
    Watchdog watchdog(std::chrono::seconds(40), "", "given up");
    watchdog.watch("", name);
    question.kernel->dump(*runtime, m.placer->place(tile), dump_inputs(*m.setup->streamed, m.question.problem), dump);
    watchdog.rest();
  } catch (const CudaFailure& failure) {
    return {"", std::string(failure.what()) + "\n", 1};
  }
  return {std::to_string(files) + " files in " + options.dump + ": " + name + "\n", "", 0};
}

}  // namespace napkin::internal::cli
