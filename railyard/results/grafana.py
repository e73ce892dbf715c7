"""The dashboard of Grafana that shows what `railyard export prometheus` writes: a file beside this module, as it is."""

from railyard.base.paths import packaged_text

FILE = "results/grafana.json"


def dashboard_text() -> str:
    """Return the dashboard as JSON, to be imported by Grafana or laid into a folder that it is provisioned from."""
    return packaged_text(FILE)
