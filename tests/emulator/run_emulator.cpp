// This program runs the kernels' questions on the emulator with many seeds.
//
//   run_emulator [--kernel NAME]... [--most 3000000] [--seeds 1000] [--first 0] [--processes 1] [--limit SECONDS]
//                [--planted NAME] [--summary FILE]
//
// The seeds of each kernel, --seeds from --first on, are divided among its questions of at most --most multiply-adds,
// four running seeds each; the kernels take turns, so that a run that is cut has about as many seeds of each. Every
// answer is compared with float64, and answers to one question with each other if no seed may change a bit. --summary:
// one line a kernel, written again every few seconds. Exit 1 where something is wrong, 3 where time ended first.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/questions.hpp"
#include "tests/kernel/program.hpp"

namespace {

using namespace napkin;
using namespace napkin::internal;

struct Options {
  std::vector<std::string> kernels;
  std::string planted, summary;
  std::uint64_t seeds = 1000, first = 0;
  int processes = 1;
  double limit = 0;  // seconds; 0: none
  std::int64_t most = 3'000'000;
};

constexpr std::uint64_t together = 4;  // seeds of a question that is laid out once

/// The counts of one question, shared by all processes.
struct Counts {
  std::atomic<std::uint64_t> runs, alarms, differing, bits;  // bits: a hash of the first answer; 0: none yet
};

struct Shared {
  std::atomic<std::uint64_t> next;  // next group of seeds
  std::atomic<std::uint64_t> dead;  // processes that a signal ended
  Counts counts[1];
};

std::uint64_t hash_of(const std::vector<std::uint16_t>& bits) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const std::uint16_t word : bits) hash = (hash ^ word) * 0x100000001b3u;
  return hash | 1;
}

/// Returns true if the bits equal those of the question's first answer, in whichever process it was.
bool agrees(Counts& counts, const std::vector<std::uint16_t>& bits) {
  const std::uint64_t hash = hash_of(bits);
  std::uint64_t first = 0;
  return counts.bits.compare_exchange_strong(first, hash) || first == hash;
}

class Seeds {
 public:
  explicit Seeds(const Options& r) : request_(r), questions_(test::all_questions(r.most)) {
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      const std::string& kernel = questions_[i].kernel;
      if (r.kernels.empty() || std::count(r.kernels.begin(), r.kernels.end(), kernel) > 0)
        of_kernel_[kernel].push_back(i);
    }
    for (const std::string& name : r.kernels) {
      if (!of_kernel_.contains(name)) throw Error("--kernel", "'" + name + "' has no question", "one of " + names());
    }
    const std::size_t bytes = sizeof(Shared) + questions_.size() * sizeof(Counts);
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("run_emulator", "no memory that processes share");
    shared_ = new (memory) Shared{};
  }

  int operator()() {
    for (int i = 0; i < request_.processes; ++i) {
      const pid_t child = ::fork();
      if (child < 0) throw Error("run_emulator", "cannot fork");
      if (child == 0) {
        work();
        std::fflush(stdout);
        ::_exit(0);
      }
      children_.insert(child);
    }
    while (!children_.empty()) {
      ::usleep(200'000);
      gather();
      if (!request_.summary.empty()) std::ofstream(request_.summary) << summary();
    }
    std::fputs(summary().c_str(), stdout);
    if (wrong_ > 0 || shared_->dead > 0) return 1;
    return cut_ ? 3 : 0;
  }

 private:
  [[nodiscard]] std::string names() const {
    std::set<std::string> all;
    for (const test::Question& one : questions_) all.insert(one.kernel);
    return joined({all.begin(), all.end()});
  }

  [[nodiscard]] bool late() const {
    return request_.limit > 0 &&
           std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() > request_.limit;
  }

  /// Runs one group of seeds after another, the kernels in turn.
  void work() {
    const std::uint64_t groups = (request_.seeds + together - 1) / together;
    for (std::uint64_t i = shared_->next++; i < groups * of_kernel_.size() && !late(); i = shared_->next++) {
      const auto& [kernel, own] = *std::next(of_kernel_.begin(), static_cast<std::ptrdiff_t>(i % of_kernel_.size()));
      const std::uint64_t group = i / of_kernel_.size(), first = request_.first + group * together;
      const std::size_t question = own[(first / together) % own.size()];
      const std::uint64_t end = std::min(first + together, request_.first + request_.seeds);
      ask(question, first, end);
    }
  }

  void ask(std::size_t number, std::uint64_t first, std::uint64_t end) {
    const test::Question& question = questions_[number];
    Counts& counts = shared_->counts[number];
    const test::Asked asked = question.prepare(request_.planted);
    for (std::uint64_t seed = first; seed < end && !late(); ++seed) {
      const test::Answer answer = asked(seed);
      ++counts.runs;
      if (!answer.fault.empty()) {
        ++counts.alarms;
        std::printf("%s %s\n  seed %llu: %s\n", question.kernel.c_str(), question.text.c_str(),
                    static_cast<unsigned long long>(seed), answer.fault.c_str());
        return;
      }
      if (!agrees(counts, answer.bits)) {
        ++counts.differing;
        std::printf("%s %s\n  seed %llu: other bits than another seed's\n", question.kernel.c_str(),
                    question.text.c_str(), static_cast<unsigned long long>(seed));
      }
    }
  }

  void gather() {
    for (int status = 0;;) {
      const pid_t child = ::waitpid(-1, &status, WNOHANG);
      if (child <= 0) return;
      children_.erase(child);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++shared_->dead;
    }
  }

  std::string summary() {
    wrong_ = 0;
    cut_ = false;
    std::string out;
    for (const auto& [kernel, own] : of_kernel_) {
      std::uint64_t runs = 0, alarms = 0, differing = 0;
      std::size_t asked = 0;
      for (const std::size_t i : own) {
        const Counts& counts = shared_->counts[i];
        asked += counts.runs > 0 ? 1 : 0;
        runs += counts.runs;
        alarms += counts.alarms;
        differing += counts.differing;
      }
      wrong_ += alarms + differing;
      cut_ = cut_ || runs < request_.seeds;
      out += fmt::format("{}: {} seeds on {} of {} questions, {} alarms, {} answers with other bits\n", kernel, runs,
                         asked, own.size(), alarms, differing);
    }
    if (shared_->dead > 0) out += fmt::format("{} processes ended by themselves\n", shared_->dead.load());
    return out + (cut_ ? fmt::format("not all of {} seeds from {} on\n", request_.seeds, request_.first) : "");
  }

  const Options& request_;
  std::vector<test::Question> questions_;
  std::map<std::string, std::vector<std::size_t>> of_kernel_;
  Shared* shared_ = nullptr;
  std::set<pid_t> children_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t wrong_ = 0;
  bool cut_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  Options r;
  CLI::App app("The kernels' questions on the emulator", "run_emulator");
  app.add_option("--kernel", r.kernels);
  app.add_option("--planted", r.planted);
  app.add_option("--seeds", r.seeds);
  app.add_option("--first", r.first);
  app.add_option("--processes", r.processes);
  app.add_option("--limit", r.limit);
  app.add_option("--most", r.most);
  app.add_option("--summary", r.summary);
  return test::run_program(app, argc, argv, [&] { return Seeds(r)(); });
}
