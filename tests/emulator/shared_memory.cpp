#include "tests/emulator/shared_memory.hpp"

#include <cstring>

namespace emulator {
namespace {

/// Returns the bytes of a granule, one bit each, that an access touches.
u16 touched(u32 granule, u32 offset, u32 bytes) {
  const u32 first = granule * granule_bytes, from = std::max(offset, first) - first,
            to = std::min(offset + bytes, first + granule_bytes) - first;
  return static_cast<u16>((1u << to) - (1u << from));
}

}  // namespace

std::string text_of(Place at) {
  if (at.file == nullptr) return "nowhere";
  const char* name = std::strstr(at.file, "kernels/");
  return std::string(name == nullptr ? at.file : name) + ":" + std::to_string(at.line);
}

std::string name_of_part(u32 part) {
  const u32 local = part % block_parts;
  const std::string block = "block " + std::to_string(part / block_parts) + "'s ";
  if (local < store_part) return block + "warp " + std::to_string(local);
  if (local < product_part) return block + "bulk store of warp " + std::to_string(local - store_part);
  if (local < readers) return block + "wgmma of warpgroup " + std::to_string(local - product_part);
  if (local < barrier_part) return block + "cp.async of warp " + std::to_string(local - copy_part);
  return block + "copy engine (barrier " + std::to_string(local - barrier_part) + ")";
}

void SharedMemory::reset(u32 bytes, u32 first_part) {
  const u32 count = (bytes + granule_bytes - 1) / granule_bytes;
  first_part_ = first_part;
  bytes_.assign(bytes, 0xFF);  // bytes of NaNs, should they be read before they are written
  granules_.assign(count, {});
  reads_.assign(std::size_t{count} * readers, 0);
}

std::string SharedMemory::unordered(const Granule& granule, const Access& access, const char* verb) const {
  if ((*access.seen)[granule.writer] >= granule.time) return {};
  const bool arriving = granule.writer % block_parts >= copy_part;
  return std::string(verb) + (arriving ? " what may not have arrived: a copy by " : " what was written by ") +
         name_of_part(granule.writer) + " at " + text_of(granule.at) + ", which nothing orders before";
}

std::string SharedMemory::still_read(u32 granule, const Access& access) const {
  const u32* reads = reads_.data() + std::size_t{granule} * readers;
  const u32* seen = access.seen->from(first_part_);
  u32 late = 0;
  for (u32 i = 0; i < readers; ++i) late |= static_cast<u32>(reads[i] > seen[i]);
  if (late == 0) return {};
  for (u32 i = 0; i < readers; ++i) {
    if (reads[i] > seen[i]) return "overwrites what may still be read by " + name_of_part(first_part_ + i);
  }
  return {};
}

std::string SharedMemory::read(u32 offset, u32 bytes, const Access& access) {
  for (u32 g = offset / granule_bytes; g <= (offset + bytes - 1) / granule_bytes; ++g) {
    Granule& granule = granules_[g];
    const u16 wanted = touched(g, offset, bytes);
    if ((granule.valid & wanted) != wanted) return "reads what nobody has written";
    if (std::string wrong = unordered(granule, access, "reads"); !wrong.empty()) return wrong;
    if (access.async && !granule.published)
      return "reads through the asynchronous proxy what was written at " + text_of(granule.at) +
             " with no fence.proxy.async behind it";
    u32& last = reads_[std::size_t{g} * readers + (access.part - first_part_)];
    last = std::max(last, access.time);
  }
  return {};
}

std::string SharedMemory::write(u32 offset, u32 bytes, const Access& access) {
  for (u32 g = offset / granule_bytes; g <= (offset + bytes - 1) / granule_bytes; ++g) {
    Granule& granule = granules_[g];
    if (granule.valid != 0) {
      if (std::string wrong = unordered(granule, access, "overwrites"); !wrong.empty()) return wrong;
    }
    if (std::string wrong = still_read(g, access); !wrong.empty()) return wrong;
    granule.writer = access.part;
    granule.time = access.time;
    granule.valid |= touched(g, offset, bytes);
    granule.published = access.async;
    granule.at = access.at;
  }
  return {};
}

void SharedMemory::publish(std::vector<u32>& granules) {
  for (const u32 g : granules) granules_[g].published = true;
  granules.clear();
}

}  // namespace emulator
