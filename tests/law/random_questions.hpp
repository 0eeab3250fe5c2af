// draw() makes a random question, as a program asks it: shapes from 1 to 2^62, all kernels, GPUs, types and masks;
// Findings has the checks of its answer. Seed 7 of a kind is the same question on every machine.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "apps/library/question/question.hpp"
#include "model/diagram/library.hpp"
#include "model/diagram/packing.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/read/load.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::test {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random_)];
  }
  bool once_in(int n) { return std::uniform_int_distribution<int>(1, n)(random_) == 1; }
  /// Returns a random size, evenly over the powers of two.
  std::int64_t size(int most_bits) {
    const double bits = std::uniform_real_distribution<double>(0, most_bits)(random_);
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::exp2(std::min(bits, 62.0))), 1);
  }
  /// Returns a random length: mostly one that fits a GPU, sometimes one that fits no machine.
  std::int64_t length() { return once_in(12) ? size(62) : size(15); }

 private:
  std::mt19937_64 random_;
};

/// The properties that the questions of one session share, so that its tables serve several of them.
struct QuestionKind {
  std::string gpu, dtype;
  // Width of a head and heads that share keys, each with one that is drawn for once in so many: a table each.
  std::int64_t head = 128, odd_head = 1, queries = 1, odd_queries = 1;
  bool masks = false;
  // Lengths and windows that fifteen of sixteen questions combine, so that a row of a table serves more than one; none:
  // every question draws its own.
  std::vector<std::int64_t> lengths;
  std::vector<Mask> windows;
};

inline QuestionKind kind_of(Draw& draw) {
  QuestionKind kind;
  kind.gpu = draw.once_in(3) ? "h200-sxm" : draw.of(builtin_machines());
  kind.dtype = draw.of<std::string>({"bf16", "bf16", "bf16", "f16", "e4m3", "f32"});
  kind.head = draw.of<std::int64_t>({64, 128, 128, 96, 256});
  kind.odd_head = draw.size(draw.once_in(2) ? 10 : 62);
  kind.queries = draw.of<std::int64_t>({1, 1, 4, 8});
  kind.odd_queries = draw.size(6);
  kind.masks = draw.once_in(2);
  return kind;
}

/// Returns true if the axis is the size of a dimension that other axes read, and so has a default.
inline bool is_rows(const Diagram& diagram, const Axis& axis) {
  const AxisId id = diagram.axis(axis.name);
  return std::none_of(diagram.arrays.begin(), diagram.arrays.end(), [&](const Array& array) { return array.has(id); });
}

inline std::int64_t length_of(Draw& draw, const QuestionKind& kind) {
  return kind.lengths.empty() || draw.once_in(16) ? draw.length() : draw.of(kind.lengths);
}

inline NamedSizes shape_of(Draw& draw, const QuestionKind& kind, const Diagram& diagram) {
  NamedSizes shape;
  for (const Axis& axis : diagram.axes) {
    if (std::holds_alternative<AxisId>(axis.fallback)) continue;
    const bool fallback = std::holds_alternative<std::int64_t>(axis.fallback);
    if ((fallback || is_rows(diagram, axis)) && draw.once_in(2)) continue;
    const bool head = axis.name == "d";
    std::int64_t size = fallback ? draw.size(6) : length_of(draw, kind);
    if (axis.name == "g") size = draw.once_in(20) ? kind.odd_queries : kind.queries;
    if (head) size = draw.once_in(10) ? kind.odd_head : kind.head;
    shape.emplace_back(axis.name, size);
  }
  return shape;
}

inline Mask window_of(Draw& draw) {
  return {Mask::Kind::window, draw.once_in(4) ? draw.size(62) : draw.size(12), draw.once_in(2) ? 0 : draw.size(10)};
}

inline Mask mask_of(Draw& draw, const QuestionKind& kind) {
  if (draw.once_in(2)) return {};
  if (draw.once_in(2)) return {Mask::Kind::causal, 0, 0};
  return kind.windows.empty() || draw.once_in(16) ? window_of(draw) : draw.of(kind.windows);
}

inline Ask ask_of(Draw& draw, const QuestionKind& kind) {
  Ask ask;
  ask.algorithm =
      draw.of<std::string>({"attention", "attention", "attention", "attention", "attention", "attention", "matmul",
                            "matmul", "matmul", "mlp", "softmax_contraction", "convolution_1d", "sliding_window",
                            "mixture_of_experts", "paged_attention", "int4_matmul", "max_pooling", "convolution_2d"});
  const Diagram diagram = load_diagram(ask.algorithm);
  ask.gpu = kind.gpu;
  ask.shape = shape_of(draw, kind, diagram);
  ask.dtype = kind.dtype;
  if (kind.masks && !mask_axes(diagram).empty()) ask.mask = mask_of(draw, kind);
  if (draw.once_in(6)) {
    std::vector<std::string> kernels = peers_mappings(ask.algorithm);
    for (const std::string& name : bundled_mappings(ask.algorithm)) kernels.push_back(name);
    kernels.emplace_back("ideal");
    ask.kernel = draw.of(kernels);
  }
  return ask;
}

/// Returns the kind that the first seed of a session draws, with that many lengths in common.
inline QuestionKind kind_of(std::uint64_t first_seed, int lengths = 0) {
  Draw draw(first_seed * 1000003);
  QuestionKind kind = kind_of(draw);
  for (int i = 0; i < lengths; ++i) kind.lengths.push_back(draw.length());
  for (int i = 0; i < lengths; i += 4) kind.windows.push_back(window_of(draw));
  return kind;
}
inline Ask ask_of(std::uint64_t seed, const QuestionKind& kind) {
  Draw draw(seed);
  return ask_of(draw, kind);
}

inline std::string command_of(const Ask& ask) {
  std::string text = "napkin select " + ask.algorithm + " --gpu " + ask.gpu + " --dtype " + ask.dtype + " --shape ";
  for (const auto& [axis, size] : ask.shape)
    text += (&axis == &ask.shape.front().first ? "" : ",") + axis + "=" + std::to_string(size);
  if (!ask.kernel.empty()) text += " --kernel " + ask.kernel;
  if (ask.mask.kind == Mask::Kind::causal) text += " --causal";
  if (ask.mask.kind == Mask::Kind::window)
    text += " --window " + std::to_string(ask.mask.left) + "," + std::to_string(ask.mask.right);
  return text;
}

/// Writes the properties that questions of one table share: the question without sizes except those of heads, and the
/// mask's kind.
inline std::string kind_text(Ask ask) {
  std::erase_if(ask.shape, [](const auto& size) { return size.first != "d" && size.first != "g"; });
  ask.mask.left = ask.mask.right = 0;
  return command_of(ask);
}

/// The findings of one question: how often each property was checked, and which checks failed.
class Findings {
 public:
  enum class Came { answered, fits_nowhere, refused };

  void hold(bool right, const std::string& what) {
    ++checks;
    if (!right) wrong.push_back(what);
  }
  void equal(double is, double expected, const std::string& what) {
    constexpr double within = 1e-9;
    hold(std::abs(is - expected) <= within * std::abs(expected),
         what + " differs by a part of " + std::to_string(is / expected - 1));
  }

  Came came = Came::refused;
  int checks = 0;
  std::vector<std::string> wrong;
};

inline void check_prediction(const PredictedAnswer& predicted, Findings& found) {
  for (const double number : {predicted.cycles, predicted.clock, predicted.time})
    found.hold(std::isfinite(number) && number > 0, "a time that is none: " + std::to_string(number));
  found.hold(std::isfinite(predicted.tflops) && predicted.tflops >= 0, "TFLOP/s that are none");
  found.hold(!predicted.bound.empty(), "nothing binds");
  found.hold(predicted.nodes.busy >= 1 && predicted.nodes.busy <= predicted.nodes.all, "busy nodes");
  for (const auto& [name, busy] : predicted.pipes)
    found.hold(busy >= 0 && busy <= 1.0000001, name + " is busy " + std::to_string(busy));
}

inline void check_levels(const std::vector<LevelAnswer>& levels, Findings& found) {
  for (const LevelAnswer& level : levels) {
    found.hold(level.transfer == level.load + level.store, "transfer is not load and store");
    found.hold(level.load >= 0 && level.store >= 0, "bytes below zero");
    found.hold(level.groups >= 1, "no group");
    if (level.memory_limit)
      found.hold(level.memory_lower_bound <= *level.memory_limit, level.name + " holds more than there is");
    if (level.time) found.hold(std::isfinite(*level.time), "a level's time");
  }
}

inline TileText text_of(const TileValues& tile) {
  TileText text;
  for (const KnobValue& knob : tile)
    text.emplace_back(knob.name, knob.word.empty() ? std::to_string(knob.number) : knob.word);
  return text;
}

/// Queries the ideal mapping with all sizes 1, a tile that needs no search.
inline std::shared_ptr<const QueryAnswer> smallest_tile(const Session& session, Ask ask) {
  const Question question = question_of(session, ask);
  for (const Knob& knob : question.setups.front().mapping->knobs) ask.tile.emplace_back(knob.name, "1");
  return session.query(ask);
}

/// Checks a time against the bound below which no kernel goes, whatever its tile.
inline void check_bound(const Session& session, Ask ask, double time, bool of_the_smallest, Findings& found) {
  ask.kernel = "ideal";
  ask.tile.clear();
  const auto bound = of_the_smallest ? smallest_tile(session, ask) : session.query(ask);
  if (bound->predicted)
    found.hold(bound->predicted->time <= time * 1.0000001,
               "the bound " + std::to_string(bound->predicted->time) + " is slower than " + std::to_string(time));
}

/// Checks that no bound of a level or a launch lies above the answered tile. Laws count masked pairs too.
inline void check_laws(const QueryAnswer& query, Findings& found) {
  constexpr double rounding = 1.000001;
  double launches = 0;
  for (const LaunchAnswer& launch : query.launches) launches += launch.predicted ? launch.predicted->time : 0;
  if (!query.launches.empty() && query.predicted)
    found.hold(query.predicted->time <= launches * rounding, "the launches of a call are faster than its bound");
  if (query.head.mask.kind != Mask::Kind::none || !query.launches.empty()) return;
  const auto moved = [&](const LevelLaw& law) {
    const auto level =
        std::find_if(query.levels.begin(), query.levels.end(), [&](const auto& l) { return l.name == law.name; });
    if (level == query.levels.end()) return static_cast<double>(INFINITY);
    // The law counts results of f32 in the level; a tile may hold them below, in registers, and be larger for it.
    constexpr double widest = 4;  // f32 of results that are stored as e4m3
    const double results = widest * static_cast<double>(level->store) / static_cast<double>(level->groups);
    const bool below = static_cast<double>(level->memory_lower_bound) + results > law.memory;
    return below ? static_cast<double>(INFINITY) : static_cast<double>(level->transfer);
  };
  const auto& laws = query.laws;  // of a cache: of one that holds no more than its nodes do
  if (laws && !laws->levels.empty()) {
    const LevelLaw& law = laws->levels.back();
    found.hold(law.transfer <= moved(law) * rounding, "the law of " + law.name + " lies above a tile");
  }
}

/// Queries the selected tile: it must be legal, have the same time, TFLOP/s by its work, and not go below the bound.
inline void check_selected(const Session& session, Ask ask, const SelectAnswer& selected, bool of_the_smallest,
                           Findings& found) {
  check_prediction(*selected.predicted, found);
  check_levels(selected.levels, found);
  found.hold(!selected.because.empty(), "no reason");
  ask.kernel = selected.head.kernel.value_or("ideal");
  ask.tile = text_of(selected.head.tile);
  const auto query = session.query(ask, {.formulas = true});
  found.hold(query->legal, "select's tile is not legal");
  found.hold(query->predicted.has_value(), "select's tile has no time");
  if (!query->predicted) return;
  found.equal(query->predicted->time, selected.predicted->time, "query's time");
  const double work = static_cast<double>(query->work.flops);
  found.equal(query->predicted->tflops * 1e12 * query->predicted->time, work, "TFLOP/s times time");
  found.hold(query->work.executed_flops >= query->work.flops, "less is executed than there is");
  check_laws(*query, found);
  if (selected.head.kernel) check_bound(session, ask, selected.predicted->time, of_the_smallest, found);
}

/// Asks a question and checks the answer. `of_the_smallest`: takes the bound of the ideal mapping's smallest tile in
/// place of its selected one.
inline Findings ask_one(const Session& session, const Ask& ask, bool of_the_smallest) {
  Findings found;
  try {
    const auto selected = session.select(ask, 3, {.reasons = true});
    found.came = selected->predicted ? Findings::Came::answered : Findings::Came::fits_nowhere;
    if (selected->predicted) {
      check_selected(session, ask, *selected, of_the_smallest, found);
    } else {
      found.hold(!selected->because.empty(), "no reason why nothing fits");
      found.hold(!selected->found, "found, without a time");
    }
  } catch (const Error& error) {
    found.came = Findings::Came::refused;
    const std::string what = error.what();
    found.hold(!what.empty() && what.find('\n') == std::string::npos, "an error of no line or of several");
  } catch (const std::exception& error) {
    found.hold(false, std::string("an exception that is no Error: ") + error.what());
  }
  return found;
}

/// A watch of the seconds since it was made: elapsed time, or this thread's processor time if that is less.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - wall_;
    return std::min(wall.count(), thread_seconds() - cpu_);
  }
  static double thread_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

 private:
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
  double cpu_ = thread_seconds();
};

}  // namespace napkin::internal::test
