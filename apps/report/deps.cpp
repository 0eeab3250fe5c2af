#include "apps/report/deps.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "model/dependence/text.hpp"

namespace napkin::report {
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

// Two pairs of references may give the same edge: it is told once.
Json edges_json(const Dependences& all) {
  Json json = Json::array();
  std::set<std::string> told;
  for (const Dependence& d : all.edges) {
    Json edge = {{"from", name_of(all.nest, d.from)},
                 {"to", name_of(all.nest, d.to)},
                 {"kind", dependence::name_of(d.kind)},
                 {"vector", vector_json(d.vector)}};
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
    json.push_back({{"name", loop_name(all.nest, verdict.loop)}, {"parallel", verdict.parallel}, {"carried", carried}});
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

// Over all loops where they are few, else over the outer ones, which the statements share.
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
    const std::string word = verdict.parallel ? "parallel" : verdict.carried.empty() ? "not parallel" : "carried";
    table.add(
        {loop.name, all.sizes_matter ? std::to_string(loop.size()) : "", word, wrapped(why, 70, std::string(30, ' '))});
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

std::string dot_edge(const Dependences& all, const Dependence& d) {
  const auto carrier = d.carrier();
  const char* style = d.kind == Kind::raw ? "solid" : d.kind == Kind::war ? "dashed" : "dotted";
  std::string label(dependence::name_of(d.kind));
  if (carrier) label += " " + loop_name(all.nest, *carrier);
  return "  " + name_of(all.nest, d.from) + " -> " + name_of(all.nest, d.to) + " [style=" + style + ", label=\"" +
         label + "\"" + (carrier ? ", color=\"#b03030\", fontcolor=\"#b03030\", constraint=false" : "") + "];\n";
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
  analyse(all);
  return all;
}

Json json_of(const Dependences& all) {
  Json sccs = Json::array();
  for (const auto& members : all.recurrences) sccs.push_back(names_of(all.nest, members));
  return {{"edges", edges_json(all)}, {"sccs", sccs}, {"loops", loops_json(all)}, {"orders", orders_json(all)}};
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
  for (const dependence::Statement& s : all.nest.statements) statements += "  " + print_statement(all.nest, s) + "\n";
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
      "digraph dependences {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
      "  edge [fontname=\"sans-serif\", fontsize=9];\n";
  for (const dependence::Statement& s : all.nest.statements) {
    text += "  " + s.name + " [label=\"" + print_statement(all.nest, s) + "\"];\n";
  }
  for (std::size_t i = 0; i < all.recurrences.size(); ++i) {
    text += "  subgraph cluster_" + std::to_string(i) + " { style=\"rounded,filled\"; color=\"#e8eef8\";";
    for (const std::string& name : names_of(all.nest, all.recurrences[i])) text += " " + name + ";";
    text += " }\n";
  }
  std::set<std::string> told;
  for (const Dependence& d : all.edges) {
    std::string edge = dot_edge(all, d);
    if (told.insert(edge).second) text += edge;
  }
  return text + "}\n";
}

}  // namespace napkin::report
