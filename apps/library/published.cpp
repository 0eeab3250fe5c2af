#include "apps/library/published.hpp"

#include <algorithm>
#include <map>

#include "apps/library/catalog.hpp"
#include "apps/library/evaluate.hpp"
#include "apps/library/napkin.hpp"
#include "apps/library/published_names.hpp"
#include "apps/library/replay.hpp"
#include "apps/library/select_tile.hpp"
#include "model/base/library.hpp"
#include "model/clock/prediction.hpp"
#include "model/machine/load.hpp"
#include "model/mapping/load.hpp"

namespace napkin {
namespace {

constexpr double tera = 1e12;
constexpr double no_limit = 1e9;  // W, more than any card takes

/// A row cannot be asked: of what kind, and more of it.
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
  const std::int64_t kv = row.h_kv.value_or(*row.h);
  return {{"b", *row.b},
          {"h", kv},
          {"g", *row.h / kv},
          {"q", *row.q},
          {"x", row.x.value_or(*row.q)},
          {"d", *row.d},
          {"dv", row.d_v.value_or(*row.d)}};
}

/// A profile, by an alias too; nullptr where there is none of that name.
const Machine* find_machine(const std::string& name) {
  static std::map<std::string, std::optional<Machine>> read;
  auto known = read.find(name);
  if (known == read.end()) {
    const std::vector<std::string> builtin = builtin_machines();
    const auto aliases = builtin_aliases();
    const bool there = names_file(name) || std::find(builtin.begin(), builtin.end(), name) != builtin.end() ||
                       std::any_of(aliases.begin(), aliases.end(), [&](const auto& a) { return a.first == name; });
    known = read.emplace(name, there ? std::optional(load_machine(name, "gpu")) : std::nullopt).first;
  }
  return known->second ? &*known->second : nullptr;
}

bool is_mapping(const std::string& name) {
  static const std::vector<std::string> builtin = builtin_mappings();
  return names_file(name) || std::find(builtin.begin(), builtin.end(), name) != builtin.end();
}

const Mapping& mapping_named(const std::string& name) {
  static std::map<std::string, Mapping> read;
  const auto known = read.find(name);
  return known != read.end() ? known->second : read.emplace(name, load_mapping(name, "kernel")).first->second;
}

std::string profile_of(const PublishedRow& row) {
  const std::string* listed = published_names().profile(row.gpu);
  const std::string& name = listed != nullptr ? *listed : row.gpu;
  const Machine* machine = find_machine(name);
  if (machine == nullptr) throw Refusal{"no profile of the GPU", ""};
  return names_file(name) ? name : machine->name;
}

/// A kernel of the table; else one that the row calls by a mapping's name or path.
PublishedKernel kernel_of(const PublishedRow& row, const std::string& algorithm) {
  const PublishedNames& names = published_names();
  if (const auto* no = names.no_judge(row.kernel)) throw Refusal{"no judge: " + no->why, no->named};
  const char* none = algorithm == "attention_backward" ? "no mapping of its backward pass" : "no mapping of the kernel";
  if (const PublishedKernel* listed = names.kernel(row, algorithm)) {
    if (!std::any_of(listed->mappings.begin(), listed->mappings.end(), is_mapping)) throw Refusal{none, ""};
    return *listed;
  }
  PublishedKernel direct;
  if (!is_mapping(row.kernel) || mapping_named(row.kernel).algorithm != algorithm) throw Refusal{none, ""};
  direct.algorithm = algorithm;
  direct.tile = row.product() ? std::vector<std::string>{"a", "c", "b"} : std::vector<std::string>{"q", "x"};
  direct.mappings = {row.kernel};
  return direct;
}

/// What no tile of the mapping changes.
void check_taken(const std::vector<Violation>& violations, const PublishedRow& row) {
  for (const Violation& v : violations) {
    if (v.constraint == "dtype") throw Refusal{"its mapping does not take the element type", row.dtype};
    if (v.constraint.starts_with("size of ")) throw Refusal{"its mapping does not take a size", v.constraint};
  }
}

/// The clock that the driver is told to hold; what the SMs count beside products falls by as much as the highest one.
void lock_clock(Machine& machine, double clock) {
  const double highest = machine.clocks.maximum ? machine.clocks.maximum->value : clock;
  const auto beside = machine.constants.find("clock_beside_tensor");
  if (beside != machine.constants.end()) beside->second.value *= std::min(1.0, clock / highest);
  for (auto* stated : {&machine.clocks.maximum, &machine.clocks.tensor, &machine.clocks.base}) {
    if (*stated && (*stated)->value > clock) (*stated)->value = clock;
  }
}

/// The clock that SMs were read to have: beside products too, and no limit is known to have bound.
void hold_clock(Machine& machine, double clock) {
  lock_clock(machine, clock);
  const auto beside = machine.constants.find("clock_beside_tensor");
  if (beside != machine.constants.end()) beside->second.value = clock;
  if (machine.power.limit) machine.power.limit->value = no_limit;
}

Edit edit_of(const PublishedQuestion& question) {
  if (!question.clock && !question.power && !question.held) return {};
  return [clock = question.clock, power = question.power, held = question.held](Machine& machine) {
    if (clock) lock_clock(machine, *clock);
    if (power && machine.power.limit) machine.power.limit->value = *power;
    if (held) hold_clock(machine, *held);
  };
}

/// What the source's timer saw of a call: the host's time too where calls begin on an idle stream, and never less than
/// that where they stand behind one another.
double timed(const PublishedQuestion& question, Seconds launch) {
  return question.one_by_one ? question.host + launch.value : std::max(question.host, launch.value);
}

/// Asks one mapping for a tile. Throws Refusal and Error.
void ask_tile(TileText tile_text, PublishedAnswer& answer) {
  Ask& ask = answer.question.ask;
  ask.tile = std::move(tile_text);
  const std::unique_ptr<Measurable> measurable = measurable_of(ask, edit_of(answer.question));
  const Layout& layout = *measurable->layout;
  const Tile tile = select_tile(measurable->request).tile;
  const Placement placement = place(*measurable->placer, tile);
  check_taken(placement.violations, answer.row());
  const Prediction prediction = predict(placement.placed, placement.plan);
  answer.gpu = measurable->request.machine->name;
  answer.architecture = measurable->request.machine->architecture;
  answer.kernel = layout.mapping->name;
  answer.tile = values_of(*layout.mapping, tile);
  answer.legal = placement.violations.empty();
  answer.predicted = answer_of(prediction);
  answer.by_graph = !prediction.iteration.empty();
  answer.seconds = timed(answer.question, prediction.time);
  answer.roofline_seconds = timed(answer.question, predict_by_roofline(placement.placed, placement.plan).time);
}

/// Asks one mapping, for the fastest of the tiles that its source's autotuner tried. Throws Refusal and Error.
void ask_mapping(const PublishedKernel& kernel, PublishedAnswer& answer) {
  const Machine& machine = *find_machine(answer.question.ask.gpu);
  const std::string& mapping = answer.question.ask.kernel;
  if (!runs_on(mapping_named(mapping), machine))
    throw Refusal{"its mapping does not run on the GPU's architecture", mapping};
  std::vector<TileText> tiles = published_tiles(kernel, machine.architecture, answer.row());
  if (tiles.empty()) throw Refusal{"its tile is not in the mapping's words", answer.row().tile};
  std::optional<PublishedAnswer> best;
  for (TileText& tile : tiles) {
    PublishedAnswer one = answer;
    ask_tile(std::move(tile), one);
    const bool better =
        !best || (one.legal && !best->legal) || (one.legal == best->legal && one.seconds < best->seconds);
    if (better) best = std::move(one);
  }
  answer = std::move(*best);
}

/// The mappings in turn: until one can be asked, or all, of which the fastest counts.
void ask_mappings(const PublishedKernel& kernel, PublishedAnswer& answer) {
  std::optional<Refusal> refused;
  std::optional<PublishedAnswer> best;
  for (const std::string& mapping : kernel.mappings) {
    if (!is_mapping(mapping) || (best && !kernel.fastest)) continue;
    PublishedAnswer one = answer;
    one.question.ask.kernel = mapping;
    try {
      ask_mapping(kernel, one);
      if (!best || one.seconds < best->seconds) best = std::move(one);
    } catch (const Refusal& refusal) {
      if (!refused) refused = refusal;
    } catch (const Error& error) {
      if (!refused) refused = {"the model refuses", error.what()};
    }
  }
  if (!best) throw refused.value_or(Refusal{"no mapping of the kernel", ""});
  answer = std::move(*best);
}

/// All passes of a row, one behind the other.
void ask_passes(const std::vector<PublishedKernel>& passes, PublishedAnswer& answer) {
  const double flops = counted_flops(answer.row());
  std::string kernels;
  double seconds = 0, roofline = 0;
  bool legal = true, by_graph = true;
  for (const PublishedKernel& pass : passes) {
    answer.question.ask.algorithm = pass.algorithm;
    ask_mappings(pass, answer);
    kernels += (kernels.empty() ? "" : " + ") + answer.kernel;
    seconds += answer.seconds, roofline += answer.roofline_seconds;
    legal = legal && answer.legal, by_graph = by_graph && answer.by_graph;
  }
  answer.kernel = kernels, answer.legal = legal, answer.by_graph = by_graph;
  answer.seconds = seconds, answer.roofline_seconds = roofline;
  answer.tflops = flops / seconds / tera, answer.roofline = flops / roofline / tera;
}

void set_condition(PublishedQuestion& question) {
  for (const PublishedNames::Condition& one : published_names().conditions) {
    if (!one.match(*question.row)) continue;
    question.clock = one.clock, question.power = one.power, question.held = one.held;
    question.host = one.host.value_or(0), question.one_by_one = one.one_by_one;
    return;
  }
}

PublishedAnswer ask_one(const PublishedRow& row) {
  PublishedAnswer answer;
  answer.question.row = &row;
  answer.question.doubt = published_names().doubt(row);
  try {
    std::vector<PublishedKernel> passes;
    for (const std::string& algorithm : row.algorithms()) passes.push_back(kernel_of(row, algorithm));
    Ask& ask = answer.question.ask;
    ask.shape = shape_of(row);
    if (!row.product() && !row.causal) throw Refusal{"its sizes or its mask are not stated", ""};
    if (row.causal == true) ask.mask.kind = Mask::Kind::causal;
    ask.dtype = published_names().dtype(row.dtype);
    ask.gpu = profile_of(row);
    set_condition(answer.question);
    ask_passes(passes, answer);
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
  return row.causal == true ? all / 2 : all;
}

std::vector<std::string> PublishedRow::algorithms() const {
  if (product()) return {"matmul"};
  if (direction == "bwd") return {"attention_backward"};
  if (direction == "fwd+bwd") return {"attention", "attention_backward"};
  return {"attention"};
}

std::vector<PublishedAnswer> ask_published(const std::vector<PublishedRow>& rows,
                                           const std::function<void(std::size_t)>& progress) {
  std::vector<PublishedAnswer> answers;
  answers.reserve(rows.size());
  for (const PublishedRow& row : rows) {
    answers.push_back(ask_one(row));
    if (progress) progress(answers.size());
  }
  return answers;
}

}  // namespace napkin
