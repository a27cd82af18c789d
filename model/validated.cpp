#include "model/validated.hpp"

namespace ddpx {

bool is_validated(const Strategy& s) {
  const bool by_block = s.sharding == Sharding::fsdp_block && !s.hybrid;
  if (s.sharding != Sharding::none && s.sharding != Sharding::fsdp_unit && !by_block) return false;
  if (s.sync_every || !s.overlap) return false;
  if (s.compression && *s.compression != DType::fp16) return false;
  if (s.micro_batches > kMostAccumulationRun) return false;
  const int options = (s.micro_batches > 1 ? 1 : 0) + (s.compression ? 1 : 0) +
                      (s.bucket_view ? 1 : 0) + (s.channels ? 1 : 0) +
                      (s.sharding != Sharding::none ? 1 : 0);
  return options <= 1;
}

}  // namespace ddpx
