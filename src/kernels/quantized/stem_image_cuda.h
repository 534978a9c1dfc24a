#pragma once

#include "kernels/quantized/device_region_cuda.h"

namespace tenon {

/// The part that kernels of first convolutions share (quantized/stem_image.cu).

/// Columns that threads share out, a run of a quarter each.
int64_t stem_slab(const DeviceQuantized& d);

/// Whether `count` pixels of a row are whole words of each plane.
bool has_pixel_vectors(const Operand& x, int64_t count);

/// The region's problem as if its image were quantized already.
Result<Problem> with_bytes(const Problem& problem, const QuantizedRegion& region);

/// Why no such kernel takes the region; ok where some do.
Status check_stem(const Problem& problem, const DeviceQuantized& d);

/// Type of the image, and image_byte(), which rounds one of its reals.
void add_stem_image(KernelCode& code, const Problem& problem, const DeviceQuantized& d,
                    int64_t vector);

/// Constants of the region, its image and its result `y` but for tiles.
void add_stem_constants(KernelCode& code, const Problem& problem, const DeviceQuantized& d,
                        const Operand& y);

/// Packed rows of columns as products of warp groups take them: [panel][column][128], pieces of 16
/// bytes swizzled.
std::vector<std::byte> stem_panels(const std::vector<std::byte>& rows, int64_t columns);

}  // namespace tenon
