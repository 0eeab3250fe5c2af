// This header turns assembly on again; it has no guard and is included after each header of kernels/device
// (assembly_off.hpp).
#undef asm
#undef no_assembly
#undef volatile
