#pragma once
// OwnStream is a queue of launches and copies of a device, and a Mark a point in one that others wait for: the work of
// a step waits for the mark after its copies, on this GPU or another.

#include <memory>

#include "kernels/runtime/device.hpp"

namespace napkin::internal {

/// A point in a stream, without a time.
class Mark {
 public:
  explicit Mark(const Device& device);
  ~Mark();
  Mark(Mark&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Mark& operator=(Mark&&) = delete;

  void record(Stream stream) const;

 private:
  friend class OwnStream;
  void* handle_ = nullptr;
};

class OwnStream {
 public:
  /// The priority of a stream's launches among those that wait for an SM.
  enum class Turn { later, first };
  explicit OwnStream(const Device& device, Turn turn = Turn::later);
  ~OwnStream();
  OwnStream(OwnStream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  OwnStream& operator=(OwnStream&&) = delete;

  [[nodiscard]] Stream get() const { return handle_; }
  /// Makes all later work of this stream wait until everything before the mark is done.
  void wait(const Mark& mark) const;

 private:
  void* handle_ = nullptr;
};

/// Returns the number of GPUs of this machine; 0 without a driver.
[[nodiscard]] int device_count();

}  // namespace napkin::internal
