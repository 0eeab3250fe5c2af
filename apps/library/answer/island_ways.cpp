#include "apps/library/answer/island_ways.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "apps/library/question/catalog.hpp"
#include "apps/library/question/many_sizes.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/shared_pipe.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/read/load.hpp"
#include "model/mapping/tile.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t longest_sequence = std::int64_t{1} << 22, rows_of_a_part = 64;

/// A parsed --split: "ring_attention,order=zigzag,gpus=8".
struct SplitText {
  std::string name;
  std::optional<PartOrder> order;
  std::optional<std::int64_t> gpus;
};

SplitText parse_split_text(const std::string& text) {
  SplitText out;
  if (text.empty()) return out;
  for (const std::string& word : parse_words(text, "--split", "NAME,order=zigzag,gpus=8")) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (equals == std::string::npos) {
      if (!out.name.empty()) throw Error("--split", "names two splits: " + out.name + " and " + word, "one");
      out.name = word;
    } else if (key == "order") {
      if (value != "zigzag" && value != "contiguous")
        throw Error("--split", in_quotes(value) + " is no order", one_of(value, {"zigzag", "contiguous"}));
      out.order = value == "zigzag" ? PartOrder::zigzag : PartOrder::contiguous;
    } else if (key == "gpus") {
      out.gpus = parse_number(value, 2, "--split", "gpus");
    } else {
      throw Error("--split", in_quotes(key) + " is no knob of a split", one_of(key, {"order", "gpus"}));
    }
  }
  return out;
}

/// Returns the number of GPUs: the island's, or the user's, which must be whole islands of a network.
std::int64_t gpus_of(const Island& island, const std::optional<std::int64_t>& asked) {
  const std::int64_t all = island.gpus().get();
  if (!asked) return all;
  const std::int64_t inner = island.links.front().joins.get();
  if (*asked > all)
    throw Error("--split", "gpus=" + std::to_string(*asked) + ", and " + island.name + " has " + std::to_string(all),
                "a whole number from 2 to " + std::to_string(all));
  if (*asked > inner && *asked % inner != 0)
    throw Error("--split", "gpus=" + std::to_string(*asked) + " is no number of whole islands",
                "a multiple of " + std::to_string(inner));
  return *asked;
}

std::vector<Split> splits_of(const Ask& ask, const std::string& name) {
  std::vector<Split> out;
  if (!name.empty()) {
    out.push_back(load_split(name, "--split"));
    if (out.back().algorithm != ask.algorithm)
      throw Error("--split", out.back().name + " divides " + out.back().algorithm + ", not " + ask.algorithm,
                  "a split of " + ask.algorithm);
    return out;
  }
  std::vector<std::string> algorithms;
  for (const std::string& each : builtin_splits()) {
    Split split = load_split(each, "--split");
    algorithms.push_back(split.algorithm);
    if (split.algorithm == ask.algorithm) out.push_back(std::move(split));
  }
  if (out.empty()) {
    std::sort(algorithms.begin(), algorithms.end());
    algorithms.erase(std::unique(algorithms.begin(), algorithms.end()), algorithms.end());
    throw Error("--gpu", "no split is known of " + ask.algorithm + " over several GPUs",
                one_of(ask.algorithm, algorithms) + ", or a split of your own: --split FILE.yaml");
  }
  return out;
}

/// Returns true if the kernel launches one block for each node, which stays until the kernel ends.
bool blocks_stay(const Head& head) {
  if (!head.kernel) return false;
  const Mapping mapping = load_mapping(*head.kernel, "--kernel");
  for (const KnobValue& value : head.tile) {
    const auto knob = mapping.find_knob(value.name);
    if (!knob || value.word.empty()) continue;
    const Knob& order = mapping.knobs[static_cast<std::size_t>(*knob)];
    if (order.orders.empty()) continue;
    const auto word = static_cast<std::size_t>(parse_knob(order, value.word, value.name));
    return order.orders[word].tiles != OrderWord::Tiles::launched;
  }
  return false;
}

/// Asks the Session for every shape of launches once.
class Asking {
 public:
  Asking(const Session& session, const IslandQuestion& question, Way& way)
      : session_(session),
        question_(question),
        way_(way),
        bandwidth_(device_pipe(*question.machine).rate),
        launch_(launch_overhead(*question.machine).value) {}

  /// Asks for every launch of the way. Returns "" if all fit, else the reason why a launch does not.
  std::string ask_all() {
    const Division& division = way_.division;
    double all = 0, most = 0;
    for (std::int64_t gpu = 0; gpu < division.gpus; ++gpu) {
      std::vector<StepTime> steps;
      double work = 0;
      const auto launches = steps_of(division, gpu);
      for (std::size_t t = 0; t < launches.size(); ++t) {
        StepTime step;
        for (const DeviceLaunch& launch : launches[t]) {
          const AskedLaunch& asked = known(launch, t == 0);
          if (!asked.answer->predicted || (!asked.answer->legal && asked.answer->launches.empty())) return why(asked);
          step.kernels += asked.answer->predicted->time;
          step.stays = step.stays || asked.stays;
          way_.flops += static_cast<double>(asked.answer->work.flops);
        }
        if (division.gpus > 1) step.adding = seconds(adding_bytes(division, launches[t], t == 0));
        work += step.all();
        steps.push_back(step);
      }
      way_.steps.push_back(std::move(steps));
      all += work;
      most = std::max(most, work);
    }
    way_.finishing = seconds(finishing_bytes(division));
    way_.imbalance = most * static_cast<double>(division.gpus) / all;
    return "";
  }

 private:
  /// Returns the time of a launch that moves `bytes` through device memory; 0 for no bytes.
  [[nodiscard]] double seconds(Bytes bytes) const {
    return bytes.value > Count(0) ? launch_ + real(bytes.value) / bandwidth_ : 0;
  }
  const AskedLaunch& known(const DeviceLaunch& launch, bool first) {
    for (AskedLaunch& one : way_.launches) {
      if (!(one.launch == launch)) continue;
      ++one.count;
      return one;
    }
    AskedLaunch one{launch, 1, session_.query(ask_of(question_, way_.division.split.diagram, launch))};
    one.stays = way_.division.gpus > 1 && blocks_stay(one.answer->head);
    if (way_.division.gpus > 1) one.adding = seconds(adding_bytes(way_.division, {launch}, first));
    return way_.launches.emplace_back(std::move(one));
  }
  static std::string why(const AskedLaunch& asked) {
    if (!asked.answer->violations.empty()) return asked.answer->violations.front().text;
    return "nothing fits on one GPU";
  }

  const Session& session_;
  const IslandQuestion& question_;
  Way& way_;
  double bandwidth_, launch_;
};

/// Computes the way's time. Returns "", or the reason why the way is impossible.
std::string make(const Session& session, const IslandQuestion& question, Way& way) {
  check(way.division, "--shape");
  const Stated& memory = question.machine->levels.front().capacity;
  if (memory.known()) way.memory_limit = static_cast<std::int64_t>(memory.best().value);
  const std::int64_t needed = held(way.division, ring_buffers).value.get();
  if (way.memory_limit && needed > *way.memory_limit)
    return "a GPU would hold " + std::to_string(needed) + " B, and has " + std::to_string(*way.memory_limit);
  if (std::string why = Asking(session, question, way).ask_all(); !why.empty()) return why;
  way.transports = transports_of(way.division, question.island);
  way.held = held_share(question.island, *question.machine);
  way.time = time_of(way.transports, way.steps, way.finishing, way.held);
  return "";
}

Way way_of(const IslandQuestion& question, const Split& split, PartOrder order) {
  Way way;
  way.division.split = split;
  way.division.problem = question.problem;
  way.division.gpus = question.gpus;
  way.division.order = order;
  return way;
}

}  // namespace

NamedSizes sizes_by_name(const Diagram& diagram, const Sizes& sizes) {
  NamedSizes out;
  for (std::size_t i = 0; i < diagram.axes.size(); ++i) out.emplace_back(diagram.axes[i].name, sizes[i].get());
  return out;
}

const AskedLaunch& Way::heaviest() const {
  return *std::max_element(launches.begin(), launches.end(), [](const AskedLaunch& a, const AskedLaunch& b) {
    return static_cast<double>(a.count) * a.answer->predicted->time <
           static_cast<double>(b.count) * b.answer->predicted->time;
  });
}

double Way::time_on(const Island& island) const {
  return time_of(transports_of(division, island), steps, finishing, held).seconds;
}

Ask ask_of(const IslandQuestion& question, const Diagram& diagram, const DeviceLaunch& launch) {
  Ask out = question.ask;
  out.gpu = question.island.gpu;
  out.split.clear();
  out.check = out.compile = false;
  out.shape = sizes_by_name(diagram, launch.problem.sizes);
  out.mask = launch.problem.mask;
  return out;
}

IslandQuestion island_question(const Session& session, const Ask& ask) {
  for (const auto& [given, option] :
       {std::pair{!ask.lengths.empty(), "--lengths"}, std::pair{ask.compile, "--compile"}}) {
    if (given) throw Error(option, "is of one GPU, and " + ask.gpu + " is an island", "leave it out");
  }
  IslandQuestion out;
  out.ask = ask;
  out.island = load_island(ask.gpu, "--gpu");
  const SplitText text = parse_split_text(ask.split);
  out.splits = splits_of(ask, text.name);
  out.gpus = gpus_of(out.island, text.gpus);
  const Diagram& diagram = out.splits.front().diagram;
  Ask one = ask;
  one.gpu = out.island.gpu;
  one.split.clear();
  one.check = false;
  const Question question = question_of(session, one);  // throws for every mistake that a question of one GPU can have
  out.ask.bundled = ask.bundled || keeps_to_bundled(question);
  out.machine = question.machine;
  out.problem = question.problem;
  out.problem.sizes = resolve_sizes(diagram, ask.shape, "--shape");
  out.shape = sizes_by_name(diagram, out.problem.sizes);
  if (text.order) {
    out.orders = {*text.order};
  } else if (ask.mask.kind == Mask::Kind::causal) {
    out.orders = {PartOrder::zigzag, PartOrder::contiguous};
  } else {
    out.orders = {PartOrder::contiguous};
  }
  return out;
}

IslandWays ways_of(const Session& session, const IslandQuestion& question) {
  IslandWays out;
  std::optional<Error> first;
  for (const Split& split : question.splits) {
    const bool deals = split.stream.has_value();  // true if a split axis's parts can be dealt out in several orders
    for (const PartOrder order : question.orders) {
      const bool asked = question.ask.split.find("order=") != std::string::npos;
      if (!deals && !asked && order == PartOrder::zigzag) continue;
      Way way = way_of(question, split, order);
      try {
        if (const std::string why = make(session, question, way); !why.empty()) {
          out.refused.emplace_back(split.name, why);
          continue;
        }
      } catch (const Overflow&) {
        throw;
      } catch (const Error& error) {
        if (!first) first = error;
        out.refused.emplace_back(split.name, error.problem());
        continue;
      }
      out.ways.push_back(std::move(way));
    }
  }
  if (out.ways.empty() && first) throw *first;
  std::stable_sort(out.ways.begin(), out.ways.end(),
                   [](const Way& a, const Way& b) { return a.time.seconds < b.time.seconds; });
  return out;
}

namespace {

/// Finds the least number from 1 to `most` for which `holds` is true; it must stay true above. Searches around `near`.
template <class Holds>
std::optional<std::int64_t> least(const Holds& holds, std::int64_t near, std::int64_t most) {
  std::int64_t below = near - 1, above = near;
  if (holds(near)) {
    for (std::int64_t step = 1; below > 0 && holds(below); step *= 2) above = std::exchange(below, below - step);
  } else {
    for (std::int64_t step = 1; below = std::exchange(above, above + step), above <= most && !holds(above);) step *= 2;
  }
  if (above > most) return std::nullopt;
  below = std::max<std::int64_t>(below, 0);
  while (above - below > 1) {
    const std::int64_t middle = std::midpoint(below, above);
    (holds(middle) ? above : below) = middle;
  }
  return above;
}

/// Returns the question with one kernel and tile for all launches.
IslandQuestion with_tile_of(IslandQuestion question, const Head& head) {
  question.ask.kernel = head.kernel.value_or("ideal");
  question.ask.tile.clear();
  for (const KnobValue& one : head.tile)
    question.ask.tile.emplace_back(one.name, one.word.empty() ? std::to_string(one.number) : one.word);
  return question;
}

}  // namespace

/// Finds the length in two searches, since a selection at each length takes long: first with this way's tile, then near
/// that length with a tile selected for each.
std::optional<std::int64_t> hidden_from(const Session& session, const IslandQuestion& question, const Way& from) {
  const Division& division = from.division;
  const AxisId rows = division.split.group, columns = *division.split.stream;
  if (division.problem.sizes[at(rows)] != division.problem.sizes[at(columns)]) return std::nullopt;
  const auto hidden = [&](const IslandQuestion& asked) {
    return [&](std::int64_t parts) {
      Way way = way_of(asked, division.split, division.order);
      way.division.problem.sizes[at(rows)] = way.division.problem.sizes[at(columns)] =
          Count(parts * division.cuts() * rows_of_a_part);
      if (!Asking(session, asked, way).ask_all().empty()) return false;
      const double held = held_share(asked.island, *asked.machine);
      return time_of(transports_of(way.division, asked.island), way.steps, way.finishing, held).hidden;
    };
  };
  const std::int64_t step = division.cuts() * rows_of_a_part, most = longest_sequence / step;
  const IslandQuestion of_this_tile = with_tile_of(question, from.heaviest().answer->head);
  const std::int64_t near = least(hidden(of_this_tile), 1, most).value_or(1);
  const std::optional<std::int64_t> parts = least(hidden(question), near, most);
  if (!parts) return std::nullopt;
  return *parts * step;
}

}  // namespace napkin::internal
