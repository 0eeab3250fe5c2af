#include "model/machine/about.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "model/machine/sections.hpp"
#include "model/machine/vocabulary_of.hpp"

namespace napkin::internal {
namespace {

using Sentence = std::pair<std::string_view, std::string_view>;

constexpr std::array units_known = {
    Sentence{"tensor", "the matrix units: products of tiles"},
    Sentence{"special", "exponentials, reciprocals and the like"},
    Sentence{"fp32", "32-bit additions and multiplications"},
    Sentence{"fp32_packed", "32-bit additions and multiplications, two in one instruction"},
    Sentence{"fp16", "16-bit additions and multiplications"},
    Sentence{"int32", "32-bit whole numbers: addresses, counters"},
    Sentence{"alu", "comparisons, maxima, logic"},
    Sentence{"conversion", "changes of type, as from fp32 to bf16"},
    Sentence{"conversion_fp8", "changes of type to 8 bits"},
    Sentence{"issue", "the warp schedulers: every instruction takes a slot of them"},
    Sentence{"shared_port", "the port of the block's memory: bytes that threads and matrix units read and write"},
    Sentence{"shuffle", "exchanges of registers between a warp's threads"},
    Sentence{"tensor_memory", "reads and writes of the accumulators' memory by threads"},
    Sentence{"peer_memory", "copies to the memory of another block of the cluster"},
};

constexpr std::array fields_known = {
    Sentence{"rate", "rate"},
    Sentence{"beside_tensor", "rate while the matrix units run"},
    Sentence{"co_use.alone", "rate with so many instances at work, no tensor instruction running"},
    Sentence{"co_use.beside", "rate with so many instances at work, beside tensor instructions"},
    Sentence{"per_lane", "results of one lane of an instruction"},
    Sentence{"timing", "clocks of one instruction by its width"},
    Sentence{"bandwidth", "bandwidth, all nodes together"},
    Sentence{"bandwidth_per_node", "bandwidth of one node"},
    Sentence{"latency", "clocks from asking to having"},
    Sentence{"energy", "energy of a byte"},
    Sentence{"per_parent", "how many there are in one node of the level above"},
    Sentence{"capacity", "bytes of one node"},
    Sentence{"per_block", "bytes that one block may use"},
    Sentence{"transaction", "bytes of the smallest transfer"},
};

constexpr std::array others_known = {
    Sentence{"clocks.maximum", "the highest clock"},
    Sentence{"clocks.tensor", "the clock behind the datasheet's tensor rate"},
    Sentence{"clocks.base", "the base clock"},
    Sentence{"power.limit", "watts that the board may draw"},
    Sentence{"power.idle", "watts of a resting board"},
    Sentence{"power.burst", "watts that the board holds for some tens of milliseconds after a rest"},
};

template <class Lines>
std::string_view sentence_in(const Lines& lines, std::string_view name) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const Sentence& line) { return line.first == name; });
  return found == lines.end() ? std::string_view() : found->second;
}

/// Explains "SUBJECT.FIELD", whose field may end with an index: "special.co_use.beside[0]".
std::string about_field(const std::string& what, std::string_view field) {
  constexpr std::string_view of_clusters = "bandwidth_of_";
  if (field.starts_with(of_clusters) && !what.empty())
    return what + ": bandwidth in clusters of " + std::string(field.substr(of_clusters.size()));
  const std::string_view about = sentence_in(fields_known, field.substr(0, field.find('[')));
  return what.empty() || about.empty() ? "" : what + ": " + std::string(about);
}

}  // namespace

std::string about_number(const Machine& machine, std::string_view name) {
  if (const std::string_view line = sentence_in(others_known, name); !line.empty()) return std::string(line);
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    const Vocabulary terms = vocabulary_of(machine);
    const auto route = terms.routes.find(name);
    return route != terms.routes.end() ? "the route " + route->second : std::string(sentence_in(units_known, name));
  }
  const std::string_view section = name.substr(0, dot), rest = name.substr(dot + 1);
  const std::string subject(rest.substr(0, rest.find('.')));
  const std::string_view field = subject.size() < rest.size() ? rest.substr(subject.size() + 1) : std::string_view();
  if (section == "constants" || section == "fitted") {
    const std::string_view about = profile::about_constant(rest);
    if (about.empty()) return "";
    return std::string(section == "fitted" ? "fitted to runs of whole kernels: " : "") + std::string(about);
  }
  if (section == "units") return about_field(subject, field);
  if (section == "tensor") return about_field("instruction " + subject, rest.substr(rest.find_last_of('.') + 1));
  const Vocabulary terms = vocabulary_of(machine);
  if (section == "pipes") return terms.routes.contains(subject) ? about_field(terms.routes.at(subject), field) : "";
  return section == "levels" ? about_field("level " + subject, field) : "";
}

}  // namespace napkin::internal
