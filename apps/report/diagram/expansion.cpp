#include "apps/report/diagram/expansion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/diagram/picture.hpp"
#include "apps/report/units.hpp"
#include "model/base/error.hpp"
#include "model/fusion/pseudocode.hpp"

namespace napkin::internal::report {
namespace {

constexpr const char *whole_colour = "#222222", *chunk_colour = "#d9690b", *state_colour = "#2b8a3e",
                     *faint_colour = "#666666";
constexpr double left_edge = 20, source = 150, box_wide = 54, box_high = 40, box_gap = 62, expansion_top = 84,
                 wire_step = 24, line_high = 18;

/// A drawing of F over the whole axis, then with one chunk after the other taken off, then as a loop.
class Expansion {
 public:
  Expansion(const Streamed& streamed, const Recursion& recursion, const std::optional<StreamSizes>& sizes)
      : d_(streamed.diagram), r_(recursion), sizes_(sizes), axis_(d_.axes[at(recursion.axis)].name) {}

  Drawing run() {
    out_.title = d_.name + ": the stream of " + axis_ + ", expanded";
    label({left_edge, 28}, plain(out_.title), 16, whole_colour, Anchor::start, true);
    double y = expansion_top;
    for (int taken = 0; taken <= 2; ++taken) y = row(y, taken);
    label({source + box_wide, y - 8}, plain("and so on, until a chunk is left"), 12, faint_colour, Anchor::start);
    y = last_row(y + 34);
    words(y + 8);
    for (const Label& one : out_.labels) out_.width = std::max(out_.width, box_of(one).right + 20);
    return std::move(out_);
  }

 private:
  void label(Point where, std::vector<Span> spans, double size, const char* colour, Anchor anchor, bool bold = false) {
    out_.labels.push_back({where, std::move(spans), "text", size, bold, colour, anchor});
  }

  void box(double x, double y, const std::string& name) {
    out_.paths.push_back(
        rectangle({x, y - box_high / 2, x + box_wide, y + box_high / 2}, "box", whole_colour, "#ffffff"));
    label({x + box_wide / 2, y + 5}, plain(name), 15, whole_colour, Anchor::middle, true);
  }

  void wire(Point from, Point to, const char* colour) { out_.paths.push_back(line(from, to, "wire", colour, 2)); }

  /// Draws the state's line between two boxes, with its name.
  double state(double x, double y) {
    wire({x, y}, {x + box_gap, y}, state_colour);
    label({x + box_gap / 2, y - 7}, plain("y"), 12, state_colour, Anchor::middle);
    return x + box_gap;
  }

  [[nodiscard]] std::vector<Span> rest(int taken) const {
    if (taken == 0) return plain(axis_);
    std::vector<Span> out = plain(axis_ + " − " + (taken == 1 ? "" : std::to_string(taken) + "\u00A0"));
    for (const Span& span : symbol("s_" + axis_)) out.push_back(span);
    return out;
  }

  /// Draws chunks that enter boxes from below: the one that was taken off last enters first.
  void chunk(double x, double y, int place) {
    const double from = y + place * wire_step;
    Path path = line({source, from}, {x + box_wide / 2, y + box_high / 2}, "wire", chunk_colour, 2);
    path.pieces = {{'M', {source, from}},
                   {'L', {x, from}},
                   {'C', {x + box_wide / 2, y + box_high / 2}, {x + box_wide / 2, from}, {x + box_wide / 2, from}}};
    out_.paths.push_back(path);
    label({source - 10, from + 4}, symbol("s_" + axis_), 13, chunk_colour, Anchor::end);
  }

  double row(double y, int taken) {
    double x = source + box_wide;
    if (taken > 0) wire({source, y}, {source, y + (taken + 1) * wire_step}, whole_colour);
    label({source - 10, y + 4}, rest(taken), 13, whole_colour, Anchor::end);
    wire({source, y}, {x, y}, whole_colour);
    box(x, y, "F");
    x += box_wide;
    for (int i = 1; i <= taken; ++i) {
      x = state(x, y);
      chunk(x, y, i + 1);
      box(x, y, "B");
      x += box_wide;
    }
    finish(x, y);
    return y + (taken + 1) * wire_step + 66;
  }

  void finish(double x, double y) {
    x = state(x, y);
    box(x, y, "K");
    wire({x + box_wide, y}, {x + box_wide + 40, y}, whole_colour);
    out_.width = std::max(out_.width, x + box_wide + 60);
  }

  /// Draws the loop: G for an axis of size 0, then B for each chunk.
  double last_row(double y) {
    double x = source + box_wide;
    box(x, y, "G");
    x += box_wide;
    const int shown = 3;
    for (int i = 1; i <= shown; ++i) {
      x = state(x, y);
      if (i == shown) {
        label({x + 12, y + 4}, plain("…"), 16, whole_colour, Anchor::middle, true);
        x = state(x + 24, y);
      }
      chunk(x, y, i + 1);
      box(x, y, "B");
      x += box_wide;
    }
    finish(x, y);
    return y + (shown + 1) * wire_step + 40;
  }

  [[nodiscard]] std::vector<Span> times() const {
    if (sizes_)
      return plain(fmt::format("{} chunks of {} of {} = {}", count_text(sizes_->chunks()), sizes_->chunk, axis_,
                               count_text(sizes_->axis)));
    std::vector<Span> out = plain("⌈" + axis_ + " / ");
    for (const Span& span : symbol("s_" + axis_)) out.push_back(span);
    out.push_back({Span::Shift::none, "⌉ chunks"});
    return out;
  }

  void words(double y) {
    const auto write = [&](const std::string& name, std::vector<Span> text) {
      label({left_edge, y}, plain(name), 13, whole_colour, Anchor::start, true);
      label({left_edge + 30, y}, std::move(text), 13, whole_colour, Anchor::start);
      y += line_high;
    };
    write("F", plain("computes " + joined(r_.functions) + " over what " + axis_ + " it is given"));
    write("B", plain("takes a chunk in: " + joined(r_.accumulators, "; ")));
    write("y", plain(r_.state.empty() ? "nothing is carried" : joined(r_.state) + ": what B carries on"));
    write("G", plain(r_.head.empty() ? "nothing to begin with" : joined(r_.head) + ": F of no " + axis_));
    write("K", plain(r_.tail.empty() ? "nothing is left to do" : joined(r_.tail)));
    write("", times());
    out_.height = y + 4;
  }

  const Diagram& d_;
  const Recursion& r_;
  std::optional<StreamSizes> sizes_;
  std::string axis_;
  Drawing out_;
};

void shift(Drawing& drawing, double down) {
  for (Path& path : drawing.paths) {
    for (Path::Piece& piece : path.pieces) piece.to.y += down, piece.first.y += down, piece.second.y += down;
  }
  for (Label& label : drawing.labels) label.at.y += down;
}

}  // namespace

std::optional<StreamSizes> stream_sizes(const PlacedDiagram& placed) {
  const auto& stream = placed.streamed->stream;
  if (!stream) return std::nullopt;
  const std::int64_t axis = placed.block().extent[at(*stream)].get();
  return StreamSizes{axis, std::clamp(placed.block().chunk.get(), std::int64_t{1}, axis)};
}

Drawing expansion_of(const Streamed& streamed, const std::optional<StreamSizes>& sizes) {
  const std::optional<Recursion> recursion = recursion_of(streamed);
  if (!recursion) throw Error(streamed.diagram.name, "no axis of it streams", "--picture columns");
  return Expansion(streamed, *recursion, sizes).run();
}

Drawing stages_picture(const Streamed& streamed) {
  Drawing out;
  out.title = streamed.diagram.name + ": its derivation";
  int count = 0;
  for (const Stage& stage : stages_of(streamed)) {
    ColumnDiagram columns = columns_of(stage.streamed);
    columns.title = fmt::format("{}. {}: {}", ++count, stage.rule, stage.text);
    Drawing one = drawing_of(columns);
    shift(one, out.height);
    out.paths.insert(out.paths.end(), one.paths.begin(), one.paths.end());
    out.labels.insert(out.labels.end(), one.labels.begin(), one.labels.end());
    out.width = std::max(out.width, one.width);
    out.height += one.height + 24;
  }
  return out;
}

Json expansion_json(const Streamed& streamed, const std::optional<StreamSizes>& sizes) {
  const std::optional<Recursion> recursion = recursion_of(streamed);
  if (!recursion) return nullptr;
  return {{"axis", streamed.diagram.axes[at(recursion->axis)].name},
          {"functions", recursion->functions},
          {"accumulators", recursion->accumulators},
          {"state", recursion->state},
          {"head", recursion->head},
          {"tail", recursion->tail},
          {"chunks", sizes ? Json(sizes->chunks()) : Json(nullptr)}};
}

Json stages_json(const Streamed& streamed) {
  Json list = Json::array();
  for (const Stage& stage : stages_of(streamed))
    list.push_back({{"rule", stage.rule}, {"text", stage.text}, {"program", print_pseudocode(stage.streamed)}});
  return list;
}

}  // namespace napkin::internal::report
