// The picture of a placed diagram: its numbers are those of query, its labels do not overlap, and its two formats
// agree.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_tile.hpp"
#include "apps/report/diagram/hierarchy.hpp"
#include "apps/report/diagram/json.hpp"
#include "apps/report/diagram/picture.hpp"
#include "apps/report/diagram/tiling.hpp"
#include "model/base/error.hpp"
#include "model/diagram/library.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/rewrite.hpp"
#include "model/resource/resources.hpp"
#include "napkin/napkin.hpp"

namespace test_columns {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::report;

Streamed streamed_of(const std::string& name) { return derive(linearised(load_diagram(name))); }

std::string text_of(const Label& label) {
  std::string out;
  for (const report::Span& span : label.spans) out += span.text;
  return out;
}

/// Returns the labels printed over one another, as sentences.
std::vector<std::string> collisions(const Drawing& drawing) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < drawing.labels.size(); ++i) {
    const Rectangle box = box_of(drawing.labels[i]);
    if (box.left < 0 || box.right > drawing.width + 0.5 || box.top < 0 || box.bottom > drawing.height)
      out.push_back(text_of(drawing.labels[i]) + " leaves the picture");
    for (std::size_t j = 0; j < i; ++j) {
      if (box.meets(box_of(drawing.labels[j])))
        out.push_back(text_of(drawing.labels[i]) + " over " + text_of(drawing.labels[j]));
    }
  }
  return out;
}

/// Returns the labels that overlap a box other than their own, as sentences.
std::vector<std::string> covered(const Drawing& drawing) {
  std::vector<std::string> out;
  for (const Path& path : drawing.paths) {
    if (path.role != "box" && path.role != "item-box") continue;
    Rectangle box{1e9, 1e9, -1e9, -1e9};
    for (const Path::Piece& piece : path.pieces) {
      box = {std::min(box.left, piece.to.x), std::min(box.top, piece.to.y), std::max(box.right, piece.to.x),
             std::max(box.bottom, piece.to.y)};
    }
    for (const Label& label : drawing.labels) {
      const bool own = label.role == "op" || label.role == "over" || label.role == "unit" || label.role == "start";
      if (!own && box.meets(box_of(label))) out.push_back(text_of(label) + " under a box");
    }
  }
  return out;
}

struct Case {
  const char *algorithm, *gpu, *kernel, *dtype;
  NamedSizes shape;
  TileText tile;
};

std::vector<Case> cases() {
  const NamedSizes attention = {{"h", 16}, {"q", 8448}, {"x", 8192}, {"d", 128}};
  const NamedSizes product = {{"a", 4096}, {"b", 4096}, {"c", 4096}};
  return {{"attention",
           "paper-h100",
           "napkin_fp8",
           "e4m3",
           attention,
           {{"q", "384"}, {"warpgroups", "3"}, {"x", "64"}, {"u_x", "64"}, {"d_block", "32"}, {"d_step", "8"}}},
          {"attention", "paper-h100", "napkin_fp8", "e4m3", attention, {{"u_x", "32"}}},
          {"attention", "h200-sxm", "", "bf16", attention, {}},
          {"attention", "b200", "", "bf16", attention, {}},
          {"attention", "mi300x", "", "bf16", attention, {}},
          {"attention", "ascend-910b2", "", "bf16", attention, {}},
          {"attention_backward", "h200-sxm", "", "bf16", attention, {}},
          {"matmul", "h200-sxm", "", "bf16", product, {}},
          {"matmul", "b200", "", "bf16", product, {}},
          {"convolution_2d", "h200-sxm", "", "bf16", {{"i", 64}, {"y", 64}, {"c", 64}}, {}}};
}

Ask ask_of(const Case& one) {
  Ask ask;
  ask.algorithm = one.algorithm;
  ask.gpu = one.gpu;
  ask.kernel = one.kernel;
  ask.dtype = one.dtype;
  ask.shape = one.shape;
  ask.tile = one.tile;
  return ask;
}

ColumnDiagram diagram_of(const Ask& ask) {
  const Question question = question_of(default_session(), ask);
  const SelectedTile selected = select_tile(question);
  const Placer placer = placer_of(*selected.setup);
  return columns_of(placer.place(selected.tile), {});
}

/// Returns the bytes of the picture's changes of colour by the lower level of their pipe, and the bytes that its notes
/// state.
std::map<std::string, std::pair<std::int64_t, std::int64_t>> moved(const ColumnDiagram& diagram) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> out;
  for (const DiagramColumn& column : diagram.columns) {
    for (const auto& event : column.events) {
      const Move* move = std::get_if<Move>(&event);
      if (move == nullptr) continue;
      auto& [load, store] = out[diagram.levels[at(move->into)].name];
      (move->store ? store : load) += *move->bytes;
    }
  }
  for (const UndrawnMove& one : diagram.undrawn) {
    auto& [load, store] = out[diagram.levels[at(one.into)].name];
    (one.store ? store : load) += one.bytes;
  }
  return out;
}

}  // namespace

TEST_CASE("labels of every built-in diagram stand free of each other") {
  for (const std::string& name : builtin_diagrams()) {
    CAPTURE(name);
    const Drawing drawing = drawing_of(columns_of(streamed_of(name)));
    CHECK(joined(collisions(drawing)) == "");
    CHECK(joined(covered(drawing)) == "");
  }
}

TEST_CASE("arrays that are joined end in a box over their axis; slices say from where they are read, once") {
  const std::string head =
      "algorithm: joined\naxes: {y: , a: 5, n: , d: , x: , i: }\n"
      "inputs: [\"A[a: y, d]\", \"B[n: y - 5, d]\", \"X[x: i + 3, d]\"]\n";
  const auto drawn = [&](const std::string& operations) {
    return columns_of(derive(parse_diagram(head + operations + "\noutputs: [J, S]\n", "joined.yaml")));
  };
  const ColumnDiagram diagram = drawn("operations: [\"J[y,d] = add (A, B)\", \"S[i,d] = copy (X)\"]");
  const ColumnFunction* join = nullptr;
  for (const DiagramColumn& column : diagram.columns) {
    for (const ColumnFunction& one : column.functions) join = one.text == "join" ? &one : join;
  }
  REQUIRE(join != nullptr);
  CHECK(join->shape == Shape::box);
  CHECK(join->consumed == std::vector<AxisId>{0});
  const Drawing drawing = drawing_of(diagram);
  CHECK(joined(collisions(drawing)) == "");
  CHECK(joined(covered(drawing)) == "");
  std::multiset<std::string> said;
  for (const Label& label : drawing.labels) said.insert(text_of(label));
  for (const char* label : {"a: y", "n: y-5", "x: i+3"}) CHECK(said.count(label) == 1);
  // A difference, and a sum with an array that is not cut, join nothing.
  for (const char* other : {"subtract (A, B)", "multiply (A, B)"}) {
    const Drawing plain =
        drawing_of(drawn("operations: [\"J[y,d] = " + std::string(other) + "\", \"S[i,d] = copy (X)\"]"));
    for (const Label& label : plain.labels) CHECK(text_of(label) != "join");
  }
}

TEST_CASE("a placed diagram: query's numbers, and labels that one can read") {
  for (const Case& one : cases()) {
    CAPTURE(std::string(one.algorithm));
    CAPTURE(std::string(one.gpu));
    const Ask ask = ask_of(one);
    const ColumnDiagram diagram = diagram_of(ask);
    const QueryAnswer answer = *default_session().query(ask);
    auto bytes = moved(diagram);
    for (const LevelAnswer& level : answer.levels) {
      CAPTURE(level.name);
      const auto drawn = std::find_if(diagram.levels.begin(), diagram.levels.end(),
                                      [&](const DiagramLevel& other) { return other.name == level.name; });
      REQUIRE(drawn != diagram.levels.end());
      CHECK(drawn->load == level.load);
      CHECK(drawn->store == level.store);
      CHECK(drawn->groups == level.groups);
      CHECK(drawn->allocated == level.memory);
      if (drawn->used) {
        CHECK(bytes[level.name].first == level.load);
        CHECK(bytes[level.name].second == level.store);
      }
      std::int64_t largest = 0;
      for (const DiagramColumn& column : diagram.columns) {
        for (const LevelHeld& held : column.held) {
          if (held.level == drawn->level) largest = std::max(largest, held.bytes);
        }
      }
      CHECK(largest == level.memory_lower_bound);
    }
    const Drawing drawing = drawing_of(diagram);
    CHECK(joined(collisions(drawing)) == "");
    CHECK(joined(covered(drawing)) == "");
  }
}

TEST_CASE("a part that is made apart from its sum goes to it: P V from L0C over the L2 to the running O in UB") {
  const ColumnDiagram diagram = diagram_of(ask_of(
      {"attention", "ascend-910b2", "ascend_forward", "bf16", {{"q", 128}, {"x", 512}, {"d", 128}}, {{"x", "128"}}}));
  std::map<std::string, std::string> level;  // level by variable
  std::vector<std::string> ways;             // of pv
  int sum = -1, part = -1;
  for (const DiagramColumn& column : diagram.columns) {
    for (const auto& event : column.events) {
      if (const auto* stretch = std::get_if<Stretch>(&event)) {
        if (stretch->name == "pv") part = stretch->bundle;
        if (stretch->name == "O" && sum < 0) sum = stretch->bundle;
        level.emplace(stretch->name, diagram.levels[at(stretch->level)].name);
      } else if (std::get<Move>(event).bundle == part) {
        ways.push_back(diagram.levels[at(std::get<Move>(event).to)].name);
        CHECK(column.phase == Phase::loop);
      }
    }
  }
  CHECK(level["pv"] == "l0c");
  CHECK(level["O"] == "ub");
  CHECK(ways == std::vector<std::string>{"l2", "ub"});
  const auto adds = [&](const ColumnFunction& one) {
    return one.text == "+" && one.inputs.front().bundle == part && one.outputs == std::vector<int>{sum};
  };
  CHECK(std::any_of(diagram.columns.begin(), diagram.columns.end(), [&](const DiagramColumn& column) {
    return std::any_of(column.functions.begin(), column.functions.end(), adds);
  }));
}

TEST_CASE("the abstract machine's picture counts values") {
  Ask ask;
  ask.algorithm = "attention";
  ask.memory = 512;
  ask.shape = {{"q", 96}, {"x", 80}, {"d", 16}};
  ask.tile = {{"q", "12"}, {"x", "4"}};
  const ColumnDiagram diagram = diagram_of(ask);
  CHECK(diagram.values);
  CHECK(diagram.levels[1].load + diagram.levels[1].store == 23552);
  CHECK(diagram.levels[1].drawn == 512);
  CHECK(json_of(diagram)["unit"] == "values");
}

TEST_CASE("hierarchies and tilings have labels that one can read") {
  for (const char* gpu : {"paper-h100", "b200", "mi300x", "ascend-910b2", "a100-sxm-80"}) {
    CAPTURE(std::string(gpu));
    Ask ask;
    ask.algorithm = "matmul";
    ask.gpu = gpu;
    ask.shape = {{"a", 4096}, {"b", 4096}, {"c", 4096}};
    const Question question = question_of(default_session(), ask);
    const SelectedTile selected = select_tile(question);
    const Placer placer = placer_of(*selected.setup);
    const Drawing hierarchy = hierarchy_of(*question.machine, clock_of(*question.machine));
    CHECK(joined(collisions(hierarchy)) == "");
    CHECK(hierarchy.labels.size() >= 3 * question.machine->levels.size());
    const PlacedDiagram placed = placer.place(selected.tile);
    const Drawing tiling = tiling_of(placed);
    CHECK(joined(collisions(tiling)) == "");
    std::string said;
    for (const Label& label : tiling.labels) said += text_of(label) + "\n";
    const Count rows = placed.block().extent[at(placed.streamed->diagram.axis("a"))];
    CHECK(said.find("=\u00A0" + std::to_string(rows.get())) != std::string::npos);
  }
}

TEST_CASE("attention as the paper draws it") {
  const ColumnDiagram diagram = columns_of(streamed_of("attention"));
  std::vector<std::string> functions, brackets;
  for (const DiagramColumn& column : diagram.columns) {
    for (const ColumnFunction& f : column.functions) functions.push_back(f.text);
    if (column.kind == DiagramColumn::Kind::open) brackets.push_back(column.title);
  }
  CHECK(functions == std::vector<std::string>{"−∞, 0", "0", "·", "softmax", "×", "·+", "÷"});
  CHECK(brackets == std::vector<std::string>{"for each s_x of x"});
  for (const Bundle& bundle : diagram.bundles) CHECK(bundle.axes.size() <= 2);
}

TEST_CASE("SVG and TikZ write the same lines and labels") {
  const Drawing drawing = drawing_of(columns_of(streamed_of("attention")));
  const std::string svg = svg_of(drawing), tikz = tikz_of(drawing, false);
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + 1)) ++n;
    return n;
  };
  CHECK(count(svg, "<text") == drawing.labels.size());
  CHECK(count(tikz, "\\node[") == drawing.labels.size());
  CHECK(count(svg, "<path") == count(tikz, "\\path[") + count(tikz, "\\draw[white"));
  CHECK(count(tikz, "{") == count(tikz, "}"));
  CHECK(tikz.find("?") == std::string::npos);  // a sign that TeX has no name for
}

}  // namespace test_columns
