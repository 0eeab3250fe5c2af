// A Session answers a repeated question with the object that it has, notices a changed file, gives eight threads the
// answers that one gets, and reports every mistake in a question before it computes anything.
#include <doctest/doctest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "apps/library/answer/answering.hpp"
#include "apps/library/question/catalog.hpp"
#include "apps/library/question/question.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "model/base/embedded.hpp"
#include "model/base/latest.hpp"
#include "napkin/napkin.hpp"
#include "tests/support/mistakes.hpp"

namespace test_session {

using namespace napkin;
using namespace napkin::internal;

namespace {

Ask matmul(std::int64_t n) {
  Ask ask;
  ask.algorithm = "matmul";
  ask.gpu = "h200-sxm";
  ask.shape = {{"a", n}, {"b", n}, {"c", n}};
  return ask;
}

Ask attention(std::int64_t s, bool causal = false) {
  Ask ask;
  ask.algorithm = "attention";
  ask.gpu = "h200-sxm";
  ask.shape = {{"h", 16}, {"q", s}, {"x", s}, {"d", 128}};
  if (causal) ask.mask.kind = Mask::Kind::causal;
  return ask;
}

std::string embedded(const std::string& path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return std::string(file.text);
  }
  FAIL(path);
  return {};
}

/// A folder that is removed at the end of the test.
struct Folder {
  std::filesystem::path path;
  Folder() : path(std::filesystem::temp_directory_path() / ("napkin_session_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;

  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

/// Checks the fields in which two answers must agree.
void check_equal(const SelectAnswer& a, const SelectAnswer& b) {
  CHECK(a.head.kernel == b.head.kernel);
  CHECK(a.head.tile == b.head.tile);
  CHECK(a.predicted->time == b.predicted->time);
  CHECK(a.because == b.because);
  CHECK(a.rejected == b.rejected);
  REQUIRE(a.alternatives.size() == b.alternatives.size());
  for (std::size_t i = 0; i < a.alternatives.size(); ++i) CHECK(a.alternatives[i].tile == b.alternatives[i].tile);
}

}  // namespace

TEST_CASE("a repeated question is the cached object; every field of a question counts") {
  const Session session;
  const auto first = session.select(matmul(1024));
  CHECK(session.select(matmul(1024)) == first);
  CHECK(session.select(matmul(1024), 3) != first);
  const auto queried = session.query(matmul(1024));
  CHECK(session.query(matmul(1024)) == queried);

  std::vector<Ask> others(8, matmul(1024));
  others[0].shape[1].second = 512;
  others[1].dtype = "f16";
  others[2].kernel = "matmul_sm90";
  others[3].tile = {{"stages", "2"}};
  others[4].tile = {{"stages", "3"}};
  others[5].gpu = "h100-sxm";
  std::swap(others[6].shape[0], others[6].shape[1]);
  others[7].dtype = "bf16";  // the default, given explicitly: another question with an equal answer
  std::vector<std::shared_ptr<const QueryAnswer>> answers{queried};
  for (const Ask& ask : others) {
    answers.push_back(session.query(ask));
    CHECK(session.query(ask) == answers.back());
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(answers[i] != answers[j]);
  }
  CHECK(answers.back()->predicted->time == queried->predicted->time);

  Ask counted = matmul(64);
  counted.check = true;
  CHECK(session.query(counted) != session.query(counted));  // a question with a progress callback is computed each time
}

TEST_CASE("no more than 256 answers are kept, the latest ones") {
  const Session session;
  Ask ask;
  ask.algorithm = "matmul";
  ask.memory = 1000;
  const auto asked = [&](std::int64_t n) {
    ask.shape = {{"a", n}, {"b", n}, {"c", n}};
    return session.query(ask);
  };
  const auto first = asked(1), second = asked(2);
  for (std::int64_t n = 3; n <= 256; ++n) (void)asked(n);
  CHECK(asked(1) == first);
  (void)asked(257);
  CHECK(asked(1) == first);
  CHECK(asked(2) != second);
  CHECK(asked(2)->predicted.has_value() == second->predicted.has_value());
}

TEST_CASE("requests of one kind share their parts, so that the solver knows them again") {
  const Session session;
  const Question a = question_of(session, attention(1024)), b = question_of(session, attention(4096, true));
  CHECK(a.machine == b.machine);
  CHECK(a.diagram == b.diagram);
  REQUIRE(a.setups.size() == b.setups.size());
  for (std::size_t i = 0; i < a.setups.size(); ++i) {
    CHECK(a.setups[i].mapping == b.setups[i].mapping);
    CHECK(a.setups[i].streamed == b.setups[i].streamed);
    CHECK(a.setups[i].workspace == b.setups[i].workspace);
  }
  CHECK(a.problem.sizes != b.problem.sizes);

  // The parts of an ideal setup are the question's own, and so is its workspace.
  Ask ideal = matmul(1024);
  ideal.gpu = "ascend-910b2";
  const Question c = question_of(session, ideal), d = question_of(session, ideal);
  REQUIRE(c.setups.front().ideal);
  CHECK(c.machine == d.machine);
  CHECK(c.setups.front().workspace != d.setups.front().workspace);
}

TEST_CASE("a changed file is noticed: profile, mapping, algorithm") {
  const Folder folder;
  const Session session;
  const std::string profile = embedded("hardware_profiles/h200-sxm.yaml");
  Ask ask = matmul(2048);
  ask.gpu = folder.write("mine.yaml", profile);
  const auto before = session.query(ask);
  CHECK(session.query(ask) == before);
  const Question old = question_of(session, ask);

  (void)folder.write("mine.yaml", test::replaced(profile, "name: h200-sxm", "name: h200-new"));
  const auto after = session.query(ask);
  CHECK(before->head.gpu == "h200-sxm");
  CHECK(after->head.gpu == "h200-new");
  CHECK(session.query(ask) == after);
  const Question renewed = question_of(session, ask);
  CHECK(renewed.machine != old.machine);
  CHECK(renewed.setups.front().workspace != old.setups.front().workspace);
  CHECK(old.machine->name == "h200-sxm");

  // A file of the same size is renamed into place, and has another identity.
  (void)folder.write("other.yaml", profile);
  std::filesystem::rename(folder.path / "other.yaml", folder.path / "mine.yaml");
  CHECK(session.query(ask)->head.gpu == "h200-sxm");

  (void)folder.write("mine.yaml", "name: [");
  CHECK_THROWS_WITH_AS((void)session.query(ask), doctest::Contains("mine.yaml:1:"), Error);
  std::filesystem::remove(folder.path / "mine.yaml");
  CHECK_THROWS_WITH_AS((void)session.query(ask), doctest::Contains("cannot be read"), Error);
  (void)folder.write("mine.yaml", profile);
  CHECK(session.query(ask)->predicted->time == before->predicted->time);

  ask = matmul(2048);
  const std::string mapping = embedded("kernels/matmul/matmul_sm90.yaml");
  const std::string mine = test::replaced(mapping, "mapping: matmul_sm90", "mapping: matmul_mine");
  ask.kernel = folder.write("matmul_mine.yaml", mine);
  CHECK(session.query(ask)->head.kernel == "matmul_mine");
  (void)folder.write("matmul_mine.yaml", mapping);
  CHECK_THROWS_WITH_AS((void)session.query(ask), doctest::Contains("in a file of another name"), Error);

  ask = matmul(2048);
  const std::string algorithm = embedded("model/diagram/algorithms/matmul.yaml");
  ask.algorithm = folder.write("product.yaml", algorithm);
  ask.bundled = true;
  CHECK(session.query(ask)->head.kernel == "matmul_sm90");  // equal to the built-in one: its kernels compute it
  (void)folder.write("product.yaml", test::replaced(algorithm, "(A, B)", "(A, B) scale 2"));
  CHECK_FALSE(session.query(ask)->head.kernel.has_value());
}

TEST_CASE("eight threads, equal and different questions: the answers of one thread") {
  constexpr int threads = 8, kinds = 6;
  const auto question = [](int kind) {
    Ask ask = kind < 3 ? matmul(1024 + 512 * kind) : attention(1024 * (kind - 2), kind == 5);
    ask.gpu = "a100-sxm-80";  // the GPU whose tables take the least time
    return ask;
  };
  const Session alone;
  std::vector<std::shared_ptr<const SelectAnswer>> expected;
  for (int kind = 0; kind < kinds; ++kind) expected.push_back(alone.select(question(kind)));

  const Session shared;
  std::vector<std::vector<std::shared_ptr<const SelectAnswer>>> answers(threads);
  std::atomic<int> refused{0};
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < kinds; ++i)
        answers[static_cast<std::size_t>(t)].push_back(shared.select(question((t + i) % kinds)));
      Ask wrong = matmul(64);
      wrong.gpu = "h200";
      try {
        (void)shared.query(wrong);
      } catch (const Error&) {
        ++refused;
      }
    });
  }
  for (std::thread& one : running) one.join();
  CHECK(refused == threads);
  for (int t = 0; t < threads; ++t) {
    for (int i = 0; i < kinds; ++i) {
      const int kind = (t + i) % kinds;
      CAPTURE(kind);
      check_equal(*answers[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)],
                  *expected[static_cast<std::size_t>(kind)]);
      CHECK(answers[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)] ==
            shared.select(question(kind)));  // all threads get the object of the first one
    }
  }
}

TEST_CASE("every mistake is raised in making the request") {
  const Session session;
  const auto refused = [&](const Ask& ask, const std::string& message) {
    CAPTURE(message);
    CHECK_THROWS_WITH_AS((void)question_of(session, ask), doctest::Contains(message.c_str()), Error);
    CHECK_THROWS_WITH_AS((void)session.query(ask), doctest::Contains(message.c_str()), Error);
  };
  const auto changed = [](const auto& change) {
    Ask ask = attention(512);
    change(ask);
    return ask;
  };
  refused(changed([](Ask& ask) { ask.algorithm = "atention"; }), "no such algorithm");
  refused(changed([](Ask& ask) { ask.gpu = ""; }), "--gpu: is missing");
  refused(changed([](Ask& ask) { ask.gpu = "h200"; }), "--gpu: unknown GPU");
  refused(changed([](Ask& ask) { ask.memory = 1000; }), "--memory: stands beside --gpu");
  refused(changed([](Ask& ask) { ask.shape.pop_back(); }), "--shape");
  refused(changed([](Ask& ask) { ask.shape[1].second = 0; }), "--shape");
  refused(changed([](Ask& ask) {
            ask.shape[1].second = ask.shape[2].second = std::int64_t{1} << 62;
            ask.mask.kind = Mask::Kind::causal;
          }),
          "--shape: ");
  refused(changed([](Ask& ask) { ask.dtype = "bf17"; }), "--dtype");
  refused(changed([](Ask& ask) { ask.kernel = "matmul_sm90"; }), "--kernel: matmul_sm90 computes matmul");
  refused(changed([](Ask& ask) { ask.kernel = "none"; }), "--kernel: unknown kernel");
  refused(changed([](Ask& ask) { ask.tile = {{"nonsense", "1"}}; }), "--tile: 'nonsense' is no knob");
  refused(changed([](Ask& ask) {
            ask.gpu = "a100-sxm-80";  // none of its bundled kernels has flash_decoding's second knob
            ask.tile = {{"x", "64"}, {"shared.x", "64"}};
            ask.bundled = true;
          }),
          "--tile: x is given twice");
  refused(changed([](Ask& ask) { ask.lengths = {{4, 4}}; }), "--lengths");
  refused(changed([](Ask& ask) {
            ask.shape = {{"h", 16}, {"d", 128}};
            ask.lengths = {{4, 4}};
            ask.check = true;
          }),
          "--check: stands beside --lengths");
  refused(changed([](Ask& ask) {
            ask.gpu = "";
            ask.memory = 1000;
            ask.compile = true;
          }),
          "--compile: has no meaning with --memory");
  Ask masked = matmul(64);
  masked.mask.kind = Mask::Kind::causal;
  refused(masked, "--causal: matmul has no operation with a mask");
  CHECK_THROWS_WITH_AS((void)session.emit(matmul(64), "xml"), doctest::Contains("--emit: 'xml' is no form"), Error);
}

TEST_CASE("ranges, comparisons and emitted code by a session are those of the plain functions") {
  const Session session;
  const ShapeFamily family = parse_family("a=1024..2048:512,b=1024..2048:512,c=1024..2048:512");
  Ask ask = matmul(1);
  const FamilyAnswer answer = session.select_family(ask, family);
  CHECK(answer.points == 3);
  ask.bundled = true;  // as a family's question does if a bundled kernel has the fastest instruction
  for (const FamilyPick& pick : answer.picks) {
    ask.shape = family.at(pick.from);
    CHECK(session.select(ask)->head.tile == pick.tile);
  }
  ask = matmul(2048);
  const CompareAnswer compared = session.compare(ask, {"h200-sxm", "h100-sxm"}, {"bf16"});
  REQUIRE(compared.machines.size() == 2);
  CHECK(compared.machines[0].selected.predicted->time == session.select(ask)->predicted->time);
  CHECK(session.emit(ask, "json").text == emit(ask, "json").text);
}

TEST_CASE("kernels within a limit of seconds are those of all kernels that stay within it") {
  Ask decode = attention(8192);
  decode.shape = {{"b", 16}, {"h", 8}, {"g", 4}, {"q", 1}, {"x", 8192}, {"d", 128}};
  for (const Ask& ask : {decode, attention(2048, true)}) {
    const std::vector<KernelAnswer> all = Session().kernels(ask);
    REQUIRE(all.size() > 3);
    for (const std::size_t last : {std::size_t{0}, std::size_t{2}}) {
      REQUIRE(all[last].predicted);
      const double limit = all[last].predicted->time;
      std::vector<KernelAnswer> within;
      for (const KernelAnswer& one : all) {
        if (one.predicted && one.predicted->time <= limit) within.push_back(one);
      }
      std::vector<KernelAnswer> found = Session().kernels(ask, limit);
      std::erase_if(found, [&](const KernelAnswer& one) { return !one.predicted || one.predicted->time > limit; });
      REQUIRE(found.size() == within.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i].kernel == within[i].kernel);
        CHECK(found[i].tile == within[i].tile);
        CHECK(found[i].predicted->time == within[i].predicted->time);
      }
    }
  }
}

TEST_CASE("what is kept: the latest used, found by what is like its key") {
  Latest<std::string, int> latest(2);
  latest.put("a", 1);
  latest.put("b", 2);
  REQUIRE(latest.find(std::string("a")) != nullptr);
  latest.put("c", 3);
  CHECK(latest.find(std::string("b")) == nullptr);
  CHECK(*latest.find(std::string("a")) == 1);
  CHECK(latest.put("a", 4) == 4);
  CHECK(*latest.find(std::string("c")) == 3);
}

TEST_CASE("session: a part of an answer is there if it was asked for, and answers of other detail are kept apart") {
  const Session session;
  const Ask ask = attention(2048);
  const auto bare = session.select(ask), sure = session.select(ask, 5, {.standing = true});
  const auto whole = session.select(ask, 5, AnswerParts::all());
  CHECK_FALSE(bare->predicted->standing.has_value());
  CHECK(bare->because.empty());
  CHECK_FALSE(bare->legal.has_value());
  CHECK(bare->rejected.empty());
  CHECK_FALSE(bare->levels.front().delivered.has_value());
  CHECK(bare->levels.back().delivered.has_value());
  REQUIRE(sure->predicted->standing.has_value());
  CHECK(sure->predicted->standing->band.has_value());
  CHECK_FALSE(sure->predicted->standing->weakest.has_value());
  CHECK(sure->because.empty());
  REQUIRE(whole->predicted->standing.has_value());
  CHECK(whole->predicted->standing->weakest.has_value());
  CHECK_FALSE(whole->because.empty());
  CHECK(whole->legal.value_or(0) > 0);
  CHECK(whole->levels.front().delivered.has_value());
  CHECK(whole->head.tile == bare->head.tile);
  CHECK(whole->predicted->time == bare->predicted->time);
  CHECK(session.select(ask) == bare);
  CHECK(session.select(ask, 5, AnswerParts::all()) == whole);

  const auto queried = session.query(ask);
  CHECK(queried->formula.transfer.empty());
  CHECK_FALSE(queried->optimum.has_value());
  const auto formulas = session.query(ask, {.formulas = true});
  CHECK_FALSE(formulas->formula.transfer.empty());
  CHECK(formulas->optimum.has_value());
  CHECK(formulas->laws.has_value());
  CHECK_FALSE(formulas->predicted->standing.has_value());
}

/// Returns the question with every knob of the tile given.
Ask with_tile(Ask ask, const Head& head) {
  ask.kernel = *head.kernel;
  for (const KnobValue& knob : head.tile)
    ask.tile.emplace_back(knob.name, knob.word.empty() ? std::to_string(knob.number) : knob.word);
  return ask;
}

TEST_CASE("session: a given tile's loss is its time over that of the kernel's best tile") {
  const Session session;
  const auto loss_of = [&](const Ask& ask) { return session.query(ask, {.best = true})->best; };
  for (const bool causal : {false, true}) {
    const Ask ask = attention(3072, causal);
    const auto pick = session.select(ask, 5);
    const auto none = loss_of(with_tile(ask, pick->head));
    REQUIRE(none.has_value());
    CHECK(none->loss == 0);
    CHECK(none->tile == pick->head.tile);
    for (const AlternativeAnswer& other : pick->alternatives) {
      Head head = pick->head;
      head.tile = other.tile;
      const auto best = loss_of(with_tile(ask, head));
      REQUIRE(best.has_value());
      CHECK(best->time == pick->predicted->time);
      CHECK(best->loss == doctest::Approx(other.predicted.time / pick->predicted->time - 1));
      if (best->loss > 0) CHECK(best->tile == pick->head.tile);
    }
    CHECK_FALSE(loss_of(ask).has_value());  // no tile is given
    CHECK_FALSE(session.query(with_tile(ask, pick->head))->best.has_value());
    Ask illegal = ask;
    illegal.tile = {{"x", "4096"}};
    CHECK_FALSE(loss_of(illegal).has_value());
    Ask ideal = ask;
    ideal.kernel = "ideal";
    ideal.tile = {{"q", "128"}};
    CHECK_FALSE(loss_of(ideal).has_value());
  }
}

}  // namespace test_session
