#include "apps/report/text/brief.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/json/standing.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/text/why.hpp"
#include "apps/report/units.hpp"
#include "model/diagram/packing.hpp"

namespace napkin::internal::report {
namespace {

constexpr std::size_t page_width = 100;
constexpr std::size_t entry_width = 11;

std::string mask_text(const Mask& mask) { return mask.kind == Mask::Kind::none ? "" : ", " + napkin::text_of(mask); }

std::string kernel_text(const Head& head) {
  if (head.kernel) return *head.kernel + (head.bundled ? "" : ", not bundled");
  return head.gpu ? "none: the ideal mapping, whose time is a bound" : "";
}

/// Returns the predicted seconds of all launches; 0 if not known.
double seconds_of(const Brief& brief) {
  if (brief.predicted) return brief.predicted->time;
  double seconds = 0;
  for (const LaunchAnswer& launch : brief.launches) seconds += launch.predicted ? launch.predicted->time : 0;
  return seconds;
}

std::string values_text(const Brief& brief) {
  const LevelAnswer& low = brief.levels.back();
  return fmt::format("{} values, {} in and {} out; {} FLOP", count_text(low.transfer), count_text(low.load),
                     count_text(low.store), count_text(brief.work.flops));
}

/// Returns the level below the first that takes longest to load and store; nullptr if no such level has a time.
const LevelAnswer* slowest_below_first(const std::vector<LevelAnswer>& levels) {
  const LevelAnswer* slowest = nullptr;
  for (std::size_t i = 1; i < levels.size(); ++i) {
    const bool later = levels[i].time && (slowest == nullptr || *levels[i].time >= *slowest->time);
    if (later) slowest = &levels[i];
  }
  return slowest;
}

}  // namespace

std::string entry(std::string_view label, std::string_view text, const Style& style) {
  const std::string indent(entry_width, ' ');
  std::string padded(label);
  padded.resize(entry_width, ' ');
  return style.faint(padded) + wrapped(text, page_width - entry_width, indent) + "\n";
}

std::string asked_line(const Head& head, const Style& style) {
  const std::string machine = head.gpu ? *head.gpu + ", " + head.dtype : "the abstract two-level machine";
  const std::string subject = fmt::format("{} on {}{}", head.algorithm, machine, mask_text(head.mask));
  const std::string sizes =
      text_of(head.shape) + (head.lengths.empty() ? "" : ", lengths " + internal::text_of(head.lengths));
  // Decorated after the breaking of lines, which counts characters.
  const std::string line = wrapped(subject + ": " + sizes, page_width, std::string(entry_width, ' ')) + "\n";
  return line.starts_with(subject) ? style.strong(subject) + line.substr(subject.size()) : line;
}

std::string kernel_line(const Brief& brief, const Style& style) {
  const Head& head = brief.head;
  const std::string tile = !brief.launches.empty()
                               ? fmt::format("a tile for each of {} launches", brief.launches.size())
                           : head.tile.empty() ? "no tile"
                                               : text_of(head.tile);
  if (!head.gpu) return entry("tile", style.strong(tile), style);
  return entry("kernel", kernel_text(head) + (head.kernel ? ": " : "; ") + tile, style);
}

std::string takes_line(const Brief& brief, const Style& style) {
  const double seconds = seconds_of(brief);
  if (!(seconds > 0)) return "";
  const bool bound = !brief.predicted || brief.predicted->at_least;
  std::string text = (bound ? "at least " : "") + time_text(seconds);
  if (brief.work.flops > 0) {
    const double tflops =
        brief.predicted ? brief.predicted->tflops : 1e-12 * static_cast<double>(brief.work.flops) / seconds;
    text += fmt::format(" for {}: {}{}", work_text(brief.work.flops), bound ? "at most " : "", tflops_text(tflops));
  }
  if (!brief.predicted) return entry("takes", text, style);
  const PredictedAnswer& predicted = *brief.predicted;
  text += fmt::format(", limited by {}; {}", limit_of(brief.head, predicted), clock_text(predicted.clock));
  if (predicted.power) text += fmt::format(", {:.0f} W", *predicted.power);
  if (predicted.power && predicted.clock_source.ends_with("no power limit is known"))
    text += ", no power limit being known";
  return entry("takes", text, style);
}

std::string moves_line(const Brief& brief, const Style& style) {
  if (brief.levels.empty()) return "";
  if (!brief.head.gpu) return entry("moves", values_text(brief), style);
  const LevelAnswer& first = brief.levels.front();
  std::string text =
      fmt::format("{} from and {} to device memory", transfer_text(first.load), transfer_text(first.store));
  if (const LevelAnswer* slowest = slowest_below_first(brief.levels))
    text += fmt::format("; {} over {}", transfer_text(slowest->transfer), brief.head.terms.route(slowest->name));
  return entry("moves", text, style);
}

std::string sure_line(const Brief& brief, const Style& style) {
  if (!brief.predicted) return "";
  const std::string text = sure_text(*brief.predicted);
  return text.empty() ? "" : entry("how sure", text, style);
}

}  // namespace napkin::internal::report
