// This header turns inline assembly off, as the CPU does not have these instructions. It has no guard and is included
// before each header of kernels/device: assembly statements become empty, and functions that consist of them are
// replaced after the header; all other text is compiled. assembly_on.hpp ends it.
#define asm no_assembly
#define no_assembly(...) static_cast<void>(0)
#define volatile(...)
