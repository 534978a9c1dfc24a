// Boxes kept for one class of one image a block: again and again the best score that is left, which removes those that
// overlap it. `kept` has room for all boxes of each class.

struct Box {
  double top, left, bottom, right;
  __device__ double area() const { return (bottom - top) * (right - left); }
};

__device__ inline Box box_of(const X0* boxes, i64 image, i64 i) {
  double n[4];
  for (int k = 0; k < 4; ++k) n[k] = double(widen(boxes[place<In0>(image, i, k)]));
  if (kCentered) return {n[1] - n[3] / 2, n[0] - n[2] / 2, n[1] + n[3] / 2, n[0] + n[2] / 2};
  return {fmin(n[0], n[2]), fmin(n[1], n[3]), fmax(n[0], n[2]), fmax(n[1], n[3])};
}

__device__ inline bool overlaps(const Box& a, const Box& b, double threshold) {
  const double height = fmin(a.bottom, b.bottom) - fmax(a.top, b.top);
  const double width = fmin(a.right, b.right) - fmax(a.left, b.left);
  if (height <= 0 || width <= 0) return false;
  const double common = height * width, united = a.area() + b.area() - common;
  if (a.area() <= 0 || b.area() <= 0 || united <= 0) return false;
  return common / united > threshold;
}

struct Best {
  double score;
  i64 index;
};

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(i64* __restrict__ kept, i64* __restrict__ counts, u8* __restrict__ gone, const X0* __restrict__ boxes,
           const X1* __restrict__ scores, const X2* most, const X3* threshold, const X4* least) {
  begin_kernel();
  __shared__ Best bests[kBlock];
  const i64 image = blockIdx.x / kClasses, c = blockIdx.x % kClasses;
  const i64 wanted = most != nullptr ? i64(widen(*most)) : 0;
  const double limit = threshold != nullptr ? double(widen(*threshold)) : 0.0;
  u8* out = gone + i64(blockIdx.x) * kBoxes;
  i64 count = 0;
  for (i64 i = threadIdx.x; i < kBoxes; i += kBlock) {
    const double s = double(widen(scores[place<In1>(image, c, i)]));
    out[i] = !(s == s) || (least != nullptr && !(s > double(widen(*least))));
  }
  while (count < wanted && count < kBoxes) {
    Best best = {0, -1};
    for (i64 i = threadIdx.x; i < kBoxes; i += kBlock) {
      if (out[i]) continue;
      const double s = double(widen(scores[place<In1>(image, c, i)]));
      if (best.index < 0 || s > best.score) best = {s, i};
    }
    bests[threadIdx.x] = best;
    for (int step = kBlock / 2; step > 0; step /= 2) {
      __syncthreads();
      if (int(threadIdx.x) < step) {
        const Best a = bests[threadIdx.x], b = bests[threadIdx.x + step];
        const bool second = b.index >= 0 && (a.index < 0 || b.score > a.score || (b.score == a.score && b.index < a.index));
        if (second) bests[threadIdx.x] = b;
      }
    }
    __syncthreads();
    const i64 chosen = bests[0].index;
    __syncthreads();
    if (chosen < 0) break;
    if (threadIdx.x == 0) kept[i64(blockIdx.x) * kBoxes + count] = chosen;
    ++count;
    const Box box = box_of(boxes, image, chosen);
    for (i64 i = threadIdx.x; i < kBoxes; i += kBlock)
      if (!out[i] && (i == chosen || overlaps(box_of(boxes, image, i), box, limit))) out[i] = 1;
    __syncthreads();
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}
