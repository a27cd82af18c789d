// DistributedDataParallel in the steady state (PyTorch's reducer.cpp; docs/model.md, terms 3 and
// 8).
//
// As each gradient appears it is copied into its bucket, divided by the number of ranks in the same
// pass. A full bucket is summed over ranks on the communication stream, in the order of the
// buckets, while backward goes on. After backward each bucket is copied out again after its own
// wait, so that only the last copy cannot hide under a later all-reduce; with
// gradient_as_bucket_view the optimizer reads the buckets themselves.
//
// The compression hook sends half precision: a full bucket is cast, then divided in place
// (default_hooks.py), and cast back after the sum; the copy into the bucket then does not divide.
#pragma once

#include <vector>

#include "profiler/engine/sharing.hpp"

namespace ddpx::engine {

class BucketedAllReduce : public Replicated {
 public:
  BucketedAllReduce(Device& device, const Layout& layout, const Strategy& strategy);

  void after_backward_of(std::size_t layer, const Turn& turn) override;
  void after_backward(const Turn& turn) override;
  [[nodiscard]] Weights to_update() const override;

 private:
  struct Part {
    std::size_t first_tensor = 0;
    std::size_t last_tensor = 0;
    Slice full;  // its part of the flat bucket memory
    Slice half;  // with compression
    Event ready;
    Event summed;
  };

  void arrived(std::size_t arrival, Trace* trace);
  void launch(std::size_t bucket, Trace* trace);
  void copy_out(const Part& part);

  bool view_;
  bool compressed_;
  float share_;  // 1 / ranks
  Buffer memory_;
  Buffer half_memory_;
  std::vector<Part> parts_;
  std::size_t next_ = 0;  // bucket to be launched
};

}  // namespace ddpx::engine
