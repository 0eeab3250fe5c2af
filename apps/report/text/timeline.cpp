#include "apps/report/text/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/report/text/text.hpp"
#include "apps/report/text/timeline_lanes.hpp"
#include "apps/report/text/timeline_waits.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

constexpr int chart_columns = 100;

/// Returns a letter for each node, in the graph's order.
char letter(int node) { return static_cast<char>(node < 26 ? 'a' + node : 'A' + (node - 26) % 26); }

std::string chart(const TimelineAnswer& r) {
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

/// Returns the busy share of each pipe in the steady state.
std::vector<std::pair<std::string, double>> pipes_of(const TimelineAnswer& r) {
  std::vector<std::pair<std::string, double>> out;
  double tensor = 0, copies = 0;
  std::vector<double> vector(r.graph.pipes.size(), 0.0), engines(r.graph.engines.size(), 0.0);
  for (std::size_t n = 0; n < r.graph.nodes.size(); ++n) {
    const EventNode& node = r.graph.nodes[n];
    if (node.phase != Phase::loop) continue;
    if (node.kind == NodeKind::tensor) tensor += node.clocks * r.graph.instances[n];
    if (node.engine >= 0) engines[static_cast<std::size_t>(node.engine)] += node.clocks * r.graph.instances[n];
    if (node.kind == NodeKind::copy && node.engine < 0) copies += node.clocks * r.graph.instances[n];
    for (std::size_t p = 0; p < vector.size(); ++p) vector[p] += node.demand[p] * r.graph.instances[n];
  }
  vector[0] += tensor;  // the matrix unit, wherever its operands are
  if (engines.empty()) out.emplace_back("copies", copies / r.period.clocks);
  for (std::size_t e = 0; e < engines.size(); ++e) out.emplace_back(r.graph.engines[e], engines[e] / r.period.clocks);
  for (std::size_t p = 0; p < vector.size(); ++p) {
    if (vector[p] > 0) out.emplace_back(r.graph.pipes[p].name, vector[p] / r.period.clocks);
  }
  return out;
}

}  // namespace

std::vector<std::pair<std::string, double>> engines_of(const TimelineAnswer& r) {
  std::vector<std::pair<std::string, double>> out;
  for (const std::string& name : r.graph.engines) out.emplace_back(name, 0.0);
  if (!(r.predicted.cycles > 0)) return out;
  for (std::size_t n = 0; n < r.graph.nodes.size(); ++n) {
    const EventNode& node = r.graph.nodes[n];
    if (node.phase != Phase::loop || node.engine < 0) continue;
    out[static_cast<std::size_t>(node.engine)].second +=
        node.clocks * r.graph.instances[n] * r.node_iterations / r.predicted.cycles;
  }
  return out;
}

std::string text_of(const TimelineAnswer& r, const Style& style) {
  const Period& p = r.period;
  std::string busy;
  for (const auto& [name, share] : pipes_of(r))
    busy += fmt::format("{}{} {}", busy.empty() ? "" : ", ", name, percent_text(share));
  std::string out = heading(r.head, style);
  out += labelled("iteration", fmt::format("{:.0f} clk, {:.0f} of it contention", p.clocks, p.contention), style);
  out += labelled("pipe", fmt::format("{:.0f} clk: {}", p.pipe.clocks, pipe_words(r)), style);
  out += labelled("cycle", fmt::format("{:.0f} clk: {}", p.cycle.clocks, chain(p.cycle.nodes)), style);
  out += labelled("busy", busy, style);
  std::string room;
  for (const auto& [operation, fraction] : r.budgets)
    room += fmt::format("{}{} {}", room.empty() ? "" : ", ", operation, percent_text(fraction));
  out += labelled("room", room.empty() ? "no vector work" : room + " longer vector work lengthens no iteration", style);
  out += labelled("block",
                  fmt::format("{:.0f} clk: {:.1f} iterations and {:.0f} at its ends ({:.0f} for a node's first block)",
                              r.block.next, r.block_iterations, r.ends.next, r.ends.first),
                  style);
  out += labelled("nodes",
                  fmt::format("{:.0f}: the busiest has {} of {} iterations", r.nodes,
                              count_text(static_cast<std::int64_t>(r.node_iterations)),
                              count_text(static_cast<std::int64_t>(r.all_iterations))),
                  style);
  const std::string power = r.predicted.power ? fmt::format(", {:.0f} W", r.predicted.power->value) : "";
  out += labelled("time",
                  fmt::format("{}: {} clk on the busiest node, at {}{}", time_text(r.predicted.time.value),
                              count_text(static_cast<std::int64_t>(r.predicted.cycles)),
                              clock_text(r.predicted.clock.value), power),
                  style);
  if (!r.timed)
    out += labelled("note",
                    "nobody has timed this GPU's instructions: the event graph has the datasheet's rates, and napkin "
                    "query goes by the roofline there",
                    style);
  out += fmt::format("\n{}\n", style.strong(fmt::format("the first {} iterations of a block", r.iterations)));
  return out + chart(r);
}

Json json_of(const TimelineAnswer& r) {
  Json json = json_of(r.head, "timeline");
  const Period& p = r.period;
  json["period"] = {{"cycles", json_of(p.clocks)},
                    {"first_block", json_of(r.ends.first)},
                    {"next_block", json_of(r.ends.next)},
                    {"pipe", {{"name", pipe_name(p.pipe)}, {"cycles", json_of(p.pipe.clocks)}}},
                    {"critical_cycle", {{"nodes", p.cycle.nodes}, {"cycles", json_of(p.cycle.clocks)}}},
                    {"contention", json_of(p.contention)}};
  json["predicted"] = {{"cycles", json_of(r.predicted.cycles)},
                       {"clock", json_of(r.predicted.clock.value)},
                       {"power", r.predicted.power ? json_of(r.predicted.power->value) : Json(nullptr)},
                       {"time", json_of(r.predicted.time.value)}};
  json["timed"] = r.timed;
  json["iterations"] = {{"mean_block", json_of(r.block_iterations)},
                        {"busiest_node", json_of(r.node_iterations)},
                        {"all", json_of(r.all_iterations)}};
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
  for (const Wait& wait : waits_of(r)) {
    const TimelineSpan& on = r.run.spans[wait.on];
    spans[wait.span]["waits_for"] = {{"node", r.graph.node(on.node).name},
                                     {"tensor", r.graph.node(on.node).kind == NodeKind::tensor}};
  }
  json["spans"] = spans;
  json["ruler"] = r.agent_threads > 0 ? Json(r.agent_threads) : Json(nullptr);
  return json;
}

std::string perfetto_of(const TimelineAnswer& r) {
  Json events = Json::array();
  const std::vector<Lane> lanes = lanes_of(r);
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    events.push_back(
        {{"name", "thread_name"}, {"ph", "M"}, {"pid", 0}, {"tid", l}, {"args", {{"name", lanes[l].name}}}});
    for (const TimelineSpan& s : r.run.spans) {
      if (!lanes[l].has(r, s)) continue;
      events.push_back({{"name", label_of(r, s)},
                        {"ph", "X"},
                        {"pid", 0},
                        {"tid", l},
                        {"ts", json_of(s.start)},
                        {"dur", json_of(s.end - s.start)}});
    }
  }
  return line_of(Json{{"traceEvents", events}, {"displayTimeUnit", "ns"}});
}

}  // namespace napkin::internal::report
