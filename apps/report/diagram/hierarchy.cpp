#include "apps/report/diagram/hierarchy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "apps/report/diagram/picture.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr double node_width = 200, node_height = 62, apart_x = 236, apart_y = 120, first_row = 64, border = 24;

class Tree {
 public:
  Tree(const Machine& machine, Hertz clock) : m_(machine), clock_(clock), at_(machine.levels.size()) {
    std::vector<DiagramLevel> levels;
    for (const Level& level : machine.levels)
      levels.push_back({static_cast<LevelId>(levels.size()), level.name, level.kind});
    LevelId deepest = machine.compute;
    if (const auto registers = machine.find_level("registers")) deepest = *registers;
    colours_ = level_colours(levels, machine.compute, deepest);
  }

  Drawing run() {
    const double right = place(0, border, 0);
    out_.title = m_.name;
    out_.width = right;
    out_.height = first_row;
    out_.labels.push_back({{border, 28}, plain("hierarchy of " + m_.name), "title", 16, true});
    out_.width = std::max(out_.width, box_of(out_.labels.back()).right + border);
    for (std::size_t i = 0; i < at_.size(); ++i) {
      pipe(static_cast<LevelId>(i));
      node(static_cast<LevelId>(i));
      out_.height = std::max(out_.height, at_[i].y + node_height + 24);
    }
    others();
    return std::move(out_);
  }

 private:
  /// Places children side by side below their parent. Returns the place for the next.
  double place(LevelId id, double left, int depth) {
    double x = left;
    for (std::size_t i = 0; i < m_.levels.size(); ++i) {
      if (m_.levels[i].parent == id && static_cast<LevelId>(i) != id) x = place(static_cast<LevelId>(i), x, depth + 1);
    }
    const double right = std::max(x, left + apart_x);
    at_[at(id)] = {(left + right - apart_x + node_width) / 2, first_row + depth * apart_y};
    return right;
  }

  void text(Point where, const std::string& words, const std::string& colour, double size, bool bold, Anchor anchor) {
    out_.labels.push_back({where, plain(words), "level", size, bold, colour, anchor});
    out_.width = std::max(out_.width, box_of(out_.labels.back()).right + border);
  }

  void node(LevelId id) {
    const Level& level = m_.levels[at(id)];
    const Point p = at_[at(id)];
    const std::string& colour = colours_[at(id)];
    Path box =
        rectangle({p.x - node_width / 2, p.y, p.x + node_width / 2, p.y + node_height}, "box", colour, "#ffffff");
    box.width = 2;
    if (level.kind == LevelKind::cross_transfer) box.dash = Dash::dashed;
    out_.paths.push_back(box);
    text({p.x, p.y + 20}, level.name + (level.kind == LevelKind::cache ? "*" : ""), colour, 14, true, Anchor::middle);
    const std::string many =
        level.kind == LevelKind::cross_transfer ? fmt::format("links up to {} side by side", level.per_parent.get())
        : level.parent < 0                      ? std::string("1 node")
                                                : fmt::format("N ≤ {}{}", level.per_parent.get(),
                                         level.parent > 0 ? " in each " + m_.levels[at(level.parent)].name : "");
    text({p.x, p.y + 38}, many, "#222222", 11, false, Anchor::middle);
    std::string holds =
        level.capacity.known() ? "M ≤ " + memory_text(static_cast<std::int64_t>(level.capacity.best().value)) : "";
    if (level.per_block)
      holds = fmt::format("M ≤ {} a block", memory_text(static_cast<std::int64_t>(level.per_block->value)));
    if (level.kind != LevelKind::cross_transfer && holds.empty()) holds = "M not known";
    text({p.x, p.y + 54}, holds, "#222222", 11, false, Anchor::middle);
  }

  [[nodiscard]] std::string rate(const Pipe& pipe) const {
    const double bytes = bytes_per_second(m_, pipe, clock_);
    return bytes > 0 ? rate_text(bytes) : "rate not known";
  }

  void pipe(LevelId id) {
    const Level& level = m_.levels[at(id)];
    if (level.parent < 0) return;
    const Point from = at_[at(level.parent)], to = at_[at(id)];
    Path path = line({from.x, from.y + node_height}, {to.x, to.y}, "pipe", colours_[at(id)], 3);
    if (from.x != to.x) {
      const double middle = to.y - 34;
      path.pieces = {{'M', {from.x, from.y + node_height}},
                     {'C', {to.x, middle + 20}, {from.x, middle}, {to.x, middle - 20}},
                     {'L', {to.x, to.y}}};
    }
    const Pipe* pipe = m_.pipe_into(id);
    if (pipe == nullptr) path.dash = Dash::dotted, path.width = 1;  // contained in it: no transfer
    out_.paths.push_back(path);
    if (pipe != nullptr) text({to.x + 8, to.y - 8}, rate(*pipe), colours_[at(id)], 11, false, Anchor::start);
  }

  /// Draws the pipes that do not lead to a parent.
  void others() {
    for (const Pipe& pipe : m_.pipes) {
      const bool tree = m_.levels[at(pipe.to)].parent == pipe.from || m_.levels[at(pipe.from)].parent == pipe.to;
      if (tree || pipe.from == pipe.to) continue;
      text({border, out_.height},
           fmt::format("{} → {}: {}", m_.levels[at(pipe.from)].name, m_.levels[at(pipe.to)].name, rate(pipe)),
           "#666666", 11, false, Anchor::start);
      out_.height += 16;
    }
    out_.height += 8;
  }

  const Machine& m_;
  Hertz clock_;
  std::vector<Point> at_;  // middle of the top of each level's box
  std::vector<std::string> colours_;
  Drawing out_;
};

}  // namespace

Drawing hierarchy_of(const Machine& machine, Hertz clock) { return Tree(machine, clock).run(); }

}  // namespace napkin::internal::report
