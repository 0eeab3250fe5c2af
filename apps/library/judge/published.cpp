#include "apps/library/judge/published.hpp"

#include <algorithm>
#include <cmath>

#include "apps/library/judge/published_names.hpp"
#include "apps/library/judge/replay.hpp"
#include "apps/library/question/catalog.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/kind.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "model/base/library.hpp"
#include "model/clock/prediction.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/read/load.hpp"
#include "model/resource/resources.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal {
namespace {

constexpr double tera = 1e12;

/// The reason why a row cannot be asked: its kind, and details.
struct Refusal {
  std::string reason, detail;
};

void need(const std::optional<std::int64_t>& size) {
  if (!size) throw Refusal{"its sizes or its mask are not stated", ""};
}

NamedSizes shape_of(const PublishedRow& row) {
  if (row.product()) {
    need(row.m), need(row.n), need(row.k);
    return {{"a", *row.m}, {"b", *row.k}, {"c", *row.n}};
  }
  need(row.b), need(row.h), need(row.q), need(row.d);
  if (row.latent())
    return {{"b", *row.b},   {"h", *row.h},           {"q", *row.q}, {"x", row.x.value_or(*row.q)},
            {"c", *row.d_v}, {"r", *row.d - *row.d_v}};
  const std::int64_t kv = row.h_kv.value_or(*row.h);
  return {{"b", *row.b},
          {"h", kv},
          {"g", *row.h / kv},
          {"q", *row.q},
          {"x", row.x.value_or(*row.q)},
          {"d", *row.d},
          {"dv", row.d_v.value_or(*row.d)}};
}

/// The profiles and mappings that the rows of a call name, each read once. Not thread-safe.
class Parts {
 public:
  /// Returns the profile, by an alias too; nullptr where there is none of that name.
  [[nodiscard]] std::shared_ptr<const Machine> machine(const std::string& name) {
    const bool there = names_file(name) || lists(machines_, name) ||
                       std::any_of(aliases_.begin(), aliases_.end(), [&](const auto& a) { return a.first == name; });
    return there ? catalog_.machine(name) : nullptr;
  }
  [[nodiscard]] bool is_mapping(const std::string& name) const { return names_file(name) || lists(mappings_, name); }
  [[nodiscard]] std::shared_ptr<const Mapping> mapping(const std::string& name) {
    return catalog_.mapping(name, "kernel");
  }
  [[nodiscard]] std::shared_ptr<const Diagram> diagram(const std::string& name) { return catalog_.diagram(name); }

 private:
  Catalog catalog_;
  std::vector<std::string> machines_ = builtin_machines(), mappings_ = builtin_mappings();
  std::vector<std::pair<std::string, std::string>> aliases_ = builtin_aliases();
};

std::string profile_of(const PublishedRow& row, Parts& parts) {
  const std::string* listed = published_names().profile(row.gpu);
  const std::string& name = listed != nullptr ? *listed : row.gpu;
  const std::shared_ptr<const Machine> machine = parts.machine(name);
  if (machine == nullptr) throw Refusal{"no profile of the GPU", ""};
  return names_file(name) ? name : machine->name;
}

/// Finds a kernel of the table, or one that the row calls by a mapping's name or path.
PublishedKernel kernel_of(const PublishedRow& row, const std::string& algorithm, Parts& parts, bool divided = true) {
  const PublishedNames& names = published_names();
  if (const auto* no = names.no_judge(row.kernel)) throw Refusal{"no judge: " + no->why, no->named};
  const char* none = algorithm == "attention_backward" ? "no mapping of its backward pass" : "no mapping of the kernel";
  if (const PublishedKernel* listed = names.kernel(row, algorithm, divided)) {
    const auto known = [&](const std::string& mapping) { return parts.is_mapping(mapping); };
    if (!std::any_of(listed->mappings.begin(), listed->mappings.end(), known)) throw Refusal{none, ""};
    return *listed;
  }
  if (!parts.is_mapping(row.kernel) || parts.mapping(row.kernel)->algorithm != algorithm) throw Refusal{none, ""};
  PublishedKernel direct;
  direct.algorithm = algorithm;
  direct.tile = row.product() ? std::vector<std::string>{"a", "c", "b"} : std::vector<std::string>{"q", "x"};
  direct.mappings = {row.kernel};
  return direct;
}

/// Throws Refusal for a tile that no kernel can run.
void check_legal(const std::vector<Violation>& violations, const PublishedRow& row) {
  for (const Violation& v : violations) {  // rules that every tile of the mapping breaks
    if (v.constraint == "dtype") throw Refusal{"its mapping does not take the element type", row.dtype};
    if (v.constraint.starts_with("size of ")) throw Refusal{"its mapping does not take a size", v.constraint};
  }
  if (!violations.empty()) throw Refusal{"its mapping has no legal tile for it", violations.front().constraint};
}

/// Returns the card's conditions as the source states them. A burst counts as sustained if the card's burst limit is
/// not known.
CardConditions conditions_of(const PublishedQuestion& question, const Machine& machine) {
  CardConditions conditions;
  if (question.burst && machine.power.burst) conditions.load.kind = CardLoad::Kind::burst;
  conditions.clock = question.clock;
  conditions.limit = question.power;
  conditions.held = question.held;
  conditions.cold = question.cold_l2;
  return conditions;
}

/// Returns the time that the source's timer measured. If each call begins on an idle stream, the host's time is added;
/// if calls are queued, the call takes at least the host's time.
double timed(const PublishedQuestion& question, Seconds launch) {
  return question.one_by_one ? question.host + launch.value : std::max(question.host, launch.value);
}

/// Returns true if the card can no longer hold the power of a burst by the middle of the timed launches.
bool outlasts_burst(const PublishedQuestion& question, const Machine& machine, Seconds launch) {
  return question.burst && question.launches * launch.value > machine.constant_or("burst_time", HUGE_VAL);
}

/// Fills the answer with the prediction for a tile of the asked mapping, as `query` makes it. Throws Refusal and Error.
void ask_tile(const TileText& tile_text, const Machine& machine, PublishedAnswer& answer) {
  Ask& ask = answer.question.ask;
  ask.tile = tile_text;
  ask.conditions = conditions_of(answer.question, machine);
  const std::unique_ptr<Measurable> measurable = measurable_of(ask);
  const Setup& setup = *measurable->setup;
  const Tile tile = select_tile(measurable->question).tile;
  const Placement placement = place(*measurable->placer, tile);
  check_legal(placement.violations, answer.row());
  const Prediction prediction = setup.workspace->predicted(placement.placed);
  if (outlasts_burst(answer.question, machine, prediction.time)) {
    answer.question.burst = false;
    return ask_tile(tile_text, machine, answer);
  }
  answer.gpu = measurable->question.machine->name;
  answer.architecture = measurable->question.machine->architecture;
  answer.kernel = setup.mapping->name;
  answer.tile = values_of(*setup.mapping, tile);
  answer.predicted = answer_of(prediction);
  answer.by_graph = prediction.iteration.has_value();
  const std::optional<CombineMoved> combined = combine_moved(placement.placed);
  answer.divided = combined && combined->parts > Count(1);
  answer.kind = kind_of(measurable->question, setup, placement.placed, prediction);
  answer.kind.burst = answer.question.burst;
  answer.seconds = timed(answer.question, prediction.time);
  answer.roofline_seconds = timed(answer.question, predict(placement.placed, {.by = ByClock::roofline}).time);
}

/// The fastest of several answers; if there is none, the first refusal.
class Fastest {
 public:
  template <class Asking>
  void offer(const PublishedAnswer& question, const Asking& asking) {
    PublishedAnswer one = question;
    try {
      asking(one);
      if (!best_ || one.seconds < best_->seconds) best_ = std::move(one);
    } catch (const Refusal& refusal) {
      if (!refused_) refused_ = refusal;
    } catch (const Error& error) {
      if (!refused_) refused_ = {"the model refuses", error.what()};
    }
  }
  /// Returns the fastest answer. Throws the first refusal if there is none, and `none` if nothing was asked.
  [[nodiscard]] PublishedAnswer take(const Refusal& none) {
    if (!best_) throw refused_.value_or(none);
    return std::move(*best_);
  }

 private:
  std::optional<PublishedAnswer> best_;
  std::optional<Refusal> refused_;
};

/// Asks one mapping, for the fastest of the tiles that its source's autotuner tried. Throws Refusal and Error.
void ask_mapping(const PublishedKernel& kernel, Parts& parts, PublishedAnswer& answer) {
  const std::shared_ptr<const Machine> machine = parts.machine(answer.question.ask.gpu);
  const std::string mapping = answer.question.ask.kernel;
  if (!runs_on(*parts.mapping(mapping), *machine))
    throw Refusal{"its mapping does not run on the GPU's architecture", mapping};
  Fastest fastest;
  for (const TileText& tile : published_tiles(kernel, machine->architecture, answer.row()))
    fastest.offer(answer, [&](PublishedAnswer& one) { ask_tile(tile, *machine, one); });
  answer = fastest.take({"its tile is not in the mapping's words", answer.row().tile});
}

/// Asks the kernel's mappings in turn, until one runs there and takes the type; mappings that are cases of one kernel
/// are asked together. If the kernel is the fastest of several, asks them all.
void ask_mappings(const PublishedKernel& kernel, Parts& parts, PublishedAnswer& answer) {
  Fastest fastest;
  const std::shared_ptr<const Machine> machine = parts.machine(answer.question.ask.gpu);
  for (const std::string& mapping : kernel.mappings) {
    if (!parts.is_mapping(mapping)) continue;
    fastest.offer(answer, [&](PublishedAnswer& one) {
      one.question.ask.kernel = mapping;
      ask_mapping(kernel, parts, one);
    });
    const Mapping& asked = *parts.mapping(mapping);
    const bool fits =
        runs_on(asked, *machine) && std::count(asked.dtypes.begin(), asked.dtypes.end(), answer.question.ask.dtype) > 0;
    if (fits && !kernel.fastest && !kernel.more_cases.contains(mapping)) break;
  }
  answer = fastest.take({"no mapping of the kernel", ""});
}

/// Asks an entry. If it holds only where its mapping divides the keys, and the mapping does not, asks the next entry.
void ask_entry(const PublishedKernel& kernel, Parts& parts, PublishedAnswer& answer) {
  if (!kernel.divided) return ask_mappings(kernel, parts, answer);
  PublishedAnswer divided = answer;
  try {
    ask_mappings(kernel, parts, divided);
  } catch (const Refusal&) {
    divided.divided = false;
  }
  if (divided.divided) {
    answer = std::move(divided);
  } else {
    ask_mappings(kernel_of(answer.row(), kernel.algorithm, parts, false), parts, answer);
  }
}

/// Returns the least time of the algorithm that runs ahead of the row's passes, at their sizes; 0 if none does.
double ahead_of(const PublishedQuestion& question, Parts& parts) {
  if (question.ahead.empty()) return 0;
  Ask ask = question.ask;
  ask.algorithm = question.ahead, ask.kernel = "ideal";
  ask.mask = {};
  ask.conditions = conditions_of(question, *parts.machine(ask.gpu));
  const std::shared_ptr<const Diagram> diagram = parts.diagram(ask.algorithm);
  std::erase_if(ask.shape, [&](const auto& size) { return !diagram->find_axis(size.first); });
  return default_session().query(ask)->predicted.value().time;
}

/// Asks all passes of a row in order.
void ask_passes(const std::vector<PublishedKernel>& passes, Parts& parts, PublishedAnswer& answer) {
  const double flops = counted_flops(answer.row());
  std::string kernels;
  const double ahead = ahead_of(answer.question, parts);
  double seconds = ahead, roofline = ahead;
  bool by_graph = true;
  for (const PublishedKernel& pass : passes) {
    answer.question.ask.algorithm = pass.algorithm;
    ask_entry(pass, parts, answer);
    kernels += (kernels.empty() ? "" : " + ") + answer.kernel;
    seconds += answer.seconds, roofline += answer.roofline_seconds;
    by_graph = by_graph && answer.by_graph;
  }
  answer.kernel = kernels, answer.by_graph = by_graph;
  answer.seconds = seconds, answer.roofline_seconds = roofline;
  answer.tflops = flops / seconds / tera, answer.roofline = flops / roofline / tera;
}

void set_condition(PublishedQuestion& question) {
  for (const PublishedNames::Condition& one : published_names().conditions) {
    if (!one.match(*question.row)) continue;
    question.clock = one.clock, question.power = one.power, question.held = one.held;
    question.host = one.host.value_or(0), question.one_by_one = one.one_by_one, question.burst = one.burst;
    question.cold_l2 = one.cold_l2, question.launches = one.launches, question.ahead = one.ahead;
    return;
  }
}

PublishedAnswer ask_one(const PublishedRow& row, Parts& parts) {
  PublishedAnswer answer;
  answer.question.row = &row;
  answer.question.doubt = published_names().doubt(row);
  try {
    std::vector<PublishedKernel> passes;
    for (const std::string& algorithm : row.algorithms()) passes.push_back(kernel_of(row, algorithm, parts));
    Ask& ask = answer.question.ask;
    ask.shape = shape_of(row);
    if (!row.product() && !row.causal) throw Refusal{"its sizes or its mask are not stated", ""};
    if (row.causal == true) ask.mask.kind = Mask::Kind::causal;
    ask.dtype = published_names().dtype(row.dtype);
    ask.gpu = profile_of(row, parts);
    set_condition(answer.question);
    ask_passes(passes, parts, answer);
  } catch (const Refusal& refusal) {
    answer.question.reason = refusal.reason, answer.question.detail = refusal.detail;
  } catch (const Error& error) {
    answer.question.reason = "the model refuses", answer.question.detail = error.what();
  }
  return answer;
}

}  // namespace

bool kept_aside(const PublishedRow& row) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : row.source) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return (hash >> 63U) != 0;
}

double counted_flops(const PublishedRow& row) {
  const auto of = [](const std::optional<std::int64_t>& size) { return static_cast<double>(size.value_or(1)); };
  if (row.product()) return 2 * of(row.m) * of(row.n) * of(row.k);
  const double x = row.x ? of(row.x) : of(row.q), dv = row.d_v ? of(row.d_v) : of(row.d);
  const double pair = 2 * of(row.b) * of(row.h) * of(row.q) * x;
  double all = 0;
  if (row.direction != "bwd") all += pair * (of(row.d) + dv);
  if (row.backward()) all += pair * (3 * of(row.d) + 2 * dv);
  return row.causal == true && row.x.value_or(row.q.value_or(1)) == row.q.value_or(1) ? all / 2 : all;
}

std::vector<std::string> PublishedRow::algorithms() const {
  if (product()) return {"matmul"};
  if (direction == "bwd") return {"attention_backward"};
  if (direction == "fwd+bwd") return {"attention", "attention_backward"};
  return {latent() ? "latent_attention" : "attention"};
}

std::vector<PublishedAnswer> ask_published(const std::vector<PublishedRow>& rows,
                                           const std::function<void(std::size_t)>& progress) {
  std::vector<PublishedAnswer> answers;
  answers.reserve(rows.size());
  Parts parts;
  for (const PublishedRow& row : rows) {
    answers.push_back(ask_one(row, parts));
    if (progress) progress(answers.size());
  }
  return answers;
}

}  // namespace napkin::internal
