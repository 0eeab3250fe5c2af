#include "kernels/runtime/nccl.hpp"

#include <numeric>

#include "kernels/jit/dynamic_library.hpp"
#include "kernels/jit/failure.hpp"
#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

constexpr int sum = 0;  // ncclRedOp_t

/// Returns NCCL's number of a type (ncclDataType_t).
int number_of(DType type) {
  switch (type) {
    case DType::f16: return 6;
    case DType::f32: return 7;
    case DType::f64: return 8;
    case DType::bf16: return 9;
    default: throw Error("dtype", "NCCL adds no " + std::string(name_of(type)), "bf16, f16 or f32");
  }
}

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

struct Ranks::Library {
  Library() {
    const auto library = DynamicLibrary::open({"libnccl.so.2", "libnccl.so"});
    if (!library)
      throw CudaFailure("no NCCL on this machine: libnccl.so.2 does not open; put its folder into LD_LIBRARY_PATH");
    library->bind(init_all, "ncclCommInitAll");
    library->bind(destroy, "ncclCommDestroy");
    library->bind(error_string, "ncclGetErrorString");
    library->bind(version, "ncclGetVersion");
    library->bind(group_start, "ncclGroupStart");
    library->bind(group_end, "ncclGroupEnd");
    library->bind(send, "ncclSend");
    library->bind(receive, "ncclRecv");
    library->bind(all_gather, "ncclAllGather");
    library->bind(reduce_scatter, "ncclReduceScatter");
    library->bind(all_reduce, "ncclAllReduce");
  }

  int (*init_all)(void**, int, const int*) = nullptr;
  int (*destroy)(void*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*version)(int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t, int, int, void*, Stream) = nullptr;
  int (*receive)(void*, std::size_t, int, int, void*, Stream) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, void*, Stream) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, void*, Stream) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, void*, Stream) = nullptr;
};

Ranks::Ranks(int gpus)
    : library_(std::make_unique<const Library>()),
      communicators_(static_cast<std::size_t>(gpus)),
      received_(static_cast<std::size_t>(gpus)) {
  std::vector<int> devices(communicators_.size());
  std::iota(devices.begin(), devices.end(), 0);
  check(library_->init_all(communicators_.data(), gpus, devices.data()), "ncclCommInitAll");
}

Ranks::~Ranks() {
  for (void* each : communicators_) library_->destroy(each);
}

void Ranks::check(int result, const char* call) const {
  if (result != 0) throw CudaFailure(std::string(call) + ": " + library_->error_string(result));
}

void Ranks::count(int rank, std::int64_t elements, DType type, std::int64_t times) const {
  received_[static_cast<std::size_t>(rank)] += times * elements * bits(type) / 8;
}

void Ranks::together(const std::function<void()>& calls) const {
  check(library_->group_start(), "ncclGroupStart");
  calls();
  check(library_->group_end(), "ncclGroupEnd");
}

void Ranks::send(int rank, std::uint64_t from, std::int64_t count, DType type, int to, Stream stream) const {
  check(library_->send(pointer(from), static_cast<std::size_t>(count), number_of(type), to,
                       communicators_[static_cast<std::size_t>(rank)], stream),
        "ncclSend");
}

void Ranks::receive(int rank, std::uint64_t to, std::int64_t count, DType type, int from, Stream stream) const {
  check(library_->receive(pointer(to), static_cast<std::size_t>(count), number_of(type), from,
                          communicators_[static_cast<std::size_t>(rank)], stream),
        "ncclRecv");
  if (from != rank) this->count(rank, count, type, 1);
}

void Ranks::all_gather(int rank, std::uint64_t from, std::uint64_t to, std::int64_t count, DType type,
                       Stream stream) const {
  check(library_->all_gather(pointer(from), pointer(to), static_cast<std::size_t>(count), number_of(type),
                             communicators_[static_cast<std::size_t>(rank)], stream),
        "ncclAllGather");
  this->count(rank, count, type, std::ssize(communicators_) - 1);
}

void Ranks::reduce_scatter(int rank, std::uint64_t from, std::uint64_t to, std::int64_t count, DType type,
                           Stream stream) const {
  check(library_->reduce_scatter(pointer(from), pointer(to), static_cast<std::size_t>(count), number_of(type), sum,
                                 communicators_[static_cast<std::size_t>(rank)], stream),
        "ncclReduceScatter");
  this->count(rank, count, type, std::ssize(communicators_) - 1);
}

void Ranks::all_reduce(int rank, std::uint64_t at, std::int64_t count, DType type, Stream stream) const {
  check(library_->all_reduce(pointer(at), pointer(at), static_cast<std::size_t>(count), number_of(type), sum,
                             communicators_[static_cast<std::size_t>(rank)], stream),
        "ncclAllReduce");
  const std::int64_t ranks = std::ssize(communicators_);
  this->count(rank, (count + ranks - 1) / ranks, type, 2 * (ranks - 1));
}

std::string Ranks::version() const {
  int version = 0;
  check(library_->version(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace napkin::internal
