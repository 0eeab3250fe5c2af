// Random questions, as a program asks them: shapes from 1 to 2^62, all kernels, GPUs, types and masks. Each is answered
// or refused with an Error; what is answered holds together.

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "apps/library/napkin.hpp"
#include "model/diagram/library.hpp"
#include "model/diagram/packing.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/load.hpp"
#include "tests/rounds.hpp"

namespace test_random_questions {

using namespace napkin;

namespace {

constexpr double most_seconds =
    5;  // of one question, of this process or of the clock: other processes may have the cores
constexpr long most_memory = 2L << 20;  // KiB

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random_)];
  }
  bool once_in(int n) { return std::uniform_int_distribution<int>(1, n)(random_) == 1; }
  /// Evenly over the powers of two.
  std::int64_t size(int most_bits) {
    const double bits = std::uniform_real_distribution<double>(0, most_bits)(random_);
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::exp2(std::min(bits, 62.0))), 1);
  }
  /// Mostly a problem that fits a GPU, sometimes none that fits anything.
  std::int64_t length() { return once_in(12) ? size(62) : size(15); }

 private:
  std::mt19937_64 random_;
};

/// What the questions of one session have in common, so that its tables serve more than one of them.
struct Kind {
  std::string gpu, dtype;
  std::int64_t head = 128, queries = 1;  // width of a head, heads that share keys: a table each
  bool masks = false;
};

Kind kind_of(Draw& draw) {
  Kind kind;
  kind.gpu = draw.once_in(3) ? "h200-sxm" : draw.of(builtin_machines());
  kind.dtype = draw.of<std::string>({"bf16", "bf16", "bf16", "f16", "e4m3", "f32"});
  kind.head = draw.of<std::int64_t>({64, 128, 128, 96, 256});
  kind.queries = draw.of<std::int64_t>({1, 1, 4, 8});
  kind.masks = draw.once_in(2);
  return kind;
}

/// Whether it is the size of a dimension that others read: it has a default without saying so.
bool is_rows(const Diagram& diagram, const Axis& axis) {
  const AxisId id = diagram.axis(axis.name);
  return std::none_of(diagram.arrays.begin(), diagram.arrays.end(), [&](const Array& array) { return array.has(id); });
}

NamedSizes shape_of(Draw& draw, const Kind& kind, const Diagram& diagram) {
  NamedSizes shape;
  for (const Axis& axis : diagram.axes) {
    if (std::holds_alternative<AxisId>(axis.fallback)) continue;
    const bool fallback = std::holds_alternative<std::int64_t>(axis.fallback);
    if ((fallback || is_rows(diagram, axis)) && draw.once_in(2)) continue;
    const bool head = axis.name == "d";
    std::int64_t size = fallback ? draw.size(6) : draw.length();
    if (axis.name == "g" && !draw.once_in(20)) size = kind.queries;
    if (head) size = draw.once_in(10) ? draw.size(62) : kind.head;
    shape.emplace_back(axis.name, size);
  }
  return shape;
}

Mask mask_of(Draw& draw) {
  if (draw.once_in(2)) return {};
  if (draw.once_in(2)) return {Mask::Kind::causal, 0, 0};
  return {Mask::Kind::window, draw.once_in(4) ? draw.size(62) : draw.size(12), draw.once_in(2) ? 0 : draw.size(10)};
}

Ask ask_of(Draw& draw, const Kind& kind) {
  Ask ask;
  ask.algorithm =
      draw.of<std::string>({"attention", "attention", "attention", "attention", "attention", "attention", "matmul",
                            "matmul", "matmul", "mlp", "softmax_contraction", "convolution_1d", "sliding_window",
                            "mixture_of_experts", "paged_attention", "int4_matmul", "max_pooling", "convolution_2d"});
  const Diagram diagram = load_diagram(ask.algorithm);
  ask.gpu = kind.gpu;
  ask.shape = shape_of(draw, kind, diagram);
  ask.dtype = kind.dtype;
  if (kind.masks && !mask_axes(diagram).empty()) ask.mask = mask_of(draw);
  if (draw.once_in(6)) {
    std::vector<std::string> kernels = peers_mappings(ask.algorithm);
    for (const std::string& name : bundled_mappings(ask.algorithm)) kernels.push_back(name);
    kernels.emplace_back("ideal");
    ask.kernel = draw.of(kernels);
  }
  return ask;
}

std::string text_of(const Ask& ask) {
  std::string text = "napkin select " + ask.algorithm + " --gpu " + ask.gpu + " --dtype " + ask.dtype + " --shape ";
  for (const auto& [axis, size] : ask.shape)
    text += (&axis == &ask.shape.front().first ? "" : ",") + axis + "=" + std::to_string(size);
  if (!ask.kernel.empty()) text += " --kernel " + ask.kernel;
  if (ask.mask.kind == Mask::Kind::causal) text += " --causal";
  if (ask.mask.kind == Mask::Kind::window)
    text += " --window " + std::to_string(ask.mask.left) + "," + std::to_string(ask.mask.right);
  return text;
}

void check_prediction(const PredictedAnswer& predicted) {
  for (const double number : {predicted.cycles, predicted.clock, predicted.time}) {
    CHECK(std::isfinite(number));
    CHECK(number > 0);
  }
  CHECK(std::isfinite(predicted.tflops));
  CHECK(predicted.tflops >= 0);
  CHECK_FALSE(predicted.bound.empty());
  CHECK(predicted.nodes.busy >= 1);
  CHECK(predicted.nodes.busy <= predicted.nodes.all);
  for (const auto& [name, busy] : predicted.pipes) {
    CHECK(busy >= 0);
    CHECK(busy <= 1.0000001);
  }
}

void check_levels(const std::vector<LevelAnswer>& levels) {
  for (const LevelAnswer& level : levels) {
    CHECK(level.transfer == level.load + level.store);
    CHECK(level.load >= 0);
    CHECK(level.store >= 0);
    CHECK(level.groups >= 1);
    if (level.memory_limit) CHECK(level.memory_lower_bound <= *level.memory_limit);
    if (level.time) CHECK(std::isfinite(*level.time));
  }
}

TileText text_of(const TileValues& tile) {
  TileText text;
  for (const KnobValue& knob : tile)
    text.emplace_back(knob.name, knob.word.empty() ? std::to_string(knob.number) : knob.word);
  return text;
}

/// The tile that select gives, asked about: legal, of that time, TFLOP/s by its work; none goes below the bound.
void check_selected(const Session& session, Ask ask, const SelectAnswer& selected) {
  check_prediction(*selected.predicted);
  check_levels(selected.levels);
  CHECK_FALSE(selected.because.get().empty());
  ask.kernel = selected.head.kernel.value_or("ideal");
  ask.tile = text_of(selected.head.tile);
  const auto query = session.query(ask);
  CHECK(query->legal);
  REQUIRE(query->predicted);
  CHECK(query->predicted->time == doctest::Approx(selected.predicted->time).epsilon(1e-9));
  const double work = static_cast<double>(query->work.flops);
  CHECK(query->predicted->tflops * 1e12 * query->predicted->time == doctest::Approx(work).epsilon(1e-9));
  CHECK(query->work.executed_flops >= query->work.flops);
  if (!selected.head.kernel) return;
  ask.kernel = "ideal";
  ask.tile.clear();
  const auto bound = session.query(ask);
  if (bound->predicted) CHECK(bound->predicted->time <= selected.predicted->time * 1.0000001);
}

struct Outcome {
  int answered = 0, nothing = 0, refused = 0;
  double longest = 0;  // seconds
  std::string longest_question;
};

/// Seconds since it was made: of the clock, or where other processes have the cores, of this process.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - wall_;
    return std::min(wall.count(), static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC);
  }

 private:
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
  std::clock_t cpu_ = std::clock();
};

void ask_one(const Session& session, const Ask& ask, Outcome& outcome) {
  try {
    const auto selected = session.select(ask, 3);
    if (!selected->predicted) {
      ++outcome.nothing;
      CHECK_FALSE(selected->because.get().empty());
      CHECK_FALSE(selected->found);
      return;
    }
    ++outcome.answered;
    check_selected(session, ask, *selected);
  } catch (const Error& error) {
    ++outcome.refused;
    const std::string what = error.what();
    CHECK_FALSE(what.empty());
    CHECK(what.find('\n') == std::string::npos);
  }
}

/// A kind that is new costs its tables, up to ten seconds of grouped queries; the next question of it milliseconds.
/// `NAPKIN_QUESTIONS=N` asks so many, `NAPKIN_SEED=S` from there on: the next part of the million.
int asked_for(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// A new folder for tables: those of random questions are of no use to anybody.
std::filesystem::path own_tables() {
  auto folder = std::filesystem::temp_directory_path() / ("napkin-random-" + std::to_string(::getpid()));
  ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  return folder;
}

/// A kind of question for each session of so many.
void ask_all(int count, int first, double seconds, int questions_of_a_session) {
  const auto folder = own_tables();
  Outcome outcome;
  auto session = std::make_unique<Session>();
  Kind kind;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begin;
    if (so_far.count() > seconds) count = i;
    if (i == count) break;
    if (i % questions_of_a_session == 0) {
      session = std::make_unique<Session>();
      std::filesystem::remove_all(folder);
      Draw of_session(static_cast<std::uint64_t>(first + i) * 1000003);
      kind = kind_of(of_session);
    }
    Draw draw(static_cast<std::uint64_t>(first + i));
    const Ask ask = ask_of(draw, kind);
    CAPTURE(i);
    CAPTURE(text_of(ask));
    const Stopwatch watch;
    ask_one(*session, ask, outcome);
    const double took = watch.seconds();
    if (test::rounds(100) == 100) CHECK(took < most_seconds);  // not under a sanitizer
    if (took > outcome.longest) outcome.longest = took, outcome.longest_question = text_of(ask);
  }
  std::filesystem::remove_all(folder);
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  if (test::rounds(100) == 100) CHECK(used.ru_maxrss < most_memory);
  MESSAGE(count << " questions: " << outcome.answered << " answered, " << outcome.nothing << " fit nowhere, "
                << outcome.refused << " refused; " << used.ru_maxrss / 1024 << " MiB; the longest took "
                << outcome.longest << " s: " << outcome.longest_question);
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
  constexpr double most = 2;  // seconds of a core that other processes share
  const auto folder = own_tables();
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
        asked("convolution_2d", "h200-sxm", "bf16", {{"b", 30}, {"i", 200}, {"j", 300}, {"c", 64}, {"o", 48}}),
        asked("max_pooling", "h200-sxm", "f32", {{"b", 60}, {"i", 2000}, {"j", 3000}, {"c", 3}})}) {
    CAPTURE(text_of(ask));
    const Session session;
    const Stopwatch watch;
    ask_one(session, ask, outcome);
    if (test::rounds(100) == 100) CHECK(watch.seconds() < most);  // not under a sanitizer
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("random questions: a thousand of ten kinds") {
  ask_all(asked_for("NAPKIN_QUESTIONS", test::rounds(1000)), asked_for("NAPKIN_SEED", 1), 550, 100);
}

TEST_SUITE("slow") {
  TEST_CASE("random questions: a million of a thousand kinds, or what two hours hold") {
    ask_all(asked_for("NAPKIN_QUESTIONS", test::rounds(1000000)), asked_for("NAPKIN_SEED", 1000000), 7200, 1000);
  }
}

}  // namespace test_random_questions
