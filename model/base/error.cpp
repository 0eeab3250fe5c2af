#include "model/base/error.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "model/base/printable.hpp"

namespace napkin {

using namespace internal;

namespace {

std::string join_parts(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += ": ";
    text += printable(part);
  }
  return text;
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

}  // namespace

std::string Location::text() const {
  if (line == 0) return file;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

Error::Error(std::string where, std::string what, std::string right)
    : std::runtime_error(join_parts({where, what, right})),
      where_(std::move(where)),
      problem_(std::move(what)),
      right_(std::move(right)) {}

Error::Error(const Location& location, const std::string& field, std::string what, std::string right)
    : Error(join_parts({location.text(), field}), std::move(what), std::move(right)) {}

Overflow::Overflow(const std::string& what)
    : Error("", what + " does not fit 64 bits", "use smaller sizes (the largest count is 9223372036854775807)") {}

namespace {

/// Words of other programs and their equivalents here, best first. A word may be listed several times.
constexpr std::array<std::pair<std::string_view, std::string_view>, 45> synonyms{{
    {"attn", "attention"},
    {"sdpa", "attention"},
    {"flash", "attention"},
    {"flash_attention", "attention"},
    {"mha", "attention"},
    {"gemm", "matmul"},
    {"mm", "matmul"},
    {"linear", "matmul"},
    {"ffn", "mlp"},
    {"batch", "b"},
    {"batch_size", "b"},
    {"bs", "b"},
    {"head", "h"},
    {"heads", "h"},
    {"num_heads", "h"},
    {"nheads", "h"},
    {"kv_heads", "h"},
    {"num_kv_heads", "h"},
    {"group", "g"},
    {"groups", "g"},
    {"gqa", "g"},
    {"s", "q"},
    {"n", "q"},
    {"l", "q"},
    {"seq", "q"},
    {"seqlen", "q"},
    {"seq_len", "q"},
    {"sequence", "q"},
    {"length", "q"},
    {"queries", "q"},
    {"keys", "x"},
    {"kv", "h"},
    {"kv", "x"},
    {"kv_len", "x"},
    {"seqlen_k", "x"},
    {"k", "x"},
    {"head_dim", "d"},
    {"headdim", "d"},
    {"hdim", "d"},
    {"head_size", "d"},
    {"dim", "d"},
    {"m", "a"},
    {"n", "c"},
    {"k", "b"},
    {"fp16", "f16"},
}};

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

using Words = std::vector<std::string>;

/// Returns the candidates that equal the name but for case, or that other programs' names stand for.
Words meant(const std::string& name, const Words& candidates) {
  for (const auto& candidate : candidates) {
    if (in_lower_case(candidate) == name) return {candidate};
  }
  Words out;
  for (const auto& [word, here] : synonyms) {
    if (word != name && !out.empty()) break;
    const auto at = std::find(candidates.begin(), candidates.end(), here);
    if (word == name && at != candidates.end()) out.push_back(*at);
  }
  return out;
}

/// Returns the candidates that begin with the name: "h200" means h200-sxm rather than b200.
Words beginning_with(const std::string& name, const Words& candidates) {
  Words out;
  for (const auto& candidate : candidates) {
    if (name.size() >= 2 && in_lower_case(candidate).starts_with(name)) out.push_back(candidate);
  }
  return out;
}

/// Returns the candidates at the least edit distance from the name, if that is at most a third of the name's length.
Words fewest_edits(const std::string& name, const Words& candidates) {
  Words out;
  std::size_t least = std::min((name.size() + 2) / 3, name.size() - 1);
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(name, in_lower_case(candidate));
    if (distance < least) out.clear();
    if (distance > least) continue;
    out.push_back(candidate);
    least = distance;
  }
  return out;
}

/// Returns all candidates that are as near to the name as the nearest.
Words all_near(std::string_view given, const Words& candidates) {
  if (given.empty() || given.size() > 64) return {};
  const std::string name = in_lower_case(given);
  for (const auto& find : {meant, beginning_with, fewest_edits}) {
    if (Words found = find(name, candidates); !found.empty()) return found;
  }
  return {};
}

}  // namespace

std::string nearest(std::string_view given, const std::vector<std::string>& candidates) {
  const Words near = all_near(given, candidates);
  return near.empty() ? std::string() : near.front();
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string one_of(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t most = 8;  // a longer list would not be read
  Words near = all_near(name, candidates);
  const std::string all = "one of " + joined(candidates);
  near.resize(std::min(near.size(), most));
  return near.empty() ? all : "did you mean '" + joined(near, "' or '") + "'? (" + all + ")";
}

}  // namespace napkin
