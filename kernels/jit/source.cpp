#include "kernels/jit/source.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "kernels/jit/failure.hpp"
#include "kernels/jit/sha256.hpp"

namespace napkin::internal {
namespace {

const EmbeddedFile& find(std::string_view path, std::string_view from, std::span<const EmbeddedFile> files) {
  const auto found = std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& f) { return f.path == path; });
  if (found == files.end()) {
    throw CudaFailure("kernel source " + std::string(path) +
                      (from.empty() ? "" : ", included by " + std::string(from) + ",") +
                      " is not part of this program");
  }
  return *found;
}

/// Takes the first line off the text, with its line break.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, std::min(text.size(), text.find('\n')) + 1);
  text.remove_prefix(line.size());
  return line;
}

/// Returns the name in a line `#include "name"`; nothing for any other line.
std::optional<std::string_view> included_by(std::string_view line) {
  const auto take = [&](std::string_view word) {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
    if (!line.starts_with(word)) return false;
    line.remove_prefix(word.size());
    return true;
  };
  if (!take("#") || !take("include") || !take("\"")) return std::nullopt;
  return line.substr(0, line.find('"'));
}

std::vector<std::string_view> included(std::string_view text) {
  std::vector<std::string_view> names;
  while (!text.empty()) {
    if (const auto name = included_by(take_line(text))) names.push_back(*name);
  }
  return names;
}

void collect(const EmbeddedFile& file, std::span<const EmbeddedFile> files, KernelSource& source) {
  for (const std::string_view name : included(file.text)) {
    const EmbeddedFile& header = find(name, file.path, files);
    const bool known =
        header.path == source.main.path || std::any_of(source.headers.begin(), source.headers.end(),
                                                       [&](const EmbeddedFile& h) { return h.path == name; });
    if (known) continue;
    source.headers.push_back(header);
    collect(header, files, source);
  }
}

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_operator(char c) { return std::string_view("+-*/%<>=!&|^~?:.#").find(c) != std::string_view::npos; }

/// Returns the end of the comment or white space at `at`; `at` if neither begins there.
std::size_t end_of_gap(std::string_view text, std::size_t at) {
  const auto behind = [&](std::string_view end, std::size_t from, std::size_t more) {
    const std::size_t found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found + more;
  };
  if (text.substr(at, 2) == "//") return behind("\n", at, 0);
  if (text.substr(at, 2) == "/*") return behind("*/", at + 2, 2);
  return std::isspace(static_cast<unsigned char>(text[at])) != 0 ? at + 1 : at;
}

/// Returns the end of the literal that begins with a quotation mark at `at`.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  const char mark = text[at];
  for (++at; at < text.size() && text[at] != mark; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

std::string without_includes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!included_by(line)) out += line;
  }
  return out;
}

/// Strips comments, and white space that separates no two tokens. A preprocessor line keeps its line break. Does not
/// handle raw literals and digit separators (1'000), which the kernels do not use.
std::string tokens_of(std::string_view text) {
  std::string out;
  bool directive = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    bool line_ends = false;
    for (std::size_t end; at < text.size() && (end = end_of_gap(text, at)) != at; at = end)
      line_ends = line_ends || (text[at] == '\n' && (at == 0 || text[at - 1] != '\\'));
    if (at == text.size()) break;
    if (directive && line_ends) {
      out += '\n';
      directive = false;
    } else if (at > start && !out.empty()) {
      const char before = out.back(), after = text[at];
      if (directive || (in_word(before) && in_word(after)) || (in_operator(before) && in_operator(after))) out += ' ';
    }
    const std::size_t end = text[at] == '"' || text[at] == '\'' ? end_of_literal(text, at) : at + 1;
    directive = directive || text[at] == '#';
    out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

}  // namespace

std::string source_hash(const KernelSource& source) {
  std::vector<std::string> headers;
  for (const EmbeddedFile& header : source.headers) headers.push_back(tokens_of(without_includes(header.text)));
  std::sort(headers.begin(), headers.end());
  Sha256 hash;
  hash.add_field(tokens_of(without_includes(source.main.text)));
  for (const std::string& header : headers) hash.add_field(header);
  return hex(hash.digest());
}

std::string kernel_source_hash(std::string_view kernel) {
  // The mapping beside the kernel names its file, which several kernels may share: "source: attention_sm90.cuh".
  const std::string mapping = "/" + std::string(kernel) + ".yaml", key = "\nsource: ";
  for (const EmbeddedFile& one : embedded_files()) {
    if (!one.path.starts_with("kernels/") || !one.path.ends_with(mapping)) continue;
    const std::size_t at = one.text.find(key);
    if (at == std::string_view::npos) break;
    const std::size_t first = at + key.size();
    const std::string file(one.text.substr(first, one.text.find('\n', first) - first));
    return source_hash(kernel_source(std::string(one.path.substr(0, one.path.rfind('/') + 1)) + file));
  }
  throw CudaFailure("kernel " + std::string(kernel) + " is not part of this program");
}

KernelSource kernel_source(std::string_view path, std::span<const EmbeddedFile> files) {
  KernelSource source{find(path, {}, files), {}};
  collect(source.main, files, source);
  std::sort(source.headers.begin(), source.headers.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return source;
}

KernelSource kernel_source(std::string_view path) { return kernel_source(path, embedded_files()); }

Initialiser& Initialiser::add(std::string_view field, const std::string& value) {
  if (!text_.ends_with('{')) text_ += ", ";
  text_.append(".").append(field).append(" = ").append(value);
  return *this;
}

std::string name_expression(std::string_view kernel, const Initialiser& value) {
  return "napkin::" + std::string(kernel) + "<" + value.text() + ">";
}

}  // namespace napkin::internal
