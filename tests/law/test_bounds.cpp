// Every legal tile moves at least as much as the bound, and formulas have the values of the tables: random questions of
// every algorithm, on the abstract machine and on GPUs.

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "model/diagram/reindex.hpp"
#include "tests/law/random_questions.hpp"
#include "tests/support/case_count.hpp"

namespace test_bounds {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

/// A printed sum of products that can be evaluated: "2 g_q d + 2 (i - 2) d / (g_g g_q)".
class Formula {
 public:
  Formula(const std::string& text, const QueryAnswer& answer) : text_(text), answer_(answer) {}

  double value() {
    double sum = 0, sign = 1;
    for (;;) {
      sum += sign * product();
      skip();
      if (at_ == text_.size() || (text_[at_] != '+' && text_[at_] != '-')) return sum;
      sign = text_[at_++] == '+' ? 1 : -1;
    }
  }
  [[nodiscard]] bool read_all() const { return at_ == text_.size(); }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  double product() {
    double result = 1;
    for (bool below = false;;) {
      skip();
      if (at_ == text_.size() || text_[at_] == ')' || text_[at_] == '+' || text_[at_] == '-') return result;
      if (text_[at_] == '/') {
        below = true;
        ++at_;
        continue;
      }
      result = below ? result / factor() : result * factor();
    }
  }
  double factor() {
    double base = 0;
    if (text_[at_] == '(') {
      const std::size_t open = at_++;
      base = text_.find('/', open) == open ? 0 : inner();
      ++at_;  // ')'
    } else if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      std::size_t used = 0;
      base = std::stod(text_.substr(at_), &used);
      at_ += used;
    } else {
      std::size_t end = at_;
      while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
        ++end;
      base = size_of(text_.substr(at_, end - at_));
      at_ = end;
    }
    if (at_ < text_.size() && text_[at_] == '^') {
      ++at_;
      return std::pow(base, factor());
    }
    return base;
  }
  double inner() {
    Formula part(text_.substr(at_, text_.find(')', at_) - at_), answer_);
    const double value = part.value();
    at_ = text_.find(')', at_);
    return value;
  }
  double size_of(const std::string& name) const {
    const bool part = name.starts_with("g_") || name.starts_with("s_");
    const std::string axis = part ? name.substr(2) : name;
    double size = 0;
    for (const auto& [known, whole] : answer_.head.shape) {
      if (known == axis) size = static_cast<double>(whole);
    }
    for (const KnobValue& knob : answer_.head.tile) {
      if (part && knob.name == axis) return std::min(static_cast<double>(knob.number), size);
    }
    if (size > 0) return size;
    FAIL("no axis ", name);
    return 0;
  }

  const std::string text_;
  const QueryAnswer& answer_;
  std::size_t at_ = 0;
};

struct Asked {
  int all = 0, legal = 0;
};

/// Returns true if chunks or groups of an axis read some rows more than once. The bound then is of chunks of 1, and
/// counts each row once.
bool reads_rows_twice(const Ask& ask) {
  const Diagram diagram = load_diagram(ask.algorithm);
  return std::any_of(diagram.arrays.begin(), diagram.arrays.end(),
                     [](const Array& array) { return is_shifted(array); });
}

/// Returns a random question of the abstract machine with a random tile.
Ask abstract_question(std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Ask ask;
  const std::vector<std::string> names = builtin_diagrams();
  ask.algorithm = names[below(names.size())];
  const Diagram diagram = load_diagram(ask.algorithm);
  const auto same = static_cast<std::int64_t>(1 + below(40));
  for (const Axis& axis : diagram.axes) {
    if (is_rows(diagram, axis)) continue;
    const bool fallback = !std::holds_alternative<std::monostate>(axis.fallback);
    if (fallback && random() % 2 == 0) continue;
    ask.shape.emplace_back(axis.name, random() % 2 == 0 ? same : static_cast<std::int64_t>(1 + below(40)));
  }
  ask.memory = static_cast<std::int64_t>(1) << (4 + below(16));
  if (!mask_axes(diagram).empty() && random() % 3 == 0) ask.mask = {Mask::Kind::causal, 0, 0};
  return ask;
}

void check_abstract(const Session& session, Ask ask, std::mt19937_64& random, Asked& asked) {
  CAPTURE(command_of(ask));
  std::shared_ptr<const QueryAnswer> best;
  try {
    best = session.query(ask, {.formulas = true});
  } catch (const Error&) {
    return;  // these sizes exclude each other
  }
  ++asked.all;
  std::vector<std::shared_ptr<const QueryAnswer>> answers = {best};
  for (int i = 0; i < 4; ++i) {
    ask.tile.clear();
    for (const KnobValue& knob : best->head.tile) {
      const std::int64_t most = std::max<std::int64_t>(knob.number * 2, 4);
      ask.tile.emplace_back(knob.name,
                            std::to_string(1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most))));
    }
    answers.push_back(session.query(ask, {.formulas = true}));
  }
  for (const auto& answer : answers) {
    const LevelAnswer& low = answer->levels.front();
    std::string tile;
    for (const auto& [name, size] : text_of(answer->head.tile)) tile += name + "=" + size + " ";
    CAPTURE(tile);
    const std::string& memory = answer->formula.memory;
    Formula formula(memory, *answer);
    CHECK_MESSAGE(formula.value() == doctest::Approx(static_cast<double>(low.memory_lower_bound)), memory);
    CHECK(formula.read_all());
    if (!answer->legal || !answer->optimum) continue;
    ++asked.legal;
    const OptimumAnswer& optimum = *answer->optimum;
    const auto moved = static_cast<double>(low.transfer);
    if (ask.mask.kind == Mask::Kind::none) CHECK_MESSAGE(optimum.transfer <= moved * 1.000001, optimum.formula);
    if (const auto& integer = optimum.integer; integer && !reads_rows_twice(ask)) {
      CHECK(integer->transfer <= low.transfer);
      if (ask.mask.kind == Mask::Kind::none)
        CHECK(optimum.transfer <= static_cast<double>(integer->transfer) * 1.000001);
    }
  }
  if (best->optimum && best->optimum->integer)  // the tile that select fills in is the best
    CHECK(best->levels.front().transfer == best->optimum->integer->transfer);
}

}  // namespace

TEST_CASE("the abstract machine: no bound above a tile that fits, formula = table, the tile filled in is the best") {
  std::mt19937_64 random(20261127);
  const Session session;
  Asked asked;
  for (int i = 0; i < napkin::internal::test::rounds(400); ++i) {
    const Ask ask = abstract_question(random);
    check_abstract(session, ask, random, asked);
  }
  MESSAGE(asked.all, " questions, ", asked.legal, " tiles that fit");
  CHECK(asked.legal > asked.all);
}

TEST_CASE("a mask over an axis that one launch does not walk spares the bound its hidden pairs all the same") {
  const auto path = std::filesystem::temp_directory_path() / ("napkin-prefix-" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << R"(algorithm: prefix
axes: {q: , p: , x: , d: }
inputs: ["Q[q,d]", "K[p,d]", "V[p,d]", "KX[x,d]", "VX[x,d]"]
operations:
  - S[q,p] = contract over d (Q, K)
  - P[q,p], L[q] = softmax over p (S) scale d^-1/2
  - O[q,d] = contract over p (P, V)
  - SX[q,x] = contract over d (Q, KX)
  - PX[q,x], LX[q] = softmax over x (SX) scale d^-1/2 mask (q, x)
  - OX[q,d] = contract over x (PX, VX)
outputs: [O, L, OX, LX]
)";
  Ask ask;
  ask.algorithm = path;
  ask.gpu = "h100-sxm";
  ask.shape = {{"q", 65536}, {"p", 1024}, {"x", 57344}, {"d", 128}};
  ask.mask = {Mask::Kind::window, 1024, 0};
  const auto answer = Session().query(ask);
  std::filesystem::remove(path);
  CHECK(answer->launches.size() == 2);
  REQUIRE(answer->predicted);
  double together = 0;
  for (const LaunchAnswer& launch : answer->launches) together += launch.predicted->time;
  CHECK(answer->predicted->time <= together);
  CHECK(answer->predicted->time > together / 2);
  const Count seen = visible_pairs(ask.mask, 65536, 57344);
  CHECK(answer->work.flops == (Count(4 * 128) * (Count(65536 * 1024) + seen)).get());
}

}  // namespace test_bounds
