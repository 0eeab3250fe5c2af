#include "kernels/runtime/run.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/jit/failure.hpp"

namespace napkin::internal {
namespace {

constexpr unsigned portable_cluster = 8;  // blocks

CompileRequest request_of(const LaunchPlan& plan) {
  return {kernel_source(plan.source), plan.expression, plan.architecture, {}};
}

/// Returns the kernel from the installed package; nothing if it has none.
std::optional<CompiledKernel> shipped_kernel(const CompileRequest& request, const Environment& environment) {
  if (environment.shipped.empty()) return std::nullopt;
  return KernelCache(environment.shipped).find(cache_key(request, ""));
}

/// Returns the kernel from the installed package, else from the cache, else from the compiler.
Compilation compilation_of(const CompileRequest& request, const Environment& environment) {
  if (auto kernel = shipped_kernel(request, environment)) return {std::move(*kernel), true, ""};
  const auto compiler = Compiler::find(environment.compiler);
  if (!compiler)
    throw CudaFailure("no NVRTC on this machine: install the CUDA toolkit (12.4 or later) or set CUDA_HOME to it");
  return compile_cached(*compiler, KernelCache(environment.cache), request);
}

}  // namespace

Compilation compile(const LaunchPlan& plan, const Environment& environment, Objections objections) {
  const CompileRequest request = request_of(plan);
  Compilation out = compilation_of(request, environment);
  if (!environment.ship_to.empty() && out.kernel.report.clean())
    out.warning = KernelCache(environment.ship_to).store(cache_key(request, ""), out.kernel);
  if (objections == Objections::refuse && !out.kernel.report.clean()) {
    throw CompilerObjection(plan.expression + ": " + out.kernel.report.objection());
  }
  return out;
}

bool is_compiled(const LaunchPlan& plan, const Environment& environment) {
  const CompileRequest request = request_of(plan);
  std::optional<CompiledKernel> kernel = shipped_kernel(request, environment);
  if (const auto compiler = kernel ? std::nullopt : Compiler::find(environment.compiler))
    kernel = KernelCache(environment.cache).find(cache_key(request, compiler->identity()));
  return kernel && kernel->report.clean();
}

bool Runtime::is_compiled(const LaunchPlan& plan) const {
  {
    const std::lock_guard lock(mutex_);
    if (kernels_.contains(plan.expression)) return true;
  }
  return internal::is_compiled(plan, environment_);
}

const LoadedKernel& Runtime::kernel(const LaunchPlan& plan) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(plan.expression);
    if (found != kernels_.end()) return found->second;
  }
  Compilation compilation =
      // outside of the lock, so that other threads find their kernels meanwhile
      compile(plan, environment_, objections_);
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(plan.expression);  // another thread compiled it too
  if (found != kernels_.end()) return found->second;
  if (!compilation.warning.empty() &&
      std::find(warnings_.begin(), warnings_.end(), compilation.warning) == warnings_.end()) {
    warnings_.push_back(compilation.warning);
  }
  LoadedKernel kernel{std::move(compilation.kernel), nullptr, compilation.cached};
  kernel.device = device_.load(kernel.compiled.cubin, kernel.compiled.lowered_name);
  kernel.device->allow_shared(plan.shared);
  kernel.compiled.cubin = {};
  return kernels_.emplace(plan.expression, std::move(kernel)).first->second;
}

ReadyLaunch Runtime::prepare(LaunchPlan plan) {
  const LoadedKernel& loaded = kernel(plan);
  if (plan.cluster > portable_cluster) loaded.device->allow_large_cluster();
  for (const TensorBox& box : plan.boxes) {
    const TensorMap map = device_.encode(box);
    std::memcpy(plan.arguments.data() + box.offset, &map, sizeof map);
  }
  return {device_, std::move(plan), loaded};
}

std::vector<std::string> Runtime::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

void ReadyLaunch::operator()(Stream stream) const { device_.launch(*kernel_->device, plan_, plan_.arguments, stream); }

}  // namespace napkin::internal
