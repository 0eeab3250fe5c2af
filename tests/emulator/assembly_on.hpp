// No guard: read behind each header of kernels/device (assembly_off.hpp).
#undef asm
#undef no_assembly
#undef volatile
