// Random questions in one process: those that once failed, and two hundred new ones. run_random_questions asks a
// million.

#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "tests/law/random_questions.hpp"
#include "tests/support/case_count.hpp"

namespace test_random_questions {

using namespace napkin;
using namespace napkin::internal;
using test::Findings;

namespace {

constexpr double most_seconds =
    6;  // of one question, of this process or of the clock: other processes may have the cores
constexpr long most_memory = 2L << 20;                      // KiB
constexpr std::size_t most_kept = std::size_t{128} << 20U;  // bytes that a session keeps: 64 MiB of tables, and answers

/// Returns the bytes that this process has allocated and not freed.
std::size_t bytes_in_use() {
  const auto all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

struct Outcome {
  int answered = 0, nothing = 0, refused = 0;
  double longest = 0;         // seconds
  std::size_t most_kept = 0;  // bytes that a session kept after a question
  std::string longest_question;
};

void ask_one(const Session& session, const Ask& ask, bool of_the_smallest, Outcome& outcome) {
  const Findings found = test::ask_one(session, ask, of_the_smallest);
  for (const std::string& what : found.wrong) FAIL_CHECK(what);
  ++(found.came == Findings::Came::answered       ? outcome.answered
     : found.came == Findings::Came::fits_nowhere ? outcome.nothing
                                                  : outcome.refused);
}

/// Returns the number in an environment variable, or `otherwise`. NAPKIN_QUESTIONS is the number of questions,
/// NAPKIN_SEED the first one, for another part of the million. A new kind takes tenths of a second, the next question
/// of it milliseconds.
int asked_for(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// Asks questions; each session gets `questions_of_a_session` of one kind.
void ask_all(int count, int first, double seconds, int questions_of_a_session) {
  Outcome outcome;
  auto session = std::make_unique<Session>();
  std::size_t before = bytes_in_use();
  test::QuestionKind kind;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begin;
    if (so_far.count() > seconds) count = i;
    if (i == count) break;
    if (i % questions_of_a_session == 0) {
      session = nullptr;
      session = std::make_unique<Session>();
      before = bytes_in_use();
      kind = test::kind_of(static_cast<std::uint64_t>(first + i));
    }
    const Ask ask = test::ask_of(static_cast<std::uint64_t>(first + i), kind);
    CAPTURE(i);
    CAPTURE(test::command_of(ask));
    const test::Stopwatch watch;
    ask_one(*session, ask, i % 10 != 0, outcome);
    const double took = watch.seconds();
    const std::size_t kept = bytes_in_use() - std::min(before, bytes_in_use());
    if (test::rounds(100) == 100) CHECK(kept < most_kept);
    outcome.most_kept = std::max(outcome.most_kept, kept);
    if (test::rounds(100) == 100) CHECK(took < most_seconds);  // not under a sanitizer
    if (took > outcome.longest) outcome.longest = took, outcome.longest_question = test::command_of(ask);
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  if (test::rounds(100) == 100) CHECK(used.ru_maxrss < most_memory);
  MESSAGE(count << " questions: " << outcome.answered << " answered, " << outcome.nothing << " fit nowhere, "
                << outcome.refused << " refused; " << used.ru_maxrss / 1024 << " MiB, " << (outcome.most_kept >> 20U)
                << " kept by a session; the longest took " << outcome.longest << " s: " << outcome.longest_question);
  if (test::rounds(100) == 100) CHECK(outcome.answered > count / 5);
}

Ask asked(const char* algorithm, const char* gpu, const char* dtype, NamedSizes shape, Mask mask = {}) {
  Ask ask;
  ask.algorithm = algorithm;
  ask.gpu = gpu;
  ask.dtype = dtype;
  ask.shape = std::move(shape);
  ask.mask = mask;
  return ask;
}

}  // namespace

TEST_CASE("questions that random ones found to take long, to give two times or to hold more than there is") {
  const Mask causal{Mask::Kind::causal, 0, 0};
  constexpr double most = 3;  // seconds of a core that other processes share
  Outcome outcome;
  for (const Ask& ask :
       {asked("attention", "mi300x", "bf16", {{"b", 1}, {"h", 1}, {"g", 1}, {"q", 80}, {"x", 12978}, {"d", 256}}),
        asked("attention", "mi300x", "bf16", {{"q", 13430}, {"x", 6748}, {"d", 256}}, causal),
        asked("attention", "h200-sxm", "e4m3", {{"q", 51614242}, {"x", 656}, {"d", 96}}, causal),
        asked("attention", "gb300", "e4m3", {{"h", 7}, {"g", 4}, {"q", 6840600}, {"x", 2291}, {"d", 256}},
              {Mask::Kind::window, 6493858, 0}),
        asked("attention", "gb300", "e4m3", {{"b", 5}, {"q", 18647693}, {"x", 593}, {"d", 256}}, causal),
        asked("matmul", "rtx-4090", "bf16", {{"a", 2915}, {"b", 4}, {"c", 30979}}),
        asked("matmul", "a40", "bf16", {{"a", 3356}, {"b", 30}, {"c", 17985}}),
        asked("attention", "rtx-a5000", "bf16", {{"h", 9}, {"q", 1490}, {"x", 48}, {"d", 128}},
              {Mask::Kind::window, 74, 0}),
        asked("attention", "rtx-a5000", "bf16", {{"g", 8}, {"q", 24963}, {"x", 54}, {"d", 128}}, causal),
        asked("attention", "h200-sxm", "bf16", {{"b", 31}, {"h", 57}, {"g", 1}, {"q", 31945}, {"x", 7633}, {"d", 128}},
              {Mask::Kind::window, 2500, 32}),
        asked("attention", "h200-sxm", "bf16",
              {{"b", 30}, {"h", 20}, {"g", 8}, {"q", 20000}, {"x", 30000}, {"d", 10552}}),
        asked("attention", "h200-sxm", "bf16",
              {{"b", 37}, {"g", 1}, {"q", 28853789896}, {"x", 16731}, {"d", 9287476409}},
              {Mask::Kind::window, 1672383940868, 574}),
        asked("attention", "gb200", "bf16",
              {{"b", 20}, {"h", 7}, {"g", 1}, {"q", 28}, {"x", 54874332029429}, {"d", 25444794732872640}}, causal),
        asked("attention", "b300", "bf16", {{"h", 44}, {"q", 5028}, {"x", 1667116558254}, {"d", 372}},
              {Mask::Kind::window, 421604463692260, 1}),
        asked("attention", "h200-sxm", "f16", {{"q", 15834}, {"x", 975690975390318848}, {"d", 3084596154}}, causal),
        asked("attention", "h200-sxm", "f16", {{"b", 4}, {"q", 1282}, {"x", 854565656}, {"d", 4552969729}},
              {Mask::Kind::window, 2767600703, 0}),
        asked("attention", "h200-sxm", "bf16", {{"b", 8}, {"h", 44}, {"q", 6866}, {"x", 112057238934}, {"d", 128}},
              causal),
        asked("convolution_2d", "h200-sxm", "bf16", {{"b", 30}, {"i", 200}, {"j", 300}, {"c", 64}, {"o", 48}}),
        asked("max_pooling", "h200-sxm", "f32", {{"b", 60}, {"i", 2000}, {"j", 3000}, {"c", 3}})}) {
    CAPTURE(test::command_of(ask));
    const Session session;
    const test::Stopwatch watch;
    ask_one(session, ask, false, outcome);
    if (test::rounds(100) == 100) CHECK(watch.seconds() < most);  // not under a sanitizer
  }
}

TEST_CASE("random questions: two hundred of five kinds") {
  ask_all(asked_for("NAPKIN_QUESTIONS", test::rounds(200)), asked_for("NAPKIN_SEED", 1), 550, 40);
}

TEST_SUITE("slow") {
  TEST_CASE("random questions: a million of a thousand kinds, or what two hours hold") {
    ask_all(asked_for("NAPKIN_QUESTIONS", test::rounds(1000000)), asked_for("NAPKIN_SEED", 1000000), 7200, 1000);
  }
}

}  // namespace test_random_questions
