#pragma once
// A CudaFailure reports a call that CUDA refused, such as cuLaunchKernel because shared memory does not suffice. Bad
// input of a user throws Error instead (model/base/error.hpp).

#include <stdexcept>
#include <string>

namespace napkin {

/// A CUDA library that is missing, refuses or fails. what() names the call, the fault and, if known, the remedy.
class CudaFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An objection to a compiled kernel that differs from its mapping: it spills, or wgmma was serialised.
class CompilerObjection : public CudaFailure {
 public:
  using CudaFailure::CudaFailure;
};

}  // namespace napkin
