"""The tolerances that tests in Python take from the one table."""
import numerics
import numpy as np
import pytest

RIGHT = np.linspace(-2, 3, 100, dtype=np.float32)
LIMIT = numerics.tolerance("kKernel")


def test_all_rows_are_read():
    rows = [line for line in numerics.TABLE.read_text().splitlines() if line.startswith("TENON_NUMERICS(k")]
    assert len(numerics.ROWS) == len(rows) > 10


def test_what_lies_within_the_limit_passes():
    numerics.assert_close(RIGHT * np.float32(1 + LIMIT.norm / 2), RIGHT)
    numerics.assert_close(RIGHT.astype(np.float16), RIGHT)  # The narrower type decides.


@pytest.mark.parametrize("wrong", [RIGHT[:-1], RIGHT * np.float32(1 + 2 * LIMIT.norm), np.where(np.arange(100) == 41, 0, RIGHT),
                                   np.where(np.arange(100) == 41, np.nan, RIGHT), np.float16(1.01) * RIGHT.astype(np.float16)])
def test_what_lies_further_off_is_noticed(wrong):
    with pytest.raises(AssertionError):
        numerics.assert_close(wrong, RIGHT)


def test_integers_are_equal():
    numerics.assert_close(np.array([1, 2]), np.array([1, 2]))
    with pytest.raises(AssertionError):
        numerics.assert_close(np.array([1, 3]), np.array([1, 2]))
