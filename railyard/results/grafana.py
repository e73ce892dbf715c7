"""The Grafana dashboard that shows what `railyard export prometheus` writes: a file beside this module, unchanged."""

from railyard.base.paths import packaged_text

FILE = "results/grafana.json"


def dashboard_text() -> str:
    """Return the dashboard as JSON, for Grafana to import, or for a folder from which Grafana is provisioned."""
    return packaged_text(FILE)
