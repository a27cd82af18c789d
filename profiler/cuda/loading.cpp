#include "profiler/cuda/loading.hpp"

#include <cstdint>

#include "profiler/cuda/check.hpp"
#include "profiler/cuda/handles.hpp"
#include "profiler/cuda/kernels.hpp"

namespace ddpx::cuda {
namespace {

constexpr std::array kFormats{DType::fp32, DType::bf16, DType::fp16};
constexpr std::size_t kElements = 64;

// What a key of FirstUse begins with.
enum : std::size_t { kProduct, kCollective };

// Zeroed memory; elements of it from its beginning, and from one element after it.
class Scratch {
 public:
  explicit Scratch(cudaStream_t stream) : memory_(allocate_memory(kBytes)) {
    check(cudaMemsetAsync(memory_.get(), 0, kBytes, stream), "clearing memory");
  }
  [[nodiscard]] Elements at(bool aligned, DType dtype, std::size_t count = kElements) const {
    const std::size_t begin = aligned ? 0 : static_cast<std::size_t>(element_bytes(dtype));
    return {static_cast<std::byte*>(memory_.get()) + begin, count, dtype};
  }

 private:
  static constexpr std::size_t kBytes = 2 * kElements * sizeof(float);
  Memory memory_;
};

// The largest power of two up to 16 bytes, the widest load, that divides an address.
std::size_t alignment(const void* address) {
  constexpr std::uintptr_t kWidest = 16;
  const auto value = reinterpret_cast<std::uintptr_t>(address) | kWidest;
  return static_cast<std::size_t>(value & (~value + 1));
}

}  // namespace

void load_kernels(cudaStream_t stream) {
  const Scratch one(stream);
  const Scratch other(stream);
  const Scratch labels(stream);  // zeros: the first class
  const Scratch count(stream);
  const Scratch rows(stream);
  for (const bool aligned : {true, false}) {
    for (const DType dtype : kFormats) {
      const Elements here = one.at(aligned, dtype);
      for (const DType from : kFormats) {
        const Elements there = other.at(aligned, from);
        copy_scaled(there, 0, here, stream);
        add(there, here, stream);
        relu_backward(here, there, stream);
        sgd(here, there, 0, stream);
      }
      fill_random(here, 0, stream);
      add_bias(here, other.at(aligned, dtype, kElements / 2), true, stream);
      sum_rows(here, other.at(aligned, dtype, kElements / 2), stream);
      cross_entropy(here, labels.at(true, DType::fp32, 2), 1, true, rows.at(true, DType::fp32, 1),
                    other.at(aligned, dtype), static_cast<float*>(count.at(true, DType::fp32).data),
                    stream);
    }
    const Elements zeros = labels.at(aligned, DType::fp32);
    check(cudaMemsetAsync(count.at(true, DType::fp32).data, 0, kElements * sizeof(float), stream),
          "clearing memory");
    adamw({one.at(aligned, DType::fp32), zeros, other.at(aligned, DType::fp32),
           rows.at(aligned, DType::fp32), count.at(true, DType::fp32, engine::kAdamWCountElements)},
          {}, stream);
  }
  const Elements from = one.at(true, DType::fp32);
  check(cudaMemcpyAsync(other.at(true, DType::fp32).data, from.data, kElements * sizeof(float),
                        cudaMemcpyDeviceToDevice, stream),
        "a copy on the GPU");
  spin(0, stream);
  check(cudaStreamSynchronize(stream), "loading kernels");
}

bool FirstUse::of(const Product& product, const void* a, const void* b, const void* c) {
  const auto whole = [](double size) { return static_cast<std::size_t>(size); };
  return used_
      .insert({kProduct, static_cast<std::size_t>(product.pass),
               static_cast<std::size_t>(product.dtype), whole(product.rows), whole(product.in),
               whole(product.out), alignment(a), alignment(b), alignment(c)})
      .second;
}

bool FirstUse::of(Collective kind, DType dtype, std::size_t elements) {
  return used_
      .insert(
          {kCollective, static_cast<std::size_t>(kind), static_cast<std::size_t>(dtype), elements})
      .second;
}

}  // namespace ddpx::cuda
