"""The configuration file for ReFrame. It is built from systems/*.yaml."""

from railyard.siteconfig import build

site_configuration = build(__file__)
