/// e^(2 pi i k m / length) for k = 0, 1, ...: each is turned by m more than the one before. In double, so that a million
/// steps lose less than a float has.
struct Turn {
  double cosine = 1, sine = 0;

  __device__ Turn(i64 m, i64 length) { sincospi(2 * double(m) / double(length), &step_sine_, &step_cosine_); }
  __device__ void next() {
    const double before = cosine;
    cosine = before * step_cosine_ - sine * step_sine_;
    sine = before * step_sine_ + sine * step_cosine_;
  }

 private:
  double step_cosine_, step_sine_;
};
