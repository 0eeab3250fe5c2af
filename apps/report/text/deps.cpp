#include "apps/report/text/deps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "model/dependence/text.hpp"
#include "model/diagram/problem.hpp"
#include "model/diagram/text.hpp"

namespace napkin::internal::report {
namespace {

using namespace dependence;

constexpr std::size_t shown_orders = 24;
constexpr std::size_t shown_components = 6;

const std::string& name_of(const Nest& nest, StatementId id) {
  return nest.statements[static_cast<std::size_t>(id)].name;
}
std::vector<std::string> names_of(const Nest& nest, const std::vector<StatementId>& statements) {
  std::vector<std::string> names;
  for (StatementId s : statements) names.push_back(name_of(nest, s));
  return names;
}

std::string order_name(const Nest& nest, const Order& order, std::size_t outer) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < order.loops.size() && i < outer; ++i) names.push_back(loop_name(nest, order.loops[i]));
  return joined(names, " ");
}

std::string edge_name(const Nest& nest, const Dependence& d) {
  return name_of(nest, d.from) + " -> " + name_of(nest, d.to) + " " + std::string(dependence::name_of(d.kind));
}

Json vector_json(const std::vector<Component>& vector) {
  Json json = Json::array();
  for (const Component& c : vector) json.push_back(c.common ? Json(dependence::text_of(c)) : Json(nullptr));
  return json;
}

std::string word_of(const LoopVerdict& verdict) {
  return verdict.parallel ? "parallel" : verdict.carried.empty() ? "not parallel" : "carried";
}

/// Writes a statement with its scale as the author wrote it, not as a number at the sample sizes.
std::string statement_text(const Dependences& all, const dependence::Statement& statement) {
  std::string text = print_statement(all.nest, statement);
  for (const auto& [number, scale] : all.scales) {
    for (std::size_t at = text.find(number); at != std::string::npos; at = text.find(number, at + scale.size()))
      text.replace(at, number.size(), scale);
  }
  return text;
}

Json statements_json(const Dependences& all) {
  Json json = Json::array();
  for (const dependence::Statement& s : all.nest.statements) {
    Json loops = Json::array();
    for (const LoopId loop : s.loops) loops.push_back(loop_name(all.nest, loop));
    json.push_back({{"name", s.name}, {"text", statement_text(all, s)}, {"loops", loops}});
  }
  return json;
}

/// Lists the edges. Several pairs of references may give one edge, which is listed once.
Json edges_json(const Dependences& all) {
  Json json = Json::array();
  std::set<std::string> told;
  for (const Dependence& d : all.edges) {
    Json edge = {{"from", name_of(all.nest, d.from)},
                 {"to", name_of(all.nest, d.to)},
                 {"kind", dependence::name_of(d.kind)},
                 {"vector", vector_json(d.vector)},
                 {"value", print_reference(all.nest, d.source)}};
    const auto carrier = d.carrier();
    edge["carried_by"] = carrier ? Json(loop_name(all.nest, *carrier)) : Json(nullptr);
    if (told.insert(edge.dump()).second) json.push_back(std::move(edge));
  }
  return json;
}

Json loops_json(const Dependences& all) {
  Json json = Json::array();
  for (const LoopVerdict& verdict : all.loops) {
    Json carried = Json::array();
    std::set<std::string> told;
    for (std::size_t i : verdict.carried) {
      const std::string name = edge_name(all.nest, all.edges[i]);
      if (told.insert(name).second) carried.push_back(name);
    }
    const Loop& loop = all.nest.loops[static_cast<std::size_t>(verdict.loop)];
    json.push_back({{"name", loop_name(all.nest, verdict.loop)},
                    {"iterations", all.sizes_matter ? Json(loop.size()) : Json(nullptr)},
                    {"parallel", verdict.parallel},
                    {"verdict", word_of(verdict)},
                    {"carried", carried}});
  }
  return json;
}

Json traffic_json(const Dependences& all, const LoopTraffic& traffic) {
  Json json = {{"load", nullptr}, {"store", nullptr}};
  if (all.sizes_matter) json = {{"load", traffic.load.get()}, {"store", traffic.store.get()}};
  json["load_formula"] = formula(all.names, traffic, false);
  json["store_formula"] = formula(all.names, traffic, true);
  return json;
}

Json orders_json(const Dependences& all) {
  Json json = Json::array();
  for (std::size_t i = 0; i < all.orders.size(); ++i) {
    const Order& order = all.orders[i];
    Json loops = Json::array();
    for (std::size_t l = 0; l < all.outer; ++l) loops.push_back(loop_name(all.nest, order.loops[l]));
    json.push_back({{"order", loops},
                    {"legal", order.legal()},
                    {"why", order.legal() ? Json(nullptr) : Json(order.refusal->text)},
                    {"traffic", order.legal() ? traffic_json(all, all.traffic[i]) : Json(nullptr)}});
  }
  return json;
}

/// Returns how many components of a vector are shown: all if they are few, else those of the outer loops, which the
/// statements share.
std::size_t shown(const Dependences& all) {
  return all.nest.loops.size() <= shown_components ? all.nest.loops.size() : all.outer;
}

std::string vector_text(const Dependences& all, const Dependence& d) {
  return dependence::text_of({d.vector.begin(), d.vector.begin() + static_cast<std::ptrdiff_t>(shown(all))});
}

std::string edges_text(const Dependences& all, const Style& style) {
  const std::size_t count = shown(all);
  std::vector<std::string> names;
  for (std::size_t l = 0; l < count; ++l) names.push_back(all.nest.loops[l].name);
  Table table({"<from", "<to", "<kind", "<value", "<(" + joined(names) + ")", "<carried by"});
  std::set<std::vector<std::string>> told;
  for (const Dependence& d : all.edges) {
    const auto carrier = d.carrier();
    std::vector<std::string> row = {
        name_of(all.nest, d.from),           name_of(all.nest, d.to), std::string(dependence::name_of(d.kind)),
        print_reference(all.nest, d.source), vector_text(all, d),     carrier ? loop_name(all.nest, *carrier) : ""};
    if (told.insert(row).second) table.add(std::move(row));
  }
  return table.text(style, "  ");
}

std::string loops_text(const Dependences& all, const Style& style) {
  Table table({"<loop", "iterations", "<verdict", "<because"});
  for (const LoopVerdict& verdict : all.loops) {
    const Loop& loop = all.nest.loops[static_cast<std::size_t>(verdict.loop)];
    std::string why = "0 in every vector";
    if (!verdict.parallel) {
      const std::size_t edge = verdict.carried.empty() ? verdict.blocking.front() : verdict.carried.front();
      const Dependence& d = all.edges[edge];
      why = edge_name(all.nest, d) + " " + print_reference(all.nest, d.source) + " " + vector_text(all, d);
      if (verdict.blocking.size() > 1) why += " and " + std::to_string(verdict.blocking.size() - 1) + " more";
    }
    table.add({loop.name, all.sizes_matter ? std::to_string(loop.size()) : "", word_of(verdict),
               wrapped(why, 70, std::string(30, ' '))});
  }
  return table.text(style, "  ");
}

void analyse(Dependences& all) {
  all.edges = dependences(all.nest);
  all.recurrences = recurrences(graph_of(all.nest, all.edges));
  all.loops = loop_verdicts(all.nest, all.edges);
  all.orders = orders(all.nest, all.edges, all.outer);
  for (const Order& order : all.orders) {
    all.traffic.push_back(order.legal() ? traffic_of(all.nest, all.edges, order.loops, all.cached, all.names)
                                        : LoopTraffic{});
  }
}

/// An arrow of the picture: all carried dependences between two statements, or all that are not carried.
struct Arrow {
  std::set<std::string> words;  ///< "RAW", "WAW x (0,+)"
  bool value = false;           ///< true if a value passes: a RAW is among them
};

/// Groups dependences by source, sink, and whether a loop carries them.
std::map<std::tuple<std::string, std::string, bool>, Arrow> arrows_of(const Dependences& all) {
  std::map<std::tuple<std::string, std::string, bool>, Arrow> out;
  for (const Dependence& d : all.edges) {
    const auto carrier = d.carrier();
    Arrow& arrow = out[{name_of(all.nest, d.from), name_of(all.nest, d.to), carrier.has_value()}];
    std::string word(dependence::name_of(d.kind));
    if (carrier) word += " " + loop_name(all.nest, *carrier);
    if (carrier && all.sizes_matter) word += " " + vector_text(all, d);  // vector of a nest alone, which has few loops
    arrow.words.insert(std::move(word));
    arrow.value = arrow.value || d.kind == Kind::raw;
  }
  return out;
}

std::string dot_arrow(const std::string& from, const std::string& to, bool carried, const Arrow& arrow) {
  std::string label;
  for (const std::string& word : arrow.words) label += (label.empty() ? "" : "\\n") + word;
  return "  " + from + " -> " + to + " [style=" + (arrow.value ? "solid" : "dashed") + ", label=\"" + label + "\"" +
         (carried ? ", color=\"#b03030\", fontcolor=\"#b03030\", constraint=false" : "") + "];\n";
}

constexpr std::size_t widest = 24;  // statement with its indices in a box, in characters

/// Writes a box's label: "S10(b,h,g,q,x)" above its operation and arrays. The indices of a long one are left to the
/// tooltip, which keeps boxes narrow.
std::string dot_label(const std::string& statement) {
  const std::size_t end = statement.find(") ");
  if (end == std::string::npos) return statement;
  if (statement.size() - end <= widest) return statement.substr(0, end + 1) + "\\n" + statement.substr(end + 2);
  std::string does;
  int depth = 0;
  for (const char c : statement.substr(end + 2)) {
    if (c == '[') ++depth;
    if (depth == 0) does += c;
    if (c == ']') --depth;
  }
  return statement.substr(0, end + 1) + "\\n" + does;
}

}  // namespace

Dependences dependences_of(const Nest& nest) {
  Dependences all;
  all.nest = nest;
  all.outer = std::min(max_permuted, nest.loops.size());
  all.cached = nest.loops.size() > 1 ? 1 : 0;
  all.names = loop_names(nest);
  analyse(all);
  return all;
}

Dependences dependences_of(const StreamedNest& made, const Diagram& diagram) {
  Dependences all;
  all.nest = made.nest;
  all.outer = std::min(max_permuted, made.outer);
  all.cached = made.nest.loops.size() - made.outer;
  all.sizes_matter = false;
  for (AxisId axis : made.axes) all.names.push_back(diagram.axes[static_cast<std::size_t>(axis)].name);
  for (const Operation& op : diagram.operations) {
    const auto loop = op.scale.axis ? std::find(made.axes.begin(), made.axes.end(), *op.scale.axis) : made.axes.end();
    if (loop == made.axes.end()) continue;
    Sizes sizes(diagram.axes.size(), Count(1));
    sizes[static_cast<std::size_t>(*op.scale.axis)] =
        made.nest.loops[static_cast<std::size_t>(loop - made.axes.begin())].size();
    all.scales.emplace_back(fmt::format("{}", value_of(op.scale, sizes)), print_scale(diagram, op.scale));
  }
  analyse(all);
  return all;
}

Json json_of(const Dependences& all) {
  Json sccs = Json::array();
  for (const auto& members : all.recurrences) sccs.push_back(names_of(all.nest, members));
  Json loops = Json::array();
  for (std::size_t l = 0; l < all.nest.loops.size(); ++l) loops.push_back(loop_name(all.nest, static_cast<LoopId>(l)));
  return {{"command", "deps"},
          {"name", all.nest.name},
          {"statements", statements_json(all)},
          {"arrays", all.nest.array_names()},
          {"vector_loops", loops},
          {"edges", edges_json(all)},
          {"sccs", sccs},
          {"loops", loops_json(all)},
          {"orders", orders_json(all)}};
}

std::string orders_text(const Dependences& all, const Style& style) {
  Table table(
      {"<order", "<legal", all.sizes_matter ? "loads" : "", all.sizes_matter ? "stores" : "", "<loads =", "<stores ="});
  std::string refusals;
  for (std::size_t i = 0; i < all.orders.size() && i < shown_orders; ++i) {
    const Order& order = all.orders[i];
    const std::string name = order_name(all.nest, order, all.outer);
    if (!order.legal()) {
      table.add({name, "no", "", "", "", ""});
      refusals += "  " + name + ": " + order.refusal->text + "\n";
      continue;
    }
    const LoopTraffic& t = all.traffic[i];
    table.add({name, "yes", all.sizes_matter ? std::to_string(t.load.get()) : "",
               all.sizes_matter ? std::to_string(t.store.get()) : "", formula(all.names, t, false),
               formula(all.names, t, true)});
  }
  std::string text = table.text(style, "  ");
  if (all.orders.size() > shown_orders) {
    text += "  ... and " + std::to_string(all.orders.size() - shown_orders) + " more (--json has all)\n";
  }
  return text + (refusals.empty() ? "" : "  refused, source to sink:\n" + refusals);
}

std::string text_of(const Dependences& all, const Style& style) {
  std::string text;
  const auto part = [&](const std::string& title, const std::string& body) {
    text += (text.empty() ? "" : "\n") + style.strong(title) + "\n" + body;
  };
  std::string statements, sets;
  for (const dependence::Statement& s : all.nest.statements) statements += "  " + statement_text(all, s) + "\n";
  for (const auto& members : all.recurrences) sets += "  {" + joined(names_of(all.nest, members)) + "}\n";
  part("statements of " + all.nest.name, statements);
  part("dependences (source to sink; + later, * any, . not common)", edges_text(all, style));
  part("recurrences (strongly connected by values)", sets.empty() ? "  none\n" : sets);
  part("loops", loops_text(all, style));
  const std::string held = all.cached == 1 ? "the innermost loop touches" : "all loops within these touch";
  part("orders, outermost first; values moved while a cache holds what " + held, orders_text(all, style));
  return text;
}

std::string summary_of(const Dependences& all) {
  std::vector<std::string> parallel, bound;
  for (const LoopVerdict& v : all.loops) (v.parallel ? parallel : bound).push_back(loop_name(all.nest, v.loop));
  const auto legal = std::count_if(all.orders.begin(), all.orders.end(), [](const Order& o) { return o.legal(); });
  return "parallel: " + (parallel.empty() ? "none" : joined(parallel)) +
         "; not parallel: " + (bound.empty() ? "none" : joined(bound)) + "; " + std::to_string(legal) + " of " +
         std::to_string(all.orders.size()) + " orders legal";
}

std::string dot_of(const Dependences& all) {
  std::string text =
      "digraph dependences {\n  rankdir=TB; nodesep=0.15; ranksep=0.45;\n"
      "  node [shape=box, fontname=\"sans-serif\", fontsize=13, style=filled, fillcolor=white, margin=\"0.06,0.04\"];\n"
      "  edge [fontname=\"sans-serif\", fontsize=11];\n";
  for (const dependence::Statement& s : all.nest.statements) {
    const std::string statement = statement_text(all, s);
    text += "  " + s.name + " [label=\"" + dot_label(statement) + "\", tooltip=\"" + statement + "\"];\n";
  }
  for (std::size_t i = 0; i < all.recurrences.size(); ++i) {
    text += "  subgraph cluster_" + std::to_string(i) + " { label=\"SCC" + std::to_string(i + 1) +
            "\"; labeljust=l; fontname=\"sans-serif\"; fontsize=12; style=\"rounded,filled\"; color=\"#e8eef8\";";
    for (const std::string& name : names_of(all.nest, all.recurrences[i])) text += " " + name + ";";
    text += " }\n";
  }
  for (const auto& [key, arrow] : arrows_of(all))
    text += dot_arrow(std::get<0>(key), std::get<1>(key), std::get<2>(key), arrow);
  return text + "}\n";
}

}  // namespace napkin::internal::report
