// This header turns assembly on again; it has no guard and is read behind each header of kernels/device
// (assembly_off.hpp).
#undef asm
#undef no_assembly
#undef volatile
