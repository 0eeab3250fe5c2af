// Random questions in many processes, and a summary that is right however they end.
//
//   run_random_questions [--seed 1000000] [--questions 1000000] [--a_kind 1000] [--jobs 14] [--limit 520]
//                        [--lengths 0] [--searched 10] [--failures FILE] [--summary FILE]
//
// Each kind of --a_kind questions is a session of one process. --lengths: how many lengths the questions of a kind
// combine, and a window for four of them; one question of sixteen draws its own, with 0 all do. --limit: seconds; what
// is asked then is ended. One of --searched questions has the ideal mapping search its tile for the bound. What fails
// is a line of --failures (else of stderr): the seed of its kind, its own, the question, what is wrong. Exit 1 where
// something is. The summary is printed at the end; --summary has it at every second, so that a run that is killed
// leaves what it had asked.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "tests/kernel/program.hpp"
#include "tests/law/random_questions.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;
using test::Findings;
using Clock = std::chrono::steady_clock;

constexpr double most_seconds = 5;      // most seconds of one question, of its thread or elapsed, whichever is less
constexpr double most_silence = 60;     // elapsed seconds after which a question that does not end is given up
constexpr long most_memory = 2L << 20;  // most KiB of a process
constexpr std::size_t most_jobs = 256;

struct Options {
  std::uint64_t seed = 1000000;
  std::int64_t questions = 1000000, a_kind = 1000;
  std::size_t jobs = std::max(std::thread::hardware_concurrency(), 1U);
  double limit = 1e9;
  int lengths = 0;
  std::uint64_t searched = 10;
  std::string failures, summary;
};

/// The progress of one process in memory that its parent shares, also after it has died.
struct Progress {
  std::atomic<std::int64_t> came[3], checks, failures;
  std::atomic<std::int64_t> kinds;              // questions that differ in more than their sizes, by session
  std::atomic<std::int64_t> memory;             // KiB, at most
  std::atomic<double> seconds, longest, began;  // of its processor; of one question; when the present one began
  std::array<char, 1024> question, longest_question;
};

struct Shared {
  std::atomic<std::int64_t> next_kind{0};
  std::array<Progress, most_jobs> jobs;
};

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

void put(std::array<char, 1024>& to, const std::string& text) {
  const std::size_t size = std::min(text.size(), to.size() - 1);
  std::memcpy(to.data(), text.data(), size);
  to[size] = 0;
}

class Asker {
 public:
  Asker(const Options& options, Shared& shared, double until, int out)
      : options_(options), shared_(shared), until_(until), out_(out) {}

  /// Asks kind after kind, until none is left or the time is up.
  void work(Progress& mine) const {
    while (now() < until_) {
      const std::int64_t first = shared_.next_kind.fetch_add(1) * options_.a_kind;
      if (first >= options_.questions) return;
      ask_kind(first, std::min(first + options_.a_kind, options_.questions), mine);
    }
  }

  void failed(Progress& mine, const std::string& what) const {
    ++mine.failures;
    const std::string line = std::string(mine.question.data()) + ": " + what + "\n";
    if (::write(out_, line.data(), line.size()) < 0) std::perror("failures");
  }

 private:
  void ask_kind(std::int64_t first, std::int64_t end, Progress& mine) const {
    const std::uint64_t of_kind = options_.seed + static_cast<std::uint64_t>(first);
    const test::QuestionKind kind = test::kind_of(of_kind, options_.lengths);
    const Session session;
    std::set<std::string> kinds;
    for (const std::uint64_t seed : in_turn(of_kind, of_kind + static_cast<std::uint64_t>(end - first), kind)) {
      if (now() >= until_) break;
      const Ask ask = test::ask_of(seed, kind);
      if (kinds.insert(test::kind_text(ask)).second) ++mine.kinds;
      put(mine.question, std::to_string(of_kind) + " " + std::to_string(seed) + " " + test::command_of(ask));
      mine.began = now();
      const test::Stopwatch watch;
      const double before = test::Stopwatch::thread_seconds();
      const Findings found = test::ask_one(session, ask, seed % options_.searched != 0);
      note(found, watch.seconds(), mine);
      mine.seconds = mine.seconds + test::Stopwatch::thread_seconds() - before;
    }
    mine.began = 0;
  }

  /// Returns the seeds of questions in an order in which those of one table are together, and tables in random order: a
  /// session keeps 96 tables, and in the order of seeds each would be made again and again.
  [[nodiscard]] static std::vector<std::uint64_t> in_turn(std::uint64_t first, std::uint64_t end,
                                                          const test::QuestionKind& kind) {
    std::vector<std::pair<std::size_t, std::uint64_t>> turns;
    for (std::uint64_t seed = first; seed < end; ++seed) {
      Ask ask = test::ask_of(seed, kind);
      ask.kernel.clear();  // asked without one, it has the tables of all
      turns.emplace_back(std::hash<std::string>()(test::kind_text(ask)), seed);
    }
    std::sort(turns.begin(), turns.end());
    std::vector<std::uint64_t> seeds;
    for (const auto& [kind_hash, seed] : turns) seeds.push_back(seed);
    return seeds;
  }

  void note(const Findings& found, double seconds, Progress& mine) const {
    ++mine.came[static_cast<int>(found.came)];
    mine.checks += found.checks + 2;
    for (const std::string& what : found.wrong) failed(mine, what);
    if (seconds >= most_seconds) failed(mine, std::to_string(seconds) + " s");
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    if (used.ru_maxrss >= most_memory && mine.memory < most_memory)
      failed(mine, std::to_string(used.ru_maxrss / 1024) + " MiB");
    mine.memory = std::max<std::int64_t>(mine.memory, used.ru_maxrss);
    if (seconds <= mine.longest) return;
    mine.longest = seconds;
    mine.longest_question = mine.question;
  }

  const Options& options_;
  Shared& shared_;
  double until_;
  int out_;
};

/// The processes: one for each job, a new one for one that has died; one that is silent for too long is ended.
class Jobs {
 public:
  Jobs(const Options& options, Shared& shared, const Asker& asker, double until)
      : shared_(shared), asker_(asker), until_(until), parent_(::getpid()) {
    for (std::size_t job = 0; job < std::min(options.jobs, most_jobs); ++job) start(job);
  }

  /// `each_second` is called until all have ended.
  void wait(const std::function<void()>& each_second) {
    for (int turn = 0; !running_.empty(); ++turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      for (std::size_t i = running_.size(); i-- > 0;) look(i);
      if (turn % 10 == 0) each_second();
    }
  }

 private:
  void start(std::size_t job) {
    const pid_t child = ::fork();
    if (child < 0) throw Error("--jobs", "a process cannot be started", "fewer");
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent_) ::_exit(0);
      asker_.work(shared_.jobs[job]);
      ::_exit(0);
    }
    running_.emplace_back(child, job);
  }

  void look(std::size_t i) {
    const auto [child, job] = running_[i];
    Progress& progress = shared_.jobs[job];
    const double began = progress.began;
    const bool silent = began > 0 && now() - began > most_silence, late = now() > until_ + most_seconds;
    if (silent || late) ::kill(child, SIGKILL);
    int status = 0;
    if (::waitpid(child, &status, silent || late ? 0 : WNOHANG) == 0) return;
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    if (silent || !late) asker_.failed(progress, silent ? "does not end" : "the process died");
    progress.began = 0;
    if (now() < until_) start(job);
  }

  Shared& shared_;
  const Asker& asker_;
  double until_;
  pid_t parent_;
  std::vector<std::pair<pid_t, std::size_t>> running_;
};

struct Summary {
  std::string text;
  std::int64_t failures = 0;
};

Summary summary_of(const Options& options, const Shared& shared, double wall) {
  std::array<std::int64_t, 3> came{};
  std::int64_t checks = 0, failures = 0, kinds = 0, memory = 0;
  double seconds = 0;
  const Progress* longest = shared.jobs.data();
  for (const Progress& job : shared.jobs) {
    for (std::size_t i = 0; i < came.size(); ++i) came[i] += job.came[i];
    checks += job.checks;
    failures += job.failures;
    kinds += job.kinds;
    memory = std::max<std::int64_t>(memory, job.memory);
    seconds += job.seconds;
    if (job.longest > longest->longest) longest = &job;
  }
  const std::int64_t asked = came[0] + came[1] + came[2];
  const double a_question = asked > 0 ? 1e3 * seconds / static_cast<double>(asked) : 0.0;
  return {fmt::format("seed {}: {} of {} questions asked, of {} kinds: {} answered, {} fit nowhere, {} refused\n"
                      "{} things looked at, {} failures\n"
                      "{:.0f} s on {} processes, {:.0f} s of their processors, {:.1f} ms a question; at most {} MiB a "
                      "process\n"
                      "the longest took {:.2f} s: {}\n",
                      options.seed, asked, options.questions, kinds, came[0], came[1], came[2], checks, failures, wall,
                      options.jobs, seconds, a_question, memory / 1024, longest->longest.load(),
                      longest->longest_question.data()),
          failures};
}

/// Writes a file that is complete at any moment: the old one or the new one.
void write_whole(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  std::ofstream(beside) << text;
  std::filesystem::rename(beside, path);
}

int run(const Options& options) {
  const int out =
      options.failures.empty() ? STDERR_FILENO : ::open(options.failures.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (out < 0) throw Error("--failures", options.failures + " cannot be written", "a file");
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("--jobs", "no memory to share", "a machine with some");
  Shared& shared = *new (memory) Shared;
  const double begin = now(), until = begin + options.limit;
  const Asker asker(options, shared, until, out);
  const auto write = [&] {
    if (!options.summary.empty()) write_whole(options.summary, summary_of(options, shared, now() - begin).text);
  };
  Jobs(options, shared, asker, until).wait(write);
  write();
  const Summary summary = summary_of(options, shared, now() - begin);
  std::fputs(summary.text.c_str(), stdout);
  return summary.failures > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Random questions in many processes", "run_random_questions");
  app.add_option("--seed", options.seed);
  app.add_option("--questions", options.questions);
  app.add_option("--a_kind", options.a_kind)->check(CLI::PositiveNumber);
  app.add_option("--jobs", options.jobs)->check(CLI::Range(std::size_t{1}, most_jobs));
  app.add_option("--limit", options.limit);
  app.add_option("--lengths", options.lengths)->check(CLI::NonNegativeNumber);
  app.add_option("--searched", options.searched)->check(CLI::PositiveNumber);
  app.add_option("--failures", options.failures);
  app.add_option("--summary", options.summary);
  return test::run_program(app, argc, argv, [&] { return run(options); });
}
