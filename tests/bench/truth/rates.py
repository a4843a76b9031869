"""Rates of profiles beside those of plain runs: one printed row for each phase of a job."""

from .statistics import median, spread

COLUMNS = f"{'truth':>8} {'spread':>7} {'estimate':>9} {'95 %':>7} {'repeat':>7} {'error':>8}"


def print_heading():
    print(f"{'job':<20} {'phase':<10} {COLUMNS}")


def print_row(case, phase, truth, profiles, most_percent):
    """Whether the estimates of one phase hold: their median within `most_percent` of the truth's, beyond half its
    spread. Prints the median half-width of their intervals and how far they lie apart, too."""
    estimates = [profile["rates"][f"{phase}_samples_per_s"] for profile in profiles]
    wide = 100 * spread(truth) / median(truth)
    start = f"{case:<20} {phase:<10} {median(truth):>8.1f} {wide:>6.1f}%"
    if None in estimates:
        reasons = [profile.get("absent", {}).get(f"rates.{phase}_samples_per_s") for profile in profiles]
        print(f"{start}  absent: {reasons}", flush=True)
        return False
    seen = [estimate["mean"] for estimate in estimates]
    half = median([50 * (e["ci95_high"] - e["ci95_low"]) / e["mean"] for e in estimates])
    error = 100 * (median(seen) / median(truth) - 1)
    good = max(0.0, abs(error) - wide / 2) <= most_percent
    print(f"{start} {median(seen):>9.1f} {half:>6.1f}% {100 * spread(seen) / median(seen):>6.1f}% {error:>+7.1f}%"
          f"{'' if good else '   TOO LARGE'}", flush=True)
    return good
