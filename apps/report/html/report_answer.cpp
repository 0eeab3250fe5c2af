// The first sections of a report: the answer in words and figures, and how sure it is.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "apps/report/html/html.hpp"
#include "apps/report/html/report_parts.hpp"
#include "apps/report/json/standing.hpp"
#include "apps/report/text/text.hpp"
#include "apps/report/text/why.hpp"
#include "apps/report/units.hpp"

namespace napkin::internal::report {
namespace {

using html::number;

std::string fact(std::string_view name, const std::string& value, const std::string& more) {
  return fmt::format("<div><dt>{}</dt><dd><b>{}</b>{}</dd></div>\n", html::text(name), value,
                     more.empty() ? std::string() : fmt::format("<span>{}</span>", more));
}

std::string capital(std::string words) {
  if (!words.empty()) words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words;
}

std::string knobs_of(const ReportAnswer& answer) {
  std::string out;
  for (const KnobValue& knob : answer.query.head.tile)
    out += fmt::format("<li>{} <b>{}</b></li>\n", html::explained(html::text(knob.name), about(answer, knob.name)),
                       html::text(knob.word.empty() ? std::to_string(knob.number) : knob.word));
  return out.empty() ? "" : "<ul class=\"knobs\" aria-label=\"The tile, knob by knob\">\n" + out + "</ul>\n";
}

std::string range_of(const PredictedAnswer& predicted) { return html::micro(html::text(range_text(predicted))); }

std::string facts_of(const ReportAnswer& answer) {
  const PredictedAnswer& p = *answer.query.predicted;
  const OccupancyAnswer& held = answer.selected.occupancy;
  std::string out = fact(p.at_least ? "Takes at least" : "Takes", html::time(p.time), range_of(p));
  out += fact(p.at_least ? "Speed, at most" : "Speed", number(tflops_text(p.tflops)),
              number(work_text(answer.query.work.flops)) + " of work");
  out += fact("Limited by", html::explained(html::text(limit_of(answer.query.head, p)), about(answer, p.bound)),
              p.nodes.busy < p.nodes.all ? fmt::format("{} of {} {} have work", p.nodes.busy, p.nodes.all,
                                                       html::text(answer.query.head.terms.nodes))
                                         : html::text(count_text(static_cast<std::int64_t>(p.cycles)) + " cycles"));
  out += fact("Clock", number(clock_text(p.clock)), html::text(p.clock_source));
  if (p.power) out += fact("Power", number(fmt::format("{:.0f} W", *p.power)), "");
  if (answer.picked && held.shared_memory_limit > 0)
    out += fact(capital(answer.query.head.terms.memory), number(memory_text(held.shared_memory)),
                "of " + number(memory_text(held.shared_memory_limit)) +
                    (held.registers_per_thread > 0
                         ? fmt::format("; {} of {} registers a thread", held.registers_per_thread, held.registers_limit)
                         : std::string()));
  return "<dl class=\"facts\">\n" + out + "</dl>\n";
}

/// Writes a list of knobs, such as "warpgroups=3,x=80", that may be broken after its commas.
std::string breakable(const std::string& html) {
  std::string out;
  for (std::size_t i = 0; i < html.size(); ++i) {
    out += html[i];
    if (html[i] == ',' && i + 1 < html.size() && std::isalpha(static_cast<unsigned char>(html[i + 1])) != 0)
      out += "<wbr>";
  }
  return out;
}

std::string item(const std::string& words) { return "<li>" + breakable(html::micro(html::text(words))) + "</li>\n"; }

/// Returns the reasons of the selected tile, one below the other: what limits, the neighbours, the runner-up.
std::string reasons_of(const ReportAnswer& answer) {
  std::string out = item(why_text(answer.query.head, *answer.query.predicted));
  for (const std::string& reason : further_reasons(answer.query.head, *answer.query.predicted, answer.selected.reasons))
    out += item(reason);
  return "<ul class=\"reasons\">\n" + out + "</ul>\n";
}

/// Says whether the tile is the model's choice, and how long that choice would take.
std::string choice_of(const ReportAnswer& answer) {
  const SelectAnswer& best = answer.selected;
  if (answer.picked && answer.query.predicted)
    return "<h3>Why this tile</h3>\n" +
           html::paragraph(fmt::format("Of {} candidates {} are legal, and none is predicted to be faster.",
                                       count_text(best.candidates), count_text(best.legal.value_or(0)))) +
           reasons_of(answer);
  if (!best.found || !best.predicted || !answer.query.predicted) return "";
  const double slower = answer.query.predicted->time / best.predicted->time - 1;
  return "<h3>Why this time</h3>\n<ul class=\"reasons\">\n" +
         item(why_text(answer.query.head, *answer.query.predicted)) + "</ul>\n" +
         html::paragraph(fmt::format(
             "<b>The tile is yours.</b> Of {} legal tiles the model would choose {}, which takes {}: yours takes {} "
             "{}.",
             count_text(best.legal.value_or(0)), html::code(differences(best.head.tile, answer.query.head.tile)),
             html::time(best.predicted->time), html::share(std::abs(slower), 1), slower < 0 ? "less" : "more"));
}

std::string violations_of(const QueryAnswer& query) {
  std::string out;
  for (const ViolationAnswer& violation : query.violations)
    out += fmt::format("<li>{}: {}</li>\n", html::text(violation.constraint), html::text(violation.text));
  if (out.empty()) return "";
  return "<div class=\"note refused\" role=\"note\">\n<p><b>This tile cannot run.</b> The kernel refuses "
         "it:</p>\n<ul>\n" +
         out + "</ul>\n</div>\n";
}

std::string notes_of(const QueryAnswer& query) {
  std::string out;
  for (const std::string& note : query.notes)
    out += fmt::format("<p class=\"note\" role=\"note\">{}.</p>\n", html::text(note));
  return out;
}

std::string class_words(const ClassError& error) {
  return fmt::format("{} on {}, {}", error.kernel, error.architecture,
                     error.by_graph ? "by the event graph" : "by the fullest pipe alone");
}

std::string classes_table(const ReportAnswer& answer) {
  const bool known = std::any_of(answer.classes.begin(), answer.classes.end(),
                                 [](const ClassError& error) { return error.ninety.has_value(); });
  html::Table table{"How far off earlier predictions of this kernel were: |predicted / measured - 1|",
                    {{"class"}, {"measured by"}, {"rows", true}, {"mean", true}, {"median", true}},
                    {}};
  if (known) table.columns.push_back({"nine of ten within", true});
  for (const ClassError& error : answer.classes) {
    table.rows.push_back({html::text(class_words(error)), !error.gpu.empty() ? "this project" : "others",
                          count_text(static_cast<std::int64_t>(error.rows)), html::share(error.mean, 1),
                          html::share(error.median, 1)});
    if (known) table.rows.back().push_back(error.ninety ? html::share(*error.ninety, 1) : "not known");
  }
  return answer.classes.empty() ? "" : html::table(table);
}

/// Writes the word for a basis, and its meaning.
std::string basis_words(const std::string& basis) {
  if (basis == "measured") return "<b>measured</b>: a small kernel or a published reading of that GPU or its siblings";
  if (basis == "counted") return "<b>counted</b>: instructions of the kernel, from its mapping";
  if (basis == "fitted") return "<b>fitted</b>: to runs of whole kernels";
  if (basis == "datasheet")
    return "<b>datasheet</b>: as the vendor states it, or with the source that the profile names";
  if (basis == "derived") return "<b>derived</b>: from other numbers, or from a sibling";
  return "<b>" + html::text(basis) + "</b>: nobody has confirmed it";
}

std::string bases_table(const ReportAnswer& answer) {
  if (!answer.sensitive || answer.sensitive->rows.empty()) return "";
  html::Table table{
      "Where the numbers come from that decide the time", {{"basis"}, {"share of the sensitivity", true}, {""}}, {}};
  for (const auto& [basis, part] : answer.sensitive->shares_by_basis())
    table.rows.push_back(
        {basis_words(basis), part < 0.005 ? "less than " + html::share(0.01) : html::share(part), html::bar(part)});
  return html::table(table);
}

std::string clock_words(const ReportAnswer& answer) {
  if (!answer.query.head.kernel)
    return "No kernel is known here, so the time is a bound: no mapping of the algorithm takes less on this machine, "
           "and a real kernel takes more.";
  if (answer.query.predicted->by_graph())
    return "The time comes from the event graph: each instruction group, copy and wait of the kernel, with its "
           "duration.";
  return "The time comes from the fullest pipe alone. That is a bound: real kernels take longer.";
}

std::string band_words(const StandingAnswer& standing, const std::string& range) {
  if (!standing.band) return "No band is known: " + html::text(standing.unsure) + ".";
  const Band& band = *standing.band;
  std::string text = fmt::format(
      "Over {} of {} the mean error was {}; calls took {:+.0f}\u00a0% of the prediction in "
      "the mean.",
      found_text(band), html::text(band.of), html::share(band.error, 1), 100 * band.bias());
  if (!band.wide.empty()) text += " The band is wide: " + html::text(band.wide) + ".";
  return range.empty() ? text : text + " Eight of ten such calls take from " + range + ".";
}

/// Writes what the prediction is based on, lacks and leaves out; numbers have their explanations.
std::string rests_on(const ReportAnswer& answer) {
  std::string out;
  if (const auto& standing = answer.query.predicted->standing) {
    for (const std::string& line : basis_lines(*standing)) out += "<li>" + with_terms(answer, line) + "</li>\n";
  }
  return out.empty() ? "" : "<ul class=\"reasons\">\n" + out + "</ul>\n";
}

std::string how_sure(const ReportAnswer& answer) {
  std::string text = clock_words(answer);
  const auto& standing = answer.query.predicted->standing;
  if (!standing || !answer.query.head.kernel) return text;
  text += " " + band_words(*standing, range_of(*answer.query.predicted));
  return text;
}

}  // namespace

std::string title_of(const Head& head) {
  return fmt::format("{} on {}, {}{}", head.algorithm, head.gpu.value_or(""), head.dtype,
                     head.mask.kind == Mask::Kind::none ? "" : ", " + html::mask(head.mask));
}

std::string sizes_of(const Head& head) {
  return head.lengths.empty() ? text_of(head.shape)
                              : fmt::format("{}, {} packed sequences", text_of(head.shape), head.lengths.size());
}

std::string sentence_of(const ReportAnswer& answer) {
  const QueryAnswer& query = answer.query;
  const Head& head = query.head;
  if (!query.predicted)
    return fmt::format("{} with {} has no predicted time: the profile lacks the rates that one needs.",
                       html::text(title_of(head)), html::code(sizes_of(head)));
  const PredictedAnswer& p = *query.predicted;
  const std::string who = head.kernel ? "the kernel " + html::code(*head.kernel) : std::string("any kernel");
  if (!query.legal)
    return fmt::format("With this tile {} cannot run at {}; if it could, it would take <b>{}</b>.", who,
                       html::code(sizes_of(head)), html::time(p.time));
  return fmt::format("At {} {} takes {}<b>{}</b>, which is {}{}. {} it.", html::code(sizes_of(head)), who,
                     p.at_least ? "at least " : "", html::time(p.time), p.at_least ? "at most " : "",
                     number(tflops_text(p.tflops)),
                     "<b>" + capital(html::text(limit_of(head, p))) + "</b>" +
                         (limit_of(head, p).ends_with(head.terms.matrix) ? " limit" : " limits"));
}

std::string answer_section(const ReportAnswer& answer) {
  std::string body = violations_of(answer.query);
  if (answer.query.predicted) body += facts_of(answer);
  if (!answer.query.launches.empty())
    body += html::paragraph(fmt::format(
        "One launch does not hold the algorithm. It is cut into {} launches, and the tables below sum them.",
        answer.query.launches.size()));
  std::string told = choice_of(answer);
  if (!answer.query.head.tile.empty()) told += "<h3>The tile</h3>\n" + knobs_of(answer);
  const std::string shown = timeline_part(answer);
  body += shown.empty() ? told
                        : "<div class=\"beside\">\n<div>\n" + told + "</div>\n<div id=\"timeline\">\n" + shown +
                              "</div>\n</div>\n";
  return html::section("answer", "The answer", "", body + notes_of(answer.query));
}

std::string sure_section(const ReportAnswer& answer) {
  if (!answer.query.predicted) return "";
  return html::section("sure", "How sure this is, and why", how_sure(answer),
                       rests_on(answer) + classes_table(answer) + bases_table(answer));
}

}  // namespace napkin::internal::report
