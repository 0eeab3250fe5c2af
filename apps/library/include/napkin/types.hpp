#pragma once
// Errors, element types, masks and the conditions of a card: the model's values that questions and answers have. This
// is the one public header that includes others; as installed it has their text in it (cmake/NapkinPublic.cmake).

#include "kernels/jit/failure.hpp"
#include "model/base/dtype.hpp"
#include "model/base/error.hpp"
#include "model/diagram/mask.hpp"
#include "model/machine/conditions.hpp"
#include "model/machine/vocabulary.hpp"
