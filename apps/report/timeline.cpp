#include "apps/report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/report/svg.hpp"
#include "apps/report/text.hpp"
#include "apps/report/units.hpp"

namespace napkin::report {
namespace {

constexpr int chart_columns = 100;
constexpr int svg_label = 130, svg_width = 1400, svg_lane = 26, svg_gap = 6, svg_top = 60;
constexpr std::array<const char*, 10> colours{"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
                                              "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac"};

/// One row of the picture.
struct Lane {
  std::string name;
  NodeKind kind = NodeKind::thread;
  int agent = -1, instance = 0;
  [[nodiscard]] bool has(const TimelineReport& r, const TimelineSpan& s) const {
    const EventNode& node = r.graph.node(s.node);
    return node.kind == kind && (kind != NodeKind::thread || (node.agent == agent && s.instance == instance));
  }
};

bool has_threads(const EventGraph& graph, int agent) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const EventNode& n) { return n.kind == NodeKind::thread && n.agent == agent; });
}

std::vector<Lane> lanes_of(const TimelineReport& r) {
  std::vector<Lane> lanes;
  for (const auto& [kind, name] : {std::pair{NodeKind::copy, "copies"}, std::pair{NodeKind::store, "stores"},
                                   std::pair{NodeKind::tensor, "tensor"}}) {
    const auto of_kind = [k = kind](const EventNode& n) { return n.kind == k; };
    if (std::any_of(r.graph.nodes.begin(), r.graph.nodes.end(), of_kind)) lanes.push_back({name, kind});
  }
  for (std::size_t a = 0; a < r.agents.size(); ++a) {
    if (!has_threads(r.graph, static_cast<int>(a))) continue;
    int instances = 1;
    for (std::size_t n = 0; n < r.graph.nodes.size(); ++n) {
      if (r.graph.nodes[n].agent == static_cast<int>(a)) instances = r.graph.instances[n];
    }
    for (int i = 0; i < instances; ++i)
      lanes.push_back({fmt::format("{} {}", r.agents[a], i), NodeKind::thread, static_cast<int>(a), i});
  }
  return lanes;
}

std::string label(const TimelineReport& r, const TimelineSpan& s) {
  return fmt::format("{} {}{}", r.graph.node(s.node).name, s.iteration,
                     r.graph.instances[static_cast<std::size_t>(s.node)] > 1 ? fmt::format(" [{}]", s.instance) : "");
}

/// A letter for each node, in the graph's order.
char letter(int node) { return static_cast<char>(node < 26 ? 'a' + node : 'A' + (node - 26) % 26); }

std::string chart(const TimelineReport& r) {
  std::string out;
  const double column = r.run.clocks / chart_columns;
  for (const Lane& lane : lanes_of(r)) {
    std::string row(chart_columns, '.');
    for (const TimelineSpan& s : r.run.spans) {
      if (!lane.has(r, s)) continue;
      const int from = static_cast<int>(s.start / column), to = static_cast<int>(s.end / column);
      for (int c = from; c <= std::min(to, chart_columns - 1); ++c) {
        const bool mine = s.start < (c + 0.5) * column && s.end >= (c + 0.5) * column;
        if (mine) row[static_cast<std::size_t>(c)] = letter(s.node);
      }
    }
    out += fmt::format("  {:<12} {}\n", lane.name, row);
  }
  out += fmt::format("  {:<12} 0{:>{}.0f} clk\n  ", "", r.run.clocks, chart_columns - 1);
  for (std::size_t n = 0; n < r.graph.nodes.size(); ++n)
    out += fmt::format("{}{} {}", n == 0 ? "" : ", ", letter(static_cast<int>(n)), r.graph.nodes[n].name);
  return out + "\n";
}

std::string chain(const std::vector<std::string>& nodes) {
  std::string out;
  for (const std::string& node : nodes) out += (out.empty() ? "" : " > ") + node;
  return out.empty() ? "none" : out;
}

std::string pipe_name(const BusiestPipe& pipe) {
  return fmt::format("{}{}", pipe.name, pipe.beside_tensor ? " beside the tensor unit" : "");
}

/// Busy share of each pipe in the steady state.
std::vector<std::pair<std::string, double>> pipes_of(const TimelineReport& r) {
  std::vector<std::pair<std::string, double>> out;
  double tensor = 0, copies = 0;
  std::vector<double> vector(r.graph.pipes.size(), 0.0);
  for (std::size_t n = 0; n < r.graph.nodes.size(); ++n) {
    const EventNode& node = r.graph.nodes[n];
    if (node.phase != Phase::loop) continue;
    if (node.kind == NodeKind::tensor) tensor += node.clocks * r.graph.instances[n];
    if (node.kind == NodeKind::copy) copies += node.clocks * r.graph.instances[n];
    for (std::size_t p = 0; p < vector.size(); ++p) vector[p] += node.demand[p] * r.graph.instances[n];
  }
  vector[0] += tensor;  // the matrix unit, however it is fed
  out.emplace_back("copies", copies / r.period.clocks);
  for (std::size_t p = 0; p < vector.size(); ++p) {
    if (vector[p] > 0) out.emplace_back(r.graph.pipes[p].name, vector[p] / r.period.clocks);
  }
  return out;
}

std::string svg_lane_of(const TimelineReport& r, const Lane& lane, int y) {
  const double scale = (svg_width - svg_label - 20) / std::max(r.run.clocks, 1.0);
  std::string out = fmt::format("<text x=\"8\" y=\"{}\">{}</text>\n", y + svg_lane - 9, escaped(lane.name));
  for (const TimelineSpan& s : r.run.spans) {
    if (!lane.has(r, s)) continue;
    const double x = svg_label + s.start * scale, width = std::max((s.end - s.start) * scale, 0.5);
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{}\">"
        "<title>{}: {:.0f} to {:.0f} clk</title></rect>\n",
        x, y, width, svg_lane - svg_gap, colours[static_cast<std::size_t>(s.node) % colours.size()],
        s.instance % 2 == 0 ? "1" : "0.65", escaped(label(r, s)), s.start, s.end);
    if (width > 46) {
      out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" fill=\"white\" font-size=\"10\">{}</text>\n", x + 3,
                         y + svg_lane - 11, escaped(label(r, s)));
    }
  }
  return out;
}

}  // namespace

std::string text_of(const TimelineReport& r, const Style& style) {
  const Period& p = r.period;
  std::string busy;
  for (const auto& [name, share] : pipes_of(r))
    busy += fmt::format("{}{} {}", busy.empty() ? "" : ", ", name, percent_text(share));
  std::string out = heading(r.head, style);
  out += labelled("iteration", fmt::format("{:.0f} clk, {:.0f} of it contention", p.clocks, p.contention), style);
  out += labelled("pipe", fmt::format("{:.0f} clk: {}", p.pipe.clocks, pipe_name(p.pipe)), style);
  out += labelled("cycle", fmt::format("{:.0f} clk: {}", p.cycle.clocks, chain(p.cycle.nodes)), style);
  out += labelled("busy", busy, style);
  std::string room;
  for (const auto& [operation, fraction] : r.budgets)
    room += fmt::format("{}{} {}", room.empty() ? "" : ", ", operation, percent_text(fraction));
  out += labelled("room", room.empty() ? "no vector work" : room + " longer vector work lengthens no iteration", style);
  out += labelled("block",
                  fmt::format("{:.0f} clk: {:.1f} iterations and {:.0f} at its ends ({:.0f} for a node's first block)",
                              p.next + r.block_iterations * p.clocks, r.block_iterations, p.next, p.first),
                  style);
  out += labelled("launch",
                  fmt::format("{:.4g} M clk on the busiest node, {:.4g} M on the mean", r.launch.busiest / 1e6,
                              r.launch.mean / 1e6),
                  style);
  const std::string power = r.predicted.power ? fmt::format(", {:.0f} W", r.predicted.power->value) : "";
  out += labelled(
      "time", fmt::format("{} at {}{}", time_text(r.predicted.time.value), clock_text(r.predicted.clock.value), power),
      style);
  out += fmt::format("\n{}\n", style.strong(fmt::format("the first {} iterations of a block", r.iterations)));
  return out + chart(r);
}

Json json_of(const TimelineReport& r) {
  Json json = json_of(r.head, "timeline");
  const Period& p = r.period;
  json["period"] = {{"cycles", json_of(p.clocks)},
                    {"first_block", json_of(p.first)},
                    {"next_block", json_of(p.next)},
                    {"pipe", {{"name", pipe_name(p.pipe)}, {"cycles", json_of(p.pipe.clocks)}}},
                    {"critical_cycle", {{"nodes", p.cycle.nodes}, {"cycles", json_of(p.cycle.clocks)}}},
                    {"contention", json_of(p.contention)}};
  json["predicted"] = {{"cycles", json_of(r.predicted.cycles)},
                       {"clock", json_of(r.predicted.clock.value)},
                       {"power", r.predicted.power ? json_of(r.predicted.power->value) : Json(nullptr)},
                       {"time", json_of(r.predicted.time.value)}};
  json["launch"] = {{"busiest", json_of(r.launch.busiest)}, {"mean", json_of(r.launch.mean)}};
  Json budgets = Json::object(), overhead = Json::object();
  for (const auto& [operation, fraction] : r.budgets) budgets[operation] = json_of(fraction);
  for (const auto& [operation, fraction] : r.overhead) overhead[operation] = json_of(fraction);
  json["overhead"] = overhead;
  json["overhead_budget"] = budgets;
  Json pipes = Json::object();
  for (const auto& [name, share] : pipes_of(r)) pipes[name] = json_of(share);
  json["pipes"] = pipes;
  Json spans = Json::array();
  for (const TimelineSpan& s : r.run.spans) {
    spans.push_back({{"node", r.graph.node(s.node).name},
                     {"instance", s.instance},
                     {"iteration", s.iteration},
                     {"start", json_of(s.start)},
                     {"end", json_of(s.end)}});
  }
  json["spans"] = spans;
  return json;
}

std::string svg_of(const TimelineReport& r) {
  const std::vector<Lane> lanes = lanes_of(r);
  const int height = svg_top + static_cast<int>(lanes.size()) * svg_lane + 40;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"8\" y=\"24\" font-size=\"15\">{2}</text>\n<text x=\"8\" y=\"44\">{3}</text>\n",
      svg_width, height,
      escaped(fmt::format("{} of {} on {}, {}", r.head.kernel.value_or("ideal"), r.head.algorithm,
                          r.head.gpu.value_or(""), text_of(r.head.tile))),
      escaped(fmt::format("{:.0f} clk an iteration; busiest pipe {} {:.0f}; critical cycle {:.0f}", r.period.clocks,
                          pipe_name(r.period.pipe), r.period.pipe.clocks, r.period.cycle.clocks)));
  int y = svg_top;
  for (const Lane& lane : lanes) {
    out += svg_lane_of(r, lane, y);
    y += svg_lane;
  }
  const double scale = (svg_width - svg_label - 20) / std::max(r.run.clocks, 1.0);
  for (int i = 0; i * r.period.clocks <= r.run.clocks; ++i) {
    const double x = svg_label + i * r.period.clocks * scale;
    out += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#888\" stroke-dasharray=\"2 3\"/>\n"
        "<text x=\"{3:.1f}\" y=\"{4}\" font-size=\"11\" fill=\"#555\">{5:.0f}</text>\n",
        x, svg_top - 8, y, x + 3, y + 16, i * r.period.clocks);
  }
  return out + "</svg>\n";
}

std::string perfetto_of(const TimelineReport& r) {
  Json events = Json::array();
  const std::vector<Lane> lanes = lanes_of(r);
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    events.push_back(
        {{"name", "thread_name"}, {"ph", "M"}, {"pid", 0}, {"tid", l}, {"args", {{"name", lanes[l].name}}}});
    for (const TimelineSpan& s : r.run.spans) {
      if (!lanes[l].has(r, s)) continue;
      events.push_back({{"name", label(r, s)},
                        {"ph", "X"},
                        {"pid", 0},
                        {"tid", l},
                        {"ts", json_of(s.start)},
                        {"dur", json_of(s.end - s.start)}});
    }
  }
  return line_of(Json{{"traceEvents", events}, {"displayTimeUnit", "ns"}});
}

}  // namespace napkin::report
