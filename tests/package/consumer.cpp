// Uses a header and a compiled function of the installed model.

#include "model/operation.hpp"

int main() { return ddpx::element_bytes(ddpx::DType::bf16) == 2.0 ? 0 : 1; }
