// The optimizers' updates, each in one pass over its state.
#include <cmath>
#include <cstdint>

#include "profiler/cuda/elements.cuh"

namespace ddpx::cuda {
namespace {

// What all elements of one update share. `log_*` are logarithms of the decays: 1 - b^t is
// -expm1(t log b), which keeps its digits where b^t is close to 1.
struct Rule {
  float kept;  // of a parameter after weight decay
  float rate;
  float first_share;  // 1 - b1
  float second_decay;
  float second_share;
  float epsilon;
  float log_first;
  float log_second;
};

Rule rule_of(const engine::AdamW& settings) {
  return {static_cast<float>(1 - settings.rate * settings.weight_decay),
          static_cast<float>(settings.rate),
          static_cast<float>(1 - settings.first_decay),
          static_cast<float>(settings.second_decay),
          static_cast<float>(1 - settings.second_decay),
          static_cast<float>(settings.epsilon),
          static_cast<float>(std::log(settings.first_decay)),
          static_cast<float>(std::log(settings.second_decay))};
}

struct Corrections {
  float rate;  // / (1 - b1^t)
  float root;  // sqrt(1 - b2^t)
};

__device__ void update(float& p, float g, float& m, float& v, const Rule& rule,
                       const Corrections& at) {
  p *= rule.kept;
  m += rule.first_share * (g - m);
  v = rule.second_decay * v + rule.second_share * g * g;
  p -= at.rate * m / (sqrtf(v) / at.root + rule.epsilon);
}

// count[0]: updates done; count[1]: blocks that are through with the present one. The last of them
// counts the update, when all have read how many there were (threadFenceReduction of NVIDIA's
// samples).
template <bool packed>
__global__ void adamw_kernel(float* p, const float* g, float* m, float* v, std::size_t n, Rule rule,
                             float* count) {
  const float t = count[0] + 1;
  const Corrections at{rule.rate / -expm1f(t * rule.log_first),
                       sqrtf(-expm1f(t * rule.log_second))};
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::size_t done = 0;
  if constexpr (packed) {
    done = n / 4 * 4;
    for (std::size_t i = first; i < n / 4; i += step) {
      float4 p4 = reinterpret_cast<float4*>(p)[i];
      float4 m4 = reinterpret_cast<float4*>(m)[i];
      float4 v4 = reinterpret_cast<float4*>(v)[i];
      const float4 g4 = reinterpret_cast<const float4*>(g)[i];
      update(p4.x, g4.x, m4.x, v4.x, rule, at);
      update(p4.y, g4.y, m4.y, v4.y, rule, at);
      update(p4.z, g4.z, m4.z, v4.z, rule, at);
      update(p4.w, g4.w, m4.w, v4.w, rule, at);
      reinterpret_cast<float4*>(p)[i] = p4;
      reinterpret_cast<float4*>(m)[i] = m4;
      reinterpret_cast<float4*>(v)[i] = v4;
    }
  }
  for (std::size_t i = done + first; i < n; i += step) update(p[i], g[i], m[i], v[i], rule, at);
  __syncthreads();
  if (threadIdx.x == 0) {
    auto* through = reinterpret_cast<unsigned*>(count + 1);
    // Back to zero with the last block.
    if (atomicInc(through, gridDim.x - 1) == gridDim.x - 1) count[0] = t;
  }
}

}  // namespace

void adamw(const AdamWState& state, const engine::AdamW& settings, cudaStream_t stream) {
  const std::size_t n = state.parameters.count;
  const auto of = [](Elements e) { return static_cast<float*>(e.data); };
  const bool packed = [&] {
    for (const Elements& e : {state.parameters, state.gradients, state.first, state.second})
      if (reinterpret_cast<std::uintptr_t>(e.data) % sizeof(float4) != 0) return false;
    return true;
  }();
  const auto kernel = packed ? &adamw_kernel<true> : &adamw_kernel<false>;
  kernel<<<blocks_for(packed ? n / 4 + 1 : n), kThreads, 0, stream>>>(
      of(state.parameters), of(state.gradients), of(state.first), of(state.second), n,
      rule_of(settings), of(state.count));
  check_launch("the AdamW update");
}

}  // namespace ddpx::cuda
