#pragma once
// emit_nccl writes a division of work among GPUs as the calls of NCCL and the launches that each rank makes, in order:
// ncclSend and ncclRecv of a ring's next block, then the kernel on the block that is there. NCCL moves the bytes;
// nothing here does.

#include <string>
#include <vector>

#include "model/island/schedule.hpp"

namespace napkin::internal {

/// Emits C for a host function with `rank`, a communicator `comm` and streams `work` and `copies`. `launches` holds
/// kernel and shape of each launch that any rank makes.
[[nodiscard]] std::string emit_nccl(const Division& division, const std::vector<Transport>& transports,
                                    const std::string& island, const std::vector<std::vector<std::string>>& launches);

}  // namespace napkin::internal
