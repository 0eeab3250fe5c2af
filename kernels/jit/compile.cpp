#include "kernels/jit/compile.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "kernels/jit/dynamic_library.hpp"
#include "kernels/jit/failure.hpp"
#include "kernels/jit/sha256.hpp"

namespace napkin::internal {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> library_names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

/// The part of nvrtc.h that is used here, as documented; results are 0 for success.
struct Nvrtc {
  using Program = struct Opaque*;

  explicit Nvrtc(const std::string& path) {
    const auto library = DynamicLibrary::open({path});
    if (!library) throw CudaFailure("cannot open " + path);
    library->bind(version, "nvrtcVersion");
    library->bind(error, "nvrtcGetErrorString");
    library->bind(create, "nvrtcCreateProgram");
    library->bind(destroy, "nvrtcDestroyProgram");
    library->bind(add_name, "nvrtcAddNameExpression");
    library->bind(compile, "nvrtcCompileProgram");
    library->bind(log_size, "nvrtcGetProgramLogSize");
    library->bind(log, "nvrtcGetProgramLog");
    library->bind(lowered, "nvrtcGetLoweredName");
    library->bind(cubin_size, "nvrtcGetCUBINSize");
    library->bind(cubin, "nvrtcGetCUBIN");
  }

  void check(int result, const char* call) const {
    if (result != 0) throw CudaFailure(std::string(call) + ": " + error(result));
  }

  [[nodiscard]] int major() const {
    int major = 0, minor = 0;
    check(version(&major, &minor), "nvrtcVersion");
    return major;
  }

  int (*version)(int*, int*) = nullptr;
  const char* (*error)(int) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*add_name)(Program, const char*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*lowered)(Program, const char*, const char**) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
};

class Program {
 public:
  Program(const Nvrtc& nvrtc, const KernelSource& source) : nvrtc_(nvrtc) {
    std::vector<std::string> texts, names;  // strings that end with a zero, as NVRTC takes them
    for (const EmbeddedFile& header : source.headers) {
      texts.emplace_back(header.text);
      names.emplace_back(header.path);
    }
    const auto pointers = [](const std::vector<std::string>& of) {
      std::vector<const char*> out;
      for (const std::string& s : of) out.push_back(s.c_str());
      return out;
    };
    const auto text_pointers = pointers(texts), name_pointers = pointers(names);
    const std::string text(source.main.text), name(source.main.path);
    nvrtc_.check(nvrtc_.create(&program_, text.c_str(), name.c_str(), static_cast<int>(texts.size()),
                               text_pointers.data(), name_pointers.data()),
                 "nvrtcCreateProgram");
  }
  ~Program() { nvrtc_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void compile(const CompileRequest& request) {
    nvrtc_.check(nvrtc_.add_name(program_, request.expression.c_str()), "nvrtcAddNameExpression");
    std::vector<std::string> options = compile_options(request);
    // A kernel from NVRTC's own cache has no report of the assembler.
    if (nvrtc_.major() >= 13) options.emplace_back("--no-cache");
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const int result = nvrtc_.compile(program_, static_cast<int>(pointers.size()), pointers.data());
    if (result != 0) {
      throw CudaFailure(std::string(request.source.main.path) + " does not compile as " + request.expression + " for " +
                        request.architecture + ": " + nvrtc_.error(result) + "\n" + log());
    }
  }

  [[nodiscard]] std::string log() const {
    std::size_t size = 0;
    nvrtc_.check(nvrtc_.log_size(program_, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    if (size > 0) nvrtc_.check(nvrtc_.log(program_, text.data()), "nvrtcGetProgramLog");
    return text.substr(0, std::strlen(text.c_str()));
  }

  [[nodiscard]] std::string lowered(const std::string& expression) const {
    const char* name = nullptr;
    nvrtc_.check(nvrtc_.lowered(program_, expression.c_str(), &name), "nvrtcGetLoweredName");
    return name;
  }

  [[nodiscard]] std::string cubin() const {
    std::size_t size = 0;
    nvrtc_.check(nvrtc_.cubin_size(program_, &size), "nvrtcGetCUBINSize");
    std::string image(size, '\0');
    nvrtc_.check(nvrtc_.cubin(program_, image.data()), "nvrtcGetCUBIN");
    return image;
  }

 private:
  const Nvrtc& nvrtc_;
  Nvrtc::Program program_ = nullptr;
};

/// Hashes the size and the first and last 64 KiB of a library: headers, symbol tables and the linker's build number.
std::string fingerprint(const fs::path& file) {
  constexpr std::streamoff part = 65536;
  std::ifstream in(file, std::ios::binary);
  in.seekg(0, std::ios::end);
  const std::streamoff size = in.tellg();
  if (!in || size <= 0) return "";
  Sha256 hash;
  hash.add_field(std::to_string(size));
  for (const std::streamoff from : {std::streamoff{0}, std::max<std::streamoff>(0, size - part)}) {
    std::string bytes(static_cast<std::size_t>(std::min(part, size)), '\0');
    in.seekg(from);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    hash.add_field(bytes);
  }
  return in ? hex(hash.digest()) : "";
}

}  // namespace

std::vector<std::string> compile_options(const CompileRequest& request) {
  std::vector<std::string> options{"--std=c++20", "--gpu-architecture=" + request.architecture, "--ptxas-options=-v"};
  options.insert(options.end(), request.options.begin(), request.options.end());
  return options;
}

std::optional<Compiler> Compiler::find(const std::vector<std::string>& directories) {
  Compiler compiler;
  for (const std::string& directory : directories) {
    for (const std::string& name : library_names) {
      const fs::path file = fs::path(directory) / name;
      std::error_code error;
      if (!fs::is_regular_file(file, error)) continue;
      compiler.identity_ = fingerprint(file);
      compiler.path_ = file.string();
      if (!compiler.identity_.empty()) return compiler;
    }
  }
  for (const std::string& name : library_names) {
    if (!DynamicLibrary::open({name})) continue;
    compiler.path_ = name;
    compiler.identity_ = name + " " + compiler.version();
    return compiler;
  }
  return std::nullopt;
}

std::string Compiler::version() const {
  const Nvrtc nvrtc(path_);
  int major = 0, minor = 0;
  nvrtc.check(nvrtc.version(&major, &minor), "nvrtcVersion");
  return std::to_string(major) + "." + std::to_string(minor);
}

CompiledKernel Compiler::compile(const CompileRequest& request) const {
  const auto start = std::chrono::steady_clock::now();
  const Nvrtc nvrtc(path_);
  Program program(nvrtc, request.source);
  program.compile(request);
  CompiledKernel kernel;
  kernel.lowered_name = program.lowered(request.expression);
  kernel.cubin = program.cubin();
  kernel.report = read_report(program.log());
  kernel.compile_time = Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return kernel;
}

std::vector<std::string> toolkit_directories(const std::string& toolkit) {
  std::vector<std::string> directories;
  const auto add = [&](const fs::path& root) {
    for (const char* part : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}) {
      directories.push_back((root / part).string());
    }
  };
  if (!toolkit.empty()) add(toolkit);
  for (const char* root : {"/usr/local/cuda", "/opt/cuda", "/usr/local/cuda-13", "/usr/local/cuda-12"}) add(root);
  for (const char* directory : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"})
    directories.emplace_back(directory);
  return directories;
}

}  // namespace napkin::internal
