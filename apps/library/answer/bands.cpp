#include "napkin/bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "model/base/error.hpp"
#include "model/base/library.hpp"
#include "model/machine/machine.hpp"

namespace napkin::internal {
namespace band {  // bands' own words
namespace {

/// Constants of the bands (model/README.md, Bands). None belongs to one kernel, GPU or row.
constexpr double unlike = 8;  // divisor of a row's weight for a fact that it does not share with the question
/// Exponent: n rows of one kind and source weigh n^0.5, since they share a part of their errors.
constexpr double of_a_kind = 0.5;
/// Factor on the width for what was never measured: a user's own mapping or machine, a guessed tile.
constexpr double untried = 2;
constexpr double tenth = 0.1;
constexpr double thousandth = 1e-3;  // step of the errors, and the least side of a band

constexpr std::array<std::string_view, 4> regimes{"few rows", "decode", "short calls", "many waves"};

KnownErrors known_of(const nlohmann::json& row) {
  KnownErrors out;
  PredictionKind& kind = out.kind;
  kind.algorithm = row.at("algorithm").get<std::string>(), kind.kernel = row.at("kernel").get<std::string>();
  kind.architecture = row.at("architecture").get<std::string>(), kind.gpu = row.at("gpu").get<std::string>();
  const auto regime = std::find(regimes.begin(), regimes.end(), row.at("regime").get<std::string>());
  kind.regime = static_cast<Regime>(regime - regimes.begin());
  kind.by_graph = row.at("clock").get<std::string>() == "graph";
  kind.burst = row.at("burst").get<bool>(), kind.counted = row.at("counted").get<bool>();
  out.recorded = row.at("recorded").get<bool>(), out.source = row.at("source").get<std::string>();
  for (const auto& each : row.at("errors")) out.errors.push_back(thousandth * each.get<double>());
  return out;
}

/// A row of data/errors.json, with the place of its group among known_errors().
struct Point {
  double error = 0;
  std::size_t group = 0;
};

/// Returns every row, by error.
const std::vector<Point>& points() {
  static const std::vector<Point> all = [] {
    std::vector<Point> out;
    for (std::size_t group = 0; group < known_errors().size(); ++group) {
      for (const double error : known_errors()[group].errors) out.push_back({error, group});
    }
    std::stable_sort(out.begin(), out.end(), [](const Point& a, const Point& b) { return a.error < b.error; });
    return out;
  }();
  return all;
}

/// The facts that a known kind shares with a question, the weightiest first.
struct Shared {
  bool kernel, algorithm, architecture, clock, regime, gpu, load;
  [[nodiscard]] std::array<bool, 7> all() const { return {kernel, algorithm, architecture, clock, regime, gpu, load}; }
  [[nodiscard]] auto count() const {
    const auto facts = all();
    return std::count(facts.begin(), facts.end(), true);
  }
};

Shared shared(const PredictionKind& kind, const PredictionKind& known) {
  const bool machine = !kind.own_machine;
  return {!kind.own_mapping && known.kernel == kind.kernel,
          known.algorithm == kind.algorithm,
          known.architecture == kind.architecture,
          known.by_graph == kind.by_graph,
          known.regime == kind.regime,
          machine && known.gpu == kind.gpu,
          known.burst == kind.burst};
}

bool nearer(const Shared& a, const Shared& b) {
  return std::tuple(a.count(), a.all()) > std::tuple(b.count(), b.all());
}

int number_of(std::string_view word) {
  static const auto words = [] {
    std::map<std::string_view, int> out;
    for (const KnownErrors& known : known_errors()) {
      const PredictionKind& kind = known.kind;
      for (const std::string* each : {&kind.kernel, &kind.algorithm, &kind.architecture, &kind.gpu, &known.source})
        out.emplace(*each, static_cast<int>(out.size()));
    }
    return out;
  }();
  const auto found = words.find(word);
  return found == words.end() ? -1 : found->second;
}

/// The facts of a kind as numbers of 16 bits, -1 for a word of no known kind and for a user's own file.
struct Facts {
  std::uint64_t words = 0, others = 0;
};

Facts facts_of(const PredictionKind& kind) {
  const auto joined = [](std::array<int, 4> numbers) {
    std::uint64_t out = 0;
    for (const int number : numbers) out = out << 16U | static_cast<std::uint16_t>(number);
    return out;
  };
  return {joined({kind.own_mapping ? -1 : number_of(kind.kernel), number_of(kind.algorithm),
                  number_of(kind.architecture), kind.own_machine ? -1 : number_of(kind.gpu)}),
          joined({0, kind.by_graph ? 1 : 0, static_cast<int>(kind.regime), kind.burst ? 1 : 0})};
}

/// Counts the facts that are not equal.
std::size_t not_shared(const Facts& a, const Facts& b) {
  constexpr std::uint64_t ones = 0x0001000100010001U, below = 0x7FFFU * ones;
  const auto unequal = [](std::uint64_t x) { return (((x & below) + below) | x) >> 15U & ones; };
  return (unequal(a.words ^ b.words) + unequal(a.others ^ b.others)) * ones >> 48U;
}

/// A group of known_errors(), as weights() reads it for each of a thousand bands.
struct Group {
  Facts facts;
  int source = 0;
  double rows = 0, share = 0;  ///< number of rows, and the weight of a row of the very kind
};

const std::vector<Group>& groups() {
  static const std::vector<Group> all = [] {
    std::vector<Group> out;
    for (const KnownErrors& known : known_errors()) {
      const double rows = static_cast<double>(known.errors.size());
      out.push_back({facts_of(known.kind), number_of(known.source), rows, std::pow(rows, of_a_kind - 1)});
    }
    return out;
  }();
  return all;
}

/// The weights of the rows for a question, by group, and their sum over all rows.
struct Weights {
  std::vector<double> of_row;
  double sum = 0;
};

/// Numbers of the sources whose rows are left out: the row's own, and the source that is judged.
using Without = std::array<int, 2>;

Weights weights(const Facts& asked, const Without& silent) {
  static const auto shares = [] {
    std::array<double, 8> out{1};
    for (std::size_t i = 1; i < out.size(); ++i) out.at(i) = out.at(i - 1) / unlike;
    return out;
  }();
  Weights out;
  out.of_row.reserve(groups().size());
  for (const Group& group : groups()) {
    const bool is_silent = group.source == silent[0] || group.source == silent[1];
    const double each = is_silent ? 0 : group.share * shares.at(not_shared(asked, group.facts));
    out.of_row.push_back(each);
    out.sum += each * group.rows;
  }
  return out;
}

/// Returns the values of the sorted points that each of the ascending shares of the weight does not exceed.
template <std::size_t count>
std::array<double, count> quantiles(const std::vector<Point>& points, const Weights& weights,
                                    const std::array<double, count>& shares) {
  std::array<double, count> out{};
  out.fill(points.back().error);
  double below = 0;
  auto point = points.begin();
  for (std::size_t next = 0; next < count; ++next) {
    const double enough = shares.at(next) * weights.sum;
    if (next > 0 && below >= enough) {
      out.at(next) = out.at(next - 1);
      continue;
    }
    while (point != points.end() && (below += weights.of_row[point->group]) < enough) ++point;
    if (point == points.end()) break;
    out.at(next) = point++->error;
  }
  return out;
}

/// The middle of a band and its two sides, as logarithms (eq. 21.1), before their lengths are corrected (eq. 21.2).
struct Sides {
  double median = 0, below = 0, above = 0;
};

Sides sides(const PredictionKind& kind, const Weights& weights) {
  const bool as_tried = !kind.own_mapping && !kind.own_machine && kind.counted;
  const double wider = as_tried ? 1 : untried;
  const auto [low, median, high] = quantiles<3>(points(), weights, {tenth, 0.5, 1 - tenth});
  const auto side = [wider, middle = median](double end) {
    return wider * std::max(thousandth, std::abs(end - middle));
  };
  return {median, side(low), side(high)};
}

/// Returns each row's distance from the middle of its own band, over the length of that side, ascending. Bands are
/// computed without the row's source and without `source`.
std::vector<Point> scores(std::string_view source) {
  std::vector<Point> out;
  for (std::size_t group = 0; group < known_errors().size(); ++group) {
    const KnownErrors& known = known_errors()[group];
    const Sides made = sides(known.kind, weights(groups()[group].facts, {number_of(source), groups()[group].source}));
    for (const double error : known.errors) {
      const double off = error - made.median;
      out.push_back({std::abs(off) / (off > 0 ? made.above : made.below), group});
    }
  }
  std::sort(out.begin(), out.end(), [](const Point& a, const Point& b) { return a.error < b.error; });
  return out;
}

/// Returns the scores of all rows, computed once for each source. Safe from several threads.
const std::vector<Point>& scores_once(std::string_view source) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<Point>, std::less<>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(source);
  return found != known.end() ? found->second : known.emplace(source, scores(source)).first->second;
}

double mean(const Weights& weights) {
  double sum = 0;
  for (const Point& point : points()) sum += weights.of_row[point.group] * std::exp(point.error);
  return sum / weights.sum;
}

std::string text_of(const PredictionKind& kind, const Shared& near) {
  std::string text = near.kernel      ? kind.kernel
                     : near.algorithm ? "other kernels of " + kind.algorithm
                                      : "other kernels";
  text += " on " + (near.gpu ? kind.gpu : near.architecture ? kind.architecture : "other architectures");
  if (near.regime) text += fmt::format(", {}", name_of(kind.regime));
  if (near.load == kind.burst) text += ", in bursts";
  return text;
}

/// Names the facts of the question that no row shares; "" where its very kind was compared, if on other products of the
/// architecture.
std::string why_wide(const PredictionKind& kind, const Shared& near) {
  std::vector<std::string> why;
  if (kind.own_mapping) {
    why.push_back(kind.kernel + ", a mapping of your own");
  } else if (!near.kernel || !near.architecture) {
    why.push_back(kind.kernel + " on " + kind.architecture);
  }
  if (kind.own_machine) why.push_back(kind.gpu + ", a machine of your own");
  if (!kind.counted) why.emplace_back("a tile whose registers and instructions no compiler counted");
  if (!near.regime) why.emplace_back(name_of(kind.regime));
  if (!near.load) why.emplace_back(kind.burst ? "a burst" : "a sustained load");
  return why.empty() ? "" : "nothing of " + joined(why, ", nor of ") + " was compared with a measurement";
}

/// Adds the rows and sources of the nearest kind.
void add_nearest(const PredictionKind& kind, std::string_view without, Band& out) {
  const KnownErrors* nearest = nullptr;
  for (const KnownErrors& known : known_errors()) {
    if (known.source == without) continue;
    if (nearest == nullptr || nearer(shared(kind, known.kind), shared(kind, nearest->kind))) nearest = &known;
  }
  const Shared near = shared(kind, nearest->kind);
  std::set<std::string_view> sources;
  for (const KnownErrors& known : known_errors()) {
    if (known.source == without || shared(kind, known.kind).all() != near.all()) continue;
    for (const double error : known.errors) out.error += std::abs(std::exp(error) - 1);
    out.rows += std::ssize(known.errors);
    out.recorded = out.recorded || known.recorded;
    sources.insert(known.source);
  }
  out.error /= static_cast<double>(out.rows);
  out.sources = std::ssize(sources);
  out.of = text_of(kind, near);
  out.wide = why_wide(kind, near);
}

double quantile_of(std::vector<double> sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

/// Returns the signed errors of the chosen groups, found / predicted - 1, ascending.
template <class Chosen>
std::vector<double> errors_where(const Chosen& chosen) {
  std::vector<double> out;
  for (const KnownErrors& known : known_errors()) {
    if (!chosen(known)) continue;
    for (const double error : known.errors) out.push_back(std::exp(error) - 1);
  }
  std::sort(out.begin(), out.end());
  return out;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> sizes_of(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  return errors;
}

}  // namespace
}  // namespace band

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

std::string_view name_of(Regime regime) { return band::regimes[static_cast<std::size_t>(regime)]; }

const std::vector<KnownErrors>& known_errors() {
  static const std::vector<KnownErrors> all = [] {
    std::vector<KnownErrors> out;
    for (const auto& row : nlohmann::json::parse(embedded_file("apps/library/judge/data/errors.json").text))
      out.push_back(band::known_of(row));
    return out;
  }();
  return all;
}

/// Computes the band: cuts off a tenth of the weight at each end (eq. 21.1), then gives the sides the length at which
/// such bands of rows whose sources they do not know hold eight of ten (eq. 21.2).
Band band_of(const PredictionKind& kind, std::string_view without) {
  const band::Weights weighed = band::weights(band::facts_of(kind), {band::number_of(without), -1});
  const band::Sides made = band::sides(kind, weighed);
  const double wider = band::quantiles<1>(band::scores_once(without), weighed, {1 - 2 * band::tenth}).front();
  Band out;
  out.low = std::exp(made.median - wider * made.below);
  out.high = std::exp(made.median + wider * made.above);
  out.mean = std::clamp(band::mean(weighed), out.low, out.high);
  band::add_nearest(kind, without, out);
  return out;
}

std::optional<Band> band_on(const std::string& gpu, const std::string& architecture) {
  const auto recorded = [&](const KnownErrors& known) { return known.recorded && known.kind.gpu == gpu; };
  const auto published = [&](const KnownErrors& known) {
    return !known.recorded && known.kind.architecture == architecture;
  };
  Band out;
  std::vector<double> errors = band::errors_where(recorded);
  out.recorded = !errors.empty(), out.of = out.recorded ? gpu : architecture;
  if (errors.empty()) errors = band::errors_where(published);
  if (errors.empty()) return std::nullopt;
  out.rows = std::ssize(errors);
  out.mean = 1 + band::mean_of(errors), out.error = band::mean_of(band::sizes_of(errors));
  out.low = 1 + band::quantile_of(errors, band::tenth), out.high = 1 + band::quantile_of(errors, 1 - band::tenth);
  return out;
}

const std::vector<ClassError>& class_errors() {
  static const std::vector<ClassError> all = [] {
    using Key = std::tuple<std::string, std::string, std::string, std::string, bool>;
    const auto key_of = [](const KnownErrors& known) {
      const PredictionKind& kind = known.kind;
      return Key(known.recorded ? kind.gpu : "", kind.architecture, kind.algorithm, kind.kernel, kind.by_graph);
    };
    std::set<Key> keys;
    for (const KnownErrors& known : known_errors()) keys.insert(key_of(known));
    std::vector<ClassError> out;
    for (const Key& key : keys) {
      const std::vector<double> errors =
          band::errors_where([&](const KnownErrors& known) { return key_of(known) == key; });
      const std::vector<double> sizes = band::sizes_of(errors);
      ClassError& one = out.emplace_back();
      std::tie(one.gpu, one.architecture, one.algorithm, one.kernel, one.by_graph) = key;
      one.rows = std::ssize(errors);
      one.mean = band::mean_of(sizes), one.median = band::quantile_of(sizes, 0.5),
      one.ninety = band::quantile_of(sizes, 0.9);
      one.bias = band::mean_of(errors);
    }
    return out;
  }();
  return all;
}

std::vector<ClassError> classes_of(const std::string& architecture, const std::string& kernel, bool by_graph) {
  std::vector<ClassError> out;
  for (const ClassError& error : class_errors()) {
    if (error.kernel == kernel) out.push_back(error);
  }
  std::stable_partition(out.begin(), out.end(), [&](const ClassError& error) {
    return error.architecture == architecture && error.by_graph == by_graph;
  });
  return out;
}

}  // namespace napkin
