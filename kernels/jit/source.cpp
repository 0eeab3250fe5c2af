#include "kernels/jit/source.hpp"

#include <algorithm>

#include "kernels/jit/failure.hpp"

namespace napkin {
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

/// The names in `#include "name"` lines.
std::vector<std::string_view> included(std::string_view text) {
  std::vector<std::string_view> names;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto skip = [&] { line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t"))); };
    skip();
    if (!line.starts_with('#')) continue;
    line.remove_prefix(1);
    skip();
    if (!line.starts_with("include")) continue;
    line.remove_prefix(7);
    skip();
    if (!line.starts_with('"')) continue;
    line.remove_prefix(1);
    names.push_back(line.substr(0, line.find('"')));
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

}  // namespace

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

}  // namespace napkin
