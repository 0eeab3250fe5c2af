#pragma once
// An Error, a DType, a Mask and the conditions of a card are the model's values that questions and answers have. No
// other public header includes the model's; as installed this one has their text in it (cmake/NapkinPublic.cmake).

#include "kernels/jit/failure.hpp"
#include "model/base/dtype.hpp"
#include "model/base/error.hpp"
#include "model/diagram/mask.hpp"
#include "model/machine/conditions.hpp"
#include "model/machine/vocabulary.hpp"
