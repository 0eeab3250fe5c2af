#pragma once
// This header collects the model's types that questions and answers use: Error, DType, Mask, conditions. It is the only
// public header that includes the model's; installed, it contains their text (cmake/NapkinPublic.cmake).

#include "kernels/jit/failure.hpp"
#include "model/base/dtype.hpp"
#include "model/base/error.hpp"
#include "model/diagram/mask.hpp"
#include "model/machine/conditions.hpp"
#include "model/machine/vocabulary.hpp"
