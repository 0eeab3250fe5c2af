#include "kernels/sass/sass.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

namespace napkin::internal {
namespace {

std::string_view stripped(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

int number_in(std::string_view digits, int base) {
  int value = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return value;
}

/// Returns the number after "REG:" or another word; 0 without it.
int number_behind(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  return at == std::string_view::npos ? 0 : std::max(number_in(line.substr(at + word.size()), 10), 0);
}

/// A function while it is read: jumps keep the text of their target until all places are known.
class Reading {
 public:
  explicit Reading(std::string architecture) { function.architecture = std::move(architecture); }
  SassFunction function;

  void label(std::string_view name) { places_[std::string(name)] = std::ssize(function.code); }
  void instruction(std::string_view address, std::string_view text);
  SassFunction finished();

 private:
  std::map<std::string, std::ptrdiff_t, std::less<>> places_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;
};

void Reading::instruction(std::string_view address, std::string_view text) {
  places_["0x" + std::to_string(number_in(address, 16))] = std::ssize(function.code);
  SassInstruction one;
  if (text.starts_with("@")) {
    const std::size_t end = std::min(text.find(' '), text.size());
    one.predicated = true;
    text = stripped(text.substr(end));
  }
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  const std::size_t dot = std::min(word.find('.'), word.size());
  one.opcode = word.substr(0, dot), one.suffix = word.substr(dot), one.operands = stripped(text.substr(end));
  if (one.opcode == "BRA") {
    const std::string_view operands = one.operands;
    // "P0, `(.L_x_20)" is a jump with a predicate.
    if (const std::size_t at = operands.find("`("); at != std::string_view::npos) {
      one.predicated = one.predicated || at > 0;
      jumps_.emplace_back(function.code.size(), operands.substr(at + 2, operands.find(')', at) - at - 2));
    } else if (const std::size_t hex = operands.find("0x"); hex != std::string_view::npos) {
      one.predicated = one.predicated || hex > 0;
      jumps_.emplace_back(function.code.size(), "0x" + std::to_string(number_in(operands.substr(hex + 2), 16)));
    }
    one.predicated = one.predicated || one.has(".ANY");
  }
  function.code.push_back(std::move(one));
}

SassFunction Reading::finished() {
  for (const auto& [from, place] : jumps_) {
    const auto found = places_.find(place);
    if (found != places_.end() && found->second < std::ssize(function.code))
      function.code[from].target = static_cast<int>(found->second);
  }
  return std::move(function);
}

/// Returns the architecture, "sm_90", in "code for sm_90a", ".target sm_90" or "EF_CUDA_SM90".
std::string architecture_in(std::string_view line) {
  for (const std::string_view mark : {"EF_CUDA_SM", "sm_"}) {
    const std::size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    const int number = number_in(line.substr(at + mark.size()), 10);
    if (number > 0) return "sm_" + std::to_string(number);
  }
  return {};
}

/// Returns NAME in "Function : NAME", or in ".text.NAME:" at the beginning of a line.
std::string_view function_in(std::string_view line) {
  constexpr std::string_view mark = "Function : ", section = ".text.";
  if (const std::size_t at = line.find(mark); at != std::string_view::npos)
    return stripped(line.substr(at + mark.size()));
  if (line.starts_with(section) && line.ends_with(":"))
    return line.substr(section.size(), line.size() - section.size() - 1);
  return {};
}

}  // namespace

std::vector<SassFunction> read_sass(std::string_view text) {
  std::vector<SassFunction> out;
  std::vector<Reading> reading;
  std::string architecture;
  SassResources before;  // resources of the function whose name follows
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = stripped(text.substr(at, end - at));
    at = end + 1;
    if (const std::string_view name = function_in(line); !name.empty()) {
      reading.emplace_back(architecture);
      reading.back().function.name = name;
      reading.back().function.resources = std::exchange(before, {});
    } else if (line.starts_with("/*") && line.find("*/") < 10 && line.find(';') != std::string_view::npos) {
      const std::size_t close = line.find("*/");
      if (reading.empty()) reading.emplace_back(architecture);
      reading.back().instruction(line.substr(2, close - 2),
                                 stripped(line.substr(close + 2, line.find(';') - close - 2)));
    } else if (line.starts_with(".L") && line.ends_with(":")) {
      if (!reading.empty()) reading.back().label(line.substr(0, line.size() - 1));
    } else if (line.find("REG:") != std::string_view::npos) {
      before = {number_behind(line, "REG:"), number_behind(line, "THREADS:"), number_behind(line, "STACK:"),
                number_behind(line, "SHARED:"), number_behind(line, "BARRIERS:")};
    } else if (std::string found = architecture_in(line); !found.empty() && line.find("compile") == std::string::npos) {
      architecture = std::move(found);
      if (!reading.empty() && reading.back().function.code.empty()) reading.back().function.architecture = architecture;
    }
  }
  for (Reading& one : reading) {
    SassFunction function = one.finished();
    if (!function.code.empty()) out.push_back(std::move(function));
  }
  return out;
}

std::string_view SassInstruction::operand(std::size_t n) const {
  std::string_view rest = operands;
  for (; n > 0; --n) {
    const std::size_t comma = rest.find(',');
    if (comma == std::string_view::npos) return {};
    rest.remove_prefix(comma + 1);
  }
  return stripped(rest.substr(0, rest.find(',')));
}

int SassInstruction::register_of(std::size_t n) const {
  const std::string_view text = operand(n);
  if (text.size() < 2 || text[0] != 'R' || std::isdigit(static_cast<unsigned char>(text[1])) == 0) return -1;
  return number_in(text.substr(1), 10);
}

std::string_view unit_of(const SassInstruction& one) {
  using Row = std::pair<std::string_view, std::string_view>;
  static constexpr auto rows = std::to_array<Row>({
      {"HGMMA", "tensor"},   {"QGMMA", "tensor"},    {"IGMMA", "tensor"},   {"HMMA", "tensor"},
      {"QMMA", "tensor"},    {"IMMA", "tensor"},     {"MUFU", "special"},   {"FADD", "fp32"},
      {"FMUL", "fp32"},      {"FFMA", "fp32"},       {"FMNMX", "alu"},      {"FMNMX3", "alu"},
      {"LOP3", "alu"},       {"IADD3", "alu"},       {"ISETP", "alu"},      {"FSETP", "alu"},
      {"SEL", "alu"},        {"FSEL", "alu"},        {"PRMT", "alu"},       {"SHF", "alu"},
      {"LEA", "alu"},        {"PLOP3", "alu"},       {"VIADD", "alu"},      {"IMNMX", "alu"},
      {"VIMNMX", "alu"},     {"VIMNMX3", "alu"},     {"VIADDMNMX", "alu"},  {"IABS", "alu"},
      {"LOP32I", "alu"},     {"F2FP", "conversion"}, {"F2F", "conversion"}, {"F2I", "conversion"},
      {"I2F", "conversion"}, {"I2FP", "conversion"}, {"SHFL", "shuffle"},   {"LDGSTS", "copy"},
      {"UTMALDG", "bulk"},   {"UBLKCP", "bulk"},     {"LDSM", "fragments"}, {"LDS", "shared"},
      {"STS", "shared"},     {"STSM", "shared"},     {"ATOMS", "shared"},   {"LDL", "local"},
      {"STL", "local"},
  });
  const auto* const found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.first == one.opcode; });
  return found == rows.end() ? "other" : found->second;
}

}  // namespace napkin::internal
