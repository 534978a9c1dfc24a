"""Rows of the table of converters against PyTorch itself, each with values at its edges."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import tenon.torch  # noqa: E402
from numerics import assert_close  # noqa: E402

F = torch.nn.functional
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3)).to(DEVICE)


def integers(*shape, low=-9, high=9):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(4)).to(DEVICE)


def given(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device=DEVICE)


X, Y, PICTURE = numbers(3, 6), numbers(3, 6), numbers(2, 3, 8, 10)
PUT = torch.ops.aten.index_put
STEPS = given(-7.5, -2, -0.5, 0, 0.5, 2, 7.5)
WHOLE = given(-7, -2, -1, 0, 1, 2, 7, dtype=torch.int64)
ROWS = {
    "divide_down": (lambda x, n: (torch.div(x, 2, rounding_mode="floor"), torch.div(n, 3, rounding_mode="floor"), n // 2), STEPS, WHOLE),
    "divide_to_zero": (lambda x, n: (torch.div(x, 2, rounding_mode="trunc"), torch.div(n, 3, rounding_mode="trunc")), STEPS, WHOLE),
    "remainders": (lambda x, n: (x % 3, n % 3, torch.fmod(x, 3), torch.fmod(n, 3), n % -3), STEPS, WHOLE),
    "functions_of_integers": (lambda n: (torch.sqrt(n), torch.rsqrt(n), torch.sigmoid(n), n.abs(), torch.exp(n), -n, torch.sign(n)),
                              given(1, 2, 7, dtype=torch.int64)),
    "tensors_without_axes": (lambda x, n: (x * 3, x.abs().sqrt() + 1, torch.where(x > 0, x, 2.0), x.masked_fill(x > 0, 1.0), x.clamp(0, 1),
                                           torch.log1p(x.abs()), x % 2, n // 2, x > 1, F.relu(x), x.sum(), (x * n).reshape(1)),
                             torch.tensor(2.5, device=DEVICE), torch.tensor(7, device=DEVICE)),
    "trunc": (torch.trunc, STEPS),
    "log1p": (torch.log1p, given(-0.9, -1e-7, 0, 1e-8, 1e-3, 0.4, 3, 1e6)),
    "expm1": (torch.expm1, given(-30, -1, -1e-7, 0, 1e-8, 1e-3, 0.4, 3)),
    "logarithms": (lambda x: (torch.log2(x), torch.log10(x), torch.exp2(x)), given(0.1, 1, 2, 10)),
    "atan2": (torch.atan2, given(1, 1, -1, -1, 1, -1, 0.5), given(1, -1, 1, -1, 0, 0, 2)),
    "clamp_by_tensors": (lambda x, y: torch.clamp(x, y, y + 1), X, Y),
    "softplus": (lambda x: (F.softplus(x), F.softplus(x, beta=2), F.softplus(x, 2, 3)), STEPS),
    "any_and_all": (lambda x: ((x > 1).any(), (x > 1).any(1), (x > -1).all(0, keepdim=True), (x > 0).all()), X),
    "truths": (lambda x: ((x > 0) * (x < 1), (x > 0) + (x < 1), torch.maximum(x > 0, x < 1), (x > 0).sum(1), (x > 0) * x), X),
    "over_all": (lambda x: (x.sum(), x.mean(), x.max(), x.min(), x.prod(), x.prod(1)), X),
    "arg": (lambda x: (x.argmax(), x.argmin(), x.argmin(1), x.argmax(0, keepdim=True)), X),
    "picked_by_rank": (lambda x: (*torch.kthvalue(x, 2, 1), *torch.kthvalue(x, 3, 0, True), *x.median(1), x.median()), X),
    "cumulative": (lambda x, n: (x.cumprod(1), *x.cummax(1), *x.cummin(0), x.logcumsumexp(1), n.cumprod(0), *n.cummax(1)), X * 3, integers(3, 7)),
    "sort": (lambda x: (*torch.sort(x, 1), torch.argsort(x, 0, descending=True)), X),
    "instance_norm": (lambda x: F.instance_norm(x), PICTURE),
    "group_norm": (lambda x, w: (F.group_norm(x, 1, w, w), F.group_norm(x, 3), F.group_norm(x, 1)), PICTURE * 3 + 1, numbers(3)),
    "unfold": (lambda x: (x.unfold(1, 4, 2), x.unfold(0, 2, 1)), X),
    "flip": (lambda x: torch.flip(x, (1,)) + torch.flip(x, (0, 1)), X),
    "roll": (lambda x: torch.roll(x, (1, -2), (0, 1)), X),
    "repeat": (lambda x: (x.repeat(2, 3), x.repeat(2, 1, 1), x.repeat_interleave(2, 1)), X),
    "diagonal": (lambda x: (torch.diagonal(x), torch.diagonal(x, 1), torch.diagonal(x, -1)), X),
    "pads": (lambda x: (F.pad(x, (2, 1, 1, 3), mode="reflect"), F.pad(x, (2, 1, 0, 3), mode="replicate")), PICTURE),
    "index_two_axes": (lambda x, i: x[i, i[:2, None]], X, integers(2, low=-3, high=3)),
    "index_apart": (lambda x, i: x[:, i, :, i], PICTURE, integers(4, low=0, high=3)),
    "index_inner": (lambda x, i: x[:, :, i[:, None], i], PICTURE, integers(4, low=-8, high=8)),
    "index_one": (lambda x, i: x[:, i], PICTURE, integers(2, 3, low=0, high=3)),
    "index_put": (lambda x, i, y: x.index_put((i,), y), X, given(2, 0, dtype=torch.int64), numbers(2, 6)),
    "index_put_adds": (lambda x, i, y: (x.index_put((i,), y, accumulate=True), x.index_add(0, i, y), x.index_put((i, i), y[:, 0], accumulate=True)),
                       X, given(2, 0, 2, -1, dtype=torch.int64) % 3, numbers(4, 6)),
    "index_put_behind": (lambda x, i, y: (PUT(x, [None, i], y), PUT(x, [None, i], y, True)),
                         X, given(2, 0, dtype=torch.int64), numbers(3, 2)),
    "index_put_apart": (lambda x, i, y: (PUT(x, [i, None, i], y), PUT(x, [i, None, i], y, True)),
                        numbers(3, 4, 3), given(2, 0, dtype=torch.int64), numbers(2, 4)),
    "index_put_adds_integers": (lambda x, i: x.index_put((i,), x[i], accumulate=True), integers(3, 6, low=0, high=9),
                                given(2, 0, 2, dtype=torch.int64)),
    "scatter_sums": (lambda x, i, y: (x.scatter_add(1, i, y), x.scatter(1, i, y, reduce="multiply"), x.scatter(1, i, 2.0, reduce="add")),
                     X, integers(3, 4, low=0, high=6), Y),
    "scatter_extremes": (lambda x, i, y: tuple(x.scatter_reduce(0, i, y, how) for how in ("sum", "prod", "amin", "amax")),
                         X, integers(3, 6, low=0, high=3), Y),
    "scatter_means": (lambda x, i, y: tuple(x.scatter_reduce(0, i, y, how, include_self=own) for how in ("sum", "prod", "amin", "amax", "mean")
                                            for own in (True, False)), X, integers(3, 6, low=0, high=3), Y),
    "bags": (lambda w, i, o: tuple(F.embedding_bag(i, w, o, mode=mode, padding_idx=pad) for mode in ("sum", "mean", "max")
                                   for pad in (None, 1)), numbers(5, 4), given(0, 1, 4, 2, 1, 1, 3, dtype=torch.int64),
             given(0, 2, 2, 4, dtype=torch.int64)),
    "bags_of_rows": (lambda w, i, s: (F.embedding_bag(i, w), F.embedding_bag(i, w, mode="sum", per_sample_weights=s)),
                     numbers(5, 4), integers(3, 4, low=0, high=5), numbers(3, 4)),
    "bags_to_the_end": (lambda w, i, o: F.embedding_bag(i, w, o, include_last_offset=True), numbers(5, 4),
                        given(0, 1, 4, 2, dtype=torch.int64), given(0, 1, 4, dtype=torch.int64)),
    "fold": (lambda x: F.fold(F.unfold(x, 3, padding=1, stride=2), (8, 10), 3, padding=1, stride=2), PICTURE),
    "masked_put": (lambda x: x.masked_fill(x > 0, 5.0) + x.index_put((x > 1,), torch.tensor(7.0, device=x.device)), X),
    "written_slices": (lambda x, y: torch.slice_scatter(x, y[:, :2], 1, 1, 5, 2) + torch.select_scatter(x, y[0], 0, -1), X, Y),
    "written_in_place": (lambda x, y: (lambda z: (z[:, 1:3].copy_(y[:, :2]), z[0].fill_(2), z)[-1])(x.clone()), X, Y),
    "scatter": (lambda x, i, y: (x.scatter(1, i, y), x.scatter(1, i, 2.0)), X, integers(3, 1, low=0, high=6), Y),
    "scatter_part": (lambda x, i, y: x.scatter(0, i, y), X, given([0, 2], [1, 0], dtype=torch.int64), Y),
    "pools_1d": (lambda x: (F.max_pool1d(x, 3, 2, 1), F.avg_pool1d(x, 2), F.adaptive_avg_pool1d(x, 4)), numbers(2, 3, 10)),
    "pools_2d": (lambda x: (F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)), PICTURE),
    "pools_3d": (lambda x: (F.max_pool3d(x, 2), F.avg_pool3d(x, (1, 2, 2)), F.adaptive_avg_pool3d(x, 1)), numbers(2, 3, 4, 6, 6)),
    "pools_with_steps": (lambda x: (F.max_pool2d(x, 3, 1, dilation=2), F.max_pool2d(x, (2, 3), 2, dilation=(1, 3)),
                                    F.max_pool2d(x, 3, 2, 1, dilation=2), F.max_pool2d(x, 3, 2, 1, 2, ceil_mode=True)), PICTURE),
    "adaptive_most": (lambda x: (F.adaptive_max_pool2d(x, (3, 7)), F.adaptive_max_pool2d(x, 1)), PICTURE),
    "smooth_resizes": (lambda x: (F.interpolate(x, (3, 4), mode="bilinear", antialias=True),
                                  F.interpolate(x, (5, 17), mode="bicubic", antialias=True)), PICTURE),
    "bits": (lambda n: (n << 2, n >> 1, n & 3, n & 0), WHOLE),
    "adaptive": (lambda x: (F.adaptive_avg_pool2d(x, (3, 7)), F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (4, 5))), PICTURE),
    "channels_last": (lambda x: F.adaptive_avg_pool2d(x.permute(0, 3, 1, 2), 1).flatten(1), numbers(2, 4, 5, 6)),
    "resizes_by_factors": (lambda x: (F.interpolate(x, scale_factor=1.7, mode="bilinear"), F.interpolate(x, scale_factor=(0.6, 2.3), mode="bicubic"),
                                      F.interpolate(x, scale_factor=1.3), F.interpolate(x, scale_factor=1.3, recompute_scale_factor=True),
                                      F.interpolate(x, scale_factor=1.7, mode="bilinear", align_corners=True)), PICTURE),
    "resizes": (lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, (5, 7), mode="bilinear"),
                           F.interpolate(x, (16, 20), mode="bicubic"), F.interpolate(x, (9, 9), mode="bilinear", align_corners=True)), PICTURE),
    "resizes_1d_3d": (lambda x, y: (F.interpolate(x, 9, mode="linear"), F.interpolate(x, 9), F.interpolate(y, (4, 6, 6), mode="trilinear")),
                      numbers(2, 3, 5), numbers(1, 2, 2, 3, 3)),
    "grid_sample": (lambda x, g: (F.grid_sample(x, g, align_corners=False), F.grid_sample(x, g, "nearest", "border", True)),
                    PICTURE, numbers(2, 4, 5, 2) * 0.7),
    "grid_sample_cubic": (lambda x, g: tuple(F.grid_sample(x, g, "bicubic", mode, corners) for mode in ("zeros", "border", "reflection")
                                             for corners in (False, True)), PICTURE, numbers(2, 4, 5, 2)),
    "scaled_elu": (lambda x: (F.selu(x), torch.ops.aten.elu(x, 1.3, 0.7, 1.9), F.celu(x, 1.3)), STEPS),
    "digits": (lambda x: (torch.round(x, decimals=2), torch.round(x, decimals=-1)), given(0.125, -2.675, 14.9, -25.01, 1e3)),
    "signs": (lambda x, y, n: (torch.copysign(x, y), torch.copysign(x, -2.0), torch.signbit(x), torch.signbit(n)), STEPS,
              given(0.0, -0.0, 1, -1, -0.0, torch.inf, -torch.inf), WHOLE),
    "numbers_beside_nan": (lambda x, y: (torch.fmax(x, y), torch.fmin(x, y), torch.fmax(y, x)), given(1, torch.nan, -3, torch.nan),
                           given(torch.nan, 2, 5, torch.nan)),
    "shifts": (lambda n, by: (n << by, n >> by, torch.ldexp(n.float(), by)), WHOLE, given(0, 1, 2, 3, 4, 10, 31, dtype=torch.int64)),
    "variances": (lambda x: (*torch.var_mean(x, 1), *torch.std_mean(x, 0, correction=0), x.var()), X),
    "places_in_order": (lambda x, steps, rows: tuple(torch.searchsorted(rows, x, right=right) for right in (False, True))
                        + tuple(torch.bucketize(x, steps, right=right, out_int32=right) for right in (False, True)),
                        given([-1, 0, 2.5], [1, 3, -9]), given(-1, 0, 0, 1), given([-2, 0, 2.5, 9], [1, 1, 3, 3])),
    "fake_quantization": (lambda x, scales, zeros: (torch.fake_quantize_per_tensor_affine(x, 0.25, 3, -128, 127),
                                                    torch.fake_quantize_per_channel_affine(x, scales, zeros, 1, -8, 7)),
                          X * 9, given(0.1, 0.2, 0.3, 0.5, 1, 2), given(0, 1, -1, 3, 0, 0, dtype=torch.int32)),
    "linear_of_a_vector": (lambda x, w, b: (F.linear(x, w, b), F.linear(x, w)), numbers(4), numbers(3, 4), numbers(3)),
    "norms": (lambda x: tuple(torch.linalg.vector_norm(x, order, dim) for order in (0, 1, 2, 3.5, torch.inf, -torch.inf) for dim in (None, 1))
              + (torch.linalg.vector_norm(x, 2, (0, 1), True), torch.linalg.matrix_norm(x), F.normalize(x, dim=0)), X),
    "distances": (lambda x, y: tuple(torch.cdist(x, y, p, "donot_use_mm_for_euclid_dist") for p in (0.0, 1.0, 2.0, 3.0, torch.inf)),
                  numbers(2, 4, 3), numbers(2, 5, 3)),
    "histogram": (lambda x: (torch.histc(x, 4, -2, 2), torch.histc(x, 3, 0, 1)), given([-2.5, -2, -1, 0, 0.5], [1, 1.5, 2, 2.01, 0.99])),
    "groups_of_many_rows": (lambda x, w, *ends: tuple(torch._grouped_mm(x, w, offs=offs).float() for offs in ends),
                            numbers(11, 16).round().bfloat16(), numbers(4, 16, 8).round().bfloat16(),
                            *(given(*ends, dtype=torch.int32) for ends in ((3, 3, 8, 11), (0, 0, 0, 11), (11, 11, 11, 11), (6, 9, 9, 11)))),
    "groups_of_few_rows": (lambda x, w, ends: torch._grouped_mm(x, w, offs=ends).float(), numbers(3, 16).round().bfloat16(), numbers(4, 16, 8).round().bfloat16(),
                           given(0, 2, 2, 3, dtype=torch.int32)),
    "pairs_of_rows": (lambda x: (F.pdist(x), F.pdist(x, 1)), X),
    "bilinear": (lambda x, y, w, b: F.bilinear(x, y, w, b), X, Y, numbers(4, 6, 6), numbers(4)),
    "means_with_a_divisor": (lambda x: (F.avg_pool2d(x, 3, 2, 1, divisor_override=5), F.avg_pool2d(x, 2, divisor_override=1)), PICTURE),
    "spectra": (lambda x: (torch.view_as_real(torch.fft.rfft(x, norm="ortho")), torch.view_as_real(torch.fft.fft(x, norm="forward")),
                           torch.fft.irfft(torch.fft.rfft(x, dim=0), n=3, dim=0), torch.fft.irfft(torch.fft.rfft(x)),
                           torch.fft.fft2(x).abs(), torch.fft.irfft2(torch.fft.rfft2(x) * 2), torch.fft.ifft(x).real), numbers(3, 6)),
    "spectra_of_odd_rows": (lambda x: (torch.view_as_real(torch.fft.fftn(x, dim=(0, 2))), torch.fft.irfftn(torch.fft.rfftn(x), s=(3, 4, 5)),
                                       torch.fft.hfft(torch.fft.ihfft(x), 5)), numbers(3, 4, 5)),
    "short_spectra": (lambda x, w: torch.stft(x, 8, 4, window=w, return_complex=True).abs(), numbers(2, 64), numbers(8).abs()),
    "complex_numbers": (lambda x, y: (lambda z, u: tuple(torch.view_as_real(w) for w in (
        z * u, z + u, z - 2.5, z / u, z * (1 - 2j), z.conj() / 3, torch.exp(z), torch.cat([z, u]).reshape(-1), z.permute(1, 0)[1:, None],
        -z, z * y)) + ((z * u).abs(), z.real - u.imag))(torch.complex(x, y), torch.polar(x.abs() + 1, y)), X, Y),
    "rotations": (lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(3, 3, 2)) * torch.polar(
        torch.ones(3, device=x.device), torch.arange(3.0, device=x.device))).flatten(1), X),
    "blocks": (lambda x, y: torch.block_diag(x, y), X, numbers(2, 2)),
    "transposed_beyond": (lambda x, y, w, b: (F.conv_transpose2d(x, w, b, 2, 0, (1, 0)), F.conv_transpose2d(x, w, None, 3, 1, 2),
                                              F.conv_transpose1d(y, w[:, :, 0], b, 2, output_padding=1)),
                          PICTURE, numbers(2, 3, 5), numbers(3, 2, 3, 3), numbers(2)),
    "shared_heads": (lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True), numbers(2, 4, 5, 8), numbers(2, 2, 5, 8)),
    "attention_ranks": (lambda q, r: (F.scaled_dot_product_attention(q, q, q), F.scaled_dot_product_attention(r, r, r, is_causal=True)),
                        numbers(3, 5, 8), numbers(2, 2, 3, 5, 8)),
    "attention_masks": (lambda q, m: (F.scaled_dot_product_attention(q, q, q, m), F.scaled_dot_product_attention(q, q, q, m < 0)),
                        numbers(2, 4, 5, 8), numbers(5, 5)),
}


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def box_cases():
    """torchvision's operators, where it is installed."""
    try:
        from torchvision import ops
    except ImportError:
        return {}
    boxes = given([0, 0, 0, 5, 5], [1, 1, 1, 6, 6.5], [0, 2, 3, 7.2, 8])
    return {
        "roi_align": (lambda x, b: tuple(ops.roi_align(x, b, 3, scale, ratio, aligned) for scale, ratio, aligned in (
            (1.0, 2, False), (0.5, -1, True), (1.0, 3, True))), PICTURE, boxes),
        "deformed_convolution": (lambda x, o, w, b, m: (ops.deform_conv2d(x, o, w, b, padding=1), ops.deform_conv2d(x, o, w, padding=1, mask=m)),
                                 PICTURE, numbers(2, 18, 8, 10), numbers(4, 3, 3, 3), numbers(4), numbers(2, 9, 8, 10).sigmoid()),
        "boxes": (lambda b, c: (ops.box_iou(b, c), ops.generalized_box_iou(b, c), ops.box_convert(b, "xyxy", "cxcywh")),
                  boxes[:, 1:].contiguous(), boxes[:2, 1:].contiguous()),
    }


ROWS.update(box_cases())


@pytest.mark.parametrize("name", ROWS)
@torch.no_grad()
def test_rows(name):
    function, *inputs = ROWS[name]
    wanted = function(*inputs)
    got = tenon.torch.compile(Calls(function), tuple(inputs), level=0)(*inputs)
    for left, right in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, wanted)), strict=True):
        assert left.shape == right.shape and left.dtype == right.dtype
        if name in ("log1p", "expm1"):  # Small results are their point: each is compared by its own size.
            torch.testing.assert_close(left, right, rtol=1e-5, atol=0)
        else:
            tf32 = DEVICE == "cuda" and left.dtype == torch.float32
            assert_close(left.cpu().numpy(), right.cpu().numpy(), "kTf32" if tf32 else "kKernel")
