// Pooled regions of interest. kFunction: 0 mean of samples, 1 largest part of samples, 2 largest element.

struct RoiAxis {
  double start, bin;
  i64 samples, extent;
};

__device__ inline RoiAxis roi_axis(double from, double to, i64 bins, i64 extent) {
  const double shift = kHalfPixel ? 0.5 : 0.0;
  RoiAxis axis{from * kScale - shift, 0, 0, extent};
  double length = to * kScale - shift - axis.start;
  if (!kHalfPixel) length = length < 1 ? 1 : length;
  axis.bin = length / double(bins);
  const double samples = kSampling > 0 ? double(kSampling) : ceil(axis.bin);
  axis.samples = i64(clamped(samples == samples ? samples : 0.0, 0.0, 4096.0));
  return axis;
}

struct Pair {
  i64 low, high;
  double low_weight, high_weight;
};

__device__ inline Pair pair_at(const RoiAxis& axis, i64 bin, i64 sample, bool& inside) {
  double at = axis.start + double(bin) * axis.bin + (double(sample) + 0.5) * axis.bin / double(axis.samples);
  if (!(at >= -1 && at <= double(axis.extent))) {
    inside = false;
    return {0, 0, 0, 0};
  }
  at = at < 0 ? 0 : at;
  const i64 low = i64(at);
  if (low >= axis.extent - 1) return {axis.extent - 1, axis.extent - 1, 1, 0};
  return {low, low + 1, 1 - (at - double(low)), at - double(low)};
}

__device__ inline double at_place(const X0* image, i64 row, i64 column) {
  return double(widen(image[row * In0::stride(2) + column * In0::stride(3)]));
}

__device__ inline double align_bin(const X0* image, const RoiAxis& rows, const RoiAxis& columns, i64 row, i64 column) {
  double sum = 0, top = 0;
  bool first = true;
  for (i64 i = 0; i < rows.samples; ++i)
    for (i64 j = 0; j < columns.samples; ++j) {
      bool inside = true;
      const Pair y = pair_at(rows, row, i, inside), x = pair_at(columns, column, j, inside);
      double parts[4] = {0, 0, 0, 0};
      if (inside) {
        parts[0] = y.low_weight * x.low_weight * at_place(image, y.low, x.low);
        parts[1] = y.low_weight * x.high_weight * at_place(image, y.low, x.high);
        parts[2] = y.high_weight * x.low_weight * at_place(image, y.high, x.low);
        parts[3] = y.high_weight * x.high_weight * at_place(image, y.high, x.high);
      }
      sum += parts[0] + parts[1] + parts[2] + parts[3];
      double largest = parts[0];
      for (int k = 1; k < 4; ++k) largest = largest < parts[k] ? parts[k] : largest;
      top = first ? largest : top < largest ? largest : top;
      first = false;
    }
  if (kFunction == 1) return top;
  const i64 samples = rows.samples * columns.samples;
  return sum / double(samples < 1 ? 1 : samples);
}

/// First and last place of a bin of max pooling, clipped to the image.
__device__ inline void max_bin(double from, double to, i64 bin, i64 bins, i64 extent, i64& begin, i64& end) {
  const double start = round(clamped(from * kScale, -1e9, 1e9)), stop = round(clamped(to * kScale, -1e9, 1e9));
  const double length = stop - start + 1;
  const double size = (length < 1 ? 1 : length) / double(bins);
  begin = i64(clamped(floor(double(bin) * size) + start, 0.0, double(extent)));
  end = i64(clamped(ceil(double(bin + 1) * size) + start, 0.0, double(extent)));
}

__device__ inline double largest_in(const X0* image, const double* box, i64 row, i64 column) {
  i64 top, bottom, left, right;
  max_bin(box[1], box[3], row, YAt::extent(2), In0::extent(2), top, bottom);
  max_bin(box[0], box[2], column, YAt::extent(3), In0::extent(3), left, right);
  if (top >= bottom || left >= right) return 0;
  double largest = at_place(image, top, left);
  for (i64 i = top; i < bottom; ++i)
    for (i64 j = left; j < right; ++j) {
      const double v = at_place(image, i, j);
      largest = largest < v ? v : largest;
    }
  return largest;
}

__device__ inline Real element(i64* c, const Operands& o) {
  double box[4];
  for (int i = 0; i < 4; ++i) box[i] = double(widen(o.x1[place<In1>(c[0], i + (kFunction == 2 ? 1 : 0))]));
  i64 number = 0;
  if (kFunction == 2)
    number = i64(double(widen(o.x1[place<In1>(c[0], 0)])));
  else if (kHasImages)
    number = i64(widen(o.x2[place_of_number<In2>(c[0])]));
  if (number < 0 || number >= In0::extent(0)) return Real(kNan);
  const X0* image = o.x0 + place<In0>(number, c[1]);
  if (kFunction == 2) return Real(largest_in(image, box, c[2], c[3]));
  const RoiAxis rows = roi_axis(box[1], box[3], YAt::extent(2), In0::extent(2));
  const RoiAxis columns = roi_axis(box[0], box[2], YAt::extent(3), In0::extent(3));
  return Real(align_bin(image, rows, columns, c[2], c[3]));
}
