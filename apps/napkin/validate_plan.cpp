#include "apps/napkin/validate_plan.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <random>

#include "apps/library/rank/select_kernel.hpp"
#include "apps/report/text/text.hpp"
#include "model/diagram/packing.hpp"
#include "napkin/napkin.hpp"

namespace napkin::internal::cli {
namespace {

constexpr std::string_view seed_mark = " seed=";

/// Rows that --resume found, by question and by key.
class Recorded {
 public:
  explicit Recorded(const std::vector<ValidationRow>& rows) {
    for (const ValidationRow& row : rows) {
      rows_[row_key(row.head)].push_back(&row);
      if (row.sweep) sweeps_[question_key(row.head)] = *row.sweep;  // the last row of a sweep counts
    }
  }
  /// Returns the rows of a key, oldest first.
  [[nodiscard]] std::vector<const ValidationRow*> rows(const std::string& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? std::vector<const ValidationRow*>() : found->second;
  }
  [[nodiscard]] std::optional<std::string> sweep(const std::string& question) const {
    const auto found = sweeps_.find(question);
    return found == sweeps_.end() ? std::nullopt : std::optional<std::string>(found->second);
  }

 private:
  std::map<std::string, std::vector<const ValidationRow*>> rows_;
  std::map<std::string, std::string> sweeps_;
};

/// Finds the bundled kernel to measure; nullptr if it cannot be launched, or takes several launches, which are not
/// measured together.
const BundledKernel* find_measured(const std::string& mapping) {
  const BundledKernel* kernel = find_bundled(mapping);
  return kernel != nullptr && kernel->trial != nullptr ? kernel : nullptr;
}

std::vector<std::string> measured_names() {
  std::vector<std::string> names = bundled_names();
  std::erase_if(names, [](const std::string& name) { return find_measured(name) == nullptr; });
  return names;
}

/// Resolves the question for the kernel to measure: the named one, else the launchable one whose best tile is the
/// fastest.
std::unique_ptr<Measurable> measurable_for(Ask ask, std::string& nothing) {
  if (ask.kernel.empty()) {
    ask.bundled = true;
    Question question = question_of(default_session(), ask);
    std::erase_if(question.setups,
                  [](const Setup& setup) { return setup.ideal || find_measured(setup.mapping->name) == nullptr; });
    if (question.setups.empty()) {
      nothing = "no bundled kernel runs " + question.diagram->name + " on " + question.machine->name +
                ", in that type and with those sizes";
      return nullptr;
    }
    ask.kernel = select_kernel(question, 1).setup().mapping->name;
  }
  return measurable_of(ask);
}

/// Returns the tile that select picks if the user fixes no knob; nothing if nothing fits.
std::optional<Tile> pick_of(const Measurable& measurable) {
  Setup setup = *measurable.setup;
  setup.fixed.clear();
  return best_tile(setup);
}

std::vector<SweepTile> single_tile(const PlannedQuestion& question) {
  const Measurable& m = *question.measurable;
  const bool free = m.setup->fixed.empty();  // true: the tile is the pick of select
  const auto tile = free ? std::optional(question.pick) : best_tile(*m.setup);
  if (!tile) return {};
  return {{*tile, *tile == question.pick ? TileRole::selected : TileRole::near_best, ""}};
}

/// Sets the id and seed of a sweep: those of the sweep that is continued, else new ones.
void begin_sweep(const ValidateOptions& options, const std::string& date, const Recorded& recorded,
                 PlannedQuestion& question) {
  const Head head = question.head(question.pick);
  if (options.resume) question.sweep = recorded.sweep(question_key(head));
  const auto seed = question.sweep ? seed_of(*question.sweep) : std::nullopt;
  question.seed = seed ? *seed : options.seed.value_or(std::random_device{}() % 1000000);
  if (!seed) question.sweep = sweep_id(head, date, question.seed);
}

/// Puts the pick first, as the reference of a sweep, even if another tile is predicted to be faster.
void lead_with(const Tile& pick, std::vector<SweepTile>& tiles) {
  std::erase_if(tiles, [&](const SweepTile& one) { return one.tile == pick; });
  for (SweepTile& one : tiles) {
    if (one.role == TileRole::selected) one.role = TileRole::near_best;
  }
  tiles.insert(tiles.begin(), {pick, TileRole::selected, ""});
}

void add_tiles(const ValidateOptions& options, const std::string& date, const Recorded& recorded,
               PlannedQuestion& question) {
  const Measurable& m = *question.measurable;
  std::vector<SweepTile> tiles;
  if (options.sweep) {
    begin_sweep(options, date, recorded, question);
    SweepOptions chosen = options.tiles;
    chosen.seed = question.seed;
    tiles = sweep_tiles(m.question, *m.setup, legal_tiles(*m.setup), chosen);
    lead_with(question.pick, tiles);
  } else {
    tiles = single_tile(question);
  }
  if (tiles.empty()) question.nothing = "nothing fits " + question_key(question.head(question.pick));
  for (SweepTile& tile : tiles) {
    PlannedTile planned{std::move(tile), "", std::nullopt};
    planned.key = row_key(question.head(planned.tile.tile));
    const auto rows = recorded.rows(planned.key);
    if (options.resume && !rows.empty()) planned.recorded = *rows.back();
    question.tiles.push_back(std::move(planned));
  }
  if (!options.resume || question.tiles.empty()) return;
  // A sweep ends with its pick's second row.
  const auto rows = recorded.rows(question.tiles.front().key);
  const auto same = [&](const ValidationRow* row) { return row->sweep == question.sweep; };
  question.finished = options.sweep ? std::count_if(rows.begin(), rows.end(), same) > 1 : !rows.empty();
}

PlannedQuestion plan_question(const Ask& ask, const ValidateOptions& options, const std::string& date,
                              const Recorded& recorded) {
  PlannedQuestion question;
  question.measurable = measurable_for(ask, question.nothing);
  if (question.measurable == nullptr) return question;
  const std::string& name = question.measurable->setup->mapping->name;
  question.kernel = find_measured(name);
  if (question.kernel == nullptr) {
    throw Error("--kernel", name + " has no kernel that is one launch here", "one of " + joined(measured_names()));
  }
  const auto pick = pick_of(*question.measurable);
  if (pick) question.pick = *pick;
  if (!pick) {
    question.nothing =
        "nothing fits " +
        report::text_of(head_of(question.measurable->question, *question.measurable->setup, nullptr).shape);
  } else {
    add_tiles(options, date, recorded, question);
  }
  return question;
}

}  // namespace

Head PlannedQuestion::head(const Tile& tile) const { return head_of(measurable->question, *measurable->setup, &tile); }

std::vector<PlannedQuestion> plan_questions(const ValidateOptions& options, const std::string& gpu,
                                            const std::string& date, const std::vector<ValidationRow>& recorded) {
  const Recorded there(recorded);
  std::vector<PlannedQuestion> out;
  for (std::size_t i = 0; i < options.asks.size(); ++i) {
    if (!options.shard.has(i)) continue;
    Ask ask = options.asks[i];
    if (ask.gpu.empty()) ask.gpu = gpu;
    out.push_back(at_shape([&] { return plan_question(ask, options, date, there); }));
  }
  return out;
}

std::string sweep_id(const Head& head, const std::string& date, std::uint64_t seed) {
  std::string shape;
  for (const auto& [axis, size] : head.shape) shape += (shape.empty() ? "" : ",") + axis + "=" + std::to_string(size);
  if (!head.lengths.empty()) shape += " lengths=" + internal::text_of(head.lengths);
  return date + " " + head.gpu.value_or("") + " " + head.kernel.value_or("") + " " + head.dtype + " " +
         text_of(head.mask) + " " + shape + std::string(seed_mark) + std::to_string(seed);
}

std::optional<std::uint64_t> seed_of(const std::string& sweep) {
  const std::size_t at = sweep.rfind(seed_mark);
  if (at == std::string::npos) return std::nullopt;
  const std::string digits = sweep.substr(at + seed_mark.size());
  std::uint64_t seed = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  return seed;
}

}  // namespace napkin::internal::cli
