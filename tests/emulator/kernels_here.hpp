#pragma once
// This header gives tests the layouts that kernels/device computes. It is a system header: its text is the device
// compiler's.
#pragma GCC system_header

#include "tests/emulator/cuda.hpp"

// Structs of the kernels have names of the model's.
#define napkin napkin_of_the_kernels
#include "kernels/device/fragment.cuh"
#include "kernels/device/matrix.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/device/tma.cuh"
#include "kernels/device/wgmma.cuh"
#undef napkin
