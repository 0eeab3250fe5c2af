#include "kernels/jit/cache.hpp"

#include "kernels/jit/failure.hpp"
#include "kernels/jit/sha256.hpp"

namespace napkin::internal {
namespace {

std::string content_of(const CompiledKernel& kernel) {
  std::string out;
  add_field(out, kernel.lowered_name);
  add_field(out, kernel.report.log);
  add_field(out, std::to_string(kernel.compile_time.value));
  add_field(out, kernel.cubin);
  return out;
}

std::optional<CompiledKernel> read_content(std::string_view rest) {
  const auto name = next_field(rest), log = next_field(rest), seconds = next_field(rest), cubin = next_field(rest);
  if (!name || !log || !seconds || !cubin || !rest.empty()) return std::nullopt;
  CompiledKernel kernel;
  kernel.lowered_name = std::string(*name);
  kernel.report = read_report(*log);
  kernel.compile_time = Seconds(std::stod(std::string(*seconds)));
  kernel.cubin = std::string(*cubin);
  return kernel;
}

}  // namespace

std::string cache_key(const CompileRequest& request, const std::string& compiler_identity) {
  Sha256 hash;
  hash.add_field(compiler_identity).add_field(request.expression);
  for (const std::string& option : compile_options(request)) hash.add_field(option);
  hash.add_field(request.source.main.path).add_field(request.source.main.text);
  for (const EmbeddedFile& header : request.source.headers) hash.add_field(header.path).add_field(header.text);
  return hex(hash.digest());
}

KernelCache::KernelCache(std::filesystem::path directory) : entries_(std::move(directory), "kernel", 1) {}

std::optional<CompiledKernel> KernelCache::find(const std::string& key) const {
  const auto content = entries_.find(key);
  if (!content) return std::nullopt;
  try {
    return read_content(*content);
  } catch (const std::exception&) {  // written by another version of this code
    return std::nullopt;
  }
}

std::string KernelCache::store(const std::string& key, const CompiledKernel& kernel) const {
  return entries_.store(key, content_of(kernel));
}

Compilation compile_cached(const Compiler& compiler, const KernelCache& cache, const CompileRequest& request) {
  const std::string key = cache_key(request, compiler.identity());
  if (auto kernel = cache.find(key)) return {std::move(*kernel), true, ""};
  Compilation out;
  out.kernel = compiler.compile(request);
  out.warning = cache.store(key, out.kernel);
  return out;
}

}  // namespace napkin::internal
