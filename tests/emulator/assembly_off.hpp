// This header turns assembly off; it has no guard and is read before each header of kernels/device. Assembly of a
// machine that is not here reads as nothing, and what was made of it is replaced behind the header; all other text of
// the header is compiled. assembly_on.hpp ends it.
#define asm no_assembly
#define no_assembly(...) static_cast<void>(0)
#define volatile(...)
