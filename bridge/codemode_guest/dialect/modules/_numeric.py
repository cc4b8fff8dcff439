"""Numbers: math, cmath, statistics, decimal, fractions, numbers, and random (one generator per run)."""

from __future__ import annotations

import cmath
import decimal
import fractions
import math
import numbers
import random
import statistics
from typing import Any, Final

from ._pick import Members, pick

_RANDOM: Final = """betavariate binomialvariate choice choices expovariate gammavariate gauss getrandbits lognormvariate
normalvariate paretovariate randbytes randint random randrange sample seed shuffle triangular uniform vonmisesvariate
weibullvariate"""
RANDOM_NAMES: Final = frozenset(name for name in _RANDOM.split() if hasattr(random, name)) | {"Random", "SystemRandom"}

_DECIMAL_ERRORS: Final = """
DecimalException InvalidOperation DivisionByZero Inexact Rounded Overflow Underflow Subnormal
Clamped FloatOperation"""


def random_members() -> Members:
    """The random module of one run: a generator of its own, seeded by the kernel."""
    generator = random.Random()
    members: dict[str, Any] = {name: getattr(generator, name) for name in RANDOM_NAMES if hasattr(generator, name)}
    members.update(Random=random.Random, SystemRandom=_fresh_random)
    return members


def _fresh_random() -> random.Random:
    return random.Random()


def _context(*arguments: Any, **keywords: Any) -> decimal.Context:
    return decimal.Context(*arguments, **keywords)


def modules() -> dict[str, Members]:
    """The shared facades of this family."""
    return {
        "math": pick(
            math,
            """acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2
            expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm
            ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt
            sumprod tan tanh tau trunc ulp""",
        ),
        "cmath": pick(
            cmath,
            """acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10 nan nanj
            phase pi polar rect sin sinh sqrt tan tanh tau""",
        ),
        "statistics": pick(
            statistics,
            """NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean linear_regression
            mean median median_grouped median_high median_low mode multimode pstdev pvariance quantiles stdev
            variance""",
        ),
        "decimal": pick(
            decimal,
            """Decimal DecimalTuple ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP
            ROUND_UP ROUND_05UP MAX_PREC MAX_EMAX MIN_EMIN getcontext localcontext setcontext """
            + _DECIMAL_ERRORS,
            Context=_context,
        ),
        "fractions": pick(fractions, "Fraction"),
        "numbers": pick(numbers, "Number Complex Real Rational Integral"),
    }
